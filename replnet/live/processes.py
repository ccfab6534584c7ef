"""Processes of this machine that do jobs, one at a time each; what `pool` has where nobody asks for a cluster.

A worker hears over a pipe what to call with what. It is a copy of this process, which has loaded all that is needed and
so begins at once; where such a copy could miss something, as threads are not copied, it is this Python once more, which
takes a second. A program that uses replnet needs no guard around its main part either way, and a worker ends when its
pipe does, whatever becomes of who started it. Workers that have nothing to do wait for the next call, for a while.
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
from weakref import WeakSet

from replnet.deadline import unlimited

LENGTH = struct.Struct("<q")  # before every message
START = "from replnet.live.processes import main; main()"
END = 5.0  # seconds for a worker to end by itself
PATIENCE = 60.0  # seconds that a worker waits for work: what it has loaded takes memory

SHOWING = "replnet progress"  # the name of a thread

_waiting: list[Worker] = []
_known: WeakSet[Worker] = WeakSet()


@final
class Died(Exception):  # noqa: N818
    """A worker is gone; says how."""


@final
class Worker:
    """From its parent's side."""

    def __init__(self) -> None:
        (hears, to), (comes, answers) = os.pipe(), os.pipe()
        # Nothing is read ahead: whether there is an answer is asked of the pipe.
        self._to, self._from = os.fdopen(to, "wb"), os.fdopen(comes, "rb", buffering=0)
        self.jobs: Sequence[int] = ()  # what it is busy with
        _known.add(self)
        self._process = (_copied if copies() else _started)(hears, answers)
        os.close(hears)
        os.close(answers)

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
        self.leave()
        self._process.kill()
        self._process.wait(END)

    def leave(self) -> None:
        """Close the pipes."""
        for end in (self._to, self._from):
            with suppress(OSError):
                end.close()


def copies() -> bool:
    """Whether workers are copies of this process.

    Ray's threads, and a program's own, would be missing in them, and a connection would not end where this process
    closes it, but where its last copy does.
    """
    others = [one for one in threading.enumerate() if one is not threading.current_thread()]
    # Of these a copy has no need: they show how far all is, replnet's own or those of Rich.
    shown = all(one.name == SHOWING or type(one).__name__ == "_RefreshThread" for one in others)
    return sys.platform == "linux" and shown and "ray" not in sys.modules and not _connected()


def _connected() -> bool:
    """Whether there are sockets beside stdin, stdout and stderr."""
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the one that lists them is gone
            if int(name) > 2 and os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                return True
    return False


def soon() -> bool:
    """Whether a worker is there as soon as it is wanted."""
    return bool(_waiting) or copies()


@final
class _Copy:
    """A process that is a copy of this one, with what is used of subprocess.Popen."""

    def __init__(self, serve: Callable[[], None]) -> None:
        from multiprocessing import get_context

        self._process = get_context("fork").Process(target=serve, daemon=True)
        self._process.start()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, seconds: float | None = None) -> int:
        self._process.join(seconds)
        if (code := self._process.exitcode) is None:
            raise subprocess.TimeoutExpired("worker", seconds or 0.0)
        return code

    def kill(self) -> None:
        self._process.kill()


def _copied(hears: int, answers: int) -> _Copy:
    def serve() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        # A pipe ends when the last of its copies is closed, so those of others are not kept.
        for worker in [*_known]:
            worker.leave()
        unlimited()
        _serve(os.fdopen(hears, "rb"), os.fdopen(answers, "wb"))

    # Until it knows what to do about them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        return _Copy(serve)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _started(hears: int, answers: int) -> subprocess.Popen[bytes]:
    places = os.pathsep.join(path or os.getcwd() for path in sys.path)
    return subprocess.Popen(
        [sys.executable, "-c", START], stdin=hears, stdout=answers,
        env={**os.environ, "PYTHONPATH": places, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


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
    head = _exactly(source, LENGTH.size)
    return head and _exactly(source, LENGTH.unpack(head)[0])


def _exactly(source: IO[bytes], size: int) -> bytes | None:
    """So many bytes, however few come at a time."""
    found = bytearray()
    while len(found) < size:
        if not (more := source.read(size - len(found))):
            return None
        found += more
    return bytes(found)


# ---- From the worker's side


def main() -> None:
    """Of this Python once more."""
    _serve(sys.stdin.buffer, os.fdopen(os.dup(1), "wb"))


def _serve(orders: IO[bytes], answers: IO[bytes]) -> None:
    """Do what comes in, and end when nothing more can."""
    from replnet.live.pool import Failure, attempt

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who started it
    os.dup2(2, 1)  # what jobs print is no answer
    jobs: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        while (data := _read(orders)) is not None:
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
