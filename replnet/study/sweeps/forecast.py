"""What a sweep will take, from a glance at a few of its cells."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from replnet.study.experiment.cells import Cell
from replnet.study.experiment.subjects import SHORT
from replnet.study.replications import Progress
from replnet.study.sweeps.sweep import cost, run

SAMPLE = 5  # cells that are looked at, the smallest and the largest among them


@final
@dataclass(frozen=True)
class Outlook:
    """About; `seconds` are of one CPU, `memory` is bytes of each worker."""

    cells: int
    finished: int
    events: float
    seconds: float
    memory: int
    sampled: int
    failed: str = ""  # what became of a cell that could not be run, if there was one


def outlook(cells: Sequence[Cell], finished: Container[str], progress: Progress | None = None) -> Outlook:
    """Of the cells that are not finished; a few are emulated briefly."""
    left = sorted((cell for cell in cells if cell.key not in finished), key=cost)
    # What differs in its rates alone has one size: there the order of the axes decides what lies between what.
    sizes = np.array([(1 + cost(cell)) * (1 + 1e-9 * i) for i, cell in enumerate(left)])
    places = np.unique(np.linspace(0, len(left) - 1, min(SAMPLE, len(left))).round().astype(int))
    looks, failed = np.empty((0, 2)), ""
    for i in places:
        if progress:
            progress(len(looks) / len(places), f"a glance at cell {len(looks) + 1} of {len(places)}")
        try:
            look = _look(left[i])
        except Exception as error:  # as in a sweep, where a cell that fails ends no other
            look, failed = (0.0, 0.0), f"{left[i].words}: {type(error).__name__}: {error}"
        looks = np.vstack([looks, look])
    # What lies between two sizes that were looked at costs what lies between their costs.
    events, seconds = (np.interp(sizes, sizes[places], part).sum() if left else 0.0 for part in looks.T)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Outlook(len(cells), len(cells) - len(left), float(events), float(seconds), memory, len(looks), failed)


def _look(cell: Cell) -> tuple[float, float]:
    """Events and seconds of a cell: from a glance at it, and if it is short from all of it."""
    about = cell.subject.glance(cell.settings)
    if about[1] > SHORT:
        return about
    begun = time.perf_counter()
    events = run(cell)["events"]
    return events, time.perf_counter() - begun
