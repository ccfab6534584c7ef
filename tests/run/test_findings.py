"""What is measured of staleness, and what is said where it has no variance, no mean or no date."""

from __future__ import annotations

import pytest
from loaded import E1, cluster

import replnet as rn
from replnet.engines import start

PARETO, CONSTANT = "pareto(alpha=3, rate=2)", "constant(rate=2)"
FIGURES = ("staleness", "currency(0.4)", "source_penalty(x)", "missing_updates", "update_penalty(1/(1+x))")
CHURN = {"crash": "level 1", "up": "exponential(mean=5)", "down": "exponential(mean=1)", "copy": "empty"}


def table(network, names, **how):
    """The rows of a run by metric, those of the last group."""
    return {row.metric: row for row in rn.emulate(network, **{"horizon": 2e3, "measure": names, **how}).rows}


def test_what_has_no_variance_has_no_interval_and_what_has_no_mean_no_verdict():
    """Pareto 3 downloads: w3(D) = D^2 / 2 has no variance; with w = x not even a mean. Pareto 5 has both for w = 1."""
    rows = table(rn.single(updates=CONSTANT, downloads=PARETO), (*FIGURES, "update_penalty(x)"))
    kept = {name for name, row in rows.items() if row.ci_low is not None}
    assert kept == {"freshness", "staleness", "currency(0.4)", "update_penalty(1/(1+x))"}
    assert rows["missing_updates"].predicted == pytest.approx(2)
    assert rows["missing_updates"].verdict == "unresolved"
    assert rows["update_penalty(x)"].predicted is None
    assert rows["update_penalty(x)"].verdict == ""
    assert "infinite because E[w2(X)], w = x, is" in rows["update_penalty(x)"].note
    light = table(rn.single(updates=CONSTANT, downloads="pareto(alpha=5, rate=2)"), ["missing_updates"])
    assert light["missing_updates"].ci_low is not None


HEAVY, LIGHT, QUERIES = "pareto(alpha=1.4, rate=1)", "exponential(rate=1)", "exponential(rate=2)"


def asking(ask: int, links: str, **downloads: str) -> rn.Network:
    """A client that asks so many of `a`, `b` and `c`."""
    nodes = {name: {"downloads": law} for name, law in downloads.items()}
    nodes |= {"s": {"updates": "exponential(rate=1)"}, "client": {"queries": QUERIES, "ask": ask}}
    ways = [pair.replace(">", " -> ") for pair in links.split()]
    return rn.graph(nodes=nodes, links=[*ways, "a -> client", "b -> client", "c -> client"])


def churned(down: str) -> rn.Network:
    faults = [CHURN | {"down": down, "copy": "kept"}]
    return rn.single(updates=LIGHT, downloads=LIGHT, faults=faults)


APART = "s>a s>b s>c"
BOTH = asking(2, APART, a=PARETO, b=PARETO, c=PARETO)
MANY = {"rates": [1, 2], "budget": 4, "replicas": 2, "ask": 2, "downloads": PARETO, "queries": QUERIES}
INTERVALS = {  # what has an interval of the freshness and the lag at the edge of a network
    # P(A > x) falls like x^-2 of Pareto(3) intervals, and of two like x^-4: lag takes a third moment of the age.
    "one copy": (asking(1, APART, a=PARETO, b=PARETO, c=PARETO), {"freshness"}),
    "two copies": (BOTH, {"freshness", "lag"}),
    "two, of which one may be heavy": (asking(2, APART, a=PARETO, b=LIGHT, c=LIGHT), {"freshness", "lag"}),
    "two of which both may be heavy": (asking(2, APART, a=PARETO, b=PARETO, c=LIGHT), {"freshness", "lag"}),
    "two by the same way": (asking(2, "s>u u>a u>b s>c", u=PARETO, a=LIGHT, b=LIGHT, c=LIGHT), {"freshness"}),
    "three, two of them by the same way": (
        asking(3, "s>u u>a u>b s>c", u=PARETO, a=LIGHT, b=LIGHT, c=LIGHT), {"freshness", "lag"},
    ),
    # Of intervals without a variance the freshest of two has none either, x^-0.8, and that of three has, x^-1.2.
    "two without a variance": (asking(2, APART, a=HEAVY, b=HEAVY, c=HEAVY), set()),
    "three without a variance": (asking(3, APART, a=HEAVY, b=HEAVY, c=HEAVY), {"freshness"}),
    # A copy may come alone: where messages get lost, and where another that is asked has copies of another source.
    "two of which one may get lost": (rn.Network.from_data(BOTH.data() | {"faults": [{"lose": 0.1}]}), {"freshness"}),
    "two of two sources": (
        rn.graph(
            nodes={name: {"downloads": PARETO} for name in "ab"} | {name: {"updates": LIGHT} for name in "st"}
            | {"client": {"queries": QUERIES, "ask": 2}},
            links=["s -> a", "t -> b", "a -> client", "b -> client"],
        ),
        {"freshness"},
    ),
    # Replicas that share the instants of one process are old together.
    "two in turns": (rn.aggregate(**MANY, share="turns"), {"freshness"}),
    "two by themselves": (rn.aggregate(**MANY, share="independently"), {"freshness", "lag"}),
    "outages without a variance": (churned(PARETO), {"freshness"}),
    "outages": (churned("exponential(mean=1)"), {"freshness", "lag"}),
}  # fmt: skip


@pytest.mark.parametrize("case", INTERVALS)
def test_there_are_intervals_where_there_is_a_variance(case):
    """That of answers is that of the freshest of what is asked."""
    network, known = INTERVALS[case]
    rows = table(network, ["lag"], horizon=400, confirm=False)
    assert {metric for metric in ("freshness", "lag") if rows[metric].ci_low is not None} == known
    assert all("infinite variance" in rows[metric].note for metric in {"freshness", "lag"} - known)
    assert case != "outages" or "kept through a crash" in rows["lag"].note


def test_copies_that_cannot_be_dated_are_left_out_and_said(monkeypatch):
    monkeypatch.setattr(start, "MOST_PULLS_FOR_AGES", {"array": 1.0})
    net = rn.cascade(depth=2, branching=1, updates="exponential(rate=9)", downloads="pareto(alpha=2.1, rate=1)")
    rows = rn.emulate(net, horizon=64, measure=["staleness"]).rows
    row = next(row for row in rows if (row.group, row.metric) == ("level 2", "staleness"))
    assert row.ci_low is None
    assert "the age of copies is unknown" in row.note


def test_a_copy_that_is_lost_at_time_zero_is_not_behind():
    gone = {"crash": "level 1", "at": 0, "lasts": 2, "copy": "empty"}
    net = rn.single(updates="exponential(rate=1)", downloads="exponential(rate=0.2)", faults=[gone])
    for engine in ("array", "step"):
        rows = table(net, ["staleness"], engine=engine, replications=10, confirm=False)
        assert rows["staleness"].measured == pytest.approx(1 - rows["freshness"].measured, rel=1e-9)


def test_it_is_measured_against_updates_that_happened():
    plain = rn.single(updates="exponential(rate=2)", downloads="exponential(rate=2)")
    with pytest.raises(ValueError, match="against the updates that happened"):
        rn.emulate(plain, estimator="conditional", measure=["lag"])
    assert rn.emulate(plain, horizon=64, estimator="conditional", measure=["freshness"]).rows


@pytest.mark.parametrize("engine", ["array", pytest.param("step", marks=pytest.mark.slow)])
def test_lines_whose_start_is_not_proven_are_not_compared(engine, tmp_path):
    """A load of exactly 1 forgets how it began after 2.5e5 units of time; what replicas exchange is not held up."""
    net = cluster(replicas=2, peers=1, queue=1000, clients={"ask": 1, "queries": "exponential(rate=36)"}, polls=E1)
    found = rn.emulate(net, engine=engine, horizon=200, replications=4, confirm=False, out=tmp_path / "run")
    words = {(row.group, row.metric): row for row in found.rows}
    rate = words["cluster", "service_rate"]
    assert rate.predicted is not None
    assert (rate.verdict, rate.z) == ("", None)
    assert (
        "not compared: queues take about 2.5e+05 units of time to forget how they began, and the replayed past goes"
        in rate.note
    )
    assert all("not compared" in row.note for row in found.rows if row.group == "clients")
    for row in (words["cluster", "rejected"], words["cluster", "freshness"], words["source", "rejected"]):
        assert row.verdict
        assert "not compared" not in row.note
    kept = rn.open(tmp_path / "run").table.set_index(["group", "metric"])
    assert kept.loc[("cluster", "service_rate"), "verdict"] == ""
    assert kept.loc[("cluster", "rejected"), "verdict"] == words["cluster", "rejected"].verdict


def test_what_is_infinite_or_too_rare_has_no_interval():
    unheeded = rn.aggregate(rates=[0, 1, 9], weights=[1, 2, 0], budget=1, allocate="freshness")
    rows = rn.emulate(unheeded, horizon=2e3, measure=["missing_updates"]).rows
    assert all(row.metric != "missing_updates" or row.measured is not None for row in rows)  # its weight is 0
    starved = rn.aggregate(rates=[1, 9], budget=1, order="fixed", allocate="freshness")
    row = next(r for r in rn.emulate(starved, horizon=2e3, measure=["lag"]).rows if r.metric == "lag")
    assert (row.measured, row.predicted) == (None, None)
    assert "never downloaded" in row.note
    rare = rn.aggregate(sources=15, updates="exponential(rate=3)", budget=15)
    row = next(r for r in rn.emulate(rare, horizon=300).rows if r.metric == "all_fresh")
    assert row.ci_low is None
    assert row.note.startswith("no interval: too rare, seen in ")
    heavy = rn.aggregate(sources=50, updates="exponential(rate=1)", budget=50, downloads="pareto(alpha=1.4)")
    row = rn.emulate(heavy, horizon=300).rows[0]
    assert row.note == "no interval: infinite variance of pareto(alpha=1.4, rate=1)"
    locked = rn.aggregate(sources=50, updates="constant(rate=1)", budget=100)
    assert rn.emulate(locked, horizon=300).rows[0].note.startswith("phase-lock: ")


SEVERAL = {"rates": [1, 2, 0.5], "weights": [1, 3, 2], "budget": 5, "replicas": 3, "ask": 2}
AGGREGATES = {
    "random order": rn.aggregate(rates=[1, 2, 0.5], weights=[1, 3, 2], budget=5, order="random"),
    "starved": rn.aggregate(rates=[1, 9], budget=1, allocate="freshness", queries="exponential(rate=3)"),
    "in turns": rn.aggregate(**SEVERAL, queries=QUERIES),
    "by themselves": rn.aggregate(**SEVERAL, share="independently", downloads="gamma(2)"),
}


@pytest.mark.parametrize("network", AGGREGATES.values(), ids=AGGREGATES)
def test_copies_of_many_sources_are_measured_as_predicted(network):
    """One seed in a hundred fails right code."""
    found = rn.emulate(network, horizon=5e3, measure=["staleness_age", "missing_updates", "update_penalty(x)"])
    assert {row.verdict for row in found.rows} <= {"agree", "unresolved", ""}
    assert found.about("freshness", "copies")[0].verdict == "agree"


def test_what_has_no_formula_where_copies_and_queries_get_lost_says_why():
    crashing = rn.cooperative(
        replicas=3, peers=1, updates=LIGHT, downloads=LIGHT, polls=LIGHT, faults=[CHURN | {"crash": "replicas"}]
    )
    (row,) = rn.predict(crashing).about("availability")
    assert "replicas that lose their copy and get it back by polls" in row.note
    lost = [{"lose": 0.1, "between": ["client", "a"]}]
    (row,) = rn.predict(rn.Network.from_data(BOTH.data() | {"faults": lost})).about("answered")
    assert "queries, some of which are lost more often than others" in row.note
