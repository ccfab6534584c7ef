"""Bandwidth: what is served, how long answers wait, and what is turned away, measured beside predicted.

Verdicts are those of the product: with all formulas right, a table shows a `differ` with
probability 0.01; seeds are fixed. The resolution of every check is asserted with it.
"""

from __future__ import annotations

import math

import pytest

import replnet as rn
from replnet.ages.queueing import NEVER, ebb, growth, needed
from replnet.engines import step
from replnet.engines.lines import Lines
from replnet.engines.plan import plan

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


def graph(links, nodes, **fields):
    return rn.Network.from_data({"kind": "graph", "links": links, "nodes": nodes, **fields})


SOURCE, REPLICA, CLIENT = {"updates": E1}, {"downloads": E1}, {"queries": E1}


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


def test_a_line_that_loses_its_clients_on_schedule_has_no_steady_rate_of_service():
    """It begins with a thousand messages in line, which all leave when nobody asks any more."""
    for when, known in (({"at": 7.0}, False), ({"up": E1, "down": E1}, True)):
        fault = {"cut": ["clients", "replicas"], **when}
        rows = rn.predict(redundant(60, replicas=1, ask=1, faults=[fault])).rows
        assert [row.predicted for row in rows if row.metric == "service_rate"] == [19 if known else None]


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


def test_polls_of_recent_contacts_come_in_swarms_for_which_there_is_no_formula():
    clients = {"ask": 1, "queries": "exponential(rate=20)"}
    for charge, known in (("issued", True), ("both", False)):
        network = cluster(replicas=4, polls=E1, peers=2, select="recent", charge=charge, clients=clients)
        found = {(row.group, row.metric): row.predicted for row in rn.predict(network).rows}
        assert (found["clients", "queueing_delay"] is not None) == known


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


@pytest.mark.parametrize(
    "network",
    [
        graph(["s -> r", "r -> c"], {"s": SOURCE, "t": SOURCE, "r": REPLICA, "c": CLIENT}, bandwidth=20, queue=3),
        graph([], {"s": SOURCE, "a": REPLICA}, bandwidth=5),
        graph(["s -> a", "a -> c"], {"s": {**SOURCE, "bandwidth": 9.0}, "a": REPLICA, "c": CLIENT}),
    ],
    ids=["a source that nobody asks", "a replica that asks nobody", "only a source with a limit"],
)
def test_lines_that_nobody_asks_anything_of_are_no_trouble(network):
    found = measured(network, horizon=200)
    assert all(row.measured in (0, None) for (_, metric), row in found.items() if metric == "rejected")


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


def test_poisson_arrivals_grow_as_they_do():
    assert growth(rn.law("exponential(rate=3)"), 0.5, 2, 0.1) == pytest.approx(3 * 0.5 * math.expm1(0.2))


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_other_arrivals_grow_by_their_transform_or_a_little_more(share):
    """(b / (b + g))^2 = 1 / (1 + more), and exp(-g) = 1 / (1 + more)."""
    more = share * math.expm1(0.1)
    gamma, right = growth(rn.law("gamma(shape=2, rate=1)"), share, 1, 0.1), 2 * (math.sqrt(1 + more) - 1)
    assert right <= gamma <= 1.01 * right
    constant, right = growth(rn.law("constant(rate=1)"), share, 1, 0.1), math.log1p(more)
    assert right <= constant <= 1.01 * right


def test_what_has_no_bound_grows_without_one():
    assert growth(rn.law("diurnal(rate=1, swing=0.8, period=300)"), 1.0, 1, 0.1) == math.inf
    assert ebb(rn.law("diurnal(rate=1, swing=0.8, period=300)"), 1.0, 1, 0.1) == 0
    assert needed(2, 2) == math.inf


def test_a_line_overflows_where_its_growth_says_so():
    """Of single messages at half load, exp(-1.2564 K): the root of exp(t) - 1 = 2 t."""
    places = -math.log(NEVER) / 1.2564 + 1
    for queue, predicted in ((math.floor(places), None), (math.ceil(places), 0)):
        network = rn.single(updates=E1, downloads=E1, bandwidth=2, queue=queue)
        found = {(row.group, row.metric): row.predicted for row in rn.predict(network).rows}
        assert found["level 1", "rejected"] == predicted


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
