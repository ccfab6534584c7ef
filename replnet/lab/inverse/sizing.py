"""The inverse problem: the value of one field, the smallest or the largest, at which a network meets a target.

What is asked of a network gets better or worse with the field all along: freshness rises with a rate of downloads
and falls with the depth of a tree. So the value is bracketed by growing steps in the better direction and then
closed in on: by formula where there is one, else by emulation, whose values share their random numbers and therefore
rise or fall too. In the end the network is emulated at the value found and next to it, on either side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, final

from replnet.ages import bisect_edge
from replnet.deadline import OUT_OF_TIME, OutOfTime, require_time, sharing_reasonable_time, within
from replnet.lab.experiment import emulate_whole
from replnet.lab.inverse.verifying import verify
from replnet.laws import law
from replnet.measure import Row, is_metric_on_request
from replnet.network import Given, Network, network_of
from replnet.run import (
    INTERRUPTED,
    Emulated,
    Progress,
    Result,
    Settings,
    TabularResult,
    Threshold,
    predict,
    read_threshold,
)
from replnet.text import FieldError, InputError

BY_FORMULA = "by formula"
CLOSE_BY_FORMULA = 1e-6  # relative width of a bracket by formula
CLOSE_BY_EMULATION = 1e-3  # relative width of a bracket by emulation
FARTHEST = 1e6  # from where the search begins, either way
STEP_FACTOR = 2.0
LEAST_PROGRESS = 0.01  # of the missing margin, by one step
SEARCH_RUNS, ANSWER_RUNS = 13, 3  # emulations of a search and of its answer between its neighbours, about
NEIGHBOUR_DISTANCE = 0.1  # how much less and more the values next to the answer are; whole numbers are neighbours
# the field that is varied if nobody says which: the first of these that the network has
USUAL_FIELDS = ("budget", "polls.rate", "downloads.rate")
LOAD_FIELDS = dict.fromkeys(("service_rate", "queueing_delay", "rejected"), ("bandwidth",))  # by metric, in their place
AROUND_COLUMNS = ("value", "meets", "group", "metric", "predicted", "measured", "ci_low", "ci_high")

Number = float | int
Margin = Callable[[Number], float]  # by a value of the field, how far the worst group is on the right side


@final
@dataclass(frozen=True)
class Sized(TabularResult):
    """The value of a field at which a network meets the target, with the network emulated there and next to it.

    `key` is the dotted name of the field, `how` says how the value was found, `extreme` whether it is the smallest or
    the largest that meets the `target`, and `near` has the results of the values next to it.
    """

    key: str
    value: Number
    target: Threshold
    extreme: str
    predicted: float | None
    how: str
    result: Emulated
    near: dict[Number, Emulated]
    stopped: str = ""  # why it ended early, if it did

    @property
    def incomplete(self) -> str:
        """A text that says why the networks were not emulated in full; empty otherwise."""
        results = (self.result, *self.near.values())
        return next((result.incomplete for result in results if result.incomplete), self.stopped)

    @cached_property
    def around(self) -> list[dict[str, Any]]:
        """The rows of the answer and its neighbours: whether each meets the target, and its group that is worst off."""
        rows = []
        for value, result in sorted({**self.near, self.value: self.result}.items()):
            if not result.rows:  # there was no time left for it
                continue
            margins = {self._margin(row): row for row in _target_rows(result, self.target)}
            rows.append({"value": value, "meets": min(margins) >= 0, **margins[min(margins)].data()})
        return rows

    def _margin(self, row: Row) -> float:
        """Return by how much a row is on the right side of the target; below 0 on the wrong side.

        A value found by formula is judged by the row's prediction first: it is at the edge, and chance decides on which
        side of it that is measured. A value found by emulation is judged by the measurement first.
        """
        sides = (row.predicted, row.measured) if self.how == BY_FORMULA else (row.measured, row.predicted)
        return _margin(sides, self.target)

    @cached_property
    def table(self) -> Any:
        """The answer between its neighbours, as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.around, columns=list(AROUND_COLUMNS))

    def __str__(self) -> str:
        words = f"{self.key} = {self.value:.6g}, the {self.extreme} that meets {self.target.text}, {self.how}"
        return f"{words}\n{self.table.to_string(index=False, na_rep='')}"


def size(
    network: Given,
    target: float | str,
    *,
    overrides: Iterable[str] = (),
    vary: str | None = None,
    seed: int = 1,
    precision: float = 0.002,
    progress: Progress | None = None,
    workers: int | None = None,
    address: str | None = None,
    budget: float | str | None = None,
) -> Sized:
    """Find the value of the field `vary` at which every group just meets a target: the smallest, or the largest.

    Without `vary` it is the budget, the rate of polls or that of downloads, whichever the network has first, or the
    bandwidth for a metric of load. A target is a freshness, or a demand on any metric, of all groups or of one: `lag <=
    3`, `level 2: currency(2) >= 0.95`. Of many sources it is about their mean, unless the group is one of them. The
    largest value is sought if larger ones are worse. A `budget` in seconds, or such as 10m, ends the search as Ctrl-C
    does: with the value if that is found and emulated, and otherwise with OutOfTime (or KeyboardInterrupt), which says
    what was seen by then. Without a budget, nothing is begun that would take a night.

    >>> result = rn.size("single", "freshness >= 0.9", precision=0.01)
    >>> result.key, round(result.value, 3), result.extreme
    ('downloads.rate', 9.0, 'smallest')
    >>> result.table[["value", "meets"]].round(3)
       value  meets
    0    8.1  False
    1    9.0   True
    2    9.9   True
    >>> rn.size("cascade", "lag <= 2", vary="depth", precision=0.02).value
    4
    """
    network = network_of(network, overrides)
    goal = _parse_target(target, network)
    key, start = _field(network.data(), vary, goal.metric)
    measure = (goal.metric,) if is_metric_on_request(goal.metric) else ()
    averaged = goal.metric == "freshness" and network.kind != "aggregate"
    settings = Settings(None, "conditional" if averaged else "sampled", seed, None, precision, None, 0.02, measure)
    tell = progress or (lambda share, words: None)
    share = 0.0  # of all the work, that is done before the answer is emulated
    with within(budget):
        tell(share, f"{key}, by formula")
        edge, how = _size_by_formula(network, key, start, goal), BY_FORMULA
        if edge is None:
            share, how = SEARCH_RUNS / (SEARCH_RUNS + ANSWER_RUNS), "by emulation with common random numbers"
            edge = _size_by_emulation(network, key, start, goal, settings, tell, workers=workers, address=address)
        value, extreme = edge
        values = [value, *filter(_value_check(network, key), _neighbours(value))]
        networks = [(f"{key} = {candidate:.6g}", _with_value(network, key, candidate)) for candidate in values]
        rest: Progress = lambda done, words: tell(share + (1 - share) * done, words)  # noqa: E731
        with _explain_interrupts(
            lambda: f"{key} = {value:.6g}, {how}, is the {extreme} that meets it, and is not emulated yet"
        ):
            predicted = _predict_worst(network, key, value, goal)
            results, stopped = verify(networks, settings, rest, workers=workers, address=address)
            if not results:
                raise OutOfTime if stopped.startswith(OUT_OF_TIME) else KeyboardInterrupt
    near = dict(zip(values[1:], results[1:], strict=False))
    return Sized(key, value, goal, extreme, predicted, how, results[0], near, stopped)


def predicted_size(network: Given, target: float | str) -> tuple[str, Number | None]:
    """Return the field that is varied where nobody says which, and its value that just meets the target by formula.

    The value is None if there is no formula. Raises FieldError if any value meets the target, or none does.
    """
    network = network_of(network)
    goal = _parse_target(target, network)
    key, start = _field(network.data(), None, goal.metric)
    edge = _size_by_formula(network, key, start, goal)
    return key, edge and edge[0]


def _parse_target(target: float | str, network: Network) -> Threshold:
    """Return the demand that a target makes of a network; a number is a freshness. Raises FieldError."""
    goal = read_threshold(target if isinstance(target, str) else f"freshness >= {target!r}", "target", network.unit)
    goal.require_open()
    if goal.metric == "freshness" and not 0 < goal.bound < 1:
        raise FieldError("target", f"{goal.bound:g} is not a freshness to reach", "above 0 and below 1")
    return goal


def _with_value(network: Network, key: str, value: Number) -> Network:
    """Return the network with `value` in the field `key`, such as downloads.rate; raise InputError if it is wrong."""
    return network_of(network, [f"{key}={value!r}"])


def _value_check(network: Network, key: str) -> Callable[[Number], bool]:
    """Return a function that says whether the network may have a value in the field `key`, such as downloads.rate."""

    def is_allowed(value: Number) -> bool:
        try:
            _with_value(network, key, value)
        except InputError:
            return False
        return True

    return is_allowed


def _neighbours(value: Number) -> tuple[Number, Number]:
    """Return the values below and above a value: one off from a whole number, a tenth off from any other."""
    return (
        (value - 1, value + 1)
        if isinstance(value, int)
        else (value * (1 - NEIGHBOUR_DISTANCE), value * (1 + NEIGHBOUR_DISTANCE))
    )


# ---- How far the target is met


def _target_rows(result: Result, goal: Threshold) -> list[Row]:
    """Return the rows of a result that the target `goal` is about; raise FieldError if there are none."""
    rows = result.about(goal.metric, goal.group)
    if not rows:
        names = ", ".join(f"'{row.group}: {row.metric}'" for row in result.rows)
        raise FieldError("target", f"nothing will match {goal.text!r}", f"there is {names}")
    return rows


def _margin(values: Iterable[float | None], goal: Threshold) -> float:
    """Return by how much the first value that is not None is on the right side of the target; below 0 if it is not.

    It is minus infinity if all are None.
    """
    value = next((value for value in values if value is not None), None)
    return -math.inf if value is None else goal.margin(value)


def _worst_margin(result: Result, goal: Threshold) -> float:
    """Return by how much the measured group that is worst off is on the right side of the target; below 0 if not."""
    return min(_margin((row.measured,), goal) for row in _target_rows(result, goal))


def _predict_worst(network: Network, key: str, value: Number, goal: Threshold) -> float | None:
    """Return the prediction for the group that is worst off, with `value` in the field `key`.

    It is None if there is no formula for one of the groups that the target `goal` is about.
    """
    measure = (goal.metric,) if is_metric_on_request(goal.metric) else ()
    predictions = [row.predicted for row in _target_rows(predict(_with_value(network, key, value), measure), goal)]
    require_time()  # a missing prediction may only have run out of time
    return (
        None
        if None in predictions
        else min((prediction for prediction in predictions if prediction is not None), key=goal.margin)
    )


def _size_by_formula(network: Network, key: str, start: Number, goal: Threshold) -> tuple[Number, str] | None:
    """Find by formula the value of the field `key` at which `goal` is just met; None if there is no formula at `start`.

    Returns it, and whether it is the smallest or the largest. The search begins at `start`.
    """
    if _predict_worst(network, key, start, goal) is None:
        return None

    def margin(value: Number) -> float:
        return _margin((_predict_worst(network, key, value, goal),), goal)

    return _find_edge(key, start, goal, margin, _value_check(network, key), CLOSE_BY_FORMULA)


def _size_by_emulation(
    network: Network, key: str, start: Number, goal: Threshold, settings: Settings, tell: Progress, **how: Any
) -> tuple[Number, str]:
    """Find by emulation the value of the field `key` at which `goal` is just met.

    Returns it, and whether it is the smallest or the largest. The search begins at `start`, `tell` gets its progress,
    and `how` has workers and address.
    """
    runs = count(1)

    def margin(value: Number) -> float:
        number = next(runs)

        def look(share: float, words: str) -> None:
            done = (min(number, SEARCH_RUNS) - 1 + share) / (SEARCH_RUNS + ANSWER_RUNS)
            tell(done, f"{key} = {value:.6g}, emulated (number {number} of about {SEARCH_RUNS + ANSWER_RUNS}): {words}")

        return _worst_margin(emulate_whole(_with_value(network, key, value), settings, progress=look, **how), goal)

    with sharing_reasonable_time(SEARCH_RUNS + ANSWER_RUNS):
        return _find_edge(key, start, goal, margin, _value_check(network, key), CLOSE_BY_EMULATION)


# ---- The search


def _find_edge(
    key: str, start: Number, goal: Threshold, margin: Margin, allowed: Callable[[Number], bool], close: float
) -> tuple[Number, str]:
    """Return the value of the field `key` at which `goal` is just met, and whether it is the smallest or the largest.

    The search begins at `start`. `margin` is by how much a value meets the goal, `allowed` whether the field may have
    it, and `close` the relative width at which the search ends. Raises FieldError if all values meet it, or none do.
    """
    seen = dict[Number, float]()

    def cached_margin(value: Number) -> float:
        if value not in seen:
            seen[value] = margin(value)
        return seen[value]

    def words() -> str:
        values = (f"{key} = {value:.6g} {'meets' if seen[value] >= 0 else 'misses'} it" for value in sorted(seen))
        return ", ".join(values) or f"no {key} was looked at"

    with _explain_interrupts(words):
        least = _improves(start, cached_margin, allowed)
        met, missed = _bracket(key, start, goal, cached_margin, allowed, STEP_FACTOR if least else 1 / STEP_FACTOR)
        return bisect_edge(
            met, missed, lambda value: cached_margin(value) >= 0, close
        ), "smallest" if least else "largest"


@contextmanager
def _explain_interrupts(words: Callable[[], str]) -> Iterator[None]:
    """Add the text that `words` returns to an interrupt, or to the end of a budget, that comes while the body runs."""
    try:
        yield
    except KeyboardInterrupt as why:
        raise type(why)(f"{why.args[0] if why.args else INTERRUPTED}: {words()}") from None


def _improves(start: Number, margin: Margin, allowed: Callable[[Number], bool]) -> bool:
    """Whether the margin by which the target is met grows with the field at `start`, or at least does not fall.

    It is judged by a step to a value that is `allowed`, up or else down, and true if there is none.
    """
    up, down = _step(start, STEP_FACTOR), _step(start, 1 / STEP_FACTOR)
    if allowed(up):
        return margin(up) >= margin(start)
    return not allowed(down) or margin(start) >= margin(down)


def _step(value: Number, factor: float) -> Number:
    """Return a value times a factor; a whole number stays one, and at least 1."""
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


def _bracket(
    key: str, start: Number, goal: Threshold, margin: Margin, allowed: Callable[[Number], bool], better: float
) -> tuple[Number, Number]:
    """Return a value of the field `key` that meets the target and one that does not, by steps from `start`.

    A step is the factor `better`, or its inverse if `start` meets the target. `margin` is by how much a value meets it,
    and `allowed` whether the field may have it. Raises FieldError if all values tried meet it, or none do.
    """
    met = margin(start) >= 0
    factor = 1 / better if met else better
    value, margins = start, [margin(start)]
    while start / FARTHEST < value < start * FARTHEST and not (not met and _stuck(margins)):
        before, value = value, _step(value, factor)
        last = not allowed(value)
        if last:
            value = bisect_edge(before, value, allowed, CLOSE_BY_EMULATION)
        if value == before:
            break
        margins.append(margin(value))
        if (margins[-1] >= 0) != met:
            return (before, value) if met else (value, before)
        if last:
            break
    way = "down" if factor < 1 else "up"
    if met:
        raise FieldError("target", f"{goal.text!r} is met by any {key}, {way} to {value:.6g}", "a harder target")
    reached = goal.bound + (max(margins) if goal.above else -max(margins))
    wrong = f"{goal.text!r} is out of reach of {key}: {way} to {value:.6g} it reaches {reached:.4g}"
    raise FieldError("target", wrong, "an easier target, or another field to vary")


def _stuck(margins: list[float]) -> bool:
    """Whether steps bring less and less, and the last one hardly any of what is missing; `margins` has one per step."""
    if len(margins) < 3 or not math.isfinite(margins[-3]):
        return False
    before, last = margins[-2] - margins[-3], margins[-1] - margins[-2]
    return last <= before and last < -LEAST_PROGRESS * margins[-1]


# ---- The field


def _field(data: Any, vary: str | None, metric: str) -> tuple[str, Number]:
    """Return the dotted name of the field to vary, and its value now.

    That is the field `vary`, or if it is None the first that the network with this data has of those usual for the
    metric of the target. Raises FieldError if there is no such number.
    """
    for key in LOAD_FIELDS.get(metric, USUAL_FIELDS) if vary is None else (vary,):
        if (value := _number_at(data, key)) is not None:
            return key, value
    if vary is None:
        right = LOAD_FIELDS.get(metric, ("downloads.rate",))[0]
        raise FieldError("vary", "which field is to be found?", f"such as {right}")
    right = "such as downloads.rate, polls.rate, budget or peers"
    raise FieldError("vary", f"{vary} is no number of this network", right)


def _number_at(data: Any, key: str) -> Number | None:
    """Return the number at a dotted key, or the rate of a law, however the law is written; None if there is none."""
    for part in key.split("."):
        if isinstance(data, dict) and part in data:
            data = data[part]
        elif isinstance(data, list) and part.isdigit() and 1 <= int(part) <= len(data):
            data = data[int(part) - 1]
        elif isinstance(data, str) and part == "rate":
            data = law(data).rate
        else:
            return None
    return data if isinstance(data, int | float) and not isinstance(data, bool) else None
