"""What is shown on stderr while something takes long: drawn on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, final

from replnet.cli.output import echo
from replnet.text.errors import escaped
from replnet.text.numbers import brief, signed, span

if TYPE_CHECKING:
    from replnet.live import Glimpse
    from replnet.study.replications import Progress
    from replnet.study.sweeps.sweep import SweepGlimpse

    Marks: TypeAlias = deque[tuple[float, Glimpse]]

PATIENCE = 2.0  # seconds of silence where there is no terminal to draw on
EVERY = 10.0  # seconds between lines after that
FRAMES = 4  # a second, on a terminal
LATEST = 8  # rows of a sweep that are shown
WIDE = 60  # letters of what names a cell
FAULTS = 3  # of a live run that are shown
APART = 0.5  # seconds between two looks that tell how fast a live run is


@contextmanager
def lines(words: Callable[[float], str]) -> Iterator[Callable[[], object]]:
    """Speaks up now and then, even if nothing is reported meanwhile; what is yielded does so at once.

    `words` are what to say after so many seconds, if there is anything.
    """
    begun, over = time.monotonic(), threading.Event()

    def speak() -> bool:
        said = words(time.monotonic() - begun)
        if said:
            echo(said, err=True)
        return bool(said)

    def keep_on() -> None:
        wait = PATIENCE
        while not over.wait(wait):
            wait = EVERY if speak() else PATIENCE

    threading.Thread(target=keep_on, name="replnet progress", daemon=True).start()
    try:
        yield speak
    finally:
        over.set()


@contextmanager
def working(words: str) -> Iterator[Progress]:
    """Lines alone; the callback takes the share that is done and other words."""

    def tell(done: float, now: str) -> None:
        nonlocal words
        words = now

    with lines(lambda seconds: f"{seconds:.0f} s: {words}"):
        yield tell


@contextmanager
def progress() -> Iterator[Progress]:
    """A bar on a terminal, lines elsewhere; the callback takes the share that is done and a word about it."""
    if not sys.stderr.isatty():
        with working("starting") as tell:
            yield tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda done, words: bar.update(task, completed=done, description=words)


@contextmanager
def drawn(picture: Callable[[], Any], words: Callable[[float], str]) -> Iterator[Callable[[], object]]:
    """A picture that changes on a terminal, lines elsewhere; what is yielded makes lines speak at once."""
    if not sys.stderr.isatty():
        with lines(words) as speak:
            yield speak
        return
    from rich.console import Console
    from rich.live import Live

    with Live(get_renderable=picture, console=Console(stderr=True), refresh_per_second=FRAMES, transient=True):
        yield lambda: None


# ---- A sweep


@contextmanager
def watched(title: str) -> Iterator[Callable[[SweepGlimpse], None]]:
    """A callback that shows how far a sweep is."""
    from replnet.study.sweeps.sweep import SweepGlimpse

    seen = Seen(title, SweepGlimpse(0, 0, 0, 0.0, False))

    def words(seconds: float) -> str:
        return f"{seconds:.0f} s: {seen.words() if seen.now.cells else f'{title}: starting'}"

    with drawn(seen.picture, words) as speak:

        def look(now: SweepGlimpse) -> None:
            seen.add(now)
            if now.failure:
                speak()

        yield look


@final
class Seen:
    """What came in of a sweep so far, as much of it as is shown."""

    def __init__(self, title: str, now: SweepGlimpse) -> None:
        self.now, self._title = now, title
        self._latest: deque[tuple[str, ...]] = deque(maxlen=LATEST)
        self._worst: tuple[float, str] = (0.0, "")
        self._failed: list[str] = []

    def add(self, now: SweepGlimpse) -> None:
        from replnet.study.kept_run import row_of

        self.now = now
        if now.cell is None:
            return
        values = now.cell.values
        where = ", ".join(f"{name} = {value}" for name, value in values.items())[:WIDE]
        if now.failure:
            self._failed.append(f"{where}: {now.failure}")
        for row in map(row_of, (now.record or {}).get("rows", ())):
            z, about = row.z, (row.group, row.metric)
            numbers = brief(row.measured), brief(row.predicted), signed(z)
            self._latest.append((", ".join(map(str, values.values()))[:WIDE], *about, *numbers))
            if z is not None and abs(z) > abs(self._worst[0]):
                self._worst = z, f"{where}{', ' if where else ''}{' '.join(about)}"

    def words(self) -> str:
        """On one line."""
        now = self.now
        what = "cells that differed, four times longer" if now.longer else "cells"
        said = [f"{self._title}: {now.done:,} of {now.cells:,} {what}"]
        if now.rate:
            said.append(f"{now.rate:.3g} a second")
        if not math.isnan(now.left) and now.done < now.cells:
            said.append(f"{span(now.left)} left")
        if self._worst[1]:
            said.append(f"farthest from its prediction z = {signed(self._worst[0])} ({self._worst[1]})")
        if self._failed:
            said.append(f"{len(self._failed)} failed, last {self._failed[-1]}")
        return "; ".join(said)

    def picture(self) -> Any:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        rows = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for head in ("cell", "group", "metric", "measured", "predicted", "z"):
            rows.add_column(head, justify="right" if head in ("measured", "predicted", "z") else "left")
        for row in tuple(self._latest):
            rows.add_row(*(Text(escaped(one)) for one in row))
        bar = ProgressBar(total=max(self.now.cells, 1), completed=self.now.done, width=40)
        return Group(Text(escaped(self.words())), bar, Text(), rows)  # a bar does not end its line


# ---- A live run


@contextmanager
def watching() -> Iterator[Callable[[Glimpse], None]]:
    """A callback that shows a live run as it goes."""
    now: Glimpse | None = None
    said: list[str] = []
    marks: Marks = deque(maxlen=2)

    def words(_: float) -> str:
        shares = ", ".join(f"{group} {share:.3f}" for group, share in fresh_groups(now)) if now else ""
        return "; ".join([*said, f"fresh: {shares}"]) if now else ""

    with drawn(lambda: live_picture(now, said) if now else "starting Ray and its actors ...", words) as speak:

        def look(seen: Glimpse) -> None:
            nonlocal now, said
            failed = len(now.lost) + len(now.stood) if now else 0
            now, said = seen, live_words(seen, rates(marks, time.monotonic(), seen))
            if len(seen.lost) + len(seen.stood) != failed:
                speak()

        yield look


def rates(marks: Marks, at: float, seen: Glimpse) -> tuple[float, float]:
    """Messages and events per second between the last two marks, which are glimpses some time apart."""
    if not marks or at - marks[-1][0] > APART:
        marks.append((at, seen))
    (then, first), (now, second) = marks[0], marks[-1]
    gone = now - then or math.inf
    return (second.messages - first.messages) / gone, (sum(second.counts) - sum(first.counts)) / gone


def live_words(seen: Glimpse, rates: tuple[float, float]) -> list[str]:
    """How far it is, how fast it goes, how late, and what has failed."""
    done = min(max(seen.now / seen.horizon, 0.0), 1.0)
    return [
        f"t = {max(seen.now, 0.0):.4g} of {seen.horizon:.4g} ({done:.0%})",
        f"{rates[0]:,.0f} messages/s, {rates[1]:,.0f} events/s",
        f"wakes {max(seen.slip, 0.0):.2g} late on average",
        *map(str, [*seen.lost[-FAULTS:], *seen.stood[-FAULTS:]]),
    ]


def fresh_groups(seen: Glimpse) -> list[tuple[str, float]]:
    """How fresh every group that has copies is so far."""
    shares = zip(seen.groups, map(float, seen.fresh), strict=True)
    return [(group, share) for group, share in shares if not math.isnan(share)]


def live_picture(seen: Glimpse, said: list[str]) -> Any:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for group, share in fresh_groups(seen):
        table.add_row(Text(escaped(group)), ProgressBar(total=1.0, completed=share, width=30), f"{share:.3f}")
    head, *faults = [" · ".join(said[:3]), *said[3:]]
    return Group(Text(escaped(head)), Text("fresh so far", style="dim"), table, *(Text(escaped(one)) for one in faults))
