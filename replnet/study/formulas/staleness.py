"""Formulas of Staleness V and VI that no run of one network answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Annotated, ClassVar, Literal, final

from pydantic import BeforeValidator, Field, WithJsonSchema

from replnet.ages.prediction import Basis, Prediction
from replnet.ages.weights import weight
from replnet.laws.text import at_rate
from replnet.network.fields import Count, LawField
from replnet.papers.allocation import budget_for
from replnet.papers.many_replicas import extra_bandwidth
from replnet.papers.phase_lock import over_phases
from replnet.study.experiment.system import FAMILY, Family
from replnet.study.formulas.computation import Computation, Positive, Value
from replnet.text.errors import FieldError, shown

PHASES = Basis("exact", "Staleness V-C", "constant updates and downloads, every phase equally likely")
CRAWL = Basis("exact", "Staleness eq. 73, 74", "constant downloads at rates by the square-root law")
DAY = 86_400.0  # seconds


def _weight(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise FieldError("", f"{shown(value)} is not a weight", "an expression of x, such as x or 1/(1+x)")
    try:
        return str(weight(str(value)))
    except FieldError as error:
        raise FieldError("", error.wrong, error.right) from None


WeightText = Annotated[str, BeforeValidator(_weight), WithJsonSchema({"type": ["string", "number"]})]


@final
class PhaseLock(Computation):
    """How stale a copy may be for good, by the phase at which constant downloads meet constant updates."""

    name: Literal["phase-lock"]
    updates: Positive = Field(description="the period of the updates")
    downloads: Positive = Field(description="the period of the downloads")

    groups: ClassVar = ("lowest", "mean", "highest")
    metrics: ClassVar = ("staleness",)

    def values(self) -> Iterator[Value]:
        found = over_phases(self.updates, self.downloads)
        for group in self.groups:
            yield group, "staleness", Prediction.of(getattr(found, group), PHASES)


@final
class CrawlRate(Computation):
    """The pages a second that keep very many sources within so many missing updates each."""

    name: Literal["crawl-rate"]
    sources: Positive = Field(description="how many there are")
    rate: Positive = Field(description="E[mu], their mean number of updates a day")
    spread: Annotated[float, Field(ge=1)] = Field(description="E[mu] / E[sqrt(mu)]^2, 1 if all are alike")
    missing: Positive = Field(description="omega, the updates that a query may miss on average")
    page: Positive = Field(description="bytes of a page")

    groups: ClassVar = ("popularity uniform", "popularity by updates")
    metrics: ClassVar = ("pages_per_second", "gigabits_per_second")

    def values(self) -> Iterator[Value]:
        for group, mean in zip(self.groups, (self.rate / self.spread, self.rate), strict=True):
            pages = budget_for(self.missing, math.sqrt(mean), self.sources) / DAY
            yield group, "pages_per_second", Prediction.of(pages, CRAWL)
            yield group, "gigabits_per_second", Prediction.of(pages * self.page * 8 / 1e9, CRAWL)


@final
class IndependentReplicas(Computation):
    """The bandwidth that replicas without coordination need beyond replicas in turns, for the same penalty."""

    name: Literal["independent-replicas"]
    replicas: Count | Literal["many"] = Field(description="how many share the budget; many: the limit")
    downloads: Family = Field("constant", description=f"of the times between downloads of each: {FAMILY}")
    rate: Positive = Field(1.0, description="downloads per unit of time of all replicas in turns")
    updates: LawField = Field(description="the law of the times between updates")
    penalty: Literal["source", "update"] = Field("update", description="source or update")
    weight: WeightText = Field(description="w(x), such as 1 or x")

    groups: ClassVar = ("replicas",)
    metrics: ClassVar = ("extra_bandwidth",)

    def values(self) -> Iterator[Value]:
        replicas = None if self.replicas == "many" else int(self.replicas)
        family = partial(at_rate, self.downloads)
        found = extra_bandwidth(family, self.rate, replicas, self.updates, self.weight, self.penalty)
        yield "replicas", "extra_bandwidth", found


STALENESS: Iterable[type[Computation]] = (PhaseLock, CrawlRate, IndependentReplicas)
