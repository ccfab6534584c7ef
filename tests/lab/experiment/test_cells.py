"""Cells: networks at the points of the axes, and their keys."""

from __future__ import annotations

import json

from experiment_files import BASE, with_

from replnet.lab.experiment.experiment import Experiment
from replnet.laws import law
from replnet.network.network import Network


def test_cells_of_a_file(load):
    experiment = load(BASE)
    cells = experiment.cells()
    assert (experiment.name, experiment.title) == ("exp", "Peers")
    assert [cell.values for cell in cells] == [{"k": k} for k in range(1, 10)]
    assert cells[2].subject.data["peers"] == 3
    assert law(cells[2].subject.data["polls"]) == law(f"exponential(rate={4 / 3!r})")
    assert Network.from_data(cells[2].subject.data).data() == cells[2].subject.data
    assert cells[0].settings.seed == 1
    assert cells[0].settings.precision is None
    json.dumps([cell.subject.data for cell in cells], allow_nan=False)


def test_the_order_of_cells_is_that_of_the_axes(load):
    text = with_("k: 1:9", "k: [1, 2]\n  replicas: [20, 30]\n  updates: [exponential(rate=1), constant(rate=1)]")
    values = [tuple(cell.values.values()) for cell in load(text).cells()]
    assert values == [(k, m, u) for k in (1, 2) for m in (20, 30) for u in ("exponential(rate=1)", "constant(rate=1)")]


def test_zipped_axes(load):
    text = with_("k: 1:9", "a: [1, 2]\n  k: [1, 2, 3]\n  replicas: [10, 20, 30]\nzip: [[k, replicas]]")
    text = with_("4 / k", "4 / k + a", text)
    assert [tuple(cell.values.values()) for cell in load(text).cells()] == [
        (a, k, m) for a in (1, 2) for k, m in ((1, 10), (2, 20), (3, 30))
    ]


def test_keys_depend_on_what_is_run_alone(load):
    keys = {cell.values["k"]: cell.key for cell in load(BASE).cells()}
    assert len(set(keys.values())) == 9
    assert all(len(key) == 64 and set(key) <= set("0123456789abcdef") for key in keys.values())
    fewer = load(with_("1:9", "[7, 3]"))
    assert {cell.values["k"]: cell.key for cell in fewer.cells()} == {7: keys[7], 3: keys[3]}
    # Other names for the same, an override that changes nothing, spellings of one law.
    same = with_("nu: 4 / k", "x: 8 / (2 * k)").replace("${nu}", "${x}").replace("rate=1)", "mean=1.0)")
    assert [cell.key for cell in load(same, "replicas=10").cells()] == list(keys.values())
    assert {cell.key for cell in load(BASE, "run.seed=2").cells()}.isdisjoint(keys.values())


def test_a_key_is_the_same_everywhere(load):
    """The hash of sorted, compact JSON, written out here once more."""
    from hashlib import sha256

    cell = load(BASE).cells()[0]
    settings = {"estimator": "sampled", "seed": 1, "resolution": 0.02, "measure": []}
    settings |= dict.fromkeys(("engine", "horizon", "precision", "replications"))
    whole = {"network": cell.subject.data, "settings": settings}
    assert cell.key == sha256(json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


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
    assert cell.subject.data["polls"] == "pareto(alpha=4, rate=5)"
    assert cell.subject.data["bandwidth"] == 20


def test_a_network_by_name_and_by_file(load, tmp_path):
    named = load("title: t\nvary: {peers: [1, 2]}\nnetwork: cooperative\n")
    assert [cell.subject.data["peers"] for cell in named.cells()] == [1, 2]
    (tmp_path / "net.yaml").write_text("kind: single\nupdates: exponential(rate=${m})\ndownloads: trace(file=d.csv)\n")
    (tmp_path / "d.csv").write_text("1\n2\n4\n")
    experiment = load("title: t\nvary: {m: [1, 2]}\nnetwork: net.yaml\n")
    assert [cell.subject.data["updates"] for cell in experiment.cells()] == [
        "exponential(rate=1)",
        "exponential(rate=2)",
    ]
    assert str(tmp_path / "d.csv") in experiment.cells()[0].subject.data["downloads"]
    # The data stand on their own, wherever they are read.
    again = Experiment.from_data(json.loads(json.dumps(experiment.data)))
    assert [cell.key for cell in again.cells()] == [cell.key for cell in experiment.cells()]
