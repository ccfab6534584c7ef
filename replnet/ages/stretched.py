"""A law of the same shape at another rate."""

from __future__ import annotations

from replnet.laws.discrete import Lattice
from replnet.laws.families import Constant, Exponential, Pareto, Uniform
from replnet.laws.law import Law
from replnet.laws.mixtures import Hyperexponential
from replnet.laws.shapes import Gamma, Lognormal, Weibull
from replnet.text.errors import FieldError


def at_rate(law: Law, rate: float) -> Law:
    """`law` stretched to so many events per unit of time."""
    stretch = law.rate / rate
    match law:
        case _ if stretch == 1:
            return law
        case Exponential() | Constant():
            return type(law)(rate=rate)
        case Pareto(alpha=alpha):
            return Pareto(alpha, scale=law.scale * stretch)
        case Gamma(shape=shape) | Weibull(shape=shape):
            return type(law)(shape, scale=law.scale * stretch)
        case Lognormal(sigma=sigma):
            return Lognormal(sigma, scale=law.scale * stretch)
        case Uniform(low=low, high=high):
            return Uniform(low * stretch, high * stretch)
        case Hyperexponential():
            return Hyperexponential(law.weights, [one / stretch for one in law.rates])
        case Lattice():
            return Lattice([value * stretch for value in law.values], law.weights)
    raise FieldError("law", f"{law} cannot be stretched to rate {rate:g}", "a law whose scale is a parameter")
