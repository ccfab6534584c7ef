"""From a network to what formulas say of it; shares no code with the engines.

In it:

    formulas            what is predicted for every group and metric, or why nothing is
    source_ages         how old the copies of one source are, node by node, composed along the graph of a network
    pull_graph          who asks whom in a network, as formulas read it
    overlay             copies that come by Poisson pulls alone, along whatever links
    classes_of_sources  the copies of many sources at once, and all of them together
    over_time           ages at a time, after a fresh start or a scheduled fault
    availability        how often there is a copy, or an answer, where things go wrong
    capacity            what limited bandwidth means: service rates, lines, and messages that are turned away
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.predictions.formulas import Tell, formulas, source_freshness
    from replnet.predictions.pull_graph import PullGraph
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
