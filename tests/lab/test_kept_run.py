"""Runs that are kept: whatever ends them, the same call carries on to the same bytes; they are read as sweeps are."""

from __future__ import annotations

import errno
import math
import mmap
import os
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from interrupts import ending

import replnet as rn
from replnet.ages.prediction import Prediction
from replnet.engines.path import Path as EnginePath
from replnet.lab import kept_run
from replnet.measure.estimate import Estimate
from replnet.measure.row import Row, judge_rows
from replnet.measure.verdict import Comparison
from replnet.run import emulate
from replnet.store import DiskError, RefusedError, journal
from replnet.store.store import part_key, parts_of_cell, read_contents

sweeps = import_module("replnet.lab.sweeps.sweep")

NETWORK = {"kind": "single", "updates": "exponential(rate=1)", "downloads": "exponential(rate=${rate})"}
EXPERIMENT = {
    "title": "two cells, the first of which differs", "vary": {"rate": [1, 2]}, "network": NETWORK,
    "run": {"horizon": 100, "seed": 3},
}  # fmt: skip
SINGLE = rn.single(updates="exponential(rate=1)", downloads="exponential(rate=1)")
CLUSTER = rn.cooperative(
    replicas=5, peers=1, updates="exponential(rate=1)", downloads="exponential(rate=1)", polls="exponential(rate=2)"
)
SHORT = {"seed": 2, "horizon": 640.0, "workers": 0}
NEEDING_ROOM = ("mkdir", "open", "write", "pwrite", "fsync", "replace")
CHANGING = (*NEEDING_ROOM, "unlink", "ftruncate")
KILLED = 9
RECOVERING = 10  # writes with which a run that is carried on with begins

acknowledged = mmap.mmap(-1, 1)  # the number of cells that were reported as done, shared with forks


def tell(now) -> None:
    acknowledged[0] = now.done


RUNS: dict[str, Callable[[Path], object]] = {
    "sweep": lambda folder: rn.sweep(EXPERIMENT, folder, workers=0, progress=tell),
    "run": lambda folder: rn.emulate(SINGLE, seed=2, horizon=320.0, workers=0, out=folder),
}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Runs stored in four parts of eight replications, and a cell that is run longer, as its prediction is wrong."""
    load, run_cell = emulate._load_engine, sweeps.run_cell

    def wrong(cell):
        record = run_cell(cell)
        record["rows"][0]["predicted"] += 0.2 * (cell.values == {"rate": 1})
        return record

    monkeypatch.setattr(emulate, "_load_engine", lambda task, engine: (load(task, engine)[0], 8))
    monkeypatch.setattr(kept_run, "SECONDS_PER_PART", 0.0)
    monkeypatch.setattr(sweeps, "run_cell", wrong)
    # What a process has written outlives it without that, which takes long.
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    monkeypatch.setattr(journal, "_sync", lambda fd: None)


def end_at(patch, nth: int, names, end: Callable[[], object], once: bool) -> None:
    """Let `end()` come in the place of the nth call of the functions of os with these names, or of all from then on.

    Of what that call was to write half is written.
    """
    calls = count(1)

    def patched(name: str):
        real = getattr(os, name)

        def call(*given, **named):
            if name == "open" and not given[1] & os.O_CREAT:
                return real(*given, **named)
            number = next(calls)
            if number < nth or (once and number > nth):
                return real(*given, **named)
            with suppress(OSError):
                if name == "write":
                    real(given[0], given[1][: len(given[1]) // 2])
                if name == "fsync":
                    ftruncate(given[0], os.fstat(given[0]).st_size // 2)
            return end()

        return call

    ftruncate = os.ftruncate
    for name in names:
        patch.setattr(os, name, patched(name))


def killed(run, nth: int, patch) -> bool:
    """Run in a process that is killed at its nth write; return whether it came so far."""
    child = os.fork()
    if child == 0:
        try:
            end_at(patch, nth, CHANGING, lambda: os._exit(KILLED), once=True)
            run()
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, KILLED)
    return code == KILLED


def failing(run, nth: int, patch) -> bool:
    """Run on a disk that is full from the nth write on; return whether that was noticed."""

    def full():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    end_at(patch, nth, NEEDING_ROOM, full, once=False)
    try:
        run()
    except (DiskError, RefusedError) as error:
        if "No space left on device" not in str(error):
            raise
        return True
    return False


def interrupted(run, nth: int, patch) -> bool:
    """Run until Ctrl-C at the nth write; return whether it came."""
    came = []

    def interrupt():
        came.append(True)
        raise KeyboardInterrupt

    end_at(patch, nth, CHANGING, interrupt, once=True)
    with suppress(KeyboardInterrupt):
        run()
    return bool(came)


def crash(end, run, nth: int, folder: Path) -> bool:
    """End a run at its nth write, and return whether it came so far; its folder is undamaged, with all it had told."""
    acknowledged[0] = 0
    with pytest.MonkeyPatch.context() as patch:
        ended = end(run, nth, patch)
    if acknowledged[0] or (folder / "header.json").exists():
        found = rn.open(folder)
        assert len(found.records) >= acknowledged[0]
        assert "damaged" not in found.about["note"]
    return ended


def files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in ("table.parquet", "provenance.json")}


@pytest.mark.parametrize("end", [killed, failing, interrupted])
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_run_that_ends_at_any_write_is_carried_on_with(tmp_path, run, end):
    """Also if what carries on ends early too, at one of the writes by which it begins."""
    run(tmp_path / "straight")
    straight = files(tmp_path / "straight")
    ended, nth = True, 0
    while ended:
        nth += 1
        folder = tmp_path / str(nth)
        ended = crash(end, lambda folder=folder: run(folder), nth, folder)
        crash(end, lambda folder=folder: run(folder), 1 + nth % RECOVERING, folder)
        run(folder)
        assert files(folder) == straight
        assert not [*folder.glob("*.partial")]
    assert 15 < nth < 100


# ---- Ended between replications, and read


@pytest.mark.parametrize(
    "how",
    [
        {"measure": ["staleness_age", "currency(0.4)"]},
        {"precision": 0.02, "horizon": 32.0},
        {"confirm": True},
        {"engine": "step", "horizon": 64.0},
    ],
    ids=str,
)
def test_a_run_that_was_broken_off_ends_as_one_that_was_not(tmp_path, how):
    """It is interrupted before the ninth replication that is new, as often as there are any."""
    how = SHORT | how
    plain = rn.emulate(CLUSTER, **how)
    whole = rn.emulate(CLUSTER, **how, out=tmp_path / "whole")
    for times in count(1):
        after = f"replication {8 * times + 1} of"
        resumed = rn.emulate(CLUSTER, **how, out=tmp_path / "broken", progress=ending(after)[1])
        if not resumed.incomplete:
            break
        assert resumed.incomplete == f"interrupted after {8 * times} replications"
        assert not (tmp_path / "broken" / "table.parquet").exists()
    assert times > 1
    assert plain.rows == whole.rows == resumed.rows
    assert plain.events == whole.events == resumed.events
    assert files(tmp_path / "whole") == files(tmp_path / "broken")


def test_a_run_is_opened_compared_and_refused_as_a_sweep_is(tmp_path, monkeypatch):
    one = rn.emulate(CLUSTER, **SHORT, out=tmp_path / "one")
    rn.emulate(CLUSTER, **SHORT | {"seed": 3}, out=tmp_path / "other")
    found = rn.open(tmp_path / "one")
    assert (found.incomplete, found.verdict, found.provenance["engine"]) == ("", one.verdict, "array")
    assert found.table[list(one.table.columns)].equals(one.table)
    assert found.samples.equals(one.samples)
    assert len(rn.compare(tmp_path / "one", tmp_path / "other")) == len(one.rows)
    with pytest.raises(RefusedError, match=r"run\.seed: 2 -> 5"):
        rn.emulate(CLUSTER, **SHORT | {"seed": 5}, out=tmp_path / "one")
    with pytest.raises(ValueError, match="trace: a run that is resumed"):
        rn.emulate(CLUSTER, **SHORT, out=tmp_path / "one", trace=tmp_path / "events.parquet")
    before = files(tmp_path / "one")
    monkeypatch.setattr("replnet.engines.array.make_runner", lambda task: (pytest.fail, 1))
    assert rn.emulate(CLUSTER, **SHORT, out=tmp_path / "one").rows == one.rows  # and nothing is run again
    assert files(tmp_path / "one") == before


def test_a_run_that_is_not_finished_is_read_as_it_stands(tmp_path):
    rn.emulate(CLUSTER, **SHORT, out=tmp_path, progress=ending("replication 9 of")[1])
    assert read_contents(tmp_path).parts
    found = rn.open(tmp_path)
    (name,) = found.samples
    assert found.rows[0]["measured"] == pytest.approx(found.samples[name].mean(), abs=0.01)
    assert (found.done, found.incomplete) == (0, "0 of 1 cells are finished; 8 replications so far")


def test_what_a_replication_measured_is_kept_exactly():
    shares = {("level 1", "freshness"): (0.1 + 0.2, math.pi), ("clients", "lag"): (math.inf, 1e-300)}
    path = EnginePath(shares, (3, 2, 1, 0), depth=1 / 3, unproven=2, unknown_shares={"level 1": math.nan})
    (again,) = kept_run._paths_of_part(kept_run._part_of_paths([path]))
    assert list(again.shares.items()) == list(path.shares.items())
    assert (again.counts, again.depth, again.unproven) == (path.counts, path.depth, path.unproven)
    assert np.isnan(again.unknown_shares["level 1"])


def test_parts_that_overlap_count_once_and_end_at_a_gap():
    """As after the repair of a journal that had lost one of them."""
    records = {part_key("c", range(*ends)): list(range(*ends)) for ends in [(20, 25), (0, 4), (9, 12), (2, 7)]}
    assert [which.start for which, _ in parts_of_cell("c", records | {"c": 1, "d 0:1": [0]})] == [0, 2, 9, 20]


def test_a_row_is_judged_as_it_was():
    """Rows of live runs are judged by other paths than their formula's."""
    apart = Comparison(Estimate(0.2, 0.01, 32, skew=0.1), 0.0, 0.05)
    row = Row("cluster", "freshness", Prediction(math.nan), Estimate(0.7, math.nan, 32, doubt="lost"), against=apart)
    (record,) = kept_run.run_record([row], 1, "")["rows"]
    again = kept_run.row_from_record(record)
    assert again.against == apart
    assert judge_rows([again], 0.02)[0].verdict == judge_rows([row], 0.02)[0].verdict == "differ"
