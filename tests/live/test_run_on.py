"""A live run from its driver to its nodes, in memory: late, lost and frozen hosts, on a clock that a test turns."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from live_memory import MemoryTransport, once, press_ctrl_c
from live_world import FEW, assert_logged_once, assert_path_of_step
from networks import NAMED

import replnet as rn
from replnet.engines.path import Task
from replnet.engines.plan import plan
from replnet.live import driver, host_run, supervisor
from replnet.live.clocks import Offset
from replnet.live.driver import run_live, run_on
from replnet.live.host import assignments
from replnet.live.outcome import LiveLost

CLUSTER = plan(NAMED["cluster"])
SCALE, HORIZON, SEED = 0.5, 10.0, 3
TASK = Task(CLUSTER, SEED, HORIZON)


@pytest.fixture(autouse=True)
def _batches_leave_at_once(monkeypatch):
    """So that hosts that are never late walk the very path of `step`."""
    monkeypatch.setattr(host_run, "GAP", 0.0)


@pytest.fixture
def world() -> MemoryTransport:
    return MemoryTransport()


def run(world: MemoryTransport, watch=None, **options):
    task = options.pop("task", TASK)
    return run_on(world, task, options.pop("hosts", 2), time_scale=SCALE, watch=watch, **options)


@pytest.mark.parametrize("network", FEW.values(), ids=FEW)
def test_a_run_walks_the_path_of_step_and_logs_it(network, world):
    compiled, log = plan(network), []
    live = run(world, task=Task(compiled, SEED, HORIZON), hosts=3, replications=2, log=log.extend)
    assert len({path.counts for path in live.paths}) == 2
    assert (live.faithful, live.lost, live.stood, live.cut_short) == (True, (), (), "")
    assert_path_of_step(compiled, SEED, live)
    assert_logged_once(compiled, SEED, live, log)
    assert (live.batches_missing, live.duplicates) == (0, 0)
    assert live.crossed > 0
    assert live.unanswered == 0
    assert live.messages >= live.crossed >= live.batches


def test_a_lone_host_sends_nothing_and_may_be_watched(world):
    glimpses = []
    live = run(world, glimpses.append, hosts=1)
    assert (live.crossed, live.batches, live.delays.mean) == (0, 0, 0.0)
    assert glimpses[-1].now == HORIZON
    assert 0 < glimpses[-1].fresh[0] < 1
    assert np.diff([sum(glimpse.counts) for glimpse in glimpses]).min() >= 0


def test_without_a_number_there_is_a_host_per_cpu_but_no_more_than_are_allowed(world, monkeypatch):
    monkeypatch.setattr(driver, "MOST_HOSTS", 3)
    for cpus, hosts in ((2.0, 2), (1000.0, 3), (0.0, 1)):
        world.cpus = cpus
        assert len(run(world, hosts=None).hosts) == hosts


def test_the_clock_of_another_machine_is_found_by_asking():
    live = run(MemoryTransport(ahead=7.0))
    assert_path_of_step(CLUSTER, SEED, live)
    for host in live.hosts:
        assert host.offset != Offset()
        assert abs(host.offset.seconds - 7.0) <= host.offset.error < 0.01


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"replications": 0}, "replications: 0 is not a number of replications"),
        ({"time_scale": 0.0}, "time_scale: 0.0 is not above 0"),
        ({"hosts": "all"}, "hosts: 'all' is no number of processes"),
    ],
)
def test_numbers_that_cannot_be_are_refused(options, words):
    with pytest.raises(ValueError, match=f"^{words} [(]"):
        run_live(TASK, **options)


# Standstills: a driver or a host that was stopped is no slow machine


@pytest.mark.parametrize(
    ("seconds", "stand"),
    [(4.0, MemoryTransport.wait), (60.0, MemoryTransport.wait), (20.0, lambda world, s: setattr(world, "deaf", s))],
    ids=["still", "beyond the end", "before an answer"],
)
def test_hosts_go_on_while_the_driver_stands_still_and_are_not_lost(seconds, stand, world):
    live = run(world, once(3.0, lambda: stand(world, seconds)))
    (still,) = live.stood
    assert (still.who, still.nodes, still.spared) == ("the driver", (), 0)
    assert still.seconds == pytest.approx(seconds, abs=0.5)
    assert still.at == pytest.approx(3.0, abs=1.5)
    assert (live.faithful, live.lost) == (True, ())
    assert_path_of_step(CLUSTER, SEED, live)


def test_who_stood_still_from_before_time_zero_says_so(world):
    """The driver while it told the hosts to begin, so that the second one began late."""
    world.late["begin", 1] = 7.0
    stood = {still.who: still for still in run(world).stood}
    for who in ("the driver", "host 1"):
        assert stood[who].at == pytest.approx(0.0, abs=1e-9)
        assert stood[who].seconds == pytest.approx(7.0, abs=0.5)


def test_a_host_that_was_stopped_says_so_and_one_that_had_much_to_do_does_not(world):
    live = run(world, once(3.0, lambda: world.freeze(1, 5.0)))
    (still,) = live.stood
    assert still.who == "host 1"
    assert still.nodes
    assert still.seconds == pytest.approx(5.0, abs=0.3)
    assert still.at == pytest.approx(3.0, abs=1.0)
    assert not live.faithful
    assert "host 1 stood still for" in live.why
    assert run(world, once(3.0, lambda: world.freeze(1, 5.0, worked=4.9))).stood == ()


def test_hosts_that_are_late_while_the_driver_looks_on_are_too_slow(world):
    live = run(world, once(3.0, lambda: world.get_stuck(1)))
    assert live.stood == ()
    assert "wakes that were due by 5 s were still to come" in live.why
    assert (live.faithful, live.advised) == (False, 1.0)


def test_processes_that_were_to_be_killed_meanwhile_live_on():
    """Two crashes; the driver stands still at the first one, and kills for the second."""
    network = rn.cascade(
        depth=1, branching=2, updates="exponential(rate=1)", downloads="exponential(rate=2)",
        faults=[{"crash": "level 1", "copy": "empty", "at": at, "lasts": 0.1} for at in (5.0, 30.0)],
    )  # fmt: skip
    compiled = plan(network)
    for seconds, kills, spared in ((0.0, 4, 0), (4.0, 2, 2)):
        world = MemoryTransport()
        stand = once(3.0, lambda world=world, seconds=seconds: world.wait(seconds))
        live = run(world, stand, task=Task(compiled, 1, 50.0), hosts=3)
        assert [outage.planned for outage in live.lost] == [True] * kills
        assert sum(still.spared for still in live.stood) == spared
        assert all(re.search(r"so that 2 of the planned crashes killed no process$", str(s)) for s in live.stood)


# Losses

ENDLESS = replace(TASK, horizon=1e4)


def end_once_back(world: MemoryTransport, lose):
    """A watch that has a host lost at t = 3, and ends the run once it is back."""
    begin, end = once(3.0, lose), once(0.0, press_ctrl_c)

    def watch(glimpse) -> None:
        begin(glimpse)
        if glimpse.lost and all(outage.back is not None and outage.back + 3.0 < glimpse.now for outage in glimpse.lost):
            end(glimpse)

    return watch


@pytest.mark.parametrize("network", FEW.values(), ids=FEW)
@pytest.mark.parametrize("how", ["died (HostLostError)", "did not answer for 10 s"], ids=["killed", "frozen"])
def test_a_host_that_is_lost_is_replaced_and_nothing_is_lost_or_doubled_besides(how, network, world):
    compiled, log = plan(network), []
    lose = world.kill if "died" in how else world.freeze
    watch = end_once_back(world, lambda: lose(1))
    live = run(world, watch, task=Task(compiled, SEED, 1e4), replications=2, log=log.extend)
    (outage,) = live.lost
    assert (outage.host, outage.why) == (1, how.replace(" (HostLostError)", ""))
    assert outage.heard < outage.back < live.horizon
    assert live.degraded
    assert_logged_once(compiled, SEED, live, log)
    assert live.responses.count + live.unanswered == sum(path.counts[3] for path in live.paths)
    shares = [share for path in live.paths for (_, metric), share in path.shares.items() if metric == "availability"]
    assert any(part < whole for part, whole in shares)


def test_a_host_that_is_replaced_is_told_to_begin_before_it_is_to_start(world):
    """On a clock that stands still while a host works, so that any lateness is that of its start."""
    watch = end_once_back(world, lambda: world.kill(1))
    live = run(world, watch, task=ENDLESS)
    assert live.lost[0].back is not None
    assert max(host.slip.largest for host in live.hosts) < 1e-6


def test_a_process_that_is_lost_while_it_starts_is_replaced_as_well(world):
    def lose() -> None:
        world.kill(1)
        world.late["prepare", 1] = 0.5

    def watch(glimpse) -> None:
        end_once(glimpse)
        if world.late and world.actors[1] is not first:
            world.kill(1)

    end_once, first = end_once_back(world, lose), None
    live = run(world, watch, task=ENDLESS)
    assert len(live.lost) == 1


def test_a_host_whose_place_no_process_takes_ends_the_run_with_what_there_is(world):
    def lose() -> None:
        world.starts_frozen = True
        world.kill(1)

    live = run(world, once(3.0, lose), task=ENDLESS)
    (outage,) = live.lost
    assert (outage.why, outage.back) == ("died", None)
    assert re.fullmatch(
        r"host 1 did not answer for 10 s, and no other process took its place within 25 s at t = [\d.]+", live.cut_short
    )
    assert outage.heard < live.horizon < 100.0


def test_a_host_that_is_lost_again_and_again_ends_the_run(world):
    def watch(glimpse) -> None:
        if glimpse.now > 3.0 and all(outage.back is not None for outage in glimpse.lost):
            world.kill(1)

    live = run(world, watch, task=ENDLESS)
    assert len(live.lost) == supervisor.MOST_LOSSES + 1
    assert live.cut_short.startswith("host 1 was lost 6 times at t = ")


@pytest.mark.parametrize(
    ("when", "deed", "words"),
    [
        (3.0, lambda world: setattr(world, "why_none_starts", "all gone"), r"at 3\.\d+ units .*: all gone"),
        (3.0, lambda world: setattr(world, "service", "Ray is gone"), r"at 3\.\d+ units .*: Ray is gone"),
        (-9.0, lambda world: None, "before time zero: host 1 of 2 died"),
    ],
    ids=["no node", "no service", "early"],
)  # fmt: skip
def test_a_run_that_cannot_go_on_is_lost(when, deed, words, world):
    def lose() -> None:
        deed(world)
        world.kill(1)

    with pytest.raises(LiveLost, match=f"^lost {words}$"):
        run(world, once(when, lose))


def test_hosts_that_do_not_start_or_answer_are_named(world):
    world.why_none_starts = "no node is alive"
    with pytest.raises(LiveLost, match=r"^lost before time zero: no node is alive$"):
        run(world)
    world = MemoryTransport()
    world.starts_frozen = True
    with pytest.raises(LiveLost, match=r"host 0 of 2 on node here did not answer for 50 s$"):
        run(world)


def test_a_failing_node_ends_the_run_with_its_error(world):
    with pytest.raises(LiveLost, match=r"host 1 of 2 failed: .*UnpicklingError"):
        run(world, once(3.0, lambda: world.actors[1].deliver(b"no batch at all")))


@pytest.mark.parametrize("network", FEW.values(), ids=FEW)
def test_ctrl_c_ends_a_run_with_what_there_is(network, world):
    compiled, log = plan(network), []
    live = run(world, once(3.0, press_ctrl_c), task=Task(compiled, SEED, 1e4), log=log.extend)
    assert live.cut_short.startswith("interrupted at t = ")
    assert 3.0 < live.horizon < 10.0
    assert_path_of_step(compiled, SEED, live)
    assert_logged_once(compiled, SEED, live, log)


def test_ctrl_c_just_before_the_end_changes_nothing(world):
    live = run(world, once(HORIZON - 0.5, press_ctrl_c))
    assert (live.cut_short, live.horizon) == ("", HORIZON)


# Pace


def test_a_pace_of_its_own_that_turns_out_too_fast_is_slowed_down_once(monkeypatch):
    """What was seen at the first pace is in no count and in no log."""
    monkeypatch.setattr(driver, "default_scale", lambda *_: 0.1)
    world, log = MemoryTransport(takes=0.0005), []
    task = Task(CLUSTER, SEED, 100.0)
    live = run_on(world, task, 2, log=log.extend, watch=once(1.0, lambda: world.get_stuck(1)))
    assert 0.3 <= live.time_scale <= 2.0
    assert live.rate_measured > 100
    assert_logged_once(CLUSTER, SEED, live, log)


def test_a_run_is_as_long_as_it_aims_to_be_and_says_so():
    """Its path is the planned one up to a horizon that comes earlier; a longer aim than the task's changes nothing."""
    for aim, horizon in ((4.0, 20.0), (100.0, 60.0)):
        world, log, told = MemoryTransport(), [], list[str]()
        live = run_on(world, Task(CLUSTER, SEED, 60.0), 2, time_scale=0.2, aim=aim, log=log.extend, tell=told.append)
        assert live.horizon == horizon
        assert live.cut_short == ""
        path = f"1 path of {horizon:g} units of time, time scale 0.2 s"
        assert told == ["waiting for 2 hosts", f"the run takes about {horizon / 5:g} s: {path}"]
        assert_logged_once(CLUSTER, SEED, live, log)


def test_a_pace_that_can_be_kept_is_kept():
    """Also over a run that is shorter than the trial of its pace; its log comes at the end."""
    world = MemoryTransport(takes=0.0005)
    for horizon in (5.0, 60.0):
        log, task = [], Task(CLUSTER, SEED, horizon)
        live = run_on(world, task, 2, log=log.extend)
        assert live.faithful
        assert 0.0 < live.delays.mean * live.time_scale <= 0.0011
        assert_logged_once(CLUSTER, SEED, live, log)


# A host


def test_what_is_left_of_a_measurement_is_no_part_of_a_run(world):
    """On a busy machine the last batches of a measurement come when the run has begun."""
    live = run(world, once(3.0, lambda: world.actors[1].deliver_echo(b"late")))
    assert_path_of_step(CLUSTER, SEED, live)


def test_an_answer_that_gets_lost_is_given_again(world):
    """And holds each row of the log until it has arrived."""
    run_to_zero = driver.run_to_zero(TASK, 0)
    (assignment,) = assignments(TASK, (0,) * CLUSTER.size, [(run_to_zero.runner.state, run_to_zero.unknown)], True)
    world.start(0)
    host = world.actors[0]
    host.prepare(TASK, assignment)
    host.begin(world.now, SCALE, [0])
    world.wait(2.0)
    first = host.status(0)
    assert host.status(0).rows is not first.rows
    world.wait(2.0)
    whole = host.status(0)
    assert len(whole.rows) > len(first.rows) > 0
    heard = len(first.rows)
    assert same(host.status(heard).rows, whole.rows[heard:])
    assert same(host.status(heard).rows, whole.rows[heard:])
    last = host.finish(heard)
    assert same(host.finish(heard).rows, last.rows)
    assert same(last.rows[: len(whole.rows) - heard], whole.rows[heard:])


def same(rows: list, others: list) -> bool:
    """Whether blocks of log rows are the same ones."""
    return len(rows) == len(others) and all(ours is theirs for (_, ours), (_, theirs) in zip(rows, others, strict=True))
