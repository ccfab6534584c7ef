"""The scheduler of jobs: which worker does which job, what becomes of one whose worker dies, and of no workers.

Workers are at a `Place`: processes of this machine (`processes`) or actors in a Ray cluster (`on_ray`). Each does one
call after another, so a death is due to the oldest call that it has not answered.
"""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, final

from replnet.deadline import require_time
from replnet.workers.by_value import CannotTravelError

Work: TypeAlias = Callable[[Any], Any]

ATTEMPTS = 3  # at a job, or at starting a worker
WAIT_SECONDS = 1.0  # of one wait; a job may take as long as it likes


@final
@dataclass(frozen=True)
class Failure:
    """The failure of a job, in the place of its result: the `reason` in a line, and the traceback (`trace`).

    The trace is empty if there is none, as where a worker died.
    """

    reason: str
    trace: str = ""


@final
class WorkerDiedError(Exception):
    """An error: a worker has ended; the text says how.

    If it cannot be replaced (`can_be_replaced`), no other would start in its place.
    """

    def __init__(self, how: str, can_be_replaced: bool = True) -> None:
        super().__init__(how)
        self.can_be_replaced = can_be_replaced


def attempt(work: Work, job: Any) -> Any:
    """Return the result of work(job), or a Failure if it raises an error or exits."""
    try:
        return work(job)
    except (Exception, SystemExit) as error:  # an exit would look like the death of a worker
        return Failure(f"{type(error).__name__}: {error}".rstrip(": "), traceback.format_exc())


class AnyWorker(Protocol):
    """A worker as the scheduler sees it: it does calls in order, and answers them in order.

    `started` is true once it has shown that it runs; a death before that is a failed start.
    """

    started: bool
    machine: str | None
    """The machine that it runs on; None if it gets no calls yet, as it is not known whether it lives."""

    def call(self, work: Work, job: Any) -> None:
        """Have it do work(job) after its earlier calls; raise CannotTravelError if that cannot be sent."""

    def answer(self) -> Any:
        """Return the answer to its oldest call, perhaps a Failure; raise WorkerDiedError if it is gone."""

    def doubt(self) -> None:
        """Find out whether it still lives before it gets another call; do nothing if its death would show by itself."""

    def end(self) -> None:
        """End it at once, also in the midst of a job."""


class Place(ABC):
    """The place of workers, which has room for `capacity` of them that work at the same time."""

    capacity: int

    @abstractmethod
    def hire(self, count: int) -> Sequence[Any]:
        """Return up to `count` workers, which may still be starting; an empty sequence if no more are to be started.

        Raises OSError if none can be.
        """

    @abstractmethod
    def wait(self, workers: Sequence[Any], seconds: float) -> Sequence[Any]:
        """Return those that have an answer or are gone, as soon as there are any, after `seconds` at the latest.

        The result may be empty.
        """

    @abstractmethod
    def dismiss(self, workers: Sequence[Any], busy: Sequence[Any]) -> None:
        """Let all of `workers` go; those of them that are `busy` are ended."""

    @abstractmethod
    def note_no_starts(self, why: str, any_left: bool) -> None:
        """Say that no more workers start, and `why`; raise an error if none are left and nobody else can work.

        `any_left` tells whether other workers are left.
        """


@final
class Team:
    """Up to `count` workers at a place that do work(job) for the `jobs` whose indices wait in `queue`.

    One worker of each machine does the small jobs `warm` before others begin there.
    """

    def __init__(
        self, place: Place, work: Work, jobs: Sequence[Any], queue: JobQueue, count: int, warm: Sequence[Any]
    ) -> None:
        self._place, self._work, self._jobs, self._queue, self._warm = place, work, jobs, queue, warm
        self._failed_starts = 0
        self._busy = dict[AnyWorker, deque[int | None]]()  # with their calls: jobs, or None for a warm-up
        self._warming = dict[str, AnyWorker | None]()  # by machine: who warms it, None once it is warm
        self._workers: list[AnyWorker] = self._hire(count)

    def results(self, work_here: bool) -> Iterator[tuple[int, Any]]:
        """Yield (index, result or Failure) of all jobs as they are done; raise OutOfTime past a deadline.

        This process works as well if `work_here`, or if there are no workers.
        """
        while self._queue.remaining or any(job is not None for calls in self._busy.values() for job in calls):
            require_time()
            # A process that works cannot see at once which worker is done, so each worker has one more call.
            yield from self._hand_out(2 if work_here else 1)
            works = not self._workers or (work_here and not any(self._warming.values()))
            job = self._queue.next_without_deaths() if works else None
            if job is not None:
                yield job, attempt(self._work, self._jobs[job])
            elif not self._workers and (job := self._queue.next()) is not None:
                yield job, Failure("a worker died of it, and no other starts")
            awaited = [worker for worker in self._workers if worker in self._busy or worker.machine is None]
            for worker in self._place.wait(awaited, WAIT_SECONDS if job is None else 0.0) if awaited else ():
                yield from self._settle(worker)

    def dismiss(self) -> None:
        """Let all workers go, and end those that have calls without an answer."""
        self._place.dismiss(self._workers, [*self._busy])

    def _hire(self, count: int) -> list[AnyWorker]:
        """Return `count` workers, or fewer if no more start; if none can, say so and return none."""
        try:
            return [*self._place.hire(count)]
        except OSError as error:
            self._failed_starts = ATTEMPTS
            self._place.note_no_starts(error.strerror or str(error), bool(self._busy))
            return []

    def _is_ready(self, worker: AnyWorker) -> bool:
        """Whether a worker can be given jobs. If it is the first one of its machine, let it warm that before."""
        machine = worker.machine
        if machine is None:
            return False
        if machine not in self._warming:
            self._warming[machine] = worker if self._warm else None
            for job in self._warm:
                self._busy.setdefault(worker, deque()).append(None)
                try:
                    worker.call(self._work, job)
                except CannotTravelError:  # the same error comes again with its first job
                    self._busy[worker].pop()
                    self._mark_idle(worker)
        return self._warming[machine] is None

    def _hand_out(self, most: int) -> Iterator[tuple[int, Any]]:
        """Give each worker up to `most` calls, a first one to all before the second.

        A job that cannot be sent is done here; it yields (index, result or Failure) of such jobs alone.
        """
        ready = [worker for worker in self._workers if self._is_ready(worker)]
        for calls in range(most):
            for worker in ready if self._queue.remaining > calls * len(ready) else ():
                while len(self._busy.get(worker, ())) <= calls and (job := self._queue.next()) is not None:
                    self._busy.setdefault(worker, deque()).append(job)
                    try:
                        worker.call(self._work, self._jobs[job])
                    except CannotTravelError:
                        self._busy[worker].pop()
                        self._mark_idle(worker)
                        yield job, attempt(self._work, self._jobs[job])

    def _settle(self, worker: AnyWorker) -> Iterator[tuple[int, Any]]:
        """Yield (index, result or Failure) of a worker's oldest job, unless its call was a warm-up.

        A worker that has died is replaced; that yields nothing, or a Failure if the job has killed three workers.
        """
        try:
            answer = worker.answer()
        except WorkerDiedError as death:
            yield from self._replace(worker, death)
            return
        self._failed_starts = 0
        job = self._busy[worker].popleft()
        self._mark_idle(worker)
        if job is not None:
            yield from self._hand_out(1)  # it works on while its answer is used
            yield job, answer

    def _mark_idle(self, worker: AnyWorker) -> None:
        """Count a worker as idle if it has no calls left, and its machine as warm if it did the warm-ups."""
        if not self._busy[worker]:
            del self._busy[worker]
            self._count_as_warm(worker)

    def _count_as_warm(self, worker: AnyWorker) -> None:
        """Count a machine as warm if it was this worker that warmed it."""
        for machine, warming in self._warming.items():
            if warming is worker:
                self._warming[machine] = None

    def _replace(self, worker: AnyWorker, death: WorkerDiedError) -> Iterator[tuple[int, Any]]:
        """Put the jobs of a dead worker back into the queue and hire another, unless three starts have failed in a row.

        If its first job has killed three workers, (index, Failure) of that is yielded.
        """
        worker.end()
        self._workers.remove(worker)
        self._count_as_warm(worker)  # that only saves time; if jobs die as well, they will say so
        calls = self._busy.pop(worker, deque())
        blamed = calls.popleft() if worker.started and calls else None
        self._queue.put_back([job for job in calls if job is not None])
        if not worker.started:
            self._failed_starts += death.can_be_replaced
        elif blamed is not None and (failure := self._queue.count_death(blamed, str(death))):
            yield blamed, failure
        for other in self._workers:  # its machine may be gone, and they with it: a job would seem to kill them all
            if other not in self._busy:
                other.doubt()
        if self._failed_starts < ATTEMPTS and death.can_be_replaced:
            self._workers += self._hire(1)
        if self._failed_starts >= ATTEMPTS or not self._workers:
            self._place.note_no_starts(str(death), bool(self._workers))


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
        """Put these jobs, by index, at the front of the queue, in their order."""
        self._waiting.extendleft(reversed(jobs))

    def count_death(self, job: int, why: str) -> Failure | None:
        """Count a worker that died of this job; return a Failure if it was the third, else put the job in front.

        `why` says how it died. It returns None if the job is to be done again.
        """
        self._deaths[job] = self._deaths.get(job, 0) + 1
        if self._deaths[job] >= ATTEMPTS:
            return Failure(f"{ATTEMPTS} workers died of it, the last so: {why}")
        self._waiting.appendleft(job)
        return None
