"""What is measured of staleness, and what is said where it has no variance, no mean or no date."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from loaded import E1, cluster
from replay import NAMES
from rows import assert_same_rows

import replnet as rn
from replnet.engines import start

PARETO, CONSTANT = "pareto(alpha=3, rate=2)", "constant(rate=2)"
FIGURES = ("staleness", "currency(0.4)", "source_penalty(x)", "missing_updates", "update_penalty(1/(1+x))")
CHURN = {"crash": "level 1", "up": "exponential(mean=5)", "down": "exponential(mean=1)", "copy": "empty"}


def table(network, names, **how):
    return {row.metric: row for row in rn.emulate(network, horizon=2e3, measure=names, **how).rows}


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


def test_the_law_of_outages_counts_as_well():
    for down, why in (
        (PARETO, "infinite variance of lag under pareto"),
        ("exponential(mean=1)", "kept through a crash"),
    ):
        churn = CHURN | {"down": down, "copy": "kept"}
        net = rn.single(updates="exponential(rate=1)", downloads="exponential(rate=1)", faults=[churn])
        row = table(net, ["lag"])["lag"]
        assert (row.ci_low is None) == (down == PARETO)
        assert row.predicted is None
        assert why in row.note


def test_both_engines_measure_the_same():
    net = rn.cascade(depth=2, branching=2, updates=PARETO, downloads="exponential(rate=2)", delay=0.05)
    ours, theirs = (table(net, NAMES, engine=engine, replications=30, confirm=False) for engine in ("array", "step"))
    for name in NAMES:
        assert ours[name].measured == pytest.approx(theirs[name].measured, rel=1e-9)


def test_nothing_else_changes_when_it_is_measured():
    net = rn.cascade(depth=2, branching=2, updates=PARETO, downloads="exponential(rate=2)", bandwidth=30)
    plain, more = (rn.emulate(net, horizon=2e3, confirm=False, measure=names) for names in ((), ["lag"]))
    assert_same_rows(*([replace(row, verdict="") for row in one.rows if row.metric != "lag"] for one in (more, plain)))


def test_copies_that_cannot_be_dated_are_left_out_and_said(monkeypatch):
    monkeypatch.setattr(start, "MOST_DATED", {"array": 1.0})
    net = rn.cascade(depth=2, branching=1, updates="exponential(rate=9)", downloads="pareto(alpha=2.1, rate=1)")
    rows = rn.emulate(net, horizon=64, measure=["staleness"]).rows
    row = next(row for row in rows if (row.group, row.metric) == ("level 2", "staleness"))
    assert row.ci_low is None
    assert "nobody knows how old copies were" in row.note


def test_a_copy_that_is_lost_at_time_zero_is_not_behind():
    gone = {"crash": "level 1", "at": 0, "lasts": 2, "copy": "empty"}
    net = rn.single(updates="exponential(rate=1)", downloads="exponential(rate=0.2)", faults=[gone])
    for engine in ("array", "step"):
        rows = table(net, ["staleness"], engine=engine, replications=100, confirm=False)
        assert rows["staleness"].measured == pytest.approx(1 - rows["freshness"].measured, rel=1e-9)


def test_it_is_measured_against_updates_that_happened():
    plain = rn.single(updates="exponential(rate=2)", downloads="exponential(rate=2)")
    with pytest.raises(ValueError, match="against the updates that happened"):
        rn.emulate(plain, estimator="conditional", measure=["lag"])
    assert rn.emulate(plain, horizon=64, estimator="conditional", measure=["freshness"]).rows


@pytest.mark.parametrize("engine", ["array", "step"])
def test_lines_whose_start_is_not_proven_are_not_compared(engine, tmp_path):
    """A load of exactly 1 forgets how it began after 2.5e5 units of time; what replicas exchange is not held up."""
    net = cluster(replicas=2, peers=1, queue=1000, clients={"ask": 1, "queries": "exponential(rate=36)"}, polls=E1)
    found = rn.emulate(net, engine=engine, horizon=200, replications=4, confirm=False, out=tmp_path / "run")
    words = {(row.group, row.metric): row for row in found.rows}
    rate = words["cluster", "service_rate"]
    assert rate.predicted is not None
    assert (rate.verdict, rate.z) == ("", None)
    assert "not compared: lines forget how they began in about 2.5e+05, and the past goes back" in rate.note
    assert all("not compared" in row.note for row in found.rows if row.group == "clients")
    for row in (words["cluster", "rejected"], words["cluster", "freshness"], words["source", "rejected"]):
        assert row.verdict
        assert "not compared" not in row.note
    kept = rn.open(tmp_path / "run").table.set_index(["group", "metric"])
    assert kept.loc[("cluster", "service_rate"), "verdict"] == ""
    assert kept.loc[("cluster", "rejected"), "verdict"] == words["cluster", "rejected"].verdict


def test_a_sweep_does_not_compare_them_either(tmp_path):
    kind = {"kind": "cooperative", "replicas": 2, "peers": 1, "updates": E1, "downloads": E1, "polls": E1}
    data = {
        "title": "Up to a load of 1",
        "vary": {"rate": [16, 36]},
        "network": {**kind, "bandwidth": 20, "clients": {"ask": 1, "queries": "exponential(rate=${rate})"}},
        "run": {"horizon": 200, "replications": 4},
    }
    (tmp_path / "load.yaml").write_text(json.dumps(data))
    found = rn.sweep(tmp_path / "load.yaml", tmp_path / "runs", workers=0).table
    lines = found[found.metric == "service_rate"]
    assert [bool(word) for word in lines.verdict] == [True, False]
    assert lines.predicted.notna().all()
    assert rn.open(tmp_path / "runs").table.equals(found)
