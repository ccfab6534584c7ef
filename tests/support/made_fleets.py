"""Fleets that are made here, each of its number alone: a source, replicas that are stale for a known reason, visits.

Times are in units in which the source changes once, on average. The reason that is put into a replica makes most of its
stale time by construction:

    interval   it pulls from the source, every 0.5 to 3 units, by some law, or every 0.3 to 1.2 of a clocked source's
    phase      source and replica keep clocks in step, up to a slow drift, and the pull is just before the update
    outage     pulls are frequent, but for one to three stretches without any
    dead       pulls are frequent, and end
    delay      pulls are frequent, and take long
    upstream   pulls are frequent, from another replica that pulls seldom
    visits     any pulls, and too few visits to tell
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from made_histories import BEFORE, MadeHistory, pulled

from replnet.laws import Floats

KINDS = ("interval", "phase", "outage", "dead", "delay", "upstream")
SEVERAL = 3  # replicas of a fleet, beside upstreams
SHAPES = ("exponential", "uniform", "gamma", "constant")


@dataclass
class MadeFleet:
    """What happened in a fleet, what visits saw of it, and the reason that was put into each replica."""

    history: MadeHistory
    visits: pd.DataFrame
    reasons: dict[str, str]


def made_fleet(number: int, least_gap: float = 0.01) -> MadeFleet:
    """Return the fleet of this number, visited about every `least_gap` or less often."""
    rng = np.random.default_rng([26, number])
    span = float(rng.integers(80, 200))
    clocked, seldom = number % 3 == 0, number % 10 == 9
    history = MadeHistory(_updates(rng, span, clocked).tolist(), {})
    reasons = {}
    for i in range(SEVERAL):
        kinds = [kind for kind in KINDS if kind != ("upstream" if clocked else "phase")]
        if clocked:
            kinds.remove("delay")  # nobody can tell a delay from a phase
        kind = str(rng.choice(kinds))
        name = f"m{i}"
        if kind == "upstream":
            upstream = f"u{i}"
            history.copies[upstream] = pulled(history, "source", _instants(rng, float(rng.uniform(0.7, 2)), span))
            history.copies[name] = pulled(history, upstream, _instants(rng, float(rng.uniform(0.05, 0.4)), span))
            reasons[upstream] = "interval"
        else:
            history.copies[name] = _copies(rng, kind, history, span, clocked)
        reasons[name] = kind
    if seldom:
        reasons = dict.fromkeys(reasons, "visits")
    gap = float(rng.uniform(0.5, 1.5)) if seldom else float(np.exp(rng.uniform(np.log(least_gap), np.log(0.05))))
    return MadeFleet(history, history.visited(_visits(rng, list(reasons), span, gap)), reasons)


def _updates(rng: np.random.Generator, span: float, clocked: bool) -> Floats:
    """Return the instants of updates: by a clock with a jitter of up to 1 %, or by intervals of some law."""
    if clocked:
        times = np.arange(BEFORE + rng.random(), span, 1.0)
        return np.asarray(np.sort(times + rng.normal(0, rng.uniform(0.0001, 0.01), times.size)))
    count = int(2 * (span - BEFORE)) + 50
    shape = rng.choice(["exponential", "gamma", "bursts"])
    gaps = rng.exponential(1.0, count)
    if shape == "gamma":
        gaps = rng.gamma(2.0, 0.5, count)
    if shape == "bursts":
        gaps = np.where(rng.random(count) < 0.7, 0.2, 2.87) * gaps
    times = BEFORE + np.cumsum(gaps)
    return np.asarray(times[times < span])


def _instants(rng: np.random.Generator, mean: float, span: float) -> list[float]:
    """Return instants of pulls by a law of intervals with this mean."""
    count = int(2 * (span - BEFORE) / mean) + 50
    gaps = {
        "exponential": rng.exponential(mean, count),
        "uniform": rng.uniform(0, 2 * mean, count),
        "gamma": rng.gamma(3.0, mean / 3, count),
        "constant": np.full(count, mean),
    }[str(rng.choice(SHAPES))]
    times = BEFORE + rng.random() * mean + np.cumsum(gaps)
    return list(times[times < span])


def _copies(
    rng: np.random.Generator, kind: str, history: MadeHistory, span: float, clocked: bool
) -> tuple[list[float], list[int]]:
    """Return when a replica that is stale for this reason got which versions of the source."""
    if kind == "interval":
        mean = float(rng.uniform(0.3, 1.2) if clocked else rng.uniform(0.5, 3))
        # A clock that is nearly in step with that of the source has a phase.
        mean = mean if abs(mean * 6 - round(mean * 6)) > 0.1 else mean + 0.05
        return pulled(history, "source", _instants(rng, mean, span))
    if kind == "phase":
        early, drift = rng.uniform(0.05, 0.3), rng.uniform(-0.1, 0.1) * (rng.random() < 0.5)
        numbers = np.arange(int(span - BEFORE) + 2)
        first = history.updates[0] - early
        times = first + numbers * (1 + drift / numbers.size) + rng.normal(0, 0.002, numbers.size)
        return pulled(history, "source", sorted(times[times < span].tolist()))
    pulls = np.array(_instants(rng, float(rng.uniform(0.02, 0.08)), span))
    if kind == "delay":
        delay = rng.uniform(0.3, 1.0)
        departed, versions = pulled(history, "source", pulls.tolist())
        return [departed[0], *(t + delay for t in departed[1:])], versions
    if kind == "dead":
        pulls = pulls[pulls < span * rng.uniform(0.3, 0.8)]
    else:
        for _ in range(rng.integers(1, 4)):
            begin, length = rng.uniform(0.1, 0.8) * span, rng.uniform(0.08, 0.15) * span
            pulls = pulls[(pulls < begin) | (pulls > begin + length)]
    return pulled(history, "source", pulls.tolist())


def _visits(rng: np.random.Generator, replicas: list[str], span: float, gap: float) -> list[tuple[float, str]]:
    """Return visits of all nodes, about every `gap`, in rounds or each by itself."""
    nodes = ["source", *replicas]
    rounds = np.arange(rng.random() * gap, span, gap)
    if rng.random() < 0.5:
        step = gap / 4 / len(nodes)
        return [(t + i * step, node) for t in rounds.tolist() for i, node in enumerate(nodes)]
    own = ((float(t), node) for node in nodes for t in rounds + rng.uniform(0, gap, rounds.size))
    return sorted(own)


# ---- Intervals


def made_changes(number: int, updates: int = 1000) -> tuple[pd.DataFrame, dict[str, float]]:
    """Return a record of changes of Poisson updates and four replicas, and how fresh each of these is in the long run.

    With pulls every X, by a law, and updates at rate 1, that is E[1 - exp(-X)] / E[X].
    """
    rng = np.random.default_rng([27, number])
    span = float(updates)
    rows = [(t, "source") for t in np.cumsum(rng.exponential(1.0, updates + 200)) - 50 if -40 < t < span]
    fresh = {}
    for shape in SHAPES:
        mean = float(rng.uniform(0.3, 1.2))
        fresh[shape] = {
            "exponential": 1 / (1 + mean),
            "uniform": (1 - (1 - np.exp(-2 * mean)) / (2 * mean)) / mean,
            "gamma": (1 - (1 + mean / 3) ** -3.0) / mean,
            "constant": (1 - np.exp(-mean)) / mean,
        }[shape]
        count = int(2 * span / mean) + 200
        gaps = {
            "exponential": rng.exponential(mean, count),
            "uniform": rng.uniform(0, 2 * mean, count),
            "gamma": rng.gamma(3.0, mean / 3, count),
            "constant": np.full(count, mean),
        }[shape]
        times = np.cumsum(gaps) + rng.random() * mean - 30
        rows += [(t, shape) for t in times[times < span].tolist()]
    return pd.DataFrame(rows, columns=["time", "node"]), fresh
