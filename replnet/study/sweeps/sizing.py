"""The inverse problem: the value of one field, the smallest or the largest, at which a network meets a target.

What is asked of a network gets better or worse with the field all along: freshness rises with a rate of downloads
and falls with the depth of a tree. So the value is bracketed by growing steps in the better direction and then
closed in on: by formula where there is one, else by emulation, whose values share their random numbers and therefore
rise or fall too. In the end the network is emulated at the value found and next to it, on either side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

from replnet.ages.roots import narrowed
from replnet.deadline import OutOfTime, require_time, within
from replnet.laws import law
from replnet.measure.metrics import is_beyond
from replnet.measure.row import Row
from replnet.network.network import Given, Network, network_of
from replnet.study.demand import Demand, demand
from replnet.study.experiment.subjects import Settings, emulated, so_far
from replnet.study.predict import predict
from replnet.study.replications import Progress
from replnet.study.result import Emulated, Result, Tabled
from replnet.text.errors import FieldError, InputError

BY_FORMULA = "by formula"
CLOSE = 1e-6  # relative width of a bracket by formula
COARSE = 1e-3  # and by emulation
FARTHEST = 1e6  # from where the search begins, either way
STEP = 2.0
HARDLY = 0.01  # of what is missing, by a step
NEXT = 0.1  # how much less and more the values next to the answer are; whole numbers are neighbours
USUAL = ("budget", "polls.rate", "downloads.rate")  # what is varied if nobody says: the first that the network has
OF_LOAD = dict.fromkeys(("service_rate", "queueing_delay", "rejected"), ("bandwidth",))  # and for these metrics
AROUND = ("value", "meets", "group", "metric", "predicted", "measured", "ci_low", "ci_high")

Number = float | int
Margin = Callable[[Number], float]  # how far the worst group is on the right side, at a value of the field


@final
@dataclass(frozen=True)
class Sized(Tabled):
    """The value found, by `how`, the network emulated there, and next to it by value.

    `extreme` is whether it is the smallest or the largest that meets the `target`.
    """

    key: str
    value: Number
    target: Demand
    extreme: str
    predicted: float | None
    how: str
    result: Emulated
    near: dict[Number, Emulated]

    @property
    def incomplete(self) -> str:
        """Why the value, or what is next to it, was not emulated as was asked for, if that is so."""
        return next((one.incomplete for one in (self.result, *self.near.values()) if one.incomplete), "")

    @cached_property
    def around(self) -> list[dict[str, Any]]:
        """By value, the answer between its neighbours: whether the target is met, and the row of who is worst off."""
        found = []
        for value, result in sorted({**self.near, self.value: self.result}.items()):
            if not result.rows:  # there was no time left for it
                continue
            margins = {self._margin(row): row for row in _about(result, self.target)}
            found.append({"value": value, "meets": min(margins) >= 0, **margins[min(margins)].data()})
        return found

    def _margin(self, row: Row) -> float:
        """By what the answer was found with: an answer at the edge is measured on either side of it."""
        sides = (row.predicted, row.measured) if self.how == BY_FORMULA else (row.measured, row.predicted)
        return _margin(sides, self.target)

    @cached_property
    def table(self) -> Any:
        """The answer between its neighbours, as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.around, columns=list(AROUND))

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
    """The smallest value of the field `vary` at which every group meets the target, or the largest one.

    A target is a freshness, or a demand on any metric, of all groups or of one: `lag <= 3`,
    `level 2: currency(2) >= 0.95`. Of many sources it is about their mean, unless the group is one of them. It is
    the largest value that is sought where larger ones are worse. A `budget` of seconds, or such as 10m, ends it as
    Ctrl-C does: with the value if that is found, and otherwise with OutOfTime, which says what was seen by then.

    >>> found = rn.size("single", "freshness >= 0.9", precision=0.01)
    >>> found.key, round(found.value, 3), found.extreme
    ('downloads.rate', 9.0, 'smallest')
    >>> found.table[["value", "meets"]].round(3)
       value  meets
    0    8.1  False
    1    9.0   True
    2    9.9   True
    >>> rn.size("cascade", "lag <= 2", vary="depth", precision=0.02).value
    4
    """
    network = network_of(network, overrides)
    asked = _asked(target, network)
    key, start = _field(network.data(), vary, asked.metric)
    measure = (asked.metric,) if is_beyond(asked.metric) else ()
    averaged = asked.metric == "freshness" and network.kind != "aggregate"
    settings = Settings(None, "conditional" if averaged else "sampled", seed, None, precision, None, 0.02, measure)
    tell = progress or (lambda share, words: None)

    def run(value: Number, share: float, runner: Callable[..., Emulated] = so_far) -> Emulated:
        tell(share, f"{key} = {value:.6g}, emulated")
        return runner(_at(network, key, value), settings, False, workers, address)

    def measured(value: Number) -> float:
        return _worst(run(value, 0.5, emulated), asked)

    with within(budget):
        found = _by_formula(network, key, start, asked)
        how = BY_FORMULA
        if found is None:
            how = "by emulation with common random numbers"
            found = _edge(key, start, asked, measured, _allowed(network, key), COARSE)
        value, extreme = found
        predicted = _predicted(network, key, value, asked)
        result = run(value, 0.7)
        near = {one: run(one, 0.8) for one in _next(value) if _allowed(network, key)(one)}
    return Sized(key, value, asked, extreme, predicted, how, result, near)


def predicted_size(network: Given, target: float | str) -> tuple[str, Number | None]:
    """The field that `size` varies if nobody says which, and its value by formula; None without a formula."""
    network = network_of(network)
    asked = _asked(target, network)
    key, start = _field(network.data(), None, asked.metric)
    found = _by_formula(network, key, start, asked)
    return key, found and found[0]


def _asked(target: float | str, network: Network) -> Demand:
    """What is to be met; a number is a freshness."""
    found = demand(target if isinstance(target, str) else f"freshness >= {target!r}", "target", network.unit)
    found.require_open()
    if found.metric == "freshness" and not 0 < found.bound < 1:
        raise FieldError("target", f"{found.bound:g} is not a freshness to reach", "above 0 and below 1")
    return found


def _at(network: Network, key: str, value: Number) -> Network:
    return network_of(network, [f"{key}={value!r}"])


def _allowed(network: Network, key: str) -> Callable[[Number], bool]:
    """Whether a network may have a value there."""

    def allowed(value: Number) -> bool:
        try:
            _at(network, key, value)
        except InputError:
            return False
        return True

    return allowed


def _next(value: Number) -> tuple[Number, Number]:
    return (value - 1, value + 1) if isinstance(value, int) else (value * (1 - NEXT), value * (1 + NEXT))


# ---- How far the target is met


def _about(result: Result, asked: Demand) -> list[Row]:
    found = result.about(asked.metric, asked.group)
    if not found:
        there = ", ".join(f"'{row.group}: {row.metric}'" for row in result.rows)
        raise FieldError("target", f"nothing will match {asked.text!r}", f"there is {there}")
    return found


def _margin(values: Iterable[float | None], asked: Demand) -> float:
    """Of the first value that is known; never met where there is none."""
    value = next((value for value in values if value is not None), None)
    return -math.inf if value is None else asked.margin(value)


def _worst(result: Result, asked: Demand) -> float:
    return min(_margin((row.measured,), asked) for row in _about(result, asked))


def _predicted(network: Network, key: str, value: Number, asked: Demand) -> float | None:
    """What is predicted of the group that is worst off; None where one has no formula."""
    measure = (asked.metric,) if is_beyond(asked.metric) else ()
    found = [row.predicted for row in _about(predict(_at(network, key, value), measure), asked)]
    require_time()  # what was not worked out in time may have a formula
    return None if None in found else min((one for one in found if one is not None), key=asked.margin)


def _by_formula(network: Network, key: str, start: Number, asked: Demand) -> tuple[Number, str] | None:
    if _predicted(network, key, start, asked) is None:
        return None

    def margin(value: Number) -> float:
        return _margin((_predicted(network, key, value, asked),), asked)

    return _edge(key, start, asked, margin, _allowed(network, key), CLOSE)


# ---- The search


def _edge(
    key: str, start: Number, asked: Demand, margin: Margin, allowed: Callable[[Number], bool], close: float
) -> tuple[Number, str]:
    """The value at the edge of those that meet the target, and whether it is the smallest of them or the largest."""
    seen = dict[Number, float]()

    def known(value: Number) -> float:
        if value not in seen:
            seen[value] = margin(value)
        return seen[value]

    try:
        least = _improves(start, known, allowed)
        met, missed = _bracket(key, start, asked, known, allowed, STEP if least else 1 / STEP)
        return narrowed(met, missed, lambda value: known(value) >= 0, close), "smallest" if least else "largest"
    except OutOfTime as why:
        words = [
            f"{key} = {value:.6g} {'meets' if found >= 0 else 'misses'} it" for value, found in sorted(seen.items())
        ]
        raise OutOfTime(f"{why}: {', '.join(words) or f'no {key} was looked at'}") from None


def _improves(start: Number, margin: Margin, allowed: Callable[[Number], bool]) -> bool:
    """Whether more of it is better, or at least not worse."""
    up, down = _step(start, STEP), _step(start, 1 / STEP)
    if allowed(up):
        return margin(up) >= margin(start)
    return not allowed(down) or margin(start) >= margin(down)


def _step(value: Number, factor: float) -> Number:
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


def _bracket(
    key: str, start: Number, asked: Demand, margin: Margin, allowed: Callable[[Number], bool], better: float
) -> tuple[Number, Number]:
    """A value that meets the target, and one that does not, by steps of the factor that is `better`, or back."""
    met = margin(start) >= 0
    factor = 1 / better if met else better
    value, margins = start, [margin(start)]
    while start / FARTHEST < value < start * FARTHEST and not (not met and _stuck(margins)):
        before, value = value, _step(value, factor)
        last = not allowed(value)
        if last:
            value = narrowed(before, value, allowed, COARSE)
        if value == before:
            break
        margins.append(margin(value))
        if (margins[-1] >= 0) != met:
            return (before, value) if met else (value, before)
        if last:
            break
    way = "down" if factor < 1 else "up"
    if met:
        raise FieldError("target", f"{asked.text!r} is met by any {key}, {way} to {value:.6g}", "a harder target")
    reached = asked.bound + (max(margins) if asked.above else -max(margins))
    wrong = f"{asked.text!r} is out of reach of {key}: {way} to {value:.6g} it reaches {reached:.4g}"
    raise FieldError("target", wrong, "an easier target, or another field to vary")


def _stuck(margins: list[float]) -> bool:
    """Whether steps bring less and less, and the last one hardly any of what is missing."""
    if len(margins) < 3 or not math.isfinite(margins[-3]):
        return False
    before, last = margins[-2] - margins[-3], margins[-1] - margins[-2]
    return last <= before and last < -HARDLY * margins[-1]


# ---- The field


def _field(data: Any, vary: str | None, metric: str) -> tuple[str, Number]:
    """The field to vary, and its value now."""
    for key in OF_LOAD.get(metric, USUAL) if vary is None else (vary,):
        if (value := _value(data, key)) is not None:
            return key, value
    if vary is None:
        right = OF_LOAD.get(metric, ("downloads.rate",))[0]
        raise FieldError("vary", "which field is to be found?", f"such as {right}")
    right = "such as downloads.rate, polls.rate, budget or peers"
    raise FieldError("vary", f"{vary} is no number of this network", right)


def _value(data: Any, key: str) -> Number | None:
    """The number at a dotted key; the rate of a law is known whatever it is written with."""
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
