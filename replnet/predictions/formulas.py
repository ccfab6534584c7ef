"""From a network to formulas: the prediction for every group and metric, or the reason why there is none.

Module source_ages says how old the copies of each source are; the effects of bandwidth, faults and a fresh start are
added here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from replnet.ages import CHECKED, SINCE, WITHOUT_RESULT, InformationAge, NoFormulaError, Prediction, mean, unknown
from replnet.deadline import OutOfTime, require_time
from replnet.laws import Floats, Law
from replnet.measure import ROUNDING, drop_if_rough, share_note
from replnet.network import Topology
from replnet.predictions.availability import availability
from replnet.predictions.capacity import OVERFLOWS, Capacity
from replnet.predictions.over_time import Transients
from replnet.predictions.pull_graph import PullGraph
from replnet.predictions.source_ages import SourceAges

if TYPE_CHECKING:
    from replnet.measure import Metric

Tell = Callable[[str], object]
Parts = Mapping[tuple[InformationAge, Law], float]
"""Ages of copies, each with the law of the updates that they may miss, and the weight of such copies."""

UNSTEADY = "the mean since a begin with fresh copies; at a time there is one, as of 'freshness at 1'"
MOST_SOURCES = 1_000  # whose ages are worked out one by one, in some seconds


@CHECKED
def formulas(
    topology: Topology, asked: Iterable[Metric] = (), by_source: bool = False, tell: Tell | None = None
) -> dict[tuple[str, str], Prediction]:
    """Return predictions by (group, metric): freshness of all groups in their order, then the metrics in `asked`.

    With `by_source`, groups that can hear of several sources have a row for each of these too. The prediction of what
    is not known, is known too roughly to be compared with a measurement, or was not worked out before a deadline has no
    value, but a note that says why. `tell`, if given, is called with a sentence on what is being worked out, which may
    take a minute.
    """
    predictions = _formulas(topology, tuple(asked), by_source, tell or (lambda words: None))
    return {(name, metric): drop_if_rough(metric, prediction) for (name, metric), prediction in predictions.items()}


def _formulas(
    topology: Topology, asked: tuple[Metric, ...], by_source: bool, tell: Tell
) -> dict[tuple[str, str], Prediction]:
    """Return all predictions by (group, metric), values that are known roughly included.

    `asked` are the metrics beside freshness; with `by_source` there is a row for each source that a group can hear of;
    `tell` is called with a sentence on what is being worked out.
    """
    graph = PullGraph(topology)
    aggregate = topology.aggregate
    of_aggregate: dict[tuple[str, str], Prediction] = {}
    if aggregate is not None and not _hindrance(graph):
        from replnet.predictions.classes_of_sources import predict_aggregate

        tell(f"predicting the copies of {len(graph.sources):,} sources")
        of_aggregate = predict_aggregate(aggregate, asked)
        if topology.clients.any():  # there are no predictions of these for answers
            none = (("clients", "any_fresh"), ("clients", "all_fresh"))
            of_aggregate = {key: formula for key, formula in of_aggregate.items() if key not in none}
    done_groups = {group for group, _ in of_aggregate}
    other_groups = [group for group in topology.groups if group not in done_groups]
    ages: list[SourceAges] = []
    if other_groups:
        try:
            if len(graph.sources) > MOST_SOURCES:
                raise NoFormulaError(f"more than {MOST_SOURCES:,} sources with delays, limits, faults or queries")
            graph.updates, graph.kinds_of_askers  # noqa: B018  which need every law at its rate
        except WITHOUT_RESULT as error:
            return of_aggregate | dict.fromkeys(((group, "freshness") for group in other_groups), unknown(error))
        ages = [SourceAges(graph, row) for row in range(len(graph.sources))]
    rows = {name: (g, -1) for g, name in enumerate(topology.groups)} if not by_source else graph.rows
    rows = (
        {name: group_and_source for name, group_and_source in rows.items() if name not in done_groups} if ages else {}
    )
    result: dict[tuple[str, str], Prediction] = {}
    for name, group_and_source in rows.items():
        tell(f"predicting freshness of {name}")
        steady = not topology.fresh_start
        result[name, "freshness"] = _freshness_of_group(graph, ages, *group_and_source) if steady else unknown(UNSTEADY)
    transients = Transients(graph)
    stationary = [SourceAges(transients.stationary, row) for row in range(len(ages))] if transients else ages
    result |= availability(graph) if graph.pulls_may_fail else {}
    of_metrics: dict[tuple[str, str], Prediction] = {}
    for name, group_and_source in rows.items():
        for metric in asked:
            if metric.question.of_answers or not graph.has_clients(group_and_source[0]):
                tell(f"predicting {metric.name} of {name}")
                ages_used = ages if metric.question.at is None else stationary
                of_metrics[name, metric.name] = _metric_of_group(
                    graph, ages_used, *group_and_source, metric, transients
                )
    if other_groups and graph.limits is not None and any(asker.law is None for asker in graph.kinds_of_askers):
        result = dict.fromkeys(result, unknown("lines of nodes that download on a schedule, or in turns"))
    elif graph.limits is not None:
        capacity = Capacity(graph)
        if capacity.overload or capacity.rejected_by_chance:
            why = capacity.overload or OVERFLOWS
            of_metrics = dict.fromkeys(of_metrics, unknown(why))
        result = with_bandwidth(result, capacity)
    return of_aggregate | result | of_metrics


def _hindrance(graph: PullGraph) -> str:
    """Return why the formulas for many sources at once do not hold for a network, in words; empty if they do."""
    if graph.pulls_may_fail:
        return "downloads that may fail"
    if graph.topology.delay:
        return "downloads that take time"
    return UNSTEADY if graph.topology.fresh_start else ""


def source_freshness(topology: Topology) -> tuple[Floats, Prediction]:
    """Return the freshness of the copy of each source of an aggregate in one replica, and the prediction of their mean.

    Sources count in the mean by their weights. Where there is no formula the first are NaN, and the prediction has no
    value but a note that says why.
    """
    from replnet.predictions.classes_of_sources import freshness_of_sources

    assert topology.aggregate is not None
    if why := _hindrance(PullGraph(topology)):
        return np.full(topology.aggregate.size, np.nan), unknown(NoFormulaError(why))
    freshness, mean = freshness_of_sources(topology.aggregate)
    return freshness, drop_if_rough("freshness", mean)


def with_bandwidth(
    predictions: dict[tuple[str, str], Prediction], capacity: Capacity
) -> dict[tuple[str, str], Prediction]:
    """Return these predictions by (group, metric), changed where limited bandwidth makes them wrong or less accurate.

    Values that are not known any more give way to a note that says why; if some messages are turned away by chance, the
    others become approximations. The predictions of bandwidth itself, such as the service rate, are added.
    `predictions` stays as it is.
    """
    of_bandwidth, overload, rejected_share = capacity.formulas(), capacity.overload, capacity.rejected_by_chance
    result = dict(predictions)
    for (group, metric), formula in predictions.items():
        if overload:
            result[group, metric] = unknown(overload)
        elif metric == "answered" and of_bandwidth[group, "rejected"].value != 0:
            result[group, metric] = unknown("queries that are turned away")
        elif formula.known and rejected_share >= 1:
            result[group, metric] = unknown(OVERFLOWS)
        elif formula.known and rejected_share:
            result[group, metric] = replace(formula, kind="approximation", accuracy=formula.accuracy + rejected_share)
    return result | of_bandwidth


def _freshness_of_group(graph: PullGraph, ages: list[SourceAges], group: int, source: int) -> Prediction:
    """Predict the mean freshness of the copies of a group, or of the answers to its clients; `group` is its number.

    `ages` are those of the copies of each source; the mean is over one `source`, by its index, or over all (-1).
    """
    parts: dict[Prediction, float] = {}
    try:
        for node, row, count in graph.copies_of_group(graph.counted_nodes, group, source):
            require_time()
            prediction = ages[row].freshness(node)
            parts[prediction] = parts.get(prediction, 0) + count * ages[row].share(node)
    except (*WITHOUT_RESULT, OutOfTime) as why:
        return unknown(why)
    return mean(parts)


def _metric_of_group(
    graph: PullGraph, ages: list[SourceAges], group: int, source: int, metric: Metric, transients: Transients
) -> Prediction:
    """Predict the mean of another metric than freshness over the copies of a group, or the answers to its clients.

    `ages` are those of the copies of each source; `group` is the group's number, `source` the index of a source or -1
    for all, and `transients` the effect of a fresh start and scheduled faults, for metrics at a time.
    """
    parts: dict[tuple[InformationAge, Law], float] = {}
    at, whole, present = metric.question.at, 0.0, 0.0
    try:
        if at is None and graph.topology.fresh_start:
            raise NoFormulaError(UNSTEADY)
        for node, row, count in graph.copies_of_group(graph.counted_nodes, group, source):
            require_time()
            source_ages, copies = ages[row], ages[row].ages_of(node)
            for age in copies:
                share, present_share = count * source_ages.share(node) / len(copies), 1.0
                if at is not None and transients:
                    age, present_share = transients.age(node, age, at)
                whole, present = whole + share, present + share * present_share
                if present_share:
                    parts[age, source_ages.updates] = parts.get((age, source_ages.updates), 0.0) + share * present_share
        if metric.question.over == "copies":
            if transients.stationary.faults.crashes:
                raise NoFormulaError("availability at a time, of nodes that crash at random")
            return Prediction.of(present / whole, SINCE)
        if not parts:
            raise NoFormulaError("there are no copies")
        return _add_note_on_share(_mean_with_bounds(metric, parts), metric, parts, graph.has_clients(group))
    except (*WITHOUT_RESULT, OutOfTime) as why:
        return unknown(why)


def _add_note_on_share(prediction: Prediction, metric: Metric, parts: Parts, asks: bool) -> Prediction:
    """Return the prediction with a note that says over what share of the copies its mean is, if it leaves out some.

    `parts` are the ages and weights that it is of; `asks` says that they are ages of answers to clients.
    """
    with_copy = _share_with_copy(parts)
    if not (prediction.known and metric.question.over_copies_alone) or with_copy > 1 - ROUNDING:
        return prediction
    return replace(prediction, note=share_note(with_copy, asks))


def _share_with_copy(parts: Parts) -> float:
    """Return the share, 0 to 1, of the copies or answers in `parts`, by weight, that hold data of a source."""
    return sum(share * age.chance_of_copy for (age, _), share in parts.items()) / sum(parts.values())


def _mean_with_bounds(metric: Metric, parts: Parts) -> Prediction:
    """Predict the mean of a metric over `parts`: pairs of an age and the law of its updates, with their weights.

    If ages are bounds, the distance to the mean of the latest possible ages is added to its accuracy. It is without a
    value if that distance is infinite, or if the latest age of some copies is.
    """
    prediction = metric.formula(parts)
    latest: dict[tuple[InformationAge, Law], float] = {}
    for (age, updates), share in parts.items():
        latest[age.latest, updates] = latest.get((age.latest, updates), 0.0) + share
    if latest.keys() == parts.keys() or not prediction.known:
        return prediction
    if metric.question.over_copies_alone and _share_with_copy(latest) < _share_with_copy(parts) - ROUNDING:
        return unknown("no bound is known")  # the latest possible age of some copies is infinite: no mean
    off = abs(metric.formula(latest).value - prediction.value)
    return replace(prediction, accuracy=prediction.accuracy + off) if np.isfinite(off) else unknown("no bound is known")
