"""Sweeps and `reproduce` as users start them: the same table whatever does the work and interrupts it."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path

import pytest
from installed import Installed, Running

CELLS = """\
title: twelve cells of half a second each
vary: {levels: "1:3", rate: [1, 2, 3, 4]}
network:
  kind: cascade
  depth: ${levels}
  branching: 3
  updates: exponential(rate=1)
  downloads: pareto(alpha=3, rate=${rate})
run: {horizon: 1e6}
figure: {x: rate, y: freshness, series: levels}
"""
NAMED = "default {}".format  # options, as the name of a test


def table_of(folder: Path) -> bytes:
    """The table of a finished run, to the last byte."""
    return (folder / "table.parquet").read_bytes()


def is_well(done) -> bool:
    return done.code == 0 and "Traceback" not in done.err + done.out and "another process" not in done.err


@pytest.fixture
def installed(installed: Installed) -> Installed:
    """The installed program, in a folder with the cells."""
    (installed.folder / "cells.yaml").write_text(CELLS)
    return installed


def finished_cells(folder: Path) -> int:
    journal = folder / "journal"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def has_more_than(cells: int, folder: Path) -> bool:
    return finished_cells(folder) > cells


@pytest.fixture(scope="module")
def table(installed_once) -> bytes:
    """The table that one process makes by itself."""
    (installed_once.folder / "cells.yaml").write_text(CELLS)
    done = installed_once.replnet("sweep", "cells.yaml", "-o", "alone", "--workers", 0)
    assert is_well(done), done
    return table_of(installed_once.folder / "alone")


@pytest.mark.parametrize(
    ("options", "on_terminal"),
    [
        ("", True),
        ("--address local", False),
        *(pytest.param(*case, marks=pytest.mark.slow)
          for case in (("", False), *((f"--workers {n}", n == 4) for n in (1, 2, 3, 4)))),
    ],
)  # fmt: skip
def test_a_sweep_gives_the_same_table_whatever_does_the_work(installed, table, options, on_terminal):
    done = installed.replnet("sweep", "cells.yaml", "-o", "out", *options.split(), on_terminal=on_terminal)
    assert is_well(done), done
    assert table_of(installed.folder / "out") == table
    again = installed.replnet("sweep", "cells.yaml", "-o", "out", *options.split(), on_terminal=on_terminal)
    assert is_well(again), again
    assert table_of(installed.folder / "out") == table


def interrupt(running: Running, how: str) -> None:
    if how == "Ctrl-C":
        running.press_ctrl_c()
    else:
        running.send(signal.Signals[how])


@pytest.mark.parametrize("options", ["", pytest.param("--workers 2", marks=pytest.mark.slow)], ids=NAMED)
def test_a_sweep_that_is_interrupted_again_and_again_ends_in_the_same_table(installed, table, options):
    folder, codes = installed.folder / "out", {"Ctrl-C": 3, "SIGTERM": 3, "SIGKILL": -signal.SIGKILL}
    for how, code in codes.items():
        command = ("replnet", "sweep", "cells.yaml", "-o", "out", *options.split())
        with installed.started(*command, on_terminal=how == "Ctrl-C") as running:
            running.wait_for(partial(has_more_than, finished_cells(folder), folder))
            interrupt(running, how)
            done = running.finish()
        assert done.code == code, (how, done)
        assert "Traceback" not in done.err + done.out
        status = installed.replnet("status", "out")
        assert "is writing" not in status.out + status.err
    done = installed.replnet("sweep", "cells.yaml", "-o", "out", *options.split())
    assert is_well(done), done
    assert table_of(folder) == table


def test_a_second_command_is_told_who_writes_and_the_first_goes_on(installed, table):
    with installed.started("replnet", "sweep", "cells.yaml", "-o", "out", "--workers", 2) as running:
        running.wait_for(lambda: finished_cells(installed.folder / "out") >= 1)
        second = installed.replnet("sweep", "cells.yaml", "-o", "out")
        assert second.code == 2
        assert f"process {running.process.pid} on" in second.err
        done = running.finish()
    assert is_well(done), done
    assert table_of(installed.folder / "out") == table


@pytest.mark.parametrize(
    ("names", "how"),
    [
        (("p2p/fig3", "p2p/fig9"), ["--quick"]),
        *(pytest.param(names, [], marks=pytest.mark.slow)
          for names in (("p2p/fig3", "p2p/fig7", "p2p/fig9"), ("p2p/fig11d",))),
    ],
)  # fmt: skip
def test_reproduce_gives_the_same_tables_whatever_does_the_work(installed, names, how):
    for folder, options in (("default", how), ("two", [*how, "--workers", "2"])):
        done = installed.replnet("reproduce", *names, "-o", folder, *options, on_terminal=folder == "default")
        assert is_well(done), done
    for name in names:
        assert table_of(installed.folder / "default" / name) == table_of(installed.folder / "two" / name)
    assert "<title>" in (installed.folder / "default" / "report.html").read_text()
