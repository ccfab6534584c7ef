"""`run` as users start it: kept in a directory, shared by processes, interrupted, and carried on with."""

from __future__ import annotations

import signal

import pytest

NAMED = "default {}".format  # options, as the name of a test
RUN = ("run", "cascade", "--horizon", "4e6", "-o", "out")  # some five seconds of one core


def rows_of(printed: str) -> list[str]:
    """The rows of a table, without the line below it, which has the seconds."""
    return printed.replace("\r", "").splitlines()[:6]


@pytest.fixture(scope="module")
def alone(installed_once):
    done = installed_once.replnet(*RUN, "--workers", 0)
    assert done.code == 0, done
    return rows_of(done.out), (installed_once.folder / "out" / "table.parquet").read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        "",
        *(pytest.param(o, marks=pytest.mark.slow) for o in (*map("--workers {}".format, (1, 2, 3)), "--address local")),
    ],
)
def test_a_run_is_the_same_whatever_does_the_work(installed, alone, options):
    done = installed.replnet(*RUN, *options.split())
    assert (done.code, rows_of(done.out)) == (0, alone[0]), done
    assert (installed.folder / "out" / "table.parquet").read_bytes() == alone[1]


@pytest.mark.parametrize("options", ["", pytest.param("--workers 2", marks=pytest.mark.slow)], ids=NAMED)
def test_a_run_that_is_interrupted_again_and_again_ends_as_one_that_was_not(installed, alone, options):
    journal = installed.folder / "out" / "journal"
    for how, code in (("Ctrl-C", 3), ("SIGTERM", 3), ("SIGKILL", -signal.SIGKILL)):
        before = journal.stat().st_size if journal.exists() else 0
        with installed.started("replnet", *RUN, *options.split(), on_terminal=how == "Ctrl-C") as running:
            running.wait_for(lambda size=before: journal.exists() and journal.stat().st_size > size)
            if how == "Ctrl-C":
                running.press_ctrl_c()
            else:
                running.send(signal.Signals[how])
            done = running.finish()
        assert done.code == code, done
        assert "Traceback" not in done.err + done.out
    done = installed.replnet(*RUN, *options.split())
    assert (done.code, rows_of(done.out)) == (0, alone[0]), done
    assert (installed.folder / "out" / "table.parquet").read_bytes() == alone[1]
