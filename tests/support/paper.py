"""What the tests of the papers share: families at a rate, values of formulas, and predicted beside emulated."""

from __future__ import annotations

from typing import Any

import replnet as rn
from replnet.lab.named_formulas import compute
from replnet.measure.row import Row

FAMILIES = {  # as the P2P paper plots them, alpha = 3 throughout
    "pareto": lambda rate: rn.pareto(alpha=3, rate=rate),
    "exponential": lambda rate: rn.exponential(rate=rate),
    "constant": lambda rate: rn.constant(rate=rate),
}


def values(name: str, **arguments: Any) -> dict[tuple[str, str], float]:
    """Return what the formula of this name gives for these arguments, by group and metric."""
    return {(group, metric): one.value for group, metric, one in compute(name, **arguments)}


def reproduced(network: rn.Network, *, half_width: float, **run: Any) -> list[Row]:
    """Rows of freshness that agree with their predictions and are known to `half_width` (95 %).

    Right code fails one call with chance below 0.01, whatever the number of rows (Holm), and then only if
    four times as many replications differ too; seeds are fixed. An error of two half-widths is seen.
    """
    rows = list(rn.emulate(network, **run).rows)
    for row in rows:
        assert row.verdict == "agree", row
        assert row.measured is not None
        assert row.ci_low is not None
        assert row.ci_high is not None
        assert row.ci_high - row.ci_low <= 2 * half_width, row
    return rows
