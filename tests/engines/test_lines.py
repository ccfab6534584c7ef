"""Lines of one node message by message, and what becomes of answers that wait."""

from __future__ import annotations

import pytest

import replnet as rn
from replnet.engines.lines import Lines
from replnet.engines.plan import plan

E1 = "exponential(rate=1)"


def measured(network, **how):
    result = rn.emulate(network, seed=1, **{"horizon": 2e4, **how})
    return {(row.group, row.metric): row for row in result.rows}


class TestLine:
    """One node of bandwidth 2 with room for three messages."""

    def lines(self):
        network = rn.redundant(
            replicas=1, ask=1, updates=E1, downloads=E1, queries=E1, bandwidth=2, queue=3, charge="issued"
        )
        return Lines(plan(network), -1.0, 10.0)

    def test_messages_wait_for_those_before_them(self):
        lines = self.lines()
        assert [lines.answer(1, 2, 1.0) for _ in range(4)] == [0.0, 0.5, 1.0, None]
        assert lines.answer(1, 2, 2.0) == 0.5
        assert lines.counts.came[2] == 5
        assert lines.counts.refused[2] == 1
        assert lines.counts.waited[2] == 2.0

    def test_pulls_go_first(self):
        lines = self.lines()
        assert [lines.answer(1, 2, 1.0) for _ in range(3)] == [0.0, 0.5, 1.0]
        assert [lines.send_pull(1, 1.0) for _ in range(4)] == [True, True, True, False]
        assert lines.answer(1, 2, 1.0) is None


@pytest.mark.parametrize("engine", ["array", "step"])
def test_answers_in_line_are_lost_when_their_node_goes_down(engine):
    """A message takes a unit of time, and the node is up for half a unit at a time: answers leave at once or never."""
    network = rn.Network.from_data(
        {
            "kind": "graph",
            "nodes": {
                "s": {"role": "source", "updates": E1},
                "r": {"role": "replica", "downloads": "constant(rate=0.3)", "bandwidth": 1.0},
                "c": {"role": "client", "queries": "exponential(rate=0.5)"},
                "d": {"role": "client", "queries": "exponential(rate=0.5)"},
            },
            "links": ["s -> r", "r -> c", "r -> d"],
            "faults": [{"crash": "r", "up": "constant(period=0.5)", "down": "constant(period=0.5)", "copy": "kept"}],
        }
    )
    rows = measured(network, engine=engine, horizon=2000)
    waited = [rows[group, "queueing_delay"].measured for group, metric in rows if metric == "queueing_delay"]
    # In half a unit of time one answer may leave at once, and none that waits for the message before it; but for
    # those that are to leave after the horizon, up to which the faults are known.
    assert max(waited) < 0.01
    assert all(0 < rows[group, metric].measured < 0.5 for group, metric in rows if metric == "answered")
