"""Laws of intervals of all kinds, to be drawn from."""

from __future__ import annotations

from hypothesis import strategies as st

from replnet.laws import Constant, Exponential, Gamma, Lattice, Lognormal, Pareto, Uniform, Weibull

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

DEPENDENT = [
    "alternating(values=[1, 3])",
    "alternating(values=[0.5, 0.25, 2, 0.25])",
    "correlated(law=pareto(alpha=3, rate=2), rho=0.9)",
    "correlated(law=lattice(values=[1, 2], weights=[3, 1]), rho=-0.5)",
    "longrange(law=uniform(low=0.5, high=1.5), hurst=0.8)",
    "modulated(rates=[10, 1], means=[1, 5])",
    "modulated(rates=[8, 0, 3], means=[1, 2, 0.5])",
    "diurnal(rate=1, swing=0.8, period=24)",
    "diurnal(rate=0.3, swing=1, period=1)",
    "superposition(law=pareto(alpha=3, mean=2), count=4)",
    "superposition(laws=[constant(period=3), diurnal(rate=1, swing=1, period=5), alternating(values=[1, 2])])",
    "windowed(rate=3, window=0.25, period=1)",
    "windowed(rate=0.7, window=6, period=24, share=0.8)",
    "windowed(rate=0.7, window=0.5, period=1, share=0.2)",
]

PLAIN = [
    "exponential(rate=2)",
    "constant(rate=3)",
    "pareto(alpha=1.4, rate=1)",
    "uniform(low=0.2, high=1)",
    "hyperexponential(weights=[0.9, 0.1], rates=[20, 0.2])",
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
