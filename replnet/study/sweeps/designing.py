"""From a target to a network: which architecture, which law of pulls and which rates meet it with the fewest messages.

Every candidate serves so many replicas with the same updates, and meets the target: that fixes one rate, the least
that will do, by formula. What is left to choose is the ratio of its two rates (of an upper tier to the replicas, of
polls to downloads), and, with a limit on what a node may answer, how many nodes the upper tiers have. The ratio is
looked for among a few with Poisson pulls, which have fast formulas, and kept for the other laws. In the end the best
ones are emulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, final

from replnet.ages.roots import narrowed
from replnet.deadline import require_time, within
from replnet.laws import Law, law
from replnet.laws.text import at_rate
from replnet.measure.metrics import is_beyond
from replnet.network.network import Network
from replnet.study.demand import Demand, demand
from replnet.study.experiment.subjects import Settings, so_far
from replnet.study.predict import predict
from replnet.study.replications import Progress
from replnet.study.result import Emulated, Tabled
from replnet.study.sweeps.sizing import OF_LOAD
from replnet.text.errors import FieldError

POLICIES = ("exponential(rate=1)", "constant(rate=1)")
GOLDEN = (1 + math.sqrt(5)) / 2
# Periods whose ratio is nearly a fraction would lock their phases.
RATIOS = tuple(GOLDEN**power for power in range(-3, 7))
CLOSE = 2e-3  # relative, of the least rate
FARTHEST = 2.0**20  # from the rate of updates, either way
VERIFIED = 3  # of the best designs
SUCH_AS = "such as freshness >= 0.9 or lag <= 3"
COLUMNS = (
    "architecture", "pulls", "rates", "messages", "at source", "busiest", "fits", "predicted", "measured", "ci_low",
    "ci_high", "verdict",
)  # fmt: skip


@final
@dataclass(frozen=True)
class Needs:
    """What all candidates are for: so many replicas, the law of updates, all clients' queries per unit of time, and
    how many requests per unit of time a node may answer."""

    updates: str
    replicas: int
    queries: float
    limit: float


@final
@dataclass(frozen=True)
class Built:
    """A candidate at certain rates: its specification, the group that the target is about, what the rates are, and how
    many requests per unit of time a node of each kind answers."""

    data: Mapping[str, Any]
    group: str
    rates: Mapping[str, float]
    answers: Mapping[str, float]
    messages: float  # requests of all nodes and clients, per unit of time

    @property
    def busiest(self) -> float:
        return max(self.answers.values())


Builder = Callable[[Needs, Law, float, float], Built]  # needs, law of the pulls, rate of downloads, ratio


def _tiers(above: int, needs: Needs, pulls: Law, rate: float, ratio: float) -> Built:
    """The replicas below so many tiers, each of as few nodes as can answer those below them."""
    rates = [rate, *(_rounded(rate * ratio) for _ in range(above))]  # from the replicas up
    sizes = [needs.replicas]
    for below in rates[:-1]:
        children = max(1, math.floor(min(needs.limit / below, sizes[-1])))  # of a node
        sizes.append(math.ceil(sizes[-1] / children))
    names = ["replica", *(f"tier {i}" for i in range(above, 0, -1))]
    answers = {"source": sizes[-1] * rates[-1], "replica": needs.queries / needs.replicas}
    for below, rate_below, size, name in zip(sizes, rates, sizes[1:], names[1:], strict=False):
        answers[name] = math.ceil(below / size) * rate_below
    tiers = [
        {"kind": "cascade", "depth": 1, "branching": size, "downloads": str(at_rate(pulls, own))}
        for size, own in zip(reversed(sizes), reversed(rates), strict=True)
    ]
    data: dict[str, Any] = {"updates": needs.updates}
    if above:
        data |= {"kind": "compose", "tiers": [tiers[0], *({**tier, "under": "spread"} for tier in tiers[1:])]}
    else:
        data |= tiers[0]
    named = {f"{size:,} x {name}": own for size, name, own in list(zip(sizes, names, rates, strict=True))[:0:-1]}
    messages = sum(size * own for size, own in zip(sizes, rates, strict=True)) + needs.queries
    return Built(data, f"tier {above + 1}" if above else "level 1", {**named, "replicas": rate}, answers, messages)


def _cluster(peers: int, needs: Needs, pulls: Law, rate: float, ratio: float) -> Built:
    """Replicas that poll so many of one another."""
    m, polls = needs.replicas, _rounded(rate * ratio)
    data = {
        "kind": "cooperative", "replicas": m, "peers": peers, "updates": needs.updates,
        "downloads": str(at_rate(pulls, rate)), "polls": str(at_rate(pulls, polls)),
    }  # fmt: skip
    answers = {"source": m * rate, "replica": peers * polls + needs.queries / m}
    messages = m * (rate + peers * polls) + needs.queries
    return Built(data, "cluster", {"downloads": rate, "polls": polls}, answers, messages)


def _redundant(ask: int, needs: Needs, pulls: Law, rate: float, ratio: float) -> Built:
    """Replicas that ask the source, and clients who ask so many of them and keep the freshest answer."""
    m = needs.replicas
    data = {
        "kind": "redundant", "replicas": m, "ask": ask, "updates": needs.updates,
        "downloads": str(at_rate(pulls, rate)), "queries": f"exponential(rate={needs.queries!r})",
    }  # fmt: skip
    answers = {"source": m * rate, "replica": ask * needs.queries / m}
    return Built(data, "clients", {"downloads": rate}, answers, m * rate + ask * needs.queries)


def architectures(needs: Needs) -> dict[str, tuple[Builder, Sequence[float]]]:
    """By name, what builds them, and the ratios of their rates that are looked at."""
    found: dict[str, tuple[Builder, Sequence[float]]] = {"all ask the source": (partial(_tiers, 0), (1.0,))}
    found |= {f"{name} above": (partial(_tiers, n), RATIOS) for n, name in ((1, "a tier"), (2, "two tiers"))}
    for peers in (1, 2, 4):
        if peers < needs.replicas:
            found[f"cluster, {peers} a poll"] = partial(_cluster, peers), RATIOS
    for ask in (2, 3):
        if needs.queries and ask <= needs.replicas:
            found[f"clients ask {ask}"] = partial(_redundant, ask), (1.0,)
    return found


@final
@dataclass(frozen=True)
class Candidate:
    """An architecture that meets the target by formula, and what was measured if it is one of the best."""

    architecture: str
    pulls: str
    built: Built
    fits: bool
    predicted: float
    result: Emulated | None = field(default=None, repr=False)

    @cached_property
    def network(self) -> Network:
        return Network.from_data(self.built.data)

    def row(self, metric: str) -> dict[str, Any]:
        """By COLUMNS; without what was not measured."""
        rows = self.result.about(metric, self.built.group) if self.result else []
        measured = rows[0].data() if rows else {}
        rates = ", ".join(f"{name} {rate:.4g}" for name, rate in self.built.rates.items())
        own = (
            self.architecture, self.pulls, rates, self.built.messages, self.built.answers["source"],
            self.built.busiest, self.fits, self.predicted,
        )  # fmt: skip
        return dict(zip(COLUMNS, own, strict=False)) | {name: measured.get(name) for name in COLUMNS[len(own) :]}


@final
@dataclass(frozen=True)
class Design(Tabled):
    """The candidates, the best first: those within the limit, by messages, and then the others by their busiest node.

    `left_out` says why an architecture is not among them.
    """

    target: Demand
    candidates: tuple[Candidate, ...]
    left_out: Mapping[str, str]

    @property
    def best(self) -> Candidate:
        return self.candidates[0]

    @property
    def incomplete(self) -> str:
        """Why the best ones were not emulated as was asked for, if that is so."""
        return next((one.result.incomplete for one in self.candidates if one.result and one.result.incomplete), "")

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [one.row(self.target.metric) for one in self.candidates]

    @cached_property
    def table(self) -> Any:
        """The rows as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(COLUMNS))

    def __str__(self) -> str:
        return str(self.table.to_string(index=False, float_format="%.5g", na_rep=""))


def design(
    updates: Law | str,
    replicas: int,
    target: float | str,
    *,
    limit: float = math.inf,
    queries: float = 0.0,
    pulls: Iterable[Law | str] = POLICIES,
    seed: int = 1,
    precision: float = 0.005,
    progress: Progress | None = None,
    workers: int | None = None,
    address: str | None = None,
    budget: float | str | None = None,
) -> Design:
    """Architectures, laws of pulls and rates with which so many replicas meet the target, the fewest messages first.

    A target is a freshness, or a demand on any metric, of what clients get: `lag <= 3`. No node is to answer more than
    `limit` requests per unit of time; `queries` are those of all clients together, and let these ask several replicas.
    `pulls` are laws whose rates are left open. The best few are emulated, to half-widths of `precision`.
    A `budget` of seconds, or such as 10m, ends it as Ctrl-C does.

    >>> found = rn.design("exponential(rate=1)", 20, "freshness >= 0.9", limit=60, workers=0)
    >>> found.best.architecture, found.best.fits, found.best.result.verdict
    ('a tier above', True, 'agree')
    """
    asked = demand(target if isinstance(target, str) else f"freshness >= {target!r}", "target")
    asked.require_open()
    if asked.group or asked.metric in OF_LOAD:
        raise FieldError(
            "target", f"{asked.text!r} is not about what clients get", "such as freshness >= 0.9 or lag <= 3"
        )
    needs = _checked(Needs(str(_law("updates", updates)), replicas, queries, limit))
    shapes = [_law("pulls", one) for one in pulls]
    measure = (asked.metric,) if is_beyond(asked.metric) else ()
    settings = Settings(None, "sampled", seed, None, precision, None, 0.02, measure)
    tell = progress or (lambda share, words: None)
    with within(budget):
        found, left_out = _candidates(needs, shapes, asked, tell)
        for at, one in enumerate(found[:VERIFIED]):
            tell(0.7 + 0.3 * at / VERIFIED, f"{one.architecture}, emulated")
            found[at] = replace(one, result=so_far(one.network, settings, False, workers, address))
    return Design(asked, tuple(found), left_out)


def _candidates(
    needs: Needs, shapes: Sequence[Law], asked: Demand, tell: Progress
) -> tuple[list[Candidate], dict[str, str]]:
    """By formula, the best first, and why the others are left out."""
    found, left_out = list[Candidate](), dict[str, str]()
    everyone = architectures(needs)
    for at, (name, (build, ratios)) in enumerate(everyone.items()):
        tell(0.7 * at / len(everyone), f"{name}, by formula")
        require_time()
        try:
            found += _of_one(name, build, ratios, needs, shapes, asked)
        except FieldError as error:
            left_out[name] = error.wrong
    if not found:
        raise FieldError("target", next(iter(left_out.values())), SUCH_AS)
    found.sort(key=lambda one: (not one.fits, one.built.messages if one.fits else one.built.busiest))
    return found, left_out


def _checked(needs: Needs) -> Needs:
    if not isinstance(needs.replicas, int) or needs.replicas < 1:
        raise FieldError("replicas", f"{needs.replicas!r} is no number of replicas", "1 or more")
    for name in ("limit", "queries"):
        value = getattr(needs, name)
        if not value >= 0 or (name == "limit" and value == 0):
            raise FieldError(name, f"{value!r} is no number per unit of time", "above 0")
    return needs


def _law(field: str, given: Law | str) -> Law:
    try:
        return law(given)
    except FieldError as error:
        raise FieldError(field, f"{given}: {error.field}: {error.wrong}", error.right) from None


def _rounded(rate: float) -> float:
    """Up, to four digits, so that a target that was met still is."""
    digits = 3 - math.floor(math.log10(rate))
    return math.ceil(rate * 10.0**digits) / 10.0**digits if digits < 300 else rate


def _of_one(
    name: str, build: Builder, ratios: Sequence[float], needs: Needs, shapes: Sequence[Law], asked: Demand
) -> list[Candidate]:
    """An architecture by each law of pulls, at the ratio of rates that is best with Poisson pulls."""
    fast = law(POLICIES[0])

    def least(pulls: Law, ratio: float, start: float | None = None) -> float:
        return _least(lambda rate: build(needs, pulls, rate, ratio), needs, asked, start)

    tried = {ratio: least(fast, ratio) for ratio in ratios}
    costs = {
        ratio: ((built := build(needs, fast, rate, ratio)).busiest > needs.limit, built.messages)
        for ratio, rate in tried.items()
    }
    ratio = min(costs, key=lambda one: costs[one])
    found = []
    for shape in shapes:
        rate = least(shape, ratio, tried[ratio])
        built = build(needs, shape, rate, ratio)
        value = _value(built, asked)
        assert value is not None
        pulls = str(at_rate(shape, 1.0)).partition("(")[0]
        found.append(Candidate(name, pulls, built, built.busiest <= needs.limit, value))
    return found


def _least(build: Callable[[float], Built], needs: Needs, asked: Demand, start: float | None = None) -> float:
    """The least rate of downloads that meets the target."""
    rate = start or law(needs.updates).rate

    def meets(rate: float) -> bool:
        value = _value(build(rate), asked)
        if value is None:
            raise FieldError("target", f"{asked.metric} has no formula there", "another metric")
        return asked.margin(value) >= 0

    met = meets(rate)
    factor = 0.5 if met else 2.0
    value = rate
    while meets(value * factor) == met:
        value *= factor
        if not rate / FARTHEST < value < rate * FARTHEST:
            wrong = f"{asked.text!r} is {'met' if met else 'not met'} by any rate of downloads"
            raise FieldError("target", wrong, "one that a rate of downloads decides")
    inside, outside = (value, value * factor) if met else (value * factor, value)
    return _rounded(float(narrowed(inside, outside, meets, CLOSE)))


def _value(built: Built, asked: Demand) -> float | None:
    """What is predicted of those whom the target is about."""
    measure = (asked.metric,) if is_beyond(asked.metric) else ()
    rows = predict(Network.from_data(built.data), measure).about(asked.metric, built.group)
    if not rows:
        raise FieldError("target", f"nothing will match {asked.text!r}", "another metric")
    return rows[0].predicted
