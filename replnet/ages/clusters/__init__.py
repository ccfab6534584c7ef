"""Replicas that pull from the source and from one another (P2P VI), as information ages.

In it:

    cluster        the choice of a formula for a cluster, and interpolation between few replicas and very many
    chains         Poisson polls: exact, for any number of replicas
    sampled_paths  few replicas with any laws, by sampled paths of their polls
    renewal_limit  very many replicas, with any laws
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.ages.clusters.chains import VANISHED, poisson_mixture
    from replnet.ages.clusters.cluster import NO_RECENT, cluster, fast_poll_limit
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
