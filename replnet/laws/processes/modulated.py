"""A Poisson process whose rate changes at random: bursts and lulls (the Markov-modulated Poisson process).

The process stays in a state i for an exponential time of mean m_i, with events at the
rate l_i, and goes over to any of the other states, each as likely. Let D be the generator
of that chain and L the diagonal of the rates. In equilibrium state i has the share
s_i = m_i / sum m, and the flows s_i D_ij are symmetric, so the chain looks the same
backwards and S = R (D - L) / R is symmetric for R = diag(sqrt(s)). With its eigenvalues
-t_k and unit vectors v_k the age, the time without an event, has the tail

    P(A > x) = s exp((D - L) x) 1 = sum over k of (v_k . sqrt(s))^2 exp(-t_k x),          (1)

a mixture of exponentials, and so is the law of an interval, with the weights of (1) times
t_k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from replnet.laws.mixtures import Hyperexponential
from replnet.laws.processes.order import Chance, Floats, Flow, Ints, Order, Ordered, Walk
from replnet.laws.processes.streams import FUTURE, PAST, Streams
from replnet.text.errors import FieldError, finite, many, positive, sequence
from replnet.text.grammar import listed

NEGLIGIBLE = 1e-14  # weight of a mode that rounding alone may have made
DIGITS = 1e-6  # relative error of the rate from which on too little is left of the modes


@final
@dataclass(frozen=True)
class Modulated(Order):
    """The rates of the states, and their mean times."""

    rates: tuple[float, ...]
    means: tuple[float, ...]

    def __str__(self) -> str:
        return f"modulated(rates={listed(self.rates)}, means={listed(self.means)})"

    @property
    def rate(self) -> float:
        """Events per unit of time: the mean over the states."""
        return float(np.dot(self.rates, self.means)) / sum(self.means)

    @cached_property
    def modes(self) -> tuple[Floats, Floats]:
        """The weights that the law of an interval gives to the exponentials of (1), and their rates."""
        n, share = len(self.rates), np.array(self.means) / sum(self.means)
        flow = (1 / np.array(self.means))[:, None] * (1 - np.eye(n)) / (n - 1)
        flow -= np.diag(flow.sum(axis=1) + np.array(self.rates))
        root = np.sqrt(share)
        decay, modes = np.linalg.eigh(-flow * root[:, None] / root)
        weight = (root @ modes) ** 2 * decay
        kept = weight > NEGLIGIBLE * weight.sum()
        return weight[kept], decay[kept]

    @cached_property
    def marginal(self) -> Hyperexponential:
        """The law of an interval."""
        weight, decay = self.modes
        return Hyperexponential(weight.tolist(), decay.tolist())

    def flow(self, chance: Chance) -> Flow:
        upto = np.cumsum(self.means) / sum(self.means)
        state = np.minimum(np.searchsorted(upto, np.exp(-chance.starts(0))), upto.size - 1)
        ahead = _Race(self, state, chance.streams(FUTURE))
        return Flow.outwards(state.size, ahead, lambda: _Race(self, state, chance.streams(PAST)))


@final
class _Race(Walk):
    """From the states of time zero on."""

    def __init__(self, order: Modulated, state: Ints, chance: Streams) -> None:
        self._rates, self._leave = np.array(order.rates), 1 / np.array(order.means)
        self._state, self._chance, self._used = state.copy(), chance, np.zeros(state.size, np.int64)

    def next(self, rows: Ints, block: int) -> Floats:
        from replnet.laws.processes.kernels import race

        waits = np.empty((rows.size, block))
        race(self._chance.key, self._chance.gamma, self._used, rows, self._rates, self._leave, self._state, waits)
        return waits


def modulated(rates: Sequence[float], means: Sequence[float]) -> Ordered:
    """Poisson at the rate of its state; the state lasts an exponential time, then any other comes."""
    means = many("means", means)
    rates = tuple(
        0.0 if finite(f"rates[{place}]", rate) == 0 else positive(f"rates[{place}]", rate)
        for place, rate in enumerate(sequence("rates", rates))
    )
    if len(rates) < 2:
        raise FieldError("rates", "a single rate", "two or more, or exponential(rate=...)")
    if len(means) != len(rates):
        raise FieldError("means", f"{len(means)} means for {len(rates)} rates", "one mean time per rate")
    if not any(rates):
        raise FieldError("rates", "all are 0", "one or more above 0")
    order = Modulated(rates, means)
    # The weights add up to the rate, of which rounding leaves nothing if states last no part of an interval.
    if not abs(float(order.modes[0].sum()) - order.rate) <= DIGITS * order.rate:
        wrong = "states change so much faster than there are events that they make no difference"
        raise FieldError("rates", wrong, f"exponential(rate={order.rate:g})")
    return Ordered(order)
