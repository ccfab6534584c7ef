"""What a sweep will take, from a glance at a few of its cells."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from replnet.engines.plan import plan
from replnet.measure.estimate import FEWEST
from replnet.network.network import Network
from replnet.study.aggregates.system import System
from replnet.study.emulate import suited
from replnet.study.experiment.cells import Cell
from replnet.study.replications import EVENTS, REPLICATIONS, Progress
from replnet.study.result import Emulated
from replnet.study.sweeps.cell import Job, emulated, pilot, run, size

SAMPLE = 5  # cells that are looked at, the smallest and the largest among them
SHORT = 1.0  # seconds up to which a cell is simply run
BRIEF = 3e4  # events of a look
LONG = {"array": 1e7, "step": 5e4}  # and at most so many
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
    failed: str = ""  # what became of a cell that could not be run, if there was one


def outlook(cells: Sequence[Cell], finished: Container[str], progress: Progress | None = None) -> Outlook:
    """Of the cells that are not finished; a few are emulated briefly."""
    left = sorted((cell for cell in cells if cell.key not in finished), key=size)
    # What differs in its rates alone has one size: there the order of the axes decides what lies between what.
    sizes = np.array([(1 + size(cell)) * (1 + 1e-9 * i) for i, cell in enumerate(left)])
    places = np.unique(np.linspace(0, len(left) - 1, min(SAMPLE, len(left))).round().astype(int))
    looks, failed = np.empty((0, 2)), ""
    for i in places:
        if progress:
            progress(len(looks) / len(places), f"a glance at cell {len(looks) + 1} of {len(places)}")
        try:
            look = _look(left[i])
        except Exception as error:  # as in a sweep, where a cell that fails ends no other
            where = ", ".join(f"{name} = {value}" for name, value in left[i].values.items())
            look, failed = (0.0, 0.0), f"{where}: {type(error).__name__}: {error}"
        looks = np.vstack([looks, look])
    # What lies between two sizes that were looked at costs what lies between their costs.
    events, seconds = (np.interp(sizes, sizes[places], part).sum() if left else 0.0 for part in looks.T)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Outlook(len(cells), len(cells) - len(left), float(events), float(seconds), memory, len(looks), failed)


def _look(cell: Cell) -> tuple[float, float]:
    """Events and seconds of a cell: from a short run of it, and if it is short itself from all of it."""
    about = (0.0, 0.0) if cell.formula is not None else _system(cell) if cell.optimise is not None else _network(cell)
    if about[1] > SHORT:
        return about
    begun = time.perf_counter()
    events = run(Job(cell.key, cell))["events"]
    return events, time.perf_counter() - begun


def _system(cell: Cell) -> tuple[float, float]:
    """Of a system to optimise."""
    settings, begun = cell.settings, time.perf_counter()
    short = replace(settings, precision=COARSE, horizon=None)
    events = run(Job(cell.key, replace(cell, settings=short)))["events"]
    more = max((COARSE / (settings.precision or 0.001)) ** 2, 1.0)
    return more * events, more * (time.perf_counter() - begun)


def _network(cell: Cell) -> tuple[float, float]:
    """Of a network: what its formulas cost, what each replication costs to start, and what its time costs."""
    network, settings = Network.from_data(cell.network), cell.settings
    engine = settings.engine or suited(network)
    rate = max(System.of(network).rate if network.kind == "aggregate" else plan(network).rate, 1e-300)
    usual = settings.horizon or (EVENTS[engine] / rate if settings.precision is None else pilot(network, settings))

    def brief(horizon: float, replications: int) -> Emulated:
        short = replace(settings, precision=None, horizon=horizon, replications=replications)
        return emulated(network, short)

    brief(1 / rate, 1)  # compiles what it needs
    first = brief(1 / rate, 1).seconds
    if first > SHORT:
        return rate * usual, first * REPLICATIONS
    start = max(brief(1 / rate, FEWEST).seconds - first, 0.0) / (FEWEST - 1)
    # As long as the real one, if that does not take long, as short paths say little of how far long ones scatter.
    look = brief(min(max(usual, BRIEF / rate), LONG[engine] / rate), FEWEST)
    time_ = max(look.seconds - first - start * (FEWEST - 1), 0.0) / look.horizon
    needed = usual
    if settings.precision is not None:
        widest = max((e.half_width for e in look.estimates if not e.doubt), default=0.0)
        needed = max(usual, look.horizon * (widest / settings.precision) ** 2)
    count = settings.replications or max(REPLICATIONS * needed / usual, REPLICATIONS)
    return needed * rate, first + count * start + needed * time_
