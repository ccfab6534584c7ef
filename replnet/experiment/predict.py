"""From a network to formulas: the information age of every node, composed along its graph.

A node's age follows from those of its upstreams (theory.information_age), so
nodes are visited upstreams first; equal nodes share one age. Where the
independence that a formula needs is not given, there is no formula, and the
row says why.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from typing import Any

from replnet.engines.plan import DOWNLOADS, POLLS, QUERIES, Plan, Process, plan
from replnet.experiment.provenance import provenance
from replnet.experiment.result import Predicted, Row
from replnet.laws.base import Law
from replnet.network.network import Network
from replnet.theory.cluster import NO_RECENT, cluster
from replnet.theory.information_age import InformationAge, best_of, delayed, direct, never, pull
from replnet.theory.prediction import STRENGTH, Prediction

MOST_SUBSETS = 500  # of unlike replicas over which a client's choice is averaged one by one


@dataclass(frozen=True)
class Formula:
    """What is predicted for one (group, metric), or in `note` why nothing is."""

    value: float | None
    kind: str = ""
    source: str = ""
    assumes: str = ""
    accuracy: float = 0.0
    note: str = ""

    def row(self, group: str, metric: str) -> Row:
        return Row(group, metric, predicted=self.value, **self.about, note=self.note)

    @property
    def about(self) -> dict[str, Any]:
        """The columns that say where the value comes from."""
        return {"kind": self.kind, "source": self.source, "accuracy": self.accuracy or None}


def predict(network: Network) -> Predicted:
    """What the formulas say, group by group."""
    rows = tuple(formula.row(*key) for key, formula in formulas(network, plan(network)).items())
    return Predicted(network.data(), rows, provenance(network.data()))


def formulas(network: Network, compiled: Plan) -> dict[tuple[str, str], Formula]:
    """By (group, metric), in the order of the groups of the network, which is `compiled`."""
    ages = [_Ages(compiled, row) for row in range(len(compiled.sources))]
    found = {(group, "freshness"): _of_group(compiled, ages, g) for g, group in enumerate(compiled.groups)}
    return found | _service(network, compiled)


class _NoFormulaError(Exception):
    """Says why."""


def _of_group(compiled: Plan, ages: list[_Ages], g: int) -> Formula:
    """The mean over the copies, or clients, of a group."""
    parts: dict[Prediction, int] = {}
    try:
        for i in (compiled.group == g).nonzero()[0].tolist():
            for row in compiled.counted[:, i].nonzero()[0].tolist():
                prediction = ages[row].freshness(i)
                parts[prediction] = parts.get(prediction, 0) + 1
    except _NoFormulaError as why:
        return Formula(None, note=f"no formula: {why}")
    return mean(parts)


def mean(parts: dict[Prediction, int]) -> Formula:
    """Predictions averaged with weights: as strong as the weakest, sources named once."""
    whole = sum(parts.values())
    words = [
        dict.fromkeys(w for p in parts for w in getattr(p, name).split("; ") if w) for name in ("source", "assumes")
    ]
    return Formula(
        value=sum(p.value * n for p, n in parts.items()) / whole,
        kind=max((p.kind for p in parts), key=STRENGTH.index),
        source="; ".join(words[0]),
        assumes="; ".join(words[1]),
        accuracy=sum(p.accuracy * n for p, n in parts.items()) / whole,
    )


class _Ages:
    """The age of every node's copy of one source."""

    def __init__(self, compiled: Plan, row: int) -> None:
        self._plan, self._row, self._source = compiled, row, compiled.sources[row]
        self._updates = compiled.processes[row].law
        self._of: dict[tuple[int, int], Process] = {(p.node, p.purpose): p for p in compiled.processes}
        self._known: dict[int, InformationAge | _NoFormulaError] = {}
        self._same: dict[object, InformationAge] = {}
        self._predicted: dict[InformationAge, Prediction] = {}
        self._clusters: dict[int, frozenset[int]] = {}

    def freshness(self, node: int) -> Prediction:
        queries = self._of.get((node, QUERIES))
        if queries is None:
            return self._fresh(self._age(node))
        parts: dict[Prediction, int] = {}
        for age in self._answers(queries):
            prediction = self._fresh(age)
            parts[prediction] = parts.get(prediction, 0) + 1
        f = mean(parts)
        assert f.value is not None
        return Prediction(f.value, max((p.kind for p in parts), key=STRENGTH.index), f.source, f.assumes, f.accuracy)

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
                self._known[waiting.pop()] = _NoFormulaError("pulls go round in a cycle")
            else:
                waiting.append(missing[0])
        known = self._known[node]
        if isinstance(known, _NoFormulaError):
            raise known
        return known

    def _needs(self, node: int) -> Iterable[int]:
        downloads = self._of.get((node, DOWNLOADS))
        return () if downloads is None else (u for u in downloads.candidates if u not in self._plan.sources)

    def _attempt(self, node: int) -> InformationAge | _NoFormulaError:
        try:
            return self._compose(node)
        except _NoFormulaError as why:
            return why

    def _compose(self, node: int) -> InformationAge:
        if not self._plan.reached[self._row, node]:
            return self._share("never", never())
        if (node, POLLS) in self._of:
            return self._cluster(node, 1)
        return self._pulled(node, self._of[node, DOWNLOADS].law)

    def _pulled(self, node: int, own: Law | InformationAge) -> InformationAge:
        """`own` on top of what the upstreams of a node hold."""
        downloads = self._of[node, DOWNLOADS]
        upstreams = downloads.candidates
        if downloads.ask < len(upstreams):
            raise _NoFormulaError("a replica that asks some of its upstreams keeps what it had if that was fresher")
        delays = {self._delay(u, node) for u in upstreams}
        if len(delays) > 1:
            raise _NoFormulaError("upstreams of one replica with different delays")
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
            raise _NoFormulaError(NO_RECENT.removeprefix("no formula "))
        if downloads is None or len(downloads.candidates) != 1:
            raise _NoFormulaError("polls by replicas without exactly one upstream")
        # Members share one list of candidates, so that they are compared once and not by each of them.
        if id(members) not in self._clusters:
            alike = all(self._alike(i, polls, downloads) for i in members)
            self._clusters[id(members)] = frozenset(members) if alike else frozenset()
        if node not in self._clusters[id(members)]:
            raise _NoFormulaError(
                "polls along links, or within a cluster whose members differ in their laws or upstreams"
            )
        if self._plan.delay or self._plan.delays:
            raise _NoFormulaError("polls that take time")
        key = ("cluster", len(members), downloads.law, polls.law, polls.ask, ask)
        if key not in self._same:
            self._same[key] = cluster(len(members), downloads.law, polls.law, polls.ask, ask=ask)
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
        asked, k = list(queries.candidates), queries.ask
        delay = {self._delay(i, queries.node) for i in asked}
        if len(delay) > 1:
            raise _NoFormulaError("a client whose replicas answer with different delays")
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
            raise _NoFormulaError(f"a choice of {k} among {len(ages)} unlike replicas")
        return [self._late(best_of(some), late) for some in combinations(ages, k)]

    def _late(self, age: InformationAge, delay: float) -> InformationAge:
        return self._share(("late", age, delay), delayed(age, delay))

    def _require_apart(self, nodes: list[int]) -> None:
        """No two of these depend on the same replica, and none on another."""
        seen: set[int] = set()
        for i in nodes:
            ancestors = self._ancestors(i)
            if ancestors & seen:
                raise _NoFormulaError("the replicas asked share part of their path")
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
            raise _NoFormulaError("delays drawn from a law")
        return delay

    def _share(self, key: object, age: InformationAge) -> InformationAge:
        """One object per kind of node, so that its curves are computed once."""
        return self._same.setdefault(key, age)


def _service(network: Network, compiled: Plan) -> dict[tuple[str, str], Formula]:
    """Queries that the replicas of a group can answer per unit of time, where their bandwidth is given."""
    about = [network.graph.nodes[name] for name in compiled.names]
    spent = [0.0] * len(about)
    for p in compiled.processes:
        spent[p.node] += p.law.rate * p.ask
    asks = {p.ask for p in compiled.processes if p.purpose == QUERIES}
    note = _overload(compiled, about)
    found: dict[tuple[str, str], Formula] = {}
    for g, group in enumerate(compiled.groups):
        nodes = [i for i in (compiled.group == g).nonzero()[0].tolist() if compiled.roles[i] == "replica"]
        if nodes and all("bandwidth" in about[i] for i in nodes) and len(asks) <= 1:
            k = next(iter(asks), 1)
            rate = sum(max(about[i]["bandwidth"] - spent[i], 0.0) for i in nodes) / k
            source = "P2P eq. 34" if k > 1 else "P2P eq. 30"
            found[group, "service_rate"] = Formula(rate, "exact", source, "a message costs 1", note=note)
    return found


def _overload(compiled: Plan, about: list[dict[str, object]]) -> str:
    """(30): what is downloaded from a source may not exceed its bandwidth."""
    for source in compiled.sources:
        asked = sum(
            p.law.rate * p.ask / len(p.candidates) for p in compiled.processes if source in islice(p.candidates, 64)
        )
        limit = about[source].get("bandwidth")
        if isinstance(limit, int | float) and asked > limit * (1 + 1e-12):
            return (
                f"{compiled.names[source]} is asked {asked:g} times per unit of time, above its bandwidth of {limit:g}"
            )
    return ""
