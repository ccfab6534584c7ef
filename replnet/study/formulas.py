"""A paper's formula by itself, as a result with a table: no network stands behind it."""

from __future__ import annotations

from typing import Any

from replnet.measure.row import Row
from replnet.papers.formula import arguments, compute
from replnet.study.provenance import provenance
from replnet.study.result import Predicted


def formula(name: str, **given: Any) -> Predicted:
    """What a formula of the papers says; `formulas()` names them all. Laws and weights are texts.

    formula("freshness", updates="exponential(rate=2)", downloads="constant(rate=3)").table
    """
    data = {"kind": "formula", **arguments({"name": name, **given}).model_dump(mode="json", exclude_none=True)}
    rows = (Row.of((group, metric), value) for group, metric, value in compute(name, **given))
    return Predicted(data, tuple(rows), provenance(data))
