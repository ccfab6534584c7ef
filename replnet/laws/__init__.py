"""Interval laws: what they are, how they are written, their ages, and processes of such intervals.

In it:

    columns      one number per source, given as a list or as a law whose quantiles they are
    discrete     laws on listed values: a lattice, and the intervals of a record
    draw_tables  A fast `draw` for laws whose `solve` is slow: piecewise polynomials of x in e
    families     the families with closed forms for everything, the age included
    fields       types of the fields of specifications and formulas: strict where pydantic would convert
    guarded      laws that others wrote: examined before they come in, and guarded for as long as they are asked
    integral     the integral of a decreasing function f, from x to infinity and from 0 to x
    inversion    solves hazard(x) = e for laws without a formula, for whole arrays
    law          what every interval law knows
    mixtures     mixtures of exponentials
    numeric      the age of any law, by quadrature and inversion
    scipy_law    any continuous distribution of scipy.stats that is a law of intervals
    shapes       families with a shape: Weibull, gamma, lognormal
    soundness    []
    spelling     how a law writes itself: the shortest text that gives exactly the same law back
    steps        laws on finitely many values: every answer is a sum over the values beyond x
    text         the text form of laws: `pareto(alpha=3, rate=2)`, the same in YAML, on the command line and in Python
    trace        recorded event times from a file: plain numbers, one to a line, or a column of CSV
    processes    a folder of its own
"""

from replnet.laws.discrete import Empirical, Lattice
from replnet.laws.families import Constant, Exponential, Pareto, Uniform
from replnet.laws.law import Law
from replnet.laws.mixtures import Hyperexponential
from replnet.laws.numeric import Age
from replnet.laws.processes.diurnal import diurnal
from replnet.laws.processes.gaussian import correlated, longrange
from replnet.laws.processes.modulated import modulated
from replnet.laws.processes.order import Ordered, shuffled
from replnet.laws.processes.pattern import alternating
from replnet.laws.processes.superposition import superposition
from replnet.laws.scipy_law import Scipy
from replnet.laws.shapes import Gamma, Lognormal, Weibull, erlang
from replnet.laws.text import law
from replnet.laws.trace import trace
from replnet.text.checks import FieldError

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
