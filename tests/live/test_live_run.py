"""`run --engine live` as a script sees it, and what becomes of a live run in its table."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import programs
import pytest
from command_line import kept_up, started

import replnet as rn
from replnet.cli.main import FINE, RAY_LOST
from replnet.engines.nodes import step
from replnet.engines.path import Path, Task
from replnet.engines.plan import plan
from replnet.live import Live, Outage, live_run
from replnet.live.clocks import Offset, Standstill
from replnet.live.outcome import HostSummary, Summary
from replnet.store.store import RefusedError

LIVE = ("run", "cascade", "-s", "depth=2", "--engine", "live", "--horizon", "320")


def tree(depth: int = 2, branching: int = 1) -> rn.Network:
    return rn.cascade(depth=depth, branching=branching, updates="exponential(rate=2)", downloads="exponential(rate=2)")


@pytest.mark.ray
def test_a_live_run_counts_what_step_counts():
    """32 paths by default, so that there is an interval and a verdict."""
    done = started(*LIVE, "--seed", "3", "--format", "json", "-s", "branching=2")
    in_time, data = kept_up(done), json.loads(done.stdout)
    assert in_time == (data["incomplete"] == "")
    virtual = rn.emulate(tree(branching=2), "step", seed=3, horizon=320, replications=32)
    assert data["replications"] == virtual.replications == 32
    assert data["events"] == virtual.events
    assert data["horizon"] == 320
    for ours, theirs in zip(data["rows"], virtual.rows, strict=True):
        assert ours["ci_low"] < ours["measured"] < ours["ci_high"]
        if in_time:
            assert f"step on the same paths: {theirs.measured:.5f}" in ours["note"]
            assert 0 < ours["predicted"] < theirs.predicted  # the measured delay makes copies older
            assert ours["verdict"] in ("agree", "unresolved")


TREE = ("run", "cascade", "-s", "depth=1", "-s", "branching=2", "--replications", "1")
SMALL = (*TREE, "--engine", "live", "--hosts", "2", "--time-scale", "0.2")
CALLS = "CoreWorkerService.grpc_client.PushTask"


@pytest.mark.ray
@pytest.mark.parametrize(
    "lost", ["in_flight", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("req", "resp"))]
)
def test_calls_that_get_lost_are_made_again(lost, tmp_path):
    """The first five of each process: the calls themselves, their answers, or what is said of those that arrive."""
    chances = {f"{kind}_failure_prob": 100 * (kind == lost) for kind in ("req", "resp", "in_flight")}
    losing = {"RAY_testing_rpc_failure": json.dumps({CALLS: {"num_failures": 5, **chances}})}
    done = started(*SMALL, "--horizon", "10", "--trace", tmp_path / "log.parquet", env={**os.environ, **losing})
    kept_up(done)
    assert "lost" not in done.stderr  # no host was of them was lost
    virtual = tmp_path / "step.parquet"
    assert started(*TREE, "--engine", "step", "--horizon", "10", "--trace", virtual).returncode == FINE
    live, step = (Counter(pd.read_parquet(file).event) for file in (tmp_path / "log.parquet", virtual))
    assert live == step


@pytest.mark.slow
@pytest.mark.ray
def test_a_run_whose_cluster_is_gone_ends_as_lost():
    """Ray's control service is there, but its only node has died."""
    command = [sys.executable, "-m", "replnet", *SMALL, "--horizon", "5000"]
    with programs.running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert any("messages/s" in line for line in iter(run.stderr.readline, ""))  # it is under way
        for pid in programs.descendants(run.pid):
            if (pathlib.Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0")[0].endswith(b"/raylet"):
                os.kill(pid, signal.SIGKILL)
        _, stderr = run.communicate(timeout=programs.HANGS)
    assert run.returncode == RAY_LOST
    assert re.search(r"lost at .* units of model time: no node of the Ray cluster is alive\n$", stderr), stderr


def outages(heard: float, back: float | None, nodes: tuple[str, ...]) -> tuple[Outage, ...]:
    return (Outage(1, nodes, "died", heard, back),)


def test_what_was_lost_is_marked_and_not_judged(monkeypatch):
    """A leaf of a tree was away: its level has no verdict, the level above has."""
    network = tree()
    leaf = plan(network).names[-1]
    for back, cut in ((4.5, ""), (None, "host 1 died, and no other process took its place at t = 7")):
        live = made(network, lost=outages(4.0, back, (leaf,)), cut_short=cut)
        monkeypatch.setattr(live_run, "run_live", lambda *_, live=live, **__: live)
        result = rn.emulate(network, "live", horizon=320.0, replications=32)
        above, below = (row for row in result.rows if row.metric == "freshness")
        assert [row.measured for row in result.rows if row.metric == "availability"] == [1.0, 0.9]
        assert above.verdict
        assert "host" not in above.note
        assert below.verdict == ""
        assert below.ci_low is None
        end = "to 4.5" if back else "and did not come back"
        assert f"host 1 was lost from t = 4 {end}: 1 of its nodes here began anew; 90.0% of the time of" in below.note
        # What was lost has no verdict, so a script has to hear of it, whether the host came back or not.
        assert f"host 1 died: lost from t = 4 {'to 4.5' if back else 'to the end'}" in result.incomplete
        assert result.verdict == above.verdict


CLUSTER = rn.cooperative(
    replicas=5, peers=1, updates="exponential(rate=1)", downloads="exponential(rate=1)", polls="pareto(alpha=3, rate=4)"
)
SLIP, LATE = 0.004, 0.01


@cache
def late_paths(specification: str, late: float) -> list[Path]:
    """The paths of a network whose messages took `late` on average."""
    compiled = plan(rn.Network.from_data(json.loads(specification)))
    n, task = len(compiled.groups), Task(compiled, 1, 10.0)
    slips = [2 * late * (r % 2) for r in range(32)]
    return [step.run_path(task, r, step.Lateness((SLIP + slip,) * n, (slip,) * n)) for r, slip in enumerate(slips)]


def late_run(monkeypatch, network, off: float = 0.0, late: float = LATE, out=None, **how):
    """As if messages had taken `late`, half of them none and the others twice as long; `off` is what went wrong."""
    n, slip = len(plan(network).groups), Summary(1, SLIP, SLIP, SLIP, SLIP)
    paths = [
        replace(path, shares={key: (part - off * whole, whole) for key, (part, whole) in path.shares.items()})
        for path in late_paths(json.dumps(network.data()), late)
    ]
    live = replace(
        made(tree()),
        paths=tuple(paths), late=late, group_late=(late,) * n, delays=Summary(1, late, late, late, late),
        hosts=(HostSummary(1, "here", slip, 0, 0, 1, 1, Offset()),), **how,
    )  # fmt: skip
    monkeypatch.setattr(live_run, "run_live", lambda *_, **__: live)
    return rn.emulate(network, "live", horizon=320.0, replications=32, out=out)


@pytest.mark.parametrize("off", [0.0, 0.1])
def test_a_live_run_is_kept_with_its_verdicts(monkeypatch, tmp_path, off):
    """They rest on `step` where no formula takes the delay of messages, which the directory knows as well."""
    result = late_run(monkeypatch, CLUSTER, off, out=tmp_path)
    found = rn.open(tmp_path)
    assert found.verdict == result.verdict == ("differ" if off else "agree")
    assert [line.row.verdict for line in found.lines] == [row.verdict for row in result.rows]
    assert found.table["measured"].tolist() == result.table["measured"].tolist()
    assert found.samples.shape == (32, 1)
    assert found.incomplete == ""
    with pytest.raises(RefusedError, match="on the wall clock already"):
        late_run(monkeypatch, CLUSTER, off, out=tmp_path)


def test_what_no_formula_takes_the_delay_of_is_judged_against_a_step_that_is_as_late(monkeypatch):
    result = late_run(monkeypatch, CLUSTER)
    (row,) = result.rows
    prompt = rn.predict(CLUSTER).rows[0].predicted
    assert (row.kind, row.source.endswith("; mean delay of messages")) == ("approximation", True)
    assert prompt - 2 * row.accuracy < row.predicted < prompt  # as the delay of messages makes copies older
    assert row.verdict == result.verdict == "agree"
    assert abs(row.z) < 5  # how far the difference is from 0
    task, late = Task(plan(CLUSTER), 1, 10.0), step.Lateness((SLIP + LATE,), (LATE,))
    value = np.mean([step.run_path(task, r, late).shares["cluster", "freshness"][0] / 50 for r in range(32)])
    difference = f"it differs by {row.measured - value:+.5f}, and "
    assert row.note.startswith(f"judged against step on the same paths, as late as this run: {value:.5f}; {difference}")
    data = json.loads(result.to_json())["rows"][0]
    assert (data["predicted"], data["verdict"], data["z"]) == (row.predicted, "agree", row.z)
    wrong = late_run(monkeypatch, CLUSTER, off=0.03).rows[0]  # however wide the interval of what was measured
    assert wrong.ci_high - wrong.ci_low > 0.04
    assert (wrong.verdict, wrong.predicted, wrong.z < -5) == ("differ", row.predicted, True)


LOST = {"lost": outages(4.0, 4.5, plan(CLUSTER).names[-1:])}


@pytest.mark.parametrize(
    ("how", "note", "incomplete"),
    [({"faithful": False, "why": "too fast"}, "", "not compared: too fast"), (LOST, "host 1 was lost", "host 1 died")],
)
def test_what_was_late_or_lost_is_not_judged(how, note, incomplete, monkeypatch):
    result = late_run(monkeypatch, CLUSTER, **how)
    (row,) = result.rows
    assert (row.verdict, result.verdict, row.predicted, row.z) == ("", "", None, None)
    assert note in row.note
    assert "judged against" not in row.note
    assert incomplete in result.incomplete


def test_metrics_besides_freshness_and_networks_without_any_formula_are_judged_so_too(monkeypatch):
    clients = {"ask": 2, "queries": "exponential(rate=3)"}
    network = rn.Network.from_data(CLUSTER.data() | {"select": "recent", "clients": clients, "bandwidth": 40.0})
    result = late_run(monkeypatch, network)
    judged = {(row.group, row.metric): row for row in result.rows if "judged against step" in row.note}
    assert {("cluster", "freshness"), ("clients", "freshness")} <= judged.keys()
    assert all(row.predicted is None and row.verdict for row in judged.values())
    assert all(row.verdict == "agree" for row in result.rows if row.metric == "service_rate")
    assert "no formula: " in judged["cluster", "freshness"].note


def test_a_formula_that_takes_the_delay_is_what_a_row_is_judged_by(monkeypatch):
    network = tree()
    for delay in (0.0, 0.1):
        slower = rn.Network.from_data(network.data() | {"delay": delay})
        expected = rn.predict(rn.Network.from_data(network.data() | {"delay": delay + LATE}))
        result = late_run(monkeypatch, slower)
        for ours, theirs in zip(result.rows, expected.rows, strict=True):
            assert ours.predicted == pytest.approx(theirs.predicted, rel=1e-12)
            assert "judged against" not in ours.note
            assert f"the formula {'with no other' if delay else 'without'} delay" in ours.note
    row = late_run(monkeypatch, CLUSTER, late=0.0).rows[0]  # a host alone sends nothing
    assert row.predicted == pytest.approx(rn.predict(CLUSTER).rows[0].predicted)


def test_what_stood_still_is_named(monkeypatch):
    """A driver is not missed; a host is, by its own nodes and by those that depend on them."""
    network = tree()
    driver, host = Standstill("the driver", 2.0, 20.1), Standstill("host 1", 4.0, 3.0, plan(network).names[-1:])
    result = late_run(monkeypatch, network, stood=(driver, host))
    above, below = result.rows
    for row in (above, below):
        assert "the driver stood still for 20.1 s at t = 2" in row.note
        assert "went on" not in row.note
    assert above.verdict
    assert below.verdict == ""
    assert "host 1 stood still for 3.0 s at t = 4, so its work came late" in below.note
    assert "host 1" not in above.note
    assert "copy-time" not in below.note
    assert result.provenance["stood_still"] == [str(driver), str(host)]
    assert result.incomplete == str(host)
    alone = late_run(monkeypatch, network, stood=(driver,))
    assert all(row.verdict and "went on by themselves" in row.note for row in alone.rows)
    assert alone.incomplete == ""


@pytest.mark.ray
def test_a_cluster_on_the_wall_clock_is_judged_against_step():
    done = started("run", "cooperative", "--engine", "live", "--seed", "4", "--hosts", "2", "--horizon", "256",
                   "--time-scale", "0.2", "--format", "json", "-s", "polls=pareto(alpha=3, rate=4)")  # fmt: skip
    in_time = kept_up(done)
    (row,) = json.loads(done.stdout)["rows"]
    if not in_time:
        assert row["predicted"] is None
        return
    assert (row["verdict"], row["kind"]) == ("agree", "approximation")
    assert abs(row["predicted"] - row["measured"]) < 0.03
    assert row["note"].startswith("judged against step on the same paths, as late as this run: ")


def made(network, **how) -> Live:
    """As if the paths of `step` had been run, with a tenth of the time of the second level lost."""
    compiled = plan(network)
    still = Summary(1, 0.0, 0.0, 0.0, 0.0)
    there = {(f"level {g}", "availability"): (share * 10.0, 10.0) for g, share in ((1, 1.0), (2, 0.9))}
    made = (step.run_path(Task(compiled, 1, 10.0), r) for r in range(32))
    paths = tuple(replace(path, shares=path.shares | there) for path in made)
    host = HostSummary(1, "here", still, 0.1, 0.1, 1, 1, Offset())
    return Live(
        horizon=10.0, paths=paths, delays=still, late=0.0, group_late=(0.0, 0.0),
        responses=still, unanswered=0, messages=1, crossed=0, batches=0, batches_missing=0, duplicates=0, seconds=1.0,
        total_seconds=2.0, time_scale=0.1, hosts=(host,), faithful=True, why="", advised=None, rate_measured=None,
        **how,
    )  # fmt: skip


@pytest.mark.parametrize(("depth", "horizon", "replications"), [(4, None, 32), (8, None, 1), (4, 1e6, 32), (7, 1e6, 9)])
def test_as_many_replications_as_a_network_affords(depth, horizon, replications):
    assert live_run.affordable(tree(depth, branching=3), horizon) == replications


def test_a_network_in_which_nothing_happens_affords_all_replications():
    idle = rn.Network.from_data({"kind": "aggregate", "sources": 2, "rates": [0, 0], "budget": 0.0})
    assert live_run.affordable(idle, None) == 32


@pytest.mark.parametrize("horizon", [None, 3200.0])
def test_a_run_without_a_horizon_aims_at_half_a_minute(monkeypatch, horizon):
    """The horizon that is planned is the longest that it may have; one that a user gives is kept."""
    asked, told = {}, []

    def run_live(task, *, aim, tell, **_):
        asked.update(horizon=task.horizon, aim=aim)
        tell("100 units of time")
        return made(network)

    network = rn.Network.from_data(tree().data() | {"unit": "h"})
    monkeypatch.setattr(live_run, "run_live", run_live)
    rn.emulate(network, "live", horizon=horizon, progress=lambda *news: told.append(news))
    assert told[0] == (0.0, "100 hours")
    if horizon is None:
        assert asked["aim"] == 30.0
        assert asked["horizon"] > 1000
    else:
        assert asked == {"horizon": 100.0, "aim": None}
