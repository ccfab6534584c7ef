"""What a sweep will take, from a glance at a few of its cells."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import final

from replnet.experiment.spec.cells import Cell
from replnet.experiment.sweeps.cell import Job, emulated, run, size
from replnet.measure.estimate import FEWEST
from replnet.network.network import Network

SAMPLE = 4  # cells that are looked at, the largest among them
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
    count = min(SAMPLE, len(left))
    places = [round((i + 0.5) * len(left) / count - 0.5) for i in range(count - 1)] + [len(left) - 1] if left else []
    looks = []
    for i in dict.fromkeys(places):
        if left[i].optimise is None:
            _look(left[i], brief=True)  # compiles what it needs
        looks.append(_look(left[i]))
    scale = len(left) / len(looks) if looks else 0.0
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    events, seconds = (scale * sum(part) for part in zip(*looks, strict=True)) if looks else (0.0, 0.0)
    return Outlook(len(cells), len(cells) - len(left), events, seconds, memory, len(looks))


def _look(cell: Cell, brief: bool = False) -> tuple[float, float]:
    """Events and seconds of a cell, from a short run of it."""
    settings = cell.settings
    begun = time.perf_counter()
    if cell.optimise is not None:
        short = replace(settings, precision=COARSE, horizon=None)
        events = run(Job(cell.key, replace(cell, settings=short)))["events"]
        more = max((COARSE / (settings.precision or 0.001)) ** 2, 1.0)
        return more * events, more * (time.perf_counter() - begun)
    network = Network.from_data(cell.network)
    rate = sum(1.0 for _ in network.replicas) or 1.0
    short = replace(settings, precision=None, horizon=(1.0 if brief else BRIEF / rate), replications=FEWEST)
    begun = time.perf_counter()
    result = emulated(network, short)
    spent = time.perf_counter() - begun
    if settings.precision is not None:
        widths = [e.half_width for e in result.estimates if not e.doubt]
        more = max((max(widths, default=0.0) / settings.precision) ** 2, 1.0)
    else:
        more = (settings.horizon or result.horizon * 1e7 / max(result.events, 1)) / result.horizon
    return more * result.events, more * spent
