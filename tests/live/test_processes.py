"""Processes that do jobs: the same results as here, whatever becomes of the workers."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest

from replnet.deadline import left, within
from replnet.live import processes
from replnet.live.pool import Failure, run


@pytest.fixture(autouse=True, params=[True, False], ids=["copies", "started"])
def kind(request, monkeypatch) -> bool:
    """Workers are copies of this process, or not."""
    monkeypatch.setattr(processes, "copies", lambda: request.param)
    processes.dismiss(waiting := [*processes._waiting], waiting)
    processes._waiting.clear()
    return bool(request.param)


def test_the_results_are_those_of_this_process():
    jobs = [1.0, 4.0, 9.0, 16.0, 25.0]
    here = dict(run(math.sqrt, jobs, jobs))
    for workers in (2, 3):
        for some_here in (False, True):
            assert dict(run(math.sqrt, jobs, jobs, workers, here=some_here)) == here


def test_workers_are_other_processes_and_wait_for_the_next_call():
    team = processes.hired(2)
    for worker in team:
        worker.call(os.getpgid, 0)
    assert [worker.answer() for worker in team] == [os.getpgid(0)] * 2
    processes.dismiss(team, [])
    assert processes.hired(2)[0] in team
    processes.dismiss(team, team)
    assert not any(worker.alive for worker in team)


def test_a_worker_that_ended_while_it_waited_is_replaced_and_leaves_no_pipe_open():
    (gone,) = processes.hired(1)
    gone.call(os.getpgid, 0)
    gone.answer()
    processes.dismiss([gone], [])
    gone._process.kill()
    gone._process.wait()
    team = processes.hired(1)
    assert (gone in team, gone._from.closed, gone._to.closed) == (False, True, True)
    processes.dismiss(team, team)


def test_a_job_that_fails_says_why():
    found = dict(run(math.sqrt, [4.0, -1.0], [1, 1], 2))
    assert found[0] == 2.0
    assert found[1].reason.startswith("ValueError: ")
    assert "sqrt" in found[1].trace or "domain" in found[1].reason


def test_a_result_that_cannot_travel_is_a_failure():
    found = dict(run(memoryview, [b"a", b"b"], [1, 1], 2))
    assert all(isinstance(one, Failure) and "memoryview" in one.reason for one in found.values())


def test_a_job_that_kills_its_workers_is_given_up_and_the_others_are_done():
    found = dict(run(signal.raise_signal, [signal.SIGKILL, signal.SIGCHLD], [2, 1], 2))
    assert "SIGKILL" in found[0].reason
    assert found[1] is None


def test_who_leaves_early_leaves_no_worker_behind_that_is_busy():
    with closing(run(time.sleep, [0.0, 60.0, 60.0], [3, 2, 1], 2)) as results:
        assert next(results) == (0, None)
    team = processes.hired(2)
    for worker in team:
        worker.call(math.sqrt, 4.0)
    assert [worker.answer() for worker in team] == [2.0, 2.0]
    processes.dismiss(team, team)


def test_workers_end_with_who_started_them(kind):
    program = f"""
import os, signal, time
from replnet.live import processes
processes.copies = lambda: {kind}
team = processes.hired(3)
for worker in team:
    worker.call(abs, -1)
assert [worker.answer() for worker in team] == [1, 1, 1]
team[0].call(time.sleep, 60)
print(*(worker._process.pid for worker in team), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    end, pids = time.monotonic() + 30, [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 3
    while time.monotonic() < end and any(lives(pid) for pid in pids):
        time.sleep(0.05)
    assert not any(lives(pid) for pid in pids)


def lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_process_with_threads_or_connections_of_its_own_is_not_copied():
    program = """
import socket, sys, threading
from replnet.live import processes
found, over = [processes.copies()], threading.Event()
with socket.socket():
    assert not processes.copies()
for name in (processes.SHOWING, "another"):
    threading.Thread(target=over.wait, name=name, daemon=True).start()
    found.append(processes.copies())
print(*found)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == [str(sys.platform == "linux")] * 2 + ["False"]


def test_a_deadline_is_kept_by_who_asks_and_not_by_workers():
    with within(60.0):
        assert dict(run(left_of, [1, 2], [1, 1], 2)) == {0: None, 1: None}


def left_of(job: int) -> float | None:
    return left()
