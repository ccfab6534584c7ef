"""Systems of replicas that meet a target, measured: the slowest rate that does, and the best size where no formula is.

    r <- r + (target - p(r)) / p'(r)                                                               (1)

finds the rate r at which the measured freshness p is the target. The slope is a
difference of two emulations with the same random numbers; the standard error of r
is that of p over the slope.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

from replnet.ages.roots import UnreachableError
from replnet.laws import Law, law
from replnet.laws.fields import family_of
from replnet.measure.estimate import Estimate
from replnet.network.network import Network
from replnet.papers.p2p import non_cooperative, peak, service_rate
from replnet.study.experiment.cells import Settings
from replnet.study.sweeps.cell import emulated

PRECISION = 0.001  # half-width of freshness, where none is asked for
COARSE = 4.0  # times that, while sizes are compared
APART = 1.05  # ratio of the rates between which a slope is taken, and r
CLOSE = 0.01  # relative step of (1) after which the next would be smaller than any interval
LARGEST_STEP = 3.0  # factor of a rate
MOST_STEPS = 40
OFTEN = 4.0  # queries per update or download, whichever is more frequent
NEAR = 0.99  # of the best service rate: sizes that reach it are as good as the best
GROUPS = ("clients", "cluster", "level 1")  # the first that is there has the freshness of the system


@final
@dataclass(frozen=True)
class System:
    """What is given."""

    kind: str  # cooperative, redundant or independent
    target: float
    bandwidth: float
    updates: str
    downloads: str  # a family
    polls: str | None = None  # a family
    select: str = "random"
    ask: int = 1
    superposition: str = "exact"

    @classmethod
    def of(cls, plan: Mapping[str, Any]) -> System:
        fields = ("target", "bandwidth", "updates", "downloads", "polls", "select", "ask", "superposition")
        return cls(plan["system"], **{name: plan[name] for name in fields if name in plan})

    @property
    def law(self) -> Law:
        return law(self.updates)

    def service(self, rate: float, replicas: int = 0, peers: int = 0) -> float:
        """The service rate R, (1) of `optimise`."""
        if self.kind == "cooperative":
            return service_rate(self.bandwidth, replicas, self.bandwidth / replicas, rate, peers)
        return self.bandwidth**2 / rate - self.bandwidth / self.ask

    def network(self, rate: float, replicas: int = 0, peers: int = 0) -> Network:
        """That which has the freshness of this system."""
        updates = {"updates": self.updates}
        if self.kind == "cooperative":
            assert self.polls is not None
            laws = {
                "downloads": family_of(self.downloads)(self.bandwidth / replicas),
                "polls": family_of(self.polls)(rate),
            }
            shape = {"kind": "cooperative", "replicas": replicas, "peers": peers, "select": self.select}
            return Network.from_data({**shape, **updates, **laws})
        if self.kind == "redundant" and self.superposition == "exact":
            queries = f"exponential(rate={OFTEN * max(self.law.rate, rate)!r})"
            shape = {"kind": "redundant", "replicas": self.ask, "ask": self.ask, "queries": queries}
            return Network.from_data({**shape, **updates, "downloads": family_of(self.downloads)(rate / self.ask)})
        # As many rare downloads together are Poisson ones, one replica stands for those that are asked.
        family = "exponential" if self.kind == "redundant" else self.downloads
        return Network.from_data({"kind": "single", **updates, "downloads": family_of(family)(rate)})


@final
@dataclass(frozen=True)
class Choice:
    """A system of a certain size: its rate r, by formula or measured."""

    rate: float
    replicas: int = 0  # of a cooperative system
    peers: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.replicas, self.peers


@final
@dataclass(frozen=True)
class Found:
    """A system as emulated: r, and the freshness at the rate where it was looked for."""

    choice: Choice
    rate: Estimate
    freshness: Estimate
    note: str = ""

    def derived(self, of: Callable[[float], float]) -> Estimate:
        """`of` the rate, with its error by the slope of `of`."""
        step = 1e-6 * self.rate.value
        slope = (of(self.rate.value + step) - of(self.rate.value - step)) / (2 * step) if step else 0.0
        skew = math.copysign(self.rate.skew, self.rate.skew * slope)
        return replace(self.rate, value=of(self.rate.value), error=abs(slope) * self.rate.error, skew=skew)


@final
class Emulator:
    """Runs systems; counts what it ran."""

    def __init__(self, settings: Settings, longer: bool) -> None:
        free = settings.precision is None and settings.horizon is None
        self._settings = replace(settings, precision=PRECISION) if free else settings
        self._longer = longer
        self.events, self.incomplete = 0, ""

    def freshness(self, network: Network, coarse: bool = False) -> Estimate:
        settings = self._settings
        if coarse and settings.precision is not None:
            settings = replace(settings, precision=COARSE * settings.precision)
        result = emulated(network, settings, self._longer and not coarse)
        self.events += result.events
        self.incomplete = self.incomplete or result.incomplete
        by_group = {row.group: i for i, row in enumerate(result.rows) if row.metric == "freshness"}
        return result.estimates[next(by_group[group] for group in GROUPS if group in by_group)]

    def measure(self, system: System, choice: Choice) -> Found:
        """(1), from the rate that a formula gives; without polls the freshness alone."""
        shape = choice.shape
        if not choice.rate:
            rate = 1e-9 * system.law.rate
            here = self.freshness(system.network(rate, *shape))
            return Found(choice, replace(here, value=0.0, error=0.0), here)
        first = self.freshness(system.network(choice.rate, *shape))
        return replace(self._root(system, choice.rate, shape, first), freshness=first)

    def search(self, system: System, plan: Mapping[str, Any]) -> Found:
        """The best size where there is no formula."""
        known: dict[tuple[int, int], Found] = {}
        last = [system.law.rate]

        def value(replicas: int, peers: int) -> float:
            if (replicas, peers) not in known:
                try:
                    known[replicas, peers] = found = self._meet(system, replicas, peers, last[0])
                except UnreachableError:
                    return -math.inf
                last[0] = found.rate.value or last[0]
            return system.service(known[replicas, peers].rate.value, replicas, peers)

        plain = non_cooperative(system.bandwidth, system.target, system.law, system.downloads)
        best = search(plan, plain.replicas, value)
        if best not in known:
            self._meet(system, *best, last[0])  # says why
        tried = [m for m, k in known if k == best[1] and value(m, k) >= NEAR * value(*best)]
        words = near_words(min(tried), max(tried))
        found = known[best] if known[best].rate.value == 0 else self._root(system, known[best].rate.value, best)
        return replace(found, note=f"{words}, of {len(known)} sizes emulated" if words else "")

    def _meet(self, system: System, replicas: int, peers: int, start: float) -> Found:
        idle = self.freshness(system.network(1e-9 * system.law.rate, replicas, peers), coarse=True)
        if idle.value >= system.target:
            return Found(Choice(0.0, replicas, peers), replace(idle, value=0.0, error=0.0), idle)
        return self._root(system, start, (replicas, peers), coarse=True)

    def _root(
        self,
        system: System,
        start: float,
        shape: tuple[int, int],
        first: Estimate | None = None,
        *,
        coarse: bool = False,
    ) -> Found:
        """(1)."""

        def at(rate: float) -> Estimate:
            return self.freshness(system.network(rate, *shape), coarse)

        rate, most = start, LARGEST_STEP * system.bandwidth / max(shape[1], 1)
        for _ in range(MOST_STEPS):
            here, first = first or at(rate), None
            above, below = at(rate * APART).value, at(rate / APART).value
            slope = max((above - below) / (rate * APART - rate / APART), 0.0)
            wanted = system.target - here.value
            if slope and abs(wanted) <= CLOSE * rate * slope:
                found = replace(here, value=rate + wanted / slope, error=here.error / slope, skew=-here.skew)
                return Found(Choice(found.value, *shape), found, here)
            step = wanted / slope if slope else math.copysign(math.inf, wanted)
            rate = min(max(rate + step, rate / LARGEST_STEP), rate * LARGEST_STEP)
            if rate > most and system.kind == "cooperative":
                break
        raise UnreachableError(
            f"freshness {system.target:g} is not met at rate {rate:.4g}: {here.value:.4g} is measured"
        )


def search(
    plan: Mapping[str, Any], replicas: float, value: Callable[[int, int], float], *, step: int = 1
) -> tuple[int, int]:
    """(m, k) of the highest value; it rises with m up to the size of a system without polls, `replicas` (P2P VI-D)."""
    many = plan["over"].get("replicas", (plan.get("replicas"),) * 2)
    few = plan["over"].get("peers", (plan.get("peers"),) * 2)
    best: tuple[float, tuple[int, int]] = (-math.inf, (many[1], few[0]))
    for peers in range(few[0], min(few[1], many[1] - 1) + 1):
        low = max(many[0], peers + 1)
        start = min(max(int(replicas), low), many[1])

        def at(size: int, peers: int = peers) -> float:
            return value(size, peers) if size <= many[1] else -math.inf

        size = peak(at, start) if start < many[1] else start
        best = max(best, (at(size), (size, peers)), key=lambda found: found[0])
    return best[1]


def near_words(low: int, high: int) -> str:
    return f"within 1 % of the best for {low} to {high} replicas" if low < high else ""
