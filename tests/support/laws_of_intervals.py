"""Laws of intervals of all kinds, to be drawn from, and their order (P2P Definition 1)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from hypothesis import strategies as st

from replnet.ages.panels import soft_marks
from replnet.laws import Constant, Exponential, Gamma, Lattice, Law, Lognormal, Pareto, Uniform, Weibull

TEXTS = [
    "exponential(rate=2)",
    "constant(rate=3)",
    "pareto(alpha=3.5, rate=2)",
    "pareto(alpha=1.4, rate=2)",
    "uniform(low=0, high=1)",
    "uniform(low=0.5, high=1)",
    "weibull(shape=0.6, rate=2)",
    "weibull(shape=3, rate=2)",
    "gamma(shape=0.5, rate=2)",
    "gamma(shape=2.5, rate=2)",
    "erlang(stages=40, mean=1)",
    "lognormal(sigma=1, rate=2)",
    "lognormal(sigma=0.1, rate=2)",
    "hyperexponential(weights=[0.9, 0.1], rates=[2, 0.1])",
    "lattice(values=[1, 2, 5], weights=[3, 1, 0.5])",
    "empirical(intervals=[0.5, 1, 3, 3])",
    "scipy(name=invgauss, mu=0.5)",
    "scipy(name=lomax, c=2.5, scale=3)",
    "scipy(name=triang, c=0.3, loc=1)",
    "shuffled(diurnal(rate=3, swing=0.9, period=2))",
    "shuffled(windowed(rate=3, window=0.5, period=2, share=0.7))",
    "shuffled(superposition(laws=[pareto(alpha=3, rate=1), uniform(low=0, high=3)]))",
]

FAMILIES = [
    lambda rate: Exponential(rate=rate),
    lambda rate: Constant(rate=rate),
    lambda rate: Pareto(3, rate=rate),
    lambda rate: Pareto(1.4, rate=rate),
    lambda rate: Uniform(low=0.5 / rate, high=1.5 / rate),
    lambda rate: Weibull(shape=0.6, rate=rate),
    lambda rate: Gamma(shape=2, rate=rate),
    lambda rate: Lognormal(sigma=1, rate=rate),
    lambda rate: Lattice(values=[0.5 / rate, 2 / rate], weights=[2, 1]),
]
laws = st.builds(lambda family, rate: family(rate), st.sampled_from(FAMILIES), st.floats(0.2, 5))

ROUNDING = 1e-12  # of integrated tails in units of the mean: each is a handful of operations from exact
POINTS = 400


def best_constant(downloads: Law) -> Constant:
    """The freshest download strategy of the same rate, whatever the updates (P2P Thm 3)."""
    return Constant(period=downloads.mean)


def dominates(first: Law, second: Law) -> Literal["first", "second", "neither", "equal"]:
    """Which of two laws of the same mean is larger in second order: the integral of its tail from 0 to x is.

    Compared on a grid of points that has all breaks, up to rounding.
    """
    mean = first.mean
    if abs(second.mean - mean) > ROUNDING * mean:
        raise ValueError(f"{first} and {second} have different means, {mean:g} and {second.mean:g}: not comparable")
    marks = np.array([*soft_marks(first), *soft_marks(second), *first.breaks, *second.breaks])
    x = np.concatenate([marks, np.geomspace(marks.min() / 100, marks.max() * 2, POINTS)])
    # Integrated tails differ by minus what the excesses do.
    ahead = (np.asarray(second.excess(x)) - np.asarray(first.excess(x))) / mean
    above, below = bool((ahead > ROUNDING).any()), bool((ahead < -ROUNDING).any())
    if above:
        return "neither" if below else "first"
    return "second" if below else "equal"
