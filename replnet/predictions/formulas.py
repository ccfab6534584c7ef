"""From a network to formulas: for every group and metric what is predicted, or why nothing is.

How old the copies of each source are says source_ages; what bandwidth, faults and a fresh start make of that is
added here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from replnet.ages.information_age import InformationAge, Never
from replnet.ages.prediction import NoFormulaError, Prediction, mean, unknown
from replnet.ages.transient import SINCE
from replnet.deadline import OutOfTime
from replnet.laws.law import Law
from replnet.network.topology import Topology
from replnet.predictions.capacity import OVERFLOWS, Capacity
from replnet.predictions.disturbance import Disturbance
from replnet.predictions.presence import presence
from replnet.predictions.pull_graph import PullGraph
from replnet.predictions.source_ages import SourceAges
from replnet.text.errors import FieldError

if TYPE_CHECKING:
    from replnet.measure.metrics import Metric

UNSTEADY = "the mean since a begin with fresh copies; at a time there is one, as of 'freshness at 1'"
MOST_SOURCES = 1_000  # that are worked out one by one, in some seconds


def formulas(
    topology: Topology, asked: Iterable[Metric] = (), by_source: bool = False
) -> dict[tuple[str, str], Prediction]:
    """By (group, metric), in the order of the groups of a network, and then what else is asked for.

    With `by_source` the parts of groups that can hear of several sources follow the groups. Past a deadline there is
    nothing of those groups that were not worked out by then.
    """
    graph, asked = PullGraph(topology), tuple(asked)
    many = topology.many
    of_aggregate: dict[tuple[str, str], Prediction] = {}
    if many is not None and not (graph.strict or topology.delay or topology.fresh_start):
        from replnet.predictions.many_sources import expected

        of_aggregate = expected(many, asked)
        if topology.clients.any():  # of answers there is nothing of this kind
            none = (("clients", "any_fresh"), ("clients", "all_fresh"))
            of_aggregate = {key: formula for key, formula in of_aggregate.items() if key not in none}
    done = {group for group, _ in of_aggregate}
    rest = [group for group in topology.groups if group not in done]
    ages: list[SourceAges] = []
    if rest:
        try:
            if len(graph.sources) > MOST_SOURCES:
                raise NoFormulaError(f"more than {MOST_SOURCES:,} sources with delays, limits, faults or queries")
            graph.updates, graph.kinds_of_askers  # noqa: B018  which need every law at its rate
        except (FieldError, NoFormulaError) as error:
            return of_aggregate | dict.fromkeys(((group, "freshness") for group in rest), unknown(error))
        ages = [SourceAges(graph, row) for row in range(len(graph.sources))]
    rows = {name: (g, -1) for g, name in enumerate(topology.groups)} if not by_source else graph.rows
    rows = {name: one for name, one in rows.items() if name not in done} if ages else {}
    found = {(name, "freshness"): _of_group(graph, ages, *one) for name, one in rows.items()}
    if topology.fresh_start:
        found = dict.fromkeys(found, unknown(UNSTEADY))
    disturbed = Disturbance(graph)
    calm = [SourceAges(disturbed.calm, row) for row in range(len(ages))] if disturbed else ages
    found |= presence(graph) if graph.strict else {}
    beyond = {
        (name, metric.name): _beyond(graph, ages if metric.question.at is None else calm, *one, metric, disturbed)
        for name, one in rows.items()
        for metric in asked
        if np.any(graph.reached, axis=0)[topology.group == one[0]].any()
        and (metric.question.of_answers or not graph.asks(one[0]))
    }
    if rest and graph.limits is not None and any(asker.law is None for asker in graph.kinds_of_askers):
        found = dict.fromkeys(found, unknown("lines of nodes that download on a schedule, or in turns"))
    elif graph.limits is not None:
        capacity = Capacity(graph)
        if capacity.crowded or capacity.turned_away:
            why = capacity.crowded or OVERFLOWS
            beyond = dict.fromkeys(beyond, unknown(why))
        found = limited(found, capacity)
    return of_aggregate | found | beyond


def limited(found: dict[tuple[str, str], Prediction], capacity: Capacity) -> dict[tuple[str, str], Prediction]:
    """What bandwidth makes of formulas that know nothing of it, and its own."""
    own, crowded, shy = capacity.formulas(), capacity.crowded, capacity.turned_away
    for (group, metric), formula in found.items():
        if crowded:
            found[group, metric] = unknown(crowded)
        elif metric == "answered" and own[group, "rejected"].value != 0:
            found[group, metric] = unknown("queries that are turned away")
        elif formula.known and shy >= 1:
            found[group, metric] = unknown(OVERFLOWS)
        elif formula.known and shy:
            found[group, metric] = replace(formula, kind="approximation", accuracy=formula.accuracy + shy)
    return found | own


def _of_group(graph: PullGraph, ages: list[SourceAges], g: int, source: int) -> Prediction:
    """The mean over the copies of a group, or the answers to its clients, and over sources, or of one (-1: of all)."""
    parts: dict[Prediction, float] = {}
    try:
        for i, row, count in graph.held(graph.counted, g, source):
            prediction = ages[row].freshness(i)
            parts[prediction] = parts.get(prediction, 0) + count * ages[row].share(i)
    except (NoFormulaError, OutOfTime) as why:
        return unknown(why)
    return mean(parts)


def _beyond(
    graph: PullGraph, ages: list[SourceAges], g: int, source: int, metric: Metric, disturbed: Disturbance
) -> Prediction:
    """The same of another metric, where there is a copy that could be behind."""
    parts: dict[tuple[InformationAge, Law], float] = {}
    at, whole, present = metric.question.at, 0.0, 0.0
    try:
        if at is None and graph.topology.fresh_start:
            raise NoFormulaError(UNSTEADY)
        for i, row, count in graph.held(graph.reached, g, source):
            own, held = ages[row], ages[row].held(i)
            for age in held:
                share, there = count * own.share(i) / len(held), 1.0
                if at is not None and disturbed:
                    age, there = disturbed.age(i, age, at)
                whole, present = whole + share, present + share * there
                if there and not isinstance(age, Never):
                    parts[age, own.updates] = parts.get((age, own.updates), 0.0) + share * there
        if metric.question.over == "copies":
            if disturbed.calm.faults.crashes:
                raise NoFormulaError("availability at a time, of nodes that crash at random")
            return Prediction.of(present / whole, SINCE)
        if not parts:
            raise NoFormulaError("there are no copies")
        return _bounded(metric, parts)
    except (NoFormulaError, OutOfTime) as why:
        return unknown(why)


def _bounded(metric: Metric, parts: dict[tuple[InformationAge, Law], float]) -> Prediction:
    """The mean of a metric, as far off as it would be were all ages the latest that they may be."""
    found = metric.formula(parts)
    latest: dict[tuple[InformationAge, Law], float] = {}
    for (age, updates), share in parts.items():
        latest[age.latest, updates] = latest.get((age.latest, updates), 0.0) + share
    if latest.keys() == parts.keys() or not found.known:
        return found
    off = abs(metric.formula(latest).value - found.value)
    return replace(found, accuracy=found.accuracy + off) if np.isfinite(off) else unknown("no bound is known")
