"""Many independent jobs, done in this process, in processes of this machine or on Ray workers, with equal results.

A job is done once, or again if its worker died. A result is `work(job)` and
nothing else: it depends neither on a worker nor on the order of jobs.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, final

from replnet.deadline import require_time
from replnet.live import processes
from replnet.live.by_value import CannotTravelError, dumps
from replnet.live.cluster_nodes import short_cause
from replnet.live.ray_cluster import cpus, free_cpus, join_cluster

Work = Callable[[Any], Any]

ATTEMPTS = 3  # at a job, or at starting a worker
START_SECONDS = 50.0  # for a worker to start and to get a CPU, so that an error comes within a minute
WAIT_SECONDS = 1.0  # of one wait; a job may take as long as it likes
FETCH_SECONDS = 60.0  # to fetch a result that is ready


@final
@dataclass(frozen=True)
class Failure:
    """The failure of a job, in the place of its result."""

    reason: str
    trace: str = ""


class PoolLost(RuntimeError):  # noqa: N818
    """An error: there are no workers, and none starts."""


def run(
    work: Work,
    jobs: Sequence[Any],
    sizes: Sequence[float],
    workers: int | None = 0,
    address: str | None = None,
    warm: Sequence[Any] = (),
    here: bool = False,
) -> Generator[tuple[int, Any], None, None]:
    """Yield (index, result or Failure) of every job when it is done; jobs with the largest `sizes` begin first.

    With `workers` of 0 or 1 all are done in this process; otherwise one at a time in each of so many processes
    of this machine (None: one per CPU). With `address`, RAY_ADDRESS, or if this process has joined a Ray
    cluster, the workers are actors there. `warm` are small jobs without results: one worker of each machine
    does them before the others begin, to fill Numba's cache, which several may read at once but not fill. With
    `here` this process does jobs as well, which pays if they are many and short.

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
        local = _LocalTeam(work, jobs, JobQueue(order), min(count, len(jobs)) - here)
        try:
            local.warm(warm)
            yield from local.results(here)
        finally:
            local.dismiss()
        return
    with join_cluster(address):
        count = max(1, int(cpus())) if workers is None else workers
        with _team(work, min(count, len(jobs)), warm) as team:
            yield from team.results(jobs, JobQueue(order))


def cores() -> int:
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def are_idle(address: str | None) -> bool:
    """Whether there are idle workers on this machine that could begin at once."""
    return not on_ray(address) and processes.are_idle()


def on_ray(address: str | None) -> bool:
    """Whether work goes to a Ray cluster: by the address, the environment, or as this process has joined one."""
    if address or os.environ.get("RAY_ADDRESS"):
        return True
    ray = sys.modules.get("ray")
    return ray is not None and bool(ray.is_initialized())


@final
class _LocalTeam:
    """Worker processes of this machine, with one or two calls each; those that die are replaced."""

    def __init__(self, work: Work, jobs: Sequence[Any], queue: JobQueue, count: int) -> None:
        self._work, self._jobs, self._queue = work, jobs, queue
        self._failed_starts = 0
        self._workers = self._hire(count)
        self._busy = dict[processes.Worker, deque[int]]()

    def warm(self, jobs: Sequence[Any]) -> None:
        """Have the first worker do small jobs, before others would fill the cache at the same time."""
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
        """Yield results as they come; this process works as well if `work_here`, or if no worker starts."""
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
        """Return new workers; warn and return none if no process starts."""
        try:
            return processes.hire(count)
        except OSError as error:
            self._failed_starts = ATTEMPTS
            self._warn(error.strerror or str(error))
            return []

    def _hand_out(self, most: int) -> Iterator[tuple[int, Any]]:
        """Give each worker up to `most` calls, a first one to all before the second; do what cannot be sent, and yield
        it.
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
        """Yield the answer of a worker that has one; replace a worker that has died."""
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
        """Put the jobs of a dead worker back and hire another; yield a failure if a job has killed too many."""
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
        """Warn that no worker process starts."""
        warnings.warn(f"no worker process starts: {why} (the work goes on with those there are)", stacklevel=2)


def attempt(work: Work, job: Any) -> Any:
    """Return the result of work(job), or a Failure."""
    try:
        return work(job)
    except (Exception, SystemExit) as error:  # an exit would look like the death of a worker
        return Failure(f"{type(error).__name__}: {error}".rstrip(": "), traceback.format_exc())


@final
class JobQueue:
    """The jobs that wait for a worker, and how many workers have died of each."""

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
        """Put these jobs at the front of the queue."""
        self._waiting.extendleft(reversed(jobs))

    def count_death(self, job: int, why: str) -> Failure | None:
        """Note that a worker died of this job; return a Failure if it was one too many, else put the job in front."""
        self._deaths[job] = self._deaths.get(job, 0) + 1
        if self._deaths[job] >= ATTEMPTS:
            return Failure(f"{ATTEMPTS} workers died of it, the last so: {why}")
        self._waiting.appendleft(job)
        return None


@final
class _Worker:
    """The worker in a Ray actor."""

    def machine(self) -> str:
        """Return the id of the node of the cluster."""
        import ray

        name: str = ray.get_runtime_context().get_node_id()
        return name

    def do(self, call: bytes) -> Any:
        """Do a call, which is a function and its argument as `by_value.dumps` pickles them."""
        return attempt(processes.do_call, call)

    def warm(self, calls: Sequence[bytes]) -> None:
        """Do calls for their compiled code alone."""
        for call in calls:
            self.do(call)


@final
@dataclass(frozen=True)
class _Call:
    """A call that a worker is busy with."""

    actor: Any
    kind: str  # start, warm or work
    of: Any  # the machine of a call `warm`, the job of a call `work`
    since: float


@final
class _WorkerDiedError(Exception):
    """An error: a worker died; the text says how."""


@final
class _Team:
    """The Ray actors of a pool, with one call each, so that a death is due to one job."""

    def __init__(self, work: Work, workers: int, warm: Sequence[Any]) -> None:
        import ray

        self._ray = ray
        # A CPU each: nodes that are to get no jobs have none, and an autoscaler sees how many are wanted.
        kind: Any = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD")(_Worker)
        self._kind = kind.options(runtime_env={"env_vars": {"OMP_NUM_THREADS": "1"}})
        self._work, self._warm = work, list[bytes]()
        with suppress(CannotTravelError):
            self._warm = [dumps((work, job)) for job in warm]
        self._calls: dict[Any, _Call] = {}
        self._idle: list[Any] = []
        self._parked: dict[str, list[Any]] = {}  # by machine, until it is warm
        self._warmed: set[str] = set()
        self._failed_starts = 0
        for _ in range(workers):
            self._start()

    def results(self, jobs: Sequence[Any], queue: JobQueue) -> Iterator[tuple[int, Any]]:
        """Yield the results of all jobs as they come."""
        while queue.remaining or any(call.kind == "work" for call in self._calls.values()):
            while self._idle and (job := queue.next()) is not None:
                try:
                    message = dumps((self._work, jobs[job]))
                except CannotTravelError:
                    yield job, attempt(self._work, jobs[job])
                    continue
                actor = self._idle.pop()
                self._call(actor, "work", job, actor.do.remote(message))
            require_time()
            ready, _ = self._ray.wait(list(self._calls), num_returns=1, timeout=WAIT_SECONDS)
            for ref in ready:
                yield from self._settle(ref, self._calls.pop(ref), queue)
            self._give_up_late_starts()

    def kill(self) -> None:
        """End all actors."""
        parked = [actor for actors in self._parked.values() for actor in actors]
        for actor in [*(call.actor for call in self._calls.values()), *self._idle, *parked]:
            self._ray.kill(actor, no_restart=True)

    def _start(self) -> None:
        """Start an actor, whose first call tells its machine."""
        actor = self._kind.remote()
        self._call(actor, "start", None, actor.machine.remote())

    def _call(self, actor: Any, kind: str, of: Any, ref: Any) -> None:
        """Note a call that an actor is busy with."""
        self._calls[ref] = _Call(actor, kind, of, time.monotonic())

    def _settle(self, ref: Any, call: _Call, queue: JobQueue) -> Iterator[tuple[int, Any]]:
        """Handle the end of a call: yield a job and its result, and give the actor something to do or let it wait.

        If its worker died another is started, and a job that has killed too many gets a Failure.
        """
        try:
            answer = self._answer(ref)
        except _WorkerDiedError as death:
            yield from self._replace_dead(call, str(death), queue)
            return
        if call.kind == "work":
            self._idle.append(call.actor)
            yield call.of, answer
        elif call.kind == "warm":
            self._release_workers(call.of)
            self._idle.append(call.actor)
        else:
            self._failed_starts = 0
            self._welcome(call.actor, answer)

    def _answer(self, ref: Any) -> Any:
        """Return the answer to a call that is ready; raise _WorkerDiedError if its worker died."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(ref, timeout=FETCH_SECONDS)
        except errors.RayTaskError as error:  # `do` raises nothing, so its result cannot travel
            return Failure(str(error).strip().splitlines()[-1], str(error))
        except errors.RayError as error:
            raise _WorkerDiedError(short_cause(error)) from error

    def _welcome(self, actor: Any, machine: str) -> None:
        """Let a worker that has started work, or warm its machine, or wait until another has done so."""
        if not self._warm or machine in self._warmed:
            self._idle.append(actor)
        elif machine in self._parked:
            self._parked[machine].append(actor)
        else:
            self._parked[machine] = []
            self._call(actor, "warm", machine, actor.warm.remote(self._warm))

    def _release_workers(self, machine: str) -> None:
        """Let the workers of a machine that is warm begin."""
        self._warmed.add(machine)
        self._idle += self._parked.pop(machine)

    def _replace_dead(self, call: _Call, why: str, queue: JobQueue) -> Iterator[tuple[int, Any]]:
        """Start another actor for one that died; yield a failure if its job has killed too many."""
        self._ray.kill(call.actor, no_restart=True)
        # Its node may be gone, and idle workers with it: a job would seem to kill one of these after another.
        for actor in self._idle:
            self._call(actor, "start", None, actor.machine.remote())
        self._idle = []
        if call.kind == "start":
            self._failed_starts += 1
            if self._failed_starts >= ATTEMPTS:
                self._carry_on_with_fewer(why)
                return
        elif call.kind == "warm":  # it only saves time; if jobs die as well, they will say so
            self._release_workers(call.of)
        elif failure := queue.count_death(call.of, why):
            yield call.of, failure
        self._start()

    def _carry_on_with_fewer(self, why: str) -> None:
        """Raise PoolLost if no worker is left."""
        if not (self._calls or self._idle or any(self._parked.values())):
            raise PoolLost(f"no worker starts: {why}")

    def _give_up_late_starts(self) -> None:
        """End actors that did not start in time."""
        now = time.monotonic()
        for ref, call in list(self._calls.items()):
            if call.kind == "start" and now - call.since > START_SECONDS:
                del self._calls[ref]
                self._ray.kill(call.actor, no_restart=True)
                self._carry_on_with_fewer(f"none answered within {START_SECONDS:g} s: each wants a CPU, {free_cpus()}")


@contextmanager
def _team(work: Work, workers: int, warm: Sequence[Any]) -> Iterator[_Team]:
    """Start a team of actors, which ends with the block."""
    team = _Team(work, workers, warm)
    try:
        yield team
    finally:
        team.kill()
