"""Mistakes that the tests must find: `python tests/mutants.py [NAME ...]` plants each in a copy and runs its tests.

A mutant is a change of one place of the package that gives wrong results, loses something or accepts what it must not.
It is killed if a test fails. The script ends with exit code 1 if one survives, or if its place is no longer there.
`--tests DIR` takes the tests of another checkout, `--package DIR` its package, and `--list` only names the mutants.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEEDED = ("replnet", "tests", "topologies", "experiments", "pyproject.toml", "README.md", ".github")


@dataclass(frozen=True)
class Mutant:
    """A mistake: `old`, a text that stands once in `file` of the package, becomes `new`; tests in `killers` find it."""

    name: str
    file: str
    old: str
    new: str
    killers: tuple[str, ...]


MUTANTS = (
    Mutant(
        "a pass that takes the less fresh of two copies",
        "engines/array/passes.py",
        "copy[base + layer] = max(held[layer], copy[base + layer])",
        "copy[base + layer] = min(held[layer], copy[base + layer])",
        ("engines", "test_pinned.py"),
    ),
    Mutant(
        "an update at the instant of a copy's departure that the copy misses",
        "measure/stretches.py",
        'side="right" if including else "left"',
        'side="left" if including else "right"',
        ("histories", "measure"),
    ),
    Mutant(
        "a message that a cut lets through",
        "engines/array/passes.py",
        "if z >= low and t < ends[z]:",
        "if z >= low and t >= ends[z]:",
        ("engines",),
    ),
    Mutant(
        "a changed word of a stream",
        "processes/streams.py",
        "label = (purpose * 8 + part + 1)",
        "label = (purpose * 8 + part + 2)",
        ("processes", "test_pinned.py"),
    ),
    Mutant(
        "a swapped delay",
        "engines/nodes/runner.py",
        "delays.get((sender, to), delays.get((to, sender), self._plan.delay))",
        "delays.get((to, sender), delays.get((sender, to), self._plan.delay))",
        ("engines", "test_pinned.py"),
    ),
    Mutant(
        "a lock that is never taken",
        "store/durable.py",
        "fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "pass",
        ("store", "lab"),
    ),
    Mutant(
        "a line of a journal that is not verified",
        "store/journal.py",
        'if raw[: HEX + 1] != _checksum(bond, body) + b" ":',
        'if raw[HEX : HEX + 1] != b" ":',
        ("store",),
    ),
    Mutant(
        "a torn line of a journal that stays",
        "store/journal.py",
        "if content.torn:",
        "if False:",
        ("store", "lab"),
    ),
    Mutant(
        "a worker whose answer is taken for that of another job",
        "workers/scheduler.py",
        "job = self._busy[worker].popleft()",
        "job = self._busy[worker].pop()",
        ("workers", "run"),
    ),
    Mutant(
        "an interval half as wide",
        "measure/estimate.py",
        "return self.value - self.error * self._deviation((1 + self.confidence) / 2)",
        "return self.value - self.error * self._deviation((1 + self.confidence) / 2) / 2",
        ("measure", "run"),
    ),
    Mutant(
        "verdicts on many rows, each judged alone",
        "measure/verdict.py",
        "if p >= FAMILY / (len(ranked) - rank):",
        "if p >= FAMILY:",
        ("measure", "run"),
    ),
    Mutant(
        "an age that is its law",
        "laws/families.py",
        "return Pareto(self.alpha - 1, scale=self.scale)",
        "return Pareto(self.alpha, scale=self.scale)",
        ("laws",),
    ),
    Mutant(
        "a cluster whose replicas poll themselves",
        "ages/clusters/chains.py",
        "missing_all(replicas - 1, peers, have)",
        "missing_all(replicas, peers, have)",
        ("ages", "predictions"),
    ),
    Mutant(
        "a threshold that holds although the bound is inside the interval",
        "run/threshold.py",
        "or low <= self.bound <= high:",
        "or False:",
        ("run", "cli"),
    ),
)


def plant(mutant: Mutant, package: Path) -> bool:
    """Make the change of a mutant in a copy of the package; return whether its text stood there exactly once."""
    path = package / mutant.file
    text = path.read_text() if path.exists() else ""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace(mutant.old, mutant.new))
    return text.count(mutant.old) == 1


def failed_test(mutant: Mutant, package: Path, tests: Path) -> str | None:
    """Return the line on a test that fails with a mutant in a copy of both folders; None if none does.

    If the text of the mutant is not in the package exactly once, it is a line that says so.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in NEEDED:
            origin = (tests if name == "tests" else package) / name
            if origin.is_dir():
                shutil.copytree(origin, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(origin, copy)
        if not plant(mutant, copy / "replnet"):
            return "its text is not in the package exactly once"
        where = [str(Path("tests", part)) for part in mutant.killers]
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *where]
        done = subprocess.run(
            command, cwd=copy, env={**os.environ, "PYTHONPATH": str(copy)}, capture_output=True, text=True, check=False
        )
    failures = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return None if done.returncode == 0 else (failures or done.stdout.splitlines()[-1:] or ["no output"])[0]


def main() -> int:
    """Plant the mutants that are asked for, print what became of each, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="texts in the names of mutants; all of them if there is none")
    parser.add_argument("--tests", type=Path, default=ROOT, help="the checkout whose tests are run")
    parser.add_argument("--package", type=Path, default=ROOT, help="the checkout whose package is changed")
    parser.add_argument("--list", action="store_true", help="only name the mutants")
    options = parser.parse_args()
    survivors = 0
    for mutant in MUTANTS:
        if options.names and not any(name in mutant.name for name in options.names):
            continue
        if options.list:
            print(f"{mutant.file}: {mutant.name}")
            continue
        outcome = failed_test(mutant, options.package, options.tests)
        is_killed = outcome is not None and outcome.startswith(("FAILED", "ERROR"))
        survivors += not is_killed
        print(f"{'killed' if is_killed else 'SURVIVED'}  {mutant.name}: {outcome or 'no test fails'}", flush=True)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
