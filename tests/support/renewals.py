"""Processes side by side, and all their instants."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from replnet.laws import Law
from replnet.processes.renewal import Renewals
from replnet.processes.streams import name_words, seed_words


def renewals(laws: Sequence[Law], each: int, events: int = 1 << 15, seed: int = 1) -> Renewals:
    """Return `each` processes of each law, drawn in blocks of so many events."""
    which = np.repeat(np.arange(len(laws)), each)
    names = name_words([f"node {i}" for i in range(which.size)])
    return Renewals(laws, which, seed_words(seed, 0), names, np.zeros(which.size, np.int64), events)


def instants(of: Renewals, horizon: float, step: float = math.inf) -> list[np.ndarray]:
    """Return the instants of each process up to the horizon, taken in windows of length `step`."""
    parts: list[list[np.ndarray]] = [[] for _ in range(of.age.size)]
    while of.now < horizon:
        window = of.window(min(of.now + step, horizon))
        for p, part in enumerate(parts):
            assert window.serial[p] == sum(map(len, part))
            part.append(window.of(p).copy())
    return [np.concatenate([*part, ()]) for part in parts]
