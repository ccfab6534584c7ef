"""One number over another: what a paper's own figures make of each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Literal, final

from pydantic import Field

from replnet.ages.prediction import Basis, Prediction
from replnet.study.formulas.computation import Computation, Positive, Value

DIVIDED = Basis("exact", "division", "")


@final
class Quotient(Computation):
    """One number over another, and by which share the one is larger."""

    name: Literal["quotient"]
    of: Positive = Field(description="the number that is divided")
    over: Positive = Field(description="the number that it is divided by")

    groups: ClassVar = ("numbers",)
    metrics: ClassVar = ("ratio", "increase")

    def values(self) -> Iterator[Value]:
        yield "numbers", "ratio", Prediction.of(self.of / self.over, DIVIDED)
        yield "numbers", "increase", Prediction.of(self.of / self.over - 1, DIVIDED)


QUOTIENT: Iterable[type[Computation]] = (Quotient,)
