"""Processes of this machine that do jobs, one at a time each; what `pool` has where nobody asks for a cluster.

A worker is this Python once more, which hears over a pipe what to call with what. So a program that uses replnet needs
no guard around its main part, and a worker ends when its pipe does, whatever becomes of who started it. Workers that
have nothing to do wait for the next call, for a while.
"""

from __future__ import annotations

import atexit
import os
import pickle
import queue
import selectors
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any, final

LENGTH = struct.Struct("<q")  # before every message
START = "from replnet.live.processes import main; main()"
END = 5.0  # seconds for a worker to end by itself
PATIENCE = 60.0  # seconds that a worker waits for work: what it has loaded takes memory

_waiting: list[Worker] = []


@final
class Died(Exception):  # noqa: N818
    """A worker is gone; says how."""


@final
class Worker:
    """From its parent's side."""

    def __init__(self) -> None:
        places = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-c", START], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": places, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        assert self._process.stdin
        assert self._process.stdout
        self._to, self._from = self._process.stdin, self._process.stdout
        self.jobs: Sequence[int] = ()  # what it is busy with

    def fileno(self) -> int:
        return self._from.fileno()

    def call(self, work: Callable[[Any], Any], job: Any) -> None:
        with suppress(BrokenPipeError):  # which is told where its answer is waited for
            _write(self._to, (work, job))

    def answer(self) -> Any:
        found = _read(self._from)
        if found is None:
            try:
                code = self._process.wait(END)
            except subprocess.TimeoutExpired:
                raise Died("closed its pipe") from None
            raise Died(f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}")
        return pickle.loads(found)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        with suppress(OSError):
            self._to.close()
        self._process.kill()
        self._process.wait(END)
        self._from.close()


def hired(count: int) -> list[Worker]:
    """So many workers; those that have waited first."""
    there = [_waiting.pop() for _ in range(min(count, len(_waiting)))]
    alive = [worker for worker in there if worker.alive]
    for worker in there:  # one that has waited too long has ended itself
        if worker not in alive:
            worker.end()
    return [*alive, *(Worker() for _ in range(count - len(alive)))]


def wait(workers: Sequence[Worker], seconds: float) -> list[Worker]:
    """Those who have an answer, or are gone."""
    with selectors.DefaultSelector() as ready:
        for worker in workers:
            ready.register(worker, selectors.EVENT_READ, worker)
        return [key.data for key, _ in ready.select(seconds)]


def dismiss(workers: Sequence[Worker], busy: Sequence[Worker]) -> None:
    """Whoever is idle waits for the next call."""
    for worker in workers:
        if worker in busy or not worker.alive:
            worker.end()
        else:
            _waiting.append(worker)


@atexit.register
def _close() -> None:
    dismiss(_waiting, [*_waiting])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_waiting.clear)  # two who hear one pipe would get half an answer each


def _write(to: IO[bytes], message: Any) -> None:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    to.write(LENGTH.pack(len(data)) + data)
    to.flush()


def _read(source: IO[bytes]) -> bytes | None:
    """None at the end."""
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    size = LENGTH.unpack(head)[0]
    data = source.read(size)
    return data if len(data) == size else None


# ---- From the worker's side


def main() -> None:
    """Do what comes in, and end when nothing more can."""
    from replnet.live.pool import Failure, attempt

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who started it
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what jobs print is no answer
    jobs: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        while (data := _read(sys.stdin.buffer)) is not None:
            jobs.put(data)
        os._exit(0)  # in the midst of a job, too: nobody waits for it

    threading.Thread(target=listen, daemon=True).start()
    while True:
        try:
            job = jobs.get(timeout=PATIENCE)
        except queue.Empty:
            os._exit(0)
        found = attempt(_done, job)
        try:
            _write(answers, found)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            _write(answers, Failure(f"{type(error).__name__}: {error}"))


def _done(data: bytes) -> Any:
    work, job = pickle.loads(data)
    return work(job)
