"""Engines: they run a network. All of them draw the same instants and choices, and agree copy by copy.

What all of them share:

    plan      what follows from a network for a run: which sources every node can hear of, groups, cells
    start     how far back a path begins so that its state at time zero is stationary, and how that is proven
    outages   when which nodes are down, between which nodes messages are cut off, and which messages are lost
    lines     bandwidth: what nodes spend it on, and the lines of messages that form if it is limited
    path      the task that all replications of a run share, and the results of one, by row and metric
    wakes     when processes wake, whose turn it is then, and the random streams from which they draw
    tally     the sums over a path: its stretches and answers, added up by group and source
    log       the events on a path, in columns

The engines:

    array     engine `array`: windows of events through compiled kernels
    nodes     engine `step`: the nodes themselves, one event at a time; hosts of a live run have the same nodes
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.engines.lines import line_metrics, settling_times
    from replnet.engines.log import Columns, EVENTS, Keep, NO_ONE
    from replnet.engines.outages import DOWN, Hazards, Outages
    from replnet.engines.path import Path, Shares, Sums, Task, compute_shares, rates_of_downloads
    from replnet.engines.plan import MOST_CHOICES, Plan, plan_of
    from replnet.engines.start import require_order
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
