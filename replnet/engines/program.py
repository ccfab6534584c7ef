"""A plan compiled to the arrays that the kernels of `array` take."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from replnet.engines.general import NODES, SUMS, Contacts, Copies
from replnet.engines.kernels import Askers
from replnet.engines.plan import DOWNLOADS, QUERIES, UPDATES, Ints, Plan
from replnet.engines.trees import Tree
from replnet.laws.scratch import Scratch


@dataclass(frozen=True, eq=False)
class Program:
    """A plan compiled to arrays: made once, run for every replication."""

    plan: Plan
    sampled: bool

    @cached_property
    def scratch(self) -> Scratch:
        """Shared by the runs of this program, one at a time."""
        return Scratch()

    def __post_init__(self) -> None:
        if self.plan.recent and self.plan.faults:
            raise ValueError("faults: the array engine takes none with select: recent (use --engine step)")

    @cached_property
    def delay(self) -> float:
        if self.plan.constant_delay is None:
            raise ValueError("delay: the array engine takes one constant delay for all messages (use --engine step)")
        return self.plan.constant_delay

    @cached_property
    def updating(self) -> Ints:
        return np.flatnonzero(self.plan.purpose == UPDATES)

    @cached_property
    def asking(self) -> Ints:
        return np.flatnonzero(self.plan.purpose != UPDATES)

    @cached_property
    def askers(self) -> Askers:
        processes = [self.plan.processes[q] for q in self.asking]
        lists = {id(p.candidates): p.candidates for p in processes}
        begins = dict(zip(lists, np.cumsum([0, *map(len, lists.values())]), strict=False))
        places = {key: {node: at for at, node in enumerate(members)} for key, members in lists.items()}
        return Askers(
            node=np.array([p.node for p in processes], np.int64),
            pulls=np.array([p.ask for p in processes], np.int64),
            recent=np.array([p.recent for p in processes], np.bool_),
            begin=np.array([begins[id(p.candidates)] for p in processes], np.int64),
            size=np.array([len(p.candidates) for p in processes], np.int64),
            own=np.array([places[id(p.candidates)].get(p.node, len(p.candidates)) for p in processes], np.int64),
            listed=np.array([i for members in lists.values() for i in members] or [0], np.int64),
        )

    @cached_property
    def plain(self) -> bool:
        """Everyone asks by name, is answered at once and keeps what it gets."""
        return self.delay == 0 and not (self.plan.recent or self.plan.strict or self.plan.clients.any())

    @cached_property
    def trees(self) -> tuple[Tree, ...] | None:
        """The tree of every source, if each asker is a replica's only one and asks one upstream."""
        a, n = self.askers, len(self.plan.names)
        if not (self.sampled and self.plain and (a.pulls == 1).all() and (a.size == 1).all()):
            return None
        if np.bincount(a.node, minlength=n).max(initial=0) > 1:
            return None
        upstream = np.full(n, -1, np.int64)
        upstream[a.node] = a.listed[a.begin]
        depth, root, above = np.zeros(n, np.int64), np.arange(n), upstream.copy()
        for _ in range(n):
            climbing = above >= 0
            if not climbing.any():
                return self._trees(upstream, depth, root)
            depth += climbing
            root[climbing] = above[climbing]
            above[climbing] = upstream[above[climbing]]
        return None  # a cycle: everyone waits for everyone

    def _trees(self, upstream: Ints, depth: Ints, root: Ints) -> tuple[Tree, ...]:
        """Who has another root than a source hears nothing of it, and so is not in its tree."""
        node, sources = self.askers.node, np.array(self.plan.sources)
        order = np.lexsort((depth[node], root[node]))
        begin, end = (np.searchsorted(root[node][order], sources, side) for side in ("left", "right"))
        feeds = np.bincount(upstream[upstream >= 0], minlength=upstream.size) > 0
        return tuple(Tree(order[b:e], node, upstream[node], feeds[node]) for b, e in zip(begin, end, strict=True))

    @cached_property
    def registers(self) -> tuple[Ints, Ints, Ints]:
        """Per node: the register it appears in, the upstream that keeps it, and how long a list it needs."""
        n = len(self.plan.names)
        register, upstream, need = np.full(n, -1, np.int64), np.full(n, -1, np.int64), np.zeros(n, np.int64)
        home = {p.node: p.candidates[0] for p in self.plan.processes if p.purpose == DOWNLOADS and p.candidates}
        numbers: dict[tuple[int, int], int] = {}
        for p in self.plan.processes:
            if p.recent:
                for i in {p.node, *p.candidates} & home.keys():
                    register[i] = numbers.setdefault((home[i], id(p.candidates)), len(numbers))
                    upstream[i] = home[i]
                need[p.node] = p.ask
        sizes = np.bincount(register[register >= 0], minlength=1)
        need = np.minimum(need, np.where(register >= 0, sizes[register] - 1, 0))
        return register, upstream, need

    def copies(self) -> Copies:
        """Room for what all nodes hold of one source."""
        plan, n, groups = self.plan, len(self.plan.names), len(self.plan.groups)
        nodes = np.zeros(n, NODES)
        for p in plan.processes:
            if p.purpose == QUERIES:
                nodes["asks"][p.node] = nodes["left"][p.node] = p.ask
        nodes["fell"], nodes["kept"], nodes["client"] = -np.inf, -np.inf, plan.clients
        return Copies(np.empty(n), plan.group, nodes, np.zeros(groups), np.zeros(groups, SUMS))

    def contacts(self) -> Contacts:
        """Nobody has called yet."""
        n = len(self.plan.names)
        register, upstream, need = self.registers
        return Contacts(
            register=register,
            upstream=upstream,
            latest=np.full(max(int(register.max(initial=-1)) + 1, 1), -1, np.int64),
            older=np.full(n, -1, np.int64),
            newer=np.full(n, -1, np.int64),
            handed=np.empty((n if need.any() else 1, max(int(need.max(initial=0)), 1)), np.int64),
            length=np.zeros(n, np.int64),
            need=need,
            lacking=np.array([np.count_nonzero(need)]),
        )
