"""The ages of copies at a time, where scheduled faults or a fresh start disturb a network (ages/transient.py)."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import final

from replnet.ages.information_age import InformationAge, PullAge, Sum
from replnet.ages.prediction import NoFormulaError
from replnet.ages.transient import SinceCut, SinceEmpty, SinceFresh
from replnet.laws.families import Exponential
from replnet.network.faults import Crash, Fault, Way, across
from replnet.network.topology import DOWNLOADS, POLLS
from replnet.predictions.pull_graph import Asker, PullGraph

SOON = 1e-15  # of the scale of an age, for the ages at time zero itself


@final
class Disturbance:
    """Of one network, what its faults on schedule do to the ages that there would be without these."""

    def __init__(self, graph: PullGraph) -> None:
        self._graph = graph
        self._crashes = [crash for crash in graph.faults.crashes if crash.fault.at is not None]
        self._cuts = [way for way in graph.faults.cuts if way.fault.at is not None]

    def __bool__(self) -> bool:
        return bool(self._graph.topology.fresh_start or self._crashes or self._cuts)

    @cached_property
    def calm(self) -> PullGraph:
        """The network without them."""
        topology = self._graph.topology
        usual = tuple(fault for fault in topology.about.get("faults", ()) if fault.at is None)
        return PullGraph(replace(topology, about={**topology.about, "faults": usual, "start": None}))

    def age(self, node: int, copy: InformationAge, t: float) -> tuple[InformationAge, float]:
        """What a node has at a time if it had `copy` without them, and the chance that there is something."""
        scheduled: list[Crash | Way] = [*self._crashes, *self._cuts]
        happened = [one for one in scheduled if _begin(one.fault) <= t]
        touched = [one for one in happened if self._concerns(one, node)]
        if happened and self._graph.offering:
            raise NoFormulaError("faults on schedule where polls go both ways")
        if not touched:
            return (self._fresh(copy, t), 1.0) if self._graph.topology.fresh_start else (copy, 1.0)
        topology = self._graph.topology
        if len(touched) > 1 or topology.fresh_start or topology.delay or topology.delays:
            raise NoFormulaError("several things that happened to the same copies, or messages that take time besides")
        (one,) = touched
        since = t - _begin(one.fault)
        ended = since - _lasts(one.fault)
        if isinstance(one, Crash):
            return self._after_crash(one, node, copy, ended)
        downloads = copy.downloads if isinstance(copy, PullAge) else None
        if not isinstance(downloads, Exponential):
            raise NoFormulaError("cuts, but of exponential downloads from a source")
        return SinceCut(downloads, since, ended), 1.0

    def _fresh(self, copy: InformationAge, t: float) -> InformationAge:
        return SinceFresh(copy, max(t, SOON * min(copy.scales.marks)))

    def _after_crash(self, crash: Crash, node: int, copy: InformationAge, ended: float) -> tuple[InformationAge, float]:
        """`ended` is how long ago it was over; below 0 where it is not yet."""
        replicas = self._sources_of(node) - set(self._graph.sources)
        if set(crash.nodes) & set(self._graph.sources):
            raise NoFormulaError("sources that crash by a schedule")
        if not replicas <= set(crash.nodes) and replicas & set(crash.nodes) != {node}:
            raise NoFormulaError("copies that come from replicas which crash by a schedule")
        if not crash.empties:
            raise NoFormulaError("copies that are kept through a crash by a schedule")
        if ended <= 0:
            return copy, 0.0
        if copy.latest is not copy:
            raise NoFormulaError("copies since a crash by a schedule, of whose ages only bounds are known")
        if replicas <= set(crash.nodes):
            own = SinceEmpty(copy, ended)
            return own, own.present
        if not (isinstance(copy, Sum) and isinstance(copy.own, PullAge)):
            raise NoFormulaError("a replica that crashes by a schedule, but for one that only downloads")
        own = SinceEmpty(copy.own, ended)
        return Sum(own, copy.upstream), own.present

    def _concerns(self, one: Crash | Way, node: int) -> bool:
        """Whether it strikes this node, or any from which its data may come."""
        there = self._sources_of(node)
        if isinstance(one, Crash):
            return bool(there & set(one.nodes))
        side = one.side
        pairs = ((i, j) for i in there for asker in self._askers(i) for j in asker.candidates.tolist())
        return any(across(int(side[i]), int(side[j])) for i, j in pairs)

    def _sources_of(self, node: int) -> set[int]:
        """All from which its data may come, itself among them."""
        found, waiting, seen = {node}, [node], set[int]()
        while waiting:
            for asker in self._askers(waiting.pop()):
                if asker.among not in seen:  # members of one list are met once, and not by each of its users
                    seen.add(asker.among)
                    more = set(asker.candidates.tolist()) - found
                    found |= more
                    waiting += more
        return found

    def _askers(self, node: int) -> list[Asker]:
        return [asker for purpose in (DOWNLOADS, POLLS) for asker in self._graph.by(node, purpose)]


def _begin(fault: Fault) -> float:
    assert fault.at is not None
    return fault.at


def _lasts(fault: Fault) -> float:
    return float("inf") if fault.lasts is None else fault.lasts
