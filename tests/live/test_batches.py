"""What hosts send one another, the clock that they share, and quantiles of what they have seen."""

from __future__ import annotations

import numpy as np
import pytest

from replnet.engines.nodes.nodes import Message, NoReply, Pull, Reply
from replnet.engines.nodes.runner import TimedMessage
from replnet.live.batches import Mailbox, pack, unpack
from replnet.live.clocks import LEAST_STANDSTILL, Heartbeat, Offset, measure_offset
from replnet.live.quantiles import Spread
from replnet.testing import VirtualClock


def parcel(message: Message) -> TimedMessage:
    return TimedMessage(0, 1, 0, 0.0, 0.0, 0.0, False, message)


def test_each_number_is_taken_once_and_dead_incarnations_are_forgotten():
    box = Mailbox(9, 0, lambda to, batch: None)
    assert [box.is_new((0, 0, n)) for n in (1, 0, 1, 3, 0, 2)] == [True, True, False, True, False, True]
    assert box.is_new((1, 0, 0))
    assert box.is_new((0, 1, 0))  # it has begun anew, and counts from zero
    assert not box.is_new((0, 0, 4))
    assert (box.taken, box.repeated) == (6, 3)


@pytest.mark.parametrize(
    "said", [Pull(), Pull(3, "a", 2), Reply({}), Reply({4: 1.5}, 3, (1, 2)), Reply({}, 0, ()), NoReply(5)]
)
def test_messages_survive_the_way(said):
    sent = [TimedMessage(3, 1, 2, 4.5, 4.25, 4.0, True, said), parcel(said)]
    assert unpack(pack((1, 2, 3), sent)) == ((1, 2, 3), sent)


def test_nothing_reaches_the_wrong_incarnation():
    """A reply to what a client had asked before it was lost would otherwise answer another query."""
    sent = []
    one, other = (Mailbox(me, 0, lambda to, batch: sent.append(batch)) for me in (0, 1))
    one.put(1, parcel(Pull()))
    one.flush(0.0)
    other.meet(0, 1)
    assert other.open(sent.pop()) == []  # from before its birth
    one.put(1, parcel(Pull()))
    one.meet(1, 1)
    one.flush(0.0)
    assert not sent  # meant for its predecessor
    one.put(1, parcel(Pull()))
    one.flush(0.0)
    born = Mailbox(1, 1, lambda to, batch: None)
    assert born.open(sent[-1]) == [parcel(Pull())]
    assert born.open(sent[-1]) == []
    assert one.knows(1, 1)
    assert not one.knows(1, 2)


# One clock for all hosts, and who stood still.


def test_the_offset_is_within_its_error():
    clock, rng = VirtualClock(100.0), np.random.default_rng(1)

    def ask() -> float:
        clock.sleep(rng.uniform(0.001, 0.02))
        there = clock.now + 7.0
        clock.sleep(rng.uniform(0.001, 0.02))
        return there

    found = measure_offset(ask, clock.monotonic)
    assert abs(found.seconds - 7.0) <= found.error <= 0.02
    assert measure_offset(lambda: 3.0, lambda: 1.0) == Offset(2.0, 0.0)


def test_a_heart_that_works_or_naps_stands_not_still():
    time = VirtualClock()
    heart = Heartbeat(time)
    for naps, works, stood in (
        (0.2, 0.0, 0.0),
        (9.0, 8.9, 0.0),
        (LEAST_STANDSTILL, 0.0, 0.0),
        (20.1, 0.1, 20.0),
        (0.2, 0.1, 0.0),
    ):
        time.now, time.worked = time.now + naps, time.worked + works
        assert heart.beat() == pytest.approx(stood)
    assert Heartbeat(VirtualClock(50.0), since=43.0).beat() == 7.0  # it was to begin then
    assert Heartbeat(VirtualClock(50.0), since=57.0).beat() == 0.0


# Mean, largest and quantiles of many values.


def test_a_spread_knows_its_quantiles_to_one_percent():
    values = np.random.default_rng(1).exponential(size=10_000)
    whole, half = Spread(), Spread()
    for i, value in enumerate(values.tolist()):
        (whole if i % 2 else half).add(value)
    whole.merge(half)
    assert whole.count == values.size
    assert whole.largest == values.max()
    assert np.isclose(whole.mean, values.mean())
    for p in (0.01, 0.5, 0.99):
        assert np.isclose(whole.quantile(p), np.quantile(values, p, method="inverted_cdf"), rtol=0.0101)


def test_zeros_are_values_too():
    spread = Spread()
    for value in (0.0, 0.0, -1e-9, 2.0):
        spread.add(value)
    assert (spread.mean, spread.quantile(0.5), spread.largest) == (0.5, 0.0, 2.0)
    assert np.isclose(spread.quantile(0.99), 2.0, rtol=0.01)
    assert Spread().quantile(0.5) == Spread().mean == 0.0
