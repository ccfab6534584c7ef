"""Many independent jobs, here, in processes of this machine or on Ray workers: the same results, by their places.

A job is done once, or again if the worker that had it died. Nothing that a
worker knows, and no order, reaches a result: it is `work(job)` and nothing else.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, final

from replnet.deadline import require_time
from replnet.live import processes
from replnet.live.cluster_nodes import cause
from replnet.live.ray_cluster import cpus, free_cpus, joined

Work = Callable[[Any], Any]
"""A function of a module, which workers import by its name."""

ATTEMPTS = 3  # at a job, or at starting a worker
START = 50.0  # seconds for a worker to start, and to get a CPU: within a minute it is said what is missing
LOOK = 1.0  # seconds of one wait; a job may take as long as it likes
FETCH = 60.0  # seconds to get a result that is there


@final
@dataclass(frozen=True)
class Failure:
    """In the place of a result."""

    reason: str
    trace: str = ""


class PoolLost(RuntimeError):  # noqa: N818
    """No worker starts any more."""


def run(
    work: Work,
    jobs: Sequence[Any],
    sizes: Sequence[float],
    workers: int | None = 0,
    address: str | None = None,
    warm: Sequence[Any] = (),
    here: bool = False,
) -> Generator[tuple[int, Any], None, None]:
    """(place, result or Failure) of every job as it is done, the largest first.

    With `workers` of 0 or 1 in this process; otherwise one job at a time in each of so many processes of this
    machine, or of one per CPU if None. Where a Ray cluster is meant, by `address` or RAY_ADDRESS, or as this
    process has joined one, so many actors there. `warm` are small jobs, whose results nobody sees: one worker
    of each machine does them before the others begin. What they compile lands in Numba's cache, which is safe
    to read together but, for different signatures of one function, not to fill together. Of many short jobs
    this process does some itself, if it may: `here`.

    Past a deadline it ends with what is done. Close the generator (contextlib.closing) where it may be left early:
    that ends the workers.
    """
    order = sorted(range(len(jobs)), key=lambda i: (-sizes[i], i))
    if workers == 0 or not jobs or ((cores() if workers is None else workers) == 1 and not on_ray(address)):
        for i in order:
            require_time()
            yield i, attempt(work, jobs[i])
        return
    if not on_ray(address):
        count = cores() if workers is None else workers
        yield from _by_processes(work, jobs, Duties(order), min(count, len(jobs)) - here, warm, here)
        return
    with joined(address):
        count = max(1, int(cpus())) if workers is None else workers
        with _team(work, min(count, len(jobs)), warm) as team:
            yield from team.results(jobs, Duties(order))


def cores() -> int:
    """The CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def soon(address: str | None) -> bool:
    """Whether workers begin at once."""
    return not on_ray(address) and processes.soon()


def on_ray(address: str | None) -> bool:
    """Whether a Ray cluster is meant."""
    if address or os.environ.get("RAY_ADDRESS"):
        return True
    return "ray" in sys.modules and bool(sys.modules["ray"].is_initialized())


def _by_processes(
    work: Work, jobs: Sequence[Any], duties: Duties, count: int, warm: Sequence[Any], here: bool
) -> Iterator[tuple[int, Any]]:
    """On this machine; whoever dies is replaced."""
    team, busy = processes.hired(count), dict[processes.Worker, deque[int]]()
    try:
        for job in warm:
            team[0].call(work, job)
            with suppress(processes.Died):  # which is seen again where it has work
                team[0].answer()
        while duties.left or busy:
            require_time()
            for turn in range(1 + here):  # who works as well cannot tell at once who is done, so each has one more
                for worker in team if duties.left > turn * len(team) else ():
                    if len(busy.get(worker, ())) <= turn and (job := duties.next()) is not None:
                        busy.setdefault(worker, deque()).append(job)
                        worker.call(work, jobs[job])
            if here and (job := duties.next()) is not None:
                yield job, attempt(work, jobs[job])
            for worker in processes.wait([*busy], 0.0 if here and duties.left else LOOK):
                try:
                    answer = worker.answer()
                except processes.Died as death:
                    worker.end()
                    team[team.index(worker)] = processes.Worker()
                    at_it, *others = busy.pop(worker)
                    duties.again(others)
                    if failure := duties.died(at_it, str(death)):
                        yield at_it, failure
                    continue
                yield busy[worker].popleft(), answer
                if not busy[worker]:
                    del busy[worker]
    finally:
        processes.dismiss(team, [*busy])


def attempt(work: Work, job: Any) -> Any:
    """The result, or how it failed."""
    try:
        return work(job)
    except (Exception, SystemExit) as error:  # an exit would look like the death of a worker
        return Failure(f"{type(error).__name__}: {error}".rstrip(": "), traceback.format_exc())


@final
class Duties:
    """Which job is next, and what becomes of one whose worker died."""

    def __init__(self, order: Sequence[int]) -> None:
        self._waiting = deque(order)
        self._deaths: dict[int, int] = {}

    @property
    def left(self) -> int:
        return len(self._waiting)

    def next(self) -> int | None:
        return self._waiting.popleft() if self._waiting else None

    def again(self, jobs: Sequence[int]) -> None:
        """These come next."""
        self._waiting.extendleft(reversed(jobs))

    def died(self, job: int, why: str) -> Failure | None:
        """None if the job is to be done again, which is then next."""
        self._deaths[job] = self._deaths.get(job, 0) + 1
        if self._deaths[job] >= ATTEMPTS:
            return Failure(f"{ATTEMPTS} workers died of it, the last so: {why}")
        self._waiting.appendleft(job)
        return None


@final
class _Worker:
    """What runs in an actor."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def machine(self) -> str:
        import ray

        name: str = ray.get_runtime_context().get_node_id()
        return name

    def do(self, job: Any) -> Any:
        return attempt(self._work, job)

    def warm(self, jobs: Sequence[Any]) -> None:
        for job in jobs:
            self.do(job)


@final
@dataclass(frozen=True)
class _Call:
    """What a worker is busy with."""

    actor: Any
    kind: str  # start, warm or work
    of: Any  # the machine that is warmed, the job that is done
    since: float


@final
class _Died(Exception):  # noqa: N818
    """Says how."""


@final
class _Team:
    """Actors of this pool, one call at a time in each, so that a death is one job's and no other's."""

    def __init__(self, work: Work, workers: int, warm: Sequence[Any]) -> None:
        import ray

        self._ray = ray
        # A CPU each: a node that is to be left alone has none, and what makes a cluster larger sees what is wanted.
        kind: Any = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD")(_Worker)
        self._kind = kind.options(runtime_env={"env_vars": {"OMP_NUM_THREADS": "1"}})
        self._work, self._warm = work, list(warm)
        self._calls: dict[Any, _Call] = {}
        self._idle: list[Any] = []
        self._parked: dict[str, list[Any]] = {}  # by machine, until it is warm
        self._warmed: set[str] = set()
        self._failed_starts = 0
        for _ in range(workers):
            self._start()

    def results(self, jobs: Sequence[Any], duties: Duties) -> Iterator[tuple[int, Any]]:
        while duties.left or any(call.kind == "work" for call in self._calls.values()):
            while self._idle and (job := duties.next()) is not None:
                actor = self._idle.pop()
                self._call(actor, "work", job, actor.do.remote(jobs[job]))
            require_time()
            ready, _ = self._ray.wait(list(self._calls), num_returns=1, timeout=LOOK)
            for ref in ready:
                yield from self._settle(ref, self._calls.pop(ref), duties)
            self._give_up_late_starts()

    def kill(self) -> None:
        parked = [actor for actors in self._parked.values() for actor in actors]
        for actor in [*(call.actor for call in self._calls.values()), *self._idle, *parked]:
            self._ray.kill(actor, no_restart=True)

    def _start(self) -> None:
        actor = self._kind.remote(self._work)
        self._call(actor, "start", None, actor.machine.remote())

    def _call(self, actor: Any, kind: str, of: Any, ref: Any) -> None:
        self._calls[ref] = _Call(actor, kind, of, time.monotonic())

    def _settle(self, ref: Any, call: _Call, duties: Duties) -> Iterator[tuple[int, Any]]:
        try:
            answer = self._answer(ref)
        except _Died as death:
            yield from self._bury(call, str(death), duties)
            return
        if call.kind == "work":
            self._idle.append(call.actor)
            yield call.of, answer
        elif call.kind == "warm":
            self._open(call.of)
            self._idle.append(call.actor)
        else:
            self._failed_starts = 0
            self._admit(call.actor, answer)

    def _answer(self, ref: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(ref, timeout=FETCH)
        except errors.RayTaskError as error:  # `do` raises nothing, so its result cannot travel
            return Failure(str(error).strip().splitlines()[-1], str(error))
        except errors.RayError as error:
            raise _Died(cause(error)) from error

    def _admit(self, actor: Any, machine: str) -> None:
        """A worker that has started, to work or to wait until its machine is warm."""
        if not self._warm or machine in self._warmed:
            self._idle.append(actor)
        elif machine in self._parked:
            self._parked[machine].append(actor)
        else:
            self._parked[machine] = []
            self._call(actor, "warm", machine, actor.warm.remote(self._warm))

    def _open(self, machine: str) -> None:
        self._warmed.add(machine)
        self._idle += self._parked.pop(machine)

    def _bury(self, call: _Call, why: str, duties: Duties) -> Iterator[tuple[int, Any]]:
        self._ray.kill(call.actor, no_restart=True)
        # Its node may be gone, and idle workers with it: a job that they get would seem to kill one after another.
        for actor in self._idle:
            self._call(actor, "start", None, actor.machine.remote())
        self._idle = []
        if call.kind == "start":
            self._failed_starts += 1
            if self._failed_starts >= ATTEMPTS:
                self._carry_on_with_fewer(why)
                return
        elif call.kind == "warm":  # it only saves time; if jobs die as well, they will say so
            self._open(call.of)
        elif failure := duties.died(call.of, why):
            yield call.of, failure
        self._start()

    def _carry_on_with_fewer(self, why: str) -> None:
        if not (self._calls or self._idle or any(self._parked.values())):
            raise PoolLost(f"no worker starts: {why}")

    def _give_up_late_starts(self) -> None:
        now = time.monotonic()
        for ref, call in list(self._calls.items()):
            if call.kind == "start" and now - call.since > START:
                del self._calls[ref]
                self._ray.kill(call.actor, no_restart=True)
                self._carry_on_with_fewer(f"none answered within {START:g} s: each wants a CPU, {free_cpus()}")


@contextmanager
def _team(work: Work, workers: int, warm: Sequence[Any]) -> Iterator[_Team]:
    team = _Team(work, workers, warm)
    try:
        yield team
    finally:
        team.kill()
