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
from replnet.lab.experiment import cells
from replnet.lab.experiment.sections import Sections
from replnet.show import Table

NETWORK = r"""
title: "a\e]0;title\a \e[2Jgone"
kind: graph
nodes:
  "=cmd|' /C calc'!A0": {updates: exponential(rate=1)}
  "red\e[31m": {downloads: exponential(rate=2)}
  "$x_{$": {downloads: exponential(rate=2)}
  "_^\u202e\u0085\r\n1": {downloads: exponential(rate=2)}
  '[/b]{%$\frac': {downloads: exponential(rate=2)}
links:
  - {from: "=cmd|' /C calc'!A0", to: "red\e[31m"}
  - {from: "=cmd|' /C calc'!A0", to: "$x_{$"}
  - {from: "$x_{$", to: "_^\u202e\u0085\r\n1"}
  - {from: "$x_{$", to: '[/b]{%$\frac'}
"""
EXPERIMENT = r"""
name: "NAME"
title: "a\e]0;title\a"
vary:
  shape: ["=1+1\e[31m", "$x_{$"]
  rate: [1, 2]
values: {twice: 2 * rate}
network: {kind: single, title: "${shape}", updates: exponential(rate=1), downloads: "exponential(rate=${twice})"}
run: {estimator: conditional, horizon: 200}
claims: [{text: "more \e[2J", rises: freshness, over: rate}]
printed: [{at: {rate: 1, shape: "$x_{$"}, group: level 1, metric: freshness, value: 0.1, within: 0.01, note: "\e[2J"}]
figure: {x: rate, series: shape}
"""
STEERING = re.compile(r"[^\n\x20-\x7e\xa0-\u200f\u2010-\u2027\u2030-\ud7ff]")


def typed(monkeypatch, capfd, *arguments) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of a command."""
    monkeypatch.setattr(sys, "argv", ["replnet", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capfd.readouterr()
    return end.value.code, out, err


@pytest.fixture
def network(tmp_path):
    path = tmp_path / "network.yaml"
    path.write_text(NETWORK)
    return path


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["network", "FILE"], 0),
        (["predict", "FILE"], 0),
        (["predict", "FILE", "--format", "csv"], 0),
        (["predict", "FILE", "--format", "json"], 0),
        (["run", "FILE", "--horizon", "200"], 0),
        (["run", "FILE", "--horizon", "200", "--threshold", "freshness > 0", "--format", "csv"], 0),
        (["run", "FILE", "--horizon", "200", "--threshold", "\x1b[2J: freshness > 0"], 2),
        (["check", "FILE"], 0),
        (["predict", "FILE", "-s", "\x1b[2J=1"], 2),
        (["predict", "no\x1b[2J.yaml"], 2),
        (["no\x1b[2J"], 2),
        (["run", "FILE", "--engine", "\x1b[2J"], 2),
    ],
)
def test_nothing_steers_the_terminal(network, monkeypatch, capfd, arguments, code):
    done, out, err = typed(monkeypatch, capfd, *(network if one == "FILE" else one for one in arguments))
    assert (done, STEERING.findall(out + err)) == (code, [])


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_a_picture_of_any_names(network, tmp_path, monkeypatch, capfd, ending):
    picture = tmp_path / f"net.{ending}"
    assert typed(monkeypatch, capfd, "network", network, "-o", picture)[0] == 0
    if ending == "svg":
        ElementTree.parse(picture)
    assert picture.stat().st_size > 1000


def test_a_sweep_of_any_names(tmp_path, monkeypatch, capfd):
    file, run = tmp_path / "experiment.yaml", tmp_path / "run"
    file.write_text(EXPERIMENT.replace("NAME", "n" * 300))
    said = [
        typed(monkeypatch, capfd, "sweep", file, "--dry-run"),
        typed(monkeypatch, capfd, "sweep", file, "-o", run, "--workers", "0"),
        typed(monkeypatch, capfd, "sweep", file, "-o", run, "--workers", "0", "--format", "csv"),
        typed(monkeypatch, capfd, "sweep", file, "-o", run, "--workers", "0", "--format", "markdown"),
        typed(monkeypatch, capfd, "status", run),
        typed(monkeypatch, capfd, "report", run),
        typed(monkeypatch, capfd, "compare", run, run),
        typed(monkeypatch, capfd, "compare", run, run, "--format", "csv"),
    ]
    assert [code for code, _, _ in said] == [0] * len(said), said
    assert not STEERING.findall("".join(out + err for _, out, err in said))
    cells = {row["shape"] for row in csv.DictReader(io.StringIO(said[2][1]))}
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


def test_many_named_values_are_looked_up_and_not_gone_through(monkeypatch):
    """Each name once or a few times, not once for every other."""
    hashed = 0

    class Counted(str):
        __slots__ = ()

        def __hash__(self):
            nonlocal hashed
            hashed += 1
            return super().__hash__()

    monkeypatch.setattr(cells, "canonical", Counted)
    count = 300
    values = {f"v{i}": f"v{i + 1} + 1" if i + 1 < count else 1 for i in range(count)}
    found = cells.Names(Sections(title="t", network="cascade", values=values))
    assert not found.faults
    assert found.order == [f"v{i}" for i in reversed(range(count))]
    assert hashed < 10 * count


@pytest.mark.parametrize(
    "arguments",
    [
        ["network", "cascade"],
        ["predict", "cascade"],
        ["predict", "cascade", "--format", "json"],
        ["schema"],
    ],
)
def test_a_full_device_in_the_place_of_stdout(arguments, monkeypatch, capfd):
    full = open("/dev/full", "w")  # noqa: SIM115  what is left in it cannot be written when it closes
    monkeypatch.setattr(sys, "stdout", full)
    code, _, err = typed(monkeypatch, capfd, *arguments)
    with contextlib.suppress(OSError):
        full.close()
    assert code == 3
    assert err.splitlines()[-1] == "standard output: No space left on device"


def test_a_full_device_that_is_only_written_to_at_the_end():
    with open("/dev/full", "w") as full:
        run = programs.run([sys.executable, "-m", "replnet", "predict", "cascade", "--format", "csv"], stdout=full)
    assert run.returncode == 3
    assert run.stderr.splitlines()[-1] == "standard output: No space left on device"


@pytest.mark.parametrize(
    "arguments",
    [["trace", "import", "TIMES", "-o", "/dev/full"], ["network", "cascade", "-o", "FULL.svg"]],
)
def test_a_full_device_in_the_place_of_a_file(arguments, tmp_path, monkeypatch, capfd):
    (tmp_path / "TIMES").write_text("1\n2\n5\n")
    (tmp_path / "FULL.svg").symlink_to("/dev/full")
    monkeypatch.chdir(tmp_path)
    code, _, err = typed(monkeypatch, capfd, *arguments)
    assert code == 2
    assert f"{arguments[-1]}: " in err
    assert "cannot be written: No space left on device (a place with room for it)" in err
