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
CHAIN = {"depth": 1, "branching": 2, "updates": "exponential(rate=1)", "downloads": "exponential(rate=1)"}


def rows(*events: tuple[float, str, str, float, str | None]) -> dict[str, list]:
    return dict(zip(("at", "event", "node", "left", "source"), map(list, zip(*events, strict=True)), strict=True))


def scripted() -> dict[str, list]:
    """Updates at -1, 2 and 6; replica 1 has data from 0, from 3 and late from 1; replica 2 from before -1, then 4."""
    return rows(
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
    )


def state(shown: Playback, time: float, name: str) -> tuple[int, int]:
    held, fresh = shown.copies_at(time)
    number = shown.network.topology.number[name]
    return int(held[number]), int(fresh[number])


def test_who_is_fresh_when():
    """Replica 1 is fresh in [0, 2) and [3, 6), though a reply that was overtaken comes at 5; replica 2 in [4, 6)."""
    shown = playback_of_events(rn.cascade(**CHAIN), scripted())
    assert shown.end == 8
    times = (0.0, 2.5, 3.0, 5.5, 7.0)
    assert [state(shown, t, "1") for t in times] == [(1, 1), (1, 0), (1, 1), (1, 1), (1, 0)]
    assert [state(shown, t, "2") for t in times] == [(1, 0), (1, 0), (1, 0), (1, 1), (1, 0)]
    middles, freshness_by_group = shown.freshness_by_group(4)
    assert middles.tolist() == [1, 3, 5, 7]
    assert freshness_by_group["level 1"].tolist() == [0.5, 0.25, 1.0, 0.0]


def test_a_replica_without_a_copy_does_not_count():
    events = scripted()
    events["left"][2] = np.nan
    shown = playback_of_events(rn.cascade(**CHAIN), events)
    assert state(shown, 1.0, "2") == (0, 0)
    assert shown.freshness_by_group(2)[1]["level 1"].tolist() == [3 / 4, 4 / 8]


@pytest.mark.parametrize("source", ["cooperative", "graph", "redundant", "compose", "faults", EMPTIED])
def test_the_means_of_a_trace_are_those_of_the_run(source, tmp_path):
    """Up to what happens after the last event, which is when a trace ends."""
    file = tmp_path / "run.parquet"
    found = rn.emulate(source, horizon=2000.0, replications=2, seed=3, trace=file, confirm=False)
    assert recorded_replications(file) == [0, 1]
    for at in (0, 1):
        shown = read_playback(file, at)
        _, freshness_by_group = shown.freshness_by_group(1)
        for name, share in freshness_by_group.items():
            assert share[0] == pytest.approx(found.samples[name, "freshness"][at], abs=0.002)
        assert shown.engine == found.engine


def test_what_is_no_trace_is_said(tmp_path):
    with pytest.raises(ValueError, match="does not exist"):
        recorded_replications(tmp_path / "none.parquet")
    other = tmp_path / "other.parquet"
    rn.predict("single").table.to_parquet(other)
    with pytest.raises(ValueError, match="is no trace"):
        read_playback(other, 0)
    file = tmp_path / "run.parquet"
    rn.emulate("single", horizon=64.0, trace=file)
    with pytest.raises(ValueError, match=r"run\.parquet: has no events of replication 99"):
        read_playback(file, 99)
    with pytest.raises(ValueError, match="the run: has no events of replication 99"):
        read_playback(file.read_bytes(), 99)
    with pytest.raises(ValueError, match="the run: is no trace"):
        recorded_replications(b"PAR1")
