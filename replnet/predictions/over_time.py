"""The ages of copies at a time t after a fresh start or scheduled faults of a network (ages/transients.py)."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import final

from replnet.ages import InformationAge, NoFormulaError, PullAge, SinceCut, SinceEmpty, SinceFresh, Sum
from replnet.laws import Exponential
from replnet.network import Crash, Fault, LinkFault, on_opposite_sides
from replnet.predictions.pull_graph import PullGraph

SHORTEST_TIME = 1e-15  # in units of the scale of an age: what stands for time zero itself


@final
class Transients:
    """The effect of a network's scheduled faults and fresh start on the ages of copies; false if it has neither."""

    def __init__(self, graph: PullGraph) -> None:
        self._graph = graph
        self._crashes = [crash for crash in graph.faults.crashes if crash.fault.at is not None]
        self._cuts = [way for way in graph.faults.cuts if way.fault.at is not None]

    def __bool__(self) -> bool:
        """Whether anything happens at a set time."""
        return bool(self._graph.topology.fresh_start or self._crashes or self._cuts)

    @cached_property
    def stationary(self) -> PullGraph:
        """The network without scheduled faults and without its fresh start, so that it is stationary."""
        topology = self._graph.topology
        usual = tuple(fault for fault in topology.about.get("faults", ()) if fault.at is None)
        return PullGraph(replace(topology, about={**topology.about, "faults": usual, "start": None}))

    def age(self, node: int, copy: InformationAge, t: float) -> tuple[InformationAge, float]:
        """Return the age of a node's copy at time t, given that there is a copy, and the chance that there is one.

        `copy` is the age that its copy has in the stationary network, without scheduled faults and a fresh start, and t
        counts from the start of a replication. Raise NoFormulaError where no formula says what faults and start do to
        it.
        """
        if not copy.chance_of_copy:
            return copy, 1.0
        scheduled: list[Crash | LinkFault] = [*self._crashes, *self._cuts]
        happened = [fault for fault in scheduled if _begin(fault.fault) <= t]
        faults = [fault for fault in happened if self._concerns(fault, node)]
        if happened and self._graph.askers_handing_over:
            raise NoFormulaError("faults on schedule where polls go both ways")
        if not faults:
            return (self._since_fresh_start(copy, t), 1.0) if self._graph.topology.fresh_start else (copy, 1.0)
        topology = self._graph.topology
        if len(faults) > 1 or topology.fresh_start or topology.delay or topology.delays:
            raise NoFormulaError(
                "copies that several scheduled faults or a fresh start touch, or one of them together with delays"
            )
        (fault,) = faults
        since = t - _begin(fault.fault)
        ended = since - _lasts(fault.fault)
        if isinstance(fault, Crash):
            return self._after_crash(fault, node, copy, ended)
        downloads = copy.downloads if isinstance(copy, PullAge) else None
        if not isinstance(downloads, Exponential):
            raise NoFormulaError("cuts, except those of exponential downloads from a source")
        return SinceCut(downloads, since, ended), 1.0

    def _since_fresh_start(self, copy: InformationAge, t: float) -> InformationAge:
        """Return the age, a time t after all copies were fresh, of a copy whose stationary age is `copy`."""
        return SinceFresh(copy, max(t, SHORTEST_TIME * min(copy.scales.marks)))

    def _after_crash(self, crash: Crash, node: int, copy: InformationAge, ended: float) -> tuple[InformationAge, float]:
        """Return the age of a node's copy after a crash on schedule, and the chance that there is one.

        `copy` is its stationary age, and `ended` is how long ago the crash was over, below 0 if it is not yet. Raise
        NoFormulaError where there is no formula.
        """
        replicas = self._graph.origins(node) - set(self._graph.sources)
        if set(crash.nodes) & set(self._graph.sources):
            raise NoFormulaError("sources that crash on a schedule")
        if not replicas <= set(crash.nodes) and replicas & set(crash.nodes) != {node}:
            raise NoFormulaError("copies that come from replicas which crash on a schedule")
        if not crash.empties:
            raise NoFormulaError("copies that are kept through a crash on a schedule")
        if ended <= 0:
            return copy, 0.0
        if copy.latest is not copy:
            raise NoFormulaError("copies after a crash on a schedule, if only bounds of their ages are known")
        if replicas <= set(crash.nodes):
            age = SinceEmpty(copy, ended)
            return age, age.present
        if not (isinstance(copy, Sum) and isinstance(copy.own, PullAge)):
            raise NoFormulaError("a replica that crashes on a schedule, except one that only downloads")
        age = SinceEmpty(copy.own, ended)
        return Sum(age, copy.upstream), age.present

    def _concerns(self, fault: Crash | LinkFault, node: int) -> bool:
        """Whether a fault strikes this node, or any node from which its data may come."""
        origins = self._graph.origins(node)
        if isinstance(fault, Crash):
            return bool(origins & set(fault.nodes))
        side = fault.side
        pairs = ((i, j) for i in origins for asker in self._graph.getters_of(i) for j in asker.candidates.tolist())
        return any(on_opposite_sides(int(side[i]), int(side[j])) for i, j in pairs)


def _begin(fault: Fault) -> float:
    """Return the time at which a scheduled fault begins, from the start of a replication."""
    assert fault.at is not None
    return fault.at


def _lasts(fault: Fault) -> float:
    """Return how long a scheduled fault lasts; infinity if it does not end."""
    return float("inf") if fault.lasts is None else fault.lasts
