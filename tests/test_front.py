"""What `import replnet as rn` offers, as a program uses it."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import replnet as rn


def drawn() -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_node("s", role="source", updates="exponential(rate=1)")
    graph.add_node("a", downloads="exponential(rate=2)")
    graph.add_edge("s", "a", kind="download")
    return graph


def test_a_network_is_given_by_name_as_a_file_as_a_graph_or_made(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("{kind: single, updates: exponential(rate=1), downloads: exponential(rate=2)}")
    made = rn.single(updates="exponential(rate=1)", downloads="exponential(rate=2)")
    for given in (file, str(file), drawn(), made):
        assert rn.predict(given).rows[0].predicted == pytest.approx(2 / 3)
    assert len(rn.predict("cascade").rows) == 4
    with pytest.raises(rn.InputError, match="did you mean cascade"):
        rn.emulate("cascada")


def test_what_every_replication_measured_is_there_and_results_print_as_tables():
    found = rn.emulate("cooperative", horizon=2000.0, seed=2)
    (row,) = found.rows
    assert found.samples.shape == (32, 1)
    assert found.samples["cluster", "freshness"].mean() == pytest.approx(row.measured)
    assert "cluster freshness" in " ".join(str(found).split())
    assert "array, sampled" in str(found)


def test_sizes_of_networks_that_are_made():
    made = rn.single(updates="exponential(rate=1)", downloads="exponential(rate=1)")
    found = rn.size(made, 0.9, precision=0.01)
    assert (found.key, found.value) == ("downloads.rate", pytest.approx(9.0, rel=1e-5))


def test_runs_are_opened_and_compared(tmp_path):
    for seed in (1, 2):
        rn.sweep("p2p/fig3", tmp_path / str(seed), quick=True, overrides=[f"run.seed={seed}"], workers=0)
    found = rn.compare(tmp_path / "1", tmp_path / "2")
    assert found.attrs["verdict"] == "agree"
    assert len(found) == len(rn.open(tmp_path / "1").rows)


def test_runs_of_equal_seeds_are_compared_replication_by_replication(tmp_path):
    for name, seed, rate in (("a", 1, 4.0), ("b", 1, 4.8), ("c", 2, 4.8), ("d", 1, 4.0)):
        net = rn.load("cooperative", [f"polls.rate={rate}"])
        rn.emulate(net, seed=seed, horizon=2000, out=tmp_path / name, workers=0)
    paired, apart, same = (rn.compare(tmp_path / "a", tmp_path / name).iloc[0] for name in "bcd")
    assert paired["ci_high"] - paired["ci_low"] < (apart["ci_high"] - apart["ci_low"]) / 3
    assert paired["verdict"] == "differ"
    assert (same["difference"], same["verdict"]) == (0.0, "agree")


def test_histories_are_files_or_times():
    rng = np.random.default_rng(1)
    updates, downloads = (np.cumsum(rng.exponential(1, 400)) for _ in range(2))
    assert rn.audit(updates, downloads).updates > 300
    assert rn.fit(updates).fits


def test_what_only_live_runs_take_is_refused_by_name():
    with pytest.raises(ValueError, match="hosts: is for live runs only"):
        rn.emulate("cascade", hosts=2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'host'"):
        rn.emulate("cascade", host=2)
    with pytest.raises(ValueError, match="workers: hosts share"):
        rn.emulate("cascade", engine="live", workers=2)


def test_results_are_drawn_and_written(tmp_path):
    found = rn.emulate("cascade", horizon=2000, measure=["lag", "freshness at 0:2:3"], workers=0)
    assert found.plot().axes[0].get_xlabel() == "time"
    assert found.plot("lag").axes[0].get_ylabel() == "lag"
    with pytest.raises(ValueError, match="metric: 'leg' has no row"):
        found.plot("leg")
    assert rn.predict("cascade").plot().axes[0].get_xlabel() == "group"
    found.to_parquet(tmp_path / "x.parquet")
    assert pd.read_parquet(tmp_path / "x.parquet").equals(found.table)


def test_experiments_of_the_papers_are_reproduced(tmp_path):
    ended = []
    found = rn.reproduce(
        "p2p/fig3", "p2p/table1", quick=True, out=tmp_path, workers=0, ended=lambda one, seconds: ended.append(one)
    )
    assert found.table["experiment"].tolist() == ["p2p/fig3", "p2p/table1"]
    assert (found.verdict, found.incomplete) == ("agree", False)
    assert tuple(ended) == found.sweeps
    assert found.page == tmp_path / "report.html"
    assert rn.open(tmp_path / "p2p" / "fig3").hash == found.sweeps[0].hash
    with pytest.raises(ValueError, match="there is no 'p2p/fig33'"):
        rn.reproduce("p2p/fig33")


def test_what_was_interrupted_before_it_began_tests_no_claim():
    found = rn.reproduce("p2p/fig3", quick=True, workers=0, budget=1e-6)
    assert found.incomplete
    assert found.table["claims hold"].tolist() == ["none tested"]
    assert "not tested" in found.words
    assert "hold" not in found.words


def test_a_network_is_drawn(tmp_path):
    rn.load("cascade").draw(tmp_path / "tree.svg")
    assert "<svg" in (tmp_path / "tree.svg").read_text()
