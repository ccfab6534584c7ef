"""The inverse problem: the value of one field, the smallest or the largest, at which a network meets a target.

What is asked of a network gets better or worse with the field all along: freshness rises with a rate of downloads
and falls with the depth of a tree. So the value is bracketed by growing steps in the better direction and then
closed in on: by formula where there is one, else by emulation, whose values share their random numbers and therefore
rise or fall too. In the end the network is emulated at the value found and next to it, on either side.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, final

from replnet.ages import bisect_edge
from replnet.deadline import (
    OUT_OF_TIME,
    OutOfTime,
    require_reasonable,
    require_time,
    sharing_reasonable_time,
    within,
    within_reason,
)
from replnet.lab.experiment import emulate_so_far, require_whole
from replnet.lab.inverse.targets import (
    SearchResult,
    later_part,
    margin_of,
    predict_worst,
    read_target,
    settings_for,
    target_rows,
    verify,
    words_of_interrupt,
)
from replnet.laws import law
from replnet.measure import Row
from replnet.network import Given, Network, network_of
from replnet.run import Emulated, Progress, Settings, Threshold
from replnet.text import DocumentError, FieldError, interval_words

BY_FORMULA = "by formula"
CLOSE_BY_FORMULA = 1e-6  # relative width of a bracket by formula
CLOSE_BY_EMULATION = 1e-3  # relative width of a bracket by emulation
FARTHEST = 1e6  # from where the search begins, either way
STEP_FACTOR = 2.0
LEAST_PROGRESS = 0.01  # of the missing margin, by one step
SEARCH_PREDICTIONS = 24  # of a search by formula, about
SEARCH_RUNS, ANSWER_RUNS = 13, 3  # emulations of a search and of its answer between its neighbours, about
NEIGHBOUR_DISTANCE = 0.1  # how much less and more the values next to the answer are; whole numbers are neighbours
# the field that is varied if nobody says which: the first of these that the network has
USUAL_FIELDS = ("budget", "polls.rate", "downloads.rate")
LOAD_FIELDS = dict.fromkeys(("service_rate", "queueing_delay", "rejected"), ("bandwidth",))  # by metric, in their place

Number = float | int
Edge = tuple[Number, str]
"""A value at which a target is just met, and whether it is the "smallest" or the "largest" that meets it."""
Margin = Callable[[Number], float]  # of the group that is worst off, by a value of the field


@final
@dataclass(frozen=True, repr=False)
class Sized(SearchResult):
    """The value of a field at which a network meets the target, with the network emulated there and next to it.

    `key` is the dotted name of the field, `how` says how the `value` was found, and `extreme` whether it is the
    "smallest" or the "largest" that meets the `target`. `predicted` is the value of the target's metric there by
    formula for the group worst off, or None; `result` is emulated there, and `near` has the results next to it, by
    value. `stopped` says why it ended early, and is empty if it did not.
    """

    columns = ("value", "meets", "group", "metric", "predicted", "measured", "ci_low", "ci_high")

    key: str
    value: Number
    target: Threshold
    extreme: str
    predicted: float | None
    how: str
    result: Emulated
    near: dict[Number, Emulated]
    stopped: str = ""

    @property
    def emulations(self) -> tuple[Emulated, ...]:
        """The results of the value and of those next to it."""
        return (self.result, *self.near.values())

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the answer and its neighbours by `columns`, the least value first.

        Each says whether the value meets the target, and has the row of the group that is worst off there.
        """
        rows = []
        for value, result in sorted({**self.near, self.value: self.result}.items()):
            if result.rows:  # else there was no time left for it
                worst = min(target_rows(result, self.target), key=self._margin)
                rows.append({"value": value, "meets": self._margin(worst) >= 0, **worst.data()})
        return rows

    def _margin(self, row: Row) -> float:
        """Return by how much a row is better than the target, in the unit of the metric; below 0 if it misses it.

        A value found by formula is judged by the row's prediction first: it is at the edge, and chance decides on which
        side of it that is measured. A value found by emulation is judged by the measurement first.
        """
        sides = (row.predicted, row.measured) if self.how == BY_FORMULA else (row.measured, row.predicted)
        return margin_of(self.target, *sides)

    def value_words(self, value: Number) -> str:
        """Return a value of the field as text: a rate below one a minute with its interval, such as 0.5 (every 2 h)."""
        is_rate = self.key.rpartition(".")[2] in ("rate", "budget", "bandwidth")
        words = interval_words(value, self.result.unit) if is_rate else ""
        return f"{value:.6g}{f' ({words})' if words else ''}"

    def _headline(self) -> str:
        value = self.value_words(self.value)
        return f"{self.key} = {value}, the {self.extreme} that meets {self.target.text}, {self.how}"


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
    what was seen by then. Without a budget, nothing is begun that would take a night. Emulations are to half-widths of
    `precision`, all from `seed`; `overrides` are `key=value`, and `workers`, `address` and `progress` as of `emulate`.

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
    search = FieldSearch(network, vary, target)
    key, goal = search.key, search.goal
    averaged = goal.metric == "freshness" and network.kind != "aggregate"
    settings = settings_for(goal, seed, precision, "conditional" if averaged else "sampled")
    tell = progress or (lambda share, words: None)
    share = SEARCH_PREDICTIONS / (SEARCH_PREDICTIONS + ANSWER_RUNS)  # of all work, done before the answer is emulated
    with within(budget), within_reason():
        with _explain_interrupts(search.describe):
            edge, how = search.by_formula(tell), BY_FORMULA
            if edge is None:
                share, how = SEARCH_RUNS / (SEARCH_RUNS + ANSWER_RUNS), "by emulation with common random numbers"
                edge = search.by_emulation(settings, tell, workers=workers, address=address)
        value, extreme = edge
        values = [value, *filter(search.allows, _neighbours(value))]
        networks = [(f"{key} = {candidate:.6g}", search.network(candidate)) for candidate in values]
        with _explain_interrupts(
            lambda: f"{key} = {value:.6g}, {how}, is the {extreme} that meets it, and is not emulated yet"
        ):
            predicted = search.predict(value)
            results, stopped = verify(networks, settings, later_part(tell, share), workers=workers, address=address)
            if not results:
                raise OutOfTime if stopped.startswith(OUT_OF_TIME) else KeyboardInterrupt
    near = dict(zip(values[1:], results[1:], strict=False))
    return Sized(key, value, goal, extreme, predicted, how, results[0], near, stopped)


def predicted_size(network: Given, target: float | str) -> tuple[str, Number | None]:
    """Return the dotted name of the field that `size` varies by default, and its value that just meets the target.

    The value is that by formula, and None if there is no formula. Raises FieldError if any value meets the target, or
    none does.
    """
    search = FieldSearch(network_of(network), None, target)
    edge = search.by_formula(lambda share, words: None)
    return search.key, edge and edge[0]


def _neighbours(value: Number) -> tuple[Number, Number]:
    """Return the values below and above a value: one off from a whole number, a tenth off from any other."""
    return (
        (value - 1, value + 1)
        if isinstance(value, int)
        else (value * (1 - NEIGHBOUR_DISTANCE), value * (1 + NEIGHBOUR_DISTANCE))
    )


@contextmanager
def _explain_interrupts(words: Callable[[], str]) -> Iterator[None]:
    """Add the text that `words` returns to an interrupt, or to the end of a budget, that comes while the body runs."""
    try:
        yield
    except KeyboardInterrupt as why:
        raise type(why)(f"{words_of_interrupt(why)}: {words()}") from None


# ---- The search


@final
class FieldSearch:
    """The search for the value of one field of a network at which a target is just met.

    The field is `vary`, or if that is None the first that the network has of those usual for the target's metric. The
    search begins at its value in the network, or at 1 if that is 0, from where no factor leads on. `key` is
    the dotted name of the field, and `goal` the target. Raises FieldError if there is no such field, or if the target
    makes no sense.
    """

    def __init__(self, network: Network, vary: str | None, target: float | str) -> None:
        self._network = network
        self.goal = read_target(target, network.unit)
        if self.goal.metric == "freshness" and not 0 < self.goal.bound < 1:
            raise FieldError("target", f"{self.goal.bound:g} is not a freshness to reach", "above 0 and below 1")
        self.key, value = _field(network.data(), vary, self.goal.metric)
        self._start = value or (1 if isinstance(value, int) else 1.0)
        self._margins = dict[Number, float]()  # by value
        self._unfinished = ""  # what is known of the value that was looked at when the search was interrupted

    def network(self, value: Number) -> Network:
        """Return the network with this value in the field; raise DocumentError if it may not have it."""
        return network_of(self._network, [f"{self.key}={value!r}"])

    def allows(self, value: Number) -> bool:
        """Whether the network may have this value in the field."""
        try:
            self.network(value)
        except DocumentError:
            return False
        return True

    def predict(self, value: Number) -> float | None:
        """Return the target's metric by formula at a value of the field, for the group that is worst off.

        It is None if one of the groups has no formula.
        """
        return predict_worst(self.network(value), self.goal)

    def by_formula(self, tell: Progress) -> Edge | None:
        """Return the edge that formulas give; None if there is no formula where the search begins.

        `tell` is called with the share of all work that is done and a text. Raises FieldError if all values meet the
        target, or none do, and UnreasonableError if formulas are so slow that it would take a night.
        """
        numbers = count(1)

        def predict(value: Number) -> float | None:
            number, begun = next(numbers), time.perf_counter()
            done = min(number - 1, SEARCH_PREDICTIONS) / (SEARCH_PREDICTIONS + ANSWER_RUNS)
            tell(done, f"{self.key} = {value:.6g}, by formula (number {number} of about {SEARCH_PREDICTIONS})")
            predicted = self.predict(value)
            left = max(SEARCH_PREDICTIONS - number, 0) * (time.perf_counter() - begun)
            require_reasonable(left, f"{self.key}: {SEARCH_PREDICTIONS} predictions such as that at {value:.6g}")
            return predicted

        self._margins.clear()
        if (first := predict(self._start)) is None:
            return None
        self._margins[self._start] = margin_of(self.goal, first)
        return self._find_edge(lambda value: margin_of(self.goal, predict(value)), CLOSE_BY_FORMULA)

    def by_emulation(self, settings: Settings, tell: Progress, **how: Any) -> Edge:
        """Return the edge that emulations by `settings` give, which share their random numbers.

        `tell` is called with the share of all work that is done and a text; `how` has workers and address. Raises
        FieldError if all values meet the target, or none do.
        """
        runs = count(1)

        def margin(value: Number) -> float:
            number = next(runs)

            def look(share: float, words: str) -> None:
                done = (min(number, SEARCH_RUNS) - 1 + share) / (SEARCH_RUNS + ANSWER_RUNS)
                part = f"emulated (number {number} of about {SEARCH_RUNS + ANSWER_RUNS})"
                tell(done, f"{self.key} = {value:.6g}, {part}: {words}")

            result = emulate_so_far(self.network(value), settings, progress=look, **how)
            self._unfinished = self._describe_run(value, result) if result.incomplete else ""
            require_whole(result)
            require_time()
            return min(margin_of(self.goal, row.measured) for row in target_rows(result, self.goal))

        self._margins.clear()
        with sharing_reasonable_time(SEARCH_RUNS + ANSWER_RUNS):
            return self._find_edge(margin, CLOSE_BY_EMULATION)

    def _find_edge(self, margin: Margin, close: float) -> Edge:
        """Return the edge: the value at which the margin reaches 0, and whether it is the "smallest" or "largest" that
        meets the target.

        `close` is the relative width at which the search ends. Margins that are known already are not computed again.
        Raises FieldError if all values meet the target, or none do.
        """

        def cached_margin(value: Number) -> float:
            if value not in self._margins:
                self._margins[value] = margin(value)
            return self._margins[value]

        rises = self._rises(cached_margin)
        met, missed = self._bracket(cached_margin, STEP_FACTOR if rises else 1 / STEP_FACTOR)
        edge = bisect_edge(met, missed, lambda value: cached_margin(value) >= 0, close)
        return edge, "smallest" if rises else "largest"

    def describe(self) -> str:
        """Return a text that says how far the search is: which values meet the target, as far as they were looked at.

        Of values on both sides of the target it names the two that are nearest to it.
        """
        values = sorted(self._margins)
        meets = [self._margins[value] >= 0 for value in values]
        if True in meets and False in meets:
            edge = next(place for place in range(1, len(values)) if meets[place] != meets[place - 1])
            values = values[edge - 1 : edge + 1]
        words = [f"{self.key} = {v:.6g} {'meets' if self._margins[v] >= 0 else 'misses'} it" for v in values]
        return ", ".join([*words, *filter(None, [self._unfinished])]) or f"no {self.key} was looked at"

    def _describe_run(self, value: Number, result: Emulated) -> str:
        """Return in words the interval that an interrupted run at this value has measured; empty if it has none.

        Of several groups it is that of the one that is farthest from meeting the target.
        """
        rows = target_rows(result, self.goal) if result.rows else []
        worst = min(rows, key=lambda row: margin_of(self.goal, row.measured), default=None)
        if worst is None or worst.ci_low is None or worst.ci_high is None:
            return ""
        return f"{self.key} = {value:.6g} has {self.goal.metric} {worst.ci_low:.4g} .. {worst.ci_high:.4g} so far"

    def _rises(self, margin: Margin) -> bool:
        """Whether the margin grows with the field where the search begins, or at least does not fall.

        It is judged by a step to a value that is allowed, up or else down, and true if there is none.
        """
        up, down = _step(self._start, STEP_FACTOR), _step(self._start, 1 / STEP_FACTOR)
        if self.allows(up):
            return margin(up) >= margin(self._start)
        return not self.allows(down) or margin(self._start) >= margin(down)

    def _bracket(self, margin: Margin, better: float) -> tuple[Number, Number]:
        """Return first a value of the field that meets the target, then one that does not, which are one step apart.

        A step is the factor `better`, or its inverse if the first value meets the target. Raises FieldError if all
        values tried meet it, or none do.
        """
        start = value = self._start
        margins = [margin(start)]
        met = margins[0] >= 0
        factor = 1 / better if met else better
        while start / FARTHEST < value < start * FARTHEST and not (not met and _stuck(margins)):
            before, value = value, _step(value, factor)
            last = not self.allows(value)
            if last:
                value = bisect_edge(before, value, self.allows, CLOSE_BY_EMULATION)
            if value == before:
                break
            margins.append(margin(value))
            if (margins[-1] >= 0) != met:
                return (before, value) if met else (value, before)
            if last:
                break
        raise self._undecided_error(f"{'down' if factor < 1 else 'up'} to {value:.6g}", max(margins))

    def _undecided_error(self, values: str, best: float) -> FieldError:
        """Return the error that says that all `values` of the field meet the target, or none do.

        `best` is the largest of their margins.
        """
        if best >= 0:
            return FieldError("target", f"{self.goal.text!r} is met by any {self.key}, {values}", "a harder target")
        reached = self.goal.bound + (best if self.goal.above else -best)
        words = f"it reaches {reached:.4g}" if math.isfinite(reached) else f"{self.goal.metric} is not finite"
        wrong = f"{self.goal.text!r} is out of reach of {self.key}: {values} {words}"
        return FieldError("target", wrong, "an easier target, or another field to vary")


def _step(value: Number, factor: float) -> Number:
    """Return a value times a factor; a whole number stays one, and at least 1."""
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


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
    for key in LOAD_FIELDS.get(metric, USUAL_FIELDS) if vary is None else (str(vary),):
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
