"""What becomes of errors, of bad input and of Ctrl-C; exit codes."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from command_line import replnet

from replnet.cli.main import BAD_INPUT, INCOMPLETE


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "nowhere.yaml"),
        ("predict", "/tmp"),
        ("predict", "cascade", "-s", "depht=3"),
        ("predict", "cascade", "-s", "depth=0"),
        ("predict", "cascade", "-s", "downloads=pareto(alpha=1, rate=1)"),
        ("run", "cascade", "--horizon", "nan"),
        ("run", "cascade", "--seed", "-1"),
        ("run", "cascade", "--threshold", "freshness"),
        ("run", "cascade", "--threshold", "level 9: freshness > 0.1"),
        ("run", "cascade", "--threshold", "speed > 0.1"),
        ("run", "cascade", "--engine", "array", "-s", "delay=exponential(mean=1)"),
        ("nothing",),
    ],
)
def test_bad_input_is_one_message_and_exit_code_two(arguments):
    done = replnet(*arguments)
    assert done.returncode == BAD_INPUT
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_every_error_of_a_file_comes_at_once_with_its_place(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("kind: cascade\ndepth: 0\nupdates: exponential(rate=-1)\ndownload: constant(rate=1)\n")
    done = replnet("predict", str(path))
    assert done.returncode == BAD_INPUT
    for place in (":2:8: depth:", ":3:27: updates.rate:", ":4:1: download:"):
        assert place in done.stderr


def test_colour_only_where_someone_looks():
    assert "\x1b" not in replnet("run", "single", "--horizon", "1000").stdout


def test_ctrl_c_ends_in_what_there_is():
    run = subprocess.Popen(
        [sys.executable, "-m", "replnet", "run", "cascade", "--horizon", "1e9"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stderr is not None
    assert "replication" in run.stderr.readline()  # it is under way
    run.send_signal(signal.SIGINT)
    _, stderr = run.communicate(timeout=30)
    assert run.returncode == INCOMPLETE
    assert "interrupted" in stderr
    assert "Traceback" not in stderr
