"""Formulas of Sync that no run of a network answers: ratios of policies, all change rates at once, allocations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar, Literal, final

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from replnet.ages.prediction import Basis, Prediction
from replnet.network.fields import Count, LawField
from replnet.network.parts import Part
from replnet.papers.sync_allocation import BASIS as ALLOCATED
from replnet.papers.sync_allocation import Allocation, Elements, Goal, at_multiplier, optimal, proportional, uniform
from replnet.papers.sync_order import FIXED, PURELY_RANDOM, RANDOM, SyncOrder
from replnet.papers.sync_rates import (
    gamma_proportional_age,
    gamma_uniform_age,
    gamma_uniform_freshness,
    proportional_average,
    uniform_average,
)
from replnet.papers.synchronization import at_equal_gain, benefit, best_division, gain_peak, largest_ratio, table_6_fits
from replnet.study.experiment.system import Target
from replnet.study.formulas.computation import Computation, NotNegative, Positive, Value
from replnet.text.errors import FieldError, shown

POISSON = "Poisson changes; synchronisations that do not depend on them"
ORDERED = Basis("limit", "Sync Table 2", f"{POISSON}; very many elements")
GAMMA = Basis("exact", "Sync Table 3", f"{POISSON}; change rates of a gamma law")
RATES = Basis("exact", "Sync App. C", POISSON)
BENEFIT = Basis("exact", "Sync 5.2", "one change in each part of the day, at an even time in it")
GAIN = Basis("exact", "Sync eq. 16, Thm 5", POISSON)
SEARCHED = Basis("exact", "Sync Table 2, by search", f"{POISSON}; heights in steps of one per cent")

ORDERS: dict[str, SyncOrder] = {"fixed": FIXED, "random": RANDOM, "purely random": PURELY_RANDOM}
Order = Literal["fixed", "random", "purely random"]


@final
class Orders(Computation):
    """What an order of synchronisation is worth, and the fixed order beside the others; ages in mean intervals."""

    name: Literal["orders"]
    ratio: Positive = Field(description="r, changes per synchronisation")

    groups: ClassVar = (*ORDERS, "fixed / random", "fixed / purely random")
    metrics: ClassVar = ("freshness", "age")

    def values(self) -> Iterator[Value]:
        found = {name: (order.freshness_at(self.ratio), order.age_at(self.ratio)) for name, order in ORDERS.items()}
        for name, pair in found.items():
            yield from _pair(name, pair, ORDERED)
        for name in ("random", "purely random"):
            ratios = (a / b for a, b in zip(found["fixed"], found[name], strict=True))
            yield from _pair(f"fixed / {name}", ratios, ORDERED)


@final
class LargestRatio(Computation):
    """How many changes there may be per synchronisation for a freshness."""

    name: Literal["largest-ratio"]
    freshness: Target = Field(description="to be met, below 1")
    order: Order = Field("fixed", description="fixed, random or purely random")

    groups: ClassVar = ("elements",)
    metrics: ClassVar = ("changes_per_synchronisation",)

    def values(self) -> Iterator[Value]:
        ratio = largest_ratio(self.freshness, ORDERS[self.order])
        yield "elements", "changes_per_synchronisation", Prediction.of(ratio, ORDERED)


@final
class GammaRates(Computation):
    """Elements whose change rates follow a gamma law, in fixed order; ages in mean intervals of synchronisation."""

    name: Literal["gamma-rates"]
    ratio: Positive = Field(description="r, changes per synchronisation on average")
    spread: NotNegative = Field(description="standard deviation of the change rates over their mean")

    groups: ClassVar = ("uniform", "proportional", "proportional / uniform", "uniform / proportional")
    metrics: ClassVar = ("freshness", "age")

    def values(self) -> Iterator[Value]:
        even = gamma_uniform_freshness(self.ratio, self.spread), gamma_uniform_age(self.ratio, self.spread)
        share = FIXED.freshness_at(self.ratio), gamma_proportional_age(self.ratio, self.spread)
        yield from _pair("uniform", even, GAMMA)
        yield from _pair("proportional", share, GAMMA)
        yield "proportional / uniform", "freshness", Prediction.of(float(share[0] / even[0]), GAMMA)
        yield "uniform / proportional", "age", Prediction.of(float(even[1] / share[1]), GAMMA)


@final
class ChangeRates(Computation):
    """Elements whose change rates follow a law, synchronised alike or in proportion to their change rates."""

    name: Literal["change-rates"]
    rates: LawField = Field(description="the law of the change rates, such as lognormal(sigma=1, mean=2)")
    frequency: Positive = Field(description="synchronisations per element and unit of time, on average")
    order: Order = Field("fixed", description="fixed, random or purely random")

    groups: ClassVar = ("uniform", "proportional")
    metrics: ClassVar = ("freshness", "age")

    def values(self) -> Iterator[Value]:
        given = self.rates, self.frequency, ORDERS[self.order]
        yield from _pair("uniform", uniform_average(*given), RATES)
        yield from _pair("proportional", proportional_average(*given), RATES)


def _pair(group: str, values: Iterable[object], basis: Basis) -> Iterator[Value]:
    for metric, value in zip(("freshness", "age"), values, strict=True):
        yield group, metric, Prediction.of(float(value), basis)  # type: ignore[arg-type]


def _whole_numbers(value: object) -> tuple[int, ...]:
    parts = value.split("+") if isinstance(value, str) else value
    try:
        found = tuple(int(part) for part in parts) if isinstance(parts, list | tuple) else None
    except (TypeError, ValueError):
        found = None
    if found is None or min(found, default=0) < 0:
        raise FieldError("", f"{shown(value)} is no list of whole numbers", "such as [9, 1] or 9 + 1, each 0 or more")
    return found


@final
class Benefit(Computation):
    """What synchronisations at equal distances gain in elements that change once in each part of a day."""

    name: Literal["benefit"]
    parts: tuple[Count, ...] = Field(description="by element, the equal parts of a day in each of which it changes")
    synchronisations: Annotated[tuple[int, ...], BeforeValidator(_whole_numbers)] = Field(
        description="by element, how many there are in a day: a list, or a text such as 9 + 1"
    )

    groups: ClassVar = ("elements", "best division")
    metrics: ClassVar = ("benefit",)

    @model_validator(mode="after")
    def _one_each(self) -> Benefit:
        if len(self.synchronisations) != len(self.parts):
            wrong = f"{len(self.synchronisations)} for {len(self.parts)} elements"
            raise FieldError("synchronisations", wrong, "one number per element")
        return self

    def values(self) -> Iterator[Value]:
        best = best_division(self.parts, sum(self.synchronisations))
        for group, given in (("elements", self.synchronisations), ("best division", best)):
            yield group, "benefit", Prediction.of(float(benefit(self.parts, given)), BENEFIT)


GOALS: dict[str, Goal] = {"best for freshness": "freshness", "best for age": "age"}


@final
class Allocations(Computation):
    """A budget of synchronisations shared among elements; `frequency` is that of an element of a rate."""

    name: Literal["allocation"]
    rates: tuple[NotNegative, ...] = Field(description="how often the elements change")
    weights: tuple[Positive, ...] = Field((), description="how many of each there are; equally many if left out")
    frequency: Positive = Field(description="synchronisations per element and unit of time, on average")
    order: Order = Field("fixed", description="fixed, random or purely random")
    rate: Positive | None = Field(None, description="of an element, or of one more that is treated like the others")

    groups: ClassVar = ("proportional", "uniform", *GOALS)
    metrics: ClassVar = ("freshness", "age", "frequency")

    @model_validator(mode="after")
    def _made_of_elements(self) -> Allocations:
        self._elements()
        return self

    def _elements(self) -> Elements:
        return Elements(np.array(self.rates), np.array(self.weights or np.ones(len(self.rates))))

    def values(self) -> Iterator[Value]:
        elements, order = self._elements(), ORDERS[self.order]
        yield from self._group("proportional", proportional(elements, self.frequency, order))
        yield from self._group("uniform", uniform(elements, self.frequency, order))
        for group, goal in GOALS.items():
            yield from self._group(group, optimal(elements, self.frequency, order, goal))

    def _group(self, group: str, found: Allocation) -> Iterator[Value]:
        yield group, "freshness", found.freshness
        yield group, "age", found.age
        if self.rate is not None:
            yield group, "frequency", Prediction.of(self._frequency(group, found, self.rate), ALLOCATED)

    def _frequency(self, group: str, found: Allocation, rate: float) -> float:
        if group in GOALS:
            return float(at_equal_gain(found, GOALS[group], np.array([rate]))[0])
        return self.frequency * (rate / found.elements.mean_rate if group == "proportional" else 1.0)


@final
class EqualGain(Computation):
    """The frequency at which an element gains so much freshness from one synchronisation more."""

    name: Literal["equal-gain"]
    gain: Positive = Field(description="mu, the freshness that one more synchronisation per unit of time is worth")
    rate: Positive = Field(description="how often the element changes")
    order: Order = Field("fixed", description="fixed, random or purely random")

    groups: ClassVar = ("element",)
    metrics: ClassVar = ("frequency", "highest_frequency", "rate_of_highest")

    def values(self) -> Iterator[Value]:
        order = ORDERS[self.order]
        frequency = float(at_multiplier(np.array([self.rate]), self.gain, order)[0])
        yield "element", "frequency", Prediction.of(frequency, GAIN)
        rate, frequency = gain_peak(self.gain, order)
        yield "element", "highest_frequency", Prediction.of(frequency, GAIN)
        yield "element", "rate_of_highest", Prediction.of(rate, GAIN)


Ends = tuple[NotNegative, NotNegative]


@final
class Accepted(Part):
    """What a printed freshness and age may stand for, both ends included."""

    freshness: Ends = Field(description="from, to")
    age: Ends = Field(description="from, to, in days")


@final
class Histograms(Computation):
    """How many histograms of change intervals, their open bars in steps of one per cent, fit what is printed of them.

    Pages change daily, weekly, monthly, every four months or yearly, and are synchronised once a month.
    """

    name: Literal["histograms"]
    daily: NotNegative = Field(description="share of pages that change every day")
    weekly: NotNegative = Field(description="share of pages that change every week")
    month: Positive = Field(30.0, description="its days")
    proportional: Accepted = Field(description="of the proportional allocation")
    uniform: Accepted = Field(description="of the uniform allocation")
    optimal: Accepted = Field(description="of the best allocations, for freshness and for age")

    groups: ClassVar = ("histograms",)
    metrics: ClassVar = ("fitting",)

    def values(self) -> Iterator[Value]:
        accepted = {name: getattr(self, name) for name in ("proportional", "uniform", "optimal")}
        ranges = {name: (one.freshness, one.age) for name, one in accepted.items()}
        fitting = len(table_6_fits(self.daily, self.weekly, ranges, month=self.month))
        yield "histograms", "fitting", Prediction.of(fitting, SEARCHED)


SYNC: Iterable[type[Computation]] = (
    Orders,
    LargestRatio,
    GammaRates,
    ChangeRates,
    Benefit,
    Allocations,
    EqualGain,
    Histograms,
)
