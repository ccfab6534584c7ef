"""The rates of the fewest messages for an architecture: which of its shapes, and how fast each kind of nodes pulls.

What a shape's messages cost is linear in its rates, and what a node may answer is a limit on each of them, so the rates
are the cheapest amounts with which a target is met (search.py, 2). A shape with more nodes costs more at the same
rates, and is better only if it raises the limit of a rate that is at its limit.

The pulls of each node have a phase of their own, which is independent of all others. So freshness is a continuous
function of the rates also where all intervals are constant: rates in a ratio such as 1:2 or 2:3, whose phases lock, are
measured with wider intervals, and are no better on average than the rates next to them. The cheapest ratio lies
close to that of Poisson pulls, from which the search for other laws begins.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from itertools import islice
from typing import final

from replnet.ages import UnreachableError
from replnet.deadline import require_time
from replnet.lab.inverse.architectures import CandidateNetwork, Needs, Shape
from replnet.lab.inverse.search import AMOUNT_PRECISION, Amounts, cheapest_amounts, least_amount
from replnet.lab.inverse.targets import predict_worst
from replnet.laws import Law, at_rate, law
from replnet.network import Network
from replnet.run import Threshold
from replnet.text import FieldError, round_to

DIGITS = 5  # to which rates are rounded
LIMIT_ROOM = 1 + 2 * 10.0 ** (1 - DIGITS)  # factor of the least limit, so that rounded rates keep to it
PLENTY = 2.0**20  # factor of a rate after which more of it does not help
MOST_IN_VAIN = 100  # shapes in a row that are no better, of perhaps thousands, after which the search ends
LEAST_SHARE = 2e-4  # of all messages: pulls that take less are needless


@final
class RateSearch:
    """The search for the rates of the fewest messages of one architecture, with pulls of one law, that meet a target.

    `pulls` is the law of the intervals between pulls of all nodes, whose rate is left open. `shapes` yields the
    architecture's shapes, those of fewer nodes first. `tell` is called with `words`, and with the number of the
    prediction that is worked out.
    """

    def __init__(
        self, needs: Needs, target: Threshold, pulls: Law, shapes: Callable[[], Iterator[Shape]],
        tell: Callable[[str], None] = lambda words: None, words: str = "",
    ) -> None:  # fmt: skip
        self._needs, self._target, self._pulls, self._shapes = needs, target, pulls, shapes
        self._tell, self._words = tell, words
        self._values: dict[Amounts, float] = {}  # predictions by rates, which are the same for all shapes
        self._missed = list[Amounts]()  # rates that do not meet the target, none of them below another

    def best(self, ray: Amounts | None) -> CandidateNetwork:
        """Return the cheapest shape within the limit on answers, with its rates.

        If none meets the target within it, the limit is the least that any shape can keep to. The search begins on
        `ray`, the rates of another law's search, or with a coarse look at all rates if it is None. Raises FieldError if
        any rates meet the target, or none do.
        """
        try:
            self._look_below()
            best = self._best_within(self._needs.limit, ray) or self._best_within(
                self._least_limit() * LIMIT_ROOM, None
            )
        except UnreachableError:
            raise self._undecided_error("not met") from None
        assert best is not None
        return best

    def predict(self, best: CandidateNetwork) -> float:
        """Return the predicted value of the target's metric for the network `best`, which the search found.

        Raises FieldError if hardly any messages are those of one of its pulls, which are then needless.
        """
        for pulls, rate in zip(best.shape.pulls, best.rates, strict=True):
            if pulls.messages * rate < LEAST_SHARE * best.messages_of_pulls:
                raise FieldError("target", f"it takes fewer messages without {pulls.name}", "another architecture")
        if best.shape.thin is best.shape.specify:
            return self._values[best.rates]
        return self._predict(best.network, best.shape.group)

    def _look_below(self) -> None:
        """Find for each of the pulls a rate below which no rates of the others help, and store it as one that misses.

        This spares a look at most shapes, and is left out where there is only one shape, or no limit.
        """
        shape, *more = islice(self._shapes(), 2)
        if not more or self._needs.limit == math.inf:
            return
        rate, kinds = law(self._needs.updates).rate, range(len(shape.pulls))
        for kind in kinds:
            others = tuple(1.0 if other == kind else PLENTY for other in kinds)
            rate = least_amount(lambda x, of=others: self._margin(shape, _multiply(x, of)), rate)  # type: ignore[misc]
            self._missed.append(_multiply(rate * (1 - 2 * AMOUNT_PRECISION), others))

    def _best_within(self, limit: float, ray: Amounts | None) -> CandidateNetwork | None:
        """Return the cheapest shape in which no node answers more than `limit`, with its rates; None if none will do.

        The search begins on `ray`, as rates in proportion, or with a coarse look at all rates if it is None.
        """
        bests, in_vain = list[CandidateNetwork](), 0
        for shape in self._shapes():
            require_time()
            if max(shape.served.values()) > limit or in_vain > MOST_IN_VAIN:
                break
            limits = tuple(round_to(rate, DIGITS, up=False) for rate in shape.limits(limit))
            if any(best.rules_out(shape, limits) for best in bests):
                continue
            if limit == math.inf or self._meets(shape, limits):
                rates = self._rates(shape, limits, ray)
                bests.append(CandidateNetwork(shape, self._needs.source, self._pulls, rates, limits))
                ray = bests[-1].ray
                bests.sort(key=lambda best: best.messages)
                in_vain = 0 if bests[0].shape is shape else in_vain + 1
        return bests[0] if bests else None

    def _rates(self, shape: Shape, limits: Amounts, ray: Amounts | None) -> Amounts:
        """Return the cheapest rates of a shape, none above `limits`, rounded to five digits.

        They are rounded up if the target would not be met otherwise. The search begins on `ray`, as rates in
        proportion, or with a coarse look at all rates if it is None. Raises FieldError if any rates meet the target.
        """

        def margin(rates: Amounts) -> float:
            return self._margin(shape, rates)

        # With Poisson pulls the loss is as 1 / rate, so the best rates are as 1 / sqrt(cost).
        first = law(self._needs.updates).rate
        poisson = tuple(first * math.sqrt(self._needs.replicas / cost) for cost in shape.messages)
        rates = cheapest_amounts(margin, shape.messages, limits, ray or poisson, ray is None)
        if not min(rates):
            raise self._undecided_error("met")
        rounded = tuple(min(round_to(rate, DIGITS), limit) for rate, limit in zip(rates, limits, strict=True))
        while margin(rounded) < 0:
            rounded = tuple(
                min(round_to(rate, DIGITS, up=True), limit) for rate, limit in zip(rates, limits, strict=True)
            )
            rates = tuple(
                rate * (1 + AMOUNT_PRECISION) for rate in rates
            )  # in case the formula is not smooth on this scale
        return rounded

    def _least_limit(self) -> float:
        """Return the lowest limit on the requests that a node answers per unit of time at which a shape meets the
        target.
        """
        best, in_vain = math.inf, 0
        # With Poisson pulls the loss is as 1 / rate, so the first of these shapes is about the best.
        for shape in sorted(self._shapes(), key=lambda shape: sum(pulls.busiest for pulls in shape.pulls)):
            require_time()
            if in_vain > MOST_IN_VAIN:
                break

            def margin(limit: float, shape: Shape = shape) -> float:
                rates = shape.limits(limit)
                return self._margin(shape, rates) if min(rates) > 0 else -math.inf

            in_vain += 1
            if best == math.inf or self._meets(shape, shape.limits(best * (1 - AMOUNT_PRECISION))):
                best, in_vain = max(least_amount(margin, min(best, self._needs.limit)), *shape.served.values()), 0
        return best

    def _meets(self, shape: Shape, rates: Amounts) -> bool:
        """Whether a shape meets the target at these rates.

        Rates that miss it are stored, and any that are nowhere above them miss it too, without a prediction.
        """
        if min(rates) <= 0 or any(all(map(operator.le, rates, higher)) for higher in self._missed):
            return False
        if self._margin(shape, rates) >= 0:
            return True
        self._missed = [lower for lower in self._missed if not all(map(operator.le, lower, rates))] + [rates]
        return False

    def _margin(self, shape: Shape, rates: Amounts) -> float:
        """Return by how much the prediction at these rates is better than the target; below 0 if it misses it.

        The margin is in the unit of the target's metric. It is computed once for the same rates.
        """
        if rates not in self._values:
            require_time()
            self._tell(f"{self._words} (prediction {len(self._values) + 1:,})")
            laws = [str(at_rate(self._pulls, rate)) for rate in rates]
            network = Network.from_data(self._needs.source | shape.thin(laws))
            self._values[rates] = self._predict(network, shape.group)
        return self._target.margin(self._values[rates])

    def _predict(self, network: Network, group: str) -> float:
        """Return the target's metric by formula for `group` of a network.

        Raises FieldError if there is no such row, or no formula.
        """
        value = predict_worst(network, self._target, group)
        if value is None:
            raise FieldError("target", f"{self._target.metric} has no formula there", "another metric")
        return value

    def _undecided_error(self, which: str) -> FieldError:
        """Return the error that says that the target is `which`, "met" or "not met", whatever the rates."""
        wrong = f"{self._target.text!r} is {which} by any rate of downloads"
        return FieldError("target", wrong, "one that a rate of downloads decides")


def _multiply(x: float, amounts: Amounts) -> Amounts:
    """Return `x` times each of the amounts."""
    return tuple(x * amount for amount in amounts)
