"""Work that others do: processes of this machine, or Ray; nothing here knows what the work is.

In it:

    jobs           many independent jobs, and where they are done
    scheduler      which worker does which job, and what becomes of one whose worker dies
    processes      processes of this machine that do jobs, one at a time each
    on_ray         Ray actors that do jobs, one at a time each
    by_value       pickles of jobs, with the code of the program's own modules

    ray_cluster    a Ray cluster that is joined or started
    cluster_nodes  the nodes of a Ray cluster, what they lack, and the code that travels with the job
    node_probe     the job that finds out which software a node has
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.workers import jobs
    from replnet.workers.by_value import CannotTravelError, dumps
    from replnet.workers.cluster_nodes import NO_CPUS, ClusterNode, RayUnreachableError, alive_nodes, short_cause
    from replnet.workers.jobs import cores
    from replnet.workers.processes import Worker, dismiss, hire
    from replnet.workers.ray_cluster import cpus, delay_interrupts, join_cluster, ray_meanwhile, why_unreachable
    from replnet.workers.scheduler import Failure, WorkerDiedError
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
