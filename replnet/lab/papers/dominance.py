"""The order of two laws of the same mean in second order, and its effect on copies (P2P IV, Staleness V).

For intervals X and Y of the same mean let

    J(x) = P(A_Y > x) - P(A_X > x),                                            P2P eq. 9; Staleness eq. 59 (1)

which by eq. 10 is the integral from 0 to x of tail_X - tail_Y over that mean. X is larger in
second order exactly if J is nowhere negative (P2P Lemma 2, Staleness Lemma 1). A constant is
larger than all others (Lemma 3).

A copy lags behind by A_D - A_U. Downloads X, or updates Y, make lags beyond t rarer than
downloads Y, or updates X, would, other things being equal, by

    L(t) = P(A_Y - A_U > t) - P(A_X - A_U > t)        and        P(A_D - A_X > t) - P(A_D - A_Y > t)      (2)

and L(0) is the freshness that they add. Measures are mixtures of thresholds, so all of them are
in one order exactly if L changes no sign on t >= 0. If J is nowhere negative neither is L (P2P
Theorem 2, Staleness Theorem 8).

The converse, the "only if" of Theorem 8, does not hold for a given law of the other process, as it is stated: its
proof takes A_D - A_U to be ordered only if A_D is, or A_U. Under exponential downloads lags are exponential
whatever the updates, so that L has one sign for any two laws of updates, ordered or not. Under exponential updates of
rate mu

    L(t) = mu exp(mu t) times the integral from t to infinity of exp(-mu s) J(s) ds,                      (3)

which may be positive throughout where J begins below zero. Theorem 9, on update penalties, is right: these are
means of functions of A_D alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np

from replnet.ages import INDEPENDENT, Basis, currency, direct, jumps, soft_marks
from replnet.lab.named_formulas import Values, formula
from replnet.laws import Array, Floats, Law
from replnet.network import LawField
from replnet.text import FieldError

ORDER = Basis("exact", "P2P eq. 9, Thm 2; Staleness Thm 8", INDEPENDENT)
SAME_MEAN = 1e-12  # relative difference of two means that count as equal
POINTS, ZOOMED, ROUNDS = 200, 16, 6  # points on the whole line, then around the best of them, and how often

Extremes = tuple[float, float]


def age_lead(larger: Law, smaller: Law) -> Extremes:
    """Return the lowest and the highest lead P(A_Y > x) - P(A_X > x) over all x, of the ages of two laws of intervals.

    X is `larger` and Y is `smaller`. Raises FieldError if their means differ.
    """
    _require_same_mean(larger, smaller)
    mean = larger.mean
    # By the excesses, which keep their digits where both ages are rare.
    return _extremes(lambda x: (smaller.excess(x) - larger.excess(x)) / mean, _scales(larger, smaller))


def lag_lead(downloads: tuple[Law, Law], updates: tuple[Law, Law]) -> Extremes:
    """Return the lowest and the highest lead over all t >= 0: by how much lags beyond t are rarer in the first of two
    cases.

    The lead is a difference of probabilities, P(lag > t) in the second case minus that in the first. `downloads` and
    `updates` are pairs: the law in the first case and that in the second.
    """

    def lead(t: Array) -> Floats:
        first, second = (
            [currency(direct(down), up, lag).value for lag in t.tolist()]
            for down, up in zip(downloads, updates, strict=True)
        )
        return np.subtract(first, second)

    return _extremes(lead, _scales(*downloads))


def _scales(*laws: Law) -> Floats:
    """Return rising points from 0 on: where the laws jump or bend, and 200 more, equal factors apart.

    These go from a hundredth of the first such place to twice the last.
    """
    marks = np.concatenate([np.append(jumps(law), soft_marks(law)) for law in laws])
    marks = marks[marks > 0]
    return np.unique(np.concatenate([[0.0], marks, np.geomspace(marks.min() / 100, marks.max() * 2, POINTS)]))


def _extremes(f: Callable[[Array], Array], points: Floats) -> Extremes:
    """Return the lowest and the highest value of a continuous function f between the first and the last of `points`.

    It takes and returns arrays. They are searched at the points, which rise, and then again and again around the best.
    """

    def highest(f: Callable[[Array], Array]) -> float:
        x, best = points, -math.inf
        for _ in range(ROUNDS):
            values = f(x)
            at, best = int(np.argmax(values)), max(best, float(np.max(values)))
            x = np.linspace(x[max(at - 1, 0)], x[min(at + 1, len(x) - 1)], ZOOMED)
        return best

    return -highest(lambda x: -f(x)), highest(f)


def _require_same_mean(larger: Law, smaller: Law, **_: object) -> None:
    """Raise FieldError if the means of the two laws differ by more than rounding."""
    if abs(larger.mean - smaller.mean) > SAME_MEAN * larger.mean:
        wrong = f"a mean of {smaller.mean:g} beside one of {larger.mean:g}"
        raise FieldError("smaller", wrong, "laws of the same rate")


@formula(
    "second-order",
    ORDER,
    groups=("ages", "as downloads", "as updates"),
    metrics=("lowest_lead", "highest_lead", "freshness_gain"),
    check=_require_same_mean,
)
def second_order(
    larger: Annotated[LawField, "a law of intervals, X"],
    smaller: Annotated[LawField, "another of the same mean, Y"],
    other: Annotated[LawField, "the law of the updates where these are downloads, and of the downloads otherwise"],
) -> Values:
    """The advantage of one of two laws of the same mean for copies (P2P Theorem 2, Lemma 2; Staleness Theorem 8).

    Of ages: the lowest and the highest P(A_Y > x) - P(A_X > x); X is larger in second order if none is below 0. With
    X in the place of Y as downloads, or Y in the place of X as updates: by how much lags beyond any t become rarer, at
    least and at most, and by how much freshness grows.
    """
    for name, value in zip(("lowest_lead", "highest_lead"), age_lead(larger, smaller), strict=True):
        yield "ages", name, value
    roles = {
        "as downloads": ((larger, smaller), (other, other)),
        "as updates": ((other, other), (smaller, larger)),
    }
    for group, (downloads, updates) in roles.items():
        lowest, highest = lag_lead(downloads, updates)
        first, second = (direct(down).freshness(up).value for down, up in zip(downloads, updates, strict=True))
        yield group, "lowest_lead", lowest
        yield group, "highest_lead", highest
        yield group, "freshness_gain", first - second
