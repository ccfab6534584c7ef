"""The store: what it acknowledged is there whatever happens, and nothing else ever is."""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import shutil
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pandas as pd
import programs
import pytest
from records import flips, record

from replnet.store import journal as journals
from replnet.store.durable import seal
from replnet.store.store import DiskError, RefusedError, Store, changed_fields, part_key, read_contents

HEADER = {"network": {"kind": "cooperative", "peers": 1}, "seed": 1, "replnet": "0.1.0"}
CELLS = [f"cell-{i}" for i in range(30)]
TABLE = pd.DataFrame({"k": range(30), "metric": "freshness", "measured": [i / 7 for i in range(30)]})


def filled(folder: Path, n: int, cells=CELLS, **more) -> Path:
    with Store.open_to_write(folder, HEADER, cells, **more) as store:
        for i in range(n):
            store.append(cells[i], record(i))
    return folder


def table(folder: Path):
    """The finished table; None before the run is complete."""
    return (
        None
        if read_contents(folder).provenance is None
        else pd.read_parquet(folder / "table.parquet", engine="pyarrow")
    )


def whole(folder: Path) -> Path:
    with Store.open_to_write(filled(folder, 30), HEADER, CELLS) as store:
        store.complete(TABLE, {"machine": "here"})
    return folder


def refused(folder: Path, header=HEADER, cells=CELLS, **more) -> str:
    with pytest.raises(RefusedError) as why, Store.open_to_write(folder, header, cells, **more):
        pass
    return str(why.value)


# --- The ordinary course ---------------------------------------------------


def test_what_was_appended_is_there_after_a_resume(tmp_path):
    filled(tmp_path / "run", 20)
    with Store.open_to_write(tmp_path / "run", HEADER, CELLS) as store:
        assert store.finished == {f"cell-{i}": record(i) for i in range(20)}
        assert store.note == ""


def test_a_record_is_the_same_before_and_after_it_was_read_again(tmp_path):
    with Store.open_to_write(tmp_path, HEADER, CELLS) as store:
        store.append("cell-0", {"pair": (1, 2.5), 3: -0.0})
        before = repr(store.finished["cell-0"])
    assert repr(read_contents(tmp_path).records["cell-0"]) == before == "{'pair': [1, 2.5], '3': -0.0}"


@pytest.mark.parametrize("bad", [{"x": float("nan")}, {"x": object()}, {"x": {1, 2}}])
def test_a_record_that_is_not_plain_data_is_refused_and_leaves_no_trace(tmp_path, bad):
    with Store.open_to_write(tmp_path, HEADER, CELLS) as store:
        with pytest.raises(ValueError, match=r"record: .*plain data"):
            store.append("cell-0", bad)
        store.append("cell-1", record(1))
    assert set(read_contents(tmp_path).records) == {"cell-1"}


def test_the_same_record_twice_is_ignored_and_another_one_refused(tmp_path):
    with Store.open_to_write(tmp_path, HEADER, CELLS) as store:
        store.append("cell-3", record(3))
        size = (tmp_path / "journal").stat().st_size
        store.append("cell-3", record(3))
        with pytest.raises(ValueError, match=r"cell cell-3: .* another result\n +values.k: 3 -> 3.0"):
            store.append("cell-3", record(3) | {"values": {"k": 3.0}})
    assert (tmp_path / "journal").stat().st_size == size


def test_a_cell_that_nobody_asked_for_is_refused(tmp_path):
    with Store.open_to_write(tmp_path, HEADER, CELLS) as store, pytest.raises(ValueError, match="not one of the 30"):
        store.append("other", record(0))


def test_a_complete_run_has_its_table_and_where_it_comes_from(tmp_path):
    found = read_contents(whole(tmp_path))
    pd.testing.assert_frame_equal(table(tmp_path), TABLE)
    assert found.provenance == {"machine": "here"}
    assert found.note == "30 of 30 cells are finished"


def test_a_run_that_is_not_finished_has_no_table(tmp_path):
    with (
        Store.open_to_write(filled(tmp_path, 29), HEADER, CELLS) as store,
        pytest.raises(ValueError, match="1 of 30 cells are not"),
    ):
        store.complete(TABLE, {})
    assert table(tmp_path) is None
    assert read_contents(tmp_path).note == "29 of 30 cells are finished"


def test_a_complete_run_stays_as_it_is(tmp_path):
    whole(tmp_path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with Store.open_to_write(tmp_path, HEADER, CELLS) as store:
        store.complete(TABLE, {"machine": "elsewhere"})
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_table_with_a_mixed_column_is_refused_in_words(tmp_path):
    filled(tmp_path, 30)
    with (
        Store.open_to_write(tmp_path, HEADER, CELLS) as store,
        pytest.raises(ValueError, match="every column of one kind"),
    ):
        store.complete(pd.DataFrame({"k": [1, "random"]}), {})


# --- What may change, and what may not ------------------------------------


def test_a_changed_header_is_refused_field_by_field(tmp_path):
    filled(tmp_path, 3)
    other = {"network": {"kind": "cooperative", "peers": 2, "select": "recent"}, "seed": 7, "replnet": "0.1.0"}
    assert refused(tmp_path, other).splitlines()[1:] == [
        "    network.peers: 1 -> 2",
        "    network.select: nothing -> 'recent'",
        "    seed: 1 -> 7",
    ]
    assert len(read_contents(tmp_path).records) == 3


def test_differences_name_places_in_lists_and_tell_kinds_apart():
    assert changed_fields({"a": [1, {"b": 1}]}, {"a": [1, {"b": 1.0}]}) == ["a[2].b: 1 -> 1.0"]
    assert changed_fields({"a": [1]}, {"a": [1, 2]}) == ["a: [1] -> [1, 2]"]
    assert changed_fields({"a": True}, {"a": 1}) == ["a: True -> 1"]
    assert changed_fields(HEADER, json.loads(json.dumps(HEADER))) == []


def test_cells_may_be_added_and_what_the_records_do_not_depend_on_may_change(tmp_path):
    whole(tmp_path)
    more = [*CELLS, "cell-30"]
    with Store.open_to_write(tmp_path, HEADER, more, about={"vary": {"k": 31}}) as store:
        assert len(store.finished) == 30
        assert table(tmp_path) is None  # of fewer cells
        store.append("cell-30", record(30))
    found = read_contents(tmp_path)
    assert (found.note, len(found.records), found.about) == ("31 of 31 cells are finished", 31, {"vary": {"k": 31}})


def test_finished_cells_are_not_dropped(tmp_path):
    filled(tmp_path, 10)
    assert "5 of 10 finished cells are not among the 5" in refused(tmp_path, cells=CELLS[:5])
    with Store.open_to_write(tmp_path, HEADER, CELLS[:10]) as store:  # those that had not run may go
        assert len(store.finished) == 10


def test_the_journal_of_another_run_is_not_taken_for_this_one(tmp_path):
    filled(tmp_path / "a", 3)
    with Store.open_to_write(tmp_path / "b", HEADER | {"seed": 2}, CELLS):
        pass
    (tmp_path / "b" / "journal").write_bytes((tmp_path / "a" / "journal").read_bytes())
    assert "none of its 3 records belongs to the header" in refused(tmp_path / "b", HEADER | {"seed": 2})
    assert read_contents(tmp_path / "b").records == {}


@pytest.mark.parametrize(("name", "words"), [("thesis.tex", "it holds thesis.tex"), ("journal", "it holds journal")])
def test_a_directory_that_is_no_run_is_left_alone(tmp_path, name, words):
    (tmp_path / name).write_text("mine")
    assert words in refused(tmp_path)
    with pytest.raises(RefusedError, match="not the directory of a run"):
        read_contents(tmp_path)


def test_a_place_where_nothing_can_be_written_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    assert "cannot be written: Not a directory (give a directory" in refused(tmp_path / "file" / "run")
    assert "cannot be written: File exists" in refused(tmp_path / "file")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "open", full)
    with (
        pytest.raises(DiskError, match=r"No space left on device \(make room"),
        Store.open_to_write(tmp_path, HEADER, CELLS),
    ):
        pass


def test_reading_nothing_says_so(tmp_path):
    with pytest.raises(RefusedError, match=r"there is no header\.json"):
        read_contents(tmp_path / "nowhere")


def test_another_format_is_refused(tmp_path):
    filled(tmp_path, 1)
    content = json.loads((tmp_path / "header.json").read_text()) | {"format": 2}
    del content["sha256"]
    (tmp_path / "header.json").write_bytes(seal(content, "header"))
    assert "another version of replnet" in refused(tmp_path)


# --- One writer, any number of readers ------------------------------------


def test_a_second_writer_is_refused_and_told_who_the_first_is(tmp_path):
    with Store.open_to_write(tmp_path, HEADER, CELLS) as store:
        store.append("cell-0", record(0))
        assert f"process {os.getpid()} on {os.uname().nodename} is writing here" in refused(tmp_path)
        assert f"process {os.getpid()}" in read_contents(tmp_path).note
        store.append("cell-1", record(1))
    assert len(read_contents(filled(tmp_path, 3)).records) == 3


def test_reading_changes_nothing(tmp_path):
    filled(tmp_path, 5)
    with (tmp_path / "journal").open("ab") as file:
        file.write(b"half a rec")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    found = read_contents(tmp_path)
    assert len(found.records) == 5
    assert "the last 10 bytes of the journal are of an append that did not finish" in found.note
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_half_written_record_of_a_run_that_goes_on_is_nothing_to_talk_about(tmp_path):
    with Store.open_to_write(tmp_path, HEADER, CELLS) as store:
        store.append("cell-0", record(0))
        with (tmp_path / "journal").open("ab") as file:
            file.write(b"half a rec")
        assert "append" not in read_contents(tmp_path).note


# --- Damage ----------------------------------------------------------------


@pytest.mark.parametrize("cut", [1, 40, 200, 2000])
def test_a_torn_tail_is_cut_off_and_the_run_goes_on(tmp_path, cut):
    filled(tmp_path, 30)
    raw = (tmp_path / "journal").read_bytes()
    (tmp_path / "journal").write_bytes(raw[:-cut])
    with Store.open_to_write(tmp_path, HEADER, CELLS) as store:
        assert "did not finish" in store.note
        kept = len(store.finished)
        assert kept < 30
        for i in range(30):
            store.append(f"cell-{i}", record(i))
    assert (tmp_path / "journal").read_bytes() == raw


def test_a_flipped_byte_in_the_table_or_its_provenance_is_seen(tmp_path):
    whole(tmp_path)
    for name, n in (("table.parquet", 400), ("provenance.json", 100)):
        raw = (tmp_path / name).read_bytes()
        seen = 0
        for _, bad in flips(raw, n, seed=2):
            (tmp_path / name).write_bytes(bad)
            found = read_contents(tmp_path)
            if found.provenance is None:
                assert "is damaged: the same sweep writes it again" in found.note
                seen += 1
            else:  # one blank of JSON for another
                assert name == "provenance.json"
                assert found.provenance == {"machine": "here"}
                pd.testing.assert_frame_equal(table(tmp_path), TABLE)
        (tmp_path / name).write_bytes(raw)
        assert seen == n or name == "provenance.json"
    with Store.open_to_write(tmp_path, HEADER, CELLS) as store:
        (tmp_path / "table.parquet").write_bytes(b"gone")
        store.complete(TABLE, {"machine": "again"})
    pd.testing.assert_frame_equal(table(tmp_path), TABLE)


def test_a_table_that_is_cut_short_is_seen(tmp_path):
    whole(tmp_path)
    raw = (tmp_path / "table.parquet").read_bytes()
    for length in [*range(0, len(raw), 7), len(raw) - 1]:
        (tmp_path / "table.parquet").write_bytes(raw[:length])
        assert read_contents(tmp_path).provenance is None


def test_a_damaged_header_is_refused(tmp_path):
    filled(tmp_path, 3)
    raw = (tmp_path / "header.json").read_bytes()
    (tmp_path / "header.json").write_bytes(raw.replace(b'"peers": 1', b'"peers": 3'))
    assert "header.json: damaged" in refused(tmp_path)


def test_good_records_behind_a_damaged_one_are_kept(tmp_path):
    filled(tmp_path, 30)
    lines = (tmp_path / "journal").read_bytes().splitlines(keepends=True)
    bad = b"".join([*lines[:5], lines[5].replace(b"0", b"1"), *lines[6:]])
    (tmp_path / "journal").write_bytes(bad)
    words = f"damaged at byte {sum(map(len, lines[:5]))}: 29 finished cells verify and are kept"
    assert words in read_contents(tmp_path).note
    with Store.open_to_write(tmp_path, HEADER, CELLS) as store:
        assert words in store.note
        assert set(CELLS) - set(store.finished) == {"cell-5"}
        store.append("cell-5", record(5))
    assert (tmp_path / "journal.damaged-1").read_bytes() == bad
    assert read_contents(tmp_path).records == {f"cell-{i}": record(i) for i in range(30)}
    assert read_contents(tmp_path).note == "30 of 30 cells are finished"


# --- A directory that somebody prepared ------------------------------------


@pytest.mark.parametrize("name", ["lock", "journal"])
def test_a_planted_link_is_refused(tmp_path, name):
    victim, run = tmp_path / "victim", filled(tmp_path / "run", 2)
    (run / name).unlink()
    (run / name).symlink_to(victim)
    assert f"{run / name}: is a link, a folder, a pipe or a device (remove it" in refused(run)
    assert not victim.exists()
    victim.write_text("" if name == "journal" else "mine")
    before = victim.read_text()
    assert f"{run / name}: is a link" in refused(run)
    assert victim.read_text() == before


def test_a_link_planted_in_the_place_of_a_partial_file_is_not_followed(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "run" / "header.json.partial").symlink_to(tmp_path / "victim")
    assert len(read_contents(filled(tmp_path / "run", 2)).records) == 2
    assert (tmp_path / "victim").read_text() == "mine"


@pytest.mark.parametrize("name", ["lock", "header.json", "journal", "table.parquet", "provenance.json"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path, name):
    run = whole(tmp_path)
    (run / name).unlink()
    os.mkfifo(run / name)
    if name == "lock":
        assert read_contents(run).note == "30 of 30 cells are finished"
    else:
        with pytest.raises(RefusedError, match=f"{name}: is a link, a folder, a pipe"):
            read_contents(run)
    if name in ("lock", "header.json", "journal"):
        assert f"{name}: is a link, a folder, a pipe" in refused(run)


def test_files_of_others_are_not_removed(tmp_path):
    run = filled(tmp_path / "run", 2)
    (run / "thesis.partial").write_text("mine")
    filled(run, 3)
    assert (run / "thesis.partial").read_text() == "mine"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.partial").write_text("mine")
    assert "it holds thesis.partial" in refused(tmp_path / "other")


def test_a_header_that_says_too_little_is_refused(tmp_path):
    (filled(tmp_path, 1) / "header.json").write_bytes(seal({"format": 1}, "header"))
    assert "header.json: damaged" in refused(tmp_path)
    with pytest.raises(RefusedError, match=r"header\.json: damaged"):
        read_contents(tmp_path)


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


# --- A full disk ------------------------------------------------------------


def test_a_full_disk_keeps_what_was_acknowledged(tmp_path, monkeypatch):
    real = os.write

    def full(fd, data):
        real(fd, data[:100])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Store.open_to_write(tmp_path, HEADER, CELLS) as store:
        for i in range(7):
            store.append(f"cell-{i}", record(i))
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(DiskError, match=r"journal: No space left on device; 7 finished cells are kept"):
                store.append("cell-7", record(7))
        with pytest.raises(ValueError, match="closed"):
            store.append("cell-7", record(7))
    assert read_contents(tmp_path).note == "7 of 30 cells are finished"
    assert len(read_contents(filled(tmp_path, 30)).records) == 30


def test_a_sync_that_fails_does_not_count(tmp_path, monkeypatch):
    def broken(fd):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with Store.open_to_write(tmp_path, HEADER, CELLS) as store:
        store.append("cell-0", record(0))
        monkeypatch.setattr(journals, "_sync", broken)
        with pytest.raises(DiskError, match="Input/output error"):
            store.append("cell-1", record(1))
        assert set(store.finished) == {"cell-0"}
    assert set(read_contents(tmp_path).records) == {"cell-0"}


@pytest.fixture
def small_files():
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_the_kernel_refuses_to_let_the_journal_grow(tmp_path, small_files):
    with pytest.raises(DiskError, match="File too large"):
        filled(tmp_path, 30)
    done = len(read_contents(tmp_path).records)
    assert 0 < done < 29
    assert read_contents(tmp_path).records == {f"cell-{i}": record(i) for i in range(done)}
    resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    assert len(read_contents(filled(tmp_path, 30)).records) == 30


FULL = """
import json, sys
from replnet.store.store import DiskError, Store, read_contents
cells = [f"cell-{i}" for i in range(1000)]
def go(where):
    with Store.open_to_write(where, {}, cells) as store:
        try:
            for i in range(1000):
                store.append(f"cell-{i}", {"i": i, "text": "x" * 500})
        except DiskError as error:
            return str(error), len(store.finished)
why, done = go(sys.argv[1] + "/run")
assert "No space left on device" in why, why
assert 0 < done < 200
assert list(read_contents(sys.argv[1] + "/run").records.values()) == [{"i": i, "text": "x" * 500} for i in range(done)]
import os; os.unlink(sys.argv[1] + "/ballast")
why, more = go(sys.argv[1] + "/run")
assert more > done
assert [r["i"] for r in read_contents(sys.argv[1] + "/run").records.values()] == list(range(more))
"""


def test_a_disk_that_is_really_full(tmp_path):
    # A name space of its own, in which this user may mount a disk of 160 KiB.
    (tmp_path / "disk").mkdir()
    script = f"""
        mount -t tmpfs -o size=160k tmpfs {tmp_path}/disk &&
        dd if=/dev/zero of={tmp_path}/disk/ballast bs=1k count=80 status=none && exec {sys.executable} - {tmp_path}/disk
    """
    if programs.run(["unshare", "-Urm", "mount", "-t", "tmpfs", "tmpfs", tmp_path / "disk"]).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    run = programs.run(["unshare", "-Urm", "sh", "-c", script], input=FULL)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(("error", "counts"), [(errno.EIO, True), (errno.EINVAL, False)])
def test_a_folder_that_cannot_be_synchronised_is_named(tmp_path, monkeypatch, error, counts):
    """Some file systems know no such thing of a folder, which is no fault."""
    real = os.fsync

    def broken(fd):
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(error, os.strerror(error))
        real(fd)

    monkeypatch.setattr(os, "fsync", broken)
    if counts:
        with pytest.raises(DiskError, match=f"{tmp_path}: could not be synchronised with the disk: Input/output"):
            filled(tmp_path, 1)
    else:
        assert len(read_contents(filled(tmp_path, 1)).records) == 1


# --- SIGKILL ----------------------------------------------------------------

WRITER = """
    import sys
    from replnet.store.store import Store
    cells = [f"cell-{i}" for i in range(100_000)]
    with Store.open_to_write(sys.argv[1], {}, cells) as store:
        for i in range(len(store.finished), 100_000):
            store.append(f"cell-{i}", {"i": i, "text": "x" * (i * 37 % 5000)})
            sys.stdout.write(f"{i}\\n")
            sys.stdout.flush()
"""


def killed(folder: Path, after: float) -> int:
    """Acknowledged cells of a writer that was killed so long after its first."""
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(folder)]
    with programs.running(command, stdout=subprocess.PIPE, text=True) as writer:
        first = writer.stdout.readline()
        time.sleep(after)
        writer.kill()
        said = first + writer.stdout.read()  # not communicate, which misses what readline has read ahead
    return int(said.splitlines()[-1]) + 1


def kill_many(folder: Path, times: int, seed: int) -> None:
    rng, acknowledged = random.Random(seed), 0
    for _ in range(times):
        acknowledged = killed(folder, rng.uniform(0.0, 0.02))
        records = read_contents(folder).records
        assert len(records) in (acknowledged, acknowledged + 1)
        assert all(value["i"] == i for i, value in enumerate(records.values()))
    with Store.open_to_write(folder, {}, [f"cell-{i}" for i in range(100_000)]) as store:
        assert "damaged" not in store.note
        keys = [journals._key_and_record(line)[0] for line in (folder / "journal").read_bytes().splitlines()]
        assert keys == list(store.finished)  # no doubles


def test_what_was_acknowledged_survives_5_kills(tmp_path):
    kill_many(tmp_path, 5, seed=3)


@pytest.mark.slow
def test_what_was_acknowledged_survives_200_kills(tmp_path):
    kill_many(tmp_path, 200, seed=4)


@pytest.mark.parametrize("name", ["table.parquet", "provenance.json"])
def test_a_death_between_the_last_two_files_leaves_a_run_that_can_be_completed(tmp_path, name):
    whole(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / (name + ".partial")).write_bytes(b"half")
    assert table(tmp_path) is None
    whole(tmp_path)
    pd.testing.assert_frame_equal(table(tmp_path), TABLE)
    assert not list(tmp_path.glob("*.partial"))


def test_a_death_before_the_header_leaves_a_directory_that_can_be_used(tmp_path):
    (tmp_path / "lock").write_text("process 1 on nowhere")
    (tmp_path / "header.json.partial").write_bytes(b"half")
    assert len(read_contents(filled(tmp_path, 2)).records) == 2


# --- What it costs ----------------------------------------------------------


def test_ten_thousand_records_do_not_slow_it_down(tmp_path, monkeypatch):
    monkeypatch.setattr(journals, "_sync", lambda fd: None)
    cells, row = [f"{i:064x}" for i in range(10_000)], {"measured": 0.123456789, "note": "n" * 60}
    times = []
    with Store.open_to_write(tmp_path, HEADER, cells) as store:
        for i, key in enumerate(cells):
            begun = time.process_time()
            store.append(key, {"key": key, "values": {"k": i}, "rows": [row] * 3})
            times.append(time.process_time() - begun)
    assert len(read_contents(tmp_path).records) == 10_000
    # Medians, which a busy machine moves little; 25 microseconds where this was written.
    early, late = sorted(times[:1000])[500], sorted(times[-1000:])[500]
    assert late < 3 * early


# --- Parts of cells ---------------------------------------------------------


def test_parts_of_a_cell_are_kept_and_count_for_no_cell(tmp_path):
    first, then = (part_key("cell-0", which) for which in (range(3), range(3, 5)))
    with Store.open_to_write(tmp_path, HEADER, CELLS[:1]) as store:
        store.append(first, [0, 1, 2])
        store.append(then, [3, 4])
        with pytest.raises(ValueError, match="not one of the 1"):
            store.append(part_key("cell-1", range(2)), [0, 1])
        with pytest.raises(ValueError, match="1 of 1 cells are not finished"):
            store.complete(TABLE, {})
    found = read_contents(tmp_path)
    assert (found.records, found.parts) == ({}, {first: [0, 1, 2], then: [3, 4]})
    assert found.note == "0 of 1 cells are finished; parts of 1 more are kept"
    with Store.open_to_write(tmp_path, HEADER, CELLS[:1]) as store:
        store.append("cell-0", 5)
        store.complete(TABLE, {})
    assert read_contents(tmp_path).note == "1 of 1 cells are finished"
    assert "1 of 3 finished cells" in refused(tmp_path, cells=CELLS[1:])
