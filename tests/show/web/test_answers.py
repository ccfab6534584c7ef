"""What pages ask for and may read, and the process that answers them."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

import pytest

from replnet.network.network import load
from replnet.show.web import answers
from replnet.show.web.answers import NetworkQuestion
from replnet.show.web.desk import LatestOnly
from replnet.show.web.opened import Opened
from replnet.show.web.playback import read_playback, recorded_replications
from replnet.text.documents import shipped_names
from replnet.text.errors import InputError
from replnet.workers import Failure


@pytest.fixture(autouse=True)
def _same_priority(monkeypatch):
    """That of the tests stays as it is."""
    monkeypatch.delattr(os, "setpriority", raising=False)


def test_a_prediction_or_what_is_wrong():
    found = answers.predict_rows(NetworkQuestion("cascade", ("depth=2",), 0.9))
    assert [row["predicted"] for row in found["answer"]] == pytest.approx([0.5, 0.25])
    wrong = answers.predict_rows(NetworkQuestion("cooperative", ("peers=10",), 0.9))
    assert (wrong["answer"], "10 is not below replicas = 10" in wrong["error"]) == ([], True)


def test_an_emulation_has_intervals():
    (row,) = answers.emulate_rows(NetworkQuestion("cooperative", (), 0.9), 0.01)["answer"]
    assert row["ci_low"] < row["predicted"] < row["ci_high"]


def test_sizes():
    """The rate that reaches p beside updates of rate 1 is p / (1 - p)."""
    poisson = ("updates=exponential(rate=1)", "downloads=exponential(rate=1)")
    (words,) = answers.smallest_size(NetworkQuestion("single", poisson, 0.9))["answer"]
    assert "rate of downloads = 9.00000 or more" in words
    (words,) = answers.smallest_size(NetworkQuestion("cooperative-recent", (), 0.6))["answer"]
    assert words.startswith("No formula")
    out = answers.smallest_size(NetworkQuestion("cascade", ("depth=1", "delay=10"), 0.9))
    assert "out of reach" in out["error"]


def test_the_best_size_under_a_bandwidth():
    """P2P eq. 33: with Poisson processes r = mu p / (1 - p), and replicas alone serve B^2 / r - B."""
    given = ("bandwidth=20", "ask=1", "updates=exponential(rate=1)", "downloads=exponential(rate=1)")
    (words,) = answers.best_size(NetworkQuestion("redundant", given, 0.9))["answer"]
    assert "it serves 24.44 queries" in words
    assert answers.best_size(NetworkQuestion("cascade", ("bandwidth=20",), 0.9))["answer"] == []


def test_a_run_is_recorded_in_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (trace,) = answers.record_trace(NetworkQuestion("single", (), 0.9), "array")["answer"]
    assert recorded_replications(trace) == [0]
    assert read_playback(trace, 0).network == load("single")
    assert list(tmp_path.iterdir()) == []
    wrong = answers.record_trace(NetworkQuestion("cascade", ("depth=0",), 0.9), "array")
    assert (wrong["field"], wrong["error"]) == ("depth", "0 is out of range (a whole number from 1 to 1,000)")


def test_the_latest_question_is_answered_and_one_that_takes_too_long_is_given_up():
    async def questions() -> None:
        desk = LatestOnly(30.0)
        try:
            first, second, third = (asyncio.create_task(desk.ask(abs, number)) for number in (-1, -2, -3))
            assert await asyncio.gather(first, second, third) == [None, None, 3]
            assert isinstance(await desk.ask(int, "x"), Failure)
        finally:
            await desk.close()
        desk = LatestOnly(0.1)
        try:
            slow = asyncio.create_task(desk.ask(time.sleep, 3600))
            await asyncio.sleep(0)
            assert await desk.ask(abs, -1) == 1
            assert await slow is None
        finally:
            await desk.close()

    asyncio.run(questions())


# What pages read: the network that the command has named, those that come with replnet, and their files.


NETWORK = "kind: single\nupdates: trace(file={file})\ndownloads: exponential(rate=1)\n"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("named", "given", "other"):
        (tmp_path / f"{name}.csv").write_text("time\n1\n2\n4\n8\n")
    (tmp_path / "opened.yaml").write_text(NETWORK.format(file="named.csv"))
    (tmp_path / "other.yaml").write_text(NETWORK.format(file="other.csv"))
    return tmp_path


def ask(opened: Opened, network: str, *overrides: str) -> NetworkQuestion:
    return opened.question(network, opened.document(network), overrides, 0.9)


def test_networks_are_those_of_the_command_and_those_that_come_with_replnet(folder):
    opened = Opened("opened.yaml")
    assert opened.networks == ["opened.yaml", *shipped_names()]
    assert Opened("cascade").networks == shipped_names()
    assert ask(opened, "opened.yaml") == NetworkQuestion("opened.yaml", (), 0.9)
    assert ask(opened, "cascade", "depth=2").network.size == 13
    for other in ("other.yaml", "./opened.yaml", str(folder / "opened.yaml"), "/etc/passwd", "opened", "", "../x"):
        with pytest.raises(ValueError, match=r"network: .* is not open here \(replnet ui NETWORK opens it\)"):
            opened.document(other)


@pytest.mark.parametrize("law", ["trace({0})", "age(trace(file={0}))", "{{trace: [{0}]}}", "{{TRACE: {{file: {0}}}}}"])
def test_records_are_those_that_the_command_has_named(folder, law):
    opened = Opened("opened.yaml", ("downloads=trace(given.csv)",))
    for network in ("opened.yaml", "single"):
        for name in ("named.csv", "given.csv", "./named.csv", str(folder / "given.csv")):
            override = f"updates={law.format(name)}"
            assert ask(opened, network, override).overrides == (override,)
        for name in ("other.csv", "/etc/passwd", "none.csv"):
            with pytest.raises(ValueError, match=r"file: .* is not open here"):
                ask(opened, network, f"updates={law.format(name)}")
    # What the command has put in the place of a record of the file does not close that one.
    assert ask(opened, "opened.yaml").overrides == ()


def test_the_file_of_a_graph_is_one_that_the_command_has_named(folder):
    nodes, links = [{"id": "a", "updates": "constant(rate=1)"}, {"id": "b"}], [{"source": "a", "target": "b"}]
    (folder / "graph.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    (folder / "graph.yaml").write_text("kind: graph\nfile: graph.json\ndownloads: constant(rate=2)\n")
    opened = Opened("graph.yaml")
    assert ask(opened, "graph.yaml", "queue=5").overrides == ("queue=5",)
    with pytest.raises(ValueError, match=r"file: /etc/passwd is not open here"):
        ask(opened, "graph.yaml", "file=/etc/passwd")


def test_what_is_no_override_is_said_as_ever():
    with pytest.raises(InputError, match="is not key=value"):
        ask(Opened("single"), "single", "nonsense")
