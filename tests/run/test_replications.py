"""How long a search for a precision goes on, with replications that are scripted and a clock that the test turns."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

import replnet as rn
from replnet.deadline import OutOfTime, UnreasonableError, sharing_reasonable_time, within
from replnet.measure.estimate import Estimate
from replnet.run import replications
from replnet.run.replications import Replications

EVENTS = 1e5


@pytest.fixture
def made(monkeypatch):
    """Replications that take a second each, of which a single one says 0.5 +- 1, four of them +- 0.5, and so on."""
    now = [0.0]
    monkeypatch.setattr(replications.time, "perf_counter", lambda: now[0])

    def run(some):
        now[0] += len(some)
        return list(some)

    def judge(paths):
        error = 1 / math.sqrt(len(paths)) / 1.96
        estimate = SimpleNamespace(doubt="", half_width=1.96 * error, value=0.5)
        return SimpleNamespace(
            precision_estimates=[estimate], measured=[], estimates=[Estimate(0.5, error, len(paths))]
        )

    return Replications(32, 1.0, EVENTS, run, judge, lambda path: (int(EVENTS), 0))


def test_what_takes_a_night_is_refused_after_the_first_replications(made):
    """(1 / h)^2 replications of a second each: 1e4 for 0.01, 1e6 for 0.001."""
    with pytest.raises(UnreasonableError) as refused:
        made.run_all(0.001, False, None)
    assert len(made.paths) == 32
    words = "precision: 0.001 takes about 1e+11 events, 12.2 days on 1 CPU (precision 0.042 takes 10 min; a budget"
    assert str(refused.value).startswith(words)


def test_what_takes_hours_is_run(made):
    made.run_all(0.01, False, None)
    assert 1e4 <= len(made.paths) < 1.1e4
    assert made.incomplete == ""


def test_one_of_several_runs_may_take_its_part_of_a_night(made):
    """1e4 seconds are below a night, and above a quarter of one."""
    with (
        pytest.raises(UnreasonableError, match=r"2\.9 h on 1 CPU .*, and about 4 such runs are wanted$"),
        sharing_reasonable_time(4),
    ):
        made.run_all(0.01, False, None)


def test_several_cores_share_what_takes_a_night(made):
    made.workers = lambda: 8
    made.run_all(0.0025, False, None)
    assert len(made.paths) > 1.6e5


def test_with_a_deadline_it_is_begun(made, monkeypatch):
    def over():
        if len(made.paths) >= 2000:
            raise OutOfTime

    monkeypatch.setattr(replications, "require_time", over)
    with within(3600):
        made.run_all(1e-9, False, None)
    assert made.incomplete == "out of time after 2000 replications"
    assert made.stopped


def test_a_horizon_that_takes_a_night_is_refused(made):
    made.first, made.length = 10**6, 2.0
    with pytest.raises(UnreasonableError, match=r"^horizon: 2e\+06 takes about 1e\+11 events, 11.6 days on 1 CPU"):
        made.run_all(None, False, None)
    made.events, made.first, made.paths = 1e15, 1, []
    with pytest.raises(UnreasonableError, match=r"23\.1 days on 1 CPU"):
        made.run_all(None, False, None)


def test_what_scatters_ever_more_does_not_go_on_for_ever(made):
    plain, first = made.judge, 32

    def judge(paths):
        found = plain(paths)
        found.precision_estimates[0].half_width = 0.2 if len(paths) > first else found.precision_estimates[0].half_width
        return found

    made.judge = judge
    made.run_all(0.1, False, None)
    assert made.incomplete == "precision 0.1 not reached: half-width 0.2 after 4.2e+07 events"


def test_a_refused_run_leaves_no_directory(tmp_path):
    network = rn.single(updates="exponential(rate=1)", downloads="exponential(rate=1)")
    with pytest.raises(UnreasonableError, match=r"^precision: 1e-12 takes about"):
        rn.emulate(network, horizon=1000, precision=1e-12, out=tmp_path / "run", workers=0)
    assert not (tmp_path / "run").exists()
    rn.emulate(network, horizon=1000, precision=0.1, out=tmp_path / "run", workers=0)
