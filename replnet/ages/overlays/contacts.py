"""The pulls of all nodes at Poisson instants, with nodes that pull alike taken together.

Two nodes are of one kind if exchanging them changes nothing: they pull from the source and from other nodes alike, and
every node that may ask one of them may ask the other. A cluster of a hundred like members is one kind, and a cluster
with two sorts of members two kinds; the formulas of `informed_sets` and `spreading` need to know no more of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import NamedTuple, final

WIDE = 200  # longer lists are not compared for whether they are the same but for the asker


class NodePull(NamedTuple):
    """A pull of a node at Poisson instants of this rate: it asks `ask` distinct nodes of `among`, but not itself.

    All choices are equally likely. Replies are `delay` old when they arrive.
    """

    rate: float
    among: frozenset[int]
    ask: int = 1
    delay: float = 0.0


class KindPull(NamedTuple):
    """A pull that every node of a kind has: it asks `ask` distinct nodes of these `kinds`, itself left out.

    `rate` is that of its Poisson instants, replies are `delay` old when they arrive, and `others` is the number of
    nodes that it may ask, of all these kinds together.
    """

    rate: float
    kinds: tuple[int, ...]
    ask: int
    delay: float
    others: int  # the number of nodes on the list beside the asker


SourceRates = tuple[tuple[float, float], ...]  # pairs of a rate of pulls from the source and the delay of replies


@final
@dataclass(frozen=True, eq=False)
class NodeKinds:
    """The nodes of a network by kind, a number from 0 on: the kind of each node is `of`, by node.

    Nodes of a kind pull alike and are pulled from alike. For each kind, `sizes` has the number of its nodes,
    `source_rates` a node's pulls from the source, as pairs of rate and delay, and `pulls` those from other nodes.
    """

    of: dict[int, int]
    sizes: list[int]
    source_rates: list[SourceRates]
    pulls: list[list[KindPull]]

    def beside(self, kind: int, other: int) -> int:
        """Return how many nodes of the kind number `other` there are beside one node of the kind number `kind`.

        That is one fewer than all of them if the two kinds are the same.
        """
        return self.sizes[other] - (kind == other)

    @cached_property
    def askers(self) -> list[list[int]]:
        """The numbers of the kinds of nodes that pull from a kind, as a list for every kind, by number."""
        kinds_asking: list[dict[int, None]] = [{} for _ in self.sizes]
        for kind, pulls in enumerate(self.pulls):
            for pull in pulls:
                for other in pull.kinds:
                    kinds_asking[other][kind] = None
        return [list(kinds) for kinds in kinds_asking]

    def reachable(self, without: int = -1) -> set[int]:
        """Return the numbers of the kinds to which copies may come from the source, in one or more pulls.

        Ways by way of the kind number `without` do not count; -1 leaves no kind out.
        """
        waiting = [kind for kind, hits in enumerate(self.source_rates) if hits and kind != without]
        result = set(waiting)
        while waiting:
            new = [kind for kind in self.askers[waiting.pop()] if kind not in result and kind != without]
            result.update(new)
            waiting += new
        return result


def group_nodes(
    hits: Mapping[int, SourceRates], pulls_of: Mapping[int, Sequence[NodePull]], apart: Iterable[frozenset[int]] = ()
) -> NodeKinds:
    """Sort the nodes in `pulls_of` into kinds of nodes that may be exchanged without changing anything.

    `hits` maps nodes to their pulls from the source, as pairs of rate and delay; nodes without any may be missing.
    `pulls_of` maps every node to its pulls from others. Nodes in a set of `apart` are not of one kind with nodes
    outside of it.
    """
    lists_with_asker = {i: [_list_with_asker(i, pull) for pull in pulls] for i, pulls in pulls_of.items()}
    askers = Counter(nodes for pulls in lists_with_asker.values() for nodes in pulls)
    numbers: dict[frozenset[int], int] = {}
    settings: dict[int, list[tuple[float, int, float, int, bool]]] = {}
    for i, pulls in pulls_of.items():
        settings[i] = []
        for pull, with_asker in zip(pulls, lists_with_asker[i], strict=True):
            # A list that others share, such as that of a cluster, includes the askers, so that it is one list for all.
            among = with_asker if askers[with_asker] > 1 else pull.among
            number = numbers.setdefault(among, len(numbers))
            settings[i].append((pull.rate, pull.ask, pull.delay, number, i in among))
    for nodes in apart:
        numbers.setdefault(nodes, len(numbers))
    lists_of: dict[int, list[int]] = {i: [] for i in pulls_of}
    for nodes, number in numbers.items():
        for i in nodes:
            lists_of[i].append(number)
    number_of: dict[object, int] = {}
    of = {
        i: number_of.setdefault((hits.get(i, ()), tuple(sorted(settings[i])), tuple(lists_of[i])), len(number_of))
        for i in settings
    }
    sizes = [0] * len(number_of)
    for kind in of.values():
        sizes[kind] += 1
    members = [tuple(dict.fromkeys(of[i] for i in nodes)) for nodes in numbers]
    others = [len(nodes) for nodes in numbers]
    first = {kind: i for i, kind in reversed(of.items())}
    asking = [
        [
            KindPull(rate, members[at], ask, delay, others[at] - inside)
            for rate, ask, delay, at, inside in settings[first[kind]]
        ]
        for kind in range(len(sizes))
    ]
    return NodeKinds(of, sizes, [hits.get(first[kind], ()) for kind in range(len(sizes))], asking)


def _list_with_asker(node: int, pull: NodePull) -> frozenset[int]:
    """Return the set of nodes that `node` may ask in this pull, with the node itself added.

    A set of more than 200 nodes is returned as it is.
    """
    if node in pull.among or len(pull.among) > WIDE:
        return pull.among
    return pull.among | {node}


def split_draws(left: Sequence[int], count: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield what `count` distinct draws may bring: how many of each sort, as a tuple, and the number of ways to that.

    `left` has the number of things of each sort, which has one sort or more. Nothing is yielded if these are fewer than
    `count`.
    """
    if len(left) == 1:
        if count <= left[0]:
            yield (count,), comb(left[0], count)
        return
    for first in range(max(0, count - sum(left[1:])), min(left[0], count) + 1):
        for rest, ways in split_draws(left[1:], count - first):
            yield (first, *rest), comb(left[0], first) * ways
