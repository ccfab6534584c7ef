"""Kernels that were compiled and kept are never those of other sources."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import programs
import pytest

import replnet

PACKAGE = Path(replnet.__file__).parent
PROGRAM = """
import numpy as np
from replnet.engines.array import pulls

word, out = np.uint64(7), np.empty(3, np.int64)
pulls.choose(word, word, 0, 3, 1000, False, out)  # calls processes.kernels.word
none = pulls.NAME(np.empty(0), np.empty((0, 2), np.int8), np.full(1, word), np.full(1, word))
print(out.tolist(), pulls.draw_losses(none, 0, 0, 0, 1))
print(sum(pulls.choose.stats.cache_hits.values()), sum(pulls.draw_losses.stats.cache_hits.values()))
"""


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "replnet", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def ran(copy: Path, name: str = "Losses", **more: str) -> list[str]:
    """What the program prints with the package as it is in the copy: results, and how often a kernel was there."""
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"} | more
    command = [sys.executable, "-c", PROGRAM.replace("NAME", name)]
    environment["PYTHONPATH"] = str(copy)
    done = programs.run(command, cwd=copy, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def replace(copy: Path, file: str, old: str, new: str) -> None:
    text = (copy / "replnet" / file).read_text()
    assert old in text
    (copy / "replnet" / file).write_text(text.replace(old, new))


def test_a_type_with_another_name_is_no_obstacle(copy):
    first, hits = ran(copy)
    assert hits == "0 0"
    replace(copy, "engines/array/pulls.py", "class Losses", "class Misses")
    assert ran(copy, "Misses") == [first, "0 0"]
    assert ran(copy, "Misses") == [first, "1 1"]


def test_what_a_kernel_calls_in_another_file_is_that_of_now(copy):
    """Numba itself would go on running the old one."""
    before = ran(copy)
    replace(copy, "processes/kernels.py", "0xBF58476D1CE4E5B9", "0xBF58476D1CE4E5BB")
    found = ran(copy)
    assert found == ran(copy, NUMBA_CACHE_DIR=str(copy / "elsewhere"))  # compiled afresh
    assert found[0] != before[0]
    assert ran(copy, NUMBA_CACHE_DIR=str(copy / "elsewhere")) == [found[0], "1 1"]
