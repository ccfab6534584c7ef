"""The `live` engine: the nodes of `step` inside Ray actors that send each other real messages on the wall clock.

From a network to a result:

    live_run       a network run for real: paths of the `live` engine beside `step` and the formulas
    outcome        the result of a run, and the errors by which it ends without one

The driver's side:

    driver         paths of a network, one per replication, all at once
    transport      what carries a run: processes of hosts, calls to them and their answers
    ray_hosts      the transport of hosts that are actors in a Ray cluster
    cluster_check  a check of the nodes of a Ray cluster, their clocks and messages between them, for `replnet doctor`
    placement      which host runs which node
    time_scale     how fast model time may pass, what messages cost, and whether a run has kept up
    supervisor     a run from time zero on: reports of its hosts, and restarts of those that are lost

A host's side:

    actor          the process of a host: a queue, a thread that takes turns with it, and calls from outside
    host_run       the turns of a host by the clock, and its reports
    host           some nodes in every replication, and the order of their events
    batches        messages between hosts, in numbered batches of bytes, each taken once

Both sides:

    clocks         one clock for all hosts, and how it is seen that a process stood still
    quantiles      mean, largest and quantiles of many values in little memory

For runs in virtual time:

    glimpsing      how one is going, as glimpses like those of a live run
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.live.cluster_check import check_cluster
    from replnet.live.driver import run_live
    from replnet.live.glimpsing import glimpse_sender
    from replnet.live.live_run import affordable, run_for_real
    from replnet.live.outcome import Glimpse, Live, LiveLost, Outage
    from replnet.live.supervisor import Log, Watch
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
