"""How a budget of downloads is spent over sources.

In it:

    budget         a budget shared among sources: one condition and one solver for all papers
    orders         freshness and age of one element, by the order of synchronisation (Sync Table 2)
    pages          the best rates for pages that are refreshed at random (Crawl)
    least_penalty  the rates with the least penalty (Staleness eq. 66)
    policies       the rates that a policy gives to many sources, by its name
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.allocation.budget import Allocation, Goal, at_price
    from replnet.allocation.orders import (
        FIXED,
        ORDERS,
        Order,
        PURELY_RANDOM,
        RANDOM,
        intervals_of,
        phi,
        purely_random,
        random_order,
    )
    from replnet.allocation.pages import (
        POLICIES,
        Pages,
        numbers,
        optimal_fixed_rates,
        optimal_random_rates,
        optimal_shares,
        optimal_slot_shares,
    )
    from replnet.allocation.least_penalty import Kind, allocate, least_cost, shares_of_queries
    from replnet.allocation.policies import Between, least_penalty_rates, optimal, rates_by
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
