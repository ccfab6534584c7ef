"""Copies that come by Poisson pulls alone, along whatever links: their ages, node by node (beyond P2P VI).

Of a node count all from whom its copy could have come. If they all ask at Poisson instants, few sets of them matter
or many: with few the age is exact, for the freshest of several copies too; with many it is exact for one copy where the
links are a forest, and lies between two bounds elsewhere (`ages/overlays`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import final

from replnet.ages.choices import NetworkPart, chosen
from replnet.ages.information_age import InformationAge, never
from replnet.ages.overlays.contacts import Contact, Hits, Kinds, kinds_of
from replnet.ages.overlays.informed_sets import TooManySetsError, choices, set_ages, single
from replnet.ages.overlays.spreading import MOST_MESSAGES, TOO_MANY, NearAge, Together, near_ages, near_together
from replnet.ages.prediction import NoFormulaError, TooLongError
from replnet.laws.families import Exponential
from replnet.network.topology import DOWNLOADS, POLLS
from replnet.predictions.presence import both_ways, require_steady, successful
from replnet.predictions.pull_graph import Asker, PullGraph

MOST_LISTS = 150  # of nodes that are asked, by all from whom a copy could have come, for which sets are tried

Does = tuple[Hits, list[Contact]]


@final
class Overlay:
    """The ages of copies of one source."""

    def __init__(self, graph: PullGraph, row: int) -> None:
        self._graph, self._row, self._source = graph, row, graph.sources[row]
        self._does: dict[int, Does] = {}
        self._lists: dict[int, tuple[frozenset[int], bool]] = {}
        self._exact: dict[int, InformationAge] = {}
        self._offered: dict[int, list[tuple[float, frozenset[int]]]] = {}
        self._joint: dict[Together, list[NearAge] | NoFormulaError] = {}
        self._crowded = set[int]()  # nodes for which there are too many sets

    def age(self, asked: Sequence[int], ask: int = 1) -> InformationAge:
        """Of the freshest copy in `ask` of these nodes, all choices equally likely; raises NoFormulaError."""
        if ask == 1 and len(asked) == 1 and asked[0] in self._exact:
            return self._exact[asked[0]]
        try:
            return self._by_sets(asked, ask)
        except TooManySetsError:
            self._crowded.update(asked)
        if isinstance(self._near, NoFormulaError):
            raise self._near
        kinds, ages = self._near
        there = [i for i in asked if self._graph.reached[self._row][i]]
        if any(kinds.of.get(i) not in ages for i in there):
            raise NoFormulaError("polls along links, of which some come at intervals that are not exponential")
        if len(asked) == 1:
            return ages[kinds.of[asked[0]]]
        together = self._jointly(kinds, ages, tuple(kinds.of[i] for i in there))
        every = [*together, *[never()] * (len(asked) - len(there))]
        return chosen([NetworkPart(1, (((1, age),),)) for age in every], ask)

    def _jointly(self, kinds: Kinds, ages: Mapping[int, NearAge], asked: Together) -> list[NearAge]:
        """Of nodes of these kinds; with those of all who ask several, as many are solved for in hardly more time."""
        if asked not in self._joint:
            self._joint |= near_together(kinds, ages, dict.fromkeys([asked, *self._asked_together(kinds, ages)]))
        found = self._joint[asked]
        if isinstance(found, NoFormulaError):
            raise found
        return found

    def _asked_together(self, kinds: Kinds, ages: Mapping[int, NearAge]) -> Iterator[Together]:
        """The kinds of those who are asked for the freshest of several copies, download by download."""
        if self._joint:
            return
        there = self._graph.reached[self._row]
        for asker in self._graph.askers:
            if asker.purpose == DOWNLOADS and asker.ask == asker.candidates.size > 1 and there[asker.node]:
                known = [kinds.of.get(i, -1) for i in asker.candidates[there[asker.candidates]].tolist()]
                if known and all(kind in ages for kind in known):
                    yield tuple(known)

    def _by_sets(self, asked: Sequence[int], ask: int) -> InformationAge:
        found = self._ancestors(asked)
        every = [contact for _, contacts in found.values() for contact in contacts]
        late = any(delay for hits, _ in found.values() for _, delay in hits) or any(one.delay for one in every)
        if late:
            raise TooManySetsError
        kinds = _kinds(found, asked)
        reached = sorted(kinds.reached())
        if not reached:
            return never()
        if len(asked) > 1:
            (age,) = set_ages(kinds, [choices(kinds, asked, ask)])
            return age
        ages = dict(zip(reached, set_ages(kinds, [single(kinds, kind) for kind in reached]), strict=True))
        self._exact |= {i: ages[kind] for i, kind in kinds.of.items() if kind in ages}
        return self._exact[asked[0]]

    def _ancestors(self, asked: Sequence[int]) -> dict[int, Does]:
        """What those do from whom copies in these nodes could have come, themselves included."""
        found, waiting, seen = dict[int, Does](), [*asked], set[int]()
        while waiting:
            i = waiting.pop()
            if i in found:
                continue
            found[i] = self._of(i)
            for contact in found[i][1]:
                if not self._crowded.isdisjoint(contact.among):
                    raise TooManySetsError
                if id(contact.among) not in seen:  # members of one list are met once, and not by each of its users
                    seen.add(id(contact.among))
                    waiting += contact.among
            if len(seen) > MOST_LISTS:
                raise TooManySetsError
        return found

    @cached_property
    def _near(self) -> tuple[Kinds, dict[int, NearAge]] | NoFormulaError:
        """Of all nodes whose copies come by Poisson pulls alone; or why of none."""
        if self._graph.unlike(self._row) > MOST_MESSAGES:
            return TooLongError(TOO_MANY)
        found, failing = dict[int, Does](), list[int]()
        for i in range(self._graph.topology.size):
            try:
                found[i] = self._of(i)
            except NoFormulaError:
                failing.append(i)
        for i in self._graph.below(failing).nonzero()[0].tolist():
            found.pop(i, None)
        kinds = _kinds(found)
        try:
            return kinds, near_ages(kinds)
        except NoFormulaError as why:
            return why

    def _of(self, node: int) -> Does:
        """How often a node meets the source, and whom it asks beside; of no node to which nothing comes."""
        if node not in self._does:
            there = self._graph.reached[self._row][node]
            self._does[node] = self._contacts(node) if there else ((), [])
        return self._does[node]

    def _contacts(self, node: int) -> Does:
        for other in (node, self._source):
            require_steady(self._graph, other)
        hits, contacts = dict[float, float](), list[Contact]()
        for asker in (*self._graph.by(node, DOWNLOADS), *self._graph.by(node, POLLS)):
            if not asker.ask:
                continue
            if asker.recent:
                raise NoFormulaError("recent contacts along links")
            law = successful(self._graph, asker)
            if not isinstance(law, Exponential):
                raise NoFormulaError("polls along links at intervals that are not exponential")
            among, direct = self._among(asker)
            rate, others = law.rate, len(among) - (node in among)
            if direct:
                share = asker.ask / (others + 1)
                delay = self._graph.delay(self._source, node)
                hits[delay] = hits.get(delay, 0.0) + rate * share
                rate *= 1 - share
            if rate > 0 and others:
                contacts += self._split(node, Contact(rate, among, asker.ask))
        contacts += self._offers(node)
        return tuple((rate, delay) for delay, rate in sorted(hits.items())), contacts

    def _offers(self, node: int) -> Iterator[Contact]:
        """Those who hand it what they have when they poll it, as if it asked them at these instants."""
        for among in self._graph.offers_to.get(node, ()):
            if among not in self._offered:
                self._offered[among] = self._offering(self._graph.offering[among])
            for rate, offering in self._offered[among]:
                if others := len(offering) - (node in offering):
                    yield Contact(rate * others, offering)

    def _offering(self, askers: list[Asker]) -> list[tuple[float, frozenset[int]]]:
        """Who offers copies to each member of a list, by how often each of them does."""
        found: dict[float, list[int]] = {}
        for asker in askers:
            others = asker.candidates.size - int((asker.candidates == asker.node).any())
            found.setdefault(both_ways(self._graph, asker).rate / others, []).append(asker.node)
        return [(rate, frozenset(some)) for rate, some in found.items()]

    def _among(self, asker: Asker) -> tuple[frozenset[int], bool]:
        """The list that a process asks of, without the source, and whether that is on it."""
        if asker.among not in self._lists:
            every = frozenset(asker.candidates.tolist())
            self._lists[asker.among] = every - {self._source}, self._source in every
        return self._lists[asker.among]

    def _split(self, node: int, contact: Contact) -> Iterator[Contact]:
        """By how long it takes those who are asked to reply."""
        if not self._graph.topology.delays:
            yield contact._replace(delay=self._graph.delay(self._source, node))
            return
        others = contact.among - {node}
        late: dict[float, set[int]] = {}
        for other in others:
            late.setdefault(self._graph.delay(other, node), set()).add(other)
        if len(late) > 1 and contact.ask > 1:
            raise NoFormulaError("polls of several peers with different delays")
        for delay, some in late.items():
            yield contact._replace(
                rate=contact.rate * len(some) / len(others), among=frozenset(some) if len(late) > 1 else contact.among,
                delay=delay,
            )  # fmt: skip


def _kinds(found: Mapping[int, Does], asked: Sequence[int] = ()) -> Kinds:
    hits, contacts = ({i: does[0] for i, does in found.items()}, {i: does[1] for i, does in found.items()})
    return kinds_of(hits, contacts, [frozenset(asked)])
