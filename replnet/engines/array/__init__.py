"""Engine `array`: windows of events through compiled kernels.

In it:

    array          a batch of replications side by side, run window by window
    layout         a plan laid out for `array`: components, and the places and slots of copies
    pulls          the queue of pulls: those of a window in time order, behind those still under way
    passes         the passes that apply a window to the copies, compiled for the features of a network
    tree_pass      the pass over trees, where no global order of events is needed
    outage_arrays  faults, lines and losses of one replication, as the kernels take them
    array_log      the log of a path
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.engines.array.array import make_runner
    from replnet.engines.array.passes import add_up
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
