"""The live engine on Ray: one local cluster for all tests, small networks, seconds of wall clock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import replnet as rn
from replnet.engines import step
from replnet.engines.live import LiveLost, Unreachable, cluster, driver, run_live
from replnet.engines.live.clocks import Offset
from replnet.engines.plan import DOWNLOADS, POLLS, Plan, plan

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning")]

NAMED = {
    "cascade": rn.cascade(depth=3, branching=2, updates="exponential(rate=2)", downloads="exponential(rate=2)"),
    "cluster": rn.cooperative(
        replicas=10, peers=1, updates="exponential(rate=1)", downloads="exponential(rate=1)",
        polls="exponential(rate=4)",
    ),
    "recent": rn.cooperative(
        replicas=10, peers=3, select="recent", updates="exponential(rate=1)", downloads="exponential(rate=1)",
        polls="constant(rate=4)",
    ),
    "redundant": rn.redundant(
        replicas=10, ask=3, updates="exponential(rate=1)", downloads="constant(rate=1)", queries="exponential(rate=5)"
    ),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def joined():
    with cluster.joined():
        yield


@pytest.fixture
def hosts(monkeypatch):
    """The hosts of the runs of a test, as they start."""
    seen, real = [], cluster.started

    @contextmanager
    def started(n):
        with real(n) as hosts:
            seen.append(hosts)
            yield hosts

    monkeypatch.setattr(cluster, "started", started)
    return seen


def assert_near(compiled: Plan, seed: int, horizon: float, live) -> None:
    """The events of `step`, and freshness as far from it as late pulls may move it.

    A copy that came by w pulls, each late by D and at a rate of at most r, is another
    one than in `step` only while one of them is late (a share r D of the time each), or if
    within D of a pull its upstream changed (r D) or its source (mu D). So the expected
    difference is at most w (2 r + mu) E[D], if every late pull were decisive; hardly any is.
    Being one path, it is also allowed half a unit of time for a pull that is.
    """
    theirs = step.run_path(compiled, seed, 0, horizon, True)
    assert live.path.counts == theirs.counts
    assert np.array_equal(live.path.answers, theirs.answers)
    assert live.unanswered == 0
    late = live.delays.mean + max(host.slip.mean for host in live.hosts)
    fastest = max(p.law.rate for p in compiled.processes if p.purpose in (DOWNLOADS, POLLS))
    hops, updates = len(compiled.groups), compiled.processes[0].law.rate
    held = compiled.copies > 0
    difference = np.abs(live.path.fresh[held] - theirs.fresh[held]).max()
    assert difference <= hops * (2 * fastest + updates) * late + 0.5 / horizon


@pytest.mark.parametrize("network", NAMED.values(), ids=NAMED)
def test_packed_hosts_follow_the_path_of_step(network):
    compiled, horizon = plan(network), 8.0
    live = run_live(compiled, 1, horizon, hosts=2)
    assert live.faithful, live.why
    assert_near(compiled, 1, horizon, live)
    assert len(live.hosts) == 2
    assert live.crossed > 0
    assert live.batches_missing + live.duplicates <= 1
    assert 0 < live.delays.mean < 0.05
    assert all(host.offset == Offset() for host in live.hosts)
    assert live.rate_measured > 1000


def test_an_actor_per_node_follows_it_too():
    compiled = plan(rn.cascade(depth=2, branching=2, updates="exponential(rate=2)", downloads="exponential(rate=2)"))
    live = run_live(compiled, 1, 10.0, hosts="per-node", time_scale=0.2)
    assert live.faithful, live.why
    assert_near(compiled, 1, 10.0, live)
    assert [host.nodes for host in live.hosts] == [1] * len(compiled.names)
    assert live.crossed == live.messages


def test_a_lone_host_sends_nothing_and_may_be_watched():
    compiled, seen = plan(NAMED["cluster"]), []
    live = run_live(compiled, 1, 10.0, hosts=1, time_scale=0.15, watch=seen.append)
    assert_near(compiled, 1, 10.0, live)
    assert (live.crossed, live.batches, live.delays.mean) == (0, 0, 0.0)
    assert 4 <= len(seen) <= 12
    assert seen[-1].now == 10.0
    assert seen[-1].counts == live.path.counts
    assert 0 < seen[-1].fresh[0] < 1


def test_the_clock_of_another_machine_is_found_by_asking(monkeypatch):
    """As if the driver were elsewhere: the estimate may not be off by more than it says."""
    monkeypatch.setattr(driver, "machine", lambda: "elsewhere")
    live = run_live(plan(NAMED["cascade"]), 1, 2.0, hosts=2, time_scale=0.2)
    for host in live.hosts:
        assert abs(host.offset.seconds) <= host.offset.error < 0.05


def test_a_run_that_is_too_fast_says_so():
    live = run_live(plan(NAMED["cluster"]), 1, 200.0, hosts=2, time_scale=0.002)
    assert not live.faithful
    assert live.advised > 0.002
    assert "time scale" in live.why


def assert_gone(pids: list[int]) -> None:
    end = time.monotonic() + 10
    while any(map(running, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(running, pids))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "silent"])
def test_a_host_that_is_lost_ends_the_run_by_name(hosts, monkeypatch, number, capfd):
    monkeypatch.setattr(cluster, "ANSWER", 2.0)
    when = []

    def watch(glimpse):
        if glimpse.now > 0.5 and not when:
            pids = [pid for *_, pid in hosts[-1].call("hello")]
            os.kill(pids[1], number)
            when.append((time.monotonic(), pids))

    with pytest.raises(LiveLost, match=r"host 1 of 2 (died|did not answer)") as lost:
        run_live(plan(NAMED["cluster"]), 1, 1000.0, hosts=2, time_scale=0.3, watch=watch)
    assert time.monotonic() - when[0][0] < 8
    assert len(lost.value.lost) == 1
    assert lost.value.at > 0
    assert capfd.readouterr() == ("", "")
    assert_gone(when[0][1])


def test_a_failing_node_ends_the_run_with_its_error(monkeypatch, hosts):
    def watch(glimpse):
        hosts[-1].actors[1].deliver.remote(b"no batch at all")

    with pytest.raises(LiveLost, match=r"host 1 of 2 failed: .*UnpicklingError"):
        run_live(plan(NAMED["cluster"]), 1, 1000.0, hosts=2, time_scale=0.3, watch=watch)


def test_an_interrupted_run_leaves_no_actors(hosts):
    pids = []

    def watch(glimpse):
        pids.extend(pid for *_, pid in hosts[-1].call("hello"))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_live(plan(NAMED["cluster"]), 1, 1000.0, hosts=2, time_scale=0.3, watch=watch)
    assert_gone(pids)
    assert ray.is_initialized()  # it was there before


def test_nobody_at_an_address_is_found_out_soon(monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    begun = time.monotonic()
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1: "):
        run_live(plan(NAMED["cluster"]), 1, 1.0, address="127.0.0.1:1")
    with pytest.raises(Unreachable, match="host:port"):
        run_live(plan(NAMED["cluster"]), 1, 1.0, address="ray://somewhere:10001")
    assert time.monotonic() - begun < 10


ALONE = """
import replnet as rn
from replnet.engines.live import run_live
from replnet.engines.plan import plan
network = rn.cascade(depth=2, branching=2, updates="exponential(rate=2)", downloads="exponential(rate=2)")
run_live(plan(network), 1, 1e4, hosts=2, time_scale=0.2, watch=lambda glimpse: print("up", flush=True))
"""


def test_ctrl_c_ends_a_run_of_its_own_beside_another(tmp_path):
    """Its own Ray, its own token; nothing of it is left, and a run on another Ray goes on meanwhile."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment["HOME"] = str(tmp_path)
    alone = subprocess.Popen([sys.executable, "-c", ALONE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=environment, umask=0o022)  # fmt: skip
    try:
        compiled = plan(NAMED["cascade"])
        beside = run_live(compiled, 1, 10.0, hosts=2, time_scale=0.5)
        assert_near(compiled, 1, 10.0, beside)
        assert alone.stdout.readline() == "up\n"
        mine = children(alone.pid)
        assert len(mine) > 3
        alone.send_signal(signal.SIGINT)
        _, said = alone.communicate(timeout=10)
        assert said.strip().endswith("KeyboardInterrupt")
        assert_gone(mine)
    finally:
        alone.kill()
    tokens = list(tmp_path.glob(".ray/auth_token"))
    assert all(token.stat().st_mode & 0o077 == 0 for token in tokens)


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children(pid: int) -> list[int]:
    """Of a process, and theirs."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *children(child)]
    return found
