"""Sweeps and runs on Ray: the same table as without, whatever dies."""

from __future__ import annotations

import json
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


NODE_DIES = """
import json, os, threading, time
from ray.cluster_utils import Cluster
import replnet as rn

machines = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
nodes = [machines.add_node(num_cpus=2) for _ in range(2)]
machines.wait_for_nodes()
network = rn.cascade(depth=4, branching=3, updates="exponential(rate=2)", downloads="exponential(rate=2)")
told = []

def lose(share, words):
    if share > 0.2 and not told:
        told.append(share)
        os.kill(nodes[1].all_processes["raylet"][0].process.pid, 9)

spread = rn.emulate(network, seed=3, horizon=2e6, workers=4, address=machines.address, progress=lose)
here = rn.emulate(network, seed=3, horizon=2e6, workers=0)
print(json.dumps([told, spread.table.to_csv() == here.table.to_csv(), spread.incomplete]))
machines.shutdown()
"""


@pytest.mark.slow
def test_a_node_that_dies_in_a_spread_run_changes_no_byte():
    """A head without CPUs and two nodes with two workers each; one raylet is killed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-W", "ignore", "-c", NODE_DIES]
    done = programs.run(command, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    told, same, incomplete = json.loads(done.stdout.splitlines()[-1])
    assert len(told) == 1
    assert same
    assert incomplete == ""
