"""The log of a path: the same rows by both engines, and one for every event."""

from __future__ import annotations

from collections import Counter

from paths import ABSENT, assert_close, logged, task

import replnet as rn
from replnet.engines.array import array
from replnet.engines.log import EVENTS, FAILED, START
from replnet.engines.nodes import step

TREE = rn.cascade(depth=2, branching=3, updates="exponential(rate=2)", downloads="pareto(alpha=3, rate=2)", delay=0.05)
CLUSTER = rn.cooperative(
    replicas=4, peers=2, updates="exponential(rate=1)", downloads="constant(rate=1)", polls="exponential(rate=2)",
    clients={"ask": 2, "queries": "exponential(rate=3)"},
)  # fmt: skip
LINES = rn.Network.from_data(CLUSTER.data() | {"bandwidth": 4.0, "queue": 2, "faults": [{"lose": 0.2}]})


def both(network: rn.Network, seed: int, horizon: float = 8.0) -> list[tuple[float, ...]]:
    """The rows of a path, which are the same by either engine."""
    of = task(network, seed, horizon)
    ours, theirs = (logged(engine, of)[0] for engine in (array, step))
    assert ours == theirs
    return ours


def test_rows_do_not_depend_on_the_size_of_windows(monkeypatch):
    """Also where it takes a later window to tell how long answers go on to be fresh."""
    of = task(CLUSTER, 1, 600.0, measure=("fresh_residual(0.5)",))
    whole, path = logged(array, of)
    for name in ("WINDOW", "MOST_EVENTS", "INSTANTS_PER_ROW"):  # no more than a few thousand events at a time
        monkeypatch.setattr(array, name, 8)
    parts, other = logged(array, of)
    assert parts == whole
    assert_close(other.shares, path.shares)


def test_there_is_a_row_for_every_event():
    found, path = logged(array, task(CLUSTER, 1, 100.0))
    events = Counter(EVENTS[int(row[1])] for row in found)
    updates, downloads, polls, queries = path.counts
    pulls = downloads + 2 * polls + 2 * queries
    assert events == {
        "update": updates, "download": downloads, "poll": 2 * polls, "query": 2 * queries, "reply": pulls,
        "answer": queries, "start": 5,
    }  # fmt: skip


def test_pulls_that_fail_ask_nobody_and_bring_nothing():
    failed = [row for row in both(LINES, 1, 40.0) if row[1] == FAILED]
    assert len(failed) > 10
    assert {row[3:] for row in failed} == {(-1, ABSENT, -1)}


def test_it_is_known_when_copies_left_unless_the_path_depends_on_where_it_began():
    fast = {"updates": "exponential(rate=20)"}  # so that every copy is stale for sure soon after the start
    for data, known in ((TREE.data() | fast, True), (TREE.data() | fast | {"bandwidth": 50.0}, False)):
        left = [row[4] for row in both(rn.Network.from_data(data), 1, 100.0) if row[1] == START]
        assert (min(left) > -1e99) == known
