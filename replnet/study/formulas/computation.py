"""A formula with its arguments, as the subject of an experiment in the place of a network.

Its rows have a prediction, perhaps beside what a paper prints, and no measurement.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from replnet.ages.prediction import Prediction
from replnet.network.fields import positive
from replnet.network.parts import Part
from replnet.text.errors import FieldError, shown

Value = tuple[str, str, Prediction]
"""Group, metric, and what is predicted; infinite where it diverges."""


class Computation(Part):
    """Abstract: a subclass has its arguments as fields, and a literal `name`.

    Its rows are of `groups` and `metrics`, whatever the arguments.
    """

    groups: ClassVar[tuple[str, ...]]
    metrics: ClassVar[tuple[str, ...]]

    @abstractmethod
    def values(self) -> Iterable[Value]:
        """The rows."""

    def rows(self) -> list[dict[str, Any]]:
        """As those of a cell that was not emulated."""
        return [_row(group, metric, prediction) for group, metric, prediction in self.values()]


def _row(group: str, metric: str, of: Prediction) -> dict[str, Any]:
    finite = math.isfinite(of.value)
    return {
        "group": group,
        "metric": metric,
        "predicted": of.value if finite else None,
        "kind": of.kind,
        "source": of.source,
        "accuracy": (of.accuracy or None) if finite else None,
        "note": "" if finite else "infinite",
    }


def _not_negative(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError("", f"{shown(value)} is not a number", "a number of 0 or more")
    if not 0 <= value < math.inf:  # NaN is not either
        raise FieldError("", f"{shown(value)} is not a finite number of 0 or more", "a number of 0 or more")
    return float(value)


# Types of arguments; those of networks are in network/fields.
NotNegative = Annotated[float, BeforeValidator(_not_negative), Field(ge=0)]
Positive = Annotated[float, BeforeValidator(positive), Field(gt=0)]
