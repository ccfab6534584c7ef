"""A sweep while it runs: on stderr, drawn on a terminal, as a line now and then elsewhere."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, final

from replnet.cli.progress import Lines
from replnet.cli.screen import visible
from replnet.measure.row import Row
from replnet.study.sweeps.sweep import Glimpse, Progress

FRAMES = 4  # a second, on a terminal
LATEST = 8  # rows that are shown
WIDE = 60  # letters of what names a cell


@contextmanager
def watched(title: str) -> Iterator[Progress]:
    """A callback that shows how far a sweep is."""
    seen = Seen(title)
    if not sys.stderr.isatty():
        with Lines(f"{title}: starting") as lines:

            def tell(now: Glimpse) -> None:
                seen.add(now)
                lines.words = seen.words()
                if now.failure:
                    lines.speak()

            yield tell
        return
    from rich.console import Console
    from rich.live import Live

    def draw(now: Glimpse) -> None:
        seen.add(now)

    with Live(get_renderable=seen.drawn, console=Console(stderr=True), refresh_per_second=FRAMES, transient=True):
        yield draw


@final
class Seen:
    """What came in so far, as much of it as is shown."""

    def __init__(self, title: str) -> None:
        self._title, self._now = title, Glimpse(0, 0, 0, 0.0, False)
        self._latest: deque[tuple[str, Row]] = deque(maxlen=LATEST)
        self._worst: tuple[float, str] = (0.0, "")
        self._failed: list[str] = []

    def add(self, now: Glimpse) -> None:
        self._now = now
        if now.cell is None:
            return
        where = ", ".join(f"{name} = {value}" for name, value in now.cell.values.items())[:WIDE]
        if now.failure:
            self._failed.append(f"{where}: {now.failure}")
        for row in map(Row.of_record, (now.record or {}).get("rows", ())):
            self._latest.append((", ".join(map(str, now.cell.values.values()))[:WIDE], row))
            z = row.z
            if z is not None and abs(z) > abs(self._worst[0]):
                self._worst = z, f"{where}{', ' if where else ''}{row.group} {row.metric}"

    def words(self) -> str:
        """On one line."""
        now = self._now
        what = "cells that differed, four times longer" if now.longer else "cells"
        said = [f"{self._title}: {now.done:,} of {now.cells:,} {what}"]
        if now.rate:
            said.append(f"{now.rate:.3g} a second")
        if now.left == now.left and now.done < now.cells:
            said.append(f"{span(now.left)} left")
        if self._worst[1]:
            said.append(f"farthest from its prediction z = {self._worst[0]:+.2f} ({self._worst[1]})")
        if self._failed:
            said.append(f"{len(self._failed)} failed, last {self._failed[-1]}")
        return "; ".join(said)

    def drawn(self) -> Any:
        """For a terminal."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        rows = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for head in ("cell", "group", "metric", "measured", "predicted", "z"):
            rows.add_column(head, justify="right" if head in ("measured", "predicted", "z") else "left")
        for where, row in self._latest:
            z = row.z
            numbers = [_number(row.measured), _number(row.predicted), "" if z is None else f"{z:+.2f}"]
            rows.add_row(*(Text(visible(one)) for one in (where, row.group, row.metric, *numbers)))
        bar = ProgressBar(total=max(self._now.cells, 1), completed=self._now.done, width=40)
        return Group(Text(visible(self.words())), bar, rows)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"


def span(seconds: float) -> str:
    """A time to wait, in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
