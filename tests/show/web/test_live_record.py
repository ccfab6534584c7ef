"""The record of a run that goes on: what is written is what is read, whole lines at a time."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import IO

import numpy as np
import pytest

import replnet as rn
from replnet.engines.nodes.measure_nodes import NodeStates
from replnet.live import Glimpse
from replnet.live.clocks import Standstill
from replnet.live.outcome import Outage
from replnet.show.web.live_record import (
    MOST_NODES,
    MOST_POINTS,
    GlimpseInbox,
    InboxAddress,
    LiveRecord,
    RunNames,
    RunRecorder,
    connect_to_inbox,
    file_reader,
    record_run,
    recorded_name,
)
from replnet.show.web.outage_bands import Band

NETWORK = rn.cascade(depth=2, branching=2, updates="exponential(rate=1)", downloads="exponential(rate=1)")


def seen(now: float, first: float, messages: int = 0) -> Glimpse:
    return Glimpse(now, 10.0, ("level 1", "clients"), np.array([first, math.nan]), (1, 2, 3, 4), messages, 0.25)


@pytest.fixture
def file() -> Iterator[IO[bytes]]:
    """A file that was never in a folder, as a run and its pages share one."""
    with tempfile.TemporaryFile() as opened:
        yield opened


def ticks() -> Callable[[], float]:
    """A clock that goes on by a second whenever somebody looks at it."""
    return map(float, itertools.count()).__next__


def read(file: IO[bytes]) -> LiveRecord:
    record = LiveRecord(file_reader(file.fileno()))
    record.update()
    return record


def test_what_is_written_is_read_while_it_grows(file):
    names = RunNames("tree", "replnet run tree", 7)
    with record_run(file, NETWORK, "live", names=names, clock=ticks()) as look:
        record = LiveRecord(file_reader(file.fileno()))
        assert record.update()
        assert record.about == {"network": NETWORK.data(), "engine": "live", "seed": 1, **names._asdict()}
        assert recorded_name(file_reader(file.fileno())) == "tree"
        assert record.words == "Starting …"
        for glimpse in (seen(0.0, 0.0), seen(1.0, 0.5, 30), seen(2.0, 0.25, 50)):
            look(glimpse)
        file.write(b'{"now": 3')
        file.flush()
        assert record.update()
        assert not record.update()
        assert (record.times, record.curves()) == ([1.0, 2.0], {"level 1": [0.5, 0.25]})
        assert record.pace() == ([30.0, 25.0], [0.25, 0.25])
        speed = "0 events a second · 8 s left · 50 messages · wakes 0.25 late on average"
        assert record.words == f"Running. · t = 2 of 10 (20%) · 10 events · {speed}"
        assert not record.over


def test_lines_that_come_over_a_connection_are_a_record(file):
    async def received() -> bytes:
        inbox = GlimpseInbox()
        async with inbox as place:
            await asyncio.to_thread(send, place._replace(key="guess"))
            await asyncio.to_thread(send, place)
            while b"over" not in inbox.read(0):
                await asyncio.sleep(0)
        return inbox.read(0)

    def send(place: InboxAddress) -> None:
        with (
            suppress(ConnectionError),
            connect_to_inbox(place) as (record, _),
            record_run(record, NETWORK, "live", clock=ticks()) as look,
        ):
            look(seen(1.0, 0.5, len(place.key)))

    with record_run(file, NETWORK, "live", clock=ticks()) as look:
        look(seen(1.0, 0.5, 32))
    assert asyncio.run(received()) == file_reader(file.fileno())(0)


def test_a_run_ends_with_its_rows_and_intervals_before(file):
    run = rn.emulate("single", horizon=2e3)
    glimpse = replace(seen(5.0, 0.5), half_width=np.array([0.125, math.nan]))
    with record_run(file, NETWORK, "array", clock=ticks()) as look:
        look(seen(1.0, 0.25))
        look(glimpse)
        look.end(run)
        record = read(file)
        assert record.half_widths() == {"level 1": [pytest.approx(math.nan, nan_ok=True), 0.125]}
        assert record.words.startswith("Ending. · t = 5 of 10")
    record.update()
    assert record.result["rows"] == [row.data() for row in run.rows]
    assert record.words.startswith(f"Done. Overall: {run.verdict}. · t = 5")


def test_a_run_is_ended_from_afar(file):
    """What the inbox sends becomes Ctrl-C in the process of the run, once."""

    async def stopped() -> None:
        inbox = GlimpseInbox()
        async with inbox as place:
            sender = asyncio.create_task(asyncio.to_thread(connect, place))
            while b"network" not in inbox.read(0):
                await asyncio.sleep(0)
            inbox.stop()
            await sender

    def connect(place: InboxAddress) -> None:
        with connect_to_inbox(place) as (record, stops), record_run(record, NETWORK, "live"):
            answers.append(stops())
            while not stops():
                pass
            answers.append(True)

    answers = list[bool]()
    asyncio.run(stopped())
    assert answers[-1]
    look = RunRecorder(file, NETWORK, ticks())
    look(seen(1.0, 0.5))
    look.stops = lambda: True
    with pytest.raises(KeyboardInterrupt):
        look(seen(2.0, 0.5))
    look(seen(3.0, 0.5))


def test_the_end_is_said_and_so_is_what_failed(file):
    with pytest.raises(ValueError, match="lost"), record_run(file, NETWORK, "array"):
        raise ValueError("lost")
    record = read(file)
    assert record.over
    assert record.words == "It ended before it began. There is no table: the terminal of the run says why."


def test_a_long_run_is_thinned_and_ends_where_it_stands(file):
    with record_run(file, NETWORK, "live") as look:
        for step in range(1, 4 * MOST_POINTS):
            look(seen(step / 10, 0.5, step))
    record = read(file)
    assert MOST_POINTS / 2 <= len(record.points) <= MOST_POINTS
    assert record.times[-1] == (4 * MOST_POINTS - 1) / 10
    steps = np.diff(record.times[:-1])
    assert steps == pytest.approx(np.full(steps.size, steps[0]))


def test_a_run_that_begins_anew_does_not_go_back_in_time(file):
    with record_run(file, NETWORK, "live") as look:
        for now in (1.0, 2.0, 5.0, 0.5, 1.5):
            look(seen(now, now / 10))
    record = read(file)
    assert (record.times, record.curves()) == ([0.5, 1.5], {"level 1": [0.05, 0.15]})


def test_runs_in_virtual_time_are_watched_as_well(file):
    with record_run(file, NETWORK, "step") as look:
        found = rn.emulate(NETWORK, "step", seed=1, horizon=320.0, confirm=False, watch=look)
    last = json.loads(file_reader(file.fileno())(0).splitlines()[-2])
    assert last["now"] == pytest.approx(last["horizon"]) == pytest.approx(320.0)
    assert last["events"] == found.events
    measured = {row.group: row.measured for row in found.rows}
    assert last["fresh"] == pytest.approx(measured)


LIMITED = rn.redundant(
    replicas=2, ask=1, updates="exponential(rate=1)", downloads="exponential(rate=1)", queries="exponential(rate=1)",
    bandwidth=5,
)  # fmt: skip


def stands(held: list[int], fresh: list[int], waiting: list[float]) -> NodeStates:
    return NodeStates(np.array(held), np.array(fresh), np.array(waiting))


def test_what_nodes_have_is_told_one_by_one_and_by_group(file):
    assert LIMITED.topology.names == ("source", "replica 1", "replica 2", "client 1")
    first, second = stands([0, 1, 1, 0], [0, 1, 0, 0], [2, 1, 4, 0]), stands([0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 7, 0])
    with record_run(file, LIMITED, "live", seed=3) as look:
        look(replace(seen(1.0, 0.5), states=first))
        look(replace(seen(2.0, 0.5), states=second))
    record = read(file)
    assert record.latest["nodes"] == {"held": [0, 1, 0, 0], "fresh": [0, 0, 0, 0], "waiting": [0, 0, 7, 0]}
    assert [one["copies"] for one in record.points] == [{"level 1": [2, 1]}, {"level 1": [1, 0]}]
    assert record.lines() == {"level 1": ([2.5, 3.5], [4.0, 7.0]), "sources": ([2.0, 0.0], [2.0, 0.0])}
    assert all("nodes" not in one for one in record.points)


def test_of_many_nodes_there_are_groups_alone(file):
    many = rn.redundant(**{**LIMITED.data(), "replicas": MOST_NODES})
    held = [0, *[1] * MOST_NODES, 0]
    with record_run(file, many, "live") as look:
        look(replace(seen(1.0, 0.5), states=stands(held, [0, 1, *[0] * MOST_NODES], [0] * len(held))))
    record = read(file)
    assert ("nodes" in record.latest, record.latest["copies"]) == (False, {"level 1": [MOST_NODES, 1]})


def test_what_is_lost_is_a_band_until_it_is_back(file):
    """Of what stood still it is known when that was heard of."""
    gone, back = Outage(0, ("1.1",), "died", 2.0), Outage(1, ("1", "2"), "died", 1.0, 1.5)
    stood = Standstill("the driver", 3.0, 2.5)
    with record_run(file, NETWORK, "live") as look:
        for now in (4.0, 5.0):
            look(replace(seen(now, 0.5), lost=(gone, back), stood=(stood,)))
    record = read(file)
    assert record.bands() == [
        Band(2.0, 5.0, "1.1 lost"), Band(1.0, 1.5, "2 nodes lost"), Band(3.0, 4.0, "the driver stood still"),
    ]  # fmt: skip
    assert "host 0 died: lost from t = 2 to the end" in record.words
