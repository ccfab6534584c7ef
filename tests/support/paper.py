"""What the tests of the papers share: families at a rate, and values of formulas."""

from __future__ import annotations

from typing import Any

import replnet as rn
from replnet.lab.named_formulas import compute

FAMILIES = {  # as the P2P paper plots them, alpha = 3 throughout
    "pareto": lambda rate: rn.pareto(alpha=3, rate=rate),
    "exponential": lambda rate: rn.exponential(rate=rate),
    "constant": lambda rate: rn.constant(rate=rate),
}


def values(name: str, **arguments: Any) -> dict[tuple[str, str], float]:
    """Return what the formula of this name gives for these arguments, by group and metric."""
    return {(group, metric): one.value for group, metric, one in compute(name, **arguments)}
