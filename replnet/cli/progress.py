"""Progress on stderr, for runs that take longer than a glance."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

from replnet.cli.screen import echo
from replnet.study.replications import Progress

PATIENCE = 2.0  # seconds of silence where there is no terminal to draw on
EVERY = 10.0  # seconds between lines after that


@contextmanager
def progress() -> Iterator[Progress]:
    """A callback that draws a bar on a terminal, and writes a line now and then elsewhere."""
    if not sys.stderr.isatty():
        with Lines("starting") as lines:

            def tell(done: float, words: str) -> None:
                lines.words = words

            yield tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda done, words: bar.update(task, completed=done, description=words)


@final
class Lines:
    """Speaks up when something takes long, even if nothing is reported meanwhile."""

    def __init__(self, words: str) -> None:
        self.words, self._begun, self._over = words, time.monotonic(), threading.Event()

    def __enter__(self) -> Lines:
        threading.Thread(target=self._keep_on, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def speak(self) -> None:
        echo(f"{time.monotonic() - self._begun:.0f} s: {self.words}", err=True)

    def _keep_on(self) -> None:
        wait = PATIENCE
        while not self._over.wait(wait):
            self.speak()
            wait = EVERY
