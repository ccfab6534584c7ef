"""Intervals whose limiting law says nothing of their ages (Staleness III), against paths."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from paper import values

from replnet.text.errors import InputError

EQUATION_23 = {"rarity": 0.5, "growth": 0.5}
EQUATION_28 = {"rarity": 1, "growth": 0.5, "factor": 7}


def of_path(intervals: int, **parameters: float) -> dict[str, float]:
    found = values("growing-intervals", intervals=intervals, **parameters)
    return {metric: value for (group, metric), value in found.items() if group == "path"}


def paths(count: int, intervals: int, rarity: float, growth: float, factor: float = 1.0) -> np.ndarray:
    chance, i = np.random.default_rng(28), np.arange(1.0, intervals + 1)
    return np.where(chance.random((count, intervals)) < i**-rarity, factor * i**growth, 1.0)


@pytest.mark.parametrize("parameters", [EQUATION_23, EQUATION_28])
def test_means_over_paths(parameters):
    """All paths of eight intervals, each with its chance; the first is long for sure."""
    chance, long = [i ** -parameters["rarity"] for i in range(1, 9)], [i**0.5 for i in range(1, 9)]
    interval = beyond = half = square = 0.0
    for path in itertools.product((False, True), repeat=8):
        p = math.prod(c if longer else 1 - c for c, longer in zip(chance, path, strict=True))
        x = [parameters.get("factor", 1.0) * y if longer else 1.0 for y, longer in zip(long, path, strict=True)]
        sum_of_squares = sum(one**2 for one in x) / 16
        interval, beyond = interval + p * sum(x) / 8, beyond + p * sum(one - 1 for one in x) / 8
        half, square = half + p * sum_of_squares, square + p * sum_of_squares**2
    expected = [interval, beyond / interval, half, math.sqrt(square - half**2)]
    assert list(of_path(8, **parameters).values()) == pytest.approx(expected, rel=1e-10)


def test_the_sum_of_equation_26_settles_nowhere():
    """Eq. 28: mean 25 and variance (49/2)^2 / 2; P(25 < sum < 30) is that of Dickman's law between 1 and 1 + 10/49.

    Its density is exp(-gamma) (1 - log x) there. Among 4,000 paths a share of 0.104 has a standard deviation of 0.0048,
    of which 0.025 is five: correct code fails with chance 1e-6.
    """
    found = of_path(1_000_000, **EQUATION_28)
    assert found["interval"] == pytest.approx(1, abs=0.02)
    assert found["half_square"] == pytest.approx(25, abs=0.01)
    assert found["half_square_deviation"] == pytest.approx(24.5 / math.sqrt(2), abs=0.01)
    halves = (paths(4_000, 2_000, **EQUATION_28) ** 2 / 2).mean(axis=1)
    top = 1 + 10 / 49
    share = math.exp(-np.euler_gamma) * (top * (2 - math.log(top)) - 2)
    assert np.mean((halves > 25) & (halves < 30)) == pytest.approx(share, abs=0.025)
    assert share == pytest.approx(0.104, abs=0.001)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"rarity": 1, "growth": 1, "factor": 0.5}, r"factor: 0\.5 makes rare intervals shorter"),
        ({"rarity": 1, "growth": 100}, "growth: 100 makes intervals longer than numbers go"),
        ({"rarity": 0, "growth": 1}, "rarity: 0 is not a finite number above 0"),
    ],
)
def test_parameters_that_make_no_sense(given, wrong):
    with pytest.raises(InputError, match=wrong):
        of_path(1_000, **given)
