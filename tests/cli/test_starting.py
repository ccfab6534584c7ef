"""Commands to begin with: init, check, schema, list, demo."""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import programs
import pytest
from command_line import SMALL, replnet, started

from replnet.cli.main import FINE, INCOMPLETE


def test_check_tells_all_that_is_wrong(tmp_path):
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    assert replnet("check", file).stdout.endswith("small.yaml: fine, an experiment of 2 cells\n")
    file.write_text(
        SMALL.replace("rises", "rise").replace("within: 0.005}", "within: no}").replace("x: rate", "x: rat")
    )
    run = replnet("check", file)
    assert run.returncode == 2
    for said in ("claims[1].rise", "printed[1].within", "figure.x", "problems"):
        assert said in run.stderr, run.stderr
    assert replnet("check", "cascade").stdout == "cascade: fine, a network: 121 nodes, cascade\n"


def test_init_writes_files_that_run(tmp_path):
    kinds = replnet("init").stdout.split()
    assert {"cascade", "cooperative", "experiment"} <= set(kinds)
    assert replnet("init", "experiment", "-o", tmp_path / "mine.yaml").returncode == 0
    assert replnet("check", tmp_path / "mine.yaml").returncode == 0
    again = replnet("init", "cascade", "-o", tmp_path / "mine.yaml")
    assert (again.returncode, "is there already" in again.stderr) == (2, True)


@pytest.mark.parametrize("what", ["network", "experiment"])
def test_schemas(what):
    definitions = json.loads(replnet("schema", what).stdout)["$defs"]
    assert definitions["Cooperative"]["properties"]["replicas"]["anyOf" if what == "experiment" else "minimum"]
    assert not re.search(r'"(ge|le|gt|lt)":', json.dumps(definitions))


@pytest.mark.slow
@pytest.mark.ray
def test_the_demo_shows_all_three():
    done = started("demo")
    assert done.returncode == FINE, done.stderr
    assert "emulated (array)" in done.stdout
    assert "for real (Ray)" in done.stdout
    assert "messages between nodes in" in done.stdout


def test_a_demo_that_is_interrupted_as_it_emulates_does_not_go_on(monkeypatch):
    @contextmanager
    def meanwhile():
        yield lambda: pytest.fail("waited for Ray")

    stopped = SimpleNamespace(incomplete="interrupted after 3 replications")
    monkeypatch.setattr("replnet.workers.ray_meanwhile", meanwhile)
    monkeypatch.setattr("replnet.lab.emulate", lambda *given, **how: stopped)
    done = replnet("demo")
    assert (done.returncode, done.stderr) == (INCOMPLETE, "\ninterrupted\n")


TERMINATED = """\
import os, signal, sys
from replnet.cli import main
from replnet.workers import ray_cluster

def init(*given, start=ray_cluster._init):
    start(*given)
    os.kill(os.getpid(), signal.SIGTERM)

ray_cluster._init, sys.argv = init, ["replnet", "demo"]
main()
"""


@pytest.mark.ray
def test_sigterm_as_ray_starts_is_an_interruption():
    """It comes when Ray's own answer to it, a trace of machine code, is in place."""
    done = programs.run([sys.executable, "-c", TERMINATED])
    assert (done.returncode, done.stderr.splitlines()[-1]) == (INCOMPLETE, "interrupted"), done.stderr
    assert "SIGTERM" not in done.stderr


def test_a_list_has_all_that_comes_with_replnet():
    rows = json.loads(replnet("list", "--format", "json").stdout)
    assert {row["kind"] for row in rows} == {"networks", "experiments", "laws", "metrics"}
    assert all(row["about"] for row in rows)
    assert "cascade" in {row["name"] for row in rows if row["kind"] == "networks"}
    assert replnet("list", "laws").stdout.splitlines()[2].startswith("laws")


def test_who_takes_one_command_for_the_other_is_told_which_is_meant():
    for command, name, meant in (
        ("run", "p2p/fig3", "replnet sweep p2p/fig3"),
        ("sweep", "cascade", "replnet run cascade"),
    ):
        done = replnet(command, name)
        assert (done.returncode, meant in done.stderr) == (2, True)
