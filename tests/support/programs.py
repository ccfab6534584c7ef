"""Programs that tests start: each in a session of its own, of which nothing is left when the test goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

HANGS = 900.0  # seconds after which nothing is expected to end any more, however busy the machine is


@contextmanager
def running(command: Sequence[object], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a program, and end it with all that it started, whatever happens meanwhile; options are those of Popen."""
    process = subprocess.Popen([str(word) for word in command], start_new_session=True, **options)
    try:
        yield process
    finally:
        for pid in (process.pid, *descendants(process.pid)):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL) if pid == os.getpgid(pid) else os.kill(pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def run(command: Sequence[object], *, check: bool = False, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, and return what it printed; options are those of Popen, and `input`."""
    words = options.pop("input", None)
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    if words is not None:
        pipes["stdin"] = subprocess.PIPE
    with running(command, **(pipes | options)) as process:
        out, err = process.communicate(words, timeout=HANGS)
    assert not check or process.returncode == 0, err
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def is_gone(pid: int) -> bool:
    """Whether a process has ended, where /proc tells; one that nobody has waited for has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_until(condition: Callable[[], bool], longest: float = HANGS) -> bool:
    """Wait until something is so, for as many seconds at most; return whether it is."""
    end = time.monotonic() + longest
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def wait_until_gone(pids: Iterable[int]) -> bool:
    """Wait for the end of processes; returns whether it came."""
    pids = list(pids)
    return wait_until(lambda: all(map(is_gone, pids)))


def descendants(pid: int) -> list[int]:
    """Return the processes that a process started, and those that they started, where /proc tells."""
    children = list[int]()
    with suppress(FileNotFoundError, ProcessLookupError):  # it may end meanwhile, or a thread of it
        for thread in Path(f"/proc/{pid}/task").iterdir():
            children += map(int, (thread / "children").read_text().split())
    return [*children, *(below for child in children for below in descendants(child))]
