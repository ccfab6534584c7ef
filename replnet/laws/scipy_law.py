"""Continuous distributions of scipy.stats as laws of intervals."""

from __future__ import annotations

import difflib
import math
import warnings
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np

from replnet.laws.law import Array, family
from replnet.laws.numeric import Numerical, TailIntegral
from replnet.text import FieldError, finite, number_text, positive

MEAN_ERROR = 1e-8  # a larger gap between SciPy's mean and its survival function means one of them is wrong

# A tail this small that hardly falls over an octave has no integral: it is noise.
SMALL_TAIL, OCTAVES_CHECKED = 1e-12, 100


@final
@family("scipy(name=invgauss, mu=0.5)")
class Scipy(Numerical):
    """The distribution `name` of scipy.stats with its shape parameters, loc and scale.

    Raises FieldError for other parameters, and for a distribution that reaches below 0, has no finite mean, or which
    SciPy computes too roughly.

    >>> round(rn.scipy(name="invgauss", mu=0.5).mean, 4)
    0.5
    """

    name: str
    shapes: tuple[tuple[str, float], ...]
    loc: float
    scale: float

    def __init__(self, name: str, *, loc: float = 0.0, scale: float = 1.0, **shapes: float) -> None:
        shape_names = _shape_names(_distribution(name))
        for unknown in shapes.keys() - set(shape_names):
            right = f"allowed: {', '.join([*shape_names, 'loc', 'scale'])}"
            raise FieldError(unknown, f"{name} has no such parameter", right)
        for missing in (shape for shape in shape_names if shape not in shapes):
            raise FieldError(missing, "missing", f"{name} needs {', '.join(shape_names)}")
        values = tuple((shape, finite(shape, shapes[shape])) for shape in shape_names)
        self._set(name=name, shapes=values, loc=finite("loc", loc), scale=positive("scale", scale))
        self._check()

    @classmethod
    def of(cls, frozen: Any) -> Scipy:
        """Return the law of a frozen distribution, such as scipy.stats.invgauss(0.5, scale=2).

        Raises FieldError if it is none, or no law of intervals.
        """
        if not is_frozen(frozen):
            wrong = f"{frozen!r} is not a frozen distribution"
            raise FieldError("frozen", wrong, "scipy.stats.invgauss(0.5) or similar")
        distribution = frozen.dist
        shapes, loc, scale = distribution._parse_args(*frozen.args, **frozen.kwds)
        named = dict(zip(_shape_names(_distribution(distribution.name)), map(float, shapes), strict=True))
        return cls(distribution.name, loc=float(loc), scale=float(scale), **named)

    def _check(self) -> None:
        """Raise FieldError unless the distribution is one of positive numbers, with a mean and a precise tail."""
        with np.errstate(all="ignore"):
            start, _ = _frozen_distribution(self).support()
            mean = float(_frozen_distribution(self).mean())
        if math.isnan(start):
            parameters = ", ".join(f"{shape}={value:g}" for shape, value in self.shapes)
            raise FieldError(
                self.shapes[0][0], f"{self.name} is not defined for {parameters}", "parameters in its range"
            )
        if start < 0:
            raise FieldError("loc", f"{self} reaches below 0, down to {start:g}", "a distribution of positive numbers")
        if not math.isfinite(mean):
            raise FieldError("name", f"{self} has no finite mean", "a distribution with a mean")
        tails = self.tail(np.ldexp(mean, np.arange(OCTAVES_CHECKED)))
        is_noise = (tails[1:] > 0.95 * tails[:-1]) & (tails[:-1] > 0) & (tails[:-1] < SMALL_TAIL)
        if np.any(is_noise | (tails[1:] < 0) | (tails[1:] > tails[:-1])):
            wrong = f"SciPy rounds the far tail of {self} to noise"
            raise FieldError("name", wrong, "a distribution with a survival function of its own")
        integral = float(_tail_integral(self).beyond(0.0))
        if not abs(integral - mean) <= MEAN_ERROR * mean:
            wrong = f"SciPy gives {self} the mean {mean:g}, but its survival function integrates to {integral:g}"
            raise FieldError("name", wrong, "a distribution SciPy computes to 8 digits")

    def __str__(self) -> str:
        others = [("loc", self.loc)] if self.loc else []
        others += [("scale", self.scale)] if self.scale != 1 else []
        arguments = "".join(f", {key}={number_text(value)}" for key, value in (*self.shapes, *others))
        return f"scipy(name={self.name}{arguments})"

    @property
    def end(self) -> float:
        return float(_frozen_distribution(self).support()[1])

    @property
    def mean(self) -> float:
        return float(_tail_integral(self).beyond(0.0))

    @cached_property
    def second_moment(self) -> float:
        """The second moment from SciPy, which knows tails that its survival function rounds away, or by quadrature."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mean, variance = (float(moment) for moment in _frozen_distribution(self).stats("mv"))
        return 2 * _tail_integral(self).first_moment() if math.isnan(variance) else variance + mean**2

    def tail(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            tail = _frozen_distribution(self).sf(x)
            # Far out, some formulas of SciPy take one infinity from another.
            return (
                np.where(np.isnan(tail), 1 - _frozen_distribution(self).cdf(x), tail)[()]
                if np.isnan(tail).any()
                else tail
            )

    def cdf(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            return _frozen_distribution(self).cdf(x)

    def excess(self, x: Array) -> Array:
        return _tail_integral(self).beyond(x)

    def integrated_tail(self, x: Array) -> Array:
        return _tail_integral(self).before(x)

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(float(edge) for edge in _frozen_distribution(self).support() if 0 < edge < math.inf)


def is_frozen(value: object) -> bool:
    """Whether a value is a distribution of scipy.stats with its parameters."""
    return hasattr(getattr(value, "dist", None), "_parse_args")


def _distribution(name: object) -> Any:
    """Return the continuous distribution of scipy.stats of this name, without parameters.

    Raises FieldError if there is none.
    """
    from scipy import stats

    distribution = getattr(stats, name, None) if isinstance(name, str) else None
    if isinstance(distribution, stats.rv_continuous):
        return distribution
    if isinstance(distribution, stats.rv_discrete):
        raise FieldError("name", f"{name} is discrete", "lattice(values=[...], weights=[...])")
    names = [key for key, value in vars(stats).items() if isinstance(value, stats.rv_continuous)]
    similar = difflib.get_close_matches(str(name), names, 3)
    raise FieldError(
        "name", f"scipy.stats has no distribution {name!r}", " or ".join(similar) or "invgauss, for example"
    )


def _shape_names(distribution: Any) -> list[str]:
    """Return the names of the shape parameters of a distribution."""
    return distribution.shapes.replace(" ", "").split(",") if distribution.shapes else []


@lru_cache(maxsize=256)
def _frozen_distribution(law: Scipy) -> Any:
    """Return the distribution of SciPy with the parameters of the law."""
    return _distribution(law.name)(**dict(law.shapes), loc=law.loc, scale=law.scale)


@lru_cache(maxsize=256)
def _tail_integral(law: Scipy) -> TailIntegral:
    """Return the object that integrates the law's tail, from 0 to any x and from x to infinity; computed once."""
    return TailIntegral(law.tail, around=float(_frozen_distribution(law).mean()), bends=law.breaks, end=law.end)


scipy = Scipy  # as users write it
