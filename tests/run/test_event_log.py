"""Every event of a run in a file: enough of them to measure again, and what becomes of the file if it goes wrong."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import programs
import pyarrow.parquet as pq
import pytest
from command_line import replnet
from interrupts import ending

import replnet as rn
from replnet.cli.main import BAD_INPUT
from replnet.engines.log import EVENTS, REPLY, columns
from replnet.run.event_log import event_log
from replnet.store import durable

UPDATE, DOWNLOAD = EVENTS.index("update"), EVENTS.index("download")
TREE = rn.cascade(depth=2, branching=3, updates="exponential(rate=2)", downloads="pareto(alpha=3, rate=2)", delay=0.05)
CLUSTER = rn.cooperative(
    replicas=4, peers=2, updates="exponential(rate=1)", downloads="constant(rate=1)", polls="exponential(rate=2)",
    clients={"ask": 2, "queries": "exponential(rate=3)"},
)  # fmt: skip
LINES = rn.Network.from_data(CLUSTER.data() | {"bandwidth": 4.0, "queue": 2, "faults": [{"lose": 0.2}]})


def test_a_log_changes_nothing_that_is_measured(tmp_path):
    """But that what is measured may have been added up in another order, so that its last digits are others."""
    how = {"seed": 5, "horizon": 100}
    logged, plain = rn.emulate(LINES, trace=tmp_path / "events.parquet", **how), rn.emulate(LINES, **how)
    assert logged.events == plain.events
    numbers = ["measured", "ci_low", "ci_high", "z"]
    pd.testing.assert_frame_equal(logged.table[numbers], plain.table[numbers], rtol=1e-6)
    assert logged.table.drop(columns=numbers).equals(plain.table.drop(columns=numbers))


def test_the_file(tmp_path):
    file = tmp_path / "events.parquet"
    for trace in (str(file), opened := io.BytesIO()):
        rn.emulate(TREE, seed=7, horizon=64, trace=trace)
    assert opened.getvalue() == file.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["events.parquet"]
    schema = pq.read_schema(file)
    assert schema.names == ["replication", "at", "event", "node", "peer", "left", "source"]
    about = json.loads(schema.metadata[b"replnet"])
    assert (about["seed"], about["engine"], about["replnet"]) == (7, "array", rn.__version__)
    assert rn.Network.from_data(about["network"]).data() == TREE.data()
    log = pd.read_parquet(file)
    assert set(log.replication) == set(range(log.replication.nunique()))
    assert log["at"].between(0, 64, inclusive="left").all()
    for event, some in log.groupby("event", observed=True):
        assert some.peer.isna().all() == (event in ("update", "start"))
        assert some.left.isna().all() == (event in ("update", "download"))
        assert some.source.isna().all() == some.source.isna().any() == (event == "download")


@pytest.mark.parametrize(
    ("at", "how", "kept"), [(3, KeyboardInterrupt(), {0, 1}), (2, RuntimeError(), {0}), (1, RuntimeError(), None)]
)
def test_what_a_run_leaves_that_is_interrupted_or_fails(at, how, kept, tmp_path):
    """What it had by then; and what was there before if it did not begin."""
    file = tmp_path / "events.parquet"
    file.write_text("of old")
    with suppress(RuntimeError):
        assert rn.emulate(TREE, horizon=64, trace=file, progress=ending(f"replication {at} ", how)[1]).incomplete
    if kept is None:
        assert file.read_text() == "of old"
    else:
        assert set(pd.read_parquet(file).replication) == kept
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("events.csv", r"not a Parquet file by its name \(name it .*events\.parquet\)"),
        ("missing/events.parquet", r"no folder .*missing \(make it"),
        ("folder.parquet", r"folder\.parquet is a folder \(name a file"),
        ("taken.parquet", r"taken\.parquet cannot be written: Is a directory \(name a file where you may write\)"),
    ],
)
def test_files_that_cannot_be(name, words, tmp_path):
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "taken.parquet.part").mkdir()
    with pytest.raises(ValueError, match=words) as caught:
        rn.emulate(TREE, horizon=64, trace=tmp_path / name)
    assert str(caught.value).startswith("trace: ")


def test_a_disk_that_refuses(tmp_path, monkeypatch):
    """No permission, and no room at any point; whoever runs this may be root, to whom nothing is refused."""
    opened = os.open

    def refuse(path, *how, **more):
        if Path(path).parent == tmp_path:
            raise PermissionError(13, "Permission denied")
        return opened(path, *how, **more)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    closed = pq.ParquetWriter.close
    no_room = r"^trace: .*No space left .*\(name a place with room for it\)"
    for where, name, refusal, words in (
        (os, "open", refuse, r"^trace: .*cannot be written: Permission denied"),
        (pq, "ParquetWriter", full, no_room),
        (pq.ParquetWriter, "write_table", full, no_room),
        (pq.ParquetWriter, "close", lambda writer: closed(writer) or full(), no_room),
    ):
        monkeypatch.setattr(where, name, refusal)
        with pytest.raises(ValueError, match=words):
            rn.emulate(TREE, horizon=64, trace=tmp_path / "events.parquet")
        monkeypatch.undo()
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".part", ".lock"])
def test_links_that_someone_has_planted_are_not_followed(suffix, tmp_path):
    victim, file = tmp_path / "victim", tmp_path / "events.parquet"
    victim.write_text("precious")
    file.with_name(file.name + suffix).symlink_to(victim)
    with suppress(ValueError):
        rn.emulate(TREE, horizon=64, trace=file)
    assert victim.read_text() == "precious"
    assert file.exists() == (suffix == ".part")  # a link in the place of the lock is refused, and not ours to remove


WRITING = """
import sys
import replnet as rn
from replnet.run.event_log import event_log
tree = rn.cascade(depth=2, branching=3, updates="exponential(rate=2)", downloads="exponential(rate=2)")
with event_log(sys.argv[1], tree, 1, "array"):
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_a_file_that_another_run_writes_is_refused_until_that_was_killed(tmp_path):
    """Refused before anything runs; and what a run leaves that was killed is in nobody's way."""
    file, pipe = tmp_path / "events.parquet", subprocess.PIPE
    with programs.running([sys.executable, "-c", WRITING, file], stdin=pipe, stdout=pipe) as other:
        assert other.stdout.readline() == b"writing\n"
        words = f"trace: {file}: process {other.pid} on {socket.gethostname()} is writing here (wait until it ends"
        for engine in ("array", "step", "live"):
            done = replnet("run", "cascade", "--engine", engine, "--horizon", "64", "--trace", str(file))
            assert (done.returncode, done.stderr[: len(words)]) == (BAD_INPUT, words)
        assert other.poll() is None
        other.kill()
        other.wait()
    assert {path.name for path in tmp_path.iterdir()} == {"events.parquet.part", "events.parquet.lock"}
    rn.emulate(TREE, horizon=64, trace=file)
    assert set(pd.read_parquet(file).replication) == set(range(32))
    assert list(tmp_path.iterdir()) == [file]


def test_a_lock_that_its_last_holder_removes_just_now_is_taken_anew(tmp_path, monkeypatch):
    file, taken = tmp_path / "lock", durable._try_to_lock
    removed = []

    def slowly(fd: int) -> bool:
        if not removed:
            removed.append(file.unlink())
        return taken(fd)

    monkeypatch.setattr(durable, "_try_to_lock", slowly)
    with durable.lock(file, file, keep=False):
        assert file.exists()
        with pytest.raises(durable.RefusedError), durable.lock(file, file):
            pass
    assert removed
    assert not file.exists()


def test_rows_that_live_hands_on(tmp_path):
    """In any order of the replications, and none at times, or none at all."""
    with event_log(tmp_path / "empty.parquet", TREE, 1, "live"):
        pass
    assert pd.read_parquet(tmp_path / "empty.parquet").empty
    file = tmp_path / "events.parquet"
    source, one, two = (TREE.topology.names.index(name) for name in ("source", "1", "1.2"))
    with event_log(file, TREE, 2, "live") as log:
        log.add([])
        log.add([
            (1, columns(np.array([0.5]), UPDATE, source, source=source)),
            (0, columns(np.array([0.6]), DOWNLOAD, two, one)),
            (1, columns(np.array([0.7]), REPLY, one, source, np.array([0.65]), source)),
            (0, columns(np.array([0.8]), REPLY, two, one, np.array([-np.inf]), source)),
        ])  # fmt: skip
    read = pd.read_parquet(file).astype(object)
    assert {tuple(None if pd.isna(value) else value for value in row) for row in read.itertuples(index=False)} == {
        (1, 0.5, "update", "source", None, None, "source"),
        (0, 0.6, "download", "1.2", "1", None, None),
        (1, 0.7, "reply", "1", "source", 0.65, "source"),
        (0, 0.8, "reply", "1.2", "1", -np.inf, "source"),
    }
