"""One clock for all hosts, and who stood still."""

from __future__ import annotations

import numpy as np
import pytest

from replnet.live.clocks import LEAST_STANDSTILL, Heartbeat, Offset, measure_offset
from replnet.testing import VirtualClock


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
