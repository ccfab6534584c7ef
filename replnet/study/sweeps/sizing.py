"""The inverse problem: the smallest value of one field at which a network is fresh enough.

Freshness rises with a rate of downloads or polls, so the value is bracketed by
growing steps and then closed in on: by formula where there is one, else by
emulation, whose values share their random numbers and therefore rise too. In the
end the network is emulated at the value found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, final

from replnet.ages.roots import narrowed
from replnet.laws import law
from replnet.measure.row import Row
from replnet.network.network import Given, Network, network_of
from replnet.study.experiment.subjects import Settings, emulated
from replnet.study.predict import predict
from replnet.study.replications import Progress
from replnet.study.result import Emulated, Result
from replnet.text.errors import InputError

CLOSE = 1e-6  # relative width of a bracket by formula
COARSE = 1e-3  # and by emulation
FARTHEST = 1e6  # from where the search begins, either way
STEP = 2.0
HARDLY = 0.01  # of what is missing, by a step
USUAL = ("budget", "polls.rate", "downloads.rate")  # what is varied if nobody says: the first that the network has

Number = float | int


@final
@dataclass(frozen=True)
class Sized:
    """The value found, by `how`, and the network emulated there."""

    key: str
    value: Number
    predicted: float | None
    how: str
    result: Emulated


def size(
    network: Given,
    target: float,
    *,
    overrides: Iterable[str] = (),
    group: str | None = None,
    vary: str | None = None,
    seed: int = 1,
    precision: float = 0.002,
    progress: Progress | None = None,
    workers: int | None = None,
    address: str | None = None,
) -> Sized:
    """The smallest value of the field `vary` at which every group, or `group`, has at least the target freshness.

    Of many sources it is the mean freshness, unless `group` is one of them.
    """
    network = network_of(network, overrides)
    key, start = _sought(network, target, vary)
    estimator = "sampled" if network.kind == "aggregate" else "conditional"
    settings = Settings(None, estimator, seed, None, precision, None, 0.02)
    tell = progress or (lambda share, words: None)

    def by_emulation(value: Number) -> float:
        tell(0.5, f"{key} = {value:.6g}")
        rows = _about(emulated(_at(network, key, value), settings, False, workers, address), group)
        return min((row.measured for row in rows if row.measured is not None), default=math.nan)

    value = _by_formula(network, key, start, target, group)
    how = "by formula"
    if value is None:
        value, how = _least(key, start, target, by_emulation, COARSE), "by emulation with common random numbers"
    tell(0.9, f"{key} = {value:.6g}, emulated")
    result = emulated(_at(network, key, value), settings, False, workers, address)
    return Sized(key, value, _predicted(network, key, value, group), how, result)


def predicted_size(network: Given, target: float) -> tuple[str, Number | None]:
    """The field that `size` varies if nobody says which, and its smallest value by formula; None without a formula."""
    network = network_of(network)
    key, start = _sought(network, target, None)
    return key, _by_formula(network, key, start, target, None)


def _sought(network: Network, target: float, vary: str | None) -> tuple[str, Number]:
    if not 0 < target < 1:
        raise ValueError(f"target: {target:g} is not a freshness to reach (above 0 and below 1)")
    return _field(network.data(), vary)


def _at(network: Network, key: str, value: Number) -> Network:
    return network_of(network, [f"{key}={value!r}"])


def _predicted(network: Network, key: str, value: Number, group: str | None) -> float | None:
    """The least freshness of the groups that is predicted; None where one has no formula."""
    found = [row.predicted for row in _about(predict(_at(network, key, value)), group)]
    return None if None in found else min(one for one in found if one is not None)


def _by_formula(network: Network, key: str, start: Number, target: float, group: str | None) -> Number | None:
    if _predicted(network, key, start, group) is None:
        return None
    return _least(key, start, target, lambda value: _predicted(network, key, value, group) or 0.0, CLOSE)


def _least(key: str, start: Number, target: float, reached: Callable[[Number], float], close: float) -> Number:
    low, high = _bracket(key, start, target, reached)
    return narrowed(high, low, lambda value: reached(value) >= target, close)


def _about(result: Result, group: str | None) -> list[Row]:
    found = result.about("freshness", group)
    if not found:
        there = ", ".join(row.group for row in result.rows if row.metric == "freshness")
        raise ValueError(f"--target: there is no group {group} (one of {there})")
    return found


def _field(data: Any, vary: str | None) -> tuple[str, Number]:
    """The field to vary, and its value now."""
    for key in USUAL if vary is None else (vary,):
        if (value := _value(data, key)) is not None:
            return key, value
    if vary is None:
        raise ValueError("--vary: which field is to be found? (such as downloads.rate)")
    right = "such as downloads.rate, polls.rate, budget or peers"
    raise ValueError(f"--vary: {vary} is no number of this network ({right})")


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


def _bracket(key: str, start: Number, target: float, reached: Callable[[Number], float]) -> tuple[Number, Number]:
    """A value that does not meet the target, and a larger one that does."""
    whole = isinstance(start, int)

    def step(value: Number, factor: float) -> Number:
        return max(1, round(value * factor)) if whole else value * factor

    value = lower = start
    values = [reached(value)]
    if values[0] >= target:
        while reached(lower := step(value, 1 / STEP)) >= target:
            if (whole and lower == 1) or lower < start / FARTHEST:
                raise ValueError(f"--target: freshness {target:g} is met by any {key}, down to {lower:.6g}")
            value = lower
        return lower, value
    while value < start * FARTHEST and not _stuck(values, target):
        lower, value = value, step(value, STEP)
        try:
            values.append(reached(value))
        except InputError:
            break
        if values[-1] >= target:
            return lower, value
    raise ValueError(
        f"--target: freshness {target:g} is out of reach of {key}: up to {value:.6g} it reaches {max(values):.4g} "
        "(a lower target, or another field to vary)"
    )


def _stuck(values: list[float], target: float) -> bool:
    """Whether steps bring less and less, and the last one hardly any of what is missing."""
    if len(values) < 3:
        return False
    before, last = values[-2] - values[-3], values[-1] - values[-2]
    return last <= before and last < HARDLY * (target - values[-1])
