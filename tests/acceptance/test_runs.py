"""`run`, `sweep` and `reproduce` as users start them: the same table whatever does the work and interrupts it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from installed import Done, Installed

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
COMMANDS = {
    "run": ("run", "cascade", "--horizon", "4e6", "-o", "out"),  # some five seconds of one core
    "sweep": ("sweep", "cells.yaml", "-o", "out"),
}
ENDS = {"Ctrl-C": 3, "SIGTERM": 3, "SIGKILL": -signal.SIGKILL}  # how a command is ended, and its exit code


def table_of(folder: Path) -> bytes:
    """The table of a finished run, to the last byte."""
    return (folder / "table.parquet").read_bytes()


def is_well(done: Done) -> bool:
    return done.code == 0 and "Traceback" not in done.err + done.out and "another process" not in done.err


def size_of_journal(folder: Path) -> int:
    journal = folder / "out" / "journal"
    return journal.stat().st_size if journal.exists() else 0


@pytest.fixture
def installed(installed: Installed) -> Installed:
    """The installed program, in a folder with the cells."""
    (installed.folder / "cells.yaml").write_text(CELLS)
    return installed


@pytest.fixture(scope="module")
def tables(installed_once: Installed) -> dict[str, bytes]:
    """The tables that one process makes by itself, by command."""
    (installed_once.folder / "cells.yaml").write_text(CELLS)
    found = {}
    for name, command in COMMANDS.items():
        done = installed_once.replnet(*command[:-1], name, "--workers", 0)
        assert is_well(done), done
        found[name] = table_of(installed_once.folder / name)
    return found


def slow(*case: object):
    return pytest.param(*case, marks=pytest.mark.slow)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("options", "on_terminal"),
    [("", True), ("--address local", False), slow("", False), *(slow(f"--workers {n}", n == 4) for n in range(1, 5))],
)
def test_the_table_is_the_same_whatever_does_the_work(installed, tables, command, options, on_terminal):
    """And the same once more, when there is nothing left to do."""
    for _ in range(2):
        done = installed.replnet(*COMMANDS[command], *options.split(), on_terminal=on_terminal)
        assert is_well(done), done
        assert table_of(installed.folder / "out") == tables[command]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("options", ["", slow("--workers 2")], ids="default {}".format)
def test_what_is_interrupted_again_and_again_ends_in_the_same_table(installed, tables, command, options):
    folder, words = installed.folder, (*COMMANDS[command], *options.split())
    for how, code in ENDS.items():
        before = size_of_journal(folder)
        with installed.started("replnet", *words, on_terminal=how == "Ctrl-C") as running:
            running.wait_for(lambda size=before: size_of_journal(folder) > size)
            if how == "Ctrl-C":
                running.press_ctrl_c()
            else:
                running.send(signal.Signals[how])
            done = running.finish()
        assert done.code == code, (how, done)
        assert "Traceback" not in done.err + done.out
        status = installed.replnet("status", "out")
        assert "is writing" not in status.out + status.err
    done = installed.replnet(*words)
    assert is_well(done), done
    assert table_of(folder / "out") == tables[command]


def test_a_second_command_is_told_who_writes_and_the_first_goes_on(installed, tables):
    with installed.started("replnet", *COMMANDS["sweep"], "--workers", 2) as running:
        running.wait_for(lambda: size_of_journal(installed.folder) > 0)
        second = installed.replnet(*COMMANDS["sweep"])
        assert second.code == 2
        assert f"process {running.process.pid} on" in second.err
        done = running.finish()
    assert is_well(done), done
    assert table_of(installed.folder / "out") == tables["sweep"]


@pytest.mark.parametrize(
    ("names", "how"),
    [
        (("p2p/fig3", "p2p/fig9"), ["--quick"]),
        slow(("p2p/fig3", "p2p/fig7", "p2p/fig9"), []),
        slow(("p2p/fig11d",), []),
    ],
)
def test_reproduce_gives_the_same_tables_whatever_does_the_work(installed, names, how):
    for folder, options in (("default", how), ("two", [*how, "--workers", "2"])):
        done = installed.replnet("reproduce", *names, "-o", folder, *options, on_terminal=folder == "default")
        assert is_well(done), done
    for name in names:
        assert table_of(installed.folder / "default" / name) == table_of(installed.folder / "two" / name)
    assert "<title>" in (installed.folder / "default" / "report.html").read_text()
