"""Metrics that a program gives as functions of its own, in the place of names.

A function of one argument is a cost w of the time since the first update that a copy misses: the metric is the mean of
w over time, or over answers, 0 while fresh, and is predicted as any weight is (Staleness eq. 42). A function that is
marked @staleness_metric is the formula of a metric, and the mark says what is measured.

Either is known by its name from the first time that it is given, in this process; one of the same name that is given
later takes its place. Other processes get the functions along with their work.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from replnet.ages import Weight, penalties, weight_of
from replnet.measure.metrics import MARK, PLAIN_METRICS, Metric, require_metric_name, staleness_metric
from replnet.measure.row import ON_REQUEST, SHARES, base_name, metrics_on_request
from replnet.measure.stretches import Question
from replnet.text import FieldError

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""The functions that were given as metrics, by name."""
RIGHT = "a function made by def, of the time since the first missed update"
_definitions = itertools.count(1)  # as formulas are remembered by the text of a weight, that of each has its own


def metric_of_function(function: Callable[..., Any]) -> Metric:
    """Return the metric of a function, which is known by the function's name from then on.

    Raises FieldError if it has no name that a metric can have, does not take one argument, or is no cost at some age.
    """
    if mark := getattr(function, MARK, None):
        name, *about, share = mark
        if name not in PLAIN_METRICS:
            staleness_metric(name, *about, share=share)(function)
        FUNCTIONS[name] = function
        return PLAIN_METRICS[name]
    name = getattr(function, "__name__", "")
    if FUNCTIONS.get(name) is function:
        return PLAIN_METRICS[name]
    _check(name, function)
    by = weight_of(function, name, f"{name}, definition {next(_definitions)}")
    FUNCTIONS[name], PLAIN_METRICS[name] = function, _metric(name, by)
    ON_REQUEST[name] = f"{name}(time since the first missed update), 0 while fresh"
    (SHARES.add if by.limit <= 1 and _is_share(by) else SHARES.discard)(name)
    return PLAIN_METRICS[name]


def functions_among(names: Iterable[str]) -> tuple[Callable[..., Any], ...]:
    """Return the functions whose metrics are among these names, which other processes have to be sent."""
    return tuple(FUNCTIONS[base] for base in dict.fromkeys(map(base_name, names)) if base in FUNCTIONS)


def _check(name: str, function: Callable[..., Any]) -> None:
    """Raise FieldError unless `function` has a name that a metric can have, and takes one argument, an age."""
    if not name or name == "<lambda>":
        wrong = "a lambda" if name else type(function).__name__
        raise FieldError("measure", f"{wrong} has no name for the table", RIGHT)
    metrics_on_request()  # among which are those of other packages
    if name not in FUNCTIONS:
        require_metric_name("measure", name)
    try:
        inspect.signature(function).bind(1.0)
    except TypeError as error:
        raise FieldError("measure", f"{name} takes other arguments: {error}", RIGHT) from None
    except ValueError:
        return  # a function of C, which does not say what it takes


def _metric(name: str, by: Weight) -> Metric:
    """Return the metric called `name`: the mean of the weight `by` of the time since the first missed update."""
    question = Question("first", by, by.integral, "time", by.limit)
    return Metric(name, question, by, penalties.SOURCE, lambda copy, law: penalties.source_penalty(copy, law, by))


def _is_share(by: Weight) -> bool:
    """Whether a weight is at most 1 at ages from 1e-18 to 1e18."""
    return bool((by(np.append(0.0, 2.0 ** np.arange(-60, 61))) <= 1).all())
