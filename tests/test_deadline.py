"""Deadlines, on a clock that the test turns."""

from __future__ import annotations

import pytest

from replnet import deadline
from replnet.deadline import OutOfTime, left, require_time, seconds, within
from replnet.text.errors import FieldError


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(deadline.time, "monotonic", lambda: now[0])
    return now


def test_time_is_over_past_the_deadline_and_not_before(clock):
    assert left() is None
    with within(10):
        clock[0] += 10
        require_time()
        clock[0] += 1
        assert left() == 0
        with pytest.raises(KeyboardInterrupt) as over:
            require_time()
    assert isinstance(over.value, OutOfTime)
    assert left() is None
    require_time()


def test_a_part_has_no_more_time_than_the_whole(clock):
    with within("1m"):
        with within(5):
            assert left() == 5
        for more in (3600, None):
            with within(more):
                assert left() == 60


def test_budgets_are_seconds_or_texts():
    assert [seconds(one) for one in (2, "90", "90s", "1.5m", "2h", "1d")] == [2, 90, 90, 90, 7200, 86_400]
    for wrong in ("", "m", "-3", 0, "inf", "ten"):
        with pytest.raises(FieldError, match=r"^budget: .* is no time \(such as 90s, 10m or 2h\)$"):
            seconds(wrong)
