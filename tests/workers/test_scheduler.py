"""Which worker does which job, and what becomes of one whose worker dies: with workers that a test scripts."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import pytest

from replnet.workers.by_value import CannotTravelError
from replnet.workers.scheduler import ATTEMPTS, Failure, JobQueue, Place, Team, WorkerDiedError


class Worker:
    """A worker of this process. A job is (name, deaths): it kills that many workers before it is done."""

    def __init__(self, place: Scripted, machine: str, starts: bool) -> None:
        self.place, self.home, self.starts, self.calls = place, machine, starts, deque[Any]()
        self.started, self.machine, self.doubts = False, machine if place.is_eager else None, 0

    def greet(self) -> None:
        self.started, self.machine = self.starts, self.home

    def call(self, work: Any, job: Any) -> None:
        if job == "untransportable":
            raise CannotTravelError("no")
        self.calls.append((work, job))

    def answer(self) -> Any:
        if not self.starts:
            raise WorkerDiedError("cannot start", can_be_replaced=not self.place.is_full)
        work, (name, deaths) = self.calls.popleft()
        self.place.begun[name] += 1
        if self.place.begun[name] <= deaths:
            raise WorkerDiedError(f"killed by {name}")
        self.place.answers.append((self.home, name))
        return work(name)

    def doubt(self) -> None:
        assert not self.calls
        self.doubts += 1

    def end(self) -> None:
        self.place.ended.append(self)


class Scripted(Place):
    """Workers on machines in turn; those that are hired first do `not_starting`."""

    capacity = 2
    is_full = False
    is_eager = False  # whether workers get calls before it is known that they have started

    def __init__(self, machines: Sequence[str] = ("a",), not_starting: int = 0) -> None:
        self.machines, self.not_starting, self.refused_after = machines, not_starting, 99
        self.begun, self.answers, self.ended, self.why = Counter[str](), list[tuple[str, str]](), list[Worker](), []
        self.hired, self.let_go = list[Worker](), list[Worker]()

    def hire(self, count: int) -> list[Worker]:
        if len(self.hired) >= self.refused_after:
            raise OSError(12, "no memory")
        for _ in range(count):
            number = len(self.hired)
            self.hired.append(Worker(self, self.machines[number % len(self.machines)], number >= self.not_starting))
        return self.hired[len(self.hired) - count :]

    def wait(self, workers: Sequence[Worker], seconds: float) -> list[Worker]:
        new = [worker for worker in workers if not worker.started]
        for worker in new:
            worker.greet()
        answered = [worker for worker in workers if worker.calls and worker not in new]
        return [worker for worker in new if not worker.starts] + answered

    def dismiss(self, workers: Sequence[Worker], busy: Sequence[Worker]) -> None:
        self.let_go += [worker for worker in workers if worker not in busy]

    def note_no_starts(self, why: str, any_left: bool) -> None:
        self.why.append((why, any_left))


def upper(job: str | tuple[str, int]) -> str:
    return (job if isinstance(job, str) else job[0]).upper()


def results(place: Place, jobs: Sequence[Any], count: int = 2, warm: Sequence[Any] = (), here: bool = False) -> dict:
    team = Team(place, upper, jobs, JobQueue(range(len(jobs))), count, warm)
    done = dict(team.results(here))
    team.dismiss()
    return done


JOBS = [("a", 0), ("b", 0), ("c", 0), ("d", 0)]


def test_every_job_is_done_once_and_workers_are_let_go():
    place = Scripted()
    assert results(place, JOBS) == {0: "A", 1: "B", 2: "C", 3: "D"}
    assert place.begun == dict.fromkeys("abcd", 1)
    assert len(place.let_go) == len(place.hired) == 2
    assert place.why == place.ended == []


def test_a_job_whose_worker_died_is_done_again_and_given_up_in_the_end():
    place = Scripted()
    done = results(place, [("a", 0), ("b", ATTEMPTS - 1), ("c", ATTEMPTS), ("d", 0)])
    assert done.pop(2) == Failure("3 workers died of it, the last so: killed by c")
    assert done == {0: "A", 1: "B", 3: "D"}
    assert len(place.ended) == 2 * ATTEMPTS - 1
    assert place.why == []
    assert any(worker.doubts for worker in place.hired)


def test_one_worker_of_each_machine_warms_it_before_other_work_there():
    place = Scripted(["a", "b"])
    results(place, [(f"job {i}", 0) for i in range(9)], 4, warm=[("one", 0), ("two", 0)])
    for machine in "ab":
        assert [name for at, name in place.answers if at == machine][:2] == ["one", "two"]
    assert place.begun["one"] == place.begun["two"] == 2


@pytest.mark.parametrize("warm", ["untransportable", ("one", 99)])
def test_a_warm_up_that_fails_does_not_stop_the_work(warm):
    place = Scripted()
    assert results(place, JOBS, warm=[warm]) == {0: "A", 1: "B", 2: "C", 3: "D"}


def test_starts_that_fail_are_repeated_but_not_for_ever():
    place = Scripted(not_starting=ATTEMPTS - 1)
    assert len(results(place, JOBS)) == 4
    assert place.why == []
    place = Scripted(not_starting=ATTEMPTS - 1)
    place.is_eager = True
    assert len(results(place, JOBS)) == 4
    place = Scripted(not_starting=99)
    assert results(place, JOBS) == {0: "A", 1: "B", 2: "C", 3: "D"}  # here
    assert place.why[0] == ("cannot start", True)
    assert place.why[-1] == ("cannot start", False)
    assert len(place.hired) == 2 + ATTEMPTS - 1
    place = Scripted(not_starting=3)
    place.is_full = True
    assert len(results(place, JOBS, 5)) == 4
    assert (len(place.hired), place.why) == (5, [])


def test_a_job_that_no_worker_can_be_sent_is_done_here():
    assert results(Scripted(), ["untransportable", ("b", 0), "untransportable"]) == {
        0: "UNTRANSPORTABLE", 1: "B", 2: "UNTRANSPORTABLE",
    }  # fmt: skip


def test_where_no_worker_is_left_the_work_is_done_here_but_not_what_they_died_of():
    place = Scripted()
    place.refused_after = 1
    assert results(place, [("a", 9), ("b", 0)], 1) == {0: Failure("a worker died of it, and no other starts"), 1: "B"}
    assert place.why[-1][1] is False
    place = Scripted()
    place.refused_after = 0
    assert results(place, ["a"]) == {0: "A"}
    assert place.why == [("no memory", False)]


def test_this_process_does_jobs_as_well_but_not_before_its_machine_is_warm():
    place = Scripted()
    done = results(place, [(f"job {i}", 0) for i in range(9)], warm=[("one", 0)], here=True)
    assert len(done) == 9
    by_workers = [name for _, name in place.answers]
    assert by_workers[0] == "one"
    assert 1 < len(by_workers) < 10
