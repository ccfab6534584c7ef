"""Poisson pulls along any links, as information ages.

In it:

    contacts       the pulls of all nodes, with nodes that pull alike taken together
    informed_sets  the freshest of several copies, exact while there are few sets
    spreading      the copy of each node, exact on forests and between bounds elsewhere
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.ages.overlays.contacts import NodeKinds, NodePull, SourceRates, group_nodes
    from replnet.ages.overlays.informed_sets import TooManySetsError, set_ages, start_from_choice, start_from_kind
    from replnet.ages.overlays.spreading import KindSet, MOST_MESSAGES, PairAge, TOO_MANY, pair_ages, pair_ages_together
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
