"""Jobs here, in processes of this machine and on Ray: the same results, failures, and what becomes of workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import programs
import pytest

from replnet.workers import RayUnreachableError, jobs, on_ray, scheduler
from replnet.workers.jobs import run

ON_RAY = [pytest.mark.ray, pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning")]
RAY = pytest.param("ray", marks=ON_RAY)
AWAY = ["processes", RAY]


@pytest.fixture(scope="module", params=["here", *AWAY])
def workers(request) -> Iterator[int]:
    """The number of workers with which jobs are done there."""
    if request.param != "ray":
        yield 2 * (request.param == "processes")
        return
    ray = pytest.importorskip("ray")
    from replnet.workers.ray_cluster import join_cluster

    # Workers know the package, not its tests.
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with join_cluster():
        yield 2
        assert ray.is_initialized()
    ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def square(x):
    return x * x


def picky(x):
    if x == 1:
        raise ValueError("no ones")
    if x == 2:
        raise SystemExit(3)
    if x == 3:
        raise KeyboardInterrupt
    return x


class Stubborn:
    """A job that no worker can read."""

    def __reduce__(self):
        return (_unreadable, ())


def _unreadable():
    raise ModuleNotFoundError("no such thing on this machine")


def locks(x):
    return threading.Lock()


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


def test_the_results_are_the_same_whoever_does_the_work(workers):
    jobs = list(range(40))
    for here in (False, True):
        assert dict(run(square, jobs, jobs, workers, here=here)) == {x: x * x for x in jobs}
    assert list(run(square, [], [], workers)) == []


def test_a_failure_says_why_and_the_others_go_on(workers):
    results = dict(run(picky, [0, 1, 2, 4], [1] * 4, workers))
    assert (results[0], results[3]) == (0, 4)
    assert results[1].reason == "ValueError: no ones"
    assert 'raise ValueError("no ones")' in results[1].trace
    assert results[2].reason == "SystemExit: 3"


@pytest.mark.parametrize("workers", AWAY, indirect=True)
def test_a_result_that_cannot_travel_is_a_failure(workers):
    results = dict(run(locks, [1, 2], [1, 1], workers))
    assert all("cannot pickle '_thread.lock' object" in result.trace + result.reason for result in results.values())


@pytest.mark.parametrize("workers", AWAY, indirect=True)
def test_workers_work_at_the_same_time_and_each_on_one_job(workers):
    spans = [result for _, result in run(span, [0.3] * 6, [1] * 6, workers)]
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


@pytest.mark.parametrize("workers", AWAY, indirect=True)
def test_a_job_that_kills_its_workers_is_done_again_or_given_up_and_the_others_are_done(tmp_path, workers):
    jobs = [(str(tmp_path / str(i)), times) for i, times in enumerate((0, 99, 2, 0))]
    results = dict(run(fragile, jobs, [1] * 4, workers))
    assert "3 workers died of it, the last so: " in results.pop(1).reason
    assert results == {0: 0, 2: 2, 3: 0}
    assert [len((tmp_path / str(i)).read_text()) for i in range(4)] == [1, 3, 3, 1]


def named_sleep(job: tuple[str, float]) -> None:
    """Write the id of this process into a file, and sleep for so many seconds."""
    path, seconds = job
    Path(path).write_text(str(os.getpid()))
    time.sleep(seconds)


@pytest.mark.parametrize("workers", AWAY, indirect=True)
def test_leaving_early_ends_the_workers_that_are_busy(tmp_path, workers):
    busy = tmp_path / "busy"
    with closing(run(named_sleep, [(str(tmp_path / "idle"), 0.0), (str(busy), 60.0)], [2, 1], workers)) as results:
        assert next(results) == (0, None)
        assert programs.wait_until(lambda: busy.exists() and bool(busy.read_text()))
    assert programs.wait_until_gone([int(busy.read_text())])
    assert dict(run(square, [3], [1], workers)) == {0: 9}


CTRL_C = """
import os, sys, time
from replnet.workers.jobs import run
def nap(seconds):
    time.sleep(seconds)
    return os.getpid()
for i, pid in run(nap, [0.01, 60.0, 60.0], [3, 2, 1], workers=2, address=sys.argv[1]):
    print(pid, flush=True)
"""


@pytest.mark.parametrize("address", ["", pytest.param("local", marks=ON_RAY)])
def test_ctrl_c_ends_the_workers_and_the_ray_that_was_started(address):
    pipe = subprocess.PIPE
    with programs.running([sys.executable, "-c", CTRL_C, address], stdout=pipe, stderr=pipe, text=True) as driver:
        worker = int(driver.stdout.readline())
        os.killpg(driver.pid, signal.SIGINT)  # as a terminal does: to all that it started
        said = driver.communicate(timeout=programs.HANGS)[1]
    assert driver.returncode != 0
    assert worker != driver.pid
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert programs.wait_until_gone([worker])


# ---- Here


def test_the_largest_job_comes_first_and_equal_ones_in_order():
    assert list(run(square, [1, 2, 3, 4], sizes=[1.0, 5.0, 5.0, 2.0])) == [(1, 4), (2, 9), (3, 16), (0, 1)]


def test_ctrl_c_ends_it():
    results = run(picky, [0, 3, 4], [3, 2, 1])
    assert next(results) == (0, 0)
    with pytest.raises(KeyboardInterrupt):
        next(results)


def test_jobs_are_done_only_when_somebody_asks_and_ray_is_not_loaded():
    program = """
import sys
from replnet.workers.jobs import run
done = []
results = run(done.append, [0, 1, 2], [1] * 3)
next(results)
results.close()
assert done == [0]
assert "ray" not in sys.modules
"""
    programs.run([sys.executable, "-c", program], check=True)


# ---- On Ray alone


@pytest.mark.parametrize("workers", [RAY], indirect=True)
def test_what_goes_wrong_on_ray(workers, monkeypatch):
    """And workers have one thread, whatever the driver has."""
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    assert dict(run(os.getenv, ["OMP_NUM_THREADS"], [1], workers)) == {0: "1"}
    results = dict(run(square, [2, Stubborn()], [1, 1], workers))
    assert results[0] == 4
    assert results[1].reason == "ModuleNotFoundError: no such thing on this machine"
    monkeypatch.setattr(on_ray, "START_SECONDS", 0.0)
    monkeypatch.setattr(scheduler, "WAIT_SECONDS", 0.01)
    with pytest.raises(RayUnreachableError, match="none answered within 0 s"):
        list(run(square, [1, 2], [1, 1], workers))


def test_more_workers_than_cpus_are_told_how_many_work(caplog):
    """Once, and only where there are jobs for them; what is done does not change."""
    cpus = jobs.cores()
    with caplog.at_level("WARNING"):
        for wanted, count in ((cpus, 2 * cpus), (cpus + 3, 1), (cpus + 3, cpus + 3), (cpus + 3, cpus + 3)):
            numbers = list(range(count))
            assert sorted(run(square, numbers, numbers, workers=wanted)) == [(i, i * i) for i in numbers]
    (record,) = caplog.records
    assert record.getMessage().startswith(f"workers: {cpus + 3} are wanted, and this machine has {cpus} CPU")
    assert record.getMessage().endswith(("so 1 does the work", f"so {cpus} do the work"))
