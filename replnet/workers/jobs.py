"""Many independent jobs, done in this process, in processes of this machine or on Ray workers, with equal results.

A job is done once, or again if its worker died. A result is `work(job)` and
nothing else: it depends neither on a worker nor on the order of jobs.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, final

from replnet.deadline import require_time
from replnet.workers import processes
from replnet.workers.by_value import CannotTravelError

Work = Callable[[Any], Any]

ATTEMPTS = 3  # at a job, or at starting a worker
WAIT_SECONDS = 1.0  # of one wait; a job may take as long as it likes


@final
@dataclass(frozen=True)
class Failure:
    """The failure of a job, in the place of its result: why in a line, and the traceback if there is one."""

    reason: str
    trace: str = ""


class PoolLost(RuntimeError):  # noqa: N818
    """An error: no worker of the pool is left, and none starts."""


def run(
    work: Work,
    jobs: Sequence[Any],
    sizes: Sequence[float],
    workers: int | None = 0,
    address: str | None = None,
    warm: Sequence[Any] = (),
    here: bool = False,
) -> Generator[tuple[int, Any], None, None]:
    """Yield (index, result or Failure) of every job when work(job) is done; the largest by `sizes` begin first.

    With `workers` of 0, or of 1 without Ray, all are done in this process; otherwise one at a time in each of so many
    processes of this machine (None: one per CPU). With `address`, RAY_ADDRESS, or if this process has joined a Ray
    cluster, the workers are actors there. `warm` are small jobs without results: one worker of each machine does them
    before the others begin, to fill Numba's cache, which several may read at once but not fill. With `here` this
    process does jobs as well, which pays if they are many and short.

    Past a deadline it raises OutOfTime, and PoolLost if no Ray actor starts. Close the generator (contextlib.closing)
    where it may be left early: that ends the workers.
    """
    order = sorted(range(len(jobs)), key=lambda i: (-sizes[i], i))
    if workers == 0 or not jobs or ((cores() if workers is None else workers) == 1 and not on_ray(address)):
        for i in order:
            require_time()
            yield i, attempt(work, jobs[i])
        return
    if not on_ray(address):
        count = cores() if workers is None else workers
        local = _LocalTeam(work, jobs, JobQueue(order), min(count, len(jobs)) - here)
        try:
            local.warm(warm)
            yield from local.results(here)
        finally:
            local.dismiss()
        return
    from replnet.workers.on_ray import run_on_ray

    yield from run_on_ray(work, jobs, JobQueue(order), workers, address, warm)


def cores() -> int:
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def are_idle(address: str | None) -> bool:
    """Whether there are idle workers on this machine that could begin at once.

    There are none if work goes to Ray: by an `address`, or RAY_ADDRESS, or as this process has joined a cluster.
    """
    return not on_ray(address) and processes.are_idle()


def on_ray(address: str | None) -> bool:
    """Whether work goes to a Ray cluster: by the address, the environment, or as this process has joined one."""
    if address or os.environ.get("RAY_ADDRESS"):
        return True
    ray = sys.modules.get("ray")
    return ray is not None and bool(ray.is_initialized())


@final
class _LocalTeam:
    """Worker processes of this machine, `count` of them, with one or two calls each; those that die are replaced.

    They do work(job) for the `jobs` whose indices wait in `queue`.
    """

    def __init__(self, work: Work, jobs: Sequence[Any], queue: JobQueue, count: int) -> None:
        self._work, self._jobs, self._queue = work, jobs, queue
        self._failed_starts = 0
        self._workers = self._hire(count)
        self._busy = dict[processes.Worker, deque[int]]()

    def warm(self, jobs: Sequence[Any]) -> None:
        """Have the first worker do these small jobs, so that it fills the cache of compiled code before others would.

        Their results are dropped; if the worker dies it is found out with its first real job.
        """
        for worker in self._workers[:1] if jobs else ():
            self._busy[worker] = deque()
            with suppress(
                processes.WorkerDiedError, CannotTravelError
            ):  # the same error comes again with its first job
                for job in jobs:
                    worker.call(self._work, job)
                    worker.answer()
            del self._busy[worker]

    def results(self, work_here: bool) -> Iterator[tuple[int, Any]]:
        """Yield (index, result or Failure) of all jobs as they are done; raise OutOfTime past a deadline.

        This process works as well if `work_here`, or if no worker starts.
        """
        while self._queue.remaining or self._busy:
            require_time()
            # A process that works cannot see at once which worker is done, so each worker has one more call.
            yield from self._hand_out(2 if work_here else 1)
            job = self._queue.next_without_deaths() if work_here or not self._workers else None
            if job is not None:
                yield job, attempt(self._work, self._jobs[job])
            elif not self._workers and (job := self._queue.next()) is not None:
                yield job, Failure("a worker died of it, and no other starts")
            for worker in processes.wait_for_answers([*self._busy], WAIT_SECONDS if job is None else 0.0):
                yield from self._settle(worker)

    def dismiss(self) -> None:
        """Let idle workers stay for the next call, and end the others."""
        processes.dismiss(self._workers, [*self._busy])

    def _hire(self, count: int) -> list[processes.Worker]:
        """Return `count` workers, or fewer if no more start; warn and return none if no process starts."""
        try:
            return processes.hire(count)
        except OSError as error:
            self._failed_starts = ATTEMPTS
            self._warn(error.strerror or str(error))
            return []

    def _hand_out(self, most: int) -> Iterator[tuple[int, Any]]:
        """Give each worker up to `most` calls, a first one to all before the second.

        A job that cannot be sent is done here; it yields (index, result or Failure) of such jobs alone.
        """
        for calls in range(most):
            for worker in self._workers if self._queue.remaining > calls * len(self._workers) else ():
                if len(self._busy.get(worker, ())) <= calls and (job := self._queue.next()) is not None:
                    self._busy.setdefault(worker, deque()).append(job)
                    try:
                        worker.call(self._work, self._jobs[job])
                    except CannotTravelError:
                        self._busy[worker].pop()
                        self._mark_idle(worker)
                        yield job, attempt(self._work, self._jobs[job])

    def _settle(self, worker: processes.Worker) -> Iterator[tuple[int, Any]]:
        """Yield (index, result or Failure) of a worker's oldest job, for which it waits.

        A worker that has died is replaced; that yields nothing, or a Failure if the job has killed too many.
        """
        try:
            answer = worker.answer()
        except processes.WorkerDiedError as death:
            yield from self._replace(worker, str(death))
        else:
            job = self._busy[worker].popleft()
            self._mark_idle(worker)
            yield job, answer

    def _mark_idle(self, worker: processes.Worker) -> None:
        """Count a worker as idle if it has no calls left."""
        if not self._busy[worker]:
            del self._busy[worker]

    def _replace(self, worker: processes.Worker, why: str) -> Iterator[tuple[int, Any]]:
        """Put the jobs of a dead worker back into the queue and hire another, unless too many starts have failed.

        `why` says how it died. If its first job has killed too many workers, (index, Failure) of that is yielded.
        """
        worker.end()
        self._workers.remove(worker)
        first, *others = self._busy.pop(worker)
        self._queue.put_back(others)
        if not worker.started:
            self._queue.put_back([first])
            self._failed_starts += 1
            if self._failed_starts == ATTEMPTS:
                self._warn(why)
        elif failure := self._queue.count_death(first, why):
            yield first, failure
        if self._failed_starts < ATTEMPTS:
            self._workers += self._hire(1)

    def _warn(self, why: str) -> None:
        """Warn that no worker process starts, and why."""
        warnings.warn(f"no worker process starts: {why} (the work goes on with those there are)", stacklevel=2)


def attempt(work: Work, job: Any) -> Any:
    """Return the result of work(job), or a Failure if it raises an error or exits."""
    try:
        return work(job)
    except (Exception, SystemExit) as error:  # an exit would look like the death of a worker
        return Failure(f"{type(error).__name__}: {error}".rstrip(": "), traceback.format_exc())


@final
class JobQueue:
    """The jobs that wait for a worker, by index, and how many workers have died of each.

    `order` has all jobs, the first ones first.
    """

    def __init__(self, order: Sequence[int]) -> None:
        self._waiting = deque(order)
        self._deaths: dict[int, int] = {}

    @property
    def remaining(self) -> int:
        """The number of waiting jobs."""
        return len(self._waiting)

    def next(self) -> int | None:
        """Remove the next job and return it; None if there is none."""
        return self._waiting.popleft() if self._waiting else None

    def next_without_deaths(self) -> int | None:
        """Remove and return the next job of which no worker has died; None if there is none."""
        job = next((job for job in self._waiting if job not in self._deaths), None)
        if job is not None:
            self._waiting.remove(job)
        return job

    def put_back(self, jobs: Sequence[int]) -> None:
        """Put these jobs at the front of the queue, in their order."""
        self._waiting.extendleft(reversed(jobs))

    def count_death(self, job: int, why: str) -> Failure | None:
        """Count a worker that died of this job; return a Failure if it was one too many, else put the job in front.

        `why` says how it died. It returns None if the job is to be done again.
        """
        self._deaths[job] = self._deaths.get(job, 0) + 1
        if self._deaths[job] >= ATTEMPTS:
            return Failure(f"{ATTEMPTS} workers died of it, the last so: {why}")
        self._waiting.appendleft(job)
        return None
