"""Assertions about chance: each states how often it fails correct code, and what error it would see."""

from __future__ import annotations

import math

import numpy as np

FALSE_ALARM = 1e-6  # chance that one assertion fails correct code


def radius(samples: np.ndarray, low: float, high: float, false_alarm: float = FALSE_ALARM) -> float:
    """Half-width that the mean of samples in [low, high] keeps, whatever their law.

    Empirical Bernstein bound (Maurer and Pontil 2009, theorem 4), both sides.
    """
    n, log = samples.size, math.log(4 / false_alarm)
    return math.sqrt(2 * float(samples.var(ddof=1)) * log / n) + 7 * (high - low) * log / (3 * (n - 1))


def assert_mean(samples: np.ndarray, expected: float, *, resolution: float, low: float = 0, high: float = 1) -> None:
    """Fail if the mean is not `expected`, or if this test could not have told by `resolution`."""
    allowed = radius(samples, low, high)
    assert allowed <= resolution / 2, f"{samples.size} samples resolve {2 * allowed:.2g}, not {resolution}"
    assert abs(float(samples.mean()) - expected) <= allowed
