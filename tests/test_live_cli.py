"""`run --engine live` as a script sees it, and what becomes of a live run in its table."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from test_cli import replnet

import replnet as rn
from replnet.cli.main import BAD_INPUT, FINE, RAY_LOST
from replnet.engines import step
from replnet.engines.live import Live, Outage
from replnet.engines.live.clocks import Offset
from replnet.engines.live.result import HostSeen, Summary
from replnet.engines.plan import plan
from replnet.experiment import on_the_clock

LIVE = ("run", "cascade", "-s", "depth=2", "--engine", "live", "--horizon", "320")


@pytest.mark.ray
def test_a_live_run_counts_what_step_counts():
    """32 paths by default, so that there is an interval and a verdict."""
    done = replnet(*LIVE, "--seed", "3", "--format", "json", "-s", "branching=2")
    assert done.returncode == FINE, done.stderr
    data = json.loads(done.stdout)
    assert data["incomplete"] == ""
    network = rn.cascade(depth=2, branching=2, updates="exponential(rate=2)", downloads="exponential(rate=2)")
    virtual = rn.emulate(network, "step", seed=3, horizon=320, replications=32)
    assert data["replications"] == virtual.replications == 32
    assert data["events"] == virtual.events
    assert data["horizon"] == 320
    for ours, theirs in zip(data["rows"], virtual.rows, strict=True):
        assert f"step on the same paths: {theirs.measured:.5f}" in ours["note"]
        assert 0 < ours["predicted"] < theirs.predicted  # the measured delay makes copies older
        assert ours["ci_low"] < ours["measured"] < ours["ci_high"]
        assert ours["verdict"] in ("agree", "unresolved")


@pytest.mark.ray
@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        (("--hosts", "0"), BAD_INPUT, "hosts"),
        (("--hosts", "many"), BAD_INPUT, "hosts"),
        (("--time-scale", "-1"), BAD_INPUT, "time scale"),
        (("--address", "127.0.0.1:1"), RAY_LOST, "127.0.0.1:1"),
    ],
)
def test_what_cannot_be_is_said(options, code, word):
    done = replnet(*LIVE, *options)
    assert done.returncode == code
    assert word in done.stderr
    assert "Traceback" not in done.stderr


def outages(heard: float, back: float | None, nodes: tuple[str, ...]) -> tuple[Outage, ...]:
    return (Outage(1, nodes, "died", heard, back),)


def test_what_was_lost_is_marked_and_not_judged(monkeypatch):
    """A leaf of a tree was away: its level has no verdict, the level above has."""
    network = rn.cascade(depth=2, branching=1, updates="exponential(rate=2)", downloads="exponential(rate=2)")
    leaf = plan(network).names[-1]
    for back, cut in ((4.5, ""), (None, "host 1 died, and no other process took its place at t = 7")):
        live = made(network, lost=outages(4.0, back, (leaf,)), cut_short=cut)
        monkeypatch.setattr(on_the_clock, "run_live", lambda *_, live=live, **__: live)
        result = on_the_clock.run_for_real(network, horizon=320.0, replications=32)
        above, below = (row for row in result.rows if row.metric == "freshness")
        assert [row.measured for row in result.rows if row.metric == "availability"] == [1.0, 0.9]
        assert above.verdict
        assert "host" not in above.note
        assert below.verdict == ""
        assert below.ci_low is None
        end = "to 4.5" if back else "and did not come back"
        assert f"host 1 was lost from t = 4 {end}: 1 of its nodes here began anew; 90.0% of the copy-time" in below.note
        assert bool(result.incomplete) == (back is None)
        assert result.verdict == above.verdict


def made(network, **how) -> Live:
    """As if the paths of `step` had been run, with a tenth of the time of the second level lost."""
    compiled = plan(network)
    still = Summary(1, 0.0, 0.0, 0.0, 0.0)
    there = {(f"level {g}", "availability"): (share * 10.0, 10.0) for g, share in ((1, 1.0), (2, 0.9))}
    paths = tuple(replace(step.run_path(compiled, 1, r, 10.0, True), shares=there) for r in range(32))
    host = HostSeen(1, "here", still, 0.1, 0.1, 1, 1, Offset())
    return Live(
        horizon=10.0, paths=paths, present=np.tile([1.0, 0.9], (32, 1)),
        good_when_due=np.zeros((32, 2)), delays=still, late=0.0, group_late=(0.0, 0.0),
        responses=still, unanswered=0, messages=1, crossed=0, batches=0, batches_missing=0, duplicates=0, seconds=1.0,
        total_seconds=2.0, time_scale=0.1, hosts=(host,), faithful=True, why="", advised=None, rate_measured=None,
        **how,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("network", "horizon", "replications"),
    [
        (rn.cascade(depth=4, branching=3, updates="exponential(rate=2)", downloads="exponential(rate=2)"), None, 32),
        (rn.cascade(depth=8, branching=3, updates="exponential(rate=2)", downloads="exponential(rate=2)"), None, 1),
        (rn.cascade(depth=4, branching=3, updates="exponential(rate=2)", downloads="exponential(rate=2)"), 1e6, 32),
        (rn.cascade(depth=7, branching=3, updates="exponential(rate=2)", downloads="exponential(rate=2)"), 1e6, 9),
    ],
)  # fmt: skip
def test_as_many_replications_as_a_network_affords(network, horizon, replications):
    assert on_the_clock.affordable(plan(network), horizon) == replications
