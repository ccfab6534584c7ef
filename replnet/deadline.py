"""Until when something may take: a deadline that ends what happens inside it as Ctrl-C would, with what there is.

What can take minutes calls `require_time` now and then, whether there is a deadline or not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from replnet.text.errors import FieldError

LATE = "out of time"
REASON = 8 * 3600.0  # seconds, a night: who wants what takes longer is to say when it ends, as nobody waits for it
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}

_UNTIL: ContextVar[float] = ContextVar("until", default=math.inf)  # of time.monotonic()


class OutOfTime(KeyboardInterrupt):
    """An interrupt that nobody typed: whatever ends in good order at Ctrl-C does so at a deadline."""

    def __init__(self, words: str = LATE) -> None:
        super().__init__(words)


class UnreasonableError(ValueError):
    """What was asked for would take longer than REASON, and has no deadline."""


@contextmanager
def within(budget: float | str | None) -> Iterator[None]:
    """What happens inside has so many seconds, or those of a text such as 10m; fewer if it is part of what has fewer.

    >>> import replnet as rn
    >>> rn.emulate("cascade", precision=1e-9, budget="1s").incomplete.partition(" after")[0]
    'out of time'
    """
    until = math.inf if budget is None else time.monotonic() + seconds(budget)
    before = _UNTIL.set(min(until, _UNTIL.get()))
    try:
        yield
    finally:
        _UNTIL.reset(before)


def seconds(budget: float | str) -> float:
    """Of 90, 90s, 10m, 2h or 1d."""
    text = str(budget).strip()
    try:
        found = float(text[:-1]) * UNITS[text[-1]] if text[-1:] in UNITS else float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < math.inf:
        raise FieldError("budget", f"{text!r} is no time", "such as 90s, 10m or 2h")
    return found


def unlimited() -> None:
    """From here on there is no deadline, for a process that works for one that keeps it."""
    _UNTIL.set(math.inf)


def left() -> float | None:
    """The seconds until the deadline, 0 past it; None where there is none."""
    until = _UNTIL.get()
    return None if until == math.inf else max(until - time.monotonic(), 0.0)


def require_time() -> None:
    """Raises OutOfTime past the deadline."""
    if time.monotonic() > _UNTIL.get():
        raise OutOfTime
