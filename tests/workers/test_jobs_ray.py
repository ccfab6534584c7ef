"""The pool on Ray: workers die, jobs fail, nobody notices but who has to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import programs
import pytest

from replnet.workers import RayUnreachableError, on_ray, scheduler
from replnet.workers.jobs import run
from replnet.workers.ray_cluster import join_cluster

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning")]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    # Workers know the package, not its tests.
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with join_cluster():
        yield
    ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def square(x):
    return x * x


def span(seconds):
    """When it began and ended, and where."""
    begun = time.monotonic()
    time.sleep(seconds)
    return begun, time.monotonic(), os.getpid()


def fragile(job):
    """Kills its worker as often as the job says, counting in a file."""
    path, times = job
    with Path(path).open("a") as file:
        file.write("x")
    if Path(path).stat().st_size <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return times


def picky(x):
    if x == 1:
        raise ValueError("no ones")
    if x == 2:
        raise SystemExit(3)
    if x == 3:
        return threading.Lock()
    return os.environ["OMP_NUM_THREADS"]


class Stubborn:
    """A job that no worker can read."""

    def __reduce__(self):
        return (_unreadable, ())


def _unreadable():
    raise ModuleNotFoundError("no such thing on this machine")


def test_the_results_are_the_same_whoever_does_the_work():
    jobs = list(range(40))
    assert dict(run(square, jobs, jobs, workers=2)) == dict(run(square, jobs, jobs))


def test_workers_work_at_the_same_time_and_each_on_one_job():
    spans = [result for _, result in run(span, [0.3] * 6, [1] * 6, workers=2)]
    pids = {pid for _, _, pid in spans}
    assert len(pids) == 2
    assert os.getpid() not in pids
    both = 0.0
    for begun, ended, pid in spans:
        for b, e, other in spans:
            if other > pid:
                both += max(0.0, min(ended, e) - max(begun, b))
            elif other == pid and b != begun:
                assert ended <= b or e <= begun
    assert both > 0.3


def test_a_job_that_kills_its_workers_is_done_again_or_given_up_and_the_others_are_done(tmp_path):
    jobs = [(str(tmp_path / str(i)), times) for i, times in enumerate((0, 99, 2, 0))]
    results = dict(run(fragile, jobs, [1] * 4, workers=2))
    assert "3 workers died of it, the last so: ActorDiedError" in results.pop(1).reason
    assert results == {0: 0, 2: 2, 3: 0}
    assert [len((tmp_path / str(i)).read_text()) for i in range(4)] == [1, 3, 3, 1]


def test_a_job_that_fails_says_why_and_costs_no_worker(monkeypatch):
    """And workers have one thread, whatever the driver has."""
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    results = dict(run(picky, range(5), [1] * 5, workers=1))
    assert (results[0], results[4]) == ("1", "1")
    assert results[1].reason == "ValueError: no ones"
    assert 'raise ValueError("no ones")' in results[1].trace
    assert results[2].reason == "SystemExit: 3"
    assert "cannot pickle '_thread.lock' object" in results[3].trace


def test_jobs_that_workers_cannot_read_fail_with_the_reason():
    results = dict(run(square, [2, Stubborn()], [1, 1], workers=1))
    assert results[0] == 4
    assert results[1].reason == "ModuleNotFoundError: no such thing on this machine"


def test_workers_that_do_not_answer_are_reported(monkeypatch):
    monkeypatch.setattr(on_ray, "START_SECONDS", 0.0)
    monkeypatch.setattr(scheduler, "WAIT_SECONDS", 0.01)
    with pytest.raises(RayUnreachableError, match="none answered within 0 s"):
        list(run(square, [1, 2], [1, 1], workers=2))


def test_leaving_early_ends_the_workers_and_leaves_ray_running():
    with closing(run(span, [0.01, 0.01, 60.0, 60.0], [4, 3, 2, 1], workers=2)) as results:
        pids = {next(results)[1][2], next(results)[1][2]}
    assert programs.wait_until_gone(pids)
    assert ray.is_initialized()
    assert dict(run(square, [3], [1], workers=1)) == {0: 9}


CTRL_C = """
import os, time
from replnet.workers.jobs import run
def nap(seconds):
    time.sleep(seconds)
    return os.getpid()
for i, pid in run(nap, [0.01, 60.0, 60.0], [3, 2, 1], workers=1):
    print(pid, flush=True)
"""


def test_ctrl_c_ends_the_workers_and_the_ray_that_was_started():
    command = [sys.executable, "-c", CTRL_C]
    pipe = subprocess.PIPE
    with programs.running(command, stdout=pipe, stderr=pipe, text=True) as driver:
        worker = int(driver.stdout.readline())
        os.killpg(driver.pid, signal.SIGINT)  # as a terminal does: to all that it started
        said = driver.communicate(timeout=programs.HANGS)[1]
    assert driver.returncode != 0
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert programs.wait_until_gone([worker])


@pytest.mark.slow
def test_a_trivial_job_costs_little_and_ten_thousand_do_not_slow_down():
    ends = [time.perf_counter()]
    for i, result in run(square, range(10_000), [1] * 10_000, workers=2):
        assert result == i * i
        ends.append(time.perf_counter())
    # 0.5 ms a job where this was written.
    assert (ends[-1] - ends[1000]) / 9000 < 0.02
    early, late = ends[2000] - ends[1000], ends[-1] - ends[-1001]
    assert late < 3 * early


NODE_DIES = """
import json, os, threading, time
from ray.cluster_utils import Cluster
import replnet as rn

machines = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
nodes = [machines.add_node(num_cpus=2) for _ in range(2)]
machines.wait_for_nodes()
network = rn.cascade(depth=4, branching=3, updates="exponential(rate=2)", downloads="exponential(rate=2)")
told = []

def lose(share, words):
    if share > 0.2 and not told:
        told.append(share)
        os.kill(nodes[1].all_processes["raylet"][0].process.pid, 9)

spread = rn.emulate(network, seed=3, horizon=2e6, workers=4, address=machines.address, progress=lose)
here = rn.emulate(network, seed=3, horizon=2e6, workers=0)
print(json.dumps([told, spread.table.to_csv() == here.table.to_csv(), spread.incomplete]))
machines.shutdown()
"""


@pytest.mark.slow
def test_a_node_that_dies_in_a_spread_run_changes_no_byte():
    """A head without CPUs and two nodes with two workers each; one raylet is killed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-W", "ignore", "-c", NODE_DIES]
    done = programs.run(command, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    told, same, incomplete = json.loads(done.stdout.splitlines()[-1])
    assert len(told) == 1
    assert same
    assert incomplete == ""
