"""Interval laws: what they are, how they are written, and their ages."""

from replnet.laws.base import Law
from replnet.laws.check import FieldError
from replnet.laws.discrete import Empirical, Lattice
from replnet.laws.diurnal import diurnal
from replnet.laws.families import Constant, Exponential, Pareto, Uniform
from replnet.laws.foreign import Scipy
from replnet.laws.gaussian import correlated, longrange
from replnet.laws.mixtures import Hyperexponential
from replnet.laws.modulated import modulated
from replnet.laws.numeric import Age
from replnet.laws.ordered import Ordered, shuffled
from replnet.laws.pattern import alternating
from replnet.laws.shapes import Gamma, Lognormal, Weibull, erlang
from replnet.laws.superposition import superposition
from replnet.laws.text import law
from replnet.laws.trace import trace

exponential = Exponential
constant = Constant
pareto = Pareto
uniform = Uniform
weibull = Weibull
gamma = Gamma
lognormal = Lognormal
hyperexponential = Hyperexponential
lattice = Lattice
empirical = Empirical
scipy = Scipy

__all__ = [
    "Age",
    "Constant",
    "Empirical",
    "Exponential",
    "FieldError",
    "Gamma",
    "Hyperexponential",
    "Lattice",
    "Law",
    "Lognormal",
    "Ordered",
    "Pareto",
    "Scipy",
    "Uniform",
    "Weibull",
    "alternating",
    "constant",
    "correlated",
    "diurnal",
    "empirical",
    "erlang",
    "exponential",
    "gamma",
    "hyperexponential",
    "lattice",
    "law",
    "lognormal",
    "longrange",
    "modulated",
    "pareto",
    "scipy",
    "shuffled",
    "superposition",
    "trace",
    "uniform",
    "weibull",
]
