"""Claims about a whole table, checked on what was measured and on what was predicted.

Every claim is a set of statements "this row is at least that one". Measured, one
is broken if the second is larger beyond chance: by more standard errors of their
difference than all statements of the claim together would show with chance FAMILY.
One that is broken by less is too close to tell.
Cells share their random numbers, so the errors of differences are smaller than
the root of the sum of squares that is taken here, and the check is cautious.
Predicted, one is broken beyond the accuracies of both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

from replnet.measure.verdict import FAMILY, ROUNDING
from replnet.study.experiment.axes import Axis, same
from replnet.study.experiment.models import GROUP
from replnet.study.experiment.statements import Claim
from replnet.study.sweeps.table import Line

MOST_BROKEN = 3  # statements that are told

Pair = tuple[Line, Line]


@final
@dataclass(frozen=True)
class Checked:
    """Whether a claim holds, measured and predicted; None where it could not be told."""

    text: str
    measured: bool | None
    predicted: bool | None
    detail: str
    erratum: str | None = None  # the mistake of the paper that it is, if it fails

    @property
    def fails(self) -> bool:
        return False in (self.measured, self.predicted)


def checked(claim: Claim, found: Sequence[Line], axes: Sequence[Axis], zips: Sequence[Sequence[str]]) -> Checked:
    """One claim, on the rows that there are."""
    metric = getattr(claim, claim.form) if claim.form != "order" else claim.metric
    about = [line for line in found if line.row["metric"] == metric and line.is_about(claim.where)]
    if claim.form == "argmax":
        cases = list(_peaks(claim, about, axes, zips))
    else:
        cases = [[(pair,)] for pair in _pairs(claim, about, axes, zips)]
    sides = {side: _judge(cases, side) for side in ("measured", "predicted")}
    detail = "; ".join(f"{side}: {words}" for side, (_, words) in sides.items() if words)
    return Checked(claim.text, sides["measured"][0], sides["predicted"][0], detail, claim.erratum)


# A case is a choice of ways in which it may hold; a way is pairs that all hold.
Case = Sequence[Sequence[Pair]]


def _pairs(claim: Claim, about: Sequence[Line], axes: Sequence[Axis], zips: Sequence[Sequence[str]]) -> Iterator[Pair]:
    """What a claim that is no choice states: the first of a pair is at least the second."""
    if claim.form == "order":
        return _ordered(claim, about, axes)
    return _limited(claim, about) if claim.form == "lies" else _along(claim, about, axes, zips)


def _limited(claim: Claim, about: Iterable[Line]) -> Iterator[Pair]:
    """Rows and the limits that they keep."""
    for line in about:
        if claim.from_ is not None:
            yield line, _constant(line, claim.from_)
        if claim.to is not None:
            yield _constant(line, claim.to), line


def _constant(like: Line, value: float) -> Line:
    """A row that is a number, measured as well as predicted."""
    row = {**like.row, "group": "", "measured": value, "predicted": value, "error": 0.0, "accuracy": None}
    return Line(like.cell, row)


def _ordered(claim: Claim, about: Iterable[Line], axes: Sequence[Axis]) -> Iterator[Pair]:
    """Rows of the cells named by `order`, at equal values of all other axes."""
    assert claim.order is not None
    named = set().union(*claim.order)
    places = [{_others(line, named, axes): line for line in about if line.is_about(at)} for at in claim.order]
    for larger, smaller in pairwise(places):
        for key, line in larger.items():
            if key in smaller:
                yield line, smaller[key]


def _along(claim: Claim, about: Iterable[Line], axes: Sequence[Axis], zips: Sequence[Sequence[str]]) -> Iterator[Pair]:
    """Neighbours along an axis."""
    for curve in _curves(claim, about, axes, zips):
        for one, next_ in pairwise(curve):
            yield (one, next_) if claim.form == "falls" else (next_, one)


def _peaks(claim: Claim, about: Iterable[Line], axes: Sequence[Axis], zips: Sequence[Sequence[str]]) -> Iterator[Case]:
    """A curve is largest at one of the places that the claim allows."""
    assert claim.over is not None
    for curve in _curves(claim, about, axes, zips):
        allowed = [line for line in curve if any(same(_at(line, claim.over), value) for value in claim.is_ or ())]
        rest = [line for line in curve if line not in allowed]
        if allowed and rest:
            yield [[(line, other) for other in rest] for line in allowed]


def _curves(
    claim: Claim, about: Iterable[Line], axes: Sequence[Axis], zips: Sequence[Sequence[str]]
) -> Iterator[list[Line]]:
    """Rows over one axis, at equal values of all others; by number where they are numbers."""
    assert claim.over is not None
    moving = {claim.over}.union(*(names for names in zips if claim.over in names))
    curves: dict[Any, list[Line]] = {}
    for line in about:
        curves.setdefault(_others(line, moving, axes), []).append(line)
    for curve in curves.values():
        values = [_at(line, claim.over) for line in curve]
        if all(isinstance(value, int | float) for value in values):
            curve.sort(key=lambda line: _at(line, claim.over))
        yield curve


def _at(line: Line, name: str | None) -> Any:
    return line.row["group"] if name == GROUP else line.cell.values[name or ""]


def _others(line: Line, moving: Iterable[str], axes: Sequence[Axis]) -> tuple[Any, ...]:
    names = [GROUP, *(axis.name for axis in axes)]
    return tuple(_at(line, name) for name in names if name not in moving)


def _judge(cases: Sequence[Case], side: str) -> tuple[bool | None, str]:
    """Whether all cases hold, and what is to be said of it."""
    value, allowed = _side(side, sum(len(way) for case in cases for way in case))
    broken, held, close = [], 0, 0
    for case in cases:
        ways = [[(value(a) - value(b), allowed(a, b)) for a, b in way] for way in case]
        known = [way for way in ways if not any(math.isnan(lead) for lead, _ in way)]
        if not known:
            continue
        if all(any(lead < -much for lead, much in way) for way in known):
            broken.append(case)
        elif any(all(lead >= -ROUNDING for lead, _ in way) for way in known):
            held += 1
        else:
            close += 1
    if broken:
        told = [_told(case, value) for case in broken[:MOST_BROKEN]]
        more = [f"and in {len(broken) - MOST_BROKEN} more cases"] if len(broken) > MOST_BROKEN else []
        return False, f"not {', nor '.join([*told, *more])}"
    if not held:
        return None, "too close to tell" if close else ""
    return True, f"{close} of {held + close} too close to tell" if close else ""


def _side(side: str, count: int) -> tuple[Callable[[Line], float], Callable[[Line, Line], float]]:
    """The value of a row, and how much larger than another it may seem."""

    def number(line: Line, name: str) -> float:
        found = line.row[name]
        return math.nan if found is None else float(found)

    if side == "predicted":
        return lambda line: number(
            line, "predicted"
        ), lambda a, b: sum(number(line, "accuracy") if line.row["accuracy"] else 0.0 for line in (a, b)) + ROUNDING
    from scipy.special import ndtri

    most = -float(ndtri(FAMILY / 2 / max(count, 1)))

    def allowed(a: Line, b: Line) -> float:
        errors = [number(line, "error") for line in (a, b)]
        return most * math.hypot(*(0.0 if math.isnan(error) else error for error in errors)) + ROUNDING

    return lambda line: number(line, "measured"), allowed


def _told(case: Case, value: Callable[[Line], float]) -> str:
    a, b = min(((a, b) for way in case for a, b in way), key=lambda pair: value(pair[0]) - value(pair[1]))
    return f"{_named(a, value)} above {_named(b, value)}"


def _named(line: Line, value: Callable[[Line], float]) -> str:
    return f"{_where(line)} ({value(line):.5g})" if line.row["group"] else f"{value(line):.5g}"


def _where(line: Line) -> str:
    values: Mapping[str, Any] = line.cell.values
    return ", ".join(f"{name} = {value}" for name, value in values.items()) or str(line.row["group"])
