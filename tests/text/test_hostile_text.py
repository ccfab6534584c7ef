"""Names, titles and notes that would steer a terminal, a spreadsheet, a picture or a file system."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import programs
import pytest

import replnet
from replnet.cli import main
from replnet.cli.output import print_table
from replnet.show import Table

NETWORK, EXPERIMENT = (Path(__file__).with_name(f"hostile_{kind}.yaml") for kind in ("network", "experiment"))
STEERING = re.compile(r"[^\n\x20-\x7e\xa0-\u200f\u2010-\u2027\u2030-\ud7ff]")


def typed(monkeypatch, capfd, *arguments) -> tuple[int, str, str]:
    """Return the exit code, stdout and stderr of a command."""
    monkeypatch.setattr(sys, "argv", ["replnet", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capfd.readouterr()
    return end.value.code, out, err


@pytest.fixture
def network(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("FILE").write_text(NETWORK.read_text())


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["network", "FILE"], 0),
        (["predict", "FILE"], 0),
        (["predict", "FILE", "--format", "csv"], 0),
        (["predict", "FILE", "--format", "json"], 0),
        (["run", "FILE", "--horizon", "200", "--threshold", "freshness > 0"], 0),
        (["run", "FILE", "--horizon", "200", "--threshold", "\x1b[2J: freshness > 0"], 2),
        (["check", "FILE"], 0),
        (["predict", "FILE", "-s", "\x1b[2J=1"], 2),
        (["predict", "no\x1b[2J.yaml"], 2),
        (["no\x1b[2J"], 2),
        (["run", "FILE", "--engine", "\x1b[2J"], 2),
    ],
)
def test_nothing_steers_the_terminal(monkeypatch, capfd, arguments, code):
    done, out, err = typed(monkeypatch, capfd, *arguments)
    assert (done, STEERING.findall(out + err)) == (code, [])


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_a_picture_of_any_names(monkeypatch, capfd, ending):
    picture = Path(f"net.{ending}")
    assert typed(monkeypatch, capfd, "network", "FILE", "-o", picture)[0] == 0
    if ending == "svg":
        ElementTree.parse(picture)
    assert picture.stat().st_size > 1000


def test_a_sweep_of_any_names(tmp_path, monkeypatch, capfd):
    file, run = tmp_path / "experiment.yaml", tmp_path / "run"
    file.write_text(EXPERIMENT.read_text().replace("NAME", "n" * 300))
    sweep = ("sweep", file, "-o", run, "--workers", "0")
    done = [
        typed(monkeypatch, capfd, *command)
        for command in (
            ("sweep", file, "--dry-run"), sweep, (*sweep, "--format", "csv"), (*sweep, "--format", "markdown"),
            ("status", run), ("report", run), ("compare", run, run), ("compare", run, run, "--format", "csv"),
        )
    ]  # fmt: skip
    assert [code for code, _, _ in done] == [0] * len(done), done
    assert not STEERING.findall("".join(out + err for _, out, err in done))
    cells = {row["shape"] for row in csv.DictReader(io.StringIO(done[2][1]))}
    assert cells == {r"'=1+1\x1b[31m", "$x_{$"}
    (data,) = (run / "report" / "data").iterdir()
    assert set(pd.read_csv(data)["shape"]) == cells
    (figure,) = (run / "report" / "figures").iterdir()
    ElementTree.parse(figure)


def test_columns_stand_below_their_heads_whatever_is_in_them(capfd):
    print_table(Table(["a\x1b", "verdict"], [["x\ny", "agree"], ["z", "-"]]))
    assert capfd.readouterr().out == "a\\x1b  verdict\n-----  -------\nx\\ny   agree\nz      -\n"
    print_table(Table(["a"], [["x|y"]]), "markdown")
    assert capfd.readouterr().out == "| a    |\n| ---- |\n| x\\|y |\n"


def test_words_reach_the_screen_by_one_way_only():
    """What is not JSON goes through `replnet.cli.output`."""
    for path in (Path(replnet.__file__).parent / "cli").glob("*.py"):
        if path.name != "output.py":
            others = re.findall(
                r"click\.echo\((?!json\.dumps|result\.to_json|text, nl=False)|\bprint\(", path.read_text()
            )
            assert not others, path


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_full_device_in_the_place_of_stdout(form, monkeypatch, capfd):
    full = open("/dev/full", "w")  # noqa: SIM115  what is left in it cannot be written when it closes
    monkeypatch.setattr(sys, "stdout", full)
    code, _, err = typed(monkeypatch, capfd, "predict", "cascade", "--format", form)
    with contextlib.suppress(OSError):
        full.close()
    assert (code, err.splitlines()[-1]) == (3, "standard output: No space left on device")


def test_a_full_device_that_is_only_written_to_at_the_end():
    with open("/dev/full", "w") as full:
        run = programs.run([sys.executable, "-m", "replnet", "predict", "cascade", "--format", "csv"], stdout=full)
    assert (run.returncode, run.stderr.splitlines()[-1]) == (3, "standard output: No space left on device")


@pytest.mark.parametrize("words", ["trace import TIMES -o /dev/full", "network cascade -o FULL.svg"])
def test_a_full_device_in_the_place_of_a_file(words, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("TIMES").write_text("1\n2\n5\n")
    Path("FULL.svg").symlink_to("/dev/full")
    code, _, err = typed(monkeypatch, capfd, *words.split())
    assert code == 2
    assert f"{words.split()[-1]}: " in err
    assert "cannot be written: No space left on device (a place with room for it)" in err
