"""Interval laws: what they are, how they are written, their ages, and processes of such intervals.

What a law is, and those that there are:

    base            what every law answers: mean, tail, its inverse and integrals, and its age, which is a law again
    families        exponential, constant, Pareto and uniform, with closed forms for everything
    shapes          Weibull, gamma, Erlang and lognormal
    mixtures        hyperexponential
    steps           what laws on finitely many values share
    discrete        such laws: a lattice, and the intervals of a record
    foreign         any continuous distribution of scipy.stats

For laws that have no formula for it:

    numeric         the age of any law
    integral        integrals of a decreasing function, which that takes
    inverse         the interval at which the hazard of a law reaches a value, solved
    tables          the same quickly, by interpolation, for drawing

How laws come in:

    check           numbers refused with the name of their field and what would be right
    syntax          the one grammar of texts: calls, lists, arithmetic and comparisons, with places for errors
    arithmetic      the value of such arithmetic, for weights, named values and bounds
    text            the text form, `pareto(alpha=3, rate=2)`; `FAMILIES` lists every name there is
    spelling        the shortest text that gives the same law back
    trace           recorded event times from a file
    guarded         laws that others wrote: examined before they come in, guarded while they are used
    soundness       that examination: are the answers of a law those of one law?

Processes whose intervals depend on one another:

    ordered         a law of the intervals and the order in which they come; `shuffled` undoes the order
    pattern         the same intervals over and over: `alternating`, and records in their order
    gaussian        `correlated` and `longrange`: a Gaussian sequence turned into intervals
    modulated       Poisson at a rate that changes at random
    diurnal         Poisson at a rate that follows the clock
    superposition   the union of independent processes

From laws to instants:

    streams         named streams of chance: one per (seed, replication, node, purpose)
    renewal         processes in equilibrium: their past before time zero, then window after window of instants
    compiled        the compiled loops of these two
    scratch         memory that windows use again
"""

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
