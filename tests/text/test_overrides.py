"""Files that a network names: which they are, and that they stay the same wherever the network is kept."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from replnet.network.network import Network
from replnet.text.documents import parse_yaml
from replnet.text.errors import InputError
from replnet.text.overrides import files_of, override, with_absolute_files

RECORD = "record.csv"
HOURLY = "exponential(rate=1)"
# Every way to write a record, as the law of downloads.
RECORDS = (
    "trace(file=record.csv)",
    "trace(record.csv)",
    "TRACE( file = 'record.csv', column=time)",
    "trace(column=1, file=record.csv)",
    "age(trace(record.csv))",
    "age(law=trace(file=record.csv))",
    "{trace: {file: record.csv}}",
    "{Trace: {file: record.csv, order: recorded}}",
    "{trace: [record.csv]}",
    "{TRACE: [record.csv]}",
    "{age: {law: {trace: {file: record.csv}}}}",
    "{age: [{trace: [record.csv]}]}",
    "{age: ['trace(record.csv)']}",
    "'trace(file=\"./record.csv\")'",
)
_listeners: list[set[Path]] = []  # a hook of the interpreter cannot be taken away


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str | os.PathLike):
        for paths in _listeners:
            paths.add(Path(arguments[0]))


sys.addaudithook(_note)


def names_read(document) -> set[str]:
    """The records and graphs that are opened when the network of the document is made."""
    paths = set[Path]()
    _listeners.append(paths)
    try:
        Network.from_data(document.data, document)
    except InputError:
        pass  # a graph without a source is none; its file was opened
    finally:
        _listeners.clear()
    return {str(file.resolve()) for file in paths if file.suffix in (".csv", ".json")}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / RECORD).write_text("time\n1\n2\n4\n8\n")
    (tmp_path / "graph.json").write_text('{"nodes": [{"id": "a"}, {"id": "b"}], "links": []}')
    return tmp_path


@pytest.mark.parametrize("law", RECORDS)
def test_every_record_that_is_read_is_among_the_files_of_a_network(law, folder):
    inside = parse_yaml(f"kind: single\nupdates: {HOURLY}\ndownloads: {law}\n", str(folder / "net.yaml"))
    given = override(parse_yaml(f"kind: single\nupdates: {HOURLY}\ndownloads: {HOURLY}\n", ""), [f"downloads={law}"])
    for document in (inside, given):
        assert files_of(document) == {str(folder / RECORD)} == names_read(document)


@pytest.mark.parametrize("law", RECORDS)
def test_a_network_with_a_record_means_the_same_elsewhere(law, folder):
    document = parse_yaml(f"kind: single\nupdates: {HOURLY}\ndownloads: {law}\n", str(folder / "net.yaml"))
    moved = with_absolute_files(document.root, document.directory, ("network",)).plain()
    assert str(folder / RECORD) in str(moved)
    assert files_of(parse_yaml(f"kind: single\ndownloads: {moved['downloads']!r}\n", "/elsewhere/net.yaml")) == {
        str(folder / RECORD)
    }


def test_the_file_of_a_graph_is_among_the_files_of_a_network(folder):
    document = parse_yaml("kind: graph\nfile: graph.json\n", str(folder / "net.yaml"))
    assert files_of(document) == {str(folder / "graph.json")} == names_read(document)
    assert files_of(override(document, ["file=/etc/passwd"])) == {"/etc/passwd"}


def test_a_network_without_files_has_none():
    assert files_of(parse_yaml("kind: single\nupdates: constant(rate=1)\ndownloads: constant(rate=1)\n", "")) == set()
