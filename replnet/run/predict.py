"""Predictions of a network as a table, by the formulas that apply to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from replnet.deadline import within
from replnet.measure import Row
from replnet.network import Given, Network, network_of
from replnet.predictions import PullGraph, Tell, formulas
from replnet.run.result import Predicted, provenance
from replnet.run.settings import require_by
from replnet.text import FieldError, short_repr, without_units

if TYPE_CHECKING:
    from replnet.measure import Metric

MetricFunction: TypeAlias = Callable[[float], float] | Callable[[Any, Any], float]
"""A function of the time since the first missed update, or a formula that is marked @staleness_metric."""
Measure: TypeAlias = str | MetricFunction | Iterable[str | MetricFunction]
"""The metrics besides freshness: names, functions of the program, or one of either."""


def predict(
    network: Given,
    measure: Measure = (),
    by: str | None = None,
    *,
    budget: float | str | None = None,
    tell: Tell | None = None,
) -> Predicted:
    """Return what the formulas predict for a network, or a shipped one by its name, group by group.

    `measure` names metrics besides freshness (metrics.py), or has functions for them, as in `emulate`. With
    `by="source"` groups that can hold copies of several sources have a row for each. Past a `budget` in seconds, or a
    text such as 10m, rows that are not worked out yet say so, and the result is `.incomplete`. `tell` is called with
    words about what is being worked out.

    >>> rn.predict("cascade").table[["group", "metric", "predicted", "source"]]
         group     metric  predicted      source
    0  level 1  freshness     0.5000   P2P eq. 8
    1  level 2  freshness     0.2500  P2P eq. 28
    2  level 3  freshness     0.1250  P2P eq. 28
    3  level 4  freshness     0.0625  P2P eq. 28
    >>> round(rn.predict("cascade", measure="lag").about("lag", "level 1")[0].predicted, 4)
    0.5
    """
    require_by(by)
    with within(budget):
        network = network_of(network)
        predictions = formulas(network.topology, metrics_of(network, measure), by == "source", tell)
    rows = tuple(Row.of(key, prediction) for key, prediction in predictions.items())
    data = network.data()
    return Predicted(data, rows, provenance(data))


def metrics_of(network: Network, measure: Measure) -> tuple[Metric, ...]:
    """Return the metrics that `measure` asks for, each once, without those that every run measures.

    A range in a name stands for a metric per point. Times in names may have units if the network has one. A function of
    the program is known by its name from then on. What is neither, or a wrong name, or one that two functions have,
    raises FieldError.
    """
    requested = [measure] if isinstance(measure, str) or callable(measure) else measure
    if not isinstance(requested, Iterable):
        raise FieldError("measure", f"{short_repr(measure)} is no metric", "a name, a function, or a list of these")
    requested = list(requested)
    if not requested:
        return ()  # without loading the metrics, which few runs need
    from replnet.measure import metric_of_function, metrics

    names, functions = list[str](), dict[str, Any]()
    for metric in requested:
        if callable(metric):
            name = metric_of_function(metric).name
            if functions.setdefault(name, metric) != metric:
                raise FieldError("measure", f"two functions are called {name}", "a name of its own for each")
            names.append(name)
        elif isinstance(metric, str):
            try:
                names.append(without_units(metric, network.unit))
            except FieldError as error:
                right = error.right.replace("beside it", "in the network")
                raise FieldError("measure", error.wrong, right) from None
        else:
            raise FieldError("measure", f"{short_repr(metric)} is no metric", "a name, such as lag, or a function")
    return metrics(names)


def rows_by_source(network: Network) -> list[str]:
    """Return the names of the rows of a table split by source, groups and `GROUP of SOURCE`.

    Only groups that can hold copies of several sources have the latter.
    """
    return list(PullGraph(network.topology).rows)
