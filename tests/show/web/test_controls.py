"""Fields of a network as controls, and controls as a command and a file, without a browser."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from replnet.laws.law import FAMILIES
from replnet.network.network import Network, document_of, load
from replnet.show.web.answers import NetworkQuestion, predict_rows
from replnet.show.web.controls import (
    Control,
    assign,
    command,
    controls,
    family_text,
    override_texts,
    read_assignments,
    yaml_of,
)
from replnet.show.web.drafts import Draft, Drafts
from replnet.text.documents import parse_yaml, shipped_names
from replnet.text.errors import InputError


def by_key(source: str, **assignments: str) -> dict[str, Control]:
    return {one.key: one for one in controls(document_of(source), assignments)}


def test_controls_follow_the_types_of_the_fields_and_the_order_of_the_file():
    found = by_key("cooperative")
    assert list(found)[:5] == ["replicas", "peers", "select", "updates", "updates.rate"]
    kinds = {key: found[key].kind for key in ("replicas", "select", "polls", "polls.rate", "bandwidth", "faults")}
    assert kinds == {
        "replicas": "whole", "select": "choice", "polls": "law", "polls.rate": "number", "bandwidth": "number",
        "faults": "text",
    }  # fmt: skip
    assert (found["replicas"].low, found["replicas"].high, found["peers"].low) == (2, 100, 0)
    assert found["select"].options == ("random", "recent")
    assert "pareto" in found["polls"].options
    assert (found["bandwidth"].value, found["bandwidth"].usual, found["polls"].usual) == (None, True, False)


def test_controls_reach_into_tiers_nodes_clients_and_lists_of_laws():
    found = by_key("compose")
    assert {"tiers.1.depth", "tiers.2.polls.rate", "clients.ask"} <= set(found)
    assert "kind" not in found
    assert "tiers.1.kind" not in found
    graph = by_key("graph")
    assert graph["nodes.hub-us.downloads.rate"].value == 4
    assert graph["links.8.delay"].value == 0.05
    levels = by_key("cascade", downloads="['exponential(rate=1)', 'constant(rate=2)']", depth="2")
    assert levels["downloads.2.rate"].value == 2
    assert by_key("single", updates="erlang(stages=3, rate=2)")["updates.stages"].kind == "whole"


@pytest.mark.parametrize("source", shipped_names())
def test_a_slider_that_is_moved_stays_where_it_is_and_gives_an_override(source):
    """Each place leads back to itself, though only so many digits are kept; at the ends the value suits the field."""
    document = document_of(source)
    for control in controls(document, {}):
        if control.kind not in ("number", "whole"):
            continue
        low, high = control.slider_ends
        for place in range(round(low), round(high) + 1, max(1, round(high - low) // 200)):
            assert replace(control, value=control.value_at(place)).position() == place
        for place in (low, high):
            texts = assign({}, control.key, str(control.value_at(place)))
            values = {other.key: other.value for other in controls(document, texts)}
            assert values[control.key] == pytest.approx(control.value_at(place))


def test_places_of_sliders():
    rate = by_key("cooperative")["polls.rate"]
    assert (rate.value_at(0), rate.value_at(200), rate.value_at(rate.position())) == (0.125, 128.0, 4.0)
    assert rate.value_at(300) == 128.0
    replicas = by_key("cooperative")["replicas"]
    assert (replicas.slider_ends, replicas.position(), replicas.value_at(11)) == ((2, 100), 10, 11)
    assert Control("lose", "number", 0.25, low=0.0, high=1.0).position() == 50
    assert by_key("cooperative", **{"polls.rate": "8"})["polls.rate"].high == 128  # as long while it is moved
    assert by_key("cooperative", **{"polls.rate": "1000"})["polls.rate"].high == 32_000  # and grows for what is typed


def test_assignments_replace_what_they_are_about():
    given = assign(assign({}, "polls.rate", "8"), "polls", "pareto(alpha=3, rate=2)")
    assert given == {"polls": "pareto(alpha=3, rate=2)"}
    given = assign(given, "polls.rate", "4")
    assert override_texts(given) == ["polls=pareto(alpha=3, rate=2)", "polls.rate=4"]
    assert read_assignments(override_texts(given)) == given


@pytest.mark.parametrize("source", ["cooperative", "compose", "graph", "mesh"])
def test_the_command_and_the_file_give_the_network_of_the_page(source, tmp_path):
    key = "downloads.rate" if source != "compose" else "tiers.1.downloads"
    given = {key: "8" if source != "compose" else "pareto(alpha=3, rate=2)"}
    network = load(source, override_texts(given))
    words = shlex.split(command(source, given))
    assert words[:3] == ["replnet", "run", source]
    assert load(words[2], words[4::2]) == network
    document = parse_yaml(yaml_of(document_of(source), given), "")
    copied = Network.from_data(document.data, document)
    assert copied.data() | {"name": None} == network.data() | {"name": None}


def test_families_keep_the_rate(tmp_path, monkeypatch):
    """Of what has one: a rate per second is none of a network, and the record of an example is not read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "updates.csv").write_text("0\n1\n2\n")
    assert family_text("exponential(rate=3)", "constant") == "constant(rate=3)"
    assert family_text("exponential(rate=3)", "trace") == "trace(file=updates.csv)"
    file = tmp_path / "times.csv"
    for times, text in (("0\n1\n4\n", "constant(rate=0.5)"), ("2026-01-01\n2026-01-02\n", FAMILIES["constant"][1])):
        file.write_text(times)
        assert family_text(f"trace(file={file})", "constant") == text


def test_what_is_no_network_is_refused(tmp_path):
    file = tmp_path / "no.yaml"
    file.write_text("kind: nonsense")
    with pytest.raises(InputError, match="is no network"):
        controls(document_of(str(file)), {})


def test_drafts_are_undone_kept_and_swapped():
    first, second, third = (Draft({"depth": str(depth)}, 0.9) for depth in (1, 2, 3))
    drafts = Drafts(first, Draft({}, 0.9))
    assert (drafts.can_undo, drafts.is_start) == (False, False)
    drafts.change(second, "depth", 1.0)
    drafts.change(third, "depth", 1.5)  # of the same move
    drafts.undo()
    assert (drafts.now, drafts.can_undo) == (first, False)
    drafts.change(second, "depth", 2.0)
    drafts.keep()
    drafts.change(third, "peers", 2.1)
    drafts.swap()
    assert (drafts.now, drafts.reference) == (second, third)
    drafts.reset()
    assert drafts.is_start
    for before in (second, third, second, first, first):
        drafts.undo()
        assert drafts.now == before
    drafts.forget()
    assert drafts.reference is None


@pytest.mark.parametrize(
    ("network", "labels"),
    [
        (
            "cascade",
            ["levels", "replicas per upstream", "updates", "rate of updates", "downloads", "rate of downloads"],
        ),
        ("compose", ["tier 2: peers per poll", "tier 2: rate of polls", "clients: replicas per query"]),
        ("graph", ["news: rate of updates", "rome: replicas per query", "link 8: delay of a message"]),
        ("faults", ["fault 1: mean of time without the fault", "fault 2: share of messages lost"]),
    ],
)
def test_labels_are_words(network, labels):
    assert set(labels) <= {one.label for one in controls(document_of(network), {})}


def test_a_field_stays_while_its_value_is_wrong():
    """Whoever corrects it has the same box under the keyboard."""
    for key, text in (("replicas", "many"), ("polls.rate", "-1"), ("bandwidth", "x")):
        (before,) = [one for one in controls(document_of("cooperative"), {}) if one.key == key]
        (shown,) = [one for one in controls(document_of("cooperative"), {key: text}) if one.key == key]
        assert (shown.kind, shown.value, shown.number) == (before.kind, text, None)
        assert shown.position() == before.slider_ends[0]


@pytest.mark.parametrize(
    ("overrides", "key", "words"),
    [
        ("peers=12", "peers", "12 is not below replicas = 10 (0 to 9)"),
        ("updates.rate=-1", "updates.rate", "-1 is not above 0 (a number above 0)"),
    ],
)
def test_what_is_wrong_has_the_key_of_its_field(overrides, key, words):
    reply = predict_rows(NetworkQuestion("cooperative", (overrides,), 0.9))
    assert (reply["answer"], reply["field"], reply["error"]) == ([], key, words)
