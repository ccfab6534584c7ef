"""Sweeps on Ray: the same table as without, whatever dies."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys

import pytest

import replnet as rn
from replnet.experiment.sweeps.sweep import Sweep

pytest.importorskip("ray")
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning")]

NAME = "p2p/fig11-random"


@pytest.fixture(scope="module")
def straight():
    return rn.sweep(NAME, quick=True, workers=0).hash


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_table_does_not_depend_on_the_workers(straight, workers):
    assert rn.sweep(NAME, quick=True, workers=workers).hash == straight


PROGRAM = """
import os, sys, replnet as rn
def tell(now):
    print(now.done, flush=True)
rn.sweep(sys.argv[1], sys.argv[2], quick=True, workers=2, progress=tell)
"""


def test_kills_of_the_driver_on_ray(straight, tmp_path):
    """Killed when so many cells are acknowledged, three times; then it ends."""
    for after in (2, 6, 11):
        command = [sys.executable, "-c", PROGRAM, NAME, str(tmp_path)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONHASHSEED": str(after)}
        ) as process:
            for line in process.stdout:
                if line.strip().isdigit() and int(line) >= after:
                    process.send_signal(signal.SIGKILL)
                    break
        assert process.returncode == -signal.SIGKILL
        assert Sweep.read(tmp_path).done >= after
    assert rn.sweep(NAME, tmp_path, quick=True, workers=0).hash == straight


def test_shuffled_cells_on_ray(straight, tmp_path):
    from replnet.experiment.sweeps import sweep as sweeps

    chance = random.Random(1)
    found = sweeps.sweep(NAME, tmp_path, quick=True, workers=2, order=lambda cell: chance.random())
    assert found.hash == straight
