"""Worker processes of this machine, which do one job at a time each; `jobs` uses them when it is given no cluster.

A worker is a new interpreter that reads calls from a pipe, and ends when that pipe does, whatever becomes of its
caller. It is started in the same way from a terminal, a notebook, a thread or a test, and nothing of its
caller reaches it but the search path, the environment and the working directory: no open file, lock, socket, thread,
signal handler or state of a random generator. A program needs no guard around its main part. Workers without work stay
for the next call, for a while.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import queue
import selectors
import signal
import struct
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.spawn import get_executable
from multiprocessing.util import _args_from_interpreter_flags  # type: ignore[attr-defined]
from typing import IO, Any, final
from weakref import WeakSet

from replnet.text import printable
from replnet.workers.by_value import CannotTravelError, dumps
from replnet.workers.scheduler import Failure, Place, WorkerDiedError, attempt

LENGTH = struct.Struct("<q")  # before every message
START = """
import json, sys
sys.path[:] = json.loads(sys.stdin.buffer.raw.readline())
from replnet.workers.processes import serve
serve()
"""
STARTED = b"replnet\0"  # the first answer of a worker; if it cannot start, the text of an error comes instead
LONGEST_TROUBLE = 300  # characters of why a worker could not start
SECONDS_TO_END = 5.0  # for a worker to end by itself
SECONDS_IDLE = 60.0  # for which a worker stays without work; its modules take memory

Surroundings = tuple[str, tuple[str, ...], str, tuple[tuple[str, str], ...]]
"""The interpreter, search path, working directory and environment of a process, which its workers take over."""


@final
class Worker:
    """A worker process of this machine, from its caller's side, with pipes for calls and for answers.

    `surroundings` are those of its caller that it was started with; `started` says that its first message has been
    read; `idle_since` is when its work ended, on the clock time.monotonic.
    """

    machine = ""  # this one

    def __init__(self, surroundings: Surroundings) -> None:
        """Start the process with these surroundings of its caller; raise OSError if the machine starts no more."""
        self.surroundings = surroundings
        self.started, self._trouble = False, ""
        self.idle_since = 0.0
        program, path, folder, environment = surroundings
        self._process = subprocess.Popen(
            # Not even the working directory is searched before the caller's own search path is there.
            [program, *_args_from_interpreter_flags(), "-P", "-c", START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,  # nothing is read ahead: whether there is an answer is asked of the pipe
            cwd=folder or None,
            env={**dict(environment), "OMP_NUM_THREADS": "1"},
            process_group=0,  # what a terminal, or `timeout`, sends to its program is for the caller to act on
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._calls, self._answers = self._process.stdin, self._process.stdout
        _all.add(self)
        with suppress(BrokenPipeError):  # which is seen where an answer is waited for
            _write_all(self._calls, json.dumps(path).encode() + b"\n")

    def fileno(self) -> int:
        """Return the descriptor that is ready to be read when there is an answer, or when the worker is gone."""
        return self._answers.fileno()

    def call(self, work: Callable[[Any], Any], job: Any) -> None:
        """Have the worker do work(job), without waiting for it; raise CannotTravelError if that cannot be sent.

        If the worker is gone, `answer` says so.
        """
        message = dumps((work, job))
        with suppress(BrokenPipeError):  # which is seen where its answer is waited for
            _write_message(self._calls, message)

    def has_answer(self) -> bool:
        """Whether `answer` would return, or raise, at once; to be asked when the pipe can be read.

        If the worker's first message, that it has started, is there it is read, and does not count as an answer.
        """
        if self.started:
            return True
        self._greet()
        return not self.started

    def answer(self) -> Any:
        """Wait for the result of the oldest call and return it; it may be a Failure.

        Raises WorkerDiedError if the worker has ended, or could not start.
        """
        if not self.started:
            self._greet()
        message = _read_message(self._answers) if self.started else None
        if message is None:
            raise WorkerDiedError(self._trouble or self._describe_end())
        return pickle.loads(message)

    def _greet(self) -> None:
        """Wait for the worker's first message, by which `started` becomes true, or keep why it could not start."""
        greeting = _read_up_to(self._answers, len(STARTED))
        self.started = greeting == STARTED
        if not self.started and greeting:
            lines = (greeting + self._answers.read()).decode(errors="replace").strip().splitlines()
            self._trouble = f"cannot start: {printable(lines[-1], LONGEST_TROUBLE)}"

    def doubt(self) -> None:
        """Do nothing: its pipes tell when it is gone."""

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def end(self) -> None:
        """Kill the process, whatever it does, and wait until it has ended, for at most 5 s."""
        self.close_pipes()
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(SECONDS_TO_END)

    def close_pipes(self) -> None:
        """Close both pipes, at which the worker ends by itself, also in the midst of a job."""
        for pipe in (self._calls, self._answers):
            with suppress(OSError):
                pipe.close()

    def _describe_end(self) -> str:
        """Wait, for at most 5 s, until the process has ended; return how it ended, such as "ended by SIGKILL".

        If it has not ended, that is "closed its pipe".
        """
        try:
            code = self._process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            return "closed its pipe"
        return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


_all: WeakSet[Worker] = WeakSet()
_idle: list[Worker] = []
_retiring = threading.Lock()
_timer: threading.Timer | None = None


def hire(count: int) -> list[Worker]:
    """Return `count` workers, idle ones first and then new ones; fewer if the machine starts no more.

    Raises OSError if there would be none. Idle workers are taken if they have the surroundings that this process has
    now; those that have died are not.
    """
    surroundings, team = _surroundings(), list[Worker]()
    with _retiring:
        for worker in [worker for worker in _idle if worker.surroundings == surroundings][:count]:
            _idle.remove(worker)
            team.append(worker)
    dead = [worker for worker in team if not worker.alive]
    for worker in dead:
        team.remove(worker)
        worker.end()
    while len(team) < count:
        try:
            team.append(Worker(surroundings))
        except OSError:
            if not team:
                raise
            break
    return team


def wait_for_answers(workers: Sequence[Worker], seconds: float) -> list[Worker]:
    """Return the workers that have an answer or are gone, as soon as there are any, after `seconds` at the latest.

    The list may be empty.
    """
    with selectors.DefaultSelector() as ready:
        for worker in workers:
            ready.register(worker, selectors.EVENT_READ, worker)
        return [key.data for key, _ in ready.select(seconds) if key.data.has_answer()]


def dismiss(workers: Sequence[Worker], busy: Sequence[Worker]) -> None:
    """End those of `workers` that are `busy` or have died; let the others idle for a while, for a next call."""
    for worker in workers:
        if worker in busy or not worker.alive:
            worker.end()
        else:
            worker.idle_since = time.monotonic()
            with _retiring:
                _idle.append(worker)
    with _retiring:
        _retire_later()


@final
class LocalPlace(Place):
    """This machine as the place of workers, with room for `capacity` of them.

    Where no process starts, the work goes on with those that there are, or in this process.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity, self._has_warned = capacity, False

    def hire(self, count: int) -> list[Worker]:
        """Return `count` workers, idle or new, or fewer if no more start; raise OSError if there are none."""
        return hire(count)

    def wait(self, workers: Sequence[Worker], seconds: float) -> list[Worker]:
        """Return the workers that have an answer or are gone, as soon as there are any, after `seconds` at the latest.

        The list may be empty.
        """
        return wait_for_answers(workers, seconds)

    def dismiss(self, workers: Sequence[Worker], busy: Sequence[Worker]) -> None:
        """End those of `workers` that are `busy` or have died, and let the others idle for a next call."""
        dismiss(workers, busy)

    def note_no_starts(self, why: str, any_left: bool) -> None:
        """Warn, once, that no worker process starts, and why."""
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(f"no worker process starts: {why} (the work goes on with those there are)", stacklevel=2)


def are_idle() -> bool:
    """Whether there are worker processes of this machine that idle, and could begin at once."""
    return bool(_idle)


def _retire_later() -> None:
    """Start a timer that ends workers once they have been idle for long, unless none idle or a timer runs already.

    The caller holds the lock `_retiring`.
    """
    global _timer
    if _idle and _timer is None:
        _timer = threading.Timer(SECONDS_IDLE, _retire)
        _timer.name, _timer.daemon = "replnet idle workers", True
        try:
            _timer.start()
        except RuntimeError:  # the interpreter is about to end, and them with it
            _timer = None


def _retire() -> None:
    """End workers that have been idle for SECONDS_IDLE, and start the timer again if there are others."""
    global _timer
    with _retiring:
        _timer = None
        long_idle = [worker for worker in _idle if time.monotonic() - worker.idle_since >= SECONDS_IDLE]
        for worker in long_idle:
            _idle.remove(worker)
        _retire_later()
    for worker in long_idle:
        worker.end()


def _surroundings() -> Surroundings:
    """Return the interpreter, search path, working directory (empty if it is gone) and environment of this process."""
    try:
        folder = os.getcwd()
    except FileNotFoundError:  # it was removed; a worker begins there as well
        folder = ""
    path = tuple(entry or folder for entry in sys.path if isinstance(entry, str))
    return os.fsdecode(get_executable() or ""), path, folder, tuple(sorted(os.environ.items()))


@atexit.register
def _end_all() -> None:
    """Kill all workers of this process, idle or not, as it ends itself."""
    for worker in [*_all]:
        worker.end()


def _forget_all() -> None:
    """Forget all workers in a forked copy of this process: they and their pipes belong to the original."""
    global _timer, _retiring
    for worker in [*_all]:
        worker.close_pipes()
        worker._process.returncode = 0  # nor is it a child of this process, to be waited for
    _idle.clear()
    _all.clear()
    _timer, _retiring = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def _write_message(pipe: IO[bytes], message: bytes) -> None:
    """Write the length of a message, in 8 bytes, and then the message."""
    _write_all(pipe, LENGTH.pack(len(message)))
    _write_all(pipe, message)


def _write_all(pipe: IO[bytes], data: bytes) -> None:
    """Write all of `data`, however little the pipe takes at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[pipe.write(rest) :]


def _read_message(pipe: IO[bytes]) -> bytes | None:
    """Wait for the next message and return it; None at the end of the pipe, also within a message."""
    head = _read_exactly(pipe, LENGTH.size)
    return head and _read_exactly(pipe, LENGTH.unpack(head)[0])


def _read_exactly(pipe: IO[bytes], size: int) -> bytes | None:
    """Return `size` bytes, however few come at a time; None if the pipe ends before."""
    data = _read_up_to(pipe, size)
    return data if len(data) == size else None


def _read_up_to(pipe: IO[bytes], size: int) -> bytes:
    """Return `size` bytes, or fewer if the pipe ends before."""
    data = bytearray()
    while len(data) < size and (more := pipe.read(size - len(data))):
        data += more
    return bytes(data)


# ---- From the worker's side


def serve() -> None:
    """Do the calls that come in through standard input, and answer on standard output; end when no more can come.

    This is all that a worker process does. What jobs print is dropped, and the end of its input ends it within a job
    too.
    """
    _forget_signals_of_caller()
    calls, answers = os.fdopen(os.dup(0), "rb", buffering=0), os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # what jobs print is no answer
        os.dup2(nothing, standard)
    _write_all(answers, STARTED)
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        while (message := _read_message(calls)) is not None:
            waiting.put(message)
        os._exit(0)  # in the midst of a job, too: nobody waits for it

    threading.Thread(target=listen, daemon=True).start()
    while True:
        _write_message(answers, _answer(waiting.get()))


def _answer(message: bytes) -> bytes:
    """Return the result of the call in `message`, or its Failure, as bytes that can be unpickled."""
    try:
        return dumps(attempt(do_call, message))
    except CannotTravelError as error:
        return dumps(Failure(str(error)))


def do_call(message: bytes) -> Any:
    """Return work(job), where `message` is the pickle of (work, job)."""
    work, job = pickle.loads(message)
    return work(job)


def _forget_signals_of_caller() -> None:
    """Restore the default handling of signals, of which the caller may ignore or block some, and ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the caller to act on
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
