"""What a sweep will take, from a glance at a few of its cells."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from replnet.experiment.aggregates.system import System
from replnet.experiment.result import Emulated
from replnet.experiment.spec.cells import Cell
from replnet.experiment.sweeps.cell import Job, emulated, run, size
from replnet.measure.estimate import FEWEST
from replnet.network.network import Network

SAMPLE = 5  # cells that are looked at, the smallest and the largest among them
SHORT = 1.0  # seconds up to which a cell is simply run
BRIEF = 3e4  # events of a look
COARSE = 0.005  # half-width of a look at a system to optimise


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


def outlook(cells: Sequence[Cell], finished: Container[str]) -> Outlook:
    """Of the cells that are not finished; a few are emulated briefly."""
    left = sorted((cell for cell in cells if cell.key not in finished), key=size)
    sizes = np.array([size(cell) for cell in left])
    places = np.unique(np.linspace(0, len(left) - 1, min(SAMPLE, len(left))).round().astype(int))
    looks = np.array([_look(left[i]) for i in places]).reshape(-1, 2)
    # What lies between two sizes that were looked at costs what lies between their costs.
    events, seconds = (np.interp(sizes, sizes[places], part).sum() if left else 0.0 for part in looks.T)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Outlook(len(cells), len(cells) - len(left), float(events), float(seconds), memory, len(looks))


def _look(cell: Cell) -> tuple[float, float]:
    """Events and seconds of a cell: from a short run of it, and if it is short itself from all of it."""
    if cell.network:
        _brief(cell, 1.0)  # compiles what it needs
    about = (0.0, 0.0) if cell.formula is not None else _extrapolated(cell)
    if about[1] > SHORT:
        return about
    begun = time.perf_counter()
    events = run(Job(cell.key, cell))["events"]
    return events, time.perf_counter() - begun


def _extrapolated(cell: Cell) -> tuple[float, float]:
    settings, begun = cell.settings, time.perf_counter()
    if cell.optimise is not None:
        short = replace(settings, precision=COARSE, horizon=None)
        events = run(Job(cell.key, replace(cell, settings=short)))["events"]
        more = max((COARSE / (settings.precision or 0.001)) ** 2, 1.0)
        return more * events, more * (time.perf_counter() - begun)
    result = _brief(cell, BRIEF)
    if settings.precision is not None:
        widths = [e.half_width for e in result.estimates if not e.doubt]
        more = max((max(widths, default=0.0) / settings.precision) ** 2, 1.0)
    else:
        more = (settings.horizon or result.horizon * 1e7 / max(result.events, 1)) / result.horizon
    return more * result.events, more * result.seconds


def _brief(cell: Cell, events: float) -> Emulated:
    """The network of a cell for about so many events."""
    network = Network.from_data(cell.network)
    rate = System.of(network).rate if network.kind == "aggregate" else float(sum(1 for _ in network.replicas))
    rate = rate or 1.0
    return emulated(network, replace(cell.settings, precision=None, horizon=events / rate, replications=FEWEST))
