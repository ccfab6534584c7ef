"""A predicted number, with where it comes from and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, final, get_args

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
    """`value` follows from `source` if what it `assumes` holds, up to `accuracy` (absolute)."""

    value: float
    kind: Kind
    source: str
    assumes: str
    accuracy: float = 0.0

    @classmethod
    def of(cls, value: float, basis: Basis) -> Prediction:
        return cls(float(value), basis.kind, basis.source, basis.assumes, abs(float(value)) * basis.accuracy)


class NoFormulaError(ValueError):
    """Says why there is no prediction."""


def joined(parts: Iterable[Basis]) -> Basis:
    """The basis of a result that needs all of `parts`: the weakest kind, every source once."""
    parts = list(parts)
    kind = max((part.kind for part in parts), key=STRENGTH.index)
    sources = dict.fromkeys(name for part in parts for name in part.source.split("; "))
    if "P2P eq. 28" in sources:  # of which eq. 8 is the first level
        sources.pop("P2P eq. 8", None)
    assumes = dict.fromkeys(words for part in parts for words in part.assumes.split("; ") if words)
    return Basis(kind, "; ".join(sources), "; ".join(assumes), sum(part.accuracy for part in parts))
