"""Who asks whom in a network, as formulas read it: from its topology alone, and not from what engines make of that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from replnet.ages.prediction import NoFormulaError
from replnet.laws import Constant, Law
from replnet.laws.law import Flags, Ints
from replnet.laws.text import at_rate
from replnet.network.faults import Faults, faults
from replnet.network.topology import DOWNLOADS, QUERIES, UPDATES, Topology


class Asker(NamedTuple):
    """A process by which a node asks `ask` of its candidates; `law` is None where its intervals have none."""

    node: int
    purpose: int
    law: Law | None
    candidates: Ints
    among: int  # the number of the list of these
    ask: int
    recent: bool
    clock: int  # one may be shared, by those who take turns


@final
@dataclass(frozen=True, eq=False)
class PullGraph:
    """The network with what formulas want to know of it."""

    topology: Topology

    @cached_property
    def sources(self) -> list[int]:
        return [int(source) for source in self.topology.sources]

    @cached_property
    def faults(self) -> Faults:
        return faults(self.topology)

    @property
    def limits(self) -> npt.NDArray[np.float64] | None:
        """The bandwidth of every node, where there is a limit anywhere."""
        return self.topology.bandwidth

    @property
    def strict(self) -> bool:
        """Whether pulls may come to nothing."""
        return bool(self.faults) or self.limits is not None

    def _law(self, clock: int, turns: int) -> Law | None:
        clocks = self.topology.clocks
        law, rate = self.topology.laws[clocks.law[clock]], float(clocks.rate[clock]) / turns
        if clocks.schedule[clock] >= 0 or rate == 0 or (turns > 1 and not isinstance(law, Constant)):
            return None
        return law if rate == law.rate else at_rate(law, rate)

    @cached_property
    def updates(self) -> list[Law | None]:
        """By source; None of one that never changes."""
        p = self.topology.processes
        return [self._law(clock, 1) for clock in p.clock[p.purpose == UPDATES].tolist()]

    @cached_property
    def askers(self) -> list[Asker]:
        p, lists = self.topology.processes, self.topology.lists
        columns = (p.node, p.purpose, p.clock, p.candidates, p.ask, p.recent, p.turns)
        return [
            Asker(node, purpose, self._law(clock, turns), lists.of(among), among, ask, recent, clock)
            for node, purpose, clock, among, ask, recent, turns in zip(*(c.tolist() for c in columns), strict=True)
            if purpose != UPDATES
        ]

    @cached_property
    def _of_node(self) -> dict[int, list[Asker]]:
        found: dict[int, list[Asker]] = {}
        for asker in self.askers:
            found.setdefault(asker.node, []).append(asker)
        return found

    def by(self, node: int, purpose: int) -> list[Asker]:
        """The processes of a node for this purpose."""
        return [asker for asker in self._of_node.get(node, ()) if asker.purpose == purpose]

    def one(self, node: int, purpose: int) -> Asker | None:
        """The first of them."""
        return next(iter(self.by(node, purpose)), None)

    def upstreams(self, node: int) -> list[int]:
        return [i for asker in self.by(node, DOWNLOADS) for i in asker.candidates.tolist()]

    @cached_property
    def ways(self) -> dict[int, list[list[int]]]:
        """By node, the groups of nodes who may get from it what it has."""
        home = {asker.node: asker.candidates[0] for asker in self.askers if asker.purpose == DOWNLOADS and asker.ask}
        alike: dict[object, tuple[list[int], list[int]]] = {}  # members and users of a list
        for asker in self.askers:
            if asker.ask:  # of recent contacts those alone who share its upstream
                own = home.get(asker.node) if asker.recent else None
                key = asker.among, asker.recent, own
                if key not in alike:
                    members = asker.candidates.tolist()
                    alike[key] = [i for i in members if not asker.recent or home.get(i) == own], []
                alike[key][1].append(asker.node)
        found: dict[int, list[list[int]]] = {}
        for members, users in alike.values():
            for i in members:
                found.setdefault(i, []).append(users)
        return found

    @cached_property
    def reached(self) -> list[Flags]:
        """By source, who can come to hold a copy of it."""
        found = []
        for source in self.sources:
            there, waiting, done = np.zeros(self.topology.size, np.bool_), [source], set[int]()
            there[source] = True
            while waiting:
                for users in self.ways.get(waiting.pop(), ()):
                    if id(users) not in done:  # users of one list are met once, and not by each of its members
                        done.add(id(users))
                        waiting += [i for i in users if not there[i]]
                        there[users] = True
            there[source] = False
            found.append(there)
        return found

    @cached_property
    def counted(self) -> list[Flags]:
        """By source, for whom it counts: who can hear of it; who hears of none counts for the first."""
        found = [there.copy() for there in self.reached]
        found[0] |= ~np.any(self.reached, axis=0)
        for there in found:
            there[self.sources] = False
        return found

    def held(self, of: list[Flags], group: int, row: int) -> Iterator[tuple[int, int]]:
        """Nodes of a group, each with the sources that `of` has for it: all of them (-1), or that in this row.

        Who looks at several nodes is a node here, with a number past all others.
        """
        topology, rows = self.topology, range(len(self.sources)) if row < 0 else [row]
        views = enumerate(topology.views, topology.size)
        members = {i: np.array([i]) for i in np.flatnonzero(topology.group == group).tolist()}
        members |= {v: view.nodes for v, view in views if view.group == topology.groups[group]}
        return ((i, s) for i, nodes in members.items() for s in rows if of[s][nodes].any())

    @cached_property
    def rows(self) -> dict[str, tuple[int, int]]:
        """What there may be rows of: every group (-1 for a source), and where it can hear of several, each of these."""
        names, groups = self.topology.names, self.topology.groups
        parts: dict[str, tuple[int, int]] = {}
        for g, group in enumerate(groups):
            members = self.topology.group == g
            heard = [s for s, there in enumerate(self.reached) if there[members].any()]
            parts |= {f"{group} of {names[self.sources[s]]}": (g, s) for s in heard if len(heard) > 1}
        found = parts | {name: (g, -1) for g, name in enumerate(groups)}
        return dict(sorted(found.items(), key=lambda one: one[1]))

    def asks(self, group: int) -> bool:
        """Whether there are clients in a group."""
        return bool(self.topology.clients[self.topology.group == group].any())

    def delay(self, upstream: int, node: int) -> float:
        """How old what a node hears of another is when it arrives."""
        delay = self.topology.delays.get((upstream, node), self.topology.delay)
        if isinstance(delay, Law):
            raise NoFormulaError("delays drawn from a law")
        return delay

    @property
    def queries(self) -> list[Asker]:
        return [asker for asker in self.askers if asker.purpose == QUERIES]
