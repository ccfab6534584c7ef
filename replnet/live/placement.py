"""The host of each node: neighbours that talk much share a host, and every host has as much work.

Nodes are lined up by walking downstream from the sources, subtree after
subtree and pool after pool, and the line is cut into stretches of equal work.
A cut through a tree then crosses one link per level at most, and a pool is cut
in one place.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from replnet.engines import Plan
from replnet.laws import Floats


def place(plan: Plan, hosts: int) -> tuple[int, ...]:
    """Return the number of the host of every node, from 0; there are at most `hosts` of them, and none is empty.

    Nodes that talk much to one another share a host, and hosts have about equal work.
    """
    assert hosts >= 1
    line = line_up(plan)
    work = work_of(plan)[line]
    middle = np.cumsum(work) - work / 2
    rough = np.floor(middle / max(work.sum(), 1e-300) * hosts).astype(int) if hosts < len(line) else np.arange(hosts)
    at = np.empty(len(line), int)
    at[line] = np.unique(rough[: len(line)], return_inverse=True)[1]
    return tuple(at.tolist())


def line_up(plan: Plan) -> list[int]:
    """Return the numbers of all nodes, each once, in a line in which nodes come soon after one that they ask.

    It begins with the first source.
    """
    below = _Askers(plan)
    seen, line = set[int](), list[int]()
    for first in chain(plan.sources.tolist(), range(plan.size)):
        waiting = [first]
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                line.append(node)
                waiting += reversed(list(below.of(node)))
    return line


class _Askers:
    """The nodes that ask a node for copies, each list of candidates told only once.

    Those that ask a list of candidates are yielded for the first of its members that is looked up, and for no other.
    """

    def __init__(self, plan: Plan) -> None:
        self._lists: dict[int, list[int]] = {}  # by node: the lists that it is on
        self._users: dict[int, list[int]] = {}  # by list: the nodes that ask its members
        p = plan.processes
        for q in np.argsort(p.purpose, kind="stable").tolist():
            if p.ask[q]:
                among = int(p.candidates[q])
                if among not in self._users:
                    for node in plan.candidates(q).tolist():
                        self._lists.setdefault(node, []).append(among)
                self._users.setdefault(among, []).append(int(p.node[q]))

    def of(self, node: int) -> Iterator[int]:
        """Yield the nodes that ask this node for copies and were not yielded before, for any node."""
        for key in self._lists.get(node, []):
            yield from self._users.pop(key, [])


def work_of(plan: Plan) -> Floats:
    """Return the number of wakes and messages that each node handles per unit of model time.

    A message counts at the node that sends it and at the one that gets it.
    """
    p, lists = plan.processes, plan.lists
    pulls = np.bincount(p.candidates, 2 * plan.rates * p.ask, lists.begin.size - 1) / np.maximum(lists.sizes, 1)
    work = np.bincount(p.node, plan.rates * (1 + 2 * p.ask), plan.size)
    return np.asarray(work + np.bincount(lists.members, np.repeat(pulls, lists.sizes), plan.size))


def traffic(plan: Plan, at: tuple[int, ...]) -> Floats:
    """Return the messages, pulls and replies, per unit of model time between hosts as a symmetric square matrix.

    Entry (a, b) is those from host a to host b, and the diagonal those within a host. `at` is the host of every node.
    """
    p, lists, hosts, of = plan.processes, plan.lists, max(at) + 1, np.array(at)
    number = np.repeat(np.arange(lists.begin.size - 1), lists.sizes)
    members_in_host = np.bincount(number * hosts + of[lists.members], minlength=(lists.begin.size - 1) * hosts)
    shares = members_in_host.reshape(-1, hosts) / np.maximum(lists.sizes, 1)[:, None]
    pulls, between = (plan.rates * p.ask)[:, None] * shares[p.candidates], np.zeros((hosts, hosts))
    np.add.at(between, of[p.node], pulls)
    return between + between.T
