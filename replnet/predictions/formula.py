"""What is predicted for one row of a table, or why nothing is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from replnet.ages.prediction import STRENGTH, NoFormulaError, Prediction
from replnet.study.result import Row

__all__ = ["Formula", "NoFormulaError", "mean", "unknown"]


@dataclass(frozen=True)
class Formula:
    """What is predicted for one (group, metric), or in `note` why nothing is."""

    value: float | None
    kind: str = ""
    source: str = ""
    assumes: str = ""
    accuracy: float = 0.0
    note: str = ""

    def row(self, group: str, metric: str) -> Row:
        return Row(group, metric, predicted=self.value, **self.about, note=self.note)

    @property
    def about(self) -> dict[str, Any]:
        """The columns that say where the value comes from."""
        return {"kind": self.kind, "source": self.source, "accuracy": self.accuracy or None}

    @classmethod
    def of(cls, prediction: Prediction) -> Formula:
        return mean({prediction: 1})


def unknown(why: object) -> Formula:
    return Formula(None, note=f"no formula: {why}")


def mean(parts: Mapping[Prediction, float]) -> Formula:
    """Predictions averaged with weights: as strong as the weakest, sources named once."""
    whole = sum(parts.values())
    words = [
        dict.fromkeys(w for p in parts for w in getattr(p, name).split("; ") if w) for name in ("source", "assumes")
    ]
    return Formula(
        value=sum(p.value * n for p, n in parts.items()) / whole,
        kind=max((p.kind for p in parts), key=STRENGTH.index),
        source="; ".join(words[0]),
        assumes="; ".join(words[1]),
        accuracy=sum(p.accuracy * n for p, n in parts.items()) / whole,
    )
