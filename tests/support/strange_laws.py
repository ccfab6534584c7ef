"""Laws of intervals as others write them, in a package of their own: two that are right, and some that are not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replnet.laws import Law


@dataclass(frozen=True)
class Bare(Law):
    """An exponential law of mean 1 by the five members that a law needs, and without an inverse."""

    mean = 1.0
    second_moment = 2.0
    age = property(lambda self: self)

    def tail(self, x):
        return np.exp(-np.asarray(x))

    def excess(self, x):
        return np.exp(-np.asarray(x))


@dataclass(frozen=True)
class Sound(Bare):
    """The same law with an inverse, so that it can be drawn from."""

    def isf(self, q):
        return -np.log(q)


@dataclass(frozen=True)
class Odd(Sound):
    """The same law, but that it draws one number all the time."""

    gives: float = -1.0

    def __str__(self):
        return f"odd(gives={self.gives})"

    def draw(self, e):
        return self.gives + 0 * e


class Proud(Odd):
    """A law that cannot be made."""

    def __init__(self, gives):
        raise LookupError("no table")


class Half(Law):
    """A law that lacks most of what it needs."""

    mean = 1.0


nothing = print  # what is no law at all
