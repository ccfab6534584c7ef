"""Cells: networks at the points of the axes, and their keys and groups."""

from __future__ import annotations

import json
from hashlib import sha256

from experiment_files import BASE, SYSTEM, with_
from hypothesis import given, settings
from networks import networks

from replnet.lab.experiment.experiment import Experiment
from replnet.lab.experiment.subjects import groups_of
from replnet.network.network import Network


def test_cells_of_a_file(load):
    experiment = load(BASE)
    cells = experiment.cells()
    assert (experiment.name, experiment.title) == ("exp", "Peers")
    assert [cell.values for cell in cells] == [{"k": k} for k in range(1, 10)]
    data = cells[2].subject.data
    assert (data["peers"], data["polls"]) == (3, "exponential(mean=0.75)")
    assert Network.from_data(data).data() == data
    assert (cells[0].settings.seed, cells[0].settings.precision) == (1, None)
    # A key is the hash of sorted, compact JSON, written out here once more.
    settings = {"estimator": "sampled", "seed": 1, "resolution": 0.02, "measure": []}
    settings |= dict.fromkeys(("engine", "horizon", "precision", "replications"))
    whole = json.dumps({"network": data, "settings": settings}, sort_keys=True, separators=(",", ":"), allow_nan=False)
    assert cells[2].key == sha256(whole.encode()).hexdigest()


def test_the_order_of_cells_is_that_of_the_axes_some_of_which_move_together(load):
    text = with_("k: 1:9", "a: [1, 2]\n  k: [1, 2, 3]\n  replicas: [10, 20, 30]\nzip: [[k, replicas]]")
    text = with_("4 / k", "4 / k + a", text)
    assert [tuple(cell.values.values()) for cell in load(text).cells()] == [
        (a, k, m) for a in (1, 2) for k, m in ((1, 10), (2, 20), (3, 30))
    ]


def test_keys_depend_on_what_is_run_alone(load):
    keys = {cell.values["k"]: cell.key for cell in load(BASE).cells()}
    assert len(set(keys.values())) == 9
    fewer = load(with_("1:9", "[7, 3]"))
    assert {cell.values["k"]: cell.key for cell in fewer.cells()} == {7: keys[7], 3: keys[3]}
    # Other names for the same, an override that changes nothing, spellings of one law.
    same = with_("nu: 4 / k", "x: 8 / (2 * k)").replace("${nu}", "${x}").replace("rate=1)", "mean=1.0)")
    assert [cell.key for cell in load(same, "replicas=10").cells()] == list(keys.values())
    assert {cell.key for cell in load(BASE, "run.seed=2").cells()}.isdisjoint(keys.values())


def test_labels_stand_for_texts_with_expressions(load):
    text = with_("k: 1:9", "k: 1:2\n  polls:\n    P: pareto(alpha=3, rate=${nu})\n    C: constant(rate=${2 * nu})")
    text = with_("  polls: exponential(rate=${nu})\n", "", text)
    cells = load(text).cells()
    assert [cell.values for cell in cells] == [{"k": k, "polls": p} for k in (1, 2) for p in "PC"]
    assert [cell.subject.data["polls"] for cell in cells] == [
        "pareto(alpha=3, rate=4)", "constant(rate=8)", "pareto(alpha=3, rate=2)", "constant(rate=4)",
    ]  # fmt: skip


def test_set_and_axes_override_fields_and_parts_of_them(load):
    text = BASE + "set: {polls: 'pareto(alpha=3, rate=7)', polls.alpha: '${2 + k}', bandwidth: '${k * 10}'}\n"
    cell = load(text, "k=2", "polls.rate=1:8:8").cells()[4]
    assert cell.values == {"k": 2, "polls.rate": 5}
    assert (cell.subject.data["polls"], cell.subject.data["bandwidth"]) == ("pareto(alpha=4, rate=5)", 20)


def test_a_network_by_name_and_by_file(load, tmp_path):
    named = load("title: t\nvary: {peers: [1, 2]}\nnetwork: cooperative\n")
    assert [cell.subject.data["peers"] for cell in named.cells()] == [1, 2]
    (tmp_path / "net.yaml").write_text("kind: single\nupdates: exponential(rate=${m})\ndownloads: trace(file=d.csv)\n")
    (tmp_path / "d.csv").write_text("1\n2\n4\n")
    experiment = load("title: t\nvary: {m: [1, 2]}\nnetwork: net.yaml\n")
    cells = experiment.cells()
    assert [cell.subject.data["updates"] for cell in cells] == ["exponential(rate=1)", "exponential(rate=2)"]
    assert str(tmp_path / "d.csv") in cells[0].subject.data["downloads"]
    # The data stand on their own, wherever they are read.
    assert Experiment.from_data(json.loads(json.dumps(experiment.data))).cells() == cells


def test_systems_to_optimise(load):
    first, second = load(SYSTEM).cells()
    assert first.subject.section == "optimise"
    assert first.subject.data == {
        "system": "cooperative", "maximise": "service_rate", "target": 0.4, "bandwidth": 10.0,
        "updates": "exponential(rate=1)", "downloads": "exponential", "polls": "pareto(alpha=3)", "peers": 1,
        "over": {"replicas": [2, 3000]},
    }  # fmt: skip
    assert [cell.key == second.key for cell in load(SYSTEM, "target=0.5", "bandwidth=10,20").cells()] == [True, False]
    given = "target: 0.5, bandwidth: 1000, updates: exponential(rate=1), downloads: constant"
    redundant = load(f"title: t\noptimise: {{system: redundant, {given}, ask: 20}}\n", "ask=10,20")
    assert [cell.subject.data["ask"] for cell in redundant.cells()] == [10, 20]
    assert len(load(f"title: t\noptimise: {{system: independent, {given}}}\n").cells()) == 1


@settings(max_examples=60, deadline=None)
@given(networks())
def test_groups_are_those_of_the_graph(network):
    there = {about["group"] for _, about in network.graph.nodes(data=True) if about["role"] != "source"}
    found = groups_of(network.data())
    assert found >= there
    if network.kind != "graph":
        assert found == there
