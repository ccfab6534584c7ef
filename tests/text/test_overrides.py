"""Files that a network names: which they are, and that they stay the same wherever the network is kept."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from error_tables import read_table

from replnet.network.network import Network
from replnet.text.documents import parse_yaml
from replnet.text.errors import InputError
from replnet.text.overrides import files_of, override, with_absolute_files

E1 = "exponential(rate=1)"
_listeners: list[set[Path]] = []  # a hook of the interpreter cannot be taken away


def _note(event: str, arguments: tuple[object, ...]) -> None:
    """Note the path of a file that is opened, while somebody listens."""
    if event == "open" and isinstance(arguments[0], str | os.PathLike):
        for paths in _listeners:
            paths.add(Path(arguments[0]))


sys.addaudithook(_note)


def names_read(document) -> set[str]:
    """Return the paths of the records and graphs that are opened when the network of a document is made."""
    paths = set[Path]()
    _listeners.append(paths)
    try:
        Network.from_data(document.data, document)
    except InputError:
        pass  # a graph without a source is none; its file was opened
    finally:
        _listeners.clear()
    return {str(file.resolve()) for file in paths if file.suffix in (".csv", ".json")}


@pytest.mark.parametrize("law", read_table(__file__, "records.yaml"))
def test_every_record_that_is_read_is_among_the_files_of_a_network(law, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record = tmp_path / "record.csv"
    record.write_text("time\n1\n2\n4\n8\n")
    inside = parse_yaml(f"kind: single\nupdates: {E1}\ndownloads: {law}\n", str(tmp_path / "net.yaml"))
    given = override(parse_yaml(f"kind: single\nupdates: {E1}\ndownloads: {E1}\n", ""), [f"downloads={law}"])
    for document in (inside, given):
        assert files_of(document) == {str(record)} == names_read(document)
    # It means the same elsewhere.
    moved = with_absolute_files(inside.root, inside.directory, ("network",)).plain()["downloads"]
    elsewhere = parse_yaml(f"kind: single\ndownloads: {moved!r}\n", "/elsewhere/net.yaml")
    assert files_of(elsewhere) == {str(record)}


def test_the_file_of_a_graph_is_among_the_files_of_a_network(tmp_path):
    (tmp_path / "graph.json").write_text('{"nodes": [{"id": "a"}, {"id": "b"}], "links": []}')
    document = parse_yaml("kind: graph\nfile: graph.json\n", str(tmp_path / "net.yaml"))
    assert files_of(document) == {str(tmp_path / "graph.json")} == names_read(document)
    assert files_of(override(document, ["file=/etc/passwd"])) == {"/etc/passwd"}
    assert files_of(parse_yaml(f"kind: single\nupdates: {E1}\ndownloads: {E1}\n", "")) == set()
