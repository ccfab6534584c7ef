"""The live engine on Ray: one local cluster for all tests, small networks, seconds of wall clock."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, nullcontext, suppress

import numpy as np
import programs
import pytest
from live_memory import once, press_ctrl_c
from live_world import assert_logged_once
from networks import NAMED

import replnet as rn
from replnet.engines.nodes import step
from replnet.engines.path import Task
from replnet.engines.plan import DOWNLOADS, POLLS, Plan, plan
from replnet.live import LiveLost, driver, run_live, transport
from replnet.live.clocks import Offset
from replnet.live.transport import HostLostError, Hosts
from replnet.workers import join_cluster

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning")]
CLUSTER = plan(NAMED["cluster"])


@pytest.fixture(scope="module", autouse=True)
def cluster():
    with join_cluster():
        yield


@pytest.fixture
def hosts(monkeypatch):
    """The hosts of the runs of a test, as they start."""
    started, real = [], driver.start_hosts

    @contextmanager
    def start_hosts(carrier, n):
        with real(carrier, n) as hosts:
            started.append(hosts)
            yield hosts

    monkeypatch.setattr(driver, "start_hosts", start_hosts)
    return started


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


CHAIN = rn.cascade(depth=2, branching=1, updates="exponential(rate=2)", downloads="exponential(rate=2)")


@pytest.mark.parametrize(
    ("network", "hosts"), [(NAMED["cluster"], 2), (NAMED["redundant"], 2), (CHAIN, "per-node")], ids=str
)
def test_hosts_follow_the_paths_of_step(network, hosts):
    """At a pace of their own; all networks do so in memory."""
    compiled, horizon = plan(network), 8.0
    live = run_live(Task(compiled, 1, horizon), hosts=hosts, replications=3)
    assert_near(compiled, 1, horizon, live)
    assert (len(live.hosts), len(live.paths)) == (compiled.size if hosts == "per-node" else hosts, 3)
    assert live.crossed > 0
    assert live.crossed == live.messages or hosts == 2
    assert live.delays.mean > 0
    if is_in_time(live):
        assert live.batches_missing + live.duplicates <= 1
        assert live.delays.mean < 0.05
    assert all(host.offset == Offset() for host in live.hosts)
    assert live.rate_measured > 0


# What nobody asked to fail


def pid_of(hosts: Hosts, host: int) -> int | None:
    """The process of a host, if it answers."""
    ref = hosts.transport.ask(host, "hello")
    return hosts.transport.answer(ref)[2] if hosts.transport.ready([ref], 1.0) else None


class Killer:
    """Sends signals to random hosts at random instants, those that are just starting as well; ends the run once all
    hosts are back.
    """

    def __init__(self, hosts: list[Hosts], seed: int, kills: list[signal.Signals]) -> None:
        self.hosts, self.rng, self.left = hosts, random.Random(seed), kills
        self.next = 0.0

    def __call__(self, glimpse) -> None:
        if glimpse.now < 1.0 or time.monotonic() < self.next:
            return
        if not self.left:
            back = [outage.back is not None and outage.back + 3.0 < glimpse.now for outage in glimpse.lost]
            if back and all(back) and glimpse.horizon == ENDLESS:
                press_ctrl_c()
            return
        with suppress(HostLostError):
            pid = pid_of(self.hosts[-1], self.rng.randrange(len(self.hosts[-1])))
            if pid is not None:
                os.kill(pid, self.left.pop())
                self.next = time.monotonic() + self.rng.uniform(0.2, 1.5)


ENDLESS = 1e4  # units of time: however long it takes on a busy machine until all are back
SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "kills"),
    [
        ("cluster", [signal.SIGKILL] * 3),
        pytest.param("cluster", [signal.SIGSTOP], marks=SLOW),
        *(pytest.param(name, [signal.SIGKILL] * 5, marks=SLOW) for name in NAMED),
    ],
)
def test_hosts_that_are_killed_are_replaced_and_nothing_is_lost_or_doubled_besides(
    hosts, name, kills, capfd, monkeypatch
):
    monkeypatch.setattr(transport, "ANSWER_SECONDS", 2.0 if signal.SIGSTOP in kills else transport.ANSWER_SECONDS)
    compiled, log, seed, killer = plan(NAMED[name]), [], 20 + list(NAMED).index(name), Killer(hosts, 1, [*kills])
    live = run_live(
        Task(compiled, seed, ENDLESS), hosts=3, time_scale=0.25, replications=2, watch=killer, log=log.extend
    )
    assert killer.left == []
    assert 1 <= len(live.lost) <= len(kills)  # one that was just starting is not lost another time
    assert live.cut_short.startswith("interrupted")
    assert all(outage.back is not None for outage in live.lost), live.lost
    assert_logged_once(compiled, seed, live, log)
    shares = [share for path in live.paths for (_, metric), share in path.shares.items() if metric == "availability"]
    assert any(part < whole for part, whole in shares)
    assert live.responses.count + live.unanswered == sum(path.counts[3] for path in live.paths)
    assert capfd.readouterr() == ("", "")


def test_a_failing_node_ends_the_run_with_its_error(hosts):
    def watch(glimpse):
        hosts[-1].addresses[1].deliver(b"no batch at all")

    with pytest.raises(LiveLost, match=r"host 1 of 2 failed: .*UnpicklingError"):
        run_live(Task(CLUSTER, 1, 1000.0), hosts=2, time_scale=0.3, watch=watch)


@pytest.mark.parametrize("end", [press_ctrl_c, lambda: [][0]], ids=["Ctrl-C", "error of the caller"])
def test_an_end_before_its_time_leaves_no_actors(hosts, end):
    pids, log = [], []

    def stop() -> None:
        pids.extend(pid_of(hosts[-1], host) for host in range(2))
        end()

    with nullcontext() if end is press_ctrl_c else pytest.raises(IndexError):
        live = run_live(Task(CLUSTER, 1, 1000.0), hosts=2, time_scale=0.3, watch=once(3.0, stop), log=log.extend)
        assert live.cut_short.startswith("interrupted at t = ")
        assert_near(CLUSTER, 1, live.horizon, live)
        assert_logged_once(CLUSTER, 1, live, log)
    assert programs.wait_until_gone(pids)
    assert ray.is_initialized()  # it was there before


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
        assert programs.wait_until_gone(mine)
    tokens = list(tmp_path.glob(".ray/auth_token"))
    assert all(token.stat().st_mode & 0o077 == 0 for token in tokens)


# Several machines, as far as Ray can tell

SEVERAL = """
import json, os, signal
from pathlib import Path
from ray.cluster_utils import Cluster
import replnet as rn
from replnet.live import LiveLost, run_live
from replnet.live.transport import Hosts
from replnet.engines.plan import plan
from replnet.engines.path import Task

compiled = plan(rn.cooperative(replicas=10, peers=1, updates="exponential(rate=1)", downloads="exponential(rate=1)",
                               polls="exponential(rate=4)"))
machines = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
others = [machines.add_node(num_cpus=1) for _ in range(2)]
machines.wait_for_nodes()
killed, raylets, start = [], set(), Hosts.__init__

def started(hosts, transport, n):
    # Notes which raylets have started the processes.
    start(hosts, transport, n)
    for *_, pid in hosts.call("hello", patience=60.0):
        raylets.add(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

Hosts.__init__ = started

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
    assert whole["hosts"] == 3
    assert whole["raylets"] == 3
    assert tuple(whole["counts"]) == step.run_path(Task(CLUSTER, 1, 10.0), 0).counts
    assert whole["lost"] == []
    assert "error" not in degraded
    assert degraded["cut"].startswith("interrupted")
    assert degraded["lost"]
    assert all(back is not None for *_, back in degraded["lost"])
    assert degraded["rows"] == degraded["distinct"] > 0
