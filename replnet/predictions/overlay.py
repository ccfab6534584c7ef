"""Copies that come by Poisson pulls alone, along whatever links: their ages, node by node (beyond P2P VI).

Take a node and all nodes from which its copy could have come. If all of these pull at Poisson instants, there is a
formula. If few sets of them matter, the age is exact, for the freshest of several copies too; otherwise it is exact for
one copy where the links are a forest, and lies between two bounds elsewhere (`ages/overlays`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import final

from replnet.ages import ChoiceAges, InformationAge, NoFormulaError, TooLongError, freshest_of, never
from replnet.ages.overlays import (
    MOST_MESSAGES,
    TOO_MANY,
    KindSet,
    NodeKinds,
    NodePull,
    PairAge,
    SourceRates,
    TooManySetsError,
    group_nodes,
    pair_ages,
    pair_ages_together,
    set_ages,
    start_from_choice,
    start_from_kind,
)
from replnet.laws import Exponential
from replnet.network import DOWNLOADS
from replnet.predictions.availability import both_ways, require_steady, successful
from replnet.predictions.pull_graph import Asker, PullGraph

MOST_LISTS = 150  # candidate lists of a node and its ancestors; where there are more, sets are not tried

NodePulls = tuple[SourceRates, list[NodePull]]
"""How a node pulls: how often from the source, by delay, and the contacts by which it asks other nodes."""


@final
class Overlay:
    """The ages of copies of one source, whose index in `graph.sources` is `row`, that come by Poisson pulls alone."""

    def __init__(self, graph: PullGraph, row: int) -> None:
        self._graph, self._row, self._source = graph, row, graph.sources[row]
        self._pulls: dict[int, NodePulls] = {}
        self._lists: dict[int, tuple[frozenset[int], bool]] = {}
        self._exact: dict[int, InformationAge] = {}
        self._offered: dict[int, list[tuple[float, frozenset[int]]]] = {}
        self._joint: dict[KindSet, list[PairAge] | NoFormulaError] = {}
        self._crowded = set[int]()  # nodes with so many ancestors that there are too many sets

    def age(self, nodes: Sequence[int], ask: int = 1) -> InformationAge:
        """Return the age of the freshest copy in `ask` of these nodes, all choices equally likely.

        It is exact if few sets of nodes matter, else a bound may be all that is known. Raise NoFormulaError if a copy
        in them may come by pulls that are not Poisson.
        """
        if ask == 1 and len(nodes) == 1 and nodes[0] in self._exact:
            return self._exact[nodes[0]]
        try:
            return self._by_sets(nodes, ask)
        except TooManySetsError:
            self._crowded.update(nodes)
        if isinstance(self._near, NoFormulaError):
            raise self._near
        kinds, ages = self._near
        reachable = [node for node in nodes if self._graph.reachable[self._row][node]]
        if any(kinds.of.get(node) not in ages for node in reachable):
            raise NoFormulaError("polls along links, some of which come at intervals that are not exponential")
        if len(nodes) == 1:
            return ages[kinds.of[nodes[0]]]
        together = self._joint_ages(kinds, ages, tuple(kinds.of[node] for node in reachable))
        node_ages = [*together, *[never()] * (len(nodes) - len(reachable))]
        return freshest_of([ChoiceAges(1, (((1, age),),)) for age in node_ages], ask)

    def _joint_ages(self, kinds: NodeKinds, ages: Mapping[int, PairAge], node_kinds: KindSet) -> list[PairAge]:
        """Return an age for each node of these kinds, so that the nodes may be taken as independent of one another.

        `kinds` are those of all nodes and `ages` the age of a single node of each. The ages for all downloads from
        several nodes are solved together at the first call, in hardly more time than one. Raise NoFormulaError if they
        are not known.
        """
        if node_kinds not in self._joint:
            self._joint |= pair_ages_together(
                kinds, ages, dict.fromkeys([node_kinds, *self._kinds_asked_together(kinds, ages)])
            )
        result = self._joint[node_kinds]
        if isinstance(result, NoFormulaError):
            raise result
        return result

    def _kinds_asked_together(self, kinds: NodeKinds, ages: Mapping[int, PairAge]) -> Iterator[KindSet]:
        """Yield the kinds of the nodes that a download asks together, as a tuple, for every download that asks several.

        Kinds without an age in `ages` are passed over; there is nothing to yield once joint ages have been solved.
        """
        if self._joint:
            return
        reachable = self._graph.reachable[self._row]
        for asker in self._graph.askers:
            if asker.purpose == DOWNLOADS and asker.ask == asker.candidates.size > 1 and reachable[asker.node]:
                node_kinds = [kinds.of.get(node, -1) for node in asker.candidates[reachable[asker.candidates]].tolist()]
                if node_kinds and all(kind in ages for kind in node_kinds):
                    yield tuple(node_kinds)

    def _by_sets(self, nodes: Sequence[int], ask: int) -> InformationAge:
        """Return the exact age of the freshest copy in `ask` of these nodes, by all sets that it may come from.

        Raise TooManySetsError if these are too many, or if there are delays. Ages of single nodes are kept.
        """
        pulls = self._ancestors(nodes)
        all_contacts = [contact for _, contacts in pulls.values() for contact in contacts]
        is_delayed = any(delay for hits, _ in pulls.values() for _, delay in hits) or any(
            contact.delay for contact in all_contacts
        )
        if is_delayed:
            raise TooManySetsError
        kinds = _kinds(pulls, nodes)
        reached = sorted(kinds.reachable())
        if not reached:
            return never()
        if len(nodes) > 1:
            (age,) = set_ages(kinds, [start_from_choice(kinds, nodes, ask)])
            return age
        ages = dict(zip(reached, set_ages(kinds, [start_from_kind(kinds, kind) for kind in reached]), strict=True))
        self._exact |= {node: ages[kind] for node, kind in kinds.of.items() if kind in ages}
        return self._exact[nodes[0]]

    def _ancestors(self, nodes: Sequence[int]) -> dict[int, NodePulls]:
        """Return the pulls of these nodes and of all nodes from which their copies could have come, by node.

        Raise TooManySetsError if there are too many of them.
        """
        result, waiting, seen = dict[int, NodePulls](), [*nodes], set[int]()
        while waiting:
            node = waiting.pop()
            if node in result:
                continue
            result[node] = self._pulls_of(node)
            for contact in result[node][1]:
                if not self._crowded.isdisjoint(contact.among):
                    raise TooManySetsError
                if id(contact.among) not in seen:  # members of one list are met once, and not by each of its users
                    seen.add(id(contact.among))
                    waiting += contact.among
            if len(seen) > MOST_LISTS:
                raise TooManySetsError
        return result

    @cached_property
    def _near(self) -> tuple[NodeKinds, dict[int, PairAge]] | NoFormulaError:
        """The kinds of all nodes whose copies come by Poisson pulls alone, with ages by kind; or why there are none."""
        if self._graph.least_distinct_pulls(self._row) > MOST_MESSAGES:
            return TooLongError(TOO_MANY)
        pulls, without_formula = dict[int, NodePulls](), list[int]()
        for node in range(self._graph.topology.size):
            try:
                pulls[node] = self._pulls_of(node)
            except NoFormulaError:
                without_formula.append(node)
        for node in self._graph.descendants(without_formula).nonzero()[0].tolist():
            pulls.pop(node, None)
        kinds = _kinds(pulls)
        try:
            return kinds, pair_ages(kinds)
        except NoFormulaError as reason:
            return reason

    def _pulls_of(self, node: int) -> NodePulls:
        """Return how a node pulls: pairs (rate, delay) of pulls from the source, and a list of pulls from other nodes.

        Both are empty for nodes that no copy reaches. They are worked out once. Raise NoFormulaError if a pull is not
        Poisson.
        """
        if node not in self._pulls:
            reachable = self._graph.reachable[self._row][node]
            self._pulls[node] = self._contacts(node) if reachable else ((), [])
        return self._pulls[node]

    def _contacts(self, node: int) -> NodePulls:
        """Work out how a node that copies reach pulls from the source, as pairs (rate, delay), and from other nodes.

        Raise NoFormulaError if one of these pulls is not Poisson, or if a crash or cut is in the way.
        """
        for other in (node, self._source):
            require_steady(self._graph, other)
        hits, contacts = dict[float, float](), list[NodePull]()
        for asker in self._graph.getters_of(node):
            if not asker.ask:
                continue
            if asker.recent:
                raise NoFormulaError("recent contacts along links")
            law = successful(self._graph, asker)
            if not isinstance(law, Exponential):
                raise NoFormulaError("polls along links at intervals that are not exponential")
            members, has_source = self._others_on_list(asker)
            rate, others = law.rate, len(members) - (node in members)
            if has_source:
                share = asker.ask / (others + 1)
                delay = self._graph.delay(self._source, node)
                hits[delay] = hits.get(delay, 0.0) + rate * share
                rate *= 1 - share
            if rate > 0 and others:
                contacts += self._split_by_delay(node, NodePull(rate, members, asker.ask))
        contacts += self._offers(node)
        return tuple((rate, delay) for delay, rate in sorted(hits.items())), contacts

    def _offers(self, node: int) -> Iterator[NodePull]:
        """Yield the askers that hand their copy to this node when they poll it, as pulls of this node from them."""
        for list_number in self._graph.receiving_lists_of.get(node, ()):
            if list_number not in self._offered:
                self._offered[list_number] = self._rates_of_givers(self._graph.askers_handing_over[list_number])
            for rate, givers in self._offered[list_number]:
                if others := len(givers) - (node in givers):
                    yield NodePull(rate * others, givers)

    def _rates_of_givers(self, askers: list[Asker]) -> list[tuple[float, frozenset[int]]]:
        """Group askers by how often each hands its copy to one given member of a list: pairs (rate, nodes)."""
        nodes_by_rate: dict[float, list[int]] = {}
        for asker in askers:
            others = asker.candidates.size - int((asker.candidates == asker.node).any())
            nodes_by_rate.setdefault(both_ways(self._graph, asker).rate / others, []).append(asker.node)
        return [(rate, frozenset(nodes)) for rate, nodes in nodes_by_rate.items()]

    def _others_on_list(self, asker: Asker) -> tuple[frozenset[int], bool]:
        """Return the candidates of a process without the source of these copies, and whether that is a candidate.

        The asker itself is among them if it is on its list.
        """
        if asker.list_number not in self._lists:
            candidates = frozenset(asker.candidates.tolist())
            self._lists[asker.list_number] = candidates - {self._source}, self._source in candidates
        return self._lists[asker.list_number]

    def _split_by_delay(self, node: int, contact: NodePull) -> Iterator[NodePull]:
        """Yield the pulls that `contact` of this node splits into, one for each delay among the nodes that it asks.

        Raise NoFormulaError for polls of several peers with different delays.
        """
        if not self._graph.topology.delays:
            yield contact._replace(delay=self._graph.delay(self._source, node))
            return
        others = contact.among - {node}
        by_delay: dict[float, set[int]] = {}
        for other in others:
            by_delay.setdefault(self._graph.delay(other, node), set()).add(other)
        if len(by_delay) > 1 and contact.ask > 1:
            raise NoFormulaError("polls of several peers with different delays")
        for delay, members in by_delay.items():
            yield contact._replace(
                rate=contact.rate * len(members) / len(others),
                among=frozenset(members) if len(by_delay) > 1 else contact.among,
                delay=delay,
            )


def _kinds(pulls: Mapping[int, NodePulls], apart: Sequence[int] = ()) -> NodeKinds:
    """Return the nodes in kinds of nodes that pull alike and are pulled from alike, given the pulls of every node.

    Nodes in `apart` are never of one kind with nodes outside of it.
    """
    hits, contacts = ({i: pull[0] for i, pull in pulls.items()}, {i: pull[1] for i, pull in pulls.items()})
    return group_nodes(hits, contacts, [frozenset(apart)])
