"""Metrics of staleness beyond fresh or not, by name: what is measured for each, and what is predicted beside it.

    name                 mean over time (of clients: over answers) of                    prediction
    staleness            1 while an update is missed                                     Staleness eq. 36
    staleness_age        the time since the first missed update, 0 while fresh           Sync Def. 2, eq. 42 with w = x
    change_age           the time since the last update, 0 while fresh                   Sync Def. 2, read that way
    information_age      the age of the copy's data, fresh or not                        E[X]
    missing_updates      how many updates are missed                                     eq. 54
    lag                  the time since the first missed update, over stale time only    Thm 5
    currency(t)          1 while fresh or stale by less than t                           eq. 41
    source_penalty(w)    w(time since the first missed update), 0 while fresh            eq. 42
    update_penalty(w)    the sum of w(age) over all missed updates                       eq. 50

Where copies are of several sources it is a mean over these as well, as freshness is.
They are measured where they are asked for. An interval needs more than that the mean
exists: what a pull interval D of any process behind a copy adds up to, w2(D) or, of
all missed updates, w3(D), must have a variance,

    E[w2(D)^2] < inf,  that is E[w2(A) w(A)] < inf  for the age A of D                   (1)
    E[w3(D)^2] < inf,  that is E[w3(A) w2(A)] < inf                                      (2)

which for w = 1 are E[D^2] and E[D^4]. That is cautious: a copy that has fast and slow ways
to its source may well do with less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from replnet.ages import penalties
from replnet.ages.half_line import exists, half_line
from replnet.ages.information_age import InformationAge, direct
from replnet.ages.prediction import Basis, Prediction, mean
from replnet.ages.weights import AGE, ONE, Weight, threshold, weight
from replnet.laws.law import Law
from replnet.measure.row import METRICS, ON_REQUEST
from replnet.measure.staleness import About, Question
from replnet.text.errors import FieldError, shown, suggestion
from replnet.text.grammar import argument, number

Predict = Callable[[InformationAge, Law], Prediction]


@final
@dataclass(frozen=True)
class Metric:
    """`name` is the same however it was spelled; `basis` is that of the formula for a copy whose age is known;
    `whole` is predicted for what the mean is taken over, if not all.
    """

    name: str
    question: Question
    weight: Weight
    basis: Basis
    predict: Predict
    whole: Predict | None = None

    def doubt(self, laws: Iterable[Law]) -> str:
        """Why its interval could not be trusted where these laws of intervals are behind a copy, by (1) and (2)."""
        order = 2 if self.question.about in ("every", "count") else 1
        low, high = self.weight.orders[order - 1 : order + 1]
        for law in dict.fromkeys(laws):
            if not exists(half_line(direct(law)), lambda x: np.asarray(low(x)) * np.asarray(high(x)), 0):
                return f"no interval: infinite variance of {self.name} under {law}"
        return ""

    def formula(self, parts: dict[tuple[InformationAge, Law], float]) -> Prediction:
        """The mean over copies, or answers, of these ages, so many of each."""
        found = _mean(self.predict, parts)
        if self.whole is None or not found.known:
            return found
        whole = _mean(self.whole, parts)
        if whole.value == 0:
            return Prediction(math.nan, note="no formula: it is never stale")
        value = found.value / whole.value
        return replace(found, value=value, accuracy=(found.accuracy + value * whole.accuracy) / whole.value)


def _mean(predict: Predict, parts: dict[tuple[InformationAge, Law], float]) -> Prediction:
    said: dict[Prediction, float] = {}
    for (copy, updates), share in parts.items():
        prediction = predict(copy, updates)
        said[prediction] = said.get(prediction, 0) + share
    for prediction in said:
        if math.isinf(prediction.value):
            return Prediction(math.nan, prediction.kind, prediction.source, note=prediction.assumes.split("; ")[-1])
    return mean(said)


def _plain(name: str, about: About, by: Weight, basis: Basis, predict: Predict, whole: Predict | None = None) -> Metric:
    return Metric(
        name,
        Question(about, by, by.integral, "stale" if whole else "time", by.limit if about == "first" else math.inf),
        by,
        basis,
        predict,
        whole,
    )


PLAIN = {
    one.name: one
    for one in (
        _plain("staleness", "first", ONE, penalties.STALENESS, penalties.staleness),
        _plain("staleness_age", "first", AGE, penalties.FIRST_MISSED, penalties.since_first_missed),
        _plain("change_age", "last", AGE, penalties.LAST_CHANGE, penalties.since_last_change),
        _plain("information_age", "data", AGE, penalties.DATA, lambda copy, _: penalties.data_age(copy)),
        _plain("missing_updates", "count", ONE, penalties.MISSING, penalties.missing_updates),
        _plain("lag", "first", AGE, penalties.FIRST_MISSED, penalties.since_first_missed, penalties.staleness),
    )
}
CALLS = {
    "currency": "a lag in brackets, such as currency(0.4)",
    "source_penalty": "a weight in brackets, such as source_penalty(x)",
    "update_penalty": "a weight in brackets, such as update_penalty(1/(1+x))",
}
assert {*PLAIN, *CALLS} == ON_REQUEST.keys()


def is_beyond(text: object) -> bool:
    """Whether this names one of these metrics, however badly."""
    return isinstance(text, str) and _name(text) in ON_REQUEST


def _name(text: str) -> str:
    return text.partition("(")[0].strip()


def metric(text: str) -> Metric:
    """The metric of this name."""
    name = _name(text)
    if name not in ON_REQUEST:
        raise FieldError("measure", f"{shown(text)} is not a metric", suggestion(text, ON_REQUEST))
    if name in PLAIN:
        if "(" in text:
            raise FieldError("measure", f"{shown(text)} takes nothing in brackets", name)
        return PLAIN[name]
    inside = argument(text, "measure", CALLS[name])
    return _currency(text, inside) if name == "currency" else _penalty(name, text, inside)


def _currency(text: str, inside: str) -> Metric:
    try:
        lag = float(inside)
    except ValueError:
        lag = math.nan
    if not 0 <= lag < math.inf:  # NaN is not either
        raise FieldError("measure", f"{shown(text)} has no lag of 0 or more", CALLS["currency"])
    late = threshold(lag)
    question = Question("first", late, late.integral, "rest", late.limit)
    name, basis = f"currency({number(lag)})", penalties.CURRENCY
    return Metric(name, question, late, basis, lambda copy, law: penalties.currency(copy, law, lag))


def _penalty(name: str, text: str, inside: str) -> Metric:
    try:
        by = weight(inside)
    except FieldError as error:
        raise FieldError("measure", f"{shown(text)}: {error.wrong}", error.right) from None
    if name == "source_penalty":
        question, basis, predict = (
            Question("first", by, by.integral, "time", by.limit),
            penalties.SOURCE,
            penalties.source_penalty,
        )
    else:
        question, basis, predict = Question("every", by, by.integral), penalties.UPDATE, penalties.update_penalty
    return Metric(f"{name}({by})", question, by, basis, lambda copy, law: predict(copy, law, by))


def metrics(names: Iterable[str]) -> tuple[Metric, ...]:
    """Those of these names that are measured only where they are asked for."""
    asked = (name for name in ([names] if isinstance(names, str) else names) if name not in METRICS)
    return tuple({one.name: one for one in map(metric, asked)}.values())
