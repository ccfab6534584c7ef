"""What becomes of errors, of bad input and of Ctrl-C; exit codes."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import threading
import weakref

import programs
import pytest
from command_line import replnet

from replnet.cli.main import BAD_INPUT, FINE, INCOMPLETE, RAY_LOST, commands
from replnet.live import LiveLost
from replnet.store.durable import DiskError
from replnet.workers import RayUnreachableError

FULL = "No space left on device"


def noted(error: Exception, words: str) -> Exception:
    error.add_note(words)
    return error


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), INCOMPLETE, "interrupted"),
        (ValueError("field: wrong (right)"), BAD_INPUT, "field: wrong (right)"),
        (ValueError("\x1b[2J"), BAD_INPUT, r"\x1b[2J"),
        (MemoryError(), BAD_INPUT, "out of memory (a smaller network, or a machine with more)"),
        (PermissionError(errno.EACCES, "Permission denied", "file"), BAD_INPUT, "file: Permission denied"),
        (OSError(errno.ENOSPC, FULL, "file"), INCOMPLETE, f"file: {FULL}"),
        (OSError(errno.ENOSPC, FULL), INCOMPLETE, f"standard output: {FULL}"),
        (OSError("odd"), BAD_INPUT, "standard output: odd"),
        (DiskError("run: no room"), INCOMPLETE, "run: no room"),
        (RayUnreachableError("Ray at a:1: no answer"), RAY_LOST, "Ray at a:1: no answer"),
        (LiveLost(("host 1 died",), 2.0), RAY_LOST, "lost at 2 units of model time: host 1 died"),
        (noted(RayUnreachableError("no worker starts"), "go on"), RAY_LOST, "no worker starts\ngo on"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, BaseException) else "",
)
def test_every_end_has_a_message_and_a_code(monkeypatch, error, code, said):
    def end(**_):
        raise error

    monkeypatch.setattr(commands, "main", end)
    done = replnet()
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"{said}\n")


@pytest.mark.parametrize("error", [RuntimeError("a mistake of ours"), KeyError("another")])
def test_mistakes_of_ours_are_not_hidden(monkeypatch, error):
    def end(**_):
        raise error

    monkeypatch.setattr(commands, "main", end)
    with pytest.raises(type(error)):
        replnet()


def test_a_pipe_that_nobody_reads_is_no_error():
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "replnet", "schema"]
    done = programs.run(command, stdout=theirs)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (FINE, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "nowhere.yaml"),
        ("predict", "/tmp"),
        ("predict", "cascade", "-s", "depht=3"),
        ("predict", "cascade", "-s", "depth=0"),
        ("predict", "cascade", "-s", "downloads=pareto(alpha=1, rate=1)"),
        ("run", "cascade", "--horizon", "nan"),
        ("run", "cascade", "--seed", "-1"),
        ("run", "cascade", "--threshold", "freshness"),
        ("run", "cascade", "--threshold", "level 9: freshness > 0.1"),
        ("run", "cascade", "--threshold", "speed > 0.1"),
        ("run", "cascade", "--engine", "array", "-s", "delay=exponential(mean=1)"),
        ("nothing",),
    ],
)
def test_bad_input_is_one_message_and_exit_code_two(arguments):
    done = replnet(*arguments)
    assert done.returncode == BAD_INPUT
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_every_error_of_a_file_comes_at_once_with_its_place(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("kind: cascade\ndepth: 0\nupdates: exponential(rate=-1)\ndownload: constant(rate=1)\n")
    done = replnet("predict", str(path))
    assert done.returncode == BAD_INPUT
    for place in (":2:8: depth:", ":3:27: updates.rate:", ":4:1: download:"):
        assert place in done.stderr


def test_colour_only_where_someone_looks():
    assert "\x1b" not in replnet("run", "single", "--horizon", "1000").stdout


def test_ctrl_c_ends_in_what_there_is():
    command = [sys.executable, "-m", "replnet", "run", "cascade", "--horizon", "1e9"]
    with programs.running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert any("replication" in line for line in iter(run.stderr.readline, ""))  # it is under way
        run.send_signal(signal.SIGINT)
        _, stderr = run.communicate(timeout=programs.HANGS)
    assert run.returncode == INCOMPLETE, stderr
    assert "interrupted" in stderr
    assert "Traceback" not in stderr


SYSTEM = """\
title: the best size of a cluster that has no formula
optimise: {system: cooperative, target: 0.6, bandwidth: 10, updates: exponential(rate=1), downloads: exponential,
           polls: exponential, peers: 1, select: recent, over: {replicas: [8, 400]}}
run: {estimator: conditional, precision: 0.00003}
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize(
    ("command", "there", "last"),
    [
        (
            ("size", "single", "--target", "lag <= 0.5", "--precision", "2e-5"),
            "downloads.rate = ",
            r"^interrupted after \d+ replications$",
        ),
        (
            ("size", "cooperative-recent", "--target", "lag <= 0.5", "--precision", "2e-4"),
            "",
            r"^interrupted: (no polls.rate was looked at|polls.rate = .* it)$",
        ),
        (
            ("design", "--updates", "exponential(rate=1)", "--replicas", "4", "--target", "lag <= 0.5",
             "--pulls", "exponential", "--precision", "2e-5"),
            "all ask the source",
            r"^interrupted after \d+ replications$",
        ),
        (("sweep", "FILE"), "", r"^.*interrupted.*0 of 1 cells are finished.*$"),
    ],
    ids=("size by formula", "size by emulation", "design", "optimise"),
)  # fmt: skip
def test_one_signal_ends_an_inverse_problem(command, there, last, number, tmp_path):
    """In the middle of the first of several emulations, each of which would take minutes."""
    (tmp_path / "best.yaml").write_text(SYSTEM)
    words = [str(tmp_path / "best.yaml") if word == "FILE" else word for word in command]
    of = [sys.executable, "-m", "replnet", *words, "--workers", "0"]
    under_way = "0 of 1 cells" if command[0] == "sweep" else ", emulated"
    with programs.running(of, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert any(under_way in line for line in iter(run.stderr.readline, ""))
        run.send_signal(number)
        stdout, stderr = run.communicate(timeout=programs.HANGS)
    assert run.returncode == INCOMPLETE, stderr
    assert there in stdout
    assert re.search(last, stderr, re.MULTILINE)
    assert "Traceback" not in stderr


LOADING = """
import os, signal, sys
class Finder:
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder)
sys.argv = ["replnet", "run", "cascade", "--horizon", "100", "--workers", "0"]
from replnet.cli import main
main()
"""


@pytest.mark.parametrize("module", ["click", "replnet.cli.traces", "pydantic", "numpy", "numba", "scipy.special"])
def test_ctrl_c_while_modules_load_is_an_interruption(module):
    done = programs.run([sys.executable, "-c", LOADING.format(module=module)])
    last = "interrupted after 0 replications" if module == "numba" else "interrupted"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (INCOMPLETE, last), done.stderr
    assert "Traceback" not in done.stderr


def test_what_python_makes_of_an_interrupt_is_one(monkeypatch):
    """Where a class is made, or a module of machine code begins."""

    def end(**_):
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr(commands, "main", end)
    done = replnet()
    assert (done.returncode, done.stdout, done.stderr) == (INCOMPLETE, "", "interrupted\n")


@pytest.mark.parametrize("misses_it", [False, True])
def test_an_interrupt_in_a_callback_is_not_lost(monkeypatch, misses_it):
    """Out of which nothing can be raised; many are called as modules load.

    What it should have done, such as noting a compiled kernel, may be missed before the interrupt is there again.
    """

    class Module:
        pass

    def end(**_):
        module = Module()
        callback = weakref.ref(module, lambda _: signal.raise_signal(signal.SIGINT))
        del module
        assert callback() is None
        if misses_it:
            raise RuntimeError("no compiled object yet")
        assert not threading.Event().wait(programs.HANGS), "it was lost"

    monkeypatch.setattr(commands, "main", end)
    done = replnet()
    assert (done.returncode, done.stdout, done.stderr) == (INCOMPLETE, "", "interrupted\n")
