"""Networks of sources, replicas and clients: specified by the user, checked, and built as graphs."""

from replnet.network.errors import InputError, Problem
from replnet.network.network import Network, aggregate, cascade, compose, cooperative, graph, load, redundant, single
from replnet.network.shipped import shipped, shipped_names

__all__ = [
    "InputError",
    "Network",
    "Problem",
    "aggregate",
    "cascade",
    "compose",
    "cooperative",
    "graph",
    "load",
    "redundant",
    "shipped",
    "shipped_names",
    "single",
]
