"""YAML as users mean it, and overrides from the command line."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from replnet.network import InputError, Network, load, shipped_names
from replnet.text.documents import parse_yaml, shipped
from replnet.text.overrides import call_of, override, with_parameter

ROOT = Path(__file__).parents[2]


def data(text: str):
    return parse_yaml(text, "t.yaml").data


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e3", 1000.0),
        ("1e-3", 0.001),
        (".5", 0.5),
        ("1.", 1.0),
        ("+7", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("017", 17),
        ("1_000", "1_000"),
        ("on", "on"),
        ("yes", "yes"),
        ("true", True),
        ("True", True),
        ("~", None),
        ("", None),
        ("null", None),
        (".inf", math.inf),
        ("-.inf", -math.inf),
        ("nan", "nan"),
        ("2001-01-01", "2001-01-01"),
        ("12:30", "12:30"),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("!!float 1", 1),
        ("exponential(rate=2)", "exponential(rate=2)"),
        ("lattice(values=[1, 2], weights=[3, 1])", "lattice(values=[1, 2], weights=[3, 1])"),
        ("[pareto(alpha=3, rate=2), constant(rate=1)]", ["pareto(alpha=3, rate=2)", "constant(rate=1)"]),
        ("[gamma(2, 3), a]", ["gamma(2, 3)", "a"]),
        ("{x: pareto(alpha=3, rate=2), y: 1}", {"x": "pareto(alpha=3, rate=2)", "y": 1}),
        ("[a, b(c]", ["a", "b(c"]),
    ],
)
def test_values(text, value):
    found = data(f"a: {text}\n")["a"]
    assert found == value
    assert type(found) is type(value)


def test_not_a_number_is_a_number():
    assert math.isnan(data("a: .nan\n")["a"])


def test_keys_are_text_and_aliases_are_copies():
    assert data("1: &x {y: 2}\nz: *x\n") == {"1": {"y": 2}, "z": {"y": 2}}


def test_windows_line_ends_and_byte_order_marks(tmp_path):
    path = tmp_path / "net.yaml"
    path.write_bytes(b"\xef\xbb\xbfkind: single\r\nupdates: constant(rate=1)\r\ndownloads: 3\r\n")
    with pytest.raises(InputError, match=r"net.yaml:3:12: downloads: 3 is not a law"):
        load(path)


NETWORK = """\
kind: compose
updates: pareto(alpha=3, mean=2)
tiers:
  - {kind: cascade, depth: 2, downloads: [exponential(rate=1), exponential(rate=2)]}
  - {kind: cooperative, replicas: 3, downloads: constant(rate=1), polls: exponential(rate=1)}
"""


@pytest.mark.parametrize(
    ("assignment", "path", "value"),
    [
        ("name=tree", ("name",), "tree"),
        ("bandwidth=1e3", ("bandwidth",), 1000.0),
        ("updates.rate=4", ("updates",), "pareto(alpha=3, rate=4)"),
        ("updates.alpha=2.5", ("updates",), "pareto(mean=2, alpha=2.5)"),
        ("updates=exponential(rate=1)", ("updates",), "exponential(rate=1)"),
        ("tiers.2.replicas=5", ("tiers", 1, "replicas"), 5),
        ("tiers.1.downloads.2.rate=7", ("tiers", 0, "downloads", 1), "exponential(rate=7)"),
        ("tiers.1.downloads=[pareto(alpha=3, rate=1)]", ("tiers", 0, "downloads"), ["pareto(alpha=3, rate=1)"]),
        ("clients.ask=2", ("clients",), {"ask": 2}),
        ("clients={ask: 2}", ("clients",), {"ask": 2}),
        ("name=", ("name",), None),
    ],
)
def test_overrides(assignment, path, value):
    found = override(parse_yaml(NETWORK, "n.yaml"), [assignment]).data
    for part in path:
        found = found[part]
    assert found == value


def overridden(assignment: str) -> Network:
    document = override(parse_yaml(NETWORK, "n.yaml"), [assignment])
    return Network.from_data(document.data, document)


def test_files_of_an_override_count_from_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "times.csv").write_text("1\n2\n4\n")
    monkeypatch.chdir(tmp_path)
    spec = load("single", ["updates=trace(file=times.csv)", "downloads={trace: {file: times.csv}}"]).spec
    assert spec.updates.mean == spec.downloads.mean == 1.5


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("peers", "-s peers: -s: is not key=value (such as -s peers=3)"),
        ("=3", "-s =3: -s: is not key=value (such as -s peers=3)"),
        ("a..b=3", "-s a..b=3: -s: is not key=value (such as -s peers=3)"),
        ("tiers.3.replicas=1", "-s tiers.3.replicas=1: tiers: has no item 3 (1 to 2, counted from 1)"),
        ("tiers.0.replicas=1", "-s tiers.0.replicas=1: tiers: has no item 0 (1 to 2, counted from 1)"),
        ("kind.rate=1", "-s kind.rate=1: kind: has no field rate (-s kind=...)"),
        ("name=[1", "-s name=[1: -s: expected ',' or ']', but got '<stream end>' (a value as in YAML)"),
        (
            "updates=[lattice(values=[1])]",
            "-s updates=[lattice(values=[1])]: -s: expected ',' or ']', but got '['"
            " (laws in a list that have brackets of their own in quotes)",
        ),
        ("tierz=1", "-s tierz=1: tierz: unknown field (did you mean tiers?)"),
        ("tiers.2.replicaz=1", "-s tiers.2.replicaz=1: tiers[2].replicaz: unknown field (did you mean replicas?)"),
        ("tiers.2.peers=3", "-s tiers.2.peers=3: tiers[2].peers: 3 is not below replicas = 3 (0 to 2)"),
        ("updates.rate=0", "-s updates.rate=0: updates.rate: 0 is not above 0 (a number above 0)"),
    ],
)
def test_wrong_overrides_name_themselves(assignment, message):
    with pytest.raises(InputError) as caught:
        overridden(assignment)
    assert str(caught.value) == message


def test_several_overrides_apply_in_turn():
    found = override(parse_yaml(NETWORK, "n.yaml"), ["updates=constant(period=1)", "updates.rate=2"]).data
    assert found["updates"] == "constant(rate=2)"


def test_names_with_dots_are_found():
    text = "kind: graph\nnodes:\n  eu.paris: {updates: constant(rate=1)}\n"
    found = override(parse_yaml(text, "n.yaml"), ["nodes.eu.paris.updates.rate=2"]).data
    assert found["nodes"] == {"eu.paris": {"updates": "constant(rate=2)"}}


@pytest.mark.parametrize(
    ("text", "name", "value", "expected"),
    [
        ("lattice(values=[1, 2], weights=[3, 1])", "weights", "[1, 1]", "lattice(values=[1, 2], weights=[1, 1])"),
        ("pareto(3, mean = 2)", "rate", "4", "pareto(3, rate=4)"),
        ("pareto(alpha=${min(a, b)}, rate=1)", "rate", "${2 / k}", "pareto(alpha=${min(a, b)}, rate=${2 / k})"),
        ("trace(file='a, mean=b (1).csv')", "column", "2", "trace(file='a, mean=b (1).csv', column=2)"),
        ("age(pareto(alpha=3, rate=2))", "rate", "1", "age(pareto(alpha=3, rate=2), rate=1)"),
        ("exponential", "rate", "2", "exponential(rate=2)"),
    ],
)
def test_one_parameter_of_a_law_is_set_in_its_text(text, name, value, expected):
    call = call_of(text)
    assert call is not None
    assert with_parameter(call, name, value) == expected


@pytest.mark.parametrize(
    "text", ["", "a b", "2", "2(rate=1)", "${name}(alpha=3)", "[1, 2]", "'pareto'", "pareto(", "a)"]
)
def test_other_texts_have_no_parameters(text):
    assert call_of(text) is None


def test_shipped_networks_load_by_any_of_their_names():
    names = shipped_names()
    assert {
        "single",
        "cascade",
        "cooperative",
        "redundant",
        "graph",
        "overlay",
        "mesh",
        "backbone",
        "compose",
        "delay",
    } <= set(names)
    for name in names:
        network = load(name)
        assert network.name == name
        assert network.graph.number_of_nodes() > 1
        assert (
            network == load(f"{name}.yaml") == load(f"topologies/{name}.yaml") == load(ROOT / f"topologies/{name}.yaml")
        )
        assert Network.from_data(network.data()) == network
    assert shipped("nowhere") is None
    assert shipped("../pyproject.toml") is None


def test_shipped_files_with_overrides():
    assert load("cascade", ["depth=1", "branching=2"]).graph.number_of_nodes() == 3
    assert str(load("cooperative", ["polls.rate=8"]).spec.polls) == "exponential(rate=8)"
