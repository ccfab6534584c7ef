"""YAML as users mean it, and overrides from the command line."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from error_tables import read_table

from replnet.network import Network, load, shipped_names
from replnet.text.documents import Document, Mark, node_of, parse_yaml, shipped
from replnet.text.overrides import call_of, override, with_parameter

ROOT = Path(__file__).parents[2]
TABLE = read_table(__file__, "files.yaml")


@pytest.mark.parametrize("text", TABLE["values"])
def test_values(text):
    value, expected = parse_yaml(f"a: {text}\n", "t.yaml").data["a"], TABLE["values"][text]
    assert (value, type(value)) == (expected, type(expected))


def test_keys_are_text_and_aliases_are_copies():
    document = parse_yaml("1: &x {y: 2}\nz: *x\na: .nan", "t.yaml")
    assert math.isnan(document.data.pop("a"))
    assert {**document.data, "a": 0} == {"1": {"y": 2}, "z": {"y": 2}, "a": 0}


@pytest.mark.parametrize("assignment", TABLE["overrides"])
def test_overrides(assignment):
    document = Document("", node_of(TABLE["network"], Mark(None, None)), ())
    path, value = TABLE["overrides"][assignment]
    result: Any = override(document, [assignment]).data
    for part in path:
        result = result[part]
    assert result == value


@pytest.mark.parametrize("text", TABLE["parameters"])
def test_one_parameter_of_a_law_is_set_in_its_text(text):
    name, value, changed = TABLE["parameters"][text]
    call = call_of(text)
    assert call is not None
    assert with_parameter(call, name, value) == changed


def test_overrides_apply_in_turn_and_names_with_dots_are_known():
    text = "kind: graph\nnodes:\n  eu.paris: {updates: pareto(alpha=3, rate=1)}\n"
    key = "nodes.eu.paris.updates"
    result = override(parse_yaml(text, "n.yaml"), [f"{key}=constant(period=1)", f"{key}.rate=2"]).data
    assert result["nodes"] == {"eu.paris": {"updates": "constant(rate=2)"}}


def test_files_of_an_override_count_from_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "times.csv").write_text("1\n2\n4\n")
    monkeypatch.chdir(tmp_path)
    spec = load("single", ["updates=trace(file=times.csv)", "downloads={trace: {file: times.csv}}"]).spec
    assert spec.updates.mean == spec.downloads.mean == 1.5


def test_other_texts_have_no_parameters():
    for text in ("", "a b", "2", "2(rate=1)", "${name}(alpha=3)", "[1, 2]", "'pareto'", "pareto(", "a)"):
        assert call_of(text) is None


def test_shipped_networks_load_by_any_of_their_names():
    names = shipped_names()
    assert {"single", "cascade", "cooperative", "redundant", "aggregate", "graph", "overlay", "compose"} <= set(names)
    for name in names:
        network = load(name)
        assert network.name == name
        assert network.graph.number_of_nodes() > 1
        assert all(network == load(path) for path in (f"topologies/{name}.yaml", ROOT / f"topologies/{name}.yaml"))
        assert Network.from_data(network.data()) == network
    assert load("cascade.yaml", ["depth=1", "branching=2"]).graph.number_of_nodes() == 3
    assert shipped("nowhere") is None
    assert shipped("../pyproject.toml") is None
