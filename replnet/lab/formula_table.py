"""The values of one formula of the papers as a table."""

from __future__ import annotations

from typing import Any

from replnet.lab.named_formulas import arguments, compute
from replnet.measure import Row
from replnet.run import Predicted, provenance


def formula(name: str, **values: Any) -> Predicted:
    """Return the values of a formula of the papers as a table of predictions, one row per group and metric.

    `formulas()` lists the names, and the arguments are given by keyword; laws and weights are texts, such as
    "exponential(rate=2)". Raises DocumentError if there is no such formula, or an argument is wrong.

    >>> round(rn.formula("freshness", updates="exponential(rate=2)", downloads="constant(rate=3)").rows[0].predicted, 4)
    0.7299
    """
    data = {"kind": "formula", **arguments({"name": name, **values}).model_dump(mode="json", exclude_none=True)}
    rows = (Row.of((group, metric), value) for group, metric, value in compute(name, **values))
    return Predicted(data, tuple(rows), provenance(data))
