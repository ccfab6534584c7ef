"""What pages read: the network that the command has named, those that come with replnet, and their files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replnet.show.web.answers import NetworkQuestion
from replnet.show.web.opened import Opened
from replnet.text.documents import shipped_names
from replnet.text.errors import InputError

NETWORK = "kind: single\nupdates: trace(file={file})\ndownloads: exponential(rate=1)\n"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("named", "given", "other"):
        (tmp_path / f"{name}.csv").write_text("time\n1\n2\n4\n8\n")
    (tmp_path / "opened.yaml").write_text(NETWORK.format(file="named.csv"))
    (tmp_path / "other.yaml").write_text(NETWORK.format(file="other.csv"))
    return tmp_path


def ask(opened: Opened, network: str, *overrides: str) -> NetworkQuestion:
    return opened.question(network, opened.document(network), overrides, 0.9)


def test_networks_are_those_of_the_command_and_those_that_come_with_replnet(folder):
    opened = Opened("opened.yaml")
    assert opened.networks == ["opened.yaml", *shipped_names()]
    assert Opened("cascade").networks == shipped_names()
    assert ask(opened, "opened.yaml") == NetworkQuestion("opened.yaml", (), 0.9)
    assert ask(opened, "cascade", "depth=2").network.size == 13
    for other in ("other.yaml", "./opened.yaml", str(folder / "opened.yaml"), "/etc/passwd", "opened", "", "../x"):
        with pytest.raises(ValueError, match=r"network: .* is not open here \(replnet ui NETWORK opens it\)"):
            opened.document(other)


@pytest.mark.parametrize("law", ["trace({0})", "age(trace(file={0}))", "{{trace: [{0}]}}", "{{TRACE: {{file: {0}}}}}"])
def test_records_are_those_that_the_command_has_named(folder, law):
    opened = Opened("opened.yaml", ("downloads=trace(given.csv)",))
    for network in ("opened.yaml", "single"):
        for name in ("named.csv", "given.csv", "./named.csv", str(folder / "given.csv")):
            override = f"updates={law.format(name)}"
            assert ask(opened, network, override).overrides == (override,)
        for name in ("other.csv", "/etc/passwd", "none.csv"):
            with pytest.raises(ValueError, match=r"file: .* is not open here"):
                ask(opened, network, f"updates={law.format(name)}")
    # What the command has put in the place of a record of the file does not close that one.
    assert ask(opened, "opened.yaml").overrides == ()


def test_the_file_of_a_graph_is_one_that_the_command_has_named(folder):
    nodes, links = [{"id": "a", "updates": "constant(rate=1)"}, {"id": "b"}], [{"source": "a", "target": "b"}]
    (folder / "graph.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    (folder / "graph.yaml").write_text("kind: graph\nfile: graph.json\ndownloads: constant(rate=2)\n")
    opened = Opened("graph.yaml")
    assert ask(opened, "graph.yaml", "queue=5").overrides == ("queue=5",)
    with pytest.raises(ValueError, match=r"file: /etc/passwd is not open here"):
        ask(opened, "graph.yaml", "file=/etc/passwd")


def test_what_is_no_override_is_said_as_ever():
    with pytest.raises(InputError, match="is not key=value"):
        ask(Opened("single"), "single", "nonsense")
