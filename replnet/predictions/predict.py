"""From a network to formulas: the information age of every node, composed along its graph.

A node's age follows from those of its upstreams (theory.information_age), so
nodes are visited upstreams first; equal nodes share one age. Where the
independence that a formula needs is not given, there is no formula, and the
row says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from replnet.ages.cluster import NO_RECENT, cluster
from replnet.ages.information_age import InformationAge, Never, best_of, delayed, direct, never, pull
from replnet.ages.prediction import NoFormulaError, Prediction, mean, unknown
from replnet.engines.plan import DOWNLOADS, POLLS, QUERIES, Plan, Process, plan
from replnet.laws.law import Law
from replnet.laws.processes.order import Ordered, shuffled
from replnet.measure.row import Row
from replnet.network.network import Network
from replnet.predictions.capacity import OVERFLOWS, Capacity
from replnet.predictions.presence import available, churned, freshness_in_churn, presence, require_steady, successful
from replnet.study.provenance import provenance
from replnet.study.result import Predicted

if TYPE_CHECKING:
    from replnet.measure.metrics import Metric

MOST_SUBSETS = 500  # of unlike replicas over which a client's choice is averaged one by one


def predict(network: Network, measure: Iterable[str] = (), by: str | None = None) -> Predicted:
    """What the formulas say, group by group; of `measure` as well (metrics.py); `by="source"` as in `emulate`."""
    require_by(by)
    if network.kind == "aggregate":
        from replnet.study.aggregates.emulated import predict_aggregate

        return predict_aggregate(network, measure)
    found = formulas(plan(network), _asked(measure), by == "source")
    rows = tuple(Row.of(key, formula) for key, formula in found.items())
    return Predicted(network.data(), rows, provenance(network.data()))


def _asked(measure: Iterable[str]) -> tuple[Metric, ...]:
    names = [measure] if isinstance(measure, str) else list(measure)
    if not names:
        return ()  # without loading what few ask for
    from replnet.measure.metrics import metrics

    return metrics(names)


def require_by(by: str | None) -> None:
    if by not in (None, "source"):
        raise ValueError(f"by: {by!r} is nothing to have rows by (source)")


def rows_by_source(network: Network) -> list[str]:
    """The groups of a network, and what has rows beside them where they are asked for by source."""
    return list(plan(network).rows)


def formulas(
    compiled: Plan, asked: Iterable[Metric] = (), by_source: bool = False
) -> dict[tuple[str, str], Prediction]:
    """By (group, metric), in the order of the groups of a network, and then what else is asked for.

    With `by_source` their parts (Plan.parts) follow the groups.
    """
    ages = [_Ages(compiled, row) for row in range(len(compiled.sources))]
    rows = {name: one for name, one in compiled.rows.items() if by_source or one[1] < 0}
    found = {(name, "freshness"): _of_group(compiled, ages, *one) for name, one in rows.items()}
    found |= presence(compiled) if compiled.strict else {}
    beyond = {
        (name, metric.name): _beyond(compiled, ages, *one, metric)
        for name, one in rows.items()
        for metric in asked
        if compiled.reached[:, compiled.group == one[0]].any()
    }
    if compiled.bandwidth is not None:
        capacity = Capacity(compiled)
        if capacity.crowded or capacity.turned_away:
            why = capacity.crowded or OVERFLOWS
            beyond = dict.fromkeys(beyond, unknown(why))
        found = limited(found, capacity)
    return found | beyond


def limited(found: dict[tuple[str, str], Prediction], capacity: Capacity) -> dict[tuple[str, str], Prediction]:
    """What bandwidth makes of formulas that know nothing of it, and its own."""
    own, crowded, shy = capacity.formulas(), capacity.crowded, capacity.turned_away
    for (group, metric), formula in found.items():
        if crowded:
            found[group, metric] = unknown(crowded)
        elif metric == "answered" and own[group, "rejected"].value != 0:
            found[group, metric] = unknown("queries that are turned away")
        elif formula.known and shy >= 1:
            found[group, metric] = unknown(OVERFLOWS)
        elif formula.known and shy:
            found[group, metric] = replace(formula, kind="approximation", accuracy=formula.accuracy + shy)
    return found | own


def _of_group(compiled: Plan, ages: list[_Ages], g: int, source: int) -> Prediction:
    """The mean over the copies of a group, or the answers to its clients, and over sources, or of one (-1: of all)."""
    parts: dict[Prediction, float] = {}
    try:
        for i, row in _held(compiled.counted, compiled, g, source):
            prediction = ages[row].freshness(i)
            parts[prediction] = parts.get(prediction, 0) + ages[row].share(i)
    except NoFormulaError as why:
        return unknown(why)
    return mean(parts)


def _held(of: Any, compiled: Plan, g: int, source: int) -> Iterator[tuple[int, int]]:
    """Nodes of a group, each with the rows of sources that `of` has for it."""
    members = (compiled.group == g).nonzero()[0]
    rows = np.arange(len(compiled.sources)) if source < 0 else np.array([source])
    which, row = of[np.ix_(rows, members)].T.nonzero()
    return zip(members[which].tolist(), rows[row].tolist(), strict=True)


def _beyond(compiled: Plan, ages: list[_Ages], g: int, source: int, metric: Metric) -> Prediction:
    """The same of another metric, where there is a copy that could be behind."""
    parts: dict[tuple[InformationAge, Law], float] = {}
    try:
        for i, row in _held(compiled.reached, compiled, g, source):
            own, held = ages[row], ages[row].held(i)
            for age in held:
                if not isinstance(age, Never):
                    parts[age, own.updates] = parts.get((age, own.updates), 0.0) + own.share(i) / len(held)
        return metric.formula(parts)
    except NoFormulaError as why:
        return unknown(why)


class _Ages:
    """The age of every node's copy of one source."""

    def __init__(self, compiled: Plan, row: int) -> None:
        self._plan, self._row, self._source = compiled, row, compiled.sources[row]
        self._updates = shuffled(compiled.processes[row].law)
        self._of: dict[tuple[int, int], Process] = {(p.node, p.purpose): p for p in compiled.processes}
        self._known: dict[int, InformationAge | NoFormulaError] = {}
        self._same: dict[object, InformationAge] = {}
        self._predicted: dict[InformationAge, Prediction] = {}
        self._clusters: dict[int, frozenset[int]] = {}

    def freshness(self, node: int) -> Prediction:
        queries = self._of.get((node, QUERIES))
        if queries is None:
            found = self._copy(node)
            return found if isinstance(found, Prediction) else self._fresh(found)
        parts: dict[Prediction, int] = {}
        for age in self._answers(queries):
            prediction = self._fresh(age)
            parts[prediction] = parts.get(prediction, 0) + 1
        return mean(parts)

    def share(self, node: int) -> float:
        """How much of what its group has is this node's: of the answers, or of the time with a copy."""
        queries = self._of.get((node, QUERIES))
        if queries is not None:
            return queries.law.rate
        return available(self._plan, self._of, node).value if self._plan.faults.crashes else 1.0

    @property
    def updates(self) -> Law:
        return self._updates

    def held(self, node: int) -> list[InformationAge]:
        """The age of a copy, or the ages that an answer to a client may have, all equally likely."""
        queries = self._of.get((node, QUERIES))
        if queries is not None:
            return self._answers(queries)
        copy = self._copy(node)
        if isinstance(copy, Prediction):
            raise NoFormulaError("how far copies are behind that are kept through a crash")
        return [copy]

    def _copy(self, node: int) -> InformationAge | Prediction:
        """Of a replica, while it has a copy: its age, or only how fresh it is."""
        crash = churned(self._plan, node)
        if crash is None:
            return self._age(node)
        downloads = self._of.get((node, DOWNLOADS))
        if downloads is None or (node, POLLS) in self._of:
            raise NoFormulaError("nodes that crash and poll one another")
        for upstream in downloads.candidates:
            require_steady(self._plan, upstream)
        found = freshness_in_churn(self._plan, crash, self._updates, downloads)
        return found if isinstance(found, Prediction) else self._share((crash, downloads.law), found)

    def _fresh(self, age: InformationAge) -> Prediction:
        if age not in self._predicted:
            self._predicted[age] = age.freshness(self._updates)
        return self._predicted[age]

    def _age(self, node: int) -> InformationAge:
        """Upstreams first, without recursion: chains may be longer than Python's stack."""
        waiting = [node]
        while node not in self._known:
            i = waiting[-1]
            missing = [u for u in self._needs(i) if u not in self._known]
            if not missing:
                self._known[waiting.pop()] = self._attempt(i)
            elif set(missing) & set(waiting):
                self._known[waiting.pop()] = NoFormulaError("pulls go round in a cycle")
            else:
                waiting.append(missing[0])
        known = self._known[node]
        if isinstance(known, NoFormulaError):
            raise known
        return known

    def _needs(self, node: int) -> Iterable[int]:
        downloads = self._of.get((node, DOWNLOADS))
        return () if downloads is None else (u for u in downloads.candidates if u not in self._plan.sources)

    def _attempt(self, node: int) -> InformationAge | NoFormulaError:
        try:
            return self._compose(node)
        except NoFormulaError as why:
            return why

    def _compose(self, node: int) -> InformationAge:
        if not self._plan.reached[self._row, node]:
            return self._share("never", never())
        for other in (node, self._source):
            require_steady(self._plan, other)
        if (node, POLLS) in self._of:
            return self._cluster(node, 1)
        return self._pulled(node, shuffled(successful(self._plan, self._of[node, DOWNLOADS])))

    def _pulled(self, node: int, own: Law | InformationAge) -> InformationAge:
        """`own` on top of what the upstreams of a node hold."""
        downloads = self._of[node, DOWNLOADS]
        upstreams = downloads.candidates
        if downloads.ask < len(upstreams):
            raise NoFormulaError("a replica that asks some of its upstreams keeps what it had if that was fresher")
        delays = {self._delay(u, node) for u in upstreams}
        if len(delays) > 1:
            raise NoFormulaError("upstreams of one replica with different delays")
        delay = delays.pop()
        if self._source in upstreams:
            return self._share((own, delay), delayed(direct(own) if isinstance(own, Law) else own, delay))
        above = self._best(list(upstreams))
        return self._share((own, above, delay), delayed(pull(above, own), delay))

    def _best(self, nodes: list[int]) -> InformationAge:
        """The freshest of what these nodes hold, if they came by it independently."""
        ages = [self._age(i) for i in nodes]
        if len(nodes) == 1:
            return ages[0]
        self._require_apart(nodes)
        return self._share(("best", tuple(sorted(map(id, ages)))), best_of(ages))

    def _cluster(self, node: int, ask: int) -> InformationAge:
        polls, downloads = self._of[node, POLLS], self._of.get((node, DOWNLOADS))
        members = polls.candidates
        if polls.recent:
            raise NoFormulaError(NO_RECENT.removeprefix("no formula "))
        if downloads is None or len(downloads.candidates) != 1:
            raise NoFormulaError("polls by replicas without exactly one upstream")
        if isinstance(polls.law, Ordered) or isinstance(downloads.law, Ordered):
            raise NoFormulaError("clusters whose downloads or polls come at intervals that depend on one another")
        # Members share one list of candidates, so that they are compared once and not by each of them.
        if id(members) not in self._clusters:
            alike = all(self._alike(i, polls, downloads) for i in members)
            self._clusters[id(members)] = frozenset(members) if alike else frozenset()
        if node not in self._clusters[id(members)]:
            raise NoFormulaError(
                "polls along links, or within a cluster whose members differ in their laws or upstreams"
            )
        if self._plan.delay or self._plan.delays:
            raise NoFormulaError("polls that take time")
        own, among = (successful(self._plan, p) for p in (downloads, polls))
        key = ("cluster", len(members), own, among, polls.ask, ask)
        if key not in self._same:
            self._same[key] = cluster(len(members), own, among, polls.ask, ask=ask)
        return self._pulled(node, self._same[key])

    def _alike(self, node: int, polls: Process, downloads: Process) -> bool:
        mine, own = self._of.get((node, POLLS)), self._of.get((node, DOWNLOADS))
        return (
            mine is not None
            and own is not None
            and (mine.law, mine.ask, mine.recent, id(mine.candidates))
            == (polls.law, polls.ask, polls.recent, id(polls.candidates))
            and (own.law, list(own.candidates)) == (downloads.law, list(downloads.candidates))
        )

    def _answers(self, queries: Process) -> list[InformationAge]:
        """The ages that a query may get, all equally likely."""
        if self._plan.faults:
            raise NoFormulaError("answers of which some do not arrive")
        if self._plan.bandwidth is not None and np.isfinite(self._plan.bandwidth[queries.candidates]).any():
            raise NoFormulaError("answers that wait in line")
        asked, k = list(queries.candidates), queries.ask
        delay = {self._delay(i, queries.node) for i in asked}
        if len(delay) > 1:
            raise NoFormulaError("a client whose replicas answer with different delays")
        late = delay.pop()
        if k == 1:
            return [self._late(self._age(i), late) for i in asked]
        polls = self._of.get((asked[0], POLLS))
        if polls is not None and set(polls.candidates) == set(asked):
            return [self._late(self._cluster(asked[0], k), late)]
        self._require_apart(asked)
        ages = [self._age(i) for i in asked]
        if len(set(ages)) == 1:
            return [self._late(self._share(("best of", ages[0], k), best_of(ages[:k])), late)]
        if comb(len(ages), k) > MOST_SUBSETS:
            raise NoFormulaError(f"a choice of {k} among {len(ages)} unlike replicas")
        return [self._late(best_of(some), late) for some in combinations(ages, k)]

    def _late(self, age: InformationAge, delay: float) -> InformationAge:
        return self._share(("late", age, delay), delayed(age, delay))

    def _require_apart(self, nodes: list[int]) -> None:
        """No two of these depend on the same replica, and none on another."""
        seen: set[int] = set()
        for i in nodes:
            ancestors = self._ancestors(i)
            if ancestors & seen:
                raise NoFormulaError("the replicas asked share part of their path")
            seen |= ancestors

    def _ancestors(self, node: int) -> set[int]:
        """A node and every replica it depends on."""
        seen, waiting = {node}, [node]
        while waiting:
            i = waiting.pop()
            for purpose in (DOWNLOADS, POLLS):
                process = self._of.get((i, purpose))
                if process is not None:
                    new = set(process.candidates) - seen - set(self._plan.sources)
                    seen |= new
                    waiting += new
        return seen

    def _delay(self, upstream: int, node: int) -> float:
        delay = self._plan.delays.get((upstream, node), self._plan.delay)
        if isinstance(delay, Law):
            raise NoFormulaError("delays drawn from a law")
        return delay

    def _share(self, key: object, age: InformationAge) -> InformationAge:
        """One object per kind of node, so that its curves are computed once."""
        return self._same.setdefault(key, age)
