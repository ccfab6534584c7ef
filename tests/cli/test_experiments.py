"""sweep, status, report, compare, reproduce, predict, run, network and design, as a user types them."""

from __future__ import annotations

import csv
import io
import json
import re
import resource
from importlib import import_module

import numpy as np
import pytest
from command_line import SMALL, replnet, started

from replnet.cli import output
from replnet.cli.main import BAD_INPUT, RAY_LOST
from replnet.laws import law
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


# predict, run, network and size, as programs read them, and runs that are kept.


def test_no_path_counts_part_of_a_download():
    """Paths of a schedule in rounds may all count the same, though a share of a download more is due in each."""
    fields = ("-s", "sources=5", "-s", "rates=[1, 2, 3, 4, 5]", "-s", "weights=[1, 1, 1, 1, 1]", "-s", "order=fixed")
    most = ("--horizon", "6115.46", "--replications", "65", "-s", "budget=18.215", "--format", "json")
    rows = json.loads(replnet("run", "aggregate", *fields, *most).stdout)["rows"]
    row = next(row for row in rows if (row["group"], row["metric"]) == ("source 1", "download_rate"))
    assert row["ci_low"] < row["predicted"] < row["ci_high"]


def test_a_run_is_kept_reported_and_compared(tmp_path):
    folder, page = tmp_path / "kept", tmp_path / "one.html"
    asked = ("run", "single", "--horizon", "2000", "-o", folder)
    first = replnet(*asked, "--format", "csv")
    assert f"kept in {folder}" in first.stderr
    assert replnet(*asked, "--format", "csv").stdout == first.stdout
    assert "1 of 1 cells are finished" in replnet("status", folder).stdout
    assert replnet("report", folder, "-o", page).stdout == f"{page}\n"
    assert "One run of single" in page.read_text()
    assert "overall: agree" in replnet("compare", folder, folder).stderr
    other = replnet("run", "single", "--horizon", "3000", "-o", folder)
    assert (other.returncode, "run.horizon: 2000.0 -> 3000.0" in other.stderr) == (BAD_INPUT, True)
    resumed = replnet("sweep", "--resume", folder)
    assert (resumed.returncode, "the directory of one run" in resumed.stderr) == (BAD_INPUT, True)


# The command design.


def design(*more):
    """The command for four replicas and Poisson updates and pulls, unless `more` says otherwise."""
    usual = ("--updates", "exponential(rate=1)", "--replicas", 4, "--pulls", "exponential")
    return replnet("design", *usual, "--precision", 0.05, "--workers", 0, *more)


def test_a_design_is_printed_and_its_best_network_written(tmp_path):
    run = design(
        "--replicas", 12, "--target", "freshness >= 0.5", "--limit", 8, "--format", "json", "-o", tmp_path / "best.yaml"
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["rows"][0]["fits"]
    assert found["rows"][0]["busiest"] <= 8
    predicted = replnet("predict", tmp_path / "best.yaml", "--format", "json")
    assert json.loads(predicted.stdout)["rows"][-1]["predicted"] == found["rows"][0]["predicted"]


@pytest.mark.slow
def test_what_nothing_keeps_to_is_said():
    run = design("--target", "lag <= 0.3", "--limit", 0.1)
    assert run.returncode == 1
    assert "nothing keeps to the limit: some node answers" in run.stderr
    assert run.stdout.splitlines()[0].split()[:3] == ["architecture", "pulls", "rates"]


def test_recorded_dates_are_counted_in_their_unit(tmp_path):
    hours = np.cumsum(np.random.default_rng(1).exponential(2.0, 400)) * 3600
    (tmp_path / "dates.csv").write_text("\n".join(f"{1.7e9 + t:.0f}" for t in hours))
    updates, rates = f"trace(file={tmp_path / 'dates.csv'}", {}
    for text, unit in ((f"{updates})", "second"), (f"{updates}, unit=h)", "hour")):
        how = ("--updates", text, "--replicas", 2, "-o", tmp_path / "best.yaml")
        run = design(*how, "--target", "freshness >= 0.5")
        assert f"requests of all nodes and clients per {unit};" in run.stdout, run.stderr
        best = json.loads(replnet("predict", tmp_path / "best.yaml", "--format", "json").stdout)
        rates[unit] = law(best["network"]["downloads"]).rate
    assert rates["hour"] == pytest.approx(3600 * rates["second"], rel=0.01)  # each rounded up to four digits
