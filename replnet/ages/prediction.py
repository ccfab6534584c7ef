"""A predicted number, with where it comes from and how far it can be trusted; or why there is none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, final, get_args

Kind = Literal["exact", "limit", "approximation"]
STRENGTH: tuple[Kind, ...] = get_args(Kind)  # strongest first


@final
@dataclass(frozen=True, slots=True)
class Basis:
    """What a formula rests on.

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
    """`value` follows from `source` if what it `assumes` holds, up to `accuracy` (absolute).

    The value is NaN where `note` says why nothing is predicted.
    """

    value: float
    kind: Any = ""  # a Kind, or nothing where nothing is predicted
    source: str = ""
    assumes: str = ""
    accuracy: float = 0.0
    note: str = ""

    @classmethod
    def of(cls, value: float, basis: Basis) -> Prediction:
        return cls(float(value), basis.kind, basis.source, basis.assumes, abs(float(value)) * basis.accuracy)

    @property
    def known(self) -> bool:
        return not math.isnan(self.value)


class NoFormulaError(ValueError):
    """Says why there is no prediction."""


class TooLongError(NoFormulaError):
    """There is a formula, which would take minutes."""


def unknown(why: object) -> Prediction:
    return Prediction(math.nan, note=f"no formula: {why}")


def mean(parts: Mapping[Prediction, float]) -> Prediction:
    """Predictions averaged with weights: as strong as the weakest, sources named once."""
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


def joined(parts: Iterable[Basis]) -> Basis:
    """The basis of a result that needs all of `parts`: the weakest kind, every source once."""
    parts = list(parts)
    sources = dict.fromkeys(name for part in parts for name in part.source.split("; "))
    if "P2P eq. 28" in sources:  # of which eq. 8 is the first level
        sources.pop("P2P eq. 8", None)
    assumes = dict.fromkeys(words for part in parts for words in part.assumes.split("; ") if words)
    accuracy = sum(part.accuracy for part in parts)
    return Basis(weakest(part.kind for part in parts), "; ".join(sources), "; ".join(assumes), accuracy)


def weakest(kinds: Iterable[Kind]) -> Kind:
    return max(kinds, key=STRENGTH.index)
