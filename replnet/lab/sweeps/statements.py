"""Claims, mistakes of a paper, and expected values, checked on a finished table.

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

from replnet.lab.experiment import GROUP, Axis, Claim, Erratum, Expected, StatedValue, same_value
from replnet.lab.sweeps.judged_table import CONTRADICTS, Line
from replnet.measure import FAMILY, FEWEST_REPLICATIONS, ROUNDING

NO_INTERVAL = "no interval"  # how most notes on why there is none begin
MOST_BROKEN_SHOWN = 3  # cases that the detail of a failed claim names

Term = Line | float  # a row, or a limit that it keeps
Pair = tuple[Term, Term]  # the first is at least the second
Case = Sequence[Sequence[Pair]]  # the ways in which a case may hold, each with pairs that all have to hold


@final
@dataclass(frozen=True)
class CheckedClaim:
    """A claim in words, and whether it holds, as measured and as predicted; None where that could not be told.

    `detail` says in words what breaks the claim, or that it is too close to tell; it is empty if there is nothing to
    say. `erratum` is the name of the mistake of the paper that a failure shows, if there is one. It is `untested` if
    there were measured rows, and none of them could tell as they have no interval.
    """

    text: str
    measured: bool | None
    predicted: bool | None
    detail: str
    erratum: str | None = None  # the name of the paper's mistake that a failure shows
    untested: bool = False

    @property
    def fails(self) -> bool:
        """Whether the measurement or the prediction speaks against the claim."""
        return False in (self.measured, self.predicted)

    @property
    def holds(self) -> bool:
        """Whether the measurement or the prediction speaks for the claim, and neither against it."""
        return not self.fails and True in (self.measured, self.predicted)

    @property
    def tested(self) -> bool:
        """Whether there were rows to test it on, even if they are too close to tell."""
        return self.fails or self.holds or (bool(self.detail) and not self.untested)


@final
@dataclass(frozen=True)
class ShownErratum:
    """A mistake of a paper: its name, its kind (rounding, equations, simulation or prose) and its text, with sentences
    on the `cells` and claims that show it.

    If its name is empty a single cell shows it, `text` is the sentence on that cell, and there are no others.
    """

    name: str
    kind: str
    text: str
    cells: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """A key of the mistake, the same in whichever experiment shows it."""
        return self.name or self.text


@final
@dataclass(frozen=True)
class Expectation:
    """A reason to expect values: their `count` in all, how many of them `agree`, and sentences on the `others`.

    There are no sentences on values that are known to show an erratum.
    """

    reason: str
    agree: int
    count: int
    others: tuple[str, ...]


# ---- Claims


def how_many_hold(claims: Sequence[CheckedClaim]) -> str:
    """Return a text on how many of the tested claims hold, such as "2 of 3", or "none tested"; empty without claims."""
    tested = [claim for claim in claims if claim.tested]
    return f"{sum(claim.holds for claim in tested)} of {len(tested)}" if tested else "none tested" if claims else ""


def claims_in_words(claims: Sequence[CheckedClaim]) -> str:
    """Return a text: how many claims hold, how many others are known as errata, and how many were not tested.

    It is empty if there are no claims.
    """
    tested = [claim for claim in claims if claim.tested]
    left = len(claims) - len(tested)
    wrong = sum(claim.fails and bool(claim.erratum) for claim in tested)
    words = [f"{how_many_hold(claims)} {'claim' if len(tested) == 1 else 'claims'} hold"] if tested else []
    words += [f"{wrong} of the others {'is' if wrong == 1 else 'are'} known as errata"] if wrong else []
    if left:
        words.append(f"{left:,} {'' if tested else 'claim ' if left == 1 else 'claims '}not tested")
    return ", ".join(words)


def check_claim(
    claim: Claim, lines: Iterable[Line], axes: Sequence[Axis], zips: Sequence[Sequence[str]]
) -> CheckedClaim:
    """Return whether a claim holds on those of the rows, `lines`, that it is about, measured and predicted.

    `axes` are those of the experiment, and `zips` lists of the names of those that move together.
    """
    relevant = [line for line in lines if line.row.metric == claim.about and line.is_about(claim.where)]
    names = [GROUP, *(axis.name for axis in axes)]
    cases = list(_cases(claim, relevant, names, zips))
    sides = {side: _judge(cases, side) for side in ("measured", "predicted")}
    untested = sides["measured"] == (None, "") and next(filter(None, map(_why_no_interval, relevant)), "")
    if untested:
        sides["measured"] = None, untested
    detail = "; ".join(f"{side}: {words}" for side, (_, words) in sides.items() if words)
    return CheckedClaim(claim.text, sides["measured"][0], sides["predicted"][0], detail, claim.erratum, bool(untested))


def _why_no_interval(line: Line) -> str:
    """Return why what was measured for a row has no interval; empty if it has one, or if the experiment asks for none.

    It asks for none with fewer replications than an interval takes, and its claims then allow for chance themselves;
    and a value that was chosen and not measured has none.
    """
    estimate = line.row.estimate
    if estimate is None or not math.isnan(estimate.error):
        return ""
    if estimate.replications < FEWEST_REPLICATIONS and not estimate.doubt.startswith(NO_INTERVAL):
        return ""
    why = estimate.doubt.removeprefix(NO_INTERVAL)
    return f"{NO_INTERVAL}: {why.removeprefix(': ')}" if why else NO_INTERVAL


def _cases(claim: Claim, lines: Sequence[Line], names: Sequence[str], zips: Sequence[Sequence[str]]) -> Iterator[Case]:
    """Yield the cases of a claim, each as the ways in which it may hold: lists of pairs that all have to hold.

    The first of a pair, a row or a limit, is to be at least the second. `names` are those of all axes and `group`, and
    `zips` are lists of the names of axes that move together.
    """
    if claim.form == "lies":
        for line in lines:
            if claim.from_ is not None:
                yield [[(line, claim.from_)]]
            if claim.to is not None:
                yield [[(claim.to, line)]]
    elif claim.order is not None:
        # Rows of the cells that are named, at equal values of all other axes.
        ordered_axes = set().union(*claim.order)
        places = [
            {_others(line, ordered_axes, names): line for line in lines if line.is_about(at)} for at in claim.order
        ]
        for larger, smaller in pairwise(places):
            yield from ([[(line, smaller[key])]] for key, line in larger.items() if key in smaller)
    else:
        for curve in _curves(str(claim.over), lines, names, zips):
            yield from _along(curve, claim)


def _along(curve: Sequence[Line], claim: Claim) -> Iterator[Case]:
    """Yield the cases of a claim along a curve of rows: that the metric rises, falls, or is largest at an allowed
    place.

    A case is a list of the ways in which it may hold, and a way a list of pairs, of which the first is to be at least
    the second.
    """
    if claim.form == "argmax":
        allowed = [
            line for line in curve if any(same_value(line.at(str(claim.over)), value) for value in claim.is_ or ())
        ]
        rest = [line for line in curve if line not in allowed]
        if allowed and rest:
            yield [[(line, other) for other in rest] for line in allowed]
    else:
        for current, next_ in pairwise(curve):
            yield [[(current, next_) if claim.form == "falls" else (next_, current)]]


def _curves(
    over: str, lines: Iterable[Line], names: Sequence[str], zips: Sequence[Sequence[str]]
) -> Iterator[list[Line]]:
    """Yield the rows along the axis `over`, a list for each combination of values of the others.

    They are in the order of its numbers, or in that of the table if it has texts. `names` are those of all axes and
    `group`, and axes that one of `zips` names together with `over` move with it.
    """
    moving = {over}.union(*(names for names in zips if over in names))
    curves: dict[Any, list[Line]] = {}
    for line in lines:
        curves.setdefault(_others(line, moving, names), []).append(line)
    for curve in curves.values():
        if all(isinstance(line.at(over), int | float) for line in curve):
            curve.sort(key=lambda line: line.at(over))
        yield curve


def _others(line: Line, moving: Iterable[str], names: Sequence[str]) -> tuple[Any, ...]:
    """Return the values of a row on those axes in `names` that are not in `moving`."""
    return tuple(line.at(name) for name in names if name not in moving)


def _judge(cases: Sequence[Case], side: str) -> tuple[bool | None, str]:
    """Return whether all cases hold, and a note on those that do not, or that are too close to tell; it may be empty.

    False is returned if one case is broken, and None if none is broken and none holds. `side` is measured or predicted.
    """
    errors = _errors_by_chance(sum(len(way) for case in cases for way in case)) if side == "measured" else 0.0
    broken, held, close = [], 0, 0
    for case in cases:
        ways = [[_lead(pair, side, errors) for pair in way] for way in case]
        if all(any(lead < -much for lead, much in way) for way in ways):
            broken.append(case)
        elif any(all(lead >= -ROUNDING for lead, _ in way) for way in ways):
            held += 1
        elif not any(math.isnan(lead) for way in ways for lead, _ in way):
            close += 1
    if broken:
        statements = [_broken_statement(case, side) for case in broken[:MOST_BROKEN_SHOWN]]
        more = [f"and in {len(broken) - MOST_BROKEN_SHOWN} more cases"] if len(broken) > MOST_BROKEN_SHOWN else []
        return False, f"not {', nor '.join([*statements, *more])}"
    if not held:
        return None, "too close to tell" if close else ""
    return True, f"{close} of {held + close} too close to tell" if close else ""


def _errors_by_chance(count: int) -> float:
    """Return how many standard errors the largest of `count` differences may be by chance, as a number above 0.

    That one of them is more has a probability of at most FAMILY / 2.
    """
    from scipy.special import ndtri

    return -float(ndtri(FAMILY / 2 / max(count, 1)))


def _lead(pair: Pair, side: str, errors: float) -> tuple[float, float]:
    """Return how far the first of a pair is above the second, and how far below it may seem to be by mere chance.

    Both are in the unit of the metric, the first negative if it is below. `side` is measured or predicted. For
    measurements the second is `errors` standard errors of their difference, for predictions the sum of their
    accuracies.
    """
    (a, doubt), (b, other) = (_number(term, side) for term in pair)
    return a - b, (errors * math.hypot(doubt, other) if side == "measured" else doubt + other) + ROUNDING


def _number(term: Term, side: str) -> tuple[float, float]:
    """Return a row's value and its standard error if `side` is measured, or its accuracy if it is predicted.

    A limit is its own value, without error. The value is NaN if the row has none, or if it was measured without an
    interval, which tells nothing of how far off it is.
    """
    if isinstance(term, float):
        return term, 0.0
    if side == "predicted":
        return term.row.prediction.value, term.row.accuracy or 0.0
    estimate = term.row.estimate
    if estimate is None or _why_no_interval(term):
        return math.nan, 0.0
    return estimate.value, 0.0 if math.isnan(estimate.error) else estimate.error


def _broken_statement(case: Case, side: str) -> str:
    """Return in words that pair of a case which is farthest from what is claimed; `side` is measured or predicted.

    Such as "k = 3 (0.5) above k = 9 (0.7)".
    """
    leads = [(pair, _number(pair[0], side)[0] - _number(pair[1], side)[0]) for way in case for pair in way]
    pair, _ = min((lead for lead in leads if not math.isnan(lead[1])), key=lambda lead: lead[1])
    return " above ".join(_words(term, side) for term in pair)


def _words(term: Term, side: str) -> str:
    """Return a term of a pair as text: a limit, or the cell of a row with its value; `side` is measured or
    predicted.
    """
    value = f"{_number(term, side)[0]:.5g}"
    return value if isinstance(term, float) else f"{term.cell.words or term.row.group} ({value})"


# ---- Errata, and what is expected


def contradictions(lines: Iterable[Line]) -> list[str]:
    """Return a sentence for each row that contradicts its printed value and does not differ from its own prediction."""
    return [_sentence(line, line.printed[0]) for line in lines if _contradicts(line, "printed")]


def shown_errata(
    errata: Mapping[str, Erratum], lines: Sequence[Line], claims: Iterable[CheckedClaim]
) -> tuple[ShownErratum, ...]:
    """Return the mistakes of the paper that a table shows: those with a name, in the order of the file, then others.

    They show in stated values that rows contradict, and in claims that fail. A printed value that names no mistake has
    one to itself.
    """
    cells: dict[str, list[str]] = {name: [] for name in errata}
    unnamed = []
    for name in ("printed", "expected"):
        for line in lines:
            stated = getattr(line, name)[0]
            if _contradicts(line, name) and stated.erratum is not None:
                cells[stated.erratum].append(_sentence(line, stated))
            elif _contradicts(line, name) and name == "printed":
                unnamed.append(ShownErratum("", _kind(line, stated), _sentence(line, stated)))
    for claim in claims:
        if claim.erratum is not None and claim.fails:
            cells[claim.erratum].append(f"{claim.text}: {claim.detail}")
    named = [
        ShownErratum(name, erratum.kind, erratum.text, tuple(cells[name]))
        for name, erratum in errata.items()
        if cells[name]
    ]
    return (*named, *unnamed)


def expectations(lines: Iterable[Line]) -> tuple[Expectation, ...]:
    """Return for each reason to expect values how many of them agree, and sentences on those that do not.

    There are no sentences on values that show an erratum.
    """
    by_reason: dict[str, list[Line]] = {}
    for line in lines:
        if line.expected[1]:
            by_reason.setdefault(line.expected[0].reason, []).append(line)
    result = []
    for reason, expected in by_reason.items():
        others = [line for line in expected if line.expected[1] != "agree"]
        words = tuple(_sentence(line, line.expected[0]) for line in others if line.expected[0].erratum is None)
        result.append(Expectation(reason, len(expected) - len(others), len(expected), words))
    return tuple(result)


def _contradicts(line: Line, name: str) -> bool:
    """Whether a row contradicts the value beside it, and its own verdict is not that it differs from its prediction.

    `name` is printed or expected, the kind of value.
    """
    return bool(getattr(line, name)[1] == CONTRADICTS and line.row.verdict != "differ")


def _kind(line: Line, stated: StatedValue) -> str:
    """Return the kind of the mistake that the value stated for a row shows: simulation, equations or rounding.

    It is for mistakes to which the file gives no name.
    """
    if line.row.predicted is None:
        return "simulation"
    beyond = abs(line.row.predicted - stated.value) - 2 * stated.within
    return "equations" if beyond > ROUNDING else "rounding"


def _sentence(line: Line, stated: Any) -> str:
    """Return a sentence on a row of the table: the value that is stated for it, and what was predicted and measured."""
    row, values = line.row, []
    if row.predicted is not None:
        values.append(f"{row.predicted:.5g} predicted")
    if row.measured is not None:
        half = 0.0 if row.ci_low is None or row.ci_high is None else (row.ci_high - row.ci_low) / 2
        width = f" ± {half:.2g}" if 0 < half < 10 else f" ± {half:.0f}" if half else ""
        values.append(f"{row.measured:.5g}{width} measured")
    expected = isinstance(stated, Expected)
    notes = (
        [stated.reason] if expected else [stated.where, stated.reading and f"read as: {stated.reading}", stated.note]
    )
    remarks = "; ".join(filter(None, notes))
    head = f"{line.cell.words}: " if line.cell.words else ""
    sentence = f"{stated.value:g} is {'expected' if expected else 'printed'}, {', '.join(values)}"
    return f"{head}{row.group}, {row.metric.replace('_', ' ')}: {sentence}" + (f" ({remarks})" if remarks else "")
