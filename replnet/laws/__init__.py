"""Interval laws: their formulas, how they are written, their ages, and processes of such intervals.

In it:

    law        the interface of interval laws, and how families of them are declared
    families   the families with closed forms for nearly everything, the age included
    shapes     families with a shape parameter: Weibull, gamma, lognormal
    discrete   laws on finitely many values: a lattice, the intervals of a record, and their ages
    inversion  from an exponential to the interval, for laws without a formula: by search, or from a table
    numeric    the age of any law, by quadrature
    scipy_law  any continuous distribution of scipy.stats that is a law of intervals
    trace      recorded event times from a file: plain numbers, one to a line, or a column of CSV
    text       the text form of laws: `pareto(alpha=3, rate=2)`, the same in YAML, on the command line and in Python
    fields     types of the fields of specifications and formulas: laws, numbers, lists of them
    guarded    laws that others wrote: examined before use, and checked at every answer
    processes  from laws to instants: random streams, stationary processes, intervals that depend on one another
"""

from replnet.laws.discrete import Empirical, Lattice
from replnet.laws.families import Constant, Exponential, Hyperexponential, Pareto, Uniform
from replnet.laws.law import Law
from replnet.laws.numeric import Age
from replnet.laws.processes.order import Ordered, shuffled
from replnet.laws.processes.poisson import diurnal, modulated
from replnet.laws.processes.sequences import alternating, correlated, longrange
from replnet.laws.processes.superposition import superposition
from replnet.laws.processes.windows import windowed
from replnet.laws.scipy_law import Scipy
from replnet.laws.shapes import Gamma, Lognormal, Weibull, erlang
from replnet.laws.text import law
from replnet.laws.trace import trace
from replnet.text.errors import FieldError

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
    "Age", "Constant", "Empirical", "Exponential", "FieldError", "Gamma", "Hyperexponential", "Lattice", "Law",
    "Lognormal", "Ordered", "Pareto", "Scipy", "Uniform", "Weibull",
    "alternating", "constant", "correlated", "diurnal", "empirical", "erlang", "exponential", "gamma",
    "hyperexponential", "lattice", "law", "lognormal", "longrange", "modulated", "pareto", "scipy", "shuffled",
    "superposition", "trace", "uniform", "weibull", "windowed",
]  # fmt: skip
