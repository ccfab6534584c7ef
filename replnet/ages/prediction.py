"""A predicted number with its source and accuracy, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, final, get_args

import numpy as np

from replnet.text import FieldError, equal_fields

Kind = Literal["exact", "limit", "approximation"]
STRENGTH: tuple[Kind, ...] = get_args(Kind)  # strongest first


@final
@dataclass(frozen=True, slots=True)
class Basis:
    """The source of a formula, the assumptions that it makes, and its kind: exact, a limit, or an approximation.

    `accuracy` is the largest error known, as a share of the value: zero for what is exact.
    """

    kind: Kind
    source: str
    assumes: str
    accuracy: float = 0.0

    def __post_init__(self) -> None:
        assert self.kind in STRENGTH, self.kind
        assert self.accuracy >= 0, self.accuracy


@final
@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted value, which follows from `source` if what it `assumes` holds, up to `accuracy` (absolute).

    Its kind is exact, a limit or an approximation. The value is NaN, and the kind empty, where `note` says why nothing
    is predicted.
    """

    value: float
    kind: Any = ""  # a Kind, or nothing where nothing is predicted
    source: str = ""
    assumes: str = ""
    accuracy: float = 0.0
    note: str = ""

    def __eq__(self, other: object) -> bool:
        return equal_fields(self, other)

    @classmethod
    def of(cls, value: float, basis: Basis) -> Prediction:
        """Return the prediction of a value on this basis; its accuracy is the value times that of the basis."""
        return cls(float(value), basis.kind, basis.source, basis.assumes, abs(float(value)) * basis.accuracy)

    @property
    def known(self) -> bool:
        """Whether a value is predicted."""
        return not math.isnan(self.value)


class NoFormulaError(ValueError):
    """The error that there is no formula for a value; its message says for which case."""


CHECKED = np.errstate(over="raise", divide="raise", invalid="raise")
"""A decorator of functions that calculate predictions: an overflow raises, rather than passing for a result."""
WITHOUT_RESULT = (NoFormulaError, FieldError, ArithmeticError)
"""The errors that mean that there is no formula, or none for such laws or numbers."""


class TooLongError(NoFormulaError):
    """The error that there is a formula, but that it would take minutes to compute."""


def unknown(why: object) -> Prediction:
    """Return a prediction without a value (NaN), whose note gives the reason `why`.

    That is a text, or one of the errors in WITHOUT_RESULT.
    """
    if isinstance(why, ArithmeticError):
        why = f"numbers too large, too small or too far apart to calculate with ({why})"
    return Prediction(math.nan, note=f"no formula: {why}")


def mean(parts: Mapping[Prediction, float]) -> Prediction:
    """Return the weighted mean of one or more predictions, `parts` mapping each to its weight, as a prediction.

    Its kind is the weakest of theirs, every source and assumption is named once, and accuracies are averaged too; notes
    are dropped. A single prediction is returned as it is.
    """
    if len(parts) == 1:
        return next(iter(parts))
    whole = sum(parts.values())
    words = [
        dict.fromkeys(w for p in parts for w in getattr(p, name).split("; ") if w) for name in ("source", "assumes")
    ]
    return Prediction(
        value=sum(p.value * n for p, n in parts.items()) / whole,
        kind=weakest(p.kind for p in parts if p.kind),
        source="; ".join(words[0]),
        assumes="; ".join(words[1]),
        accuracy=sum(p.accuracy * n for p, n in parts.items()) / whole,
    )


def joint_basis(parts: Iterable[Basis]) -> Basis:
    """Return the basis of a result that needs all of `parts`.

    Its kind is the weakest of theirs, every source and assumption is named once, and accuracies add up.
    """
    parts = list(parts)
    sources = dict.fromkeys(name for part in parts for name in part.source.split("; "))
    if "P2P eq. 28" in sources:  # eq. 8 is its first level
        sources.pop("P2P eq. 8", None)
    assumes = dict.fromkeys(words for part in parts for words in part.assumes.split("; ") if words)
    accuracy = sum(part.accuracy for part in parts)
    return Basis(weakest(part.kind for part in parts), "; ".join(sources), "; ".join(assumes), accuracy)


def weakest(kinds: Iterable[Kind]) -> Kind:
    """Return the weakest of these kinds, at least one: exact is stronger than limit, and limit than approximation."""
    return max(kinds, key=STRENGTH.index)
