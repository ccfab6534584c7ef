"""What pages ask for, and the process that answers them."""

from __future__ import annotations

import asyncio
import os
import time

import pytest

from replnet.network.network import load
from replnet.show.web import answers
from replnet.show.web.answers import NetworkQuestion
from replnet.show.web.desk import LatestOnly
from replnet.show.web.playback import read_playback, recorded_replications
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
    assert "downloads.rate = 9.00000 or more" in words
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
    assert "depth" in answers.record_trace(NetworkQuestion("cascade", ("depth=0",), 0.9), "array")["error"]


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
