"""Runs that are kept: whatever ends them at whichever of their writes, the same call carries on to the same bytes."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from itertools import count
from pathlib import Path

import pytest

import replnet as rn
from replnet.lab import kept_run
from replnet.run import emulate
from replnet.store import DiskError, RefusedError, journal

sweeps = import_module("replnet.lab.sweeps.sweep")

NETWORK = {"kind": "single", "updates": "exponential(rate=1)", "downloads": "exponential(rate=${rate})"}
EXPERIMENT = {
    "title": "two cells, the first of which differs", "vary": {"rate": [1, 2]}, "network": NETWORK,
    "run": {"horizon": 100, "seed": 3},
}  # fmt: skip
SINGLE = rn.single(updates="exponential(rate=1)", downloads="exponential(rate=1)")
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


def ending(patch, nth: int, names, end: Callable[[], object], once: bool) -> None:
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
            ending(patch, nth, CHANGING, lambda: os._exit(KILLED), once=True)
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

    ending(patch, nth, NEEDING_ROOM, full, once=False)
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

    ending(patch, nth, CHANGING, interrupt, once=True)
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
