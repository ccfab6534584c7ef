"""Who stood still: a driver or a host that was stopped is no slow machine. On a clock that a test turns."""

from __future__ import annotations

import pickle
import queue
from itertools import count
from types import SimpleNamespace

import pytest
from live_world import World, assert_path
from networks import NAMED

from replnet.engines.plan import plan
from replnet.live import actor, ray_hosts, supervisor
from replnet.live.actor import HostActor, Status, _take_all
from replnet.live.clocks import Offset, Standstill
from replnet.live.driver import gather_results
from replnet.live.host import Host
from replnet.live.outcome import LiveLost
from replnet.live.supervisor import LOOK_SECONDS, HostState, Supervisor
from replnet.live.time_scale import HostPace, judge
from replnet.testing import VirtualClock

CLUSTER = plan(NAMED["cluster"])
SCALE, HORIZON, SEED = 0.5, 10.0, 3


class Hosts:
    """Those of a world, which go on by themselves as the clock is turned; each question is answered at once."""

    def __init__(self, world: World, time: VirtualClock) -> None:
        self.world, self.time, self.ended, self.deaf = world, time, list[int](), False
        self.stuck_at, self._serial = float("inf"), count()
        time.follow = self.follow
        self.follow()

    def __len__(self) -> int:
        return len(self.world.hosts)

    def follow(self) -> None:
        now = min(self.time.now / SCALE, self.stuck_at)
        self.world.run(until=now)
        self.world.now = max(self.world.now, now)
        for host in self.world.hosts.values():
            host.step()

    def ask(self, host: int, method: str, *what) -> tuple[int, int, str]:
        return next(self._serial), host, method

    def ready(self, refs: list, patience: float) -> list:
        deaf, self.deaf = self.deaf, False
        if deaf:
            self.time.sleep(20.0)
        return [] if deaf else refs

    def answer(self, ref: tuple[int, int, str]) -> Status:
        _, number, method = ref
        host = self.world.hosts[number]
        if method == "finish":
            return Status(True, True, pickle.dumps(host.report()), [], host.copies_left(), 0.1, 0.1)
        return Status(host.done, host.idle, pickle.dumps(host.so_far()), [])

    def end(self, host: int) -> None:
        self.ended.append(host)


@pytest.fixture
def time(monkeypatch) -> VirtualClock:
    turned = VirtualClock()
    for module in (supervisor, actor):
        monkeypatch.setattr(module, "time", turned)
    monkeypatch.setattr(supervisor, "why_unreachable", lambda: "")
    return turned


def driven(time: VirtualClock, kills: tuple[tuple[float, int], ...] = ()) -> tuple[Hosts, Supervisor]:
    hosts = Hosts(World(CLUSTER, 2, SEED, HORIZON, True), time)
    states = [HostState(assignment, 0.1, "here", Offset()) for assignment in hosts.world.given]
    return hosts, Supervisor(hosts.world.task, hosts, states, 0.0, SCALE, kills)


def stopped_at(at: float, seconds: float, time: VirtualClock):
    """Watches a run, and stops the driver once."""
    left = [seconds]

    def watch(glimpse) -> None:
        if glimpse.now >= at and left:
            time.sleep(left.pop())

    return watch


def assert_as_step(hosts: Hosts, driver: Supervisor) -> None:
    found = gather_results(hosts.world.task, driver, [(0.0, 0)], SCALE, HORIZON * SCALE)
    assert (found["faithful"], found["why"], found["lost"], found["cut_short"]) == (True, "", (), "")
    assert_path(hosts.world, [state.latest for state in driver.states])


@pytest.mark.parametrize("seconds", [4.0, 20.0, 1000.0])
def test_hosts_go_on_while_the_driver_stands_still_even_beyond_the_end(seconds, time):
    hosts, driver = driven(time)
    driver.run(stopped_at(3.0, seconds, time), None)
    assert driver.unfinished == ""
    (still,) = driver.stood
    assert (still.who, still.nodes, still.spared) == ("the driver", (), 0)
    assert still.seconds == pytest.approx(seconds, abs=2 * LOOK_SECONDS)
    assert still.at == pytest.approx(3.0, abs=3 * LOOK_SECONDS / SCALE)
    assert_as_step(hosts, driver)


def test_a_driver_that_stood_still_from_before_time_zero_says_so(time):
    time.now = 7.0
    _, driver = driven(time)
    driver.run(None, None)
    assert driver.stood == [Standstill("the driver", 0.0, 7.0)]


def test_a_host_whose_answer_the_driver_did_not_hear_while_it_stood_still_is_not_lost(time):
    hosts, driver = driven(time)

    def watch(glimpse) -> None:
        hosts.deaf = not driver.stood and glimpse.now > 3.0

    driver.run(watch, None)
    assert len(driver.stood) == 1
    assert driver.outages == ()
    assert_as_step(hosts, driver)


def test_a_host_that_is_silent_while_the_driver_looks_on_is_lost_as_ever(time, monkeypatch):
    hosts, driver = driven(time)
    lost = []
    monkeypatch.setattr(driver, "horizon", 1000.0)
    monkeypatch.setattr(driver, "_lose", lambda state, why: lost.append((state.assignment.me, why)))
    monkeypatch.setattr(hosts, "ready", lambda refs, _: [ref for ref in refs if ref[1] == 1])
    while not lost:
        driver._look(None)
    assert lost == [(0, f"did not answer for {ray_hosts.ANSWER_SECONDS:g} s")]
    assert time.now == pytest.approx(ray_hosts.ANSWER_SECONDS, abs=2 * LOOK_SECONDS)
    assert driver.stood == []


def test_a_host_that_no_node_is_left_for_ends_the_run_as_lost(time, monkeypatch):
    hosts, driver = driven(time)

    def replace(_):
        raise ray_hosts.Lost("no node of the Ray cluster is alive")

    def watch(glimpse) -> None:
        if glimpse.now > 3.0:
            driver._lose(driver.states[0], "died")

    monkeypatch.setattr(hosts, "replace", replace, raising=False)
    with pytest.raises(LiveLost, match=r"^lost at 3\.\d+ units of model time: no node of the Ray cluster is alive$"):
        driver.run(watch, None)


def test_processes_that_were_to_be_killed_meanwhile_live_on(time):
    hosts, driver = driven(time, kills=((1.0, 1), (5.0, 1), (9.5, 0)))
    driver.run(stopped_at(3.0, 2.5, time), None)
    assert hosts.ended == [1, 0]
    (still,) = driver.stood
    assert still.spared == 1
    assert str(still).endswith(", so that 1 of the planned crashes killed no process")


def test_hosts_that_are_late_while_the_driver_looks_on_are_too_slow(time):
    hosts, driver = driven(time)
    hosts.stuck_at = 3.0
    driver.run(None, None)
    assert driver.stood == []
    assert "wakes that were due by 5 s were still to come" in driver.unfinished
    found = gather_results(hosts.world.task, driver, [(0.0, 0)], SCALE, HORIZON * SCALE)
    assert "a time scale of 1 s would do" in found["why"]


# Hosts


def lived(time: VirtualClock, pause: float, works: float, begin: float = 0.0) -> Status:
    """A host that is stopped, or has so much to do, once it has waited until t = 3."""
    world, host = World(CLUSTER, 1, SEED, HORIZON, True), HostActor()
    host._host, host._since = Host(world.task, world.given[0], host._model_time, lambda *_: None), 0.0
    host._zero, host._scale, left = 0.0, SCALE, [pause]

    def get(timeout: float = 0.0) -> bytes:
        time.sleep(timeout)
        if time.now >= 3.0 * SCALE and left:
            time.now, time.worked = time.now + left.pop(), time.worked + works
        if host._host.done:
            host._over.set()
        raise queue.Empty

    host._arrivals = SimpleNamespace(get=get, get_nowait=get)
    time.now = begin
    host._live()
    return host.finish(0)


def test_a_host_that_was_stopped_says_so_and_one_that_had_much_to_do_does_not(time):
    ((at, seconds),) = lived(time, 5.0, 0.0).stood
    assert seconds == pytest.approx(5.0, abs=0.2)
    assert at == pytest.approx(3.0, abs=0.5)
    time.now = 0.0
    assert lived(time, 5.0, 4.9).stood == []


def test_a_host_that_began_late_stood_still_until_then(time):
    assert lived(time, 0.0, 0.0, begin=7.0).stood == [(0.0, 7.0)]


def test_what_is_left_of_a_measurement_is_no_part_of_a_run():
    """On a busy machine the last batches of a measurement come when the run has begun."""
    host = HostActor()
    host.deliver_echo(b"late")
    host.deliver(b"batch")
    assert _take_all(host._arrivals, 0.0) == [b"batch"]


def test_an_answer_that_gets_lost_is_given_again():
    """And holds each row of the log until it has arrived."""
    host, rows = HostActor(), [(0, f"row {i}") for i in range(5)]
    host._host = SimpleNamespace(
        done=True,
        idle=True,
        rows=lambda: [(0, "last")] if host._rows[-1:] == rows[-1:] else [],
        report=dict,
        copies_left=list,
    )
    host._keep_report({}, rows[:2])
    assert host.status(0).rows == host.status(0).rows == rows[:2]
    host._keep_report({}, rows[2:])
    assert host.status(2).rows == host.status(2).rows == rows[2:]
    assert host.finish(3).rows == host.finish(3).rows == [*rows[3:], (0, "last")]


STOOD = Standstill("host 1", 4.0, 8.0, ("a", "b"))


def test_lateness_that_comes_of_a_stop_is_not_put_down_to_the_machine():
    fine = HostPace(0.001, 0.1, 500.0)
    # 100 s at half a second per unit: of all wakes 8 % were 4 s late on average, and as many again later.
    for slip, named in ((0.6, True), (3.0, False)):
        why, advised = judge(CLUSTER, SCALE, [fine, HostPace(slip, 0.3, 500.0, [STOOD])], 100.0, "")
        assert ("host 1 stood still for 8.0 s at t = 4; the same run again would do" in why) == named
        assert (advised is None) == named
    assert judge(CLUSTER, SCALE, [fine, HostPace(0.001, 0.1, 500.0, [STOOD])], 100.0, "") == ("", None)
    why, advised = judge(
        CLUSTER, SCALE, [fine, HostPace(0.001, 0.1, 500.0, [STOOD])], 100.0, "after 9 s wakes were to come"
    )
    assert why.startswith("after 9 s wakes were to come: host 1 stood still")
    assert advised is None
