"""Progress on stderr, for runs that take longer than a glance."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from replnet.experiment.emulate import Progress

PATIENCE = 1.0  # seconds before anything shows
EVERY = 10.0  # seconds between lines where there is no terminal to draw on


@contextmanager
def progress() -> Iterator[Progress]:
    """A callback that draws a bar on a terminal, and writes a line now and then elsewhere."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        begun, task = time.monotonic(), bar.add_task("starting", total=1.0, visible=False)

        def report(done: float, words: str) -> None:
            bar.update(task, completed=done, description=words, visible=time.monotonic() - begun > PATIENCE)

        yield report


class _Lines:
    def __init__(self) -> None:
        self._begun = self._said = time.monotonic()

    def __call__(self, done: float, words: str) -> None:
        now = time.monotonic()
        if now - self._said >= (PATIENCE if self._said == self._begun else EVERY):
            self._said = now
            click.echo(f"{now - self._begun:.0f} s: {words}", err=True)
