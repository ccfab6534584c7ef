"""Bandwidth: what is served, how long answers wait, and what is turned away, measured beside predicted.

Verdicts are those of the product: with all formulas right, a table shows a `differ` with
probability 0.01; seeds are fixed. The resolution of every check is asserted with it.
"""

from __future__ import annotations

import pytest
from loaded import E1, cluster, redundant

import replnet as rn

pytestmark = pytest.mark.verification

SOURCE, REPLICA, CLIENT = {"updates": E1}, {"downloads": E1}, {"queries": E1}


def measured(network, **how):
    result = rn.emulate(network, seed=1, **{"horizon": 2e4, **how})
    return {(row.group, row.metric): row for row in result.rows}


def assert_agrees(row, predicted, within):
    """And an error of twice `within` would have shown."""
    assert row.predicted == pytest.approx(predicted)
    assert row.verdict == "agree"
    assert row.ci_high - row.ci_low <= 2 * within * predicted


def graph(links, nodes, **fields):
    return rn.Network.from_data({"kind": "graph", "links": links, "nodes": nodes, **fields})


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


def test_lines_have_forgotten_how_they_began():
    """600 replications of 2 units of time each, at a load of 3/4: the wait is that of Pollaczek and Khinchine.

    Lines that began empty would make it 0.39; the standard error is 0.05, so 0.25 is five of these.
    """
    network = rn.redundant(replicas=1, ask=1, updates=E1, downloads=E1, queries="exponential(rate=0.5)", bandwidth=2)
    rows = measured(network, horizon=1200, replications=600, confirm=False)
    row = rows["clients", "queueing_delay"]
    assert row.predicted == pytest.approx(0.75)
    assert abs(row.measured - 0.75) < 0.25
    assert row.note == ""


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


def test_short_lines_turn_pulls_away_so_that_no_formula_knows_what_is_left():
    """By hand 3 - 1 / (1 + 1 / 3), of M/D/1/1, and not 3 - 1."""
    rows = measured(rn.single(updates=E1, downloads=E1, bandwidth=3, queue=1))
    assert rows["level 1", "service_rate"].measured == pytest.approx(2.25, rel=0.02)
    assert rows["level 1", "service_rate"].predicted is None
    assert "overflow" in rows["level 1", "service_rate"].note


def test_exchange_that_fills_a_short_line_now_and_then_leaves_room_for_clients():
    nodes = {"s": SOURCE, "q": SOURCE, "r": {"downloads": "gamma(shape=2.5, rate=1)"}, "c": CLIENT}
    rows = measured(graph(["s -> r", "q -> r", "r -> c"], nodes, bandwidth=2, queue=3))
    assert rows["clients", "rejected"].measured < 0.95
    assert rows["clients", "rejected"].predicted is None
    assert rows["level 1", "service_rate"].predicted is None


def test_lost_queries_load_no_line_and_lost_pulls_are_spent():
    """A share of 0.7 of 10 / 2 queries comes to each replica, which still pulls once."""
    rows = measured(redundant(10, replicas=2, ask=1, bandwidth=10, faults=[{"lose": 0.3}]))
    load = 1 + 5 * 0.7
    assert_agrees(rows["clients", "queueing_delay"], load / 10 / (2 * (10 - load)), 0.03)
    assert_agrees(rows["level 1", "service_rate"], 2 * (10 - 1), 0.01)


def test_lost_queries_are_not_turned_away():
    rows = measured(redundant(40, replicas=2, ask=1, bandwidth=10, faults=[{"lose": 0.3}]))
    assert_agrees(rows["clients", "rejected"], 1 - 9 / 14, 0.01)


def test_only_what_passes_between_two_sides_is_lost():
    """Of two replicas the pulls of one get to the source half of the time, and 1.5 come for which 1.2 can be sent."""
    nodes = {"s": {**SOURCE, "bandwidth": 1.2}, "a": REPLICA, "b": REPLICA}
    rows = measured(graph(["s -> a", "s -> b"], nodes, faults=[{"lose": 0.5, "between": ["s", "b"]}]))
    assert_agrees(rows["s", "rejected"], 1 - 1.2 / 1.5, 0.05)


@pytest.mark.parametrize(
    "fault",
    [
        {"crash": "replicas", "up": "exponential(mean=2)", "down": "exponential(mean=2)"},
        {"cut": ["replicas", "clients"], "up": "exponential(mean=2)", "down": "exponential(mean=2)"},
    ],
    ids=["crash", "cut"],
)
def test_lines_that_are_not_there_all_the_time_have_no_formula_but_turn_nothing_away_either(fault):
    rows = measured(redundant(10, replicas=2, ask=1, bandwidth=10, faults=[fault]))
    assert rows["clients", "queueing_delay"].predicted is None
    assert rows["level 1", "service_rate"].predicted == (None if "crash" in fault else 18)
    assert rows["clients", "rejected"].predicted == rows["clients", "rejected"].measured == 0
    rows = measured(redundant(60, replicas=2, ask=1, bandwidth=10, faults=[fault]))
    assert rows["clients", "rejected"].predicted is None
    assert "crash, are cut off" in rows["clients", "rejected"].note


def test_a_member_of_a_pool_answers_others_and_not_itself():
    """Only one of two polls: it spends 1 + 3, and so does the other, which has 3 to answer."""
    nodes = {"s": SOURCE, "a": {**REPLICA, "polls": "exponential(rate=3)", "pool": "all", "group": "a"}, "b": REPLICA}
    rows = measured(graph(["s -> a", "s -> b"], nodes, pools={"all": ["a", "b"]}, bandwidth=8, charge="both"))
    assert_agrees(rows["a", "service_rate"], 4, 0.02)
    assert_agrees(rows["level 1", "service_rate"], 4, 0.02)


def test_who_asks_more_often_waits_more_often():
    """One client in seven queries waits at a load of 0.2, the others at one of 0.7."""
    nodes = {"s": SOURCE, "a": REPLICA, "b": REPLICA, "c": CLIENT, "d": {"queries": "exponential(rate=6)"}}
    rows = measured(graph(["s -> a", "s -> b", "a -> c", "b -> d"], nodes, bandwidth=10), horizon=5e4)
    waits = [load / (2 * 10 * (1 - load)) for load in (0.2, 0.7)]
    assert_agrees(rows["clients", "queueing_delay"], (waits[0] + 6 * waits[1]) / 7, 0.03)


def test_pulls_that_an_overloaded_replica_cannot_send_do_not_come_to_its_source():
    """It sends 2 of 5, and the source can answer 3."""
    nodes = {"s": {**SOURCE, "bandwidth": 3.0}, "a": {"downloads": "exponential(rate=5)", "bandwidth": 2.0}}
    rows = measured(graph(["s -> a"], nodes))
    assert_agrees(rows["level 1", "rejected"], 1 - 2 / 5, 0.01)
    assert rows["s", "rejected"].measured == 0
    assert rows["s", "rejected"].predicted is None


def test_queries_whose_rate_swings_slowly_overflow_below_a_load_of_one():
    network = redundant(5, replicas=1, ask=1, bandwidth=8, queue=30)
    swinging = rn.Network.from_data(network.data() | {"queries": "diurnal(rate=5, swing=0.8, period=300)"})
    rows = measured(swinging)
    assert rows["clients", "rejected"].measured > 0.02
    assert rows["clients", "rejected"].predicted is None
    assert rows["clients", "answered"].predicted is None
