"""Which host runs which node: neighbours that talk much together, and every host as much work.

Nodes are lined up by walking downstream from the sources, subtree after
subtree and pool after pool, and the line is cut into stretches of equal work.
A cut through a tree then crosses one link per level at most, and a pool is cut
in one place.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt

from replnet.engines.plan import DOWNLOADS, POLLS, QUERIES, Plan

Floats = npt.NDArray[np.float64]


def place(plan: Plan, hosts: int) -> tuple[int, ...]:
    """The host of every node; hosts are numbered from 0 and none is empty."""
    assert hosts >= 1
    line = lined_up(plan)
    work = work_of(plan)[line]
    middle = np.cumsum(work) - work / 2
    rough = np.floor(middle / max(work.sum(), 1e-300) * hosts).astype(int) if hosts < len(line) else np.arange(hosts)
    at = np.empty(len(line), int)
    at[line] = np.unique(rough[: len(line)], return_inverse=True)[1]
    return tuple(at.tolist())


def lined_up(plan: Plan) -> list[int]:
    """All nodes, each soon after one that it asks."""
    below = _Below(plan)
    seen, line = set[int](), list[int]()
    for first in chain(plan.sources, range(len(plan.names))):
        waiting = [first]
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                line.append(node)
                waiting += reversed(list(below.of(node)))
    return line


class _Below:
    """Who asks a node; the users of one list are met once, not once per member."""

    def __init__(self, plan: Plan) -> None:
        self._lists: dict[int, list[int]] = {}  # node: the lists that it is on
        self._users: dict[int, list[int]] = {}  # list: who asks its members
        for purpose in (DOWNLOADS, POLLS, QUERIES):
            for p in plan.processes:
                if p.purpose == purpose:
                    self._add(id(p.candidates), p.candidates, p.node)

    def _add(self, key: int, candidates: list[int] | tuple[int, ...], user: int) -> None:
        if key not in self._users:
            for node in candidates:
                self._lists.setdefault(node, []).append(key)
        self._users.setdefault(key, []).append(user)

    def of(self, node: int) -> Iterator[int]:
        for key in self._lists.get(node, []):
            yield from self._users.pop(key, [])


def work_of(plan: Plan) -> Floats:
    """Wakes and messages that a node handles per unit of time."""
    work, shares = np.zeros(len(plan.names)), dict[int, float]()
    for p in plan.processes:
        work[p.node] += p.law.rate * (1 + 2 * p.ask)
        if p.ask:
            shares[id(p.candidates)] = shares.get(id(p.candidates), 0.0) + 2 * p.law.rate * p.ask / len(p.candidates)
    for p in plan.processes:
        share = shares.pop(id(p.candidates), 0.0)
        if share:
            work[list(p.candidates)] += share
    return work


def traffic(plan: Plan, at: tuple[int, ...]) -> Floats:
    """Messages per unit of time from host to host; what stays within one is on the diagonal."""
    hosts, of = max(at) + 1, np.array(at)
    between = np.zeros((hosts, hosts))
    members: dict[int, Floats] = {}
    for p in plan.processes:
        if not p.ask:
            continue
        if id(p.candidates) not in members:
            asked = np.bincount(of[list(p.candidates)], minlength=hosts)
            members[id(p.candidates)] = asked / len(p.candidates)
        pulls = p.law.rate * p.ask * members[id(p.candidates)]
        between[of[p.node]] += pulls
        between[:, of[p.node]] += pulls
    return between
