"""Ray actors as workers of the scheduler, where there is a cluster."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, final

from replnet.workers import processes
from replnet.workers.by_value import dumps
from replnet.workers.cluster_nodes import RayUnreachableError, short_cause
from replnet.workers.ray_cluster import cpus, free_cpus, join_cluster
from replnet.workers.scheduler import Failure, Place, Work, WorkerDiedError, attempt

START_SECONDS = 50.0  # for a worker to start and to get a CPU, so that an error comes within a minute
FETCH_SECONDS = 60.0  # to fetch a result that is ready


@final
class JobActor:
    """The object in a Ray actor that does jobs, one call after another."""

    def machine(self) -> str:
        """Return the id of the cluster's node on which the actor runs."""
        import ray

        name: str = ray.get_runtime_context().get_node_id()
        return name

    def do(self, call: bytes) -> Any:
        """Return the result of a call, or a Failure: a function and its argument, as `by_value.dumps` pickles both."""
        return attempt(processes.do_call, call)


@final
class RayWorker:
    """A worker in a Ray actor, from its caller's side; the actor starts by itself, and is asked for its machine first.

    `started` says that it has answered, `machine` is the id of its node, None until then, and `gone` the error that
    says why it does not start, None if it may.
    """

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor
        self._answers = deque[Any]()  # Ray's references of the answers that have not been taken
        self.gone: WorkerDiedError | None = None
        self._ask_for_machine()

    def _ask_for_machine(self) -> None:
        """Ask the actor for its machine, and count the worker as one that has not started until it answers."""
        self.started, self.since = False, time.monotonic()
        self.machine: str | None = None
        self._answers.append(self._actor.machine.remote())

    def doubt(self) -> None:
        """Ask an actor that has started for its machine once more, as its node may be gone.

        It counts as not started, and gets no calls, until it answers.
        """
        if self.started:
            self._ask_for_machine()

    @property
    def next_answer(self) -> Any:
        """Ray's reference of the answer to its oldest call."""
        return self._answers[0]

    def greet(self) -> None:
        """Read the answer to the question for the actor's machine, which must have come; the worker has started.

        If the answer is an error, it has not, and `gone` becomes a WorkerDiedError that says why.
        """
        try:
            self.machine, self.started = self._ray.get(self._answers.popleft(), timeout=FETCH_SECONDS), True
        except self._ray.exceptions.RayError as error:
            self.gone = WorkerDiedError(f"no worker starts: {short_cause(error)}")

    def call(self, work: Work, job: Any) -> None:
        """Have the actor do work(job), without waiting for it; raise CannotTravelError if that cannot be sent."""
        self._answers.append(self._actor.do.remote(dumps((work, job))))

    def answer(self) -> Any:
        """Return the answer to its oldest call, which has come: the result, or a Failure.

        It is a Failure if the job failed, or if its result cannot travel. Raise WorkerDiedError if the actor died.
        """
        if self.gone:
            raise self.gone
        errors = self._ray.exceptions
        try:
            return self._ray.get(self._answers.popleft(), timeout=FETCH_SECONDS)
        except errors.RayTaskError as error:  # `do` raises nothing, so its result cannot travel
            return Failure(str(error).strip().splitlines()[-1], str(error))
        except errors.RayError as error:
            raise WorkerDiedError(short_cause(error)) from error

    def end(self) -> None:
        """End the actor at once, also in the midst of a job."""
        self._ray.kill(self._actor, no_restart=True)


@final
class RayPlace(Place):
    """The Ray cluster that this process has joined, as the place of workers; where no actor starts, the work fails.

    `capacity` is the number of its CPUs, at least 1.
    """

    def __init__(self) -> None:
        import ray

        self._ray, self.capacity = ray, max(1, int(cpus()))
        # A CPU each: nodes that are to get no jobs have none, and an autoscaler sees how many are wanted.
        kind: Any = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD")(JobActor)
        self._kind = kind.options(runtime_env={"env_vars": {"OMP_NUM_THREADS": "1"}})

    def hire(self, count: int) -> list[RayWorker]:
        """Return `count` workers, without waiting until they have started."""
        return [RayWorker(self._ray, self._kind.remote()) for _ in range(count)]

    def wait(self, workers: Sequence[RayWorker], seconds: float) -> list[RayWorker]:
        """Return the workers that have an answer or are gone, as soon as there is one, after `seconds` at the latest.

        Workers that did not start within START_SECONDS count as gone; the list may be empty.
        """
        waiting = {worker.next_answer: worker for worker in workers}
        ready, _ = self._ray.wait([*waiting], num_returns=1, timeout=seconds)
        answered = []
        for worker in map(waiting.__getitem__, ready):
            if worker.started:
                answered.append(worker)
            else:
                worker.greet()
        for worker in workers:
            if not (worker.started or worker.gone) and time.monotonic() - worker.since > START_SECONDS:
                why = f"none answered within {START_SECONDS:g} s: each wants a CPU, {free_cpus()}"
                worker.gone = WorkerDiedError(why, can_be_replaced=False)  # another one would come as late
        return answered + [worker for worker in workers if worker.gone]

    def dismiss(self, workers: Sequence[RayWorker], busy: Sequence[RayWorker]) -> None:
        """End all these workers, whether they are busy or not."""
        for worker in workers:
            worker.end()

    def note_no_starts(self, why: str, any_left: bool) -> None:
        """Do nothing if there are other workers; raise RayUnreachableError, which says `why`, if none is left."""
        if not any_left:
            raise RayUnreachableError(why)


@contextmanager
def join_ray(address: str | None) -> Iterator[RayPlace]:
    """Join the Ray cluster at this address for the block, as `join_cluster` does; yield the place of workers there."""
    with join_cluster(address):
        yield RayPlace()
