"""sweep, status, report, compare and reproduce, as a user types them."""

from __future__ import annotations

import csv
import io
import re
import resource
from importlib import import_module

import pytest
from command_line import SMALL, replnet, started

from replnet.cli import output
from replnet.cli.main import RAY_LOST
from replnet.show.report import reproduction
from replnet.workers import RayUnreachableError

sweeps = import_module("replnet.lab.sweeps")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def test_a_sweep_is_kept_reported_and_compared(file, tmp_path):
    folder, other = tmp_path / "run", tmp_path / "other"
    assert replnet("sweep", file, "-o", folder, "--workers", 0).returncode == 0
    assert replnet("report", folder).stdout == f"{folder / 'report' / 'report.html'}\n"
    assert "a few cells" in (folder / "report" / "report.html").read_text()
    assert {file.suffix for file in (folder / "report").rglob("*.*")} == {".html", ".svg", ".csv"}
    assert replnet("sweep", file, "-o", other, "--workers", 0, "-s", "run.seed=2").returncode == 0
    both = replnet("compare", folder, other, "--format", "csv")
    assert both.stderr.endswith("2 rows in both; overall: agree\n")
    rows = list(csv.DictReader(io.StringIO(both.stdout)))
    assert [row["rate"] for row in rows] == ["1", "2"]
    assert float(rows[0]["difference"]) == float(rows[0]["first"]) - float(rows[0]["second"]) != 0
    shown = replnet("compare", folder, other).stdout.splitlines()[2].split()
    assert shown[:3] == ["1", "level", "1"]
    assert f"{float(rows[0]['difference']):.5f}" in shown


def test_overrides_make_axes_and_tables_are_data(file):
    run = replnet("sweep", file, "--workers", 0, "-s", "rate=1:3", "-s", "run.precision=0.05", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(run.stdout)))
    assert [row["rate"] for row in rows] == ["1", "2", "3"]
    assert [float(row["predicted"]) for row in rows] == pytest.approx([1 / 2, 2 / 3, 3 / 4])


def test_a_full_disk_ends_in_a_message_and_the_same_command_carries_on(file, tmp_path):
    """No file may grow beyond half of what the journal takes."""
    straight, folder = tmp_path / "straight", tmp_path / "run"
    arguments = ["sweep", file, "-s", "rate=1:12", "-s", "run.precision=0.05", "--workers", 0, "-o"]
    assert replnet(*arguments, straight).returncode == 0
    room = (straight / "journal").stat().st_size // 2
    assert (straight / "header.json").stat().st_size < room

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    full = started(*arguments, folder, preexec_fn=limited)
    assert (full.returncode, full.stdout) == (3, "")
    said = re.search(
        r"File too large; (\d+) finished cells are kept \(make room, then the same command carries on\)", full.stderr
    )
    assert said, full.stderr
    assert "Traceback" not in full.stderr
    kept = int(said[1])
    assert 0 < kept < 12
    assert f"{kept} of 12 cells are finished" in replnet("status", folder).stdout
    assert replnet(*arguments, folder).returncode == 0
    for name in ("table.parquet", "journal"):
        assert (folder / name).read_bytes() == (straight / name).read_bytes()


def test_reproduce_writes_one_report(tmp_path):
    run = replnet("reproduce", "p2p/fig3", "p2p/fig9", "--quick", "--workers", 0, "-o", tmp_path)
    assert run.returncode == 0, run.stderr
    assert [line.split()[0] for line in run.stdout.splitlines()[2:]] == ["p2p/fig3", "p2p/fig9"]
    page = (tmp_path / "report.html").read_text()
    assert "Freshness of a single replica" in page
    assert "Freshness in a cascade by level" in page


def test_what_becomes_of_ray_is_said_with_how_to_go_on(file, tmp_path, monkeypatch):
    def lost(*_, **__):
        raise RayUnreachableError("no worker starts: why")

    monkeypatch.setattr(sweeps, "sweep", lost)
    monkeypatch.setattr(reproduction, "sweep", lost)
    for command in (["sweep", file], ["reproduce", "p2p/fig3", "-o", tmp_path]):
        run = replnet(*command)
        assert (run.returncode, run.stdout) == (RAY_LOST, "")
        assert run.stderr == "no worker starts: why\nwhat is finished is kept; the same command carries on\n"


def test_a_long_table_shows_the_rows_farthest_from_their_prediction(file, monkeypatch):
    monkeypatch.setattr(output, "LONGEST_TABLE", 8)
    monkeypatch.setattr(output, "WORST_ROWS_SHOWN", 3)
    many = ["sweep", file, "-s", "rate=1:9", "-s", "run.precision=0.05", "--workers", 0]
    run = replnet(*many)
    rows = run.stdout.splitlines()[2:]
    z = [abs(float(found)) for row in rows for found in re.findall(r" ([+-]\d+\.\d\d) ", row)]
    assert len(z) == len(rows) == 3
    assert z == sorted(z, reverse=True)
    assert "the 3 rows farthest from their prediction, of 9 (--format csv prints all)" in run.stderr
    assert len(replnet(*many, "--format", "markdown").stdout.splitlines()) == 11
