"""What a sweep will take, from a glance at a few of its cells."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from replnet.lab.experiment import SHORT_RUN, Cell
from replnet.lab.sweeps.sweep import cost, run_cell
from replnet.run import Progress

SAMPLE = 5  # cells that are looked at, the smallest and the largest among them


@final
@dataclass(frozen=True)
class Forecast:
    """An estimate of what the cells of a sweep that are not finished will take: `events`, and `seconds` of one CPU.

    `memory` is in bytes for each worker. `cells` counts all cells, `finished` those that are done, and `sampled` those
    that were looked at. `failed` is the error of one that could not be run, or "".
    """

    cells: int
    finished: int
    events: float
    seconds: float
    memory: int
    sampled: int
    failed: str = ""  # the error of a cell that could not be run, if there was one


def forecast(cells: Sequence[Cell], finished: Container[str], progress: Progress | None = None) -> Forecast:
    """Estimate what the cells whose keys are not in `finished` will take; a few of them are emulated briefly.

    `progress` is called with the share of these that is done and a text. A cell that fails counts as taking no time,
    and the last such is named in `failed`.
    """
    left = sorted((cell for cell in cells if cell.key not in finished), key=cost)
    # Cells that differ in their rates alone have one cost: the order of the axes then says which lie between which.
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
    # Other cells are interpolated between the two that were looked at and are next in size.
    events, seconds = (np.interp(sizes, sizes[places], part).sum() if left else 0.0 for part in looks.T)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Forecast(len(cells), len(cells) - len(left), float(events), float(seconds), memory, len(looks), failed)


def _look(cell: Cell) -> tuple[float, float]:
    """Return how many events and seconds a cell takes, by an estimate, or by running all of it if it is short."""
    about = cell.subject.glance(cell.settings)
    if about[1] > SHORT_RUN:
        return about
    begun = time.perf_counter()
    events = run_cell(cell)["events"]
    return events, time.perf_counter() - begun
