"""Workers that are processes: how long they stay, what they inherit, and what code of the program goes to them."""

from __future__ import annotations

import functools
import importlib
import math
import os
import signal
import sys
import types

import programs
import pytest

from replnet.deadline import seconds_left, within
from replnet.workers import processes
from replnet.workers.by_value import CannotTravelError, dumps
from replnet.workers.jobs import run


@pytest.fixture(autouse=True)
def _without_workers():
    """End the idle workers that other tests have left, and those of this one."""
    end_idle_workers()
    yield
    end_idle_workers()


def end_idle_workers():
    for worker in processes._idle:
        worker.idle_since = -math.inf
    processes._retire()


def require_success(program: str) -> str:
    """Run a Python program that ends in order; return what it printed."""
    return programs.run([sys.executable, "-c", program], check=True).stdout


# ---- Jobs, for more of which see test_jobs


def generator(job: int):
    yield job


def test_a_job_that_cannot_travel_is_done_here():
    assert dict(run(callable, [generator(1), abs], [1, 1], 2)) == {0: False, 1: True}


def test_this_process_does_no_job_of_which_workers_died():
    jobs = [signal.SIGKILL, signal.SIGCONT, signal.SIGCONT]
    results = dict(run(signal.raise_signal, jobs, [3, 2, 1], 3, here=True))
    assert "SIGKILL" in results.pop(0).reason
    assert results == {1: None, 2: None}


def test_a_deadline_is_kept_by_who_asks_and_not_by_workers():
    with within(60.0):
        assert dict(run(left_of, [1, 2], [1, 1], 2)) == {0: None, 1: None}


def left_of(job: int) -> float | None:
    return seconds_left()


# ---- Workers


def test_workers_are_other_processes_and_stay_for_the_next_call():
    team = processes.hire(2)
    for worker in team:
        worker.call(abs, -1)
        assert worker.answer() == 1
    assert os.getpid() not in {worker._process.pid for worker in team}
    processes.dismiss(team, [])
    assert processes.are_idle()
    assert set(processes.hire(2)) == set(team)
    processes.dismiss(team, team)
    assert not any(worker.alive for worker in team)


def test_workers_that_have_been_idle_for_long_are_ended_and_leave_no_trace():
    team = processes.hire(2)
    processes.dismiss(team, [])
    team[0].idle_since = -math.inf
    processes._retire()
    assert processes._idle == [team[1]]
    assert team[0]._process.returncode == -signal.SIGKILL  # waited for, so not a zombie
    assert processes._timer.is_alive()
    end_idle_workers()
    assert processes._timer is None


def test_a_worker_that_ended_while_it_was_idle_is_replaced_and_leaves_no_pipe_open():
    (gone,) = processes.hire(1)
    processes.dismiss([gone], [])
    gone._process.kill()
    gone._process.wait()
    team = processes.hire(1)
    assert (gone in team, gone._answers.closed, gone._calls.closed) == (False, True, True)
    processes.dismiss(team, team)


def test_who_is_interrupted_in_a_warm_up_leaves_no_answer_behind_for_the_next():
    jobs = run(abs, [1], [1], 2, warm=[Interrupting()])
    with pytest.raises(KeyboardInterrupt):
        next(jobs)
    assert not processes.are_idle()


class Interrupting:
    def __reduce__(self):
        raise KeyboardInterrupt


def test_workers_are_started_again_where_the_working_directory_or_the_environment_is_another(tmp_path, monkeypatch):
    def of_worker(work, job):
        team = processes.hire(1)
        team[0].call(work, job)
        result = team[0].answer()
        processes.dismiss(team, [])
        return result

    assert of_worker(os.path.realpath, ".") == os.getcwd()
    monkeypatch.chdir(tmp_path)
    assert of_worker(os.path.realpath, ".") == str(tmp_path)
    monkeypatch.setenv("SOME_NAME", "some value")
    assert of_worker(os.getenv, "SOME_NAME") == "some value"


@pytest.mark.parametrize("here", [False, True])
def test_where_no_worker_starts_the_work_is_done_here(tmp_path, here):
    """Whether the system refuses, or what it starts is no Python that has what is needed."""
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho of no use >&2\nexit 3\n")
    broken.chmod(0o755)
    text = f"""
import math, multiprocessing, sys, warnings
from replnet.workers.jobs import run
for python, reason in (("/nonexistent", "No such file or directory"), ({str(broken)!r}, "cannot start: of no use")):
    multiprocessing.set_executable(python)
    with warnings.catch_warnings(record=True) as caught:
        assert dict(run(math.sqrt, [1.0, 4.0, 9.0], [1] * 3, 3, here={here})) == {{0: 1.0, 1: 2.0, 2: 3.0}}
    assert [str(one.message) for one in caught] == [
        f"no worker process starts: {{reason}} (the work goes on with those there are)"
    ], caught
"""
    require_success(text)


def test_workers_end_with_who_started_them():
    text = """
import os, signal, time
from replnet.workers import processes
team = processes.hire(3)
for worker in team:
    worker.call(abs, -1)
assert [worker.answer() for worker in team] == [1, 1, 1]
team[0].call(time.sleep, 60)
print(*(worker._process.pid for worker in team), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = programs.run([sys.executable, "-c", text])
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 3
    assert programs.wait_until_gone(pids)


# ---- What a caller has, and workers have not


def test_a_pipe_of_the_program_ends_when_the_program_closes_it():
    require_success("""
import os, subprocess
from replnet.workers import processes
cat = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
reads, writes = os.pipe()
os.set_inheritable(writes, True)
team = processes.hire(2)
os.close(writes)
assert os.read(reads, 1) == b""
assert cat.communicate(b"text")[0] == b"text"
""")


def test_workers_start_where_signals_are_ignored_or_blocked():
    require_success("""
import signal
from replnet.workers.jobs import run
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
assert dict(run(signal.getsignal, [signal.SIGTERM, signal.SIGCHLD], [1, 1], 2)) == {0: 0, 1: 0}
assert dict(run(signal.pthread_sigmask, [signal.SIG_BLOCK], [1], 2))[0].reason.startswith("TypeError")
found = dict(run(signal.raise_signal, [signal.SIGTERM, signal.SIGCONT], [2, 1], 2))
assert "3 workers died of it" in found[0].reason and found[1] is None, found
""")


def test_workers_are_there_for_daemonic_processes_and_for_copies_of_a_program():
    require_success("""
import multiprocessing, os
from replnet.workers.jobs import run
from replnet.workers import processes

def work(number):
    return dict(run(abs, [-number, -2 * number], [1, 1], 2))

mine = work(1)
context = multiprocessing.get_context("fork")
with context.Pool(2) as pool:
    assert pool.map(work, [1, 2]) == [{0: 1, 1: 2}, {0: 2, 1: 4}]
assert processes.are_idle() and work(1) == mine
""")


# ---- Code of the program itself


def test_a_function_of_the_program_itself_travels_with_what_it_calls():
    assert dict(run(thrice, [1, 2], [1, 1], 2)) == {0: 3.5, 1: 6.5}


@functools.lru_cache(maxsize=3)
def scaled(number):
    return 3 * number


def thrice(number):
    return scaled(number) + HALF


HALF = 0.5


def test_a_module_that_is_loaded_again_counts_as_it_is_now(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "changing.py").write_text("def number(job):\n    return 1\n")
    import changing

    assert dict(run(changing.number, [0, 0], [1, 1], 2)) == {0: 1, 1: 1}
    (tmp_path / "changing.py").write_text("def number(job):\n    return 12345\n")
    assert dict(run(changing.number, [0, 0], [1, 1], 2)) == {0: 1, 1: 1}
    importlib.reload(changing)
    assert dict(run(changing.number, [0, 0], [1, 1], 2)) == {0: 12345, 1: 12345}
    changing.number.__code__ = (lambda job: 7).__code__
    assert dict(run(changing.number, [0, 0], [1, 1], 2)) == {0: 7, 1: 7}


def test_a_module_without_a_file_travels(monkeypatch):
    module = types.ModuleType("without_a_file")
    exec("def number(job):\n    return 5 * job", module.__dict__)
    monkeypatch.setitem(sys.modules, "without_a_file", module)
    assert dict(run(module.number, [1, 2], [1, 1], 2)) == {0: 5, 1: 10}


def test_what_replnet_and_libraries_define_travels_by_its_name():
    assert len(dumps((run, math.sqrt, importlib.import_module))) < 200


def test_what_cannot_travel_says_why():
    with pytest.raises(CannotTravelError, match="generator"):
        dumps(generator(1))
