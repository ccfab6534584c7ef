"""A run directory: what was acknowledged is there whatever happens to its files, and nothing else ever is.

What becomes of a run that ends at any of its writes is in tests/lab/test_kept_run.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from records import flips, record

from replnet.store import journal as journals
from replnet.store.durable import seal
from replnet.store.store import DiskError, RefusedError, Store, changed_fields, part_key, read_contents

HEADER = {"network": {"kind": "cooperative", "peers": 1}, "seed": 1, "replnet": "0.1.0"}
CELLS = [f"cell-{i}" for i in range(30)]
TABLE = pa.table({"k": range(30), "metric": ["freshness"] * 30, "measured": [i / 7 for i in range(30)]})


def filled(folder: Path, n: int) -> Path:
    """Return a run directory in which the first n cells are finished."""
    with Store.open_to_write(folder, HEADER, CELLS) as store:
        for i in range(n):
            store.append(CELLS[i], record(i))
    return folder


def whole(folder: Path, provenance: Mapping[str, str]) -> Path:
    """Return a run directory with a table that comes from there."""
    with Store.open_to_write(filled(folder, 30), HEADER, CELLS) as store:
        store.complete(TABLE, provenance)
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refused(folder: Path, header=HEADER, cells=CELLS) -> str:
    """Return why a directory is refused to who would write there."""
    with pytest.raises(RefusedError) as why, Store.open_to_write(folder, header, cells):
        pass
    return str(why.value)


def failing(error: int) -> Callable[..., None]:
    """Return a function in the place of one of os, which fails."""

    def fail(*_: object) -> None:
        raise OSError(error, os.strerror(error))

    return fail


# --- The ordinary course ---------------------------------------------------


def test_a_run_has_its_table_when_all_cells_are_finished(tmp_path):
    with Store.open_to_write(filled(tmp_path, 29), HEADER, CELLS) as store:
        assert (store.note, dict(store.finished)) == ("", {f"cell-{i}": record(i) for i in range(29)})
        with pytest.raises(ValueError, match="1 of 30 cells are not finished"):
            store.complete(TABLE, {})
        store.append("cell-29", record(29))
    found = read_contents(tmp_path)
    assert (found.provenance, found.note) == (None, "30 of 30 cells are finished")
    before = files(whole(tmp_path, {"machine": "here"}))
    assert pq.read_table(tmp_path / "table.parquet").equals(TABLE)
    assert read_contents(tmp_path).provenance == {"machine": "here"}
    assert files(whole(tmp_path, {"machine": "elsewhere"})) == before


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("cell-0", {"x": float("nan")}, r"record: .*plain data"),
        ("cell-0", {"x": {1, 2}}, r"record: .*plain data"),
        ("other", record(0), "cell other: is not one of the 30"),
        ("cell-3", record(3) | {"values": {"k": 3.0}}, r"cell cell-3: .* another result\n +values.k: 3 -> 3.0"),
    ],
)
def test_a_record_that_is_refused_leaves_no_trace(tmp_path, key, value, said):
    with Store.open_to_write(filled(tmp_path, 0), HEADER, CELLS) as store:
        store.append("cell-3", record(3))
        before = (tmp_path / "journal").read_bytes()
        with pytest.raises(ValueError, match=said):
            store.append(key, value)
        store.append("cell-3", record(3))
        assert (tmp_path / "journal").read_bytes() == before
        store.append("cell-1", {"pair": (1, 2.5), 3: -0.0})
        told = repr(store.finished["cell-1"])
    assert repr(read_contents(tmp_path).records["cell-1"]) == told == "{'pair': [1, 2.5], '3': -0.0}"


def test_parts_of_a_cell_are_kept_and_count_for_no_cell(tmp_path):
    part = part_key("cell-0", range(3))
    with Store.open_to_write(tmp_path, HEADER, CELLS[:1]) as store:
        store.append(part, [0, 1, 2])
        with pytest.raises(ValueError, match="not one of the 1"):
            store.append(part_key("cell-1", range(2)), [0, 1])
        with pytest.raises(ValueError, match="1 of 1 cells are not finished"):
            store.complete(TABLE, {})
        found = read_contents(tmp_path)
        store.append("cell-0", 5)
    assert (found.records, found.parts) == ({}, {part: [0, 1, 2]})
    assert found.note.startswith("0 of 1 cells are finished; parts of 1 more are kept; process ")
    assert read_contents(tmp_path).note == "1 of 1 cells are finished"
    assert "1 of 2 finished cells" in refused(tmp_path, cells=CELLS[1:])


# --- What may change, and what may not ------------------------------------


def test_differences_name_places_and_tell_kinds_apart(tmp_path):
    assert changed_fields({"a": [1, {"b": 1}]}, {"a": [1, {"b": 1.0}]}) == ["a[2].b: 1 -> 1.0"]
    assert changed_fields({"a": [1], "b": True}, {"a": [1, 2], "b": 1}) == ["a: [1] -> [1, 2]", "b: True -> 1"]
    assert changed_fields(HEADER, json.loads(json.dumps(HEADER))) == []
    other = {"network": {"kind": "cooperative", "select": "recent"}, "seed": 7, "replnet": "0.1.0"}
    assert refused(filled(tmp_path, 3), other).splitlines()[1:] == [
        "    network.peers: 1 -> nothing",
        "    network.select: nothing -> 'recent'",
        "    seed: 1 -> 7",
    ]
    assert refused(tmp_path, HEADER | {f"k{i}": i for i in range(22)}).splitlines()[20:] == [
        "    k19: nothing -> 19",
        "    ... and 2 more",
    ]
    assert len(read_contents(tmp_path).records) == 3


def test_cells_may_be_added_and_those_that_had_not_run_may_go(tmp_path):
    whole(tmp_path, {})
    with Store.open_to_write(tmp_path, HEADER, [*CELLS, "cell-30"], about={"vary": {"k": 31}}) as store:
        assert read_contents(tmp_path).provenance is None  # the table was of fewer cells
        assert len(store.finished) == 30
    found = read_contents(tmp_path)
    assert (found.note, found.about) == ("30 of 31 cells are finished", {"vary": {"k": 31}})
    assert "25 of 30 finished cells are not among the 5 asked for now" in refused(tmp_path, cells=CELLS[:5])
    with Store.open_to_write(tmp_path, HEADER, CELLS):
        pass
    assert read_contents(tmp_path).note == "30 of 30 cells are finished"


def test_the_journal_of_another_run_is_not_taken_for_this_one(tmp_path):
    filled(tmp_path / "a", 3)
    with Store.open_to_write(tmp_path / "b", HEADER | {"seed": 2}, CELLS):
        pass
    shutil.copy(tmp_path / "a" / "journal", tmp_path / "b" / "journal")
    assert "none of its 3 records belongs to the header" in refused(tmp_path / "b", HEADER | {"seed": 2})
    assert read_contents(tmp_path / "b").records == {}


# --- A directory that is damaged, or that somebody prepared ------------------


def replace(run: Path, name: str, make: Callable[[Path], object]) -> None:
    (run / name).unlink()
    make(run / name)


def sealed(run: Path, **content: object) -> None:
    (run / "header.json").write_bytes(seal(content, "header"))


ODD_DIRECTORIES = {  # what was done to it, why it is refused to a writer (None: it is not), and to a reader
    "another file": (
        lambda run: [shutil.rmtree(run), run.mkdir(), (run / "thesis.partial").write_text("mine")],
        "not the directory of a run: it holds thesis.partial, but no header.json (give a new or empty directory",
        "it holds thesis.partial",
    ),
    "no header": (lambda run: (run / "header.json").unlink(), "holds journal, provenance.json, table.parquet", "holds"),
    "nothing": (lambda run: [shutil.rmtree(run), run.mkdir()], None, "there is no header.json"),
    "a file": (lambda run: [shutil.rmtree(run), run.write_text("mine")], "cannot be written: File exists", None),
    "a changed header": (
        lambda run: (run / "header.json").write_text((run / "header.json").read_text().replace(": 1", ": 3")),
        "header.json: damaged, so nothing says what its cells are of", "damaged",
    ),
    "half a header": (lambda run: sealed(run, format=1), "header.json: damaged", "damaged"),
    "another format": (
        lambda run: sealed(run, format=2, header=1, about=1, cells=1),
        "written by another version of replnet (use that, or another directory)", "another version",
    ),
    "a linked lock": (
        lambda run: replace(run, "lock", lambda lock: lock.symlink_to(run.parent / "victim")),
        "lock: is a link, a folder, a pipe or a device (remove it, or name another place)", None,
    ),
    "a linked journal": (
        lambda run: replace(run, "journal", lambda journal: journal.symlink_to(run.parent / "victim")),
        "journal: is a link", None,
    ),
    "a pipe for a lock": (lambda run: replace(run, "lock", os.mkfifo), "lock: is a link, a folder, a pipe", None),
    "a pipe for a header": (lambda run: replace(run, "header.json", os.mkfifo), "header.json: is a link", "is a link"),
    "a pipe for a table": (lambda run: replace(run, "table.parquet", os.mkfifo), None, "table.parquet: is a link"),
}  # fmt: skip


@pytest.mark.parametrize(("do", "writing", "reading"), ODD_DIRECTORIES.values(), ids=ODD_DIRECTORIES)
def test_an_odd_directory_is_refused_and_left_alone(tmp_path, do, writing, reading):
    run = whole(tmp_path / "run", {})
    (tmp_path / "victim").touch()
    assert "cannot be written: Not a directory (give a directory" in refused(tmp_path / "victim" / "run")
    do(run)
    if reading:
        with pytest.raises(RefusedError) as why:
            read_contents(run)
        assert reading in str(why.value)
    elif run.is_dir():
        read_contents(run)
    if writing:
        assert writing in refused(run)
    else:
        filled(run, 0)
    assert (tmp_path / "victim").read_text() == ""


def test_files_of_others_are_not_touched(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "run" / "header.json.partial").symlink_to(tmp_path / "victim")
    filled(tmp_path / "run", 2)
    (tmp_path / "run" / "thesis.partial").write_text("mine")
    assert len(read_contents(filled(tmp_path / "run", 3)).records) == 3
    assert (tmp_path / "victim").read_text() == (tmp_path / "run" / "thesis.partial").read_text() == "mine"


def test_good_records_behind_a_damaged_one_are_kept(tmp_path):
    for number in (1, 2):
        raw = (filled(tmp_path, 30) / "journal").read_bytes()
        lines = raw.splitlines(keepends=True)
        bad = b"".join([*lines[:5], lines[5].replace(b"0", b"1"), *lines[6:]])
        (tmp_path / "journal").write_bytes(bad)
        words = f"damaged at byte {sum(map(len, lines[:5]))}: 29 finished cells verify and are kept"
        assert words in read_contents(tmp_path).note
        with Store.open_to_write(tmp_path, HEADER, CELLS) as store:
            assert store.note.endswith(f"{words}, the others run again; the damaged file is kept as {aside(number)}")
            assert len(store.finished) == 29
        assert (tmp_path / aside(number)).read_bytes() == bad
    assert read_contents(filled(tmp_path, 30)).records == {f"cell-{i}": record(i) for i in range(30)}


def aside(number: int) -> str:
    return f"journal.damaged-{number}"


@pytest.mark.parametrize(("name", "damages"), [("table.parquet", 100), ("provenance.json", 100)])
def test_damage_to_the_table_or_its_provenance_is_seen(tmp_path, name, damages):
    raw = (whole(tmp_path, {"machine": "here"}) / name).read_bytes()
    for bad in [*(bad for _, bad in flips(raw, damages, seed=2)), raw[: len(raw) // 2], raw[:-1], b""]:
        (tmp_path / name).write_bytes(bad)
        found = read_contents(tmp_path)
        if found.provenance is None:
            assert "is damaged: the same sweep writes it again from the journal" in found.note
        else:  # one blank of JSON for another
            assert name == "provenance.json"
            assert found.provenance == {"machine": "here"}
    assert found.provenance is None
    assert (whole(tmp_path, {"machine": "here"}) / name).read_bytes() == raw


@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
def test_a_folder_that_goes_away_meanwhile_is_noticed(tmp_path, how):
    with Store.open_to_write(tmp_path / "run", HEADER, CELLS) as store:
        store.append("cell-0", record(0))
        if how == "removed":
            shutil.rmtree(tmp_path / "run")
        else:
            (tmp_path / "run").rename(tmp_path / "elsewhere")
        if how == "replaced":
            shutil.copytree(tmp_path / "elsewhere", tmp_path / "run")
        with pytest.raises(DiskError, match=r"run/journal: removed, moved or replaced .* and with it 1 finished cells"):
            store.append("cell-1", record(1))
    if how != "removed":
        assert set(read_contents(tmp_path / "elsewhere").records) == {"cell-0"}


# --- One writer, any number of readers ------------------------------------


def test_a_second_writer_is_refused_and_told_who_the_first_is(tmp_path):
    with Store.open_to_write(tmp_path, HEADER, CELLS) as store:
        store.append("cell-0", record(0))
        assert f"process {os.getpid()} on {os.uname().nodename} is writing here" in refused(tmp_path)
        with (tmp_path / "journal").open("ab") as file:
            file.write(b"half a rec")  # which is no damage while a run goes on
        said = f"1 of 30 cells are finished; process {os.getpid()} on {os.uname().nodename} is writing"
        assert read_contents(tmp_path).note == said
    assert "did not finish" in read_contents(tmp_path).note


# --- Disks that fail ----------------------------------------------------------


@pytest.mark.parametrize(("where", "name", "error"), [(os, "write", errno.ENOSPC), (journals, "_sync", errno.EIO)])
def test_an_append_that_fails_does_not_count(tmp_path, monkeypatch, where, name, error):
    with Store.open_to_write(tmp_path, HEADER, CELLS) as store:
        store.append("cell-0", record(0))
        with monkeypatch.context() as patch:
            patch.setattr(where, name, failing(error))
            said = rf"journal: {os.strerror(error)}; 1 finished cells are kept \(make room, then the same command"
            with pytest.raises(DiskError, match=said):
                store.append("cell-1", record(1))
        assert set(store.finished) == {"cell-0"}
        with pytest.raises(ValueError, match=r"journal: it is closed, .* \(open it again\)"):
            store.append("cell-1", record(1))
    assert read_contents(tmp_path).note == "1 of 30 cells are finished"


@pytest.mark.parametrize(("error", "counts"), [(errno.EIO, True), (errno.EINVAL, False)])
def test_a_folder_that_cannot_be_synchronised_is_named(tmp_path, monkeypatch, error, counts):
    """Some file systems know no such thing of a folder, which is no fault."""
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (failing(error) if stat.S_ISDIR(os.fstat(fd).st_mode) else real)(fd))
    if counts:
        with pytest.raises(DiskError, match=f"{tmp_path}: could not be synchronised with the disk: Input/output"):
            filled(tmp_path, 1)
    else:
        assert len(read_contents(filled(tmp_path, 1)).records) == 1
