"""Commands to begin with: init, check, schema, list, demo, doctor, ui, and names as a shell completes them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import namedtuple
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import programs
import pytest
from click.shell_completion import BashComplete
from command_line import replnet, started

from replnet.cli import doctor
from replnet.cli.main import BAD_INPUT, DIFFERS, FINE, INCOMPLETE, commands
from replnet.text import read_yaml
from replnet.workers import ClusterNode


@pytest.mark.parametrize("kind", ["cascade", "experiment"])
def test_init_writes_files_that_run(kind, tmp_path):
    done = replnet("init", kind, "-o", tmp_path / "mine.yaml")
    assert done.stderr.startswith(f"{tmp_path / 'mine.yaml'} written; run it with: replnet ")
    assert replnet("check", tmp_path / "mine.yaml").returncode == 0
    text = (tmp_path / "mine.yaml").read_text()
    assert replnet("init", kind).stdout == text
    (name,) = re.findall(r"^# yaml-language-server: \$schema=(\S+)$", text, re.MULTILINE)
    schema = (tmp_path / name).read_text()
    assert schema == replnet("schema", "experiment" if kind == "experiment" else "network").stdout
    (tmp_path / name).write_text("mine")
    assert replnet("init", kind, "-o", tmp_path / "second.yaml").returncode == 0
    assert (tmp_path / name).read_text() == "mine"


@pytest.mark.parametrize("kind", ["network.schema.json", "no", "", "/etc/passwd", "../topologies/cascade"])
def test_what_init_has_not(kind):
    done = replnet("init", kind)
    assert (done.returncode, done.stdout) == (BAD_INPUT, "")
    assert f"init: there is no {kind!r}" in done.stderr


ROOT = Path(__file__).parents[2]
SHIPPED = {"network": "topologies", "experiment": "experiments"}


@pytest.mark.parametrize(("kind", "folder"), SHIPPED.items())
def test_shipped_files_name_their_schema_and_fit_it(kind, folder):
    """By draft-07, which editors know; `replnet schema > FILE` brings a schema up to date."""
    path = ROOT / folder / f"{kind}.schema.json"
    schema = json.loads(path.read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema == json.loads(replnet("schema", kind).stdout), f"out of date: replnet schema {kind} > {path}"
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    validator, files = jsonschema.Draft7Validator(schema), sorted((ROOT / folder).rglob("*.yaml"))
    assert len(files) > 10
    for file in files:
        (named,) = re.findall(r"^# yaml-language-server: \$schema=(\S+)$", file.read_text(), re.MULTILINE)
        assert (file.parent / named).resolve() == path
        assert list(validator.iter_errors(read_yaml(file).data)) == [], file
    misspelt = {"kind": "cascade", "depht": 3} if kind == "network" else {"title": "t", "vari": {}}
    assert not validator.is_valid(misspelt)


def test_the_entry_for_schemastore_names_the_schemas():
    catalogue = json.loads((ROOT / ".github" / "schemastore.json").read_text())["schemas"]
    assert {Path(entry["url"]).name for entry in catalogue} == {f"replnet-{kind}.json" for kind in SHIPPED}
    for entry in catalogue:
        assert entry.keys() == {"name", "description", "fileMatch", "url"}
    patterns = [pattern for entry in catalogue for pattern in entry["fileMatch"]]
    assert len(set(patterns)) == len(patterns)


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


def row(group, half, **more):
    known = {"metric": "freshness", "measured": 0.5, "verdict": "agree", "predicted": 0.51, "note": ""}
    return SimpleNamespace(group=group, ci_low=0.5 - half, ci_high=0.5 + half, **known | more)


def result(*rows):
    about = {"reply_delay": {"mean": 0.002}, "time_scale": 1.0, "messages": 7, "hosts": 2, "messages_per_second": 9}
    return SimpleNamespace(rows=rows, provenance=about, events=5, seconds=2.0, verdict="agree", incomplete="")


def test_a_demo_sets_rows_of_the_same_group_side_by_side(monkeypatch):
    """Also if the live run lacks some."""
    live = result(row("b", 0.3), row("c", 0.1, predicted=None, note="no formula"))
    monkeypatch.setattr("replnet.workers.ray_meanwhile", lambda: nullcontext(lambda: None))
    monkeypatch.setattr(
        "replnet.lab.emulate", lambda _, engine="", **how: live if engine else result(row("a", 0.1), row("b", 0.2))
    )
    done = replnet("demo")
    lines = [re.split("  +", line) for line in done.stdout.splitlines()[-4:]]
    assert lines[0] == ["a", "freshness", "0.51000", "0.5000 ± 0.1000", "agree,"]
    assert lines[1] == ["b", "freshness", "0.51000", "0.5000 ± 0.2000", "0.5000 ± 0.3000", "agree, agree"]
    assert lines[2] == ["", "for real: no formula"]
    assert lines[3][0].startswith("emulated: 5 events in 2.0 s. For real: 5 events and 7 messages between nodes in 2 ")
    assert lines[3][0].endswith("replies after 2 ms.")


# What `doctor` looks at, and what it says where that is not as it should be.


def test_nothing_is_wrong_here():
    done = replnet("doctor")
    assert (done.returncode, "FAIL" in done.stdout) == (FINE, False)
    for seen in (
        "numba ",
        "ray ",
        "DejaVu Sans",
        "GB of disk here",
        "kernels are kept in /",
        "million events a second",
    ):
        assert seen in done.stdout, seen


def test_what_is_wrong_fails_and_what_is_not_installed_does_not(monkeypatch):
    full = namedtuple("Usage", "total used free")(10, 9, 1)
    monkeypatch.setattr(doctor, "_check_engines", list)  # which takes seconds
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: full)
    monkeypatch.setattr("replnet.compiler.cache_folder", lambda module: None)
    done = replnet("doctor")
    assert done.returncode == DIFFERS
    assert "FAIL  0 GB of disk here" in done.stdout
    assert "FAIL  kernels can be kept nowhere (NUMBA_CACHE_DIR: a folder that can be written)" in done.stdout
    monkeypatch.undo()
    monkeypatch.setattr(doctor, "_check_engines", list)
    for module in ("ray", "matplotlib"):
        monkeypatch.setitem(sys.modules, module, None)
    done = replnet("doctor")
    assert done.returncode == FINE
    assert "without Ray (pip install 'replnet[ray]' brings it)" in done.stdout
    assert "DejaVu" not in done.stdout


def test_a_cluster_whose_nodes_have_no_cpus_can_do_nothing(monkeypatch):
    pytest.importorskip("ray", reason="the cluster is one of Ray (pip install 'replnet[ray]')")
    from replnet.live import cluster_check

    head = ClusterNode("abcdef123", "10.0.0.1", 0.0, 1e9)
    monkeypatch.setattr(doctor, "_check_engines", list)
    monkeypatch.setattr(cluster_check, "join_cluster", lambda address, fit: nullcontext([head]))
    done = replnet("doctor", "--address", "10.0.0.1:6379")
    assert done.returncode == DIFFERS
    assert (
        "FAIL  no node of the cluster has a CPU for jobs (a node that is started without --num-cpus=0)" in done.stdout
    )
    assert "ok    node 10.0.0.1 (abcdef): no CPUs for jobs, left alone" in done.stdout


# The command `ui` without its pages: what is missing, and what is wrong.


def test_what_cannot_be_opened_is_said_before_anything_is_served(tmp_path):
    pytest.importorskip("nicegui", reason="the pages need NiceGUI (pip install 'replnet[ui]')")
    for words, said in (
        (("cascada",), "did you mean cascade"),
        (("cascade", "-s", "depth=0"), "out of range"),
        ((".", "-s", "depth=2"), "is about a network"),
        (("-", "-s", "depth=2"), "is about a network"),
        (("none.parquet",), "does not exist"),
        ((tmp_path,), "not the directory of a run: there is no header.json"),
    ):
        done = replnet("ui", *words)
        assert (done.returncode, said in done.stderr) == (BAD_INPUT, True)
    done = started("ui", "-", stdin=subprocess.DEVNULL)
    assert (done.returncode, "standard input is no file" in done.stderr) == (BAD_INPUT, True)


# Names as a shell completes them.


@pytest.mark.parametrize(
    ("words", "begun", "found"),
    [
        (["run"], "casc", ["cascade"]),
        (["predict"], "cooperative-", ["cooperative-recent"]),
        (["sweep"], "p2p/fig12", ["p2p/fig12a", "p2p/fig12b"]),
        (["reproduce", "p2p/fig3"], "p2p/theorem6", ["p2p/theorem6"]),
        (["formula"], "gamma-r", ["gamma-rates"]),
        (["run", "cascade", "--measure"], "curr", ["currency"]),
        (["list"], "net", ["networks"]),
        (["check"], "p2p/lemma", ["p2p/lemma2"]),
        (["run", "cascade", "--engine"], "l", ["live"]),
        (["run"], "./mine", ["./mine"]),  # a network may be a file too
    ],
)
def test_what_begins_so(words, begun, found):
    items = BashComplete(commands, {}, "replnet", "_REPLNET_COMPLETE").get_completions(words, begun)
    assert [item.value for item in items if (item.type == "file") == begun.startswith(".")] == found
