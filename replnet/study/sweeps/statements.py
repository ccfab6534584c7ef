"""What a finished table makes of claims, of mistakes of a paper, and of what was expected.

Every claim is a set of statements "this row is at least that one". Measured, one
is broken if the second is larger beyond chance: by more standard errors of their
difference than all statements of the claim together would show with chance FAMILY.
One that is broken by less is too close to tell.
Cells share their random numbers, so the errors of differences are smaller than
the root of the sum of squares that is taken here, and the check is cautious.
Predicted, one is broken beyond the accuracies of both.

A printed value contradicts a row, or a claim fails, while what was measured does not speak against what was predicted:
then it is the paper that is wrong. Several such cells may show one mistake, which the experiment names under `errata`;
where it names none a cell is a mistake by itself, of rounding if it is off by no more than one unit of the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

from replnet.measure.verdict import FAMILY, ROUNDING
from replnet.study.experiment.axes import Axis, same
from replnet.study.experiment.sections import GROUP, Claim, Erratum, Expected, StatedValue
from replnet.study.sweeps.judged_table import CONTRADICTS, Line

MOST_BROKEN = 3  # statements that are told

Side = Line | float  # a row, or a limit that it keeps
Pair = tuple[Side, Side]  # the first is at least the second
Case = Sequence[Sequence[Pair]]  # ways in which a case may hold, each pairs that all hold


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


@final
@dataclass(frozen=True)
class ShownErratum:
    """A mistake of a paper, in words, with the cells and claims that show it; without a name if a cell is all of it."""

    name: str
    kind: str
    text: str
    cells: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The same for one mistake, whichever experiment shows it."""
        return self.name or self.text


@final
@dataclass(frozen=True)
class Expectation:
    """Why values are expected, how many of them agree, and the others in words, but for those that show an erratum."""

    reason: str
    agree: int
    count: int
    others: tuple[str, ...]


# ---- Claims


def checked(claim: Claim, found: Iterable[Line], axes: Sequence[Axis], zips: Sequence[Sequence[str]]) -> Checked:
    """One claim, on the rows that there are."""
    about = [line for line in found if line.row.metric == claim.about and line.is_about(claim.where)]
    names = [GROUP, *(axis.name for axis in axes)]
    cases = list(_cases(claim, about, names, zips))
    sides = {side: _judge(cases, side) for side in ("measured", "predicted")}
    detail = "; ".join(f"{side}: {words}" for side, (_, words) in sides.items() if words)
    return Checked(claim.text, sides["measured"][0], sides["predicted"][0], detail, claim.erratum)


def _cases(claim: Claim, about: Sequence[Line], names: Sequence[str], zips: Sequence[Sequence[str]]) -> Iterator[Case]:
    if claim.form == "lies":
        for line in about:
            if claim.from_ is not None:
                yield [[(line, claim.from_)]]
            if claim.to is not None:
                yield [[(claim.to, line)]]
    elif claim.order is not None:
        # Rows of the cells that are named, at equal values of all other axes.
        moving = set().union(*claim.order)
        places = [{_others(line, moving, names): line for line in about if line.is_about(at)} for at in claim.order]
        for larger, smaller in pairwise(places):
            yield from ([[(line, smaller[key])]] for key, line in larger.items() if key in smaller)
    else:
        for curve in _curves(str(claim.over), about, names, zips):
            yield from _along(curve, claim)


def _along(curve: Sequence[Line], claim: Claim) -> Iterator[Case]:
    """A curve rises or falls from each row to the next, or is largest at one of the places that the claim allows."""
    if claim.form == "argmax":
        allowed = [line for line in curve if any(same(line.at(str(claim.over)), value) for value in claim.is_ or ())]
        rest = [line for line in curve if line not in allowed]
        if allowed and rest:
            yield [[(line, other) for other in rest] for line in allowed]
    else:
        for one, next_ in pairwise(curve):
            yield [[(one, next_) if claim.form == "falls" else (next_, one)]]


def _curves(
    over: str, about: Iterable[Line], names: Sequence[str], zips: Sequence[Sequence[str]]
) -> Iterator[list[Line]]:
    """Rows over one axis, at equal values of all others; by number where they are numbers."""
    moving = {over}.union(*(names for names in zips if over in names))
    curves: dict[Any, list[Line]] = {}
    for line in about:
        curves.setdefault(_others(line, moving, names), []).append(line)
    for curve in curves.values():
        if all(isinstance(line.at(over), int | float) for line in curve):
            curve.sort(key=lambda line: line.at(over))
        yield curve


def _others(line: Line, moving: Iterable[str], names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(line.at(name) for name in names if name not in moving)


def _judge(cases: Sequence[Case], side: str) -> tuple[bool | None, str]:
    """Whether all cases hold, and what is to be said of it."""
    most = _most(sum(len(way) for case in cases for way in case)) if side == "measured" else 0.0
    broken, held, close = [], 0, 0
    for case in cases:
        ways = [[_lead(pair, side, most) for pair in way] for way in case]
        known = [way for way in ways if not any(math.isnan(lead) for lead, _ in way)]
        if known and all(any(lead < -much for lead, much in way) for way in known):
            broken.append(case)
        elif any(all(lead >= -ROUNDING for lead, _ in way) for way in known):
            held += 1
        elif known:
            close += 1
    if broken:
        told = [_told(case, side) for case in broken[:MOST_BROKEN]]
        more = [f"and in {len(broken) - MOST_BROKEN} more cases"] if len(broken) > MOST_BROKEN else []
        return False, f"not {', nor '.join([*told, *more])}"
    if not held:
        return None, "too close to tell" if close else ""
    return True, f"{close} of {held + close} too close to tell" if close else ""


def _most(count: int) -> float:
    """Standard errors that so many differences show by chance."""
    from scipy.special import ndtri

    return -float(ndtri(FAMILY / 2 / max(count, 1)))


def _lead(pair: Pair, side: str, most: float) -> tuple[float, float]:
    """How far the first is above the second, and how far below it may seem to be."""
    (a, doubt), (b, other) = (_number(one, side) for one in pair)
    return a - b, (most * math.hypot(doubt, other) if side == "measured" else doubt + other) + ROUNDING


def _number(of: Side, side: str) -> tuple[float, float]:
    """A value, and its standard error or accuracy."""
    if isinstance(of, float):
        return of, 0.0
    if side == "predicted":
        return of.row.prediction.value, of.row.accuracy or 0.0
    estimate = of.row.estimate
    return (estimate.value, 0.0 if math.isnan(estimate.error) else estimate.error) if estimate else (math.nan, 0.0)


def _told(case: Case, side: str) -> str:
    leads = [(pair, _number(pair[0], side)[0] - _number(pair[1], side)[0]) for way in case for pair in way]
    pair, _ = min(leads, key=lambda found: found[1])
    return " above ".join(_words(one, side) for one in pair)


def _words(of: Side, side: str) -> str:
    value = f"{_number(of, side)[0]:.5g}"
    return value if isinstance(of, float) else f"{of.cell.words or of.row.group} ({value})"


# ---- Errata, and what is expected


def contradictions(found: Iterable[Line]) -> list[str]:
    """Printed values that contradict a prediction with which the measurement agrees, cell by cell, in words."""
    return [_sentence(line, line.printed[0]) for line in found if _contradicts(line, "printed")]


def shown_errata(
    errata: Mapping[str, Erratum], found: Sequence[Line], claims: Iterable[Checked]
) -> tuple[ShownErratum, ...]:
    """The mistakes of the paper that a table shows, those with a name first and in the order of the file."""
    cells: dict[str, list[str]] = {name: [] for name in errata}
    alone = []
    for name in ("printed", "expected"):
        for line in found:
            one = getattr(line, name)[0]
            if _contradicts(line, name) and one.erratum is not None:
                cells[one.erratum].append(_sentence(line, one))
            elif _contradicts(line, name) and name == "printed":
                alone.append(ShownErratum("", _kind(line, one), _sentence(line, one)))
    for claim in claims:
        if claim.erratum is not None and claim.fails:
            cells[claim.erratum].append(f"{claim.text}: {claim.detail}")
    named = [ShownErratum(name, one.kind, one.text, tuple(cells[name])) for name, one in errata.items() if cells[name]]
    return (*named, *alone)


def expectations(found: Iterable[Line]) -> tuple[Expectation, ...]:
    """What became of the values that were expected, by their reasons."""
    by_reason: dict[str, list[Line]] = {}
    for line in found:
        if line.expected[1]:
            by_reason.setdefault(line.expected[0].reason, []).append(line)
    met = []
    for reason, about in by_reason.items():
        others = [line for line in about if line.expected[1] != "agree"]
        said = tuple(_sentence(line, line.expected[0]) for line in others if line.expected[0].erratum is None)
        met.append(Expectation(reason, len(about) - len(others), len(about), said))
    return tuple(met)


def _contradicts(line: Line, name: str) -> bool:
    return bool(getattr(line, name)[1] == CONTRADICTS and line.row.verdict != "differ")


def _kind(line: Line, one: StatedValue) -> str:
    """Of a contradiction to which the file gives no name."""
    if line.row.predicted is None:
        return "simulation"
    beyond = abs(line.row.predicted - one.value) - 2 * one.within
    return "equations" if beyond > ROUNDING else "rounding"


def _sentence(line: Line, one: Any) -> str:
    """A cell with the value that is stated for it, and what was predicted and measured."""
    row, found = line.row, []
    if row.predicted is not None:
        found.append(f"{row.predicted:.5g} predicted")
    if row.measured is not None:
        half = 0.0 if row.ci_low is None or row.ci_high is None else (row.ci_high - row.ci_low) / 2
        width = f" ± {half:.2g}" if 0 < half < 10 else f" ± {half:.0f}" if half else ""
        found.append(f"{row.measured:.5g}{width} measured")
    expected = isinstance(one, Expected)
    notes = [one.reason] if expected else [one.where, one.reading and f"read as: {one.reading}", one.note]
    said = "; ".join(filter(None, notes))
    head = f"{line.cell.words}: " if line.cell.words else ""
    stated = f"{one.value:g} is {'expected' if expected else 'printed'}, {', '.join(found)}"
    return f"{head}{row.group}, {row.metric.replace('_', ' ')}: {stated}" + (f" ({said})" if said else "")
