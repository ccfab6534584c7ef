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
    staleness_quantile(q)  what the time since the first missed update, 0 while fresh, does not exceed with chance q
    age_quantile(q)      and the age of the data: how long until a share q of copies has an update
    older(t)             1 where the copy's data left the source more than t ago         P(X > t)
    fresh_spell          how long a copy stays fresh once it is, by the spell            P2P eq. 19
    stale_spell          and how long it stays stale
    fresh_spell_beyond(t)  1 where it stays fresh for more than t, by the spell          P2P eq. 19
    fresh_residual(t)    1 where it stays so for t more, over fresh time only            P2P eq. 16

A metric `NAME at t` is that of the copies that there are at that time after the begin, over replications; so also
`freshness at t` and, of all copies that there could be, `availability at t`. A range in the place of t stands for its
points: currency(0:2:9), freshness at 0:5:11.

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
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np

from replnet.ages import penalties, spells
from replnet.ages.half_line import exists, half_line
from replnet.ages.information_age import InformationAge, direct
from replnet.ages.prediction import Basis, Prediction, joined, mean
from replnet.ages.weights import AGE, ONE, Weight, threshold, weight
from replnet.laws.law import Law
from replnet.measure.row import AT, METRICS, ON_REQUEST, SHARES, bare, broken_metrics, on_request
from replnet.measure.stretches import About, Question
from replnet.text.errors import FieldError, FieldsError, shown, suggestion
from replnet.text.grammar import argument, number
from replnet.text.ranges import is_range, points_of

Predict = Callable[[InformationAge, Law], Prediction]
ByAge = Callable[[InformationAge, Law], float]

WITH_RANGE = re.compile(r"(.*(?:\(| at ))([^(]*?:[^()]*)(\)?)")  # the last thing in brackets, or the time
FARTHEST, CLOSE = 2.0**30, 1e-9  # quantiles that are looked for, and how precisely
MOST_POINTS = 1_000  # of a range


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
    within: Callable[[float], Predict] | None = None  # of quantiles, the chance to be within an age

    @property
    def lasting(self) -> bool:
        """Whether it is about how long copies stay as they are."""
        return self.question.about in ("still", "turns") or self.question.over == "turns"

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
        if self.question.level is not None:
            return _quantile(self.within, parts, self.question.level)
        found = _mean(self.predict, parts)
        if self.whole is None or not found.known:
            return found
        whole = _mean(self.whole, parts)
        if whole.value == 0:
            never = {"stale": "it is never stale", "fresh": "it is never fresh", "turns": "it never changes"}
            return Prediction(math.nan, note=f"no formula: {never[self.question.over]}")
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


def _quantile(
    within: Callable[[float], Predict] | None, parts: dict[tuple[InformationAge, Law], float], level: float
) -> Prediction:
    """The least age that they are within with this chance."""
    assert within is not None

    def chance(x: float) -> Prediction:
        return _mean(within(x), parts)

    def least(level: float) -> float:
        high, low = min(min(age.scales.marks) for age, _ in parts), 0.0
        while chance(high).value < level:
            low, high = high, 2 * high
            if high > FARTHEST:
                return math.inf
        while high - low > CLOSE * high:
            middle = (low + high) / 2
            low, high = (low, middle) if chance(middle).value >= level else (middle, high)
        return high

    if (fresh := chance(0.0)).value >= level:
        return replace(fresh, value=0.0, accuracy=0.0)
    value = least(level)
    found = chance(value)
    if not math.isfinite(value):
        return Prediction(math.nan, note=f"no formula: an age beyond {FARTHEST:g}")
    accuracy = CLOSE * value
    if found.accuracy:
        low, high = (least(min(max(level + off, 0.0), 1.0)) for off in (-found.accuracy, found.accuracy))
        accuracy = max(value - low, high - value)
    return replace(found, value=value, accuracy=accuracy if found.accuracy else 0.0)


def _plain(name: str, about: About, by: Weight, basis: Basis, predict: Predict, whole: Predict | None = None) -> Metric:
    return Metric(
        name,
        Question(about, by, by.integral, "stale" if whole else "time", by.limit if about == "first" else math.inf),
        by,
        basis,
        predict,
        whole,
    )


def _spell(name: str, question: Question, predict: Predict, whole: Predict) -> Metric:
    return Metric(name, question, ONE, spells.SPELL, predict, whole)


def _still(copy: InformationAge, updates: Law) -> Prediction:
    return spells.still(copy, updates, 0.0)


def _freshness(copy: InformationAge, updates: Law) -> Prediction:
    return copy.freshness(updates)


PLAIN = {
    one.name: one
    for one in (
        _plain("staleness", "first", ONE, penalties.STALENESS, penalties.staleness),
        _plain("staleness_age", "first", AGE, penalties.FIRST_MISSED, penalties.since_first_missed),
        _plain("change_age", "last", AGE, penalties.LAST_CHANGE, penalties.since_last_change),
        _plain("information_age", "data", AGE, penalties.DATA, lambda copy, _: penalties.data_age(copy)),
        _plain("missing_updates", "count", ONE, penalties.MISSING, penalties.missing_updates),
        _plain("lag", "first", AGE, penalties.FIRST_MISSED, penalties.since_first_missed, penalties.staleness),
        _spell("fresh_spell", Question("still", ONE, ONE.integral, "turns", 1.0), _still, spells.turns),
        _spell("stale_spell", Question("first", ONE, ONE.integral, "turns", 1.0), penalties.staleness, spells.turns),
    )
}
CALLS = {
    "currency": "a lag in brackets, such as currency(0.4)",
    "source_penalty": "a weight in brackets, such as source_penalty(x)",
    "update_penalty": "a weight in brackets, such as update_penalty(1/(1+x))",
    "staleness_quantile": "a share in brackets, such as staleness_quantile(0.95)",
    "age_quantile": "a share in brackets, such as age_quantile(0.95)",
    "older": "a time in brackets, such as older(2)",
    "fresh_spell_beyond": "a time in brackets, such as fresh_spell_beyond(0.5)",
    "fresh_residual": "a time in brackets, such as fresh_residual(0.5)",
}
AT_A_TIME = {
    "freshness": Metric(
        "freshness", Question("first", ONE, ONE.integral, "rest", 1.0), ONE, penalties.STALENESS, _freshness
    ),
    "availability": Metric(
        "availability", Question("data", ONE, ONE.integral, "copies", 1.0), ONE, penalties.THERE, penalties.there
    ),
}
"""What has a meaning of its own only at a time; at any it is measured always, or where nodes crash."""
assert {*PLAIN, *CALLS} == ON_REQUEST.keys()


def staleness_metric(
    name: str, unit: str, about: Literal["first", "every", "data"], by: Weight, basis: Basis, *, share: bool = False
) -> Callable[[ByAge], ByAge]:
    """Make a metric of another package known by `name`: what weighs the age of the `first` missed update, the ages of
    `every` one, or that of the `data`, by a weight of ages/weights; a `share` if it is one of time and of answers.

    It marks the formula for a copy of an information age whose source has updates of a law.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise FieldError("metric", f"{shown(name)} is not a name", "small letters, digits and _")
    if name in METRICS or name in ON_REQUEST:
        raise FieldError("metric", f"{name} is known already", "another name")

    def known(formula: ByAge) -> ByAge:
        def predict(copy: InformationAge, updates: Law) -> Prediction:
            found = Prediction.of(formula(copy, updates), joined([copy.basis, basis]))
            return replace(found, assumes=f"{name} is infinite") if math.isinf(found.value) else found

        limit = math.inf if about == "every" else by.limit
        PLAIN[name] = Metric(name, Question(about, by, by.integral, limit=limit), by, basis, predict)
        ON_REQUEST[name] = unit
        SHARES.update([name] if share else [])
        return formula

    return known


def is_beyond(text: object) -> bool:
    """Whether this names one of these metrics, however badly."""
    return isinstance(text, str) and (AT in text or bare(text) in on_request())


def metric(text: str) -> Metric:
    """The metric of this name."""
    text, at, time = text.partition(AT)
    return _at(text, time) if at else _always(text)


def _at(text: str, time: str) -> Metric:
    """A metric of the copies that there are at a time."""
    always, at = AT_A_TIME.get(text.strip()) or _always(text), _time(time)
    if not at >= 0:
        raise FieldError("measure", f"{shown(time)} is not a time", f"{text}{AT}2.5, of 0 or more after the begin")
    if not always.question.of_answers or always.question.ahead or always.question.level is not None:
        raise FieldError("measure", f"{always.name} takes longer than a moment", f"freshness{AT}{number(at)}")
    return replace(always, name=f"{always.name}{AT}{number(at)}", question=replace(always.question, at=at))


def _time(text: str) -> float:
    """The number, or NaN."""
    try:
        found = float(text)
    except ValueError:
        return math.nan
    return found if math.isfinite(found) else math.nan


def _always(text: str) -> Metric:
    name = bare(text)
    if name not in on_request():
        if name in broken_metrics():
            raise FieldError("measure", broken_metrics()[name], "mend or uninstall its package")
        raise FieldError("measure", f"{shown(text)} is not a metric", suggestion(text, ON_REQUEST))
    if name in PLAIN:
        if "(" in text:
            raise FieldError("measure", f"{shown(text)} takes nothing in brackets", name)
        return PLAIN[name]
    inside = argument(text, "measure", CALLS[name])
    if name.endswith("_penalty"):
        return _penalty(name, text, inside)
    x = _time(inside)
    if not x >= 0:
        what = CALLS[name].split()[1]
        raise FieldError("measure", f"{shown(text)} has no {what} of 0 or more", CALLS[name])
    return _beyond(name, f"{name}({number(x)})", x)


def _beyond(name: str, full: str, x: float) -> Metric:
    """What asks for more, or less, than a time."""
    late = threshold(x)
    if name in ("staleness_quantile", "age_quantile"):
        return _of_level(name, full, x)
    if name == "currency":
        question = Question("first", late, late.integral, "rest", late.limit)
        return Metric(full, question, late, penalties.CURRENCY, lambda copy, law: penalties.currency(copy, law, x))
    if name == "older":
        question = Question("data", late, late.integral, limit=late.limit)
        return Metric(full, question, late, penalties.DATA, lambda copy, _: penalties.older(copy, x))
    if name == "fresh_residual":
        question = Question("still", ONE, ONE.integral, "fresh", 1.0, ahead=x)
        return _spell(full, question, lambda copy, law: spells.still(copy, law, x), _still)
    question = Question("turns", ONE, ONE.integral, "turns", 1.0, ahead=x)
    return _spell(full, question, lambda copy, law: spells.turns(copy, law, x), spells.turns)


def _of_level(name: str, full: str, level: float) -> Metric:
    if not 0 < level < 1:
        raise FieldError("measure", f"{full} is of no share", "a share above 0 and below 1, such as 0.95")
    about, basis = ("first", penalties.CURRENCY) if name == "staleness_quantile" else ("data", penalties.DATA)
    question = Question(about, AGE, AGE.integral, level=level)  # type: ignore[arg-type]

    def within(x: float) -> Predict:
        if name == "staleness_quantile":
            return lambda copy, law: penalties.currency(copy, law, x)
        return lambda copy, _: penalties.younger(copy, x)

    return Metric(full, question, AGE, basis, _freshness, within=within)


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
    return tuple({one.name: one for text in asked for one in map(metric, each(text))}.values())


def each(text: str) -> Iterator[str]:
    """With every point of a range in its place."""
    found = WITH_RANGE.fullmatch(text)
    if found is None or not is_range(found[2]):
        yield text
        return
    try:
        points = points_of(found[2])
    except FieldsError as error:
        (_, wrong, right), *_ = error.faults
        raise FieldError("measure", f"{shown(text)}: {wrong}", right) from None
    if len(points) > MOST_POINTS:
        raise FieldError("measure", f"{shown(text)} has {len(points):,} points", f"{MOST_POINTS:,} at most")
    yield from (f"{found[1]}{number(point)}{found[3]}" for point in points)
