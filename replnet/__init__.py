"""replnet: emulate networks of pull-based replicas, and compare them with what the formulas predict.

import replnet as rn

net = rn.cascade(depth=4, branching=3, updates="exponential(rate=2)", downloads="exponential(rate=2)")
rn.predict(net).table
rn.emulate(net, seed=1, horizon=1e5).table
rn.sweep("p2p/fig3", quick=True).table
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from replnet.version import __version__

# Loaded when first asked for: a prediction needs neither pandas nor the compiler.
_HOMES = {
    "replnet.network.network": (
        "Network", "aggregate", "cascade", "compose", "cooperative", "graph", "load", "redundant", "single",
    ),
    "replnet.network.errors": ("InputError",),
    "replnet.experiment.predict": ("predict",),
    "replnet.experiment.emulate": ("emulate",),
    "replnet.report.sections": ("sweep",),
    "replnet.laws": (
        "Law", "law", "trace", "constant", "empirical", "erlang", "exponential", "gamma", "hyperexponential",
        "lattice", "lognormal", "pareto", "scipy", "uniform", "weibull",
        "alternating", "correlated", "diurnal", "longrange", "modulated", "shuffled", "superposition",
    ),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'replnet' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
