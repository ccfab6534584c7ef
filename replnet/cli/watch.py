"""A live run as it goes: a table that changes on a terminal, a line now and then elsewhere. All on stderr."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, final

from replnet.cli.progress import EVERY, PATIENCE
from replnet.cli.screen import echo, visible

if TYPE_CHECKING:
    from replnet.study.live_run import Glimpse

Watch: TypeAlias = "Callable[[Glimpse], None]"

LATEST = 3  # faults that are shown


@contextmanager
def watching() -> Iterator[Watch]:
    """A callback that shows what it is given."""
    if not sys.stderr.isatty():
        yield _Lines().look
        return
    from rich.console import Console
    from rich.live import Live

    pace = Pace()
    with Live(console=Console(stderr=True), transient=True, refresh_per_second=8) as screen:
        screen.update("starting Ray and its actors ...")
        yield lambda seen: screen.update(picture(seen, pace))


@final
class Pace:
    """Messages and events per second, from one look to the next."""

    def __init__(self) -> None:
        self._at = self._messages = self._events = 0.0
        self.rates = (0.0, 0.0)

    def look(self, seen: Glimpse, at: float) -> tuple[float, float]:
        events, gone = float(sum(seen.counts)), at - self._at
        if gone > 0.5:
            if self._at:
                self.rates = (seen.messages - self._messages) / gone, (events - self._events) / gone
            self._at, self._messages, self._events = at, float(seen.messages), events
        return self.rates


def words(seen: Glimpse, rates: tuple[float, float]) -> list[str]:
    """How far it is, how fast it goes, how late, and what has failed."""
    done = min(max(seen.now / seen.horizon, 0.0), 1.0)
    said = [
        f"t = {max(seen.now, 0.0):.4g} of {seen.horizon:.4g} ({done:.0%})",
        f"{rates[0]:,.0f} messages/s, {rates[1]:,.0f} events/s",
        f"wakes {max(seen.slip, 0.0):.2g} late on average",
    ]
    return said + [str(one) for one in (*seen.lost[-LATEST:], *seen.stood[-LATEST:])]


def freshness(seen: Glimpse) -> Iterator[tuple[str, float]]:
    """Of every group that has copies."""
    for group, share in zip(seen.groups, seen.fresh, strict=True):
        if not math.isnan(share):
            yield group, float(share)


def picture(seen: Glimpse, pace: Pace) -> Any:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for group, share in freshness(seen):
        table.add_row(Text(visible(group)), ProgressBar(total=1.0, completed=share, width=30), f"{share:.3f}")
    said = [visible(one) for one in words(seen, pace.look(seen, time.monotonic()))]
    return Group(Text(" · ".join(said[:3])), Text("fresh so far", style="dim"), table, *map(Text, said[3:]))


@final
class _Lines:
    def __init__(self) -> None:
        self._next, self._pace = time.monotonic() + PATIENCE, Pace()
        self._failed = 0

    def look(self, seen: Glimpse) -> None:
        now = time.monotonic()
        rates = self._pace.look(seen, now)
        failed = len(seen.lost) + len(seen.stood)
        if now < self._next and failed == self._failed:
            return
        self._next, self._failed = now + EVERY, failed
        shares = ", ".join(f"{group} {share:.3f}" for group, share in freshness(seen))
        echo("; ".join([*words(seen, rates), f"fresh: {shares}"]), err=True)
