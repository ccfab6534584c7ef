"""An aggregate made ready: its sources, how often each is downloaded, and who looks at the copies.

A view is a group of rows: `copies` are those of one replica, what `clients` find is the
freshest of the copies in `ask` of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from replnet.engines.aggregate.refreshes import Draws, Refreshes, Renewing, Round, Scattered, Shuffled
from replnet.laws import Constant, Law
from replnet.laws.processes.carousel import long_round
from replnet.network.aggregate import Aggregate
from replnet.network.network import Network
from replnet.network.sources import Floats, Ints, Sources, sources
from replnet.predictions.many_sources import frequencies

MOST_TOGETHER = 20  # sources that can be meant to be fresh all at once
MOST_CHOICES = 20  # of replicas to ask, over which a path takes the mean
MOST_SHOWN = 10  # sources that have rows of their own
CONSTANT = Constant(rate=1.0)


@final
@dataclass(frozen=True)
class View:
    """A group of rows, by how many replicas it looks at."""

    name: str
    ask: int


@final
@dataclass(frozen=True, eq=False)
class System:
    """What a specification amounts to."""

    spec: Aggregate
    sources: Sources
    frequencies: Floats

    @classmethod
    def of(cls, network: Network) -> System:
        assert isinstance(network.spec, Aggregate)
        found = sources(network.spec)
        return cls(network.spec, found, frequencies(network.spec, found))

    @property
    def size(self) -> int:
        return self.sources.size

    @property
    def rate(self) -> float:
        """Updates and downloads per unit of time."""
        return float(self.sources.rates.sum() + self.frequencies.sum())

    @property
    def looks(self) -> int:
        """At how many choices of replicas a path looks."""
        return sum(min(math.comb(self.spec.replicas, view.ask), MOST_CHOICES) for view in self.views)

    @property
    def views(self) -> list[View]:
        clients = [View("clients", self.spec.ask)] if self.spec.replicas > 1 else []
        return [View("copies", 1), *clients]

    @property
    def together(self) -> bool:
        """Whether it is asked if any source is fresh, and if all are."""
        return 1 < self.size <= MOST_TOGETHER

    @property
    def shown(self) -> int:
        """How many sources have rows of their own."""
        return self.size if self.size <= MOST_SHOWN else 0

    @property
    def downloads(self) -> Law:
        """The shape of the intervals, where sources are downloaded independently of one another."""
        return self.spec.downloads or CONSTANT

    @property
    def alike(self) -> bool:
        """Whether all sources are downloaded equally often, so that there are rounds of them."""
        return bool(self.frequencies[0] == self.frequencies.max() == self.frequencies.min() > 0)

    @property
    def slot(self) -> float:
        return 1 / float(self.frequencies.sum())

    @property
    def apart(self) -> bool:
        """Whether sources are downloaded independently of one another."""
        own_rounds = self.spec.order == "fixed" and not self.alike
        return self.spec.order == "independent" or own_rounds or not self.frequencies.any()

    @cached_property
    def round(self) -> Ints:
        """The order of the carousel, over and over, long enough for its rarest source.

        What would come less than once in the longest round may never come.
        """
        return long_round(self.frequencies)

    @cached_property
    def refreshes(self) -> Refreshes:
        """The order carried out."""
        often, spec = self.frequencies, self.spec
        if self.apart:
            return Renewing(self.downloads, often, spec.replicas, spec.share == "turns")
        match spec.order:
            case "fixed":
                return Round(np.arange(self.size), self.slot, self.size)
            case "random":
                return Shuffled(self.size, 1 / float(often[0])) if self.alike else Scattered(often)
            case "purely random":
                return Draws(often * self.slot, self.slot)
        return Round(self.round, self.slot, self.size)

    def laws(self) -> Iterator[Law]:
        """The shapes of all processes that are renewal processes."""
        yield from self.sources.shapes
        if self.spec.order == "independent":
            yield self.downloads
