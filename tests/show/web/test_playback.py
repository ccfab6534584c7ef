"""A recorded run played back: by hand, and against what the engines have measured themselves."""

from __future__ import annotations

import numpy as np
import pytest

import replnet as rn
from replnet.show.web.playback import Playback, playback_of_events, read_playback, recorded_replications

EMPTIED = rn.cascade(
    depth=2, branching=2, updates="exponential(rate=1)", downloads="exponential(rate=2)",
    faults=[{"crash": "replicas", "up": "exponential(mean=4)", "down": "exponential(mean=1)"}],
)  # fmt: skip
# Updates at -1, 2 and 6; replica 1 has data from 0, from 3 and late from 1; replica 2 from before -1, then 4.
EVENTS = [
    (0.0, "start", "source", -1.0, "source"),
    (0.0, "start", "1", 0.0, "source"),
    (0.0, "start", "2", -2.0, "source"),
    (2.0, "update", "source", np.nan, "source"),
    (3.0, "download", "1", np.nan, None),
    (3.0, "reply", "1", 3.0, "source"),
    (4.0, "reply", "2", 4.0, "source"),
    (5.0, "reply", "1", 1.0, "source"),
    (6.0, "update", "source", np.nan, "source"),
    (8.0, "download", "1", np.nan, None),
]


PAIR = rn.cascade(depth=1, branching=2, updates="exponential(rate=1)", downloads="exponential(rate=1)")


def played(events: list[tuple[float, str, str, float, str | None]], network: rn.Network = PAIR) -> Playback:
    columns = map(list, zip(*events, strict=True))
    return playback_of_events(network, dict(zip(("at", "event", "node", "left", "source"), columns, strict=True)))


def test_who_is_fresh_when():
    """Replica 1 is fresh in [0, 2) and [3, 6), though a reply that was overtaken comes at 5; replica 2 in [4, 6)."""
    shown = played(EVENTS)
    assert shown.end == 8
    fresh = {0.0: (1, 0), 2.5: (0, 0), 3.0: (1, 0), 5.5: (1, 1), 7.0: (0, 0)}
    for time, expected in fresh.items():
        assert [copies[1:].tolist() for copies in shown.copies_at(time)] == [[1, 1], list(expected)]
    middles, freshness_by_group = shown.freshness_by_group(4)
    assert middles.tolist() == [1, 3, 5, 7]
    assert freshness_by_group["level 1"].tolist() == [0.5, 0.25, 1.0, 0.0]
    assert shown.pace(4).tolist() == [0, 0.5, 0, 0.5]


def test_a_replica_without_a_copy_does_not_count():
    shown = played([event if event[3] != -2.0 else (*event[:3], np.nan, "source") for event in EVENTS])
    assert [copies[2] for copies in shown.copies_at(1.0)] == [0, 0]
    assert shown.freshness_by_group(2)[1]["level 1"].tolist() == [3 / 4, 4 / 8]


def test_an_answer_is_stale_in_the_instant_of_an_update():
    network = rn.load("redundant", ["replicas=2", "ask=1"])
    events = [(0.0, "start", "source", -1.0, "source"), (2.0, "update", "source", np.nan, "source")]
    events += [(2.0, "answer", "client 1", 1.0, "source"), (3.0, "query", "client 1", np.nan, None)]
    assert played(events, network).freshness_by_group(1)[1]["clients"].tolist() == [0]


@pytest.mark.parametrize("source", ["cooperative", "graph", "redundant", "compose", "faults", EMPTIED])
def test_the_means_of_a_trace_are_those_of_the_run(source, tmp_path):
    """Up to what happens after the last event, which is when a trace ends."""
    file = tmp_path / "run.parquet"
    run = rn.emulate(source, horizon=500.0, replications=2, seed=3, trace=file, confirm=False)
    assert recorded_replications(file) == [0, 1]
    for at in (0, 1):
        shown = read_playback(file, at)
        for name, share in shown.freshness_by_group(1)[1].items():
            assert share[0] == pytest.approx(run.samples[name, "freshness"][at], abs=0.004)
        assert shown.engine == run.engine


def test_what_is_no_trace_is_said(tmp_path):
    other, file = tmp_path / "other.parquet", tmp_path / "run.parquet"
    rn.predict("single").table.to_parquet(other)
    rn.emulate("single", horizon=64.0, trace=file)
    for trace, message in (
        (tmp_path / "none.parquet", r"none\.parquet: does not exist"),
        (other, r"other\.parquet: is no trace"),
        (b"PAR1", "the run: is no trace"),
        (file, r"run\.parquet: has no events of replication 99"),
        (file.read_bytes(), "the run: has no events of replication 99"),
    ):
        with pytest.raises(ValueError, match=message):
            read_playback(trace, 99)
