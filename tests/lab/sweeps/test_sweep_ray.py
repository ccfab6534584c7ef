"""Sweeps on Ray: the same table as without, whatever dies."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import programs
import pytest

import replnet as rn
from replnet.lab.sweeps.sweep import Sweep

pytest.importorskip("ray")
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning")]

NAME = "p2p/fig11-random"


@pytest.fixture(scope="module")
def straight():
    return rn.sweep(NAME, quick=True, workers=0).hash


@pytest.mark.parametrize("workers", [1, 2])
def test_the_table_does_not_depend_on_the_workers_nor_on_the_order(straight, workers, tmp_path):
    chance = random.Random(1)
    found = rn.sweep(NAME, tmp_path, quick=True, workers=workers, address="local", order=lambda cell: chance.random())
    assert found.hash == straight


SLOWER = "run.precision=0.0006"  # for cells to take about as long as Ray takes to start
MOMENTS = 0.0, 5.0  # seconds from when the first worker starts, which takes over a second

PROGRAM = """
import sys, replnet as rn
print(0, flush=True)
rn.sweep(sys.argv[1], sys.argv[2], quick=True, workers=2, address="local", overrides=[sys.argv[3]],
         progress=lambda now: print(now.done, flush=True))
"""


def workers_of(driver: int) -> list[int]:
    found = []
    for pid in programs.descendants(driver):
        with suppress(FileNotFoundError, ProcessLookupError):
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::_Worker"):
                found.append(pid)
    return found


def killed(process: subprocess.Popen, victim: str, chance: random.Random) -> bool:
    """At a random moment, unless all was over before."""
    while not workers_of(process.pid) and process.poll() is None:
        time.sleep(0.02)
    time.sleep(chance.uniform(*MOMENTS))
    alive = [process.pid] if victim == "driver" else workers_of(process.pid)
    if not alive or process.poll() is not None:
        return False
    with suppress(ProcessLookupError):
        os.kill(chance.choice(alive), signal.SIGKILL)
        return True
    return False


@pytest.mark.slow
def test_kills_on_ray_at_any_moment(tmp_path):
    """10 kills, of the driver and of a worker in turn: what was acknowledged is there once, the table is the same."""
    chance, kills = random.Random(6), 0
    straight = rn.sweep(NAME, quick=True, workers=0, overrides=[SLOWER]).hash
    folder = tmp_path / "run-0"
    for run in range(40):
        victim = ("driver", "worker")[kills % 2]
        command = [sys.executable, "-c", PROGRAM, NAME, str(folder), SLOWER]
        with programs.running(command, stdout=subprocess.PIPE) as process:
            kills += killed(process, victim, chance)
            said = [int(line) for line in process.stdout if line.strip().isdigit()]
            process.wait()
        assert process.returncode in (0, -signal.SIGKILL)
        assert victim == "driver" or process.returncode == 0  # the death of a worker is nobody's
        if (folder / "journal").exists():
            lines = (folder / "journal").read_bytes().split(b"\n")[:-1]  # what is behind the last end is torn
            assert len({line.split(b'"')[1] for line in lines}) == len(lines)
            assert Sweep.read(folder).done >= max(said, default=0)
        if process.returncode == 0:
            assert Sweep.read(folder).hash == straight
            folder = tmp_path / f"run-{run + 1}"
        if kills == 10:
            break
    assert kills == 10
    assert rn.sweep(NAME, folder, quick=True, workers=0, overrides=[SLOWER]).hash == straight


def test_a_run_is_the_same_on_ray():
    network, how = rn.load("cascade"), {"horizon": 1e6, "replications": 40}
    alone = rn.emulate(network, workers=0, **how)
    spread = rn.emulate(network, workers=2, address="local", **how)
    assert [row.record() for row in spread.rows] == [row.record() for row in alone.rows]
