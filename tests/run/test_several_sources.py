"""Copies of several sources: one mean for all metrics, rows per source, and a log that each can be measured from."""

from __future__ import annotations

import numpy as np
import pytest
from command_line import replnet

import replnet as rn
from replnet.cli.main import BAD_INPUT, FINE

NAMES = ("staleness", "staleness_age", "missing_updates", "lag", "currency(0.4)")
SOURCES = {
    "slow": {"role": "source", "updates": "exponential(rate=0.1)"},
    "fast": {"role": "source", "updates": "exponential(rate=1)"},
}
SHARES = ("staleness", "currency(0)", "source_penalty(1)")
AGES = ("information_age", "lag", "missing_updates", "update_penalty(1/(1+x))")


def network_of(nodes, links, **more) -> rn.Network:
    """The sources that the links name, with these replicas and clients."""
    named = {name: node for name, node in SOURCES.items() if any(link.startswith(name) for link in links)}
    return rn.graph(nodes=named | nodes, links=links, **more)


def downloads(rate: float, **more) -> dict:
    return {"downloads": f"exponential(rate={rate})", **more}


def queries(rate: float) -> dict:
    return {"queries": f"exponential(rate={rate})", "ask": 1}


DEEP = network_of(
    {"top": downloads(2), "low": downloads(1), "client": queries(2)},
    ["slow -> top", "fast -> low", "top -> low", "top -> client", "low -> client"],
)
APART = network_of(
    {"r": downloads(4), "q": downloads(4), "client": queries(3)},
    ["slow -> r", "fast -> q", "r -> client", "q -> client"],
)


def changed(network, **fields) -> rn.Network:
    return rn.Network.from_data(network.data() | fields)


def rows_of(result) -> dict:
    return {(row.group, row.metric): row for row in result.rows}


def emulated(network, horizon=2e4, **how) -> dict:
    """The rows of a run by group and metric, none of which differs."""
    rows = rows_of(rn.emulate(network, horizon=horizon, confirm=False, **how))
    assert {row.verdict for row in rows.values()} <= {"agree", "", "unresolved"}
    return rows


@pytest.mark.parametrize("engine", ["array", "step"])
def test_there_is_a_row_for_every_source_that_can_be_heard(engine):
    """`top` hears of one source and `low` of both; a query to `top` brings nothing of the other."""
    how = {"engine": engine, "horizon": {"array": 1e4, "step": 1e3}[engine], "measure": NAMES}
    rows, plain = emulated(DEEP, by="source", **how), emulated(DEEP, **how)
    assert list(dict.fromkeys(group for group, _ in rows)) == [
        f"{group}{source}" for group in ("level 1", "clients") for source in ("", " of slow", " of fast")
    ]
    assert {metric for _, metric in rows} == {"freshness", *NAMES}
    assert all((rows[key].measured, rows[key].predicted) == (row.measured, row.predicted) for key, row in plain.items())
    predicted = rows_of(rn.predict(DEEP, measure=NAMES, by="source"))
    assert {key: row.predicted for key, row in rows.items()} == {key: row.predicted for key, row in predicted.items()}
    many = rn.aggregate(rates=[1, 2], budget=2, order="fixed", allocate="uniform")  # of which there are too many
    assert rn.predict(many, by="source").rows == rn.predict(many).rows


def test_a_heavy_tail_spoils_the_rows_of_its_own_source():
    heavy = SOURCES | {"fast": {"role": "source", "updates": "pareto(alpha=1.4, rate=1)"}}
    net = rn.graph(nodes=heavy | {"r": downloads(1)}, links=["slow -> r", "fast -> r"])
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
    run, threshold = ("run", str(file), "--horizon", "3000"), ("--threshold", "level 1 of b: freshness > 0.3")
    assert replnet(*run, "--by", "source", *threshold).returncode == FINE
    assert replnet(*run, *threshold).returncode == BAD_INPUT
    live = replnet(*run, "--by", "source", "--engine", "live")
    assert (live.returncode, "by: " in live.stderr) == (BAD_INPUT, True)


CRASH = {"up": "exponential(mean=1)", "down": "exponential(mean=9)", "copy": "empty"}


def test_clients_count_as_often_as_they_ask_and_replicas_while_they_have_a_copy():
    nodes = {"often": downloads(9), "seldom": downloads(1), "busy": queries(4), "idle": queries(1)}
    links = ["fast -> often", "fast -> seldom", "often -> busy", "seldom -> idle"]
    (fresh,) = rn.predict(network_of(nodes, links)).about("freshness", "clients")
    assert fresh.predicted == pytest.approx((4 * 9 / 10 + 1 * 1 / 2) / 5)
    # One is up a tenth of the time, of which 9/10 with a copy whose age is exponential at 10.
    nodes, held = {"steady": downloads(1), "churned": downloads(9)}, 0.1 * 0.9
    churned = network_of(nodes, ["fast -> steady", "fast -> churned"], faults=[{"crash": "churned", **CRASH}])
    rows = rows_of(rn.predict(churned, measure=["staleness"]))
    expected = {"availability": (1 + held) / 2, "freshness": (1 / 2 + held * 10 / 11) / (1 + held)}
    expected["staleness"] = 1 - expected["freshness"]
    assert {name: rows["level 1", name].predicted for name in expected} == pytest.approx(expected)


def test_ages_are_over_what_has_a_copy_and_say_of_how_many():
    """Of answers that half of the time bring a copy of a source, of some and of copies that anything reaches."""
    rows = rows_of(rn.predict(DEEP, measure=["missing_updates"], by="source"))
    assert rows["clients of fast", "missing_updates"].predicted == pytest.approx(1)
    for group, note in (("clients of fast", "over the 50 %"), ("clients", "over the 75 %"), ("clients of slow", "")):
        assert rows[group, "missing_updates"].note == (note and f"{note} of answers that bring a copy")
    deaf = network_of({name: downloads(4, group="all") for name in ("r", "deaf", "mute")}, ["fast -> r"])
    (lag,) = rn.predict(deaf, measure=["lag"]).about("lag")
    assert lag.note == "over the 33.3 % of copies that anything reaches"
    # Counted, where there is no formula.
    lag = emulated(changed(APART, faults=[{"lose": 0.2}]), 3e3, measure=["lag"])["clients", "lag"]
    assert lag.predicted is None
    assert float(lag.note.partition("over the ")[2].partition(" %")[0]) == pytest.approx(50, abs=5)


def test_an_answer_without_a_copy_is_stale_and_has_no_age():
    """Of a source that half of the answers bring: fresh 1/2 * 4/(4 + 0.1) and 1/2 * 4/(4 + 1), and ages of copies."""
    quantiles = "age_quantile(0.3)", "age_quantile(0.6)"
    rows = emulated(APART, 3e3, measure=[*SHARES, *AGES, "older(1)", *quantiles], by="source")
    within, never = (rows["clients", name] for name in quantiles)
    assert within.predicted == pytest.approx(-np.log(1 - 0.6) / 4)  # P(X <= x) = (1 - exp(-4 x)) / 2 of all answers
    assert (never.measured, never.predicted, never.note) == (None, None, "infinite because 50 % bring no copy")
    for source, rate in (("slow", 0.1), ("fast", 1)):
        expected = {
            "freshness": 1 / 2 * 4 / (4 + rate), "older(1)": (1 + np.exp(-4)) / 2,
            "information_age": 1 / 4, "missing_updates": rate / 4, "lag": 1 / 4,
        }  # fmt: skip
        predicted = {name: rows[f"clients of {source}", name].predicted for name in expected}
        assert predicted == pytest.approx(expected)
