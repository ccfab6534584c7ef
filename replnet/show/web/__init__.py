"""Pages in the browser, served to this machine alone: explore a network, watch a run, read a sweep.

NiceGUI serves them, and ships all scripts, ECharts among them, so nothing is asked of any other machine. What a page
shows is in its address, so that a reload, a bookmark and the button that goes back all do what they should.

Without a browser:

    controls        controls for the fields of a network, and from controls back to YAML and a command
    answers         answers to what pages ask, computed in another process
    opened          what the command has opened: the only files that the pages read
    drafts          what a user makes of a network on a page: undo, reset, a variant that is kept
    desk            a process that answers the latest question, and drops those that were asked before
    playback        which copies were fresh when, from the recorded events of a run
    node_spans      time spans of nodes
    outage_bands    the times at which nodes were down or the network was cut, as bands along the time axis
    live_record     the record of a run while it goes on: a line for each glimpse
    sweep_view      what the pages of a sweep show, as plain data
    series          from rows to charts, as ECharts takes them
    field_curve     the chart of a metric over one field of a network
    network_chart   the chart of a network by freshness: of its nodes, or, if they are very many, of its groups

Pages, and who serves them:

    server          the server, on loopback
    guard           who is let in, and what a browser may do with what it gets: the token, the policy
    frame           what all pages have in common: head, charts, tables, text to copy (static/ has style and scripts)
    field_controls  the fields of a network: boxes, sliders and choices that show the same
    explore         the page of a network: fields to move, predictions that follow
    explore_view    what that page shows: its tools, the chart of a metric over a field, the numbers
    watch           the page of a recorded run, and of one that goes on
    live_view       the part of that page that shows a run while it goes on
    read            the pages of a sweep: its table, its curves, each of its cells
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.show.web.live_record import RunNames, RunRecorder, file_reader, record_run
    from replnet.show.web.opened import Opened
    from replnet.show.web.server import serve
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
