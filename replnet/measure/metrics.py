"""Metrics of staleness beyond fresh or not, by name: the definition of each, and the formula that predicts it.

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
    stale_spell_beyond(t)  1 where it stays stale for more than t, by the spell          Staleness Thm 5
    fresh_residual(t)    1 where it stays so for t more, over fresh time only            P2P eq. 16

A metric `NAME at t` is the mean over the copies held at that time after the begin, over replications; so is
`freshness at t`, and `availability at t` the share of all possible copies that are held then. A range in the place of
t stands for its points: currency(0:2:9), freshness at 0:5:11.

If a group has copies of several sources, a metric is the mean over these as well, as freshness is. An answer that
brings no copy of a source that its client can hear of counts as one with an infinitely old copy: it is stale, older
than any time and not current within any, so staleness is 1 - freshness, and currency(0) is freshness. A quantile is
over all answers too, and infinite where fewer bring a copy. Means that would be infinite by that (ages, lags, missed
updates and weights without a limit) are over the copies that arrived, and the row says what share of the answers that
is. The same holds for replicas that can hear of no source.

They are measured on request. For an interval it is not enough that the mean exists: what
one pull interval D, of any process on which a copy depends, adds to the cost, w2(D), or
for all missed updates w3(D), must have a variance,

    E[w2(D)^2] < inf,  that is E[w2(A) w(A)] < inf  for the age A of D                   (1)
    E[w3(D)^2] < inf,  that is E[w3(A) w2(A)] < inf                                      (2)

which for w = 1 are E[D^2] and E[D^4]. For answers to a client that asks several replicas, A is the smallest of as many
ages as have to be large at once, those of copies that do not depend on the same process (run/caveats.py). That is
cautious: a copy with fast and slow ways to its source may have a variance where this asks for more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np

from replnet.ages import (
    AGE,
    ONE,
    Basis,
    InformationAge,
    Never,
    Prediction,
    Weight,
    best_of,
    bracket,
    crossing,
    direct,
    exists,
    half_line_law,
    joint_basis,
    mean,
    penalties,
    threshold,
    unknown,
    weight,
)
from replnet.ages import fresh_spells as spells
from replnet.laws import Array, Law
from replnet.measure.row import AT, METRICS, ON_REQUEST, SHARES, base_name, broken_metrics, metrics_on_request
from replnet.measure.stretches import CostKind, Question
from replnet.text import FieldError, FieldsError, argument, is_range, number_text, points_of, short_repr, suggestion

Predict = Callable[[InformationAge, Law], Prediction]
ByAge = Callable[[InformationAge, Law], float]

WITH_RANGE = re.compile(r"(.*(?:\(| at ))([^(]*?:[^()]*)(\)?)")  # the last thing in brackets, or the time
FARTHEST = 30 * math.log(2)  # logarithm of the factor by which a quantile is looked for on each side of the scale
CLOSE = 1e-9  # accuracy of a quantile, relative to its value
MOST_POINTS = 1_000  # of a range
MARK = "replnet_metric"  # the attribute by which a formula is known as that of a metric


@final
@dataclass(frozen=True)
class Metric:
    """A metric by its name: the question that measures it, and the formulas that predict it.

    `name` is the same however the user spelled it. `weight` is the cost of an age, `predict` the mean cost over all
    time of a copy, from its information age and the law of its source's updates, and `basis` on which theorem or
    assumption this rests. `whole` predicts the share of time (or the rate of turns to stale) by which the mean cost is
    divided, None if that is all time. `within(x)`, of quantiles alone, predicts the chance that an age is at most x.
    """

    name: str
    question: Question
    weight: Weight
    basis: Basis
    predict: Predict
    whole: Predict | None = None
    within: Callable[[float], Predict] | None = None  # of quantiles: the chance that the age is at most so much

    @property
    def is_about_durations(self) -> bool:
        """Whether it is about how long copies stay fresh or stale: how long spells last, or how many last long."""
        return self.question.about == "still" or self.question.over == "turns"

    def has_no_variance(self, law: Law, copies: int = 1) -> bool:
        """Whether the cost that one interval of `law` between pulls adds has no finite variance.

        Estimates then have no interval. With several `copies`, all pulled at intervals of `law`, the cost is that of
        the freshest.
        """
        order = 2 if self.question.about in ("every", "count") else 1
        low, high = self.weight.orders[order - 1 : order + 1]
        return not finite_cost(law, copies, lambda x: np.asarray(low(x)) * np.asarray(high(x)))

    def formula(self, parts: Mapping[tuple[InformationAge, Law], float]) -> Prediction:
        """Return the prediction of the metric over copies, or answers, of which some may never get a copy.

        `parts` has, by (information age, law of the updates), how many of them have both; only their proportions
        matter. What is without a copy counts as one with an infinitely old copy if that has a finite cost, and else is
        left out. Where the mean is infinite or there are no copies, the prediction has no value, and a note says why.
        """
        copies: dict[tuple[InformationAge, Law], float] = {}
        missing = 0.0
        for (age, updates), share in parts.items():
            missing += share * (1 - age.chance_of_copy)
            if age.chance_of_copy:
                key = age.of_copies, updates
                copies[key] = copies.get(key, 0.0) + share * age.chance_of_copy
        missing /= sum(parts.values())
        cost, whole = self.question.without_copy
        if self.question.level is not None:
            return _quantile(self.within, copies, self.question.level, missing)
        if not (whole or copies):
            return unknown("there are no copies")
        shares = {self._of_copies(copies): 1 - missing} if copies else {}
        if whole and missing:
            shares[Prediction.of(1 - cost if self.question.over == "rest" else cost, Never.basis)] = missing
        return mean(shares) if all(prediction.known for prediction in shares) else next(iter(shares))

    def _of_copies(self, parts: Mapping[tuple[InformationAge, Law], float]) -> Prediction:
        """Return the prediction of the metric over those that have a copy; without a value, its note says why.

        `parts` has, by (information age, law of the updates), how many of them have both.
        """
        cost = _mean(self.predict, parts)
        if self.whole is None or not cost.known:
            return cost
        whole = _mean(self.whole, parts)
        if whole.value == 0:
            never = {"stale": "it is never stale", "fresh": "it is never fresh", "turns": "it never changes"}
            return unknown(never[self.question.over])
        value = cost.value / whole.value
        return replace(cost, value=value, accuracy=(cost.accuracy + value * whole.accuracy) / whole.value)


def finite_cost(law: Law, copies: int, cost: Callable[[Array], Array]) -> bool:
    """Whether the freshest of so many `copies`, each pulled at intervals of `law`, has a finite mean cost.

    `cost` is a function from an array of ages to an array of their costs.
    """
    return exists(half_line_law(best_of([direct(law)] * copies)), cost, 0)


def _mean(predict: Predict, parts: Mapping[tuple[InformationAge, Law], float]) -> Prediction:
    """Return the mean of a prediction over `parts`: how many copies have each (information age, law of the updates).

    `predict(age, law)` is the prediction for a copy. If one is infinite the mean has no value, only a note why.
    """
    predictions: dict[Prediction, float] = {}
    for (copy, updates), share in parts.items():
        prediction = predict(copy, updates)
        predictions[prediction] = predictions.get(prediction, 0) + share
    for prediction in predictions:
        if math.isinf(prediction.value):
            return Prediction(math.nan, prediction.kind, prediction.source, note=prediction.assumes.split("; ")[-1])
    return mean(predictions)


def _quantile(
    within: Callable[[float], Predict] | None,
    copies: Mapping[tuple[InformationAge, Law], float],
    level: float,
    missing: float,
) -> Prediction:
    """Return the prediction of the least age that a share `level` of all, with and without a copy, does not exceed.

    A share `missing` has no copy, which counts as infinitely old. `within(x)` gives the formula for the chance that a
    copy's age is at most x, and `copies` has, by (information age, law of the updates), how many have both. Without a
    value the prediction has a note, such as that too many have no copy.
    """
    assert within is not None
    if level >= 1 - missing:
        note = f"infinite because {100 * missing:.3g} % bring no copy"
        return Prediction(math.nan, Never.basis.kind, Never.basis.source, note=note)

    def chance(x: float) -> Prediction:
        """Return the prediction of the share of all, with and without a copy, whose age is at most x."""
        of_copies = _mean(within(x), copies)
        return replace(of_copies, value=of_copies.value * (1 - missing), accuracy=of_copies.accuracy * (1 - missing))

    start = math.log(min(min(age.scales.marks) for age, _ in copies))

    def least(level: float) -> float:
        """Return the least age that a share `level` of all does not exceed; infinite if it is beyond the search."""

        def excess(x: float) -> float:
            """Return the share of ages of at most exp(x) minus `level`: negative if it is too small."""
            return chance(math.exp(x)).value - level

        low, high = bracket(excess, start, math.log(2), math.log(16), FARTHEST)
        return math.inf if high[1] < 0 else math.exp(crossing(excess, low, high, close=CLOSE)[1][0])

    if (fresh := chance(0.0)).value >= level:
        return replace(fresh, value=0.0, accuracy=0.0)
    value = least(level)
    if not math.isfinite(value):
        return unknown(f"an age beyond {math.exp(start + FARTHEST):.2g}")
    reached = chance(value)
    accuracy = CLOSE * value
    if reached.accuracy:
        low, high = (least(min(max(level + off, 0.0), 1.0)) for off in (-reached.accuracy, reached.accuracy))
        accuracy = max(value - low, high - value)
    return replace(reached, value=value, accuracy=accuracy if reached.accuracy else 0.0)


def _plain(
    name: str, about: CostKind, by: Weight, basis: Basis, predict: Predict, whole: Predict | None = None
) -> Metric:
    """Return a metric called `name`: a mean over time, or over stale time, of a cost of the kind `about`.

    The cost has the weight `by` of an age. `predict` is the formula of the mean cost over all time, which rests on
    `basis`; with `whole`, the formula of the stale share of time, the mean is over stale time.
    """
    return Metric(
        name,
        Question(about, by, by.integral, "stale" if whole else "time", by.limit if about == "first" else math.inf),
        by,
        basis,
        predict,
        whole,
    )


def _spell(name: str, question: Question, predict: Predict, whole: Predict) -> Metric:
    """Return a metric called `name` of how long copies stay fresh or stale, which `question` measures.

    Its prediction is a quotient: `predict` is the formula of the mean cost over all time, and `whole` that of the rate
    of turns to stale, or of the share of fresh time, by which it is divided.
    """
    return Metric(name, question, ONE, spells.SPELL, predict, whole)


def _fresh_share(copy: InformationAge, updates: Law) -> Prediction:
    """Return the prediction of the share of time, 0 to 1, in which a copy is fresh, for metrics of fresh spells.

    Its source changes at intervals of the law `updates`. It rests on the theorems on spells, unlike that of
    `_freshness`.
    """
    return spells.remaining_freshness(copy, updates, 0.0)


def _freshness(copy: InformationAge, updates: Law) -> Prediction:
    """Return the prediction of the share of time in which a copy is fresh; `updates` is the law of its source's."""
    return copy.freshness(updates)


PLAIN_METRICS = {
    metric.name: metric
    for metric in (
        _plain("staleness", "first", ONE, penalties.STALENESS, penalties.staleness),
        _plain("staleness_age", "first", AGE, penalties.FIRST_MISSED, penalties.since_first_missed),
        _plain("change_age", "last", AGE, penalties.LAST_CHANGE, penalties.since_last_change),
        _plain("information_age", "data", AGE, penalties.DATA, lambda copy, _: penalties.data_age(copy)),
        _plain("missing_updates", "count", ONE, penalties.MISSING, penalties.missing_updates),
        _plain("lag", "first", AGE, penalties.FIRST_MISSED, penalties.since_first_missed, penalties.staleness),
        _spell("fresh_spell", Question("still", ONE, ONE.integral, "turns", 1.0), _fresh_share, spells.stale_rate),
        _spell(
            "stale_spell", Question("first", ONE, ONE.integral, "turns", 1.0), penalties.staleness, spells.stale_rate
        ),
    )
}
METRIC_CALLS = {
    "currency": "a lag in brackets, such as currency(0.4)",
    "source_penalty": "a weight in brackets, such as source_penalty(x)",
    "update_penalty": "a weight in brackets, such as update_penalty(1/(1+x))",
    "staleness_quantile": "a share in brackets, such as staleness_quantile(0.95)",
    "age_quantile": "a share in brackets, such as age_quantile(0.95)",
    "older": "a time in brackets, such as older(2)",
    "fresh_spell_beyond": "a time in brackets, such as fresh_spell_beyond(0.5)",
    "stale_spell_beyond": "a time in brackets, such as stale_spell_beyond(0.5)",
    "fresh_residual": "a time in brackets, such as fresh_residual(0.5)",
}
AT_A_TIME = {
    "freshness": Metric(
        "freshness", Question("first", ONE, ONE.integral, "rest", 1.0), ONE, penalties.STALENESS, _freshness
    ),
    "availability": Metric(
        "availability", Question("data", ONE, ONE.integral, "copies", 1.0), ONE, penalties.HELD, penalties.held_share
    ),
}
"""Metrics that are requested only at a time: otherwise they are measured in any case, or where nodes crash."""
assert {*PLAIN_METRICS, *METRIC_CALLS} == ON_REQUEST.keys()
MARKED_IN_PROGRAM = set[str]()
"""Names of metrics that the program itself has marked, which a cell of a notebook that runs again may do once more."""


def staleness_metric(
    name: str, unit: str, about: Literal["first", "every", "data"], by: Weight, basis: Basis, *, share: bool = False
) -> Callable[[ByAge], ByAge]:
    """Return a decorator that makes a metric of another package known by `name`, measured in `unit` (a few words).

    The metric is the mean over time, or answers, of the weight `by` (ages/weights) of an age: since the `first` missed
    update, since `every` missed update, added up, or of the `data`, as `about` says. With `share` its values are shares
    from 0 to 1. What is decorated is its formula, a function of a copy's information age and the law of its source's
    updates, and gets an attribute MARK; `basis` is what the formula rests on. A name that is taken or has other signs
    than small letters, digits and _ raises FieldError.
    """
    if name not in MARKED_IN_PROGRAM:
        require_metric_name("metric", name)

    def register(formula: ByAge) -> ByAge:
        """Make the metric known with this formula, and return the formula."""
        if formula is not None and formula.__module__ == "__main__":
            MARKED_IN_PROGRAM.add(name)

        def predict(copy: InformationAge, updates: Law) -> Prediction:
            """Return the value of the formula for a copy and the law of its source's updates, with its basis."""
            prediction = Prediction.of(formula(copy, updates), joint_basis([copy.basis, basis]))
            return replace(prediction, assumes=f"{name} is infinite") if math.isinf(prediction.value) else prediction

        limit = math.inf if about == "every" else by.limit
        PLAIN_METRICS[name] = Metric(name, Question(about, by, by.integral, limit=limit), by, basis, predict)
        ON_REQUEST[name] = unit
        SHARES.update([name] if share else [])
        setattr(formula, MARK, (name, unit, about, by, basis, share))
        return formula

    return register


def require_metric_name(field: str, name: str) -> None:
    """Raise FieldError for `field` if `name` cannot be that of a new metric: it is no name, or is taken."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise FieldError(field, f"{short_repr(name)} is not a name", "small letters, digits and _")
    if name in METRICS or name in ON_REQUEST:
        raise FieldError(field, f"{name} is known already", "another name")


def is_metric_on_request(text: object) -> bool:
    """Whether a value is a text that names a metric measured on request, even if with wrong arguments.

    Any text with AT in it, which asks for an instant, counts as one.
    """
    return isinstance(text, str) and (AT in text or base_name(text) in metrics_on_request())


def metric(text: str) -> Metric:
    """Return the metric that a text names, such as `lag`, `older(2)` or `freshness at 5`.

    A name that is unknown, or an argument or time that is wrong, raises FieldError.
    """
    text, at, time = text.partition(AT)
    return _metric_at(text, time) if at else _metric_over_time(text)


def _metric_at(text: str, time: str) -> Metric:
    """Return a metric of the copies that are held at one instant; raise FieldError if there is none.

    `text` names the metric, without that instant, and `time` is the text of a number: units of time after the begin, 0
    or more. Metrics of answers alone, of spells, or over some time ahead, and quantiles have none.
    """
    over_time, at = AT_A_TIME.get(text.strip()) or _metric_over_time(text), _time(time)
    if not at >= 0:
        raise FieldError("measure", f"{short_repr(time)} is not a time", f"{text}{AT}2.5, of 0 or more after the begin")
    if not over_time.question.of_answers or over_time.question.ahead or over_time.question.level is not None:
        raise FieldError("measure", f"{over_time.name} takes longer than a moment", f"freshness{AT}{number_text(at)}")
    return replace(
        over_time, name=f"{over_time.name}{AT}{number_text(at)}", question=replace(over_time.question, at=at)
    )


def _time(text: str) -> float:
    """Return the finite number that a text states, or NaN if it states none."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def _metric_over_time(text: str) -> Metric:
    """Return the metric that `text` names, a mean over time or answers, with its argument if it takes one.

    A name that is unknown, or an argument that is wrong, raises FieldError.
    """
    name = base_name(text)
    if name not in metrics_on_request():
        if name in broken_metrics():
            raise FieldError("measure", broken_metrics()[name], "mend or uninstall its package")
        raise FieldError("measure", f"{short_repr(text)} is not a metric", suggestion(text, ON_REQUEST))
    if name in PLAIN_METRICS:
        if "(" in text:
            raise FieldError("measure", f"{short_repr(text)} takes nothing in brackets", name)
        return PLAIN_METRICS[name]
    inside = argument(text, "measure", METRIC_CALLS[name])
    if name.endswith("_penalty"):
        return _penalty(name, text, inside)
    x = _time(inside)
    if not x >= 0:
        noun = METRIC_CALLS[name].split()[1]  # of "a lag in brackets, ..."
        raise FieldError("measure", f"{short_repr(text)} has no {noun} of 0 or more", METRIC_CALLS[name])
    return _metric_with_number(name, f"{name}({number_text(x)})", x)


def _metric_with_number(name: str, full: str, x: float) -> Metric:
    """Return the metric `name` with the number `x`, 0 or more, in brackets; `full` is its name with that.

    Of a quantile a number that is not above 0 and below 1 raises FieldError.
    """
    late = threshold(x)
    if name in ("staleness_quantile", "age_quantile"):
        return _quantile_metric(name, full, x)
    if name == "currency":
        question = Question("first", late, late.integral, "rest", late.limit)
        return Metric(full, question, late, penalties.CURRENCY, lambda copy, law: penalties.currency(copy, law, x))
    if name == "older":
        question = Question("data", late, late.integral, limit=late.limit)
        return Metric(full, question, late, penalties.DATA, lambda copy, _: penalties.older(copy, x))
    if name == "fresh_residual":
        question = Question("still", ONE, ONE.integral, "fresh", 1.0, ahead=x)
        return _spell(full, question, lambda copy, law: spells.remaining_freshness(copy, law, x), _fresh_share)
    if name == "stale_spell_beyond":
        question = Question("spells", ONE, ONE.integral, "turns", 1.0, ahead=x)
        return _spell(full, question, lambda copy, law: spells.stale_spell_rate(copy, law, x), spells.stale_rate)
    question = Question("turns", ONE, ONE.integral, "turns", 1.0, ahead=x)
    return _spell(full, question, lambda copy, law: spells.stale_rate(copy, law, x), spells.stale_rate)


def _quantile_metric(name: str, full: str, level: float) -> Metric:
    """Return the metric of a quantile of an age, `name`, at a level; `full` is its name with the level.

    A level that is not above 0 and below 1 raises FieldError.
    """
    if not 0 < level < 1:
        raise FieldError("measure", f"{full} is no quantile", "a share above 0 and below 1, such as 0.95")
    about, basis = ("first", penalties.CURRENCY) if name == "staleness_quantile" else ("data", penalties.DATA)
    question = Question(about, AGE, AGE.integral, level=level)  # type: ignore[arg-type]

    def within(x: float) -> Predict:
        """Return the formula for the chance, 0 to 1, that the age of a copy is at most x."""
        if name == "staleness_quantile":
            return lambda copy, law: penalties.currency(copy, law, x)
        return lambda copy, _: penalties.younger(copy, x)

    return Metric(full, question, AGE, basis, _freshness, within=within)


def _penalty(name: str, text: str, inside: str) -> Metric:
    """Return the metric of a penalty, `name`, whose weight is the text `inside` the brackets of `text`.

    A text that is no weight raises FieldError.
    """
    try:
        by = weight(inside)
    except FieldError as error:
        raise FieldError("measure", f"{short_repr(text)}: {error.wrong}", error.right) from None
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
    """Return the metrics of these names, each once, without those that every run measures in any case.

    A range in a name, such as `older(0:2:9)`, stands for a metric per point. A name that is wrong raises FieldError.
    """
    texts = (name for name in names if name not in METRICS)
    requested = (metric(point) for text in texts for point in expand_range(text))
    return tuple({metric.name: metric for metric in requested}.values())


def expand_range(text: str) -> Iterator[str]:
    """Yield the text once for every point of the range in it, such as `older(0:2:9)`, or as it is if it has none.

    A range that is wrong or has more than MOST_POINTS points raises FieldError.
    """
    match = WITH_RANGE.fullmatch(text)
    if match is None or not is_range(match[2]):
        yield text
        return
    try:
        points = points_of(match[2])
    except FieldsError as error:
        (_, wrong, right), *_ = error.faults
        raise FieldError("measure", f"{short_repr(text)}: {wrong}", right) from None
    if len(points) > MOST_POINTS:
        raise FieldError("measure", f"{short_repr(text)} has {len(points):,} points", f"{MOST_POINTS:,} at most")
    yield from (f"{match[1]}{number_text(point)}{match[3]}" for point in points)
