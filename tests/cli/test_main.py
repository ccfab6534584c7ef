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


IN_A_CLASS = RuntimeError("Error calling __set_name__")
"""What Python makes of an interrupt where a class is made, or a module of machine code begins."""
IN_A_CLASS.__cause__ = KeyboardInterrupt()


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
        (IN_A_CLASS, INCOMPLETE, "interrupted"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, BaseException) else "",
)
def test_every_end_has_a_message_and_a_code(monkeypatch, error, code, said):
    def end(**_):
        raise error

    monkeypatch.setattr(commands, "main", end)
    done = replnet()
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"{said}\n")


@pytest.mark.parametrize("group", [[], ["trace"]])
def test_every_command_has_its_line_of_help(group, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = replnet(*group, "--help").stdout.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    names = commands.commands["trace"].commands if group else commands.commands
    assert [line.split()[0] for line in lines] == sorted(name for name in names if not names[name].hidden)
    assert all(line.endswith(".") and not line.endswith("...") for line in lines)


def test_mistakes_of_ours_are_not_hidden(monkeypatch):
    def end(**_):
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(commands, "main", end)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        replnet()


def test_a_pipe_that_nobody_reads_is_no_error():
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "replnet", "schema"]
    done = programs.run(command, stdout=theirs)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (FINE, "")


SYSTEM = """\
title: the best size of a cluster that has no formula
optimise: {system: cooperative, target: 0.6, bandwidth: 10, updates: exponential(rate=1), downloads: exponential,
           polls: exponential, peers: 1, select: recent, over: {replicas: [8, 400]}}
run: {estimator: conditional, precision: 0.00003}
"""


ENDS = r"^interrupted after \d+ replications$"


@pytest.mark.parametrize(
    ("command", "number", "begun", "printed", "last"),
    [
        ("run cascade --horizon 1e9", signal.SIGINT, "replication", "array, sampled: ", ENDS),
        ("size single --target lag<=0.5 --precision 2e-5", signal.SIGTERM, ", emulated", "downloads.rate = ", ENDS),
        (
            "size cooperative-recent --target lag<=0.5 --precision 2e-4", signal.SIGINT, ", emulated", "",
            r"^interrupted: (no polls.rate was looked at|polls.rate = .* (it|so far))$",
        ),
        (
            "design --updates exponential(rate=1) --replicas 4 --target lag<=0.5 --pulls exponential --precision 2e-5",
            signal.SIGTERM, ", emulated", "all ask the source", ENDS,
        ),
        ("sweep best.yaml", signal.SIGINT, "0 of 1 cells", "", r"^.*interrupted.*0 of 1 cells are finished.*$"),
    ],
    ids=("run", "size by formula", "size by emulation", "design", "optimise"),
)  # fmt: skip
def test_one_signal_ends_a_command_with_what_there_is(command, number, begun, printed, last, tmp_path):
    """In the middle of an emulation that would take minutes."""
    (tmp_path / "best.yaml").write_text(SYSTEM)
    words = [sys.executable, "-m", "replnet", *command.split(), "--workers", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": tmp_path}
    with programs.running(words, **pipes) as run:
        assert any(begun in line for line in iter(run.stderr.readline, ""))
        run.send_signal(number)
        stdout, stderr = run.communicate(timeout=programs.HANGS)
    assert run.returncode == INCOMPLETE, stderr
    assert printed in stdout
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
