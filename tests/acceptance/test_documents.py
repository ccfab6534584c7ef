"""Every command of the README and of CONTRIBUTING, as it stands there."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from installed import LONGEST, Installed

CHECKOUT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", ".github/CONTRIBUTING.md")
# What the words in capitals stand for here.
MEANT = {
    "NETWORK | DIR | TRACE": "cascade", "NETWORK": "cascade", "EXPERIMENT": "p2p/fig3", "PAPER/NAME": "p2p/fig3",
    "NAME ...": "p2p/fig3", "DIR": "runs/fig3", "KIND": "laws", "UPDATES": "updates.csv", "A": "updates.csv",
    "B": "downloads.csv", "LAW": "'constant(period=86400)'",
}  # fmt: skip
FILES = {"observe": "visits.csv", "check": "cells.yaml", "sweep": "cells.yaml"}
NAMED = {"formula": "gamma-rates -s ratio=2 -s spread=0.5"}
FLEET = "every: 1min\nnodes:\n  source: {file: updates.csv}\n  mirror: {file: downloads.csv}\n"
CELLS = """\
title: two cells
vary: {rate: [1, 2]}
network: {kind: single, updates: exponential(rate=1), downloads: "exponential(rate=${rate})"}
"""


def mentioned(document: str) -> list[str]:
    """Commands of replnet in a document: in blocks, each a line, and within sentences."""
    text = (CHECKOUT / document).read_text()
    prose = re.sub(r"^ {4}.*$", "", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), flags=re.M)
    lines = re.findall(r"^ {4}(?:\.venv/bin/)?(replnet .*?)(?: {2,}.*)?$", text, re.MULTILINE)
    return [*lines, *(re.sub(r"\s+", " ", span) for span in re.findall(r"`(replnet [^`]*)`", prose))]


def filled_in(mention: str) -> list[str]:
    """The command lines that a mention stands for; none for the mere name of a command within a sentence."""
    if "," in mention and "'" not in mention:
        return [f"replnet {name.strip()} --help" for name in mention.removeprefix("replnet ").split(",")]
    name = mention.split()[1]
    line = mention.replace("[--quick]", "--quick").replace("FILE", FILES.get(name, "FILE"))
    line = re.sub(r"\[?\bNAME\b\]?$", NAMED.get(name, "NAME"), line)
    for word, meaning in MEANT.items():
        line = re.sub(rf"(?:\[|\b){re.escape(word)}(?:\]|\b)", meaning, line)
    return [line]


COMMANDS = sorted({line for document in DOCUMENTS for mention in mentioned(document) for line in filled_in(mention)})
ALONE = ("demo", "doctor", "formula", "list", "schema")  # what is a command without anything behind it
NAMES = [line for line in COMMANDS if re.fullmatch(r"replnet (trace )?\w+", line) and line.split()[1] not in ALONE]
PAGES = [line for line in COMMANDS if line not in NAMES and re.search(r"^replnet ui\b|--ui\b", line)]
OWN_LAW = [line for line in COMMANDS if "tapered" in line]
OTHERS = [line for line in COMMANDS if line not in (*NAMES, *PAGES, *OWN_LAW)]
# Those that do for a longer time what another one does as well.
LONG = [line for line in OTHERS if re.search(r"^replnet (\w+ p2p/fig3( -o \S+)?$|design --updates 'exponential)", line)]


def test_there_are_commands_of_every_kind():
    assert {line.split()[1] for line in OTHERS} > {"run", "predict", "size", "design", "sweep", "reproduce", "observe"}
    assert (len(OWN_LAW), len(PAGES), len(LONG)) == (1, 1, 3)
    capitals = [line for line in COMMANDS if line not in NAMES and re.search(r"\b[A-Z]{2,}\b", line)]
    assert capitals == []


@pytest.fixture(scope="module")
def place(installed_once) -> Installed:
    """A folder with the files that commands name: a source that changes every 28 hours or so, and its downloads."""
    folder = installed_once.folder
    for name, period in (("updates.csv", 100_000), ("downloads.csv", 60_000)):
        (folder / name).write_text("time\n" + "".join(f"{period * i + 2000 * (i % 7)}\n" for i in range(300)))
    visits = (f"{t},source,{t // 10}\n{t},mirror,{(t - t % 4) // 10}\n" for t in range(600))
    (folder / "visits.csv").write_text("time,node,version\n" + "".join(visits))
    (folder / "cells.yaml").write_text(CELLS)
    (folder / "fleet.yaml").write_text(FLEET)
    for command in (
        ("sweep", "p2p/fig3", "--quick", "-o", "runs/fig3"),
        ("sweep", "cells.yaml", "-o", "runs/peers"),
        ("run", "cascade", "--horizon", 200, "--trace", "events.parquet"),
    ):
        done = installed_once.replnet(*command)
        assert done.code == 0, done
    return installed_once


@pytest.mark.parametrize(
    "line", [pytest.param(line, marks=pytest.mark.slow if line in LONG else ()) for line in OTHERS]
)
def test_commands_do_what_they_are_there_for(place, line):
    if line.startswith("replnet sweep"):  # of other cells than those that are there
        shutil.rmtree(place.folder / "runs", ignore_errors=True)
    done = place.shell(line)
    late = "--engine live" in line and done.code == 3 and "the machine did not keep up" in done.err
    assert done.code == 0 or late, done  # on a busy machine a live run may come late, if it says so
    assert "Traceback" not in done.err


@pytest.mark.parametrize("line", PAGES)
def test_pages_are_served_until_ctrl_c(place, line):
    with place.started(*shlex.split(line), on_terminal=True, environment={"BROWSER": "true"}) as running:
        running.wait_for(lambda: "http://" in running.printed)
        running.press_ctrl_c()
        done = running.finish()
    assert done.code in (0, 3), done
    assert "Traceback" not in done.out


def test_the_law_that_contributing_adds_agrees(place):
    """The class as it stands in CONTRIBUTING, in a program that then is the command."""
    (example,) = re.findall(
        r"^```python\n(@final\n@family.*?)^```", (CHECKOUT / DOCUMENTS[1]).read_text(), re.MULTILINE | re.DOTALL
    )
    (line,) = OWN_LAW
    program = f"""
import sys
from replnet.laws import families
exec({example!r}, vars(families))
sys.argv = {shlex.split(line)!r}
from replnet.cli import main
main()
"""
    done = place.python(program)
    assert done.code == 0, done
    assert "overall: agree" in done.out + done.err


def test_commands_about_tests_name_markers_and_files_that_there_are():
    """In CONTRIBUTING, but for the sign that stands in the place of a test's own name."""
    lines = re.findall(r"`pytest ([^`]*)`", (CHECKOUT / DOCUMENTS[1]).read_text())
    assert len(lines) >= 5
    command = [sys.executable, "-m", "pytest", "--markers"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=LONGEST, check=True)
    markers = set(re.findall(r"^@pytest.mark.(\w+):", done.stdout, re.MULTILINE))
    for line in lines:
        words = shlex.split(line.replace("PART/test_X", "test_architecture"))
        if "-m" in words:
            assert set(re.findall(r"\w+", words[words.index("-m") + 1])) - {"and", "not", "or"} <= markers
        assert all((CHECKOUT / word).exists() for word in words if word.startswith("tests/"))
