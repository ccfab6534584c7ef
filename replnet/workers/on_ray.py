"""Jobs done by Ray actors, one at a time each; `jobs` uses them where there is a cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, final

from replnet.deadline import require_time
from replnet.workers import processes
from replnet.workers.by_value import CannotTravelError, dumps
from replnet.workers.cluster_nodes import short_cause
from replnet.workers.jobs import ATTEMPTS, WAIT_SECONDS, Failure, JobQueue, PoolLost, Work, attempt
from replnet.workers.ray_cluster import cpus, free_cpus, join_cluster

START_SECONDS = 50.0  # for a worker to start and to get a CPU, so that an error comes within a minute
FETCH_SECONDS = 60.0  # to fetch a result that is ready


@final
class _Worker:
    """The object in a Ray actor that does jobs, one call after another."""

    def machine(self) -> str:
        """Return the id of the cluster's node on which the actor runs."""
        import ray

        name: str = ray.get_runtime_context().get_node_id()
        return name

    def do(self, call: bytes) -> Any:
        """Return the result of a call, or a Failure: a function and its argument, as `by_value.dumps` pickles both."""
        return attempt(processes.do_call, call)

    def warm(self, calls: Sequence[bytes]) -> None:
        """Do pickled calls for the sake of their compiled code, which stays on the machine; drop the results."""
        for call in calls:
            self.do(call)


@final
@dataclass(frozen=True)
class _Call:
    """A call that an actor is busy with since an instant of time.monotonic()."""

    actor: Any
    kind: str  # start, warm or work
    of: Any  # the machine of a call `warm`, the job of a call `work`
    since: float


@final
class _WorkerDiedError(Exception):
    """An error: a worker died; the text says how."""


@final
class _Team:
    """The Ray actors of a pool, `workers` of them, with one call each, so that a death is due to one job.

    They do work(job). `warm` are small jobs that one actor of each machine does before the others begin.
    """

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
        """Yield (index, result or Failure) of all jobs as they are done; `queue` has the indices of those that wait.

        Raises OutOfTime past a deadline, and PoolLost if no actor is left.
        """
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
        """Start an actor, whose first call asks for its machine."""
        actor = self._kind.remote()
        self._call(actor, "start", None, actor.machine.remote())

    def _call(self, actor: Any, kind: str, of: Any, ref: Any) -> None:
        """Keep in mind that an actor is busy with a call from now on, to which Ray gave the reference `ref`.

        `kind` is start, warm or work, and `of` the machine of a call `warm` and the job of a call `work`.
        """
        self._calls[ref] = _Call(actor, kind, of, time.monotonic())

    def _settle(self, ref: Any, call: _Call, queue: JobQueue) -> Iterator[tuple[int, Any]]:
        """Yield (job, its result or Failure) if a call that has ended did a job, and let its actor go on as it should.

        `ref` is Ray's reference of the call. If the worker died another is started, and only a job that has killed too
        many yields, a Failure.
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
        """Return the answer to a call that is ready, by its reference `ref`; raise _WorkerDiedError if its worker died.

        It is a Failure if the result cannot travel.
        """
        errors = self._ray.exceptions
        try:
            return self._ray.get(ref, timeout=FETCH_SECONDS)
        except errors.RayTaskError as error:  # `do` raises nothing, so its result cannot travel
            return Failure(str(error).strip().splitlines()[-1], str(error))
        except errors.RayError as error:
            raise _WorkerDiedError(short_cause(error)) from error

    def _welcome(self, actor: Any, machine: str) -> None:
        """Let an actor that has started on `machine` work, or warm that, or wait until another actor has done so."""
        if not self._warm or machine in self._warmed:
            self._idle.append(actor)
        elif machine in self._parked:
            self._parked[machine].append(actor)
        else:
            self._parked[machine] = []
            self._call(actor, "warm", machine, actor.warm.remote(self._warm))

    def _release_workers(self, machine: str) -> None:
        """Let the actors that wait for this machine to be warm begin."""
        self._warmed.add(machine)
        self._idle += self._parked.pop(machine)

    def _replace_dead(self, call: _Call, why: str, queue: JobQueue) -> Iterator[tuple[int, Any]]:
        """Start another actor for one that died during `call`; yield (job, Failure) if its job has killed too many.

        `why` says how it died. Actors that are idle are asked again whether they still live, before they get jobs.
        """
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
        """Do nothing if there are other actors; raise PoolLost, which says `why`, if none is left."""
        if not (self._calls or self._idle or any(self._parked.values())):
            raise PoolLost(f"no worker starts: {why}")

    def _give_up_late_starts(self) -> None:
        """End actors that did not start within START_SECONDS; raise PoolLost if none is left then."""
        now = time.monotonic()
        for ref, call in list(self._calls.items()):
            if call.kind == "start" and now - call.since > START_SECONDS:
                del self._calls[ref]
                self._ray.kill(call.actor, no_restart=True)
                self._carry_on_with_fewer(f"none answered within {START_SECONDS:g} s: each wants a CPU, {free_cpus()}")


def run_on_ray(
    work: Work, jobs: Sequence[Any], queue: JobQueue, workers: int | None, address: str | None, warm: Sequence[Any]
) -> Iterator[tuple[int, Any]]:
    """Yield (index, result or Failure) of every job, work(job), as actors of the cluster at `address` do them.

    `queue` has the indices of all jobs in order. There are so many `workers` (None: one per CPU), but no more than
    jobs, and one on each machine does the small jobs `warm` before the others begin.
    """
    with join_cluster(address):
        count = max(1, int(cpus())) if workers is None else workers
        with _team(work, min(count, len(jobs)), warm) as team:
            yield from team.results(jobs, queue)


@contextmanager
def _team(work: Work, workers: int, warm: Sequence[Any]) -> Iterator[_Team]:
    """Start so many actors that do work(job); yield the team, and end them with the block.

    One on each machine does the small jobs `warm` before the others begin.
    """
    team = _Team(work, workers, warm)
    try:
        yield team
    finally:
        team.kill()
