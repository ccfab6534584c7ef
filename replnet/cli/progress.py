"""Progress on stderr, for runs that take longer than a glance."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from replnet.cli.screen import echo
from replnet.experiment.replications import Progress

PATIENCE = 2.0  # seconds of silence where there is no terminal to draw on
EVERY = 10.0  # seconds between lines after that


@contextmanager
def progress() -> Iterator[Progress]:
    """A callback that draws a bar on a terminal, and writes a line now and then elsewhere."""
    if not sys.stderr.isatty():
        with _Lines() as lines:
            yield lines.report
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda done, words: bar.update(task, completed=done, description=words)


class _Lines:
    """Speaks up when something takes long, even if nothing is reported meanwhile."""

    def __init__(self) -> None:
        self._words, self._begun, self._over = "starting", time.monotonic(), threading.Event()

    def __enter__(self) -> _Lines:
        threading.Thread(target=self._speak, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def report(self, done: float, words: str) -> None:
        self._words = words

    def _speak(self) -> None:
        wait = PATIENCE
        while not self._over.wait(wait):
            echo(f"{time.monotonic() - self._begun:.0f} s: {self._words}", err=True)
            wait = EVERY
