"""From a target to a network: which architecture, which law of pulls and rates meet it with the fewest messages.

Every candidate serves so many replicas with the same updates, and meets the target by formula. What is left to choose,
for each architecture and each law of pulls by itself, is how many nodes its upper tiers have, and its rates: those of
the fewest messages with which no node answers more than it may (rate_search.py). Where the limit cannot be kept to,
they are those with which the busiest node answers the least. In the end the best candidates are emulated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from typing import Any, final

from replnet.deadline import within, within_reason
from replnet.lab.inverse.architectures import CandidateNetwork, Needs, architectures
from replnet.lab.inverse.rate_search import DIGITS, RateSearch
from replnet.lab.inverse.sizing import LOAD_FIELDS
from replnet.lab.inverse.targets import (
    SearchResult,
    later_part,
    read_target,
    settings_for,
    verify,
    words_of_interrupt,
)
from replnet.laws import Law, at_rate, law
from replnet.network import Network, TimeUnit
from replnet.run import Emulated, Progress, Threshold
from replnet.text import MICROSECONDS, FieldError, rate_in, short_repr, without_units

POLICIES = ("exponential(rate=1)", "constant(rate=1)")
MOST_VERIFIED = 3  # how many of the best candidates are emulated
SHARE_OF_FORMULAS = 0.7  # of all the work, as progress tells it
EXAMPLE_TARGETS = "such as freshness >= 0.9 or lag <= 3"
COLUMNS = (
    "architecture", "pulls", "rates", "messages", "at source", "busiest", "fits", "predicted", "measured", "ci_low",
    "ci_high", "verdict",
)  # fmt: skip


@final
@dataclass(frozen=True)
class Candidate:
    """An architecture that meets the target by formula, with the emulated `result` if it is one of the best.

    `pulls` is the name of the law of its pulls, `built` its network with the cheapest rates, `fits` whether no node
    answers more than it may, and `predicted` the value of the target's metric.
    """

    architecture: str
    pulls: str
    built: CandidateNetwork
    fits: bool
    predicted: float
    result: Emulated | None = field(default=None, repr=False)

    @property
    def network(self) -> Network:
        """The network of the candidate at its rates."""
        return self.built.network

    @property
    def rank(self) -> tuple[bool, float]:
        """A key to sort candidates by: those within the limit first, by all messages per unit of time, then the others
        by the requests that their busiest node answers.
        """
        return not self.fits, self.built.messages if self.fits else self.built.busiest

    def row(self, metric: str) -> dict[str, Any]:
        """Return the candidate's row of the table, by COLUMNS; `metric` is the target's.

        The columns of the measurement are None if the candidate was not emulated.
        """
        rows = self.result.about(metric, self.built.shape.group) if self.result else []
        measured = rows[0].data() if rows else {}
        rates = ", ".join(f"{name} {rate:.{DIGITS}g}" for name, rate in self.built.rates_by_name.items())
        predicted_part = (
            self.architecture, self.pulls, rates, self.built.messages, self.built.answers["source"],
            self.built.busiest, self.fits, self.predicted,
        )  # fmt: skip
        return dict(zip(COLUMNS, predicted_part, strict=False)) | {
            name: measured.get(name) for name in COLUMNS[len(predicted_part) :]
        }


@final
@dataclass(frozen=True, repr=False)
class Design(SearchResult):
    """The candidates, the best first: those within the limit, by messages, and then the others by their busiest node.

    `left_out` says why an architecture is not among them, by its name, or by its name and the law of pulls if it is
    among them with another. `stopped` says why the search ended early, and is empty if it did not.
    """

    columns = COLUMNS

    target: Threshold
    candidates: tuple[Candidate, ...]
    left_out: Mapping[str, str]
    stopped: str = ""

    @property
    def best(self) -> Candidate:
        """The first candidate: the one of fewest messages, or with the least busy node if none keeps within the
        limit.
        """
        return self.candidates[0]

    @property
    def emulations(self) -> list[Emulated]:
        """The results of the candidates that were emulated, the best candidate first."""
        return [candidate.result for candidate in self.candidates if candidate.result]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table, one per candidate, the best first, each by COLUMNS."""
        return [candidate.row(self.target.metric) for candidate in self.candidates]


def design(
    updates: Law | str,
    replicas: int,
    target: float | str,
    *,
    unit: TimeUnit | None = None,
    limit: float | str = math.inf,
    queries: float | str = 0.0,
    pulls: Law | str | Iterable[Law | str] = POLICIES,
    seed: int = 1,
    precision: float = 0.005,
    progress: Progress | None = None,
    workers: int | None = None,
    address: str | None = None,
    budget: float | str | None = None,
) -> Design:
    """Find architectures, laws of pulls and rates with which so many replicas meet a target, the fewest messages first.

    A target is a freshness, or a demand on any metric, of what clients get: `lag <= 3`. With a `unit`, such as h, all
    may have units of their own (`lag <= 5min`, `limit="100/s"`), and numbers without one and all results are in it.
    Recorded dates without a unit are in seconds, or in the unit of `trace(file=..., unit=h)`. No node is to answer more
    than `limit` requests per unit of time; `queries` are those of all clients together, per unit of time, and allow
    clients that ask several replicas. `pulls` are laws, or one, whose rates are left open. The best three are emulated,
    from `seed` and to half-widths of `precision`, and judged together; `workers`, `address` and `progress` are as of
    `emulate`. A `budget` in seconds, or such as 10m, ends the search as Ctrl-C does, with the candidates found by then.
    Raises FieldError if an argument is wrong or no candidate meets the target.

    >>> result = rn.design("exponential(rate=1)", 20, "freshness >= 0.9", limit=60, workers=0)
    >>> result.best.architecture, result.best.fits, result.best.result.verdict
    ('a tier above', True, 'agree')
    """
    if unit is not None and unit not in MICROSECONDS:
        raise FieldError("unit", f"{unit!r} is no unit of time", f"one of {', '.join(MICROSECONDS)}")
    source = _law("updates", updates, unit)
    counted_in = unit or source.unit
    goal = _read_goal(target, counted_in)
    most, per_unit = _rate("limit", limit, counted_in), _rate("queries", queries, counted_in)
    needs = _check_needs(Needs(str(source), replicas, per_unit, most, counted_in))
    several = pulls if isinstance(pulls, Iterable) and not isinstance(pulls, str) else [pulls]
    laws = [_law("pulls", text, counted_in) for text in several]
    if not laws:
        raise FieldError("pulls", "none are given", "a law, such as exponential(rate=1), or several")
    tell = progress or (lambda share, words: None)
    candidates, left_out, stopped = list[Candidate](), dict[str, str](), ""
    with within(budget), within_reason():
        try:
            _add_candidates(
                needs, laws, goal, lambda share, words: tell(SHARE_OF_FORMULAS * share, words), candidates, left_out
            )
        except KeyboardInterrupt as why:
            if not candidates:
                raise
            stopped = words_of_interrupt(why)
        if not candidates:
            raise FieldError("target", next(iter(left_out.values())), EXAMPLE_TARGETS)
        candidates.sort(key=lambda candidate: candidate.rank)
        if not stopped:
            best = candidates[:MOST_VERIFIED]
            networks = [(f"{candidate.architecture}, {candidate.pulls}", candidate.network) for candidate in best]
            settings, rest = settings_for(goal, seed, precision), later_part(tell, SHARE_OF_FORMULAS)
            results, stopped = verify(networks, settings, rest, workers=workers, address=address)
            checked = zip(candidates, results, strict=False)
            candidates[: len(results)] = [replace(candidate, result=result) for candidate, result in checked]
    return Design(goal, tuple(candidates), left_out, stopped)


def _add_candidates(
    needs: Needs,
    laws: Sequence[Law],
    goal: Threshold,
    tell: Progress,
    candidates: list[Candidate],
    left_out: dict[str, str],
) -> None:
    """Add the candidates of every architecture to `candidates`, and why others are not among them to `left_out`.

    Each architecture has a candidate for each of `laws`, those of pulls, with which it meets `goal` by formula.
    `left_out` is by architecture, or by architecture and law. `tell` is called with the share of these that is done,
    from 0 to 1, and a text.
    """
    everyone = architectures(needs)
    for at, (name, shapes) in enumerate(everyone.items()):
        why, ray = dict[str, str](), None
        # Poisson pulls have fast formulas: where they end, the search for other laws begins.
        all_laws = dict.fromkeys([law(POLICIES[0]), *laws])
        for number, pulls in enumerate(all_laws):
            done, words = (at + number / len(all_laws)) / len(everyone), f"{name}, {_family(pulls)}, by formula"
            search = RateSearch(needs, goal, pulls, shapes, partial(tell, done), words)
            try:
                best = search.best(ray)
                ray = best.ray
                if pulls in laws:
                    value = search.predict(best)
                    candidates.append(Candidate(name, _family(pulls), best, best.busiest <= needs.limit, value))
            except FieldError as error:
                if pulls in laws:
                    why[f"{name}, {_family(pulls)}"] = error.wrong
        alike = len(why) == len(laws) and len(set(why.values())) == 1
        left_out |= {name: next(iter(why.values()))} if alike else why


def _family(pulls: Law) -> str:
    """Return the name of a law without its arguments, such as exponential."""
    return str(at_rate(pulls, 1.0)).partition("(")[0]


def _check_needs(needs: Needs) -> Needs:
    """Return the needs as they are; raise FieldError if replicas, limit or queries are no possible numbers."""
    if not isinstance(needs.replicas, int) or needs.replicas < 1:
        raise FieldError("replicas", f"{needs.replicas!r} is no number of replicas", "1 or more")
    for name in ("limit", "queries"):
        value = getattr(needs, name)
        if not value >= 0 or (name == "limit" and value == 0):
            raise FieldError(name, f"{value:g} is no number per unit of time", "above 0")
    return needs


def _read_goal(target: float | str, unit: str | None) -> Threshold:
    """Return the demand that a target makes, which may be written in units if `unit` is not None.

    Raises FieldError if it is none, or none on what clients get.
    """
    try:
        goal = read_target(target, unit)
    except FieldError as error:
        raise _error_of_design(error.field, error) from None
    if goal.group or goal.metric in LOAD_FIELDS:
        raise FieldError("target", f"{goal.text!r} is not about what clients get", EXAMPLE_TARGETS)
    return goal


def _rate(field: str, value: float | str, unit: str | None) -> float:
    """Return the rate per `unit` that a user gives for a field; raise FieldError, in that field, if it is none.

    A text may have a unit of its own if `unit` is not None.
    """
    if isinstance(value, bool) or not isinstance(value, Real | str):
        raise FieldError(field, f"{short_repr(value)} is no rate", "a number, or one with a unit such as 100/h")
    try:
        return float(rate_in(value, unit, field))
    except FieldError as error:
        raise _error_of_design(field, error) from None


def _law(field: str, text: Law | str, unit: str | None) -> Law:
    """Return the law, in `unit` if that is not None, that a user gives for a field.

    Raises FieldError, in that field, if it is wrong.
    """
    try:
        given_law = law(without_units(text, unit) if isinstance(text, str) else text)
    except FieldError as error:
        raise _error_of_design(field, error, f"{text}: {error.field}: " if error.field else "") from None
    return given_law if unit is None else given_law.counted_in(unit)


def _error_of_design(field: str, error: FieldError, place: str = "") -> FieldError:
    """Return the error again, as one of a `field`, with `place` before what is wrong, in words about a design.

    An error about units speaks of a network; other words stay.
    """
    wrong = error.wrong.replace("the network has none for its times", "the design has none")
    right = error.right.replace("unit: ", "unit ").replace(" beside it", "").replace(" in the network", "")
    return FieldError(field, f"{place}{wrong}", right if wrong != error.wrong else error.right)
