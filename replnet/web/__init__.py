"""Pages in the browser, served to this machine alone: explore a network, watch a run, read a sweep.

NiceGUI serves them, and ships all scripts, ECharts among them, so nothing is asked of any other machine. What a page
shows is in its address, so that a reload, a bookmark and the button that goes back all do what they should.

Without a browser:

    controls       from the fields of a network to controls, and from controls to YAML and a command
    answers        what pages ask for, computed in another process
    desk           one process that answers the latest question, and drops those that were asked before
    playback       who was fresh when, from the recorded events of a run
    node_spans     stretches of time, each of a node
    outage_bands   when something was out of order, as bands along the time
    live_record    how a run goes, glimpse by glimpse, in a file that grows
    sweep_view     what the pages of a sweep show, as plain data
    series         from rows to charts, as ECharts wants them
    network_chart  a network by who is fresh in it: its nodes, or of very many a bar for each group

In the browser:

    server         the server: loopback, for whoever has the token
    frame          what all pages have in common: the head, charts, tables, text to copy (with page.css)
    explore        the page of a network: fields to move, predictions that follow
    watch          the page of a recorded run, and of one that goes on
    live_view      what that page shows of a run while it happens
    read           the pages of a sweep: its table, its curves, each of its cells
"""
