"""Instants of processes in equilibrium, from what the README says of each and nothing else.

Laws are read as text; those of processes, whose intervals depend on one another, are taken apart here. All that a
law is asked is `quantile`, `cdf`, `mean` and `age`: from a random instant the next event is as far as an age.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

import replnet as rn

Floats = np.ndarray


def instants(text: str, start: float, end: float, rng: np.random.Generator) -> Floats:
    """Of one process in [start, end)."""
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    given = {word.arg: word.value for word in call.keywords}
    made = PROCESSES.get(call.func.id)
    if made is None or (call.func.id == "trace" and "order" not in given):
        law = rn.law(text)
        return _summed(start, end, residual(law, rng), lambda n: law.quantile(rng.random(n)), law.mean)
    return made(given, start, end, rng)


def residual(law: Any, rng: np.random.Generator) -> float:
    return float(law.age.quantile(rng.random()))


def spans(up: str, down: str, start: float, end: float, rng: np.random.Generator) -> list[tuple[float, float]]:
    """When a fault is on, if it is off and on for times of these laws."""
    laws = [rn.law(up), rn.law(down)]
    on = rng.random() < laws[1].mean / (laws[0].mean + laws[1].mean)
    lengths = [draws(law, rng) for law in laws]
    now, after, found = start, start + residual(laws[on], rng), []
    while now < end:
        if on:
            found.append((now, after))
        on = not on
        now, after = after, after + next(lengths[on])
    return found


def draws(law: Any, rng: np.random.Generator) -> Iterator[float]:
    """Independent intervals without end."""
    while True:
        yield from np.asarray(law.quantile(rng.random(256)), dtype=float).tolist()


def _summed(start: float, end: float, first: float, more: Callable[[int], Any], mean: float) -> Floats:
    """From the first instant on, which is so long after the start, at these intervals."""
    blocks, last = [np.array([start + first])], start + first
    while last < end:
        intervals = np.asarray(more(int(1.1 * (end - last) / mean) + 16), dtype=float)
        blocks.append(last + np.cumsum(intervals))
        last = blocks[-1][-1]
    times = np.concatenate(blocks)
    return times[times < end]


def _numbers(node: ast.expr) -> list[float]:
    return [float(one) for one in ast.literal_eval(node)]


def _alternating(given: dict[Any, ast.expr], start: float, end: float, rng: np.random.Generator) -> Floats:
    return _in_turn(np.array(_numbers(given["values"])), start, end, rng)


def _recorded(given: dict[Any, ast.expr], start: float, end: float, rng: np.random.Generator) -> Floats:
    with open(ast.literal_eval(given["file"]), encoding="utf-8") as lines:
        times = np.array([float(line) for line in lines if line[0].isdigit()])
    return _in_turn(np.diff(np.unique(times)), start, end, rng)


def _in_turn(intervals: Floats, start: float, end: float, rng: np.random.Generator) -> Floats:
    """A list over and over, from a point of its length that is as likely as any other."""
    ends = np.cumsum(intervals)
    rounds = int((end - start) / ends[-1]) + 2
    times = (ends + ends[-1] * np.arange(rounds)[:, None]).ravel() - rng.random() * ends[-1]
    times = times[times >= 0] + start
    return times[times < end]


def _gaussian(law: Any, correlation: Callable[[Floats], Floats], start: float, end: float, rng: Any) -> Floats:
    """Intervals quantile(ndtr(Z)) of a stationary Gaussian sequence Z with these correlations.

    The first interval covers the start: given its age a it is longer than a, so what it is the quantile of is
    uniform above cdf(a). The others follow given its Z, by what a free sequence lacks of it.
    """
    age = residual(law, rng)
    p = law.cdf(age) + (1 - law.cdf(age)) * rng.random()
    n = int(1.5 * (end - start) / law.mean) + 100
    r = correlation(np.arange(n + 1))
    while True:
        free = _sequence(r, rng)
        z = free + r * (ndtri(np.clip(p, 1e-300, 1 - 2.0**-53)) - free[0])
        first = max(float(law.quantile(p)) - age, 0.0)
        times = start + first + np.concatenate([[0.0], np.cumsum(law.quantile(ndtr(z[1:])))])
        if times[-1] >= end:
            return times[times < end]
        r = correlation(np.arange(2 * r.size))


def _sequence(r: Floats, rng: np.random.Generator) -> Floats:
    """Stationary, Gaussian, with correlations r, by the eigenvalues of the circulant that they make."""
    circle = np.concatenate([r, r[-2:0:-1]])
    eigenvalues = np.maximum(np.fft.fft(circle).real, 0.0)
    noise = rng.standard_normal(circle.size) + 1j * rng.standard_normal(circle.size)
    return np.fft.fft(np.sqrt(eigenvalues / circle.size) * noise).real[: r.size]


def _correlated(given: dict[Any, ast.expr], start: float, end: float, rng: np.random.Generator) -> Floats:
    rho = float(ast.literal_eval(given["rho"]))
    return _gaussian(rn.law(ast.unparse(given["law"])), lambda k: rho**k, start, end, rng)


def _longrange(given: dict[Any, ast.expr], start: float, end: float, rng: np.random.Generator) -> Floats:
    hurst = float(ast.literal_eval(given["hurst"]))
    law = rn.law(ast.unparse(given["law"]))
    return _gaussian(law, lambda k: (1.0 + k) ** (2 * hurst - 2), start, end, rng)


def _modulated(given: dict[Any, ast.expr], start: float, end: float, rng: np.random.Generator) -> Floats:
    rates, means = _numbers(given["rates"]), _numbers(given["means"])
    state, now, times = int(rng.choice(len(means), p=np.array(means) / sum(means))), start, []
    while now < end:
        until = now + rng.exponential(means[state])
        times.append(rng.uniform(now, until, rng.poisson(rates[state] * (until - now))))
        state = (state + int(rng.integers(1, len(means)))) % len(means)
        now = until
    found = np.sort(np.concatenate(times))
    return found[found < end]


def _diurnal(given: dict[Any, ast.expr], start: float, end: float, rng: np.random.Generator) -> Floats:
    rate = float(ast.literal_eval(given["rate"])) if "rate" in given else 1 / float(ast.literal_eval(given["mean"]))
    swing, period = float(ast.literal_eval(given["swing"])), float(ast.literal_eval(given["period"]))
    times = np.sort(rng.uniform(start, end, rng.poisson(rate * (1 + swing) * (end - start))))
    share = (1 + swing * np.cos(2 * math.pi * (times / period + rng.random()))) / (1 + swing)
    return times[rng.random(times.size) < share]


def _windowed(given: dict[Any, ast.expr], start: float, end: float, rng: np.random.Generator) -> Floats:
    """Even events of a day of which every time is stretched or squeezed, from any time of the day on."""
    number = {name: float(ast.literal_eval(one)) for name, one in given.items()}
    rate = number["rate"] if "rate" in number else 1 / number["mean"]
    period, window, share = number["period"], number["window"], number.get("share", 1.0)
    days = math.ceil((end - start) / period) + 1
    even = (np.arange(int(days * period * rate) + 1) + rng.random()) / (rate * period)
    day, u = np.floor(even), even % 1
    late = window + (u - share) * (period - window) / max(1 - share, 1e-300)
    times = day * period + np.where(u < share, u * window / share, late) - rng.random() * period + start
    return times[(times >= start) & (times < end)]


def _superposition(given: dict[Any, ast.expr], start: float, end: float, rng: np.random.Generator) -> Floats:
    if "laws" in given:
        assert isinstance(given["laws"], ast.List)
        members = [ast.unparse(one) for one in given["laws"].elts]
    else:
        members = [ast.unparse(given["law"])] * int(ast.literal_eval(given["count"]))
    return np.sort(np.concatenate([instants(one, start, end, rng) for one in members]))


PROCESSES = {
    "alternating": _alternating,
    "trace": _recorded,
    "correlated": _correlated,
    "longrange": _longrange,
    "modulated": _modulated,
    "diurnal": _diurnal,
    "windowed": _windowed,
    "superposition": _superposition,
}
