"""Networks as tiers of one another.

Each tier stands below the last level of the one above. With `under: each`
every node there feeds a copy of the tier; with `under: spread` there is one
copy, whose top nodes are dealt in turn over the nodes above.
"""

from __future__ import annotations

from typing import Any

from replnet.network.build import SOURCE, add_shape
from replnet.network.specification import Compose


def add_tiers(graph: Any, spec: Compose) -> list[list[list[str]]]:
    """Adds the replicas of all tiers; gives back their names by tier and level.

    Node 2/5/1.3 is replica 1.3 in the fifth copy of tier 2; a tier with one copy leaves its number out.
    """
    tiers: list[list[list[str]]] = []
    above = [SOURCE]
    for number, tier in enumerate(spec.tiers, 1):
        bandwidth = tier.bandwidth if tier.bandwidth is not None else spec.bandwidth
        common: dict[str, float] = {} if bandwidth is None else {"bandwidth": bandwidth}
        feeders = [[name] for name in above] if tier.under == "each" else [above]
        levels: list[list[str]] = [[] for _ in tier.sizes(vars(tier))]
        for copy, feeder in enumerate(feeders, 1):
            place = f"{number}/{copy}" if len(feeders) > 1 else f"{number}"
            names = {"prefix": f"{place}/", "tier": f"tier {number}", "pool": f"cluster {place}"}
            added = add_shape(graph, tier, feeder, common=common, **names)
            for level, row in zip(levels, added, strict=True):
                level += row
        tiers.append(levels)
        above = levels[-1]
    return tiers
