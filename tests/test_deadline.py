"""Deadlines, on a clock that the test turns."""

from __future__ import annotations

import itertools

import pytest

import replnet as rn
from replnet import deadline
from replnet.deadline import (
    REASONABLE_SECONDS,
    OutOfTime,
    UnreasonableError,
    budget_seconds,
    reasonable_seconds,
    require_reasonable,
    require_time,
    seconds_left,
    sharing_reasonable_time,
    within,
    within_reason,
)
from replnet.text.errors import FieldError

E1 = "exponential(rate=1)"


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(deadline.time, "monotonic", lambda: now[0])
    return now


def test_time_is_over_past_the_deadline_and_not_before(clock):
    assert seconds_left() is None
    with within(10):
        clock[0] += 10
        require_time()
        clock[0] += 1
        assert seconds_left() == 0
        with pytest.raises(KeyboardInterrupt) as over:
            require_time()
    assert isinstance(over.value, OutOfTime)
    assert seconds_left() is None
    require_time()


def test_a_part_has_no_more_time_than_the_whole(clock):
    with within("1m"):
        with within(5):
            assert seconds_left() == 5
        for more in (3600, None):
            with within(more):
                assert seconds_left() == 60


def test_a_search_ends_after_a_night_unless_it_has_a_deadline(clock):
    with within_reason(10):
        clock[0] += 11
        with pytest.raises(OutOfTime, match=r"^out of time \(a budget, such as 20h, allows more than a night\)$"):
            require_time()
        assert seconds_left() is None
        with within(1):
            require_time()
    require_time()


def test_work_that_is_known_to_take_a_night_is_refused():
    require_reasonable(REASONABLE_SECONDS, "it")
    with sharing_reasonable_time(2), pytest.raises(UnreasonableError, match=r"^it would take about 8\.0 h \(a budget"):
        require_reasonable(REASONABLE_SECONDS, "it")
    with within(1):
        require_reasonable(2 * REASONABLE_SECONDS, "it")


def test_parts_share_what_is_reasonable():
    assert reasonable_seconds() == REASONABLE_SECONDS
    with sharing_reasonable_time(4):
        assert reasonable_seconds() == REASONABLE_SECONDS / 4
        with sharing_reasonable_time(2):
            assert reasonable_seconds() == REASONABLE_SECONDS / 8
    assert reasonable_seconds() == REASONABLE_SECONDS


def test_a_part_that_is_refused_says_how_many_there_are():
    words = "horizon: 9 takes a week, and about 4 such runs are wanted"
    with pytest.raises(UnreasonableError, match=f"^{words}$"), sharing_reasonable_time(4):
        raise UnreasonableError("horizon: 9 takes a week")
    assert reasonable_seconds() == REASONABLE_SECONDS


def test_budgets_are_seconds_or_texts():
    assert [budget_seconds(one) for one in (2, "90", "90s", "1.5m", "2h", "1d")] == [2, 90, 90, 90, 7200, 86_400]
    for wrong in ("", "m", "-3", 0, "inf", "ten"):
        with pytest.raises(FieldError, match=r"^budget: .* is no time \(such as 90s, 10m or 2h\)$"):
            budget_seconds(wrong)


@pytest.fixture
def passing(monkeypatch):
    """A clock on which every look takes a second: a deadline counts the looks."""
    looks = itertools.count()
    monkeypatch.setattr(deadline.time, "monotonic", lambda: float(next(looks)))


ENDLESS = 1e6  # units of time, in which every engine looks at the clock some hundred times

PATHS = {
    "windows of trees": ("array", rn.cascade(depth=2, branching=2, updates=E1, downloads=E1)),
    "windows of all else": ("array", rn.cooperative(replicas=3, peers=1, updates=E1, downloads=E1, polls=E1)),
    "windows of a network with faults": ("array", rn.load("faults")),
    "a large network, whose windows come in parts": (
        "array", rn.cooperative(replicas=60_000, peers=1, updates=E1, downloads=E1, polls=E1)
    ),
    "events": ("step", rn.cascade(depth=2, branching=2, updates=E1, downloads=E1)),
}  # fmt: skip


@pytest.mark.parametrize("words", PATHS)
def test_a_budget_ends_a_run_within_a_replication(words, passing):
    """The engines look up within it, and what half a replication gives is dropped."""
    engine, network = PATHS[words]
    found = rn.emulate(network, engine, horizon=2 * ENDLESS, replications=2, budget=20, workers=0)
    assert found.incomplete == "out of time after 0 replications"
    assert (found.replications, found.rows, len(found.table), found.verdict) == (0, (), 0, "")


def test_whole_replications_stay(passing):
    """Some are made by then, whose rows are those of a run of so many."""
    cascade = PATHS["windows of trees"][1]
    cut = rn.emulate(cascade, "array", horizon=1e6, replications=40, confirm=False, budget=60, workers=0)
    assert cut.incomplete == f"out of time after {cut.replications} replications"
    assert 0 < cut.replications < 40
    whole = rn.emulate(
        cascade, "array", horizon=1e6 / 40 * cut.replications, replications=cut.replications, confirm=False, workers=0
    )
    assert cut.rows == whole.rows


HEAVY = {
    "groups one by one": (rn.cascade(depth=40, updates=E1, downloads="gamma(shape=2, rate=2)"), "lag", 60),
    "paths of polls that are sampled": (
        rn.cooperative(replicas=30, peers=2, updates=E1, downloads=E1, polls="constant(rate=4)"), "lag", 4
    ),
    "the limit of many replicas": (
        rn.cooperative(replicas=99, peers=2, updates=E1, downloads="constant(rate=1)", polls="weibull(0.5, rate=4)"),
        "lag",
        4,
    ),
    "a chain of replicas": (
        rn.cooperative(replicas=200, peers=2, updates=E1, downloads="weibull(0.6, rate=1)", polls=E1), "lag", 4
    ),
}  # fmt: skip


@pytest.mark.parametrize("words", HEAVY)
def test_a_budget_ends_what_formulas_take(words, passing):
    network, metric, looks = HEAVY[words]
    assert rn.predict(network, metric, budget=looks).incomplete == "out of time"
