"""What is shown on stderr while something takes long: a picture on a terminal, elsewhere a line now and then."""

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
from replnet.text import brief, escape_unprintable, span, standard_errors_text

if TYPE_CHECKING:
    from replnet.lab.sweeps import SweepGlimpse
    from replnet.live import Glimpse
    from replnet.run import Progress

    Marks: TypeAlias = deque[tuple[float, Glimpse]]

SECONDS_BEFORE_FIRST_LINE = 2.0  # if there is no terminal to draw on
SECONDS_BETWEEN_LINES = 10.0
FRAMES_PER_SECOND = 4  # on a terminal
LATEST_ROWS_SHOWN = 8  # of a sweep
LONGEST_CELL_NAME = 60  # letters
FAULTS_SHOWN = 3  # of a live run, the latest
RATE_SPAN = 0.5  # seconds at least between the two glimpses that say how fast a live run is


@contextmanager
def lines_now_and_then(words: Callable[[float], str]) -> Iterator[Callable[[], object]]:
    """Print a line to stderr every few seconds while this context lasts; yield a function that prints one at once.

    `words` takes the seconds since the begin, and returns the line; it may be empty, and then nothing is printed.
    """
    begun, over = time.monotonic(), threading.Event()

    def speak() -> bool:
        """Print the line as of now; return whether there was one."""
        line = words(time.monotonic() - begun)
        if line:
            echo(line, err=True)
        return bool(line)

    def keep_on() -> None:
        """Print lines now and then until this context ends."""
        wait = SECONDS_BEFORE_FIRST_LINE
        while not over.wait(wait):
            wait = SECONDS_BETWEEN_LINES if speak() else SECONDS_BEFORE_FIRST_LINE

    threading.Thread(target=keep_on, name="replnet progress", daemon=True).start()
    try:
        yield speak
    finally:
        over.set()


@contextmanager
def progress_lines(words: str) -> Iterator[Progress]:
    """Print a line to stderr every few seconds about work that takes long: the seconds so far, and what is being done.

    That is `words` at first. Yield a callback that takes the share that is done, which is not printed, and new words.
    """

    def tell(done: float, now: str) -> None:
        """Put `now`, what is being done, into the lines from here on; the share `done` is not shown."""
        nonlocal words
        words = now

    with lines_now_and_then(lambda seconds: f"{seconds:.0f} s: {words}"):
        yield tell


@contextmanager
def progress() -> Iterator[Progress]:
    """Show on stderr how far work is: on a terminal by a bar, elsewhere by a line every few seconds.

    Yield a callback that takes the share that is done, from 0 to 1, and in words what is being done.
    """
    if not sys.stderr.isatty():
        with progress_lines("starting") as tell:
            yield tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda done, words: bar.update(task, completed=done, description=words)


@contextmanager
def live_display(picture: Callable[[], Any], words: Callable[[float], str]) -> Iterator[Callable[[], object]]:
    """Show on stderr how far work is: on a terminal by a picture that changes, elsewhere by a line every few seconds.

    `picture` returns anything that rich can draw, and is called several times a second; `words` takes the seconds since
    the begin, and returns the line. Yield a function that prints a line at once; on a terminal it does nothing.
    """
    if not sys.stderr.isatty():
        with lines_now_and_then(words) as speak:
            yield speak
        return
    from rich.console import Console
    from rich.live import Live

    with Live(
        get_renderable=picture, console=Console(stderr=True), refresh_per_second=FRAMES_PER_SECOND, transient=True
    ):
        yield lambda: None


# ---- A sweep


@contextmanager
def show_sweep(title: str, on_ray: bool = False) -> Iterator[Callable[[SweepGlimpse], None]]:
    """Show on stderr how far the sweep called `title` is; yield a callback that takes each new state of it.

    `on_ray` says that its workers are in a Ray cluster. A state with a failure prints a line at once, where there is no
    terminal.
    """
    from replnet.lab.sweeps import SweepGlimpse

    view = SweepView(title, SweepGlimpse(0, 0, 0, 0.0, False), on_ray)

    def words(seconds: float) -> str:
        """Return the line about the sweep; `seconds` are those since its begin."""
        return f"{seconds:.0f} s: {view.words() if view.now.cells else f'{title}: starting'}"

    with live_display(view.picture, words) as speak:

        def take(glimpse: SweepGlimpse) -> None:
            view.add(glimpse)
            if glimpse.failure:
                speak()

        yield take


@final
class SweepView:
    """The view of a sweep while it runs: how far it is, its latest rows, the worst row and failures.

    `on_ray` says that its workers are in a Ray cluster, where they take a while to start.
    """

    def __init__(self, title: str, now: SweepGlimpse, on_ray: bool = False) -> None:
        self.now, self._title, self._on_ray = now, title, on_ray
        self._latest: deque[tuple[str, ...]] = deque(maxlen=LATEST_ROWS_SHOWN)
        self._worst: tuple[float, str] = (0.0, "")
        self._failed: list[str] = []

    def add(self, now: SweepGlimpse) -> None:
        """Replace the state that is shown by `now`, and keep the rows of the cell that it has finished, or its failure.

        The latest rows are kept, and of all rows the one farthest from its prediction. A state without a cell adds no
        row.
        """
        from replnet.lab import row_from_record

        self.now = now
        if now.cell is None:
            return
        values = now.cell.values
        where = ", ".join(f"{name} = {value}" for name, value in values.items())[:LONGEST_CELL_NAME]
        if now.failure:
            self._failed.append(f"{where}: {now.failure}")
        for row in map(row_from_record, (now.record or {}).get("rows", ())):
            z, about = row.z, (row.group, row.metric)
            numbers = brief(row.measured), brief(row.predicted), standard_errors_text(z)
            self._latest.append((", ".join(map(str, values.values()))[:LONGEST_CELL_NAME], *about, *numbers))
            if z is not None and abs(z) > abs(self._worst[0]):
                self._worst = z, f"{where}{', ' if where else ''}{' '.join(about)}"

    def words(self) -> str:
        """Return one line: how far the sweep is, its cells per second, the time that the rest takes, the row farthest
        from its prediction, and how many cells failed, with the last of them.
        """
        now = self.now
        cells = "cells that differed, four times longer" if now.longer else "cells"
        parts = [f"{self._title}: {now.done:,} of {now.cells:,} {cells}"]
        if not now.done and self._on_ray:
            parts.append("waiting for Ray to start workers, and for the first cell")
        if now.rate:
            parts.append(f"{now.rate:.3g} a second")
        if not math.isnan(now.left) and now.done < now.cells:
            parts.append(f"{span(now.left)} left")
        if self._worst[1]:
            parts.append(f"farthest from its prediction z = {standard_errors_text(self._worst[0])} ({self._worst[1]})")
        if self._failed:
            parts.append(f"{len(self._failed)} failed, last {self._failed[-1]}")
        return "; ".join(parts)

    def picture(self) -> Any:
        """Return, for rich to draw on a terminal, the line about the sweep, a bar, and a table of the latest rows."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        rows = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for head in ("cell", "group", "metric", "measured", "predicted", "z"):
            rows.add_column(head, justify="right" if head in ("measured", "predicted", "z") else "left")
        for row in tuple(self._latest):
            rows.add_row(*(Text(escape_unprintable(cell)) for cell in row))
        bar = ProgressBar(total=max(self.now.cells, 1), completed=self.now.done, width=40)
        return Group(Text(escape_unprintable(self.words())), bar, Text(), rows)  # a bar does not end its line


# ---- A live run


@contextmanager
def show_live_run() -> Iterator[tuple[Callable[[Glimpse], None], Progress]]:
    """Show on stderr how far a live run is; yield a callback that takes each new state of it, and one for other news.

    The second takes a share, which is not shown, and words about what the run waits for, or how long it takes. These,
    and a state with a new failure, print a line at once, where there is no terminal.
    """
    latest: Glimpse | None = None
    news = "waiting for Ray"
    parts: list[str] = []
    marks: Marks = deque(maxlen=2)

    def words(seconds: float) -> str:
        """Return the line about the live run: its latest state, or after so many seconds, the news that came later."""
        if latest is None:
            return f"{seconds:.0f} s: {news}"
        shares = ", ".join(f"{group} {share:.3f}" for group, share in fresh_groups(latest))
        return "; ".join([*parts, f"fresh: {shares}"])

    with live_display(lambda: live_picture(latest, parts, news) if latest else news, words) as speak:

        def tell(_: float, words: str) -> None:
            nonlocal latest, news
            latest, news = None, words
            speak()

        def take(glimpse: Glimpse) -> None:
            nonlocal latest, parts
            failed = len(latest.lost) + len(latest.stood) if latest else 0
            latest, parts = glimpse, live_words(glimpse, rates(marks, time.monotonic(), glimpse))
            if len(glimpse.lost) + len(glimpse.stood) != failed:
                speak()

        yield take, tell


def rates(marks: Marks, clock: float, glimpse: Glimpse) -> tuple[float, float]:
    """Return (messages per second, events per second) of a live run between the older and the newer of `marks`.

    A mark is a reading of the clock, in seconds, with the state of the run. First, this glimpse and `clock` are added
    to `marks`, which keeps two, if the last mark is old enough or there is none. If there is one mark, both rates are
    0.
    """
    if not marks or clock - marks[-1][0] > RATE_SPAN:
        marks.append((clock, glimpse))
    (then, first), (now, second) = marks[0], marks[-1]
    elapsed = now - then or math.inf
    return (second.messages - first.messages) / elapsed, (sum(second.counts) - sum(first.counts)) / elapsed


def live_words(glimpse: Glimpse, rates: tuple[float, float]) -> list[str]:
    """Return texts on how far a live run is, how fast, how late its wakes are, and one for each of the latest failures.

    `rates` are its messages and its events per second.
    """
    done = min(max(glimpse.now / glimpse.horizon, 0.0), 1.0)
    return [
        f"t = {max(glimpse.now, 0.0):.4g} of {glimpse.horizon:.4g} ({done:.0%})",
        f"{rates[0]:,.0f} messages/s, {rates[1]:,.0f} events/s",
        f"wakes {max(glimpse.slip, 0.0):.2g} late on average",
        *map(str, [*glimpse.lost[-FAULTS_SHOWN:], *glimpse.stood[-FAULTS_SHOWN:]]),
    ]


def fresh_groups(glimpse: Glimpse) -> list[tuple[str, float]]:
    """Return (group, share of time in which its copies were fresh so far) for groups of a live run that have copies."""
    shares = zip(glimpse.groups, map(float, glimpse.fresh), strict=True)
    return [(group, share) for group, share in shares if not math.isnan(share)]


def live_picture(glimpse: Glimpse, parts: list[str], news: str = "") -> Any:
    """Return, for rich to draw on a terminal, texts about a live run, and a bar for the freshness so far of each group.

    The text `news` and below it the first three of `parts` stand above the bars, the others, its failures, below them.
    """
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for group, share in fresh_groups(glimpse):
        table.add_row(
            Text(escape_unprintable(group)), ProgressBar(total=1.0, completed=share, width=30), f"{share:.3f}"
        )
    head, *faults = [" · ".join(parts[:3]), *parts[3:]]
    return Group(
        *([Text(news, style="dim")] if news else []),
        Text(escape_unprintable(head)),
        Text("fresh so far", style="dim"),
        table,
        *(Text(escape_unprintable(fault)) for fault in faults),
    )
