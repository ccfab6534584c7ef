"""The public tools for tests: a clock, chance and messages in the hands of a test."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from replnet import testing
from replnet.testing import FALSE_ALARM, InMemoryTransport, VirtualClock, assert_mean, radius

FLIPS = (np.arange(10_000) % 2).astype(float)


def test_the_example_runs_as_it_is_printed():
    found = doctest.testmod(testing)
    assert found.attempted > 10
    assert not found.failed


def test_a_clock_stands_still_until_it_is_turned():
    clock, seen = VirtualClock(3.0), []
    clock.follow = lambda: seen.append(clock.now)
    assert [clock.monotonic(), clock.monotonic(), clock.process_time()] == [3.0, 3.0, 0.0]
    clock.sleep(0.5)
    assert (clock.monotonic(), clock.process_time(), seen) == (3.5, 0.0, [3.5])


def test_messages_arrive_once_in_order_and_not_before_their_time():
    clock = VirtualClock()
    transport = InMemoryTransport[str, int](clock.monotonic, takes=2.0)
    assert transport.due == np.inf
    transport.send("a", 1)
    clock.sleep(1.0)
    transport.send("b", 2)
    assert (list(transport.arrived()), transport.due) == ([], 2.0)
    clock.sleep(1.0)
    assert (list(transport.arrived()), list(transport.arrived()), transport.due) == ([("a", 1)], [], 3.0)
    clock.sleep(9.0)
    transport.send("a", 3)
    assert (list(transport.arrived()), transport.due) == ([("b", 2)], 13.0)


def test_a_message_that_takes_no_time_arrives_while_others_are_handed_over():
    transport = InMemoryTransport[str, int](VirtualClock().monotonic)
    transport.send("a", 2)
    came = []
    for to, left in transport.arrived():
        came.append((to, left))
        if left:
            transport.send("b" if to == "a" else "a", left - 1)
    assert came == [("a", 2), ("b", 1), ("a", 0)]


def test_a_mean_that_is_not_as_expected_fails():
    assert_mean(FLIPS, 0.5, resolution=0.1)
    with pytest.raises(AssertionError, match=r"the mean is 0\.5, not 0\.6"):
        assert_mean(FLIPS, 0.6, resolution=0.1)


def test_a_test_that_could_not_have_told_fails():
    with pytest.raises(AssertionError, match=r"100 samples resolve 1\.\d, not 0\.1"):
        assert_mean(FLIPS[:100], 0.5, resolution=0.1)


def test_samples_beyond_their_bounds_fail():
    with pytest.raises(AssertionError, match="samples from 0 to 3"):
        assert_mean(FLIPS * 3, 1.5, resolution=1.0)


def test_the_radius_is_that_of_maurer_and_pontil():
    log = np.log(4 / FALSE_ALARM)
    expected = np.sqrt(2 * FLIPS.var(ddof=1) * log / 10_000) + 7 * 2 * log / (3 * 9_999)
    assert radius(FLIPS, -1, 1) == pytest.approx(expected, rel=1e-12)
