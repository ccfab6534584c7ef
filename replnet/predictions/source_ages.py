"""How old the copies of one source are, node by node: ages composed along the graph of a network.

A node's age follows from those of its upstreams (ages/information_age), so nodes are visited upstreams first; equal
nodes share one age. Where the independence that a formula needs is not given, pulls that are Poisson are followed
along their links (overlay), and where these are not, there is no formula.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from math import comb
from typing import final

import numpy as np

from replnet.ages.choices import NetworkPart, chosen, parts_of
from replnet.ages.clusters.cluster import NO_RECENT, cluster
from replnet.ages.information_age import InformationAge, best_of, delayed, direct, never, pull
from replnet.ages.prediction import NoFormulaError, Prediction, TooLongError, mean
from replnet.deadline import require_time
from replnet.laws.families import Exponential
from replnet.laws.law import Law
from replnet.laws.processes.order import Ordered, shuffled
from replnet.network.topology import DOWNLOADS, POLLS, QUERIES
from replnet.predictions.overlay import Overlay
from replnet.predictions.presence import (
    available,
    both_ways,
    churned,
    freshness_in_churn,
    require_steady,
    successful,
)
from replnet.predictions.pull_graph import Asker, PullGraph

LINKS = "polls along links, or within a cluster whose members differ in their laws or upstreams"
TURNS = "the freshest of several replicas that take turns"


@final
class SourceAges:
    """The age of every node's copy of one source."""

    def __init__(self, graph: PullGraph, row: int) -> None:
        self._graph, self._row, self._source = graph, row, graph.sources[row]
        weights = graph.topology.weights
        self._weight = 1.0 if weights is None else float(weights[row])
        self._changes = graph.updates[row]
        self._known: dict[int, InformationAge | NoFormulaError] = {}
        self._same: dict[object, InformationAge] = {}
        self._predicted: dict[InformationAge, Prediction] = {}

    @cached_property
    def _overlay(self) -> Overlay:
        return Overlay(self._graph, self._row)

    def _by_overlay(self, nodes: list[int], ask: int, why: NoFormulaError) -> InformationAge:
        """Where ages do not compose, but pulls are Poisson; `why` they do not, if these are no such either."""
        try:
            return self._overlay.age(nodes, ask)
        except NoFormulaError as other:
            raise (other if str(why) == LINKS or isinstance(other, TooLongError) else why) from None

    def freshness(self, node: int) -> Prediction:
        ages = self._several(node)
        if ages is None:
            found = self._copy(node)
            return found if isinstance(found, Prediction) else self._fresh(found)
        parts: dict[Prediction, int] = {}
        for age in ages:
            prediction = self._fresh(age)
            parts[prediction] = parts.get(prediction, 0) + 1
        return mean(parts)

    def share(self, node: int) -> float:
        """How much of what its group has is this node's: of the answers, or of the time with a copy."""
        queries = self._graph.one(node, QUERIES)
        if queries is not None:
            assert queries.law
            return queries.law.rate * self._weight
        if node >= self._graph.topology.size:
            return self._weight
        return (available(self._graph, node).value if self._graph.faults.crashes else 1.0) * self._weight

    @cached_property
    def updates(self) -> Law:
        if self._changes is None:
            raise NoFormulaError("sources that never change")
        return shuffled(self._changes)

    def held(self, node: int) -> list[InformationAge]:
        """The age of a copy, or the ages that an answer to a client may have, all equally likely."""
        ages = self._several(node)
        if ages is not None:
            return ages
        copy = self._copy(node)
        if isinstance(copy, Prediction):
            raise NoFormulaError("how far copies are behind that are kept through a crash")
        return [copy]

    def _several(self, node: int) -> list[InformationAge] | None:
        """The ages that who has a look at several replicas may find; None of those who have copies themselves."""
        queries, past = self._graph.one(node, QUERIES), node - self._graph.topology.size
        if past < 0:
            return None if queries is None else self._answers(queries)
        if self._graph.faults:
            raise NoFormulaError("the freshest of several copies, of which some are missing at times")
        view = self._graph.topology.views[past]
        return self._chosen(view.nodes.tolist(), view.ask)

    def _copy(self, node: int) -> InformationAge | Prediction:
        """Of a replica, while it has a copy: its age, or only how fresh it is."""
        crash = churned(self._graph, node)
        if crash is None:
            return self._age(node)
        downloads = self._downloads(node)
        if downloads is None or self._graph.one(node, POLLS):
            raise NoFormulaError("nodes that crash and poll one another")
        for upstream in downloads.candidates.tolist():
            require_steady(self._graph, upstream)
        found = freshness_in_churn(self._graph, crash, self.updates, downloads)
        return found if isinstance(found, Prediction) else self._share((crash, downloads.law), found)

    def _downloads(self, node: int) -> Asker | None:
        """How a replica comes by this source; of several processes the one that can bring it."""
        every = self._graph.by(node, DOWNLOADS)
        if len(every) < 2:
            return next(iter(every), None)
        there = self._graph.reached[self._row]
        mine = [asker for asker in every if there[asker.candidates].any() or self._source in asker.candidates]
        if len(mine) > 1:
            raise NoFormulaError("copies that come by several processes of downloads")
        return next(iter(mine), None)

    def _fresh(self, age: InformationAge) -> Prediction:
        if age not in self._predicted:
            found = age.freshness(self.updates)
            if age.latest is not age:
                off = found.value - age.latest.freshness(self.updates).value
                found = replace(found, accuracy=found.accuracy + max(off, 0.0))
            self._predicted[age] = found
        return self._predicted[age]

    def _age(self, node: int) -> InformationAge:
        """Upstreams first, without recursion: chains may be longer than Python's stack."""
        waiting = [node]
        while node not in self._known:
            require_time()
            i = waiting[-1]
            missing = [u for u in self._needs(i) if u not in self._known]
            if not missing:
                self._known[waiting.pop()] = self._attempt(i)
            elif set(missing) & set(waiting):
                self._known[waiting.pop()] = self._attempt(i, "pulls go round in a cycle")
            else:
                waiting.append(missing[0])
        known = self._known[node]
        if isinstance(known, NoFormulaError):
            raise known
        return known

    def _needs(self, node: int) -> Iterable[int]:
        downloads = self._downloads(node)
        return () if downloads is None else (u for u in downloads.candidates.tolist() if u not in self._graph.sources)

    def _attempt(self, node: int, wrong: str = "") -> InformationAge | NoFormulaError:
        try:
            if wrong:
                raise NoFormulaError(wrong)
            return self._compose(node)
        except NoFormulaError as why:
            try:
                return self._by_overlay([node], 1, why)
            except NoFormulaError as none:
                return none

    def _compose(self, node: int) -> InformationAge:
        if not self._graph.reached[self._row][node]:
            return self._share("never", never())
        for other in (node, self._source):
            require_steady(self._graph, other)
        if self._graph.offered[node]:
            raise NoFormulaError(LINKS)
        if self._graph.one(node, POLLS):
            return self._cluster(node, 1)
        downloads = self._downloads(node)
        assert downloads
        return self._pulled(node, shuffled(successful(self._graph, downloads)))

    def _pulled(self, node: int, own: Law | InformationAge) -> InformationAge:
        """`own` on top of what the upstreams of a node hold."""
        downloads = self._downloads(node)
        assert downloads
        upstreams = downloads.candidates.tolist()
        if downloads.ask < len(upstreams):
            raise NoFormulaError("a replica that asks some of its upstreams keeps what it had if that was fresher")
        delays = {self._graph.delay(u, node) for u in upstreams}
        if len(delays) > 1:
            raise NoFormulaError("upstreams of one replica with different delays")
        delay = delays.pop()
        if self._source in upstreams:
            return self._share((own, delay), delayed(direct(own) if isinstance(own, Law) else own, delay))
        above = self._best(upstreams)
        return self._share((own, above, delay), delayed(pull(above, own), delay))

    def _best(self, nodes: list[int]) -> InformationAge:
        """The freshest of what these nodes hold, if they came by it independently."""
        if len(nodes) == 1:
            return self._age(nodes[0])
        try:
            return self._freshest(nodes, len(nodes))
        except NoFormulaError as why:
            return self._by_overlay(nodes, len(nodes), why)

    def _cluster(self, node: int, ask: int) -> InformationAge:
        return self._pulled(node, self._spread(node, ask))

    def _spread(self, node: int, ask: int) -> InformationAge:
        """The age of the freshest of so many copies in a cluster, relative to where it downloads from."""
        polls, downloads = self._graph.one(node, POLLS), self._downloads(node)
        assert polls
        if polls.recent:
            raise NoFormulaError(NO_RECENT.removeprefix("no formula "))
        if downloads is None or len(downloads.candidates) != 1:
            raise NoFormulaError("polls by replicas without exactly one upstream")
        if isinstance(polls.law, Ordered) or isinstance(downloads.law, Ordered):
            raise NoFormulaError("clusters whose downloads or polls come at intervals that depend on one another")
        if not self._graph.clustered[polls.among] or not (polls.candidates == node).any():
            raise NoFormulaError(LINKS)
        if self._graph.topology.delay or self._graph.topology.delays:
            raise NoFormulaError("polls that take time")
        own, among = (successful(self._graph, p) for p in (downloads, polls))
        if polls.two_way:
            # Two replicas exchange what they have as often as if each polled twice as much.
            among = Exponential(rate=2 * both_ways(self._graph, polls).rate)
        key = ("cluster", len(polls.candidates), own, among, polls.ask, ask)
        if key not in self._same:
            self._same[key] = cluster(len(polls.candidates), own, among, polls.ask, ask=ask)
        return self._same[key]

    def _answers(self, queries: Asker) -> list[InformationAge]:
        """The ages that a query may get, all equally likely."""
        if self._graph.faults:
            raise NoFormulaError("answers of which some do not arrive")
        if self._graph.limits is not None and np.isfinite(self._graph.limits[queries.candidates]).any():
            raise NoFormulaError("answers that wait in line")
        asked, k = queries.candidates.tolist(), queries.ask
        delay = {self._graph.delay(i, queries.node) for i in asked}
        if len(delay) > 1:
            raise NoFormulaError("a client whose replicas answer with different delays")
        late = delay.pop()
        return [self._share(("late", age, late), delayed(age, late)) for age in self._chosen(asked, k)]

    def _chosen(self, asked: list[int], k: int) -> list[InformationAge]:
        """The ages of the freshest copies in k of these, all choices equally likely."""
        if k == 1:
            return [self._age(i) for i in asked]
        try:
            return [self._freshest(asked, k)]
        except NoFormulaError as why:
            return [self._by_overlay(asked, k, why)]

    def _freshest(self, asked: list[int], k: int) -> InformationAge:
        """Of k of these, of which whole clusters and trees may have upstreams in common."""
        polls = self._graph.one(asked[0], POLLS)
        if polls is not None and set(polls.candidates.tolist()) == set(asked):
            return self._cluster(asked[0], k)
        above, own, clocks = dict[int, int](), dict[int, InformationAge | NetworkPart](), Counter[int]()
        wanted, waiting = frozenset(asked), [*asked]
        while waiting:
            i = waiting.pop()
            pool = self._pool(i, wanted)
            i = pool[0] if pool else i
            if i not in above:
                above[i], own[i] = self._step(i, pool, k)
                clocks.update(asker.clock for asker in self._graph.by(i, DOWNLOADS))
                waiting += [above[i]] if above[i] >= 0 else []
        if clocks.total() > len(clocks):
            raise NoFormulaError(TURNS)
        self._require_apart([i for i, up in above.items() if up < 0])
        ages = [age for i, age in own.items() if above[i] < 0 and not isinstance(age, NetworkPart)]
        if len(ages) == len(own) and (k == len(asked) or len(set(ages)) == 1):
            return self._share(("best", tuple(sorted(map(id, ages[:k])))), best_of(ages[:k]))
        return chosen(parts_of(above, own, wanted, k), k)

    def _pool(self, node: int, wanted: frozenset[int]) -> list[int]:
        """The cluster of a node, if all of it is wanted."""
        polls = self._graph.one(node, POLLS)
        return polls.candidates.tolist() if polls and wanted.issuperset(polls.candidates.tolist()) else []

    def _step(self, node: int, pool: list[int], most: int) -> tuple[int, InformationAge | NetworkPart]:
        """The one upstream of a node or a cluster, and the age relative to that; -1 if there is none or several."""
        whole, downloads = self._age(node), self._downloads(node)
        if downloads is None or downloads.candidates.size != 1 or bool(self._graph.one(node, POLLS)) > bool(pool):
            return -1, whole
        up = int(downloads.candidates[0])
        above = -1 if up == self._source else up
        if pool:
            each = range(1, min(len(pool), most) + 1)
            return above, NetworkPart(len(pool), tuple(((comb(len(pool), j), self._spread(node, j)),) for j in each))
        law, delay = shuffled(successful(self._graph, downloads)), self._graph.delay(up, node)
        return above, self._share((law, delay), delayed(self._share((law, 0.0), direct(law)), delay))

    def _require_apart(self, nodes: list[int]) -> None:
        """No two of these depend on the same replica, and none on another."""
        seen, clocks = set[int](), set[int]()
        for i in nodes:
            ancestors = self._ancestors(i)
            if ancestors & seen:
                raise NoFormulaError("the replicas asked share part of their path")
            own = {asker.clock for node in ancestors for asker in self._graph.by(node, DOWNLOADS)}
            if own & clocks:
                raise NoFormulaError(TURNS)
            seen, clocks = seen | ancestors, clocks | own

    def _ancestors(self, node: int) -> set[int]:
        """A node and every replica it depends on."""
        seen, waiting = {node}, [node]
        while waiting:
            i = waiting.pop()
            for asker in (*self._graph.by(i, DOWNLOADS), *self._graph.by(i, POLLS)):
                new = set(asker.candidates.tolist()) - seen - set(self._graph.sources)
                seen |= new
                waiting += new
        return seen

    def _share(self, key: object, age: InformationAge) -> InformationAge:
        """One object per kind of node, so that its curves are computed once."""
        return self._same.setdefault(key, age)
