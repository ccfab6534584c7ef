"""Bandwidth: what is served, how long answers wait, and what is turned away, measured beside predicted.

Verdicts are those of the product: with all formulas right, a table shows a `differ` with
probability 0.01; seeds are fixed. The resolution of every check is asserted with it.
"""

from __future__ import annotations

import math

import pytest

import replnet as rn
from replnet.engines import step
from replnet.engines.lines import Lines
from replnet.engines.plan import plan
from replnet.theory.load import Line

E1 = "exponential(rate=1)"


def cluster(**fields):
    usual = {
        "replicas": 10,
        "peers": 3,
        "updates": E1,
        "downloads": E1,
        "polls": "exponential(rate=2)",
        "bandwidth": 20,
    }
    return rn.cooperative(**{**usual, **fields})


def redundant(rate, **fields):
    usual = {"replicas": 10, "ask": 3, "updates": E1, "downloads": E1, "bandwidth": 20}
    return rn.redundant(queries=f"exponential(rate={rate})", **{**usual, **fields})


def measured(network, **how):
    result = rn.emulate(network, seed=1, **{"horizon": 2e4, **how})
    return {(row.group, row.metric): row for row in result.rows}


def assert_agrees(row, predicted, within):
    """And an error of twice `within` would have shown."""
    assert row.predicted == pytest.approx(predicted)
    assert row.verdict == "agree"
    assert row.ci_high - row.ci_low <= 2 * within * predicted


@pytest.mark.parametrize(("engine", "horizon", "within"), [("array", 2e4, 0.01), ("step", 1e3, 0.03)])
@pytest.mark.parametrize("polls", ["exponential(rate=2)", "pareto(alpha=3, rate=2)"])
def test_a_cluster_serves_what_eq_30_leaves_it(engine, horizon, within, polls):
    rows = measured(cluster(polls=polls), engine=engine, horizon=horizon)
    assert_agrees(rows["cluster", "service_rate"], 10 * (20 - 1 - 3 * 2), within)
    assert rows["cluster", "rejected"].measured == 0


def test_with_both_charged_answers_to_peers_are_spent_too():
    rows = measured(cluster(charge="both"))
    assert_agrees(rows["cluster", "service_rate"], 10 * (20 - 1 - 2 * 3 * 2), 0.01)


@pytest.mark.parametrize("ask", [1, 3, 5])
@pytest.mark.parametrize("rate", [5, 25])
def test_redundant_queries_share_what_is_left(ask, rate):
    """Eq. 34: (B - lambda) m / k, however much of it clients really ask for."""
    rows = measured(redundant(rate, ask=ask))
    assert_agrees(rows["level 1", "service_rate"], 10 * (20 - 1) / ask, 0.01)
    assert_agrees(rows["clients", "answered"], 1.0, 1e-9)


def test_lines_are_those_of_pollaczek_and_khinchine():
    """Of 1 + 50 * 3 / 10 messages where 20 could be sent."""
    rows = measured(redundant(50))
    work = 16 * (1 / 20) ** 2
    assert_agrees(rows["clients", "queueing_delay"], work / (2 * (1 - 16 / 20)), 0.02)


def test_clients_wait_in_the_order_of_arrival():
    """Four messages a unit of time to replicas and four to clients, where ten could be sent: 0.2 of a unit.

    If those to replicas went first, clients would wait 1/3 (Cobham 1954).
    """
    network = cluster(
        replicas=4, peers=1, polls="exponential(rate=3)", bandwidth=10,
        clients={"ask": 1, "queries": "exponential(rate=16)"},
    )  # fmt: skip
    row = measured(network, horizon=5e4)["clients", "queueing_delay"]
    assert_agrees(row, 8 * (1 / 10) ** 2 / (2 * (1 - 8 / 10)), 0.02)


def test_clients_who_ask_for_more_than_there_is_are_turned_away_and_replicas_are_not():
    rows = measured(redundant(100))
    assert_agrees(rows["clients", "rejected"], 1 - 19 / 30, 0.01)
    assert_agrees(rows["level 1", "freshness"], 0.5, 0.02)
    assert rows["level 1", "rejected"].measured == 0
    # A line is full then: a thousand messages, of which each takes 1/20.
    assert rows["clients", "queueing_delay"].measured == pytest.approx(50, rel=0.01)


def test_a_source_answers_no_more_than_its_bandwidth():
    rows = measured(rn.cascade(depth=1, branching=10, updates=E1, downloads=E1, bandwidth=4))
    assert_agrees(rows["source", "rejected"], 1 - 4 / 10, 0.01)
    row = rows["level 1", "freshness"]
    assert row.predicted is None
    assert "bandwidth" in row.note
    assert row.ci_high < 0.5 - 0.1


def test_short_lines_overflow_and_no_formula_claims_otherwise():
    rows = measured(redundant(50, queue=2))
    assert rows["clients", "rejected"].measured > 0.05
    assert rows["clients", "rejected"].predicted is None
    assert rows["clients", "answered"].predicted is None


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
        assert [lines.issue(1, 1.0) for _ in range(4)] == [True, True, True, False]
        assert lines.answer(1, 2, 1.0) is None

    def test_what_nobody_uses_is_spare(self):
        lines = self.lines()
        lines.answer(1, 2, -0.25)  # busy until 0.25
        assert lines.totals(3.0).spare[1] == 3 - 0.25
        lines.answer(1, 2, 4.0)
        assert lines.totals(10.0).spare[1] == 10 - 0.25 - 0.5

    def test_a_node_that_is_down_has_nothing_to_spare(self):
        lines = self.lines()
        lines.answer(1, 2, 1.0)
        lines.down(1, 1.2)
        lines.up(1, 5.0)
        assert lines.answer(1, 2, 5.0) == 0.0
        assert lines.totals(10.0).spare[1] == 1 + 10 - 5.5


def test_a_line_overflows_where_its_decay_says_so():
    """Of single messages at half load, exp(-1.2564 K): the root of exp(t) - 1 = 2 t."""
    line = Line(2.0, ((1.0, 1.0),))
    assert line.overflows(int(-math.log(1e-6) / 1.2564))
    assert not line.overflows(math.ceil(-math.log(1e-6) / 1.2564) + 3)


def test_answers_leave_after_their_line():
    """A client of a busy replica gets what the replica held when it was asked, later."""
    network = rn.redundant(
        replicas=1, ask=1, updates="constant(period=100)", downloads="constant(period=0.5)",
        queries="constant(period=0.25)", bandwidth=7,
    )  # fmt: skip
    path = step.run_path(plan(network), 3, 0, 50.0, True)
    waited, came = path.shares["clients", "queueing_delay"]
    # Two pulls and four queries per unit of time, a seventh each: now and then one waits for another.
    assert 0 < waited / came < 1 / 7
    assert path.shares["clients", "rejected"][0] == 0
