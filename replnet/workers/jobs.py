"""Many independent jobs, done in this process, in processes of this machine or on Ray workers, with equal results.

A job is done once, or again if its worker died. A result is `work(job)` and
nothing else: it depends neither on a worker nor on the order of jobs.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from replnet.deadline import require_time
from replnet.text import count_text, whole
from replnet.workers import processes
from replnet.workers.scheduler import JobQueue, Place, Team, Work, attempt

logger = logging.getLogger(__name__)  # warnings are on stderr, unless a program says otherwise


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
    process does jobs as well, which pays if they are many and short. If there are fewer CPUs than workers, a warning is
    logged that says how many do the work.

    Past a deadline it raises OutOfTime, and RayUnreachableError if no Ray actor starts. Close the generator
    (contextlib.closing) where it may be left early: that ends the workers.
    """
    require_workers(workers)
    order = sorted(range(len(jobs)), key=lambda i: (-sizes[i], i))
    if workers == 0 or not jobs or ((cores() if workers is None else workers) == 1 and not on_ray(address)):
        for i in order:
            require_time()
            yield i, attempt(work, jobs[i])
        return
    with _join_ray(address) if on_ray(address) else nullcontext(processes.LocalPlace(cores())) as place:
        works_here = here and not on_ray(address)
        count = min(place.capacity if workers is None else workers, len(jobs))
        if count > place.capacity:
            _say_who_works(count, place.capacity, "the cluster" if on_ray(address) else "this machine")
        team = Team(place, work, jobs, JobQueue(order), count - works_here, warm)
        try:
            yield from team.results(works_here)
        finally:
            team.dismiss()


def require_workers(workers: object) -> None:
    """Raise FieldError unless `workers` is None or a whole number of 0 or more."""
    if workers is not None:
        whole("workers", workers)


@cache
def _say_who_works(workers: int, cpus: int, where: str) -> None:
    """Log that there are fewer `cpus` than workers; once, however often the same is called for.

    They are wanted all the same: a cluster may grow, and a machine shares its CPUs among them.
    """
    does = "1 does the work" if cpus == 1 else f"{cpus} do the work"
    logger.warning("workers: %d are wanted, and %s has %s, so %s", workers, where, count_text(cpus, "CPU"), does)


def _join_ray(address: str | None) -> AbstractContextManager[Place]:
    """Return the context in which workers are in the Ray cluster at this address; Ray is loaded for it."""
    from replnet.workers.on_ray import join_ray

    return join_ray(address)


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
