"""Copies of several sources: one mean for all metrics, rows per source, and a log that each can be measured from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from command_line import replnet
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from networks import graphs, of_several_sources

import replnet as rn
from replnet.cli.main import BAD_INPUT, FINE
from replnet.engines.plan import plan

NAMES = ("staleness", "staleness_age", "missing_updates", "lag", "currency(0.4)")
SOURCES = {
    "slow": {"role": "source", "updates": "exponential(rate=0.1)"},
    "fast": {"role": "source", "updates": "exponential(rate=1)"},
}
ORDERS = (("slow", "fast"), ("fast", "slow"))


def of(order, nodes, links, **more) -> rn.Network:
    return rn.graph(nodes={name: SOURCES[name] for name in order} | nodes, links=links, **more)


def one_replica(order=ORDERS[0], **more) -> rn.Network:
    return of(order, {"r": {"downloads": "exponential(rate=1)"}}, ["slow -> r", "fast -> r"], **more)


def rows_of(result) -> dict:
    return {(row.group, row.metric): row for row in result.rows}


@pytest.mark.parametrize("engine", ["array", "step"])
@pytest.mark.parametrize("order", ORDERS)
def test_staleness_is_what_freshness_leaves(order, engine):
    """At rates 0.1 and 1 with downloads at 1: 1/11 and 1/2 of the time."""
    horizon = {"array": 2e4, "step": 2e3}[engine]
    rows = rows_of(rn.emulate(one_replica(order), engine, horizon=horizon, measure=NAMES, confirm=False))
    fresh, stale = rows["level 1", "freshness"], rows["level 1", "staleness"]
    assert stale.predicted == pytest.approx((1 / 11 + 1 / 2) / 2, rel=1e-9)
    assert stale.predicted == pytest.approx(1 - fresh.predicted, rel=1e-12)
    assert stale.measured == pytest.approx(1 - fresh.measured, rel=1e-9)
    assert stale.verdict != "differ"
    # Of what each misses, and of the time since, over stale time.
    assert rows["level 1", "missing_updates"].predicted == pytest.approx((0.1 + 1) / 2)
    assert rows["level 1", "lag"].predicted == pytest.approx(1)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(network=graphs(), seed=st.integers(0, 2**32), data=st.data())
def test_the_order_of_the_sources_does_not_matter(network, seed, data):
    lines = network.data()["nodes"]
    sources = [name for name, node in lines.items() if "updates" in node]
    assume(len(sources) > 1)
    order = data.draw(st.permutations(sources).filter(lambda order: order != sources))
    other = rn.Network.from_data({**network.data(), "nodes": {name: lines[name] for name in order} | lines})
    how = {"horizon": 40, "replications": 2, "confirm": False, "seed": seed % 2**31, "measure": NAMES, "by": "source"}
    ours, theirs = (rows_of(rn.emulate(one, **how)) for one in (network, other))
    assert set(ours) == set(theirs)
    for key, row in ours.items():
        # What hears of no source counts for the first, in rows of single sources.
        if " of " in key[0] and not all_hear(network, key[0]):
            continue
        for found, same in ((row.measured, theirs[key].measured), (row.predicted, theirs[key].predicted)):
            assert (found is None) == (same is None), key
            assert found is None or found == pytest.approx(same, rel=1e-8, abs=1e-8), key


def all_hear(network: rn.Network, part: str) -> bool:
    compiled = plan(network)
    return bool(compiled.can_hold[:, compiled.group == compiled.group_source_rows[part][0]].any(axis=0).all())


# Rows per source

DEEP = of(
    ORDERS[0],
    {
        "top": {"downloads": "exponential(rate=2)"},
        "low": {"downloads": "exponential(rate=1)"},
        "client": {"queries": "exponential(rate=2)", "ask": 1},
    },
    ["slow -> top", "fast -> low", "top -> low", "top -> client", "low -> client"],
)
ALL_ROWS = {
    "level 1", "level 1 of slow", "level 1 of fast", "clients", "clients of slow", "clients of fast",
}  # fmt: skip


@pytest.mark.parametrize("engine", ["array", "step"])
def test_there_is_a_row_for_every_source_that_can_be_heard(engine):
    """`top` hears of one source and `low` of both; a query to `top` brings nothing of the other."""
    horizon = {"array": 1e4, "step": 2e3}[engine]
    result = rn.emulate(DEEP, engine, horizon=horizon, measure=NAMES, confirm=False, by="source")
    rows, plain = rows_of(result), rows_of(rn.emulate(DEEP, engine, horizon=horizon, measure=NAMES, confirm=False))
    groups = list(dict.fromkeys(group for group, _ in rows))
    assert set(groups) == ALL_ROWS
    assert groups == [*groups[:3], *groups[3:]]
    assert groups[0] == "level 1"
    assert [row for row in groups if row.startswith("level")] == ["level 1", "level 1 of slow", "level 1 of fast"]
    assert {metric for _, metric in rows} == {"freshness", *NAMES}
    for key, row in plain.items():
        assert (row.measured, row.predicted) == (rows[key].measured, rows[key].predicted)
    predicted = rows_of(rn.predict(DEEP, measure=NAMES, by="source"))
    assert set(predicted) == set(rows)
    for key, row in rows.items():
        assert row.predicted == predicted[key].predicted
        assert row.predicted is not None, key
        assert row.verdict != "differ", key
    # Both replicas have `slow`, and by P2P eq. 28 with exponential laws a factor for each hop.
    top, low = 2 / 2.1, 2 / 2.1 * 1 / 1.1
    assert predicted["level 1 of slow", "freshness"].predicted == pytest.approx((top + low) / 2)
    assert predicted["level 1 of fast", "freshness"].predicted == pytest.approx(1 / 2)
    assert predicted["level 1", "freshness"].predicted == pytest.approx((top + low + 1 / 2) / 3)
    # An answer without `fast` is not fresh, and so stale.
    assert predicted["clients of fast", "freshness"].predicted == pytest.approx(1 / 4)
    assert predicted["clients of fast", "staleness"].predicted == pytest.approx(3 / 4)
    assert predicted["clients", "staleness"].predicted == pytest.approx(1 - (top + low + 1 / 2) / 4)
    # Half of the updates of the answers that came with a copy of it, 1 / 1 of them missed.
    assert predicted["clients of fast", "missing_updates"].predicted == pytest.approx(1)
    assert predicted["clients of fast", "missing_updates"].note == "over the 50 % of answers that bring a copy"
    assert predicted["clients", "missing_updates"].note == "over the 75 % of answers that bring a copy"
    assert predicted["clients of slow", "missing_updates"].note == ""


def test_of_one_source_there_are_no_rows_besides():
    net = rn.single(updates="exponential(rate=1)", downloads="exponential(rate=1)")
    assert [row.group for row in rn.emulate(net, horizon=300, by="source").rows] == ["level 1"]
    many = rn.aggregate(rates=[1, 2], budget=2, order="fixed", allocate="uniform")
    assert rn.predict(many, by="source").rows == rn.predict(many).rows


def test_a_heavy_tail_spoils_the_rows_of_its_own_source():
    heavy = SOURCES | {"fast": {"role": "source", "updates": "pareto(alpha=1.4, rate=1)"}}
    net = rn.graph(nodes=heavy | {"r": {"downloads": "exponential(rate=1)"}}, links=["slow -> r", "fast -> r"])
    rows = rows_of(rn.emulate(net, horizon=3e3, measure=["lag"], by="source", confirm=False))
    known = {group for (group, metric), row in rows.items() if row.ci_low is not None and metric == "lag"}
    assert known == {"level 1 of slow"}
    assert "infinite variance" in rows["level 1 of fast", "freshness"].note


def test_the_command_line_takes_it(tmp_path):
    file = tmp_path / "two.yaml"
    file.write_text(
        "kind: graph\nnodes:\n  a: {role: source, updates: exponential(rate=1)}\n"
        "  b: {role: source, updates: exponential(rate=2)}\n  r: {downloads: exponential(rate=2)}\n"
        "links: [a -> r, b -> r]\n"
    )
    done = replnet("predict", str(file), "--by", "source", "--measure", "lag")
    assert done.returncode == FINE, done.stderr
    assert [line.split("  ")[0] for line in done.stdout.splitlines()[2:5]] == [
        "level 1",
        "level 1 of a",
        "level 1 of b",
    ]
    run = ("run", str(file), "--horizon", "3000", "--by", "source")
    assert replnet(*run, "--threshold", "level 1 of b: freshness > 0.3").returncode == FINE
    done = replnet("run", str(file), "--threshold", "level 1 of b: freshness > 0.3")
    assert done.returncode == BAD_INPUT
    done = replnet(*run, "--engine", "live")
    assert done.returncode == BAD_INPUT
    assert "by: " in done.stderr
    with pytest.raises(ValueError, match="by: 'group' is not a way to split rows"):
        rn.emulate(DEEP, by="group")


# Groups of nodes that do not count alike


def test_clients_count_as_often_as_they_ask():
    nodes = {
        "often": {"downloads": "exponential(rate=9)"},
        "seldom": {"downloads": "exponential(rate=1)"},
        "busy": {"queries": "exponential(rate=4)"},
        "idle": {"queries": "exponential(rate=1)"},
    }
    links = ["fast -> often", "fast -> seldom", "often -> busy", "seldom -> idle"]
    rows = rows_of(rn.emulate(of(["fast"], nodes, links), horizon=2e4, measure=["staleness"], confirm=False))
    expected = (4 * 9 / 10 + 1 * 1 / 2) / 5
    assert rows["clients", "freshness"].predicted == pytest.approx(expected)
    assert rows["clients", "staleness"].predicted == pytest.approx(1 - expected)
    assert {row.verdict for row in rows.values()} == {"agree"}


def test_replicas_count_while_they_have_a_copy():
    nodes = {"steady": {"downloads": "exponential(rate=1)"}, "churned": {"downloads": "exponential(rate=9)"}}
    crash = {"crash": "churned", "up": "exponential(mean=1)", "down": "exponential(mean=9)", "copy": "empty"}
    net = of(["fast"], nodes, ["fast -> steady", "fast -> churned"], faults=[crash])
    rows = rows_of(rn.emulate(net, horizon=4e4, measure=["staleness"], confirm=False))
    # Up a tenth of the time, of which 9/10 with a copy whose age is exponential at 10.
    there, fresh = 0.1 * 0.9, 10 / 11
    expected = (1 / 2 + there * fresh) / (1 + there)
    assert rows["level 1", "availability"].predicted == pytest.approx((1 + there) / 2)
    assert rows["level 1", "freshness"].predicted == pytest.approx(expected)
    assert rows["level 1", "staleness"].predicted == pytest.approx(1 - expected)
    assert {row.verdict for row in rows.values()} == {"agree"}


def test_a_query_is_answered_by_a_copy_of_any_source_and_availability_is_over_sources():
    """A query to `top` brings nothing of `fast`; `low`, which crashes, has one of the three copies of its group."""
    lossy = rn.Network.from_data({**DEEP.data(), "faults": [{"lose": 0.1, "between": ["clients", "replicas"]}]})
    crash = {"crash": "low", "up": "exponential(mean=1)", "down": "exponential(mean=9)", "copy": "empty"}
    replicas = {"top": {"downloads": "exponential(rate=2)"}, "low": {"downloads": "exponential(rate=1)"}}
    churned = of(ORDERS[0], replicas, ["slow -> top", "fast -> top", "slow -> low"], faults=[crash])
    for net, key, expected in (
        (lossy, ("clients", "answered"), 0.9**2),
        (churned, ("level 1", "availability"), (2 + 0.1 * 1 / 2) / 3),
    ):
        rows = rows_of(rn.emulate(net, horizon=2e4, confirm=False))
        assert rows[key].predicted == pytest.approx(expected)
        assert {row.verdict for row in rows.values()} <= {"agree", ""}


# Answers without a copy of some source

APART = of(
    ORDERS[0],
    {
        "r": {"downloads": "exponential(rate=4)"},
        "q": {"downloads": "exponential(rate=4)"},
        "client": {"queries": "exponential(rate=3)", "ask": 1},
    },
    ["slow -> r", "fast -> q", "r -> client", "q -> client"],
)
SHARES = ("staleness", "currency(0)", "source_penalty(1)")
AGES = ("information_age", "lag", "missing_updates", "update_penalty(1/(1+x))")


@pytest.mark.parametrize("engine", ["array", "step"])
def test_an_answer_without_a_copy_is_stale_in_every_metric(engine):
    """Of a source that half of the answers bring: fresh 1/2 * 4/(4 + 0.1) and 1/2 * 4/(4 + 1), and ages of copies."""
    rows = rows_of(rn.emulate(APART, engine, horizon=3e3, measure=[*SHARES, *AGES, "older(1)"], by="source"))
    for source, rate in (("slow", 0.1), ("fast", 1)):
        of_source = {metric: row for (group, metric), row in rows.items() if group == f"clients of {source}"}
        fresh = 1 / 2 * 4 / (4 + rate)
        assert of_source["freshness"].predicted == pytest.approx(fresh)
        assert of_source["older(1)"].predicted == pytest.approx((1 + np.exp(-4)) / 2)
        assert of_source["information_age"].predicted == pytest.approx(1 / 4)
        assert of_source["missing_updates"].predicted == pytest.approx(rate / 4)
        assert of_source["lag"].predicted == pytest.approx(1 / 4)
        assert all(of_source[name].note.startswith("over the 50 % of answers that bring a copy") for name in AGES)
        for side in ("measured", "predicted"):
            values = {metric: getattr(row, side) for metric, row in of_source.items()}
            assert values["staleness"] == pytest.approx(1 - values["freshness"], abs=1e-12)
            assert values["source_penalty(1)"] == pytest.approx(1 - values["freshness"], abs=1e-12)
            assert values["currency(0)"] == pytest.approx(values["freshness"], abs=1e-12)
    assert all(row.verdict != "differ" for row in rows.values())


def test_what_a_share_of_all_answers_stays_within_is_infinite_where_too_few_bring_a_copy():
    names = ["age_quantile(0.3)", "age_quantile(0.6)"]
    rows = rows_of(rn.emulate(APART, horizon=3e3, measure=names))
    within, never = (rows["clients", name] for name in names)
    # P(X <= x) = (1 - exp(-4 x)) / 2 of all answers.
    assert within.predicted == pytest.approx(-np.log(1 - 0.6) / 4)
    assert within.verdict != "differ"
    assert (never.measured, never.predicted) == (None, None)
    assert never.note == "infinite because 50 % bring no copy"


def test_the_share_that_brings_a_copy_is_counted_where_there_is_no_formula():
    lossy = rn.Network.from_data({**APART.data(), "faults": [{"lose": 0.2}]})
    rows = rows_of(rn.emulate(lossy, horizon=3e3, measure=["lag", "staleness"], confirm=False))
    lag = rows["clients", "lag"]
    assert lag.predicted is None
    share = float(lag.note.partition("over the ")[2].partition(" %")[0])
    assert share == pytest.approx(50, abs=5)
    assert rows["clients", "answered"].measured == pytest.approx(0.64, abs=0.05)
    assert rows["clients", "staleness"].measured == pytest.approx(1 - rows["clients", "freshness"].measured)


def test_a_limit_that_nothing_meets_changes_nothing():
    roomy = rn.Network.from_data({**APART.data(), "bandwidth": 1e6})
    rows, plain = (rows_of(rn.emulate(net, horizon=3e3, measure=["staleness"])) for net in (roomy, APART))
    for key, row in plain.items():
        assert rows[key].measured == pytest.approx(row.measured, abs=1e-12)
    assert rows["clients", "answered"].measured == 1


def test_replicas_that_hear_of_nothing_are_stale_in_every_metric():
    """Two of three in a group."""
    nodes = {name: {"downloads": "exponential(rate=4)", "group": "all"} for name in ("r", "deaf", "mute")}
    net = of(["fast"], nodes, ["fast -> r"])
    rows = rows_of(rn.emulate(net, horizon=3e3, measure=[*SHARES, "lag"]))
    assert rows["all", "staleness"].predicted == pytest.approx(1 - 0.8 / 3)
    assert rows["all", "staleness"].measured == pytest.approx(1 - rows["all", "freshness"].measured)
    assert rows["all", "currency(0)"].measured == pytest.approx(rows["all", "freshness"].measured)
    assert rows["all", "lag"].note == "over the 33.3 % of copies that anything reaches"
    assert rows["all", "lag"].predicted == pytest.approx(1 / 4)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(network=of_several_sources() | graphs(), seed=st.integers(0, 2**31))
def test_staleness_is_what_freshness_leaves_and_currency_begins_there(network, seed):
    how = {"horizon": 40, "replications": 2, "confirm": False, "measure": SHARES, "by": "source"}
    rows = rows_of(rn.emulate(network, seed=seed, **how))
    for (group, metric), fresh in rows.items():
        if metric != "freshness":
            continue
        for side in ("measured", "predicted"):
            value, others = getattr(fresh, side), [getattr(rows[group, name], side) for name in SHARES]
            if value is None:
                assert side == "predicted" or others == [None] * 3, group
            elif None not in others:
                # The curve of a tail is integrated in another order.
                assert others == pytest.approx([1 - value, value, 1 - value], abs=1e-6), group


# The log


def measured_from(log: pd.DataFrame, horizon: float) -> dict[str, tuple[float, float]]:
    """By source, the fresh copy-time of replicas and the fresh answers, of one replication."""
    found = {}
    for source, own in log.sort_values("at", kind="stable").groupby("source", observed=True):
        mine = own[own.node == source]
        updates = np.append(mine.left.fillna(mine["at"]), np.inf)
        copies = own[own.event.isin(["start", "reply"]) & own.node.isin(["top", "low"])].dropna(subset="left").copy()
        copies["left"] = copies.groupby("node", observed=True).left.cummax()
        until = copies.groupby("node", observed=True)["at"].shift(-1).fillna(horizon)
        stale = updates[np.searchsorted(updates, copies.left, side="right")]
        answers = own[own.event == "answer"].dropna(subset="left")
        good = updates[np.searchsorted(updates, answers.left, side="right")] > answers["at"]
        found[source] = float(np.maximum(np.minimum(stale, until) - copies["at"], 0).sum()), float(good.sum())
    return found


@pytest.mark.parametrize("engine", ["array", "step"])
def test_every_source_can_be_measured_from_the_log(engine, tmp_path):
    file, horizon, r = tmp_path / "events.parquet", 30.0, 3
    how = {"seed": 3, "horizon": r * horizon, "replications": r, "confirm": False}
    rows = rows_of(rn.emulate(DEEP, engine, **how, trace=file, by="source"))
    log = pd.read_parquet(file)
    paths = [measured_from(log[log.replication == one], horizon) for one in range(r)]
    copies, queries = {"slow": 2, "fast": 1}, int((log.event == "query").sum())
    for source in copies:
        fresh, good = (sum(path[source][which] for path in paths) for which in (0, 1))
        measured = rows[f"level 1 of {source}", "freshness"].measured
        assert measured == pytest.approx(fresh / (r * horizon * copies[source]), abs=1e-12)
        assert rows[f"clients of {source}", "freshness"].measured == pytest.approx(good / queries, abs=1e-12)
    # A row for every source of which the node could have heard, whether it did or not.
    answers = log[(log.event == "answer")]
    assert answers.source.astype(str).value_counts().to_dict() == {"slow": queries, "fast": queries}
    assert answers[answers.source == "fast"].left.isna().any()
    assert log[log.event.isin(["download", "query"])].source.isna().all()
    assert set(log[(log.node == "top") & (log.event == "reply")].source) == {"slow"}
