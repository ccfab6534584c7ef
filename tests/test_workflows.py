"""The page on workflows: its files and commands, complete and in their order, where their tools are installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import programs
import pytest
from site_pages import PAGES

import replnet as rn

PAGE = (PAGES / "how-to" / "workflows.md").read_text()
SECTIONS = dict(re.findall(r"^## (\w+).*?\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# ([\w.-]+)\n")
BIN = Path(sys.executable).parent


def write_files(text: str, folder: Path) -> None:
    """Write the blocks of a text whose first line names a file."""
    for _, body in BLOCK.findall(text):
        if named := NAMED.match(body):
            (folder / named.group(1)).write_text(body)


def commands(section: str) -> list[str]:
    return [
        line for language, body in BLOCK.findall(SECTIONS[section]) if language == "bash" for line in body.splitlines()
    ]


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the sweep of the page."""
    write_files(PAGE.partition("## Snakemake")[0], tmp_path)
    return tmp_path


def shell(command: str, folder: Path):
    """Run a command of the page, with the replnet and the Python of these tests."""
    place = folder / "bin"
    if not place.exists():
        place.mkdir()
        (place / "replnet").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m replnet "$@"\n')
        (place / "replnet").chmod(0o755)
    environment = os.environ | {
        "PATH": f"{place}{os.pathsep}{BIN}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(rn.__file__).parents[1]),
        "HOME": str(folder),
        "DVC_NO_ANALYTICS": "1",
    }
    return programs.run(["sh", "-c", command], cwd=folder, env=environment)


def run_section(section: str, folder: Path) -> str:
    """Write the files of a section, run its commands, and return what they print."""
    write_files(SECTIONS[section], folder)
    printed = ""
    for command in commands(section):
        done = shell(command, folder)
        assert done.returncode == 0, done.stdout + done.stderr
        printed += done.stdout
    return printed


def needs(tool: str) -> str:
    """Return the path of a tool; skip the test where it is not installed."""
    path = shutil.which(tool, path=f"{BIN}{os.pathsep}{os.environ['PATH']}")
    if path is None:
        pytest.skip(f"{tool} is not installed (pip install {tool})")
    return path


@pytest.mark.acceptance
@pytest.mark.parametrize("tool", ["snakemake", "dvc"])
def test_a_pipeline_makes_all_its_files_from_the_cells_that_are_kept(tool, folder):
    needs(tool)
    interrupted = rn.sweep(folder / "sizes.yaml", folder / "runs" / "sizes", workers=0, progress=stop_after_one_cell)
    assert interrupted.incomplete
    begun = (folder / "runs/sizes/journal").read_bytes()
    run_section({"snakemake": "Snakemake", "dvc": "DVC"}[tool], folder)
    assert json.loads((folder / "fresh-enough.json").read_text())["rows"][0]["measured"] > 0.5
    assert rn.open(folder / "runs" / "sizes").verdict == "agree"
    assert (folder / "sizes.csv").read_text().count("\n") == 4
    assert (folder / "runs/sizes/report/report.html").exists() == (tool == "snakemake")
    assert (folder / "runs/sizes/journal").read_bytes().startswith(begun)


def stop_after_one_cell(glimpse) -> None:
    if glimpse.done == 1:
        raise KeyboardInterrupt


@pytest.mark.acceptance
@pytest.mark.parametrize(("tool", "file"), [("snakemake", "Snakefile"), ("dvc", "dvc.yaml")])
def test_a_threshold_that_fails_stops_a_pipeline(tool, file, folder):
    needs(tool)
    section = {"snakemake": "Snakemake", "dvc": "DVC"}[tool]
    write_files(SECTIONS[section], folder)
    (folder / file).write_text((folder / file).read_text().replace("freshness > 0.5", "freshness > 0.9"))
    codes = [shell(command, folder).returncode for command in commands(section)]
    assert codes[:-1] == [0] * (len(codes) - 1)
    assert codes[-1] != 0
    assert not (folder / "fresh-enough.json").exists() or tool == "dvc"


@pytest.mark.acceptance
def test_jobs_of_hydra_run_and_are_not_run_twice(folder):
    pytest.importorskip("hydra", reason="Hydra is not installed (pip install hydra-core)")
    printed = run_section("Hydra", folder)
    values = re.findall(r"cooperative: (0\.\d+) \(", printed)
    assert len(values) == 4
    names = {path.name for path in (folder / "jobs").glob("*/")}
    assert names == {f"network.peers={k},network.replicas={m}" for m in (5, 10) for k in (1, 2)}
    runs = {path: path.read_bytes() for path in (folder / "jobs").glob("*/run/journal")}
    assert len(runs) == 4
    assert re.findall(r"cooperative: (0\.\d+) \(", shell(commands("Hydra")[0], folder).stdout) == values
    assert all(path.read_bytes() == journal for path, journal in runs.items())
    done = shell("python job.py least=0.9", folder)
    assert done.returncode == 1, done.stderr


def test_the_logger_of_the_page_hears_of_all_cells(folder):
    write_files(SECTIONS["MLflow"], folder)
    done = shell("python log_lines.py", folder)
    assert done.returncode == 0, done.stderr
    lines = [line.split(" ", 2) for line in done.stderr.splitlines() if re.match(r"[0-9a-f]{16} ", line)]
    assert len({run for run, *_ in lines}) == 1
    assert [words[1] for words in lines] == ["20", "10", "5", "agree"]
