"""Formulas of Crawl: policies beside the numerical optimum, and the threshold below which a page gets nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Literal, final

import numpy as np
from pydantic import Field, model_validator

from replnet.ages.prediction import Basis, Prediction
from replnet.network.aggregate import Aggregate, Sourced
from replnet.network.fields import Count
from replnet.network.network import Network
from replnet.network.sources import sources
from replnet.papers.crawl_fixed import optimal_fixed
from replnet.papers.crawl_policies import POLICIES
from replnet.papers.crawling import Allocation, Pages, fixed_freshness, optimal_random, random_freshness
from replnet.study.formulas.computation import Computation, Positive, Value

POISSON = "Poisson changes"
FIXED = Basis("exact", "Crawl eq. 6", f"{POISSON}; every page at fixed intervals")
ROUND = Basis("exact", "Crawl eq. 6 over the intervals of Algorithm 3", POISSON)
RANDOM = Basis("exact", "Crawl eq. 5", f"{POISSON}; every page at exponential intervals")
RANDOMISED, CAROUSEL = "new algorithm, randomised", "new algorithm, carousel"


class _OfPages(Computation):
    """Abstract: about pages, given as the sources of an aggregate are."""

    sources: Count | None = Field(None, description="how many pages; left out where rates or weights are a list")
    rates: Sourced = Field(description="how often pages change: a list, or a law whose quantiles they are")
    weights: Sourced = Field(description="what pages are worth: a list, or a law whose quantiles are dealt to them")
    budget: Positive = Field(description="refreshes per unit of time, all pages together")

    @model_validator(mode="after")
    def _fit_for_an_aggregate(self) -> _OfPages:
        self._pages()
        return self

    def _aggregate(self, **how: Any) -> Aggregate:
        given = {name: getattr(self, name) for name in ("sources", "rates", "weights", "budget")}
        return Aggregate(kind="aggregate", **given, **how)

    def _pages(self) -> Pages:
        found = sources(self._aggregate())
        return Pages(found.weights * found.size, found.rates)


@final
class Policies(_OfPages):
    """Weighted freshness by policies at fixed intervals (Crawl eq. 6), and its share of the largest there is.

    The new algorithm has its rates at exponential intervals, too, and in a carousel of one page at a time.
    """

    name: Literal["crawl-policies"]

    groups: ClassVar = (*POLICIES, CAROUSEL, RANDOMISED)
    metrics: ClassVar = ("freshness", "share_of_optimum")

    def values(self) -> Iterator[Value]:
        pages = self._pages()
        rates = {name: policy(pages, self.budget) for name, policy in POLICIES.items()}
        best = fixed_freshness(pages, rates["optimum"])
        found = {name: (fixed_freshness(pages, one), FIXED) for name, one in rates.items()}
        found[CAROUSEL] = self._carousel(), ROUND
        found[RANDOMISED] = random_freshness(pages, rates["new algorithm"]), RANDOM
        for name, (value, basis) in found.items():
            yield name, "freshness", Prediction.of(value, basis)
            yield name, "share_of_optimum", Prediction.of(value / best, basis)

    def _carousel(self) -> float:
        from replnet.study.predict import predict

        network = Network(self._aggregate(order="carousel", allocate="algorithm2"))
        row = next(row for row in predict(network).rows if (row.group, row.metric) == ("copies", "freshness"))
        assert row.predicted is not None
        return row.predicted


OPTIMA: dict[str, tuple[Callable[[Pages, float], Allocation], Basis]] = {
    "exponential": (optimal_random, Basis("exact", "Crawl eq. 11, Claim 2", POISSON)),
    "constant": (optimal_fixed, Basis("exact", "Crawl eq. 6, solved numerically", POISSON)),
}


@final
class Threshold(_OfPages):
    """Worth over change rate of pages: the smallest that is refreshed, the threshold, and the largest that is not."""

    name: Literal["crawl-threshold"]
    intervals: Literal["exponential", "constant"] = Field(
        "exponential", description="between refreshes of a page: exponential (Algorithm 2) or constant"
    )

    groups: ClassVar = ("refreshed", "threshold", "never refreshed")
    metrics: ClassVar = ("worth_per_change", "pages")

    def values(self) -> Iterator[Value]:
        pages = self._pages()
        optimum, basis = OPTIMA[self.intervals]
        found = optimum(pages, self.budget)
        # One that never changes is fresh, whatever is done.
        changing = pages.changes > 0
        worth = np.divide(pages.utilities, pages.changes, out=np.zeros(pages.size), where=changing)
        yield "threshold", "worth_per_change", Prediction.of(found.threshold, basis)
        for group, which, end in (("refreshed", found.rates > 0, min), ("never refreshed", found.rates == 0, max)):
            which = which & changing
            yield group, "pages", Prediction.of(int(which.sum()), basis)
            if which.any():
                yield group, "worth_per_change", Prediction.of(end(worth[which]), basis)


CRAWL: Iterable[type[Computation]] = (Policies, Threshold)
