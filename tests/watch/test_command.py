"""The command watch, once and until it is told to end."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time

import pytest
from command_line import replnet
from watched import visits

import replnet as rn
from replnet.watch.visit_log import Visit, VisitLog

FLEET = """\
every: 0.2
gap: 0.01
nodes:
  source: {file: stamp}
  gone: {file: no-such-file}
"""


def test_once_prints_what_every_node_had(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fleet.yaml").write_text(FLEET)
    (tmp_path / "stamp").write_text("one")
    done = replnet("watch", "fleet.yaml", "--once")
    assert done.returncode == 3
    assert "gone" in done.stdout
    assert "no file: No such file or directory" in done.stdout
    assert "source: has " in done.stderr
    (tmp_path / "no-such-file").write_text("one")
    assert replnet("watch", "fleet.yaml", "--once").returncode == 0
    with VisitLog(tmp_path / "fleet.sqlite") as history:
        assert [visit.node for visit in history].count("gone") == 2


def test_a_pace_that_cannot_be_kept_is_said(tmp_path):
    nodes = "".join(f"  {name}: {{url: 'http://127.0.0.1:9/{name}'}}\n" for name in ("source", "b", "c"))
    (tmp_path / "fleet.yaml").write_text(f"every: 2\nretries: 0\nnodes:\n{nodes}")
    said = replnet("watch", tmp_path / "fleet.yaml", "--once").stderr.splitlines()
    assert said[0].startswith("watching 3 nodes, each every 2 s, and a host at most every 1 s; ")
    words = "127.0.0.1: with that gap, its nodes can be visited every 3 s only (a smaller gap, or a longer interval)"
    assert said[1] == words


def test_a_watch_goes_on_until_it_is_interrupted_and_loses_no_visit(tmp_path):
    (tmp_path / "fleet.yaml").write_text(FLEET)
    (tmp_path / "stamp").write_text("one")
    command = [sys.executable, "-m", "replnet", "watch", "fleet.yaml"]
    for sign in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as program:
            lines = [program.stderr.readline() for _ in range(3)]
            assert any("source: has" in line for line in lines), lines
            time.sleep(0.5)
            program.send_signal(sign)
            assert "visits in fleet.sqlite" in program.stderr.read()
        assert program.returncode == 0
    with VisitLog(tmp_path / "fleet.sqlite") as history:
        found = list(history)
    assert len(found) > 8
    assert {visit.node for visit in found} == {"source", "gone"}
    assert sorted(visit.time for visit in found) == [visit.time for visit in found]


def test_a_watch_that_is_killed_loses_and_doubles_nothing(tmp_path):
    """What was recorded before stays as it was, and the next watch adds to it; also where a visit is under way."""
    slow = 'command: [sh, -c, "sleep 0.05; echo one"], every: 0.06'
    (tmp_path / "fleet.yaml").write_text(FLEET.replace("every: 0.2", "every: 0.03") + f"  slow: {{{slow}}}\n")
    (tmp_path / "stamp").write_text("one")
    command = [sys.executable, "-m", "replnet", "watch", "fleet.yaml"]
    before = []
    for wait in (0.4, 0.43, 0.5):
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as program:
            while "slow: has" not in program.stderr.readline():
                pass
            time.sleep(wait)
            program.kill()
        with VisitLog(tmp_path / "fleet.sqlite") as history:
            after = list(history)
        assert after[: len(before)] == before
        assert len(after) > len(before) + 6
        assert len({(visit.node, visit.time) for visit in after}) == len(after)
        before = after
    assert replnet("watch", tmp_path / "fleet.yaml", "-o", tmp_path / "fleet.sqlite", "--once").returncode == 3
    with VisitLog(tmp_path / "fleet.sqlite") as history:
        assert len(history) == len(before) + 3


def test_a_fault_that_may_pass_is_tried_again(tmp_path):
    """A connection that nobody answers is tried twice; a file that is not there, once."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    nodes = {"source": {"url": f"http://127.0.0.1:{port}/"}, "gone": {"file": str(tmp_path / "none")}}
    assert sorted(visit.node for visit in visits(nodes, retries=1)) == ["gone", "source", "source"]


def test_what_was_watched_can_be_observed(tmp_path):
    """A copy that is taken every fourth time unit: a visit of each node every unit, some of which fail."""
    path = tmp_path / "fleet.sqlite"
    with VisitLog(path) as history:
        for t in range(600):
            history.add(Visit(float(t), "source", str(t // 10), None, None, 0.1, None))
            if t % 7:
                history.add(Visit(float(t), "mirror", str((t - t % 4) // 10), None, None, 0.1, None))
            else:
                history.add(Visit(float(t), "mirror", None, None, None, 0.1, "status: 503"))
    found = rn.observe(path)
    assert found.visits["source"] > found.visits["mirror"] > 0
    (row,) = (row for row in found.rows if (row["group"], row["metric"]) == ("mirror", "freshness"))
    assert row["least"] <= 0.85 <= row["most"]
    with pytest.raises(ValueError, match="does not exist"):
        rn.observe(tmp_path / "gone.sqlite")
    assert not (tmp_path / "gone.sqlite").exists()
