"""The live engine on Ray: one local cluster for all tests, small networks, seconds of wall clock."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import numpy as np
import programs
import pytest
from live_world import WAKES, LogRow, flat, planned
from networks import NAMED

import replnet as rn
from replnet.engines.nodes import step
from replnet.engines.path import Task
from replnet.engines.plan import DOWNLOADS, POLLS, Plan, plan
from replnet.live import LiveLost, actor, driver, ray_hosts, run_live, supervisor
from replnet.live.clocks import Offset
from replnet.workers import RayUnreachableError, join_cluster

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning")]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    with join_cluster():
        yield


@pytest.fixture
def hosts(monkeypatch):
    """The hosts of the runs of a test, as they start."""
    seen, real = [], ray_hosts.start_hosts

    @contextmanager
    def start_hosts(n):
        with real(n) as hosts:
            seen.append(hosts)
            yield hosts

    monkeypatch.setattr(ray_hosts, "start_hosts", start_hosts)
    return seen


def is_in_time(live) -> bool:
    """Whether a run kept up with its pace. On a busy machine it need not, and says so; nothing else may be wrong."""
    assert live.faithful or "the machine did not keep up" in live.why, live.why
    return live.faithful


def assert_near(compiled: Plan, seed: int, horizon: float, live) -> None:
    """The events of `step`, and freshness as far from it as late pulls may move it.

    A copy that came by w pulls, each late by D and at a rate of at most r, is another
    one than in `step` only while one of them is late (a share r D of the time each), or if
    within D of a pull its upstream changed (r D) or its source (mu D). So the expected
    difference is at most w (2 r + mu) E[D], if every late pull were decisive; hardly any is.
    Being one path, it is also allowed half a unit of time for a pull that is.
    """
    assert not live.degraded
    assert live.unanswered == 0
    late = live.delays.mean + max(host.slip.mean for host in live.hosts)
    fastest = compiled.rates[np.isin(compiled.processes.purpose, (DOWNLOADS, POLLS))].max()
    hops, updates = len(compiled.groups), compiled.rates[0]
    for replication, ours in enumerate(live.paths):
        theirs = step.run_path(Task(compiled, seed, horizon), replication)
        assert ours.counts == theirs.counts
        for g, group in enumerate(compiled.groups):
            (fresh, whole), (expected, same) = (path.shares[group, "freshness"] for path in (ours, theirs))
            assert whole == pytest.approx(same)
            if not compiled.clients[compiled.group == g].any():
                assert abs(fresh - expected) / whole <= hops * (2 * fastest + updates) * late + 0.5 / horizon


@pytest.mark.parametrize("network", NAMED.values(), ids=NAMED)
def test_packed_hosts_follow_the_paths_of_step(network):
    compiled, horizon = plan(network), 8.0
    live = run_live(Task(compiled, 1, horizon), hosts=2, replications=3)
    assert_near(compiled, 1, horizon, live)
    assert len(live.hosts) == 2
    assert len(live.paths) == 3
    assert live.crossed > 0
    assert live.delays.mean > 0
    if is_in_time(live):
        assert live.batches_missing + live.duplicates <= 1
        assert live.delays.mean < 0.05
    assert all(host.offset == Offset() for host in live.hosts)
    assert live.rate_measured > 0


def test_an_actor_per_node_follows_it_too():
    compiled = plan(rn.cascade(depth=2, branching=2, updates="exponential(rate=2)", downloads="exponential(rate=2)"))
    live = run_live(Task(compiled, 1, 10.0), hosts="per-node", time_scale=0.2)
    is_in_time(live)
    assert_near(compiled, 1, 10.0, live)
    assert [host.nodes for host in live.hosts] == [1] * len(compiled.names)
    assert live.crossed == live.messages


def test_a_lone_host_sends_nothing_and_may_be_watched():
    compiled, seen = plan(NAMED["cluster"]), []
    live = run_live(Task(compiled, 1, 10.0), hosts=1, time_scale=0.15, watch=seen.append)
    assert_near(compiled, 1, 10.0, live)
    assert (live.crossed, live.batches, live.delays.mean) == (0, 0, 0.0)
    assert 1 <= len(seen) <= 12
    assert seen[-1].now == 10.0
    assert 0 < seen[-1].fresh[0] < 1
    assert np.diff([sum(glimpse.counts) for glimpse in seen]).min() >= 0


def test_the_clock_of_another_machine_is_found_by_asking(monkeypatch):
    """As if the driver were elsewhere: the estimate may not be off by more than it says."""
    monkeypatch.setattr(driver, "boot_id", lambda: "elsewhere")
    live = run_live(Task(plan(NAMED["tree"]), 1, 2.0), hosts=2, time_scale=0.2)
    for host in live.hosts:
        assert abs(host.offset.seconds) <= host.offset.error


def test_a_run_that_is_too_fast_says_so():
    live = run_live(Task(plan(NAMED["cluster"]), 1, 200.0), hosts=2, time_scale=0.002)
    assert not live.faithful
    assert live.advised > 0.002
    assert "time scale" in live.why


@pytest.mark.slow
def test_a_pace_of_its_own_that_turns_out_too_fast_is_slowed_down_once(monkeypatch):
    """What was seen at the first pace is in no count and in no log."""
    compiled, log = plan(NAMED["cluster"]), []
    monkeypatch.setattr(driver, "default_scale", lambda *_: 0.001)
    live = run_live(Task(compiled, 1, 3000.0), hosts=2, log=log.extend)
    assert 0.003 <= live.time_scale <= 0.02
    assert live.rate_measured > 1000
    assert_logged_once(compiled, 1, live, log)


# What nobody asked to fail


def logged(compiled: Plan, log: list) -> list[LogRow]:
    return [row for replication, rows in log for row in flat(compiled, replication, rows)]


def assert_logged_once(compiled: Plan, seed: int, live, log: list) -> None:
    """The log has every wake that was planned outside the outages, and no row twice; the counts say the same."""
    log = logged(compiled, log)
    assert len(log) == len(set(log))
    for replication, path in enumerate(live.paths):
        expected = sorted(
            (at, event, node)
            for (node, event), instants in planned(compiled, seed, replication, live.horizon).items()
            for at in instants
            if not any(node in o.nodes and o.heard < at <= (o.back or np.inf) for o in live.lost)
        )
        told = {row[1:4] for row in log if row[0] == replication and row[2] in WAKES}
        if compiled.has_recent_polls:  # who is blank has no contacts to poll, and then there is nothing in the log
            lost = {node for outage in live.lost for node in outage.nodes}
            expected = [wake for wake in expected if wake[2] not in lost or wake in told]
            assert sum(path.counts) >= len(expected)
        else:
            assert sum(path.counts) == len(expected)
        assert sorted(told) == expected


def pid_of(hosts: ray_hosts.Hosts, host: int) -> int | None:
    """The process of a host, if it answers."""
    ref = hosts.ask(host, "hello")
    return hosts.answer(ref)[2] if hosts.ready([ref], 1.0) else None


class Killer:
    """Kills random hosts at random instants, those that are just starting as well; ends the run once all are back."""

    def __init__(self, hosts: list[ray_hosts.Hosts], seed: int, kills: int) -> None:
        self.hosts, self.rng, self.left = hosts, random.Random(seed), kills
        self.next = 0.0

    def __call__(self, glimpse) -> None:
        if glimpse.now < 1.0 or time.monotonic() < self.next:
            return
        if not self.left:
            end_if_all_are_back(glimpse)
            return
        with suppress(ray_hosts.Lost):
            pid = pid_of(self.hosts[-1], self.rng.randrange(len(self.hosts[-1])))
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
                self.left -= 1
                self.next = time.monotonic() + self.rng.uniform(0.2, 1.5)


ENDLESS = 1e4  # units of time


def end_if_all_are_back(glimpse) -> None:
    """However long that takes on a busy machine."""
    back = [outage.back is not None and outage.back + 3.0 < glimpse.now for outage in glimpse.lost]
    if back and all(back) and glimpse.horizon == ENDLESS:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("name", [*NAMED][:2] + [pytest.param(name, marks=pytest.mark.slow) for name in [*NAMED][2:]])
def test_hosts_that_are_killed_are_replaced_and_nothing_is_lost_or_doubled_besides(hosts, name, capfd):
    """Five SIGKILLs in each of four runs."""
    compiled, log, seed = plan(NAMED[name]), [], 20 + list(NAMED).index(name)
    killer = Killer(hosts, seed, 5)
    live = run_live(
        Task(compiled, seed, ENDLESS), hosts=3, time_scale=0.25, replications=2, watch=killer, log=log.extend
    )
    assert killer.left == 0
    assert 1 <= len(live.lost) <= 5  # one that was just starting is not lost another time
    assert live.degraded
    assert live.cut_short.startswith("interrupted")
    assert all(outage.back is not None for outage in live.lost), live.lost
    assert_logged_once(compiled, seed, live, log)
    found = [found for path in live.paths for found in path.shares.items()]
    assert any(part < whole for (_, metric), (part, whole) in found if metric == "availability")
    asked = sum(path.counts[3] for path in live.paths)
    assert live.responses.count + live.unanswered == asked
    assert capfd.readouterr() == ("", "")


def test_a_silent_host_is_replaced(hosts, monkeypatch):
    monkeypatch.setattr(ray_hosts, "ANSWER_SECONDS", 2.0)
    stopped, compiled, log = [], plan(NAMED["cluster"]), []

    def watch(glimpse):
        if glimpse.now > 2.0 and not stopped:
            stopped.append(pid_of(hosts[-1], 1))
            os.kill(stopped[0], signal.SIGSTOP)
        end_if_all_are_back(glimpse)

    live = run_live(Task(compiled, 1, ENDLESS), hosts=2, time_scale=0.2, watch=watch, log=log.extend)
    (outage,) = live.lost
    assert (outage.host, outage.why) == (1, "did not answer for 2 s")
    assert outage.heard < outage.back < live.horizon
    assert_logged_once(compiled, 1, live, log)
    assert_gone(stopped)


def test_a_host_that_cannot_be_replaced_ends_the_run_with_what_there_is(hosts, monkeypatch):
    """No node has the room for another process."""
    monkeypatch.setattr(supervisor, "RESTART_SECONDS", 3.0)
    compiled, killed = plan(NAMED["cluster"]), []

    def watch(glimpse):
        if glimpse.now > 3.0 and not killed:
            killed.append(pid_of(hosts[-1], 1))
            os.kill(killed[0], signal.SIGKILL)
            hosts[-1]._kind = ray.remote(num_cpus=10_000)(actor.HostActor)

    live = run_live(Task(compiled, 1, 1000.0), hosts=2, time_scale=0.2, watch=watch)
    (outage,) = live.lost
    assert outage.back is None
    assert outage.heard < live.horizon < 1000.0
    assert "no other process took its place within 3 s" in live.cut_short
    assert (
        live.paths[0].counts[0] == len(planned(compiled, 1, 0, live.horizon)["source", "update"])
        or "source" in outage.nodes
    )


def assert_gone(pids: list[int]) -> None:
    assert programs.wait_until_gone(pids)


def test_a_failing_node_ends_the_run_with_its_error(hosts):
    def watch(glimpse):
        hosts[-1].ask(1, "deliver", b"no batch at all")

    with pytest.raises(LiveLost, match=r"host 1 of 2 failed: .*UnpicklingError"):
        run_live(Task(plan(NAMED["cluster"]), 1, 1000.0), hosts=2, time_scale=0.3, watch=watch)


def test_ctrl_c_ends_a_run_with_what_there_is(hosts):
    compiled, pids, begun, log = plan(NAMED["cluster"]), [], [], []

    def watch(glimpse):
        if glimpse.now > 5.0 and not begun:
            pids.extend(pid_of(hosts[-1], host) for host in range(2))
            begun.append(glimpse.now)
            signal.raise_signal(signal.SIGINT)

    live = run_live(Task(compiled, 1, 1000.0), hosts=2, time_scale=0.3, watch=watch, log=log.extend)
    assert live.cut_short.startswith("interrupted at t = ")
    assert begun[0] < live.horizon < 1000.0
    assert_near(compiled, 1, live.horizon, live)
    assert_logged_once(compiled, 1, live, log)
    assert_gone(pids)
    assert ray.is_initialized()  # it was there before


def test_an_error_of_the_caller_leaves_no_actors(hosts):
    pids = []

    def watch(glimpse):
        pids.extend(pid_of(hosts[-1], host) for host in range(2))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_live(Task(plan(NAMED["cluster"]), 1, 1000.0), hosts=2, time_scale=0.3, watch=watch)
    assert_gone(pids)


def test_nobody_at_an_address_is_found_out_without_ray(monkeypatch):
    """Which would wait for minutes."""
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **_: pytest.fail("Ray was asked"))
    with pytest.raises(RayUnreachableError, match=r"127\.0\.0\.1:1: "):
        run_live(Task(plan(NAMED["cluster"]), 1, 1.0), address="127.0.0.1:1")
    with pytest.raises(RayUnreachableError, match="host:port"):
        run_live(Task(plan(NAMED["cluster"]), 1, 1.0), address="ray://somewhere:10001")


ALONE = """
import replnet as rn
from replnet.live import run_live
from replnet.engines.plan import plan
from replnet.engines.path import Task
network = rn.cascade(depth=2, branching=2, updates="exponential(rate=2)", downloads="exponential(rate=2)")
live = run_live(Task(plan(network), 1, 1e4), hosts=2, time_scale=0.2, watch=lambda glimpse: print("up", flush=True))
print(live.cut_short)
"""


@pytest.mark.slow
def test_ctrl_c_ends_a_run_of_its_own_beside_another(tmp_path):
    """As a terminal does it, to all its processes at once. Its own Ray, its own token; nothing of it is left, and a
    run on another Ray goes on meanwhile."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment["HOME"] = str(tmp_path)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with programs.running([sys.executable, "-c", ALONE], **pipes, env=environment, umask=0o022) as alone:
        compiled = plan(NAMED["tree"])
        beside = run_live(Task(compiled, 1, 10.0), hosts=2, time_scale=0.5)
        assert_near(compiled, 1, 10.0, beside)
        assert alone.stdout.readline() == "up\n"
        mine = programs.descendants(alone.pid)
        assert len(mine) > 3
        os.killpg(alone.pid, signal.SIGINT)
        out, said = alone.communicate(timeout=programs.HANGS)
        assert out.splitlines()[-1].startswith("interrupted at t = ")
        assert said == ""
        assert alone.returncode == 0
        assert_gone(mine)
    tokens = list(tmp_path.glob(".ray/auth_token"))
    assert all(token.stat().st_mode & 0o077 == 0 for token in tokens)


# Several machines, as far as Ray can tell

SEVERAL = """
import json, os, signal
from pathlib import Path
from ray.cluster_utils import Cluster
import replnet as rn
from replnet.live import LiveLost, ray_hosts, run_live
from replnet.engines.plan import plan
from replnet.engines.path import Task

compiled = plan(rn.cooperative(replicas=10, peers=1, updates="exponential(rate=1)", downloads="exponential(rate=1)",
                               polls="exponential(rate=4)"))
machines = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
others = [machines.add_node(num_cpus=1) for _ in range(2)]
machines.wait_for_nodes()
killed, raylets, start = [], set(), ray_hosts.Hosts.__init__

def started(hosts, n, nodes=()):
    # Notes which raylets have started the processes.
    start(hosts, n, nodes)
    for *_, pid in hosts.call("hello", patience=60.0):
        raylets.add(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

ray_hosts.Hosts.__init__ = started

def lose(glimpse):
    if glimpse.now > 2 and not killed:
        killed.append(others[1].all_processes["raylet"][0].process.pid)
        os.kill(killed[0], 9)
    if len(killed) == 1 and glimpse.lost and all(o.back is not None and o.back < glimpse.now for o in glimpse.lost):
        killed.append(0)  # once, as a second interrupt ends the run at once
        signal.raise_signal(signal.SIGINT)

def told(live):
    return {"counts": live.paths[0].counts, "hosts": len(live.hosts), "faithful": live.faithful,
            "lost": [[o.host, o.why, o.heard, o.back] for o in live.lost], "cut": live.cut_short,
            "raylets": len(raylets)}

whole = told(run_live(Task(compiled, 1, 10), address=machines.address))
log = []
try:
    live = run_live(Task(compiled, 2, 1000), address=machines.address, time_scale=0.3, watch=lose, log=log.extend)
    outcome = told(live)
except LiveLost as error:
    outcome = {"error": str(error)}
rows = [(r, *row) for r, columns in log for row in zip(*(column.tolist() for column in columns))]
outcome["rows"], outcome["distinct"] = len(rows), len(set(map(str, rows)))
print(json.dumps([whole, outcome]))
machines.shutdown()
"""


@pytest.mark.slow
def test_a_node_of_the_cluster_that_dies_takes_its_hosts_and_others_take_their_place():
    """Three Ray nodes on this machine, in a process of its own; one raylet is killed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = programs.run([sys.executable, "-W", "ignore", "-c", SEVERAL], env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    whole, degraded = json.loads(done.stdout.splitlines()[-1])
    compiled = plan(NAMED["cluster"])
    assert whole["hosts"] == 3
    assert whole["raylets"] == 3
    assert tuple(whole["counts"]) == step.run_path(Task(compiled, 1, 10.0), 0).counts
    assert whole["lost"] == []
    assert "error" not in degraded
    assert degraded["cut"].startswith("interrupted")
    assert degraded["lost"]
    assert all(back is not None for *_, back in degraded["lost"])
    assert degraded["rows"] == degraded["distinct"] > 0
