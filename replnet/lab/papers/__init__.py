"""The formulas of the papers, equation by equation; `formulas` lists them by name.

In it:

    p2p            freshness of copies of copies, how long they stay fresh, the best size of a system (P2P)
    levels         rates that keep a cascade fresh at any depth, and what they cost its source (P2P V-D)
    staleness      one copy by name, many sources and many replicas, budgets by penalty (Staleness)
    phases         freshness that depends for good on a phase, where constant intervals meet (Staleness V-C)
    measurability  intervals whose law says nothing of their ages (Staleness III)
    dominance      laws of intervals that are better than others, for all copies (P2P IV, Staleness V)
    sync           change rates that follow a law, allocations, Tables 3, 4 and 6 (Sync 4 to 6, App. B to E)
    estimating     change rates estimated from visits, and the loss of an allocation by them (Estimating)
    crawl          the pages that a crawler should refresh, and how often (Crawl)
"""

from importlib import import_module
from typing import TYPE_CHECKING

from replnet.faces import open_face

PAPERS = ("p2p", "levels", "staleness", "phases", "measurability", "dominance", "sync", "estimating", "crawl")


def register_formulas() -> None:
    """Load all modules of this folder, whose formulas then are known by name."""
    for name in PAPERS:
        import_module(f"{__name__}.{name}")


if TYPE_CHECKING:
    from replnet.lab.papers.estimating import MOST_VISITS, rate_estimators
    from replnet.lab.papers.p2p import cooperative, non_cooperative, peak, redundant, service_rate
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
