"""How old the copies of one source are, node by node: ages composed along the graph of a network.

The age of a node's copy follows from those of its upstreams (ages/information_age), so nodes are visited upstreams
first; equal nodes share one age. Where a formula needs ages to be independent that are not, `Overlay` follows pulls
along their links, provided that all of them are Poisson. Otherwise there is no formula.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from math import comb
from typing import final

import numpy as np

from replnet.ages import (
    ChoiceAges,
    InformationAge,
    NoFormulaError,
    Prediction,
    TooLongError,
    best_of,
    direct,
    forest_parts,
    freshest_of,
    mean,
    never,
    pull,
    with_delay,
)
from replnet.ages.clusters import NO_RECENT, cluster
from replnet.deadline import require_time
from replnet.laws import Exponential, Law
from replnet.network import DOWNLOADS, POLLS, QUERIES
from replnet.predictions.availability import (
    MISSING_AT_TIMES,
    availability_of_node,
    both_ways,
    crash_of,
    freshness_in_churn,
    require_steady,
    successful,
)
from replnet.predictions.overlay import Overlay
from replnet.predictions.pull_graph import Asker, PullGraph
from replnet.processes import Ordered, shuffled

LINKS = "polls along links, or within a cluster whose members differ in their laws or upstreams"
TURNS = "the freshest of several replicas that take turns"


@final
class SourceAges:
    """The ages of the copies of one source at all nodes, each worked out when it is first asked for.

    `row` is the index of the source in `graph.sources`.
    """

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
        """The solver for copies of this source that come by Poisson pulls alone."""
        return Overlay(self._graph, self._row)

    def _by_overlay(self, nodes: list[int], ask: int, why: NoFormulaError) -> InformationAge:
        """Return the age of the freshest copy in `ask` of these nodes, drawn at random, if all their pulls are Poisson.

        `why` is the reason for which ages do not compose here; it is raised if there is no formula for Poisson pulls
        either, unless the reason for that says more.
        """
        try:
            return self._overlay.age(nodes, ask)
        except NoFormulaError as reason:
            raise (reason if str(why) == LINKS or isinstance(reason, TooLongError) else why) from None

    def freshness(self, node: int) -> Prediction:
        """Predict the freshness of a replica's copy while it has one, or of the answers to a client or a view.

        Views are numbered on past all nodes. Raise NoFormulaError if there is no formula.
        """
        ages = self._answer_ages(node)
        if ages is None:
            copy = self._copy(node)
            return copy if isinstance(copy, Prediction) else self._fresh(copy)
        parts: dict[Prediction, int] = {}
        for age in ages:
            prediction = self._fresh(age)
            parts[prediction] = parts.get(prediction, 0) + 1
        return mean(parts)

    def share(self, node: int) -> float:
        """Return the weight of a node's copy of this source in the mean over its group, not divided by their sum.

        It is the weight of the source times the rate of queries for a client, the share of time with a copy for a
        replica, and 1 for a view.
        """
        queries = self._graph.first_asker_of(node, QUERIES)
        if queries is not None:
            assert queries.law
            return queries.law.rate * self._weight
        if node >= self._graph.topology.size:
            return self._weight
        return (availability_of_node(self._graph, node).value if self._graph.faults.crashes else 1.0) * self._weight

    @cached_property
    def updates(self) -> Law:
        """The law of the intervals between the source's updates; raises NoFormulaError if the source never changes."""
        if self._changes is None:
            raise NoFormulaError("sources that never change")
        return shuffled(self._changes)

    def ages_of(self, node: int) -> list[InformationAge]:
        """Return the age of a replica's copy in a list, or the equally likely ages of answers to a client or view.

        Raise NoFormulaError if they are not known.
        """
        ages = self._answer_ages(node)
        if ages is not None:
            return ages
        copy = self._copy(node)
        if isinstance(copy, Prediction):
            raise NoFormulaError("the age of copies that are kept through a crash")
        return [copy]

    def _answer_ages(self, node: int) -> list[InformationAge] | None:
        """Return the ages that the answer to a client or a view may have, all equally likely; None for a replica."""
        queries, view_number = self._graph.first_asker_of(node, QUERIES), node - self._graph.topology.size
        if view_number < 0:
            return None if queries is None else self._answers(queries)
        if self._graph.faults:
            raise NoFormulaError(MISSING_AT_TIMES)
        view = self._graph.topology.views[view_number]
        return self._chosen(view.nodes.tolist(), view.ask)

    def _copy(self, node: int) -> InformationAge | Prediction:
        """Return the age of a replica's copy while it has one, or its freshness if that is all that is known.

        Raise NoFormulaError if nothing is.
        """
        crash = crash_of(self._graph, node)
        if crash is None or not self._graph.reachable_from_any[node]:
            return self._age(node)
        downloads = self._downloads(node)
        if downloads is None or self._graph.first_asker_of(node, POLLS):
            raise NoFormulaError("nodes that crash and poll one another")
        for upstream in downloads.candidates.tolist():
            require_steady(self._graph, upstream)
        age = freshness_in_churn(self._graph, crash, self.updates, downloads)
        return age if isinstance(age, Prediction) else self._one_of_each((crash, downloads.law), age)

    def _downloads(self, node: int) -> Asker | None:
        """Return the one process of downloads that can bring a replica copies of this source, or None if it has none.

        Raise NoFormulaError if there are several.
        """
        downloads = self._graph.askers_of(node, DOWNLOADS)
        if len(downloads) < 2:
            return next(iter(downloads), None)
        reachable = self._graph.reachable[self._row]
        useful = [asker for asker in downloads if reachable[asker.candidates].any() or self._source in asker.candidates]
        if len(useful) > 1:
            raise NoFormulaError("copies that come by several processes of downloads")
        return next(iter(useful), None)

    def _fresh(self, age: InformationAge) -> Prediction:
        """Predict the freshness of a copy of this age; between bounds, their distance is added to its accuracy."""
        if age not in self._predicted:
            result = age.freshness(self.updates)
            if age.latest is not age:
                off = result.value - age.latest.freshness(self.updates).value
                result = replace(result, accuracy=result.accuracy + max(off, 0.0))
            self._predicted[age] = result
        return self._predicted[age]

    def _age(self, node: int) -> InformationAge:
        """Return the age of a replica's copy, or raise NoFormulaError with the reason why it is not known.

        Upstreams come first, without recursion: chains may be longer than Python's stack.
        """
        waiting = [node]
        while node not in self._known:
            require_time()
            replica = waiting[-1]
            missing = [upstream for upstream in self._upstreams_for_age(replica) if upstream not in self._known]
            if not missing:
                self._known[waiting.pop()] = self._attempt(replica)
            elif set(missing) & set(waiting):
                self._known[waiting.pop()] = self._attempt(replica, in_cycle=True)
            else:
                waiting.append(missing[0])
        age = self._known[node]
        if isinstance(age, NoFormulaError):
            raise age
        return age

    def _upstreams_for_age(self, node: int) -> Iterable[int]:
        """Return the upstreams on whose ages a node's own depends, sources left out.

        There are none if it asks the source itself each time, or downloads nothing.
        """
        downloads = self._downloads(node)
        if downloads is None:
            return ()
        upstreams = downloads.candidates.tolist()
        if self._source in upstreams and downloads.ask == len(upstreams):
            return ()
        return (u for u in upstreams if u not in self._graph.sources)

    def _attempt(self, node: int, in_cycle: bool = False) -> InformationAge | NoFormulaError:
        """Return a node's age, composed of those of its upstreams or found from Poisson pulls, or why there is none.

        `in_cycle` says that it depends on itself, so that it cannot be composed.
        """
        cycle = NoFormulaError("pulls go round in a cycle")
        # Until its age is known, a node counts as in a cycle, for upstreams that in turn have copies from it.
        self._known[node] = cycle
        try:
            if in_cycle:
                raise cycle
            return self._compose(node)
        except NoFormulaError as why:
            try:
                return self._by_overlay([node], 1, why)
            except NoFormulaError as reason:
                return reason

    def _compose(self, node: int) -> InformationAge:
        """Return a node's age, composed of those of its upstreams or as that of a cluster's member.

        Raise NoFormulaError if there is no formula.
        """
        if not self._graph.reachable[self._row][node]:
            return self._one_of_each("never", never())
        for other in (node, self._source):
            require_steady(self._graph, other)
        if self._graph.receives_by_polls[node]:
            raise NoFormulaError(LINKS)
        if self._graph.first_asker_of(node, POLLS):
            return self._cluster(node, 1)
        downloads = self._downloads(node)
        assert downloads
        return self._age_by_downloads(node, shuffled(successful(self._graph, downloads)))

    def _age_by_downloads(self, node: int, own_age: Law | InformationAge) -> InformationAge:
        """Return the age of a node's copy that came from its upstreams; raise NoFormulaError if there is no formula.

        `own_age` is the law of the intervals between its own downloads, or the age of its cluster's copies relative to
        the upstream.
        """
        downloads = self._downloads(node)
        assert downloads
        upstreams = downloads.candidates.tolist()
        if downloads.ask < len(upstreams):
            raise NoFormulaError(
                "a replica that asks some of its upstreams keeps the copy that it had if that was fresher"
            )
        delays = {self._graph.delay(u, node) for u in upstreams}
        if len(delays) > 1:
            raise NoFormulaError("upstreams of one replica with different delays")
        delay = delays.pop()
        if self._source in upstreams:
            return self._one_of_each(
                (own_age, delay), with_delay(direct(own_age) if isinstance(own_age, Law) else own_age, delay)
            )
        above = self._best(upstreams)
        return self._one_of_each((own_age, above, delay), with_delay(pull(above, own_age), delay))

    def _best(self, nodes: list[int]) -> InformationAge:
        """Return the age of the freshest of all these nodes' copies; raise NoFormulaError if there is no formula."""
        if len(nodes) == 1:
            return self._age(nodes[0])
        try:
            return self._freshest(nodes, len(nodes))
        except NoFormulaError as why:
            return self._by_overlay(nodes, len(nodes), why)

    def _cluster(self, node: int, ask: int) -> InformationAge:
        """Return the age of the freshest copy in `ask` members of a node's cluster, drawn at random.

        Raise NoFormulaError if there is no formula.
        """
        return self._age_by_downloads(node, self._spread(node, ask))

    def _spread(self, node: int, ask: int) -> InformationAge:
        """Return the age of the freshest copy in `ask` members of a node's cluster, relative to the cluster's upstream.

        That is what the age would be if the upstream's copy were always fresh. Raise NoFormulaError if there is no
        formula.
        """
        polls, downloads = self._graph.first_asker_of(node, POLLS), self._downloads(node)
        assert polls
        if polls.recent:
            raise NoFormulaError(NO_RECENT.removeprefix("no formula "))
        if downloads is None or len(downloads.candidates) != 1:
            raise NoFormulaError("polls by replicas without exactly one upstream")
        if isinstance(polls.law, Ordered) or isinstance(downloads.law, Ordered):
            raise NoFormulaError("clusters whose downloads or polls come at intervals that depend on one another")
        if not self._graph.is_cluster_list[polls.list_number] or not (polls.candidates == node).any():
            raise NoFormulaError(LINKS)
        if self._graph.topology.delay or self._graph.topology.delays:
            raise NoFormulaError("polls that take time")
        download_law, poll_law = (successful(self._graph, asker) for asker in (downloads, polls))
        if polls.two_way:
            # Two replicas exchange what they have as often as if each polled twice as much.
            poll_law = Exponential(rate=2 * both_ways(self._graph, polls).rate)
        key = ("cluster", len(polls.candidates), download_law, poll_law, polls.ask, ask)
        if key not in self._same:
            self._same[key] = cluster(len(polls.candidates), download_law, poll_law, polls.ask, ask=ask)
        return self._same[key]

    def _answers(self, queries: Asker) -> list[InformationAge]:
        """Return the ages that the answer to a query of this process may have, all equally likely.

        Raise NoFormulaError if there is no formula.
        """
        if self._graph.faults:
            raise NoFormulaError("answers, some of which do not arrive")
        if self._graph.limits is not None and np.isfinite(self._graph.limits[queries.candidates]).any():
            raise NoFormulaError("answers that wait in line")
        nodes, ask = queries.candidates.tolist(), queries.ask
        if self._graph.pulls_may_fail and not self._graph.reachable_from_any[nodes].all():
            raise NoFormulaError("answers without a copy of any source, which do not count")
        delays = {self._graph.delay(node, queries.node) for node in nodes}
        if len(delays) > 1:
            raise NoFormulaError("a client whose replicas answer with different delays")
        delay = delays.pop()
        return [self._one_of_each(("late", age, delay), with_delay(age, delay)) for age in self._chosen(nodes, ask)]

    def _chosen(self, nodes: list[int], ask: int) -> list[InformationAge]:
        """Return the ages that the freshest copy in `ask` of these nodes may have, all equally likely.

        There is one for each node if one is asked, else one for all choices together. Raise NoFormulaError without a
        formula.
        """
        if ask == 1:
            return [self._age(node) for node in nodes]
        try:
            return [self._freshest(nodes, ask)]
        except NoFormulaError as why:
            return [self._by_overlay(nodes, ask, why)]

    def _freshest(self, nodes: list[int], ask: int) -> InformationAge:
        """Return the age of the freshest copy in `ask` of these nodes, all choices equally likely.

        Whole clusters, and nodes of a tree, may have upstreams in common; others must have independent paths, or
        NoFormulaError is raised.
        """
        polls = self._graph.first_asker_of(nodes[0], POLLS)
        if polls is not None and set(polls.candidates.tolist()) == set(nodes):
            return self._cluster(nodes[0], ask)
        above, own_ages, clocks = dict[int, int](), dict[int, InformationAge | ChoiceAges](), Counter[int]()
        asked_nodes, waiting = frozenset(nodes), [*nodes]
        while waiting:
            node = waiting.pop()
            pool = self._pool(node, asked_nodes)
            node = pool[0] if pool else node
            if node not in above:
                above[node], own_ages[node] = self._step(node, pool, ask)
                clocks.update(asker.clock for asker in self._graph.askers_of(node, DOWNLOADS))
                waiting += [above[node]] if above[node] >= 0 else []
        if clocks.total() > len(clocks):
            raise NoFormulaError(TURNS)
        self._require_apart(
            [node for node, upstream in above.items() if upstream < 0 and self._graph.reachable[self._row][node]]
        )
        top_ages = [age for node, age in own_ages.items() if above[node] < 0 and not isinstance(age, ChoiceAges)]
        if len(top_ages) == len(own_ages) and (ask == len(nodes) or len(set(top_ages)) == 1):
            return self._one_of_each(("best", tuple(sorted(map(id, top_ages[:ask])))), best_of(top_ages[:ask]))
        return freshest_of(forest_parts(above, own_ages, asked_nodes, ask), ask)

    def _pool(self, node: int, wanted: frozenset[int]) -> list[int]:
        """Return the members of a node's cluster if all of them are in `wanted`; else an empty list."""
        polls = self._graph.first_asker_of(node, POLLS)
        if polls is None or not (
            self._graph.is_cluster_list[polls.list_number] and self._graph.reachable[self._row][node]
        ):
            return []
        members = polls.candidates.tolist()
        return members if wanted.issuperset(members) else []

    def _step(self, node: int, pool: list[int], ask: int) -> tuple[int, InformationAge | ChoiceAges]:
        """Return the one upstream of a node or a cluster, and its age relative to it: that with an ever fresh upstream.

        The upstream is -1, and the age that of the copy itself, if the source is asked, or no or several upstreams.
        `pool` has the members of the node's cluster, or nothing; a cluster has the ages of the freshest of up to `ask`
        copies. A node that nothing reaches counts as one without upstreams, which may be a cycle.
        """
        whole, downloads = self._age(node), self._downloads(node)
        if (
            not whole.chance_of_copy
            or downloads is None
            or downloads.candidates.size != 1
            or bool(self._graph.first_asker_of(node, POLLS)) > bool(pool)
        ):
            return -1, whole
        upstream = int(downloads.candidates[0])
        above = -1 if upstream == self._source else upstream
        if pool:
            counts = range(1, min(len(pool), ask) + 1)
            return above, ChoiceAges(
                len(pool), tuple(((comb(len(pool), count), self._spread(node, count)),) for count in counts)
            )
        law, delay = shuffled(successful(self._graph, downloads)), self._graph.delay(upstream, node)
        return above, self._one_of_each((law, delay), with_delay(self._one_of_each((law, 0.0), direct(law)), delay))

    def _require_apart(self, nodes: list[int]) -> None:
        """Raise NoFormulaError if two of these nodes get copies by way of one replica, or by one clock of downloads."""
        seen, clocks = set[int](), set[int]()
        for node in nodes:
            ancestors = self._graph.origins(node) - set(self._graph.sources)
            if ancestors & seen:
                raise NoFormulaError("the replicas asked share part of their path")
            clocks_of_node = {
                asker.clock for ancestor in ancestors for asker in self._graph.askers_of(ancestor, DOWNLOADS)
            }
            if clocks_of_node & clocks:
                raise NoFormulaError(TURNS)
            seen, clocks = seen | ancestors, clocks | clocks_of_node

    def _one_of_each(self, key: object, age: InformationAge) -> InformationAge:
        """Return the age kept under this key; if there is none, keep `age` and return it.

        So equal nodes share one age, whose curves are computed once.
        """
        return self._same.setdefault(key, age)
