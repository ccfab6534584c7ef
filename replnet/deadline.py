"""Deadlines: at a deadline the work inside ends as at Ctrl-C, with the results so far.

Work that can take minutes calls `require_time` now and then, whether there is a deadline or not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from replnet.text import FieldError, InputError, span

OUT_OF_TIME = "out of time"
REASONABLE_SECONDS = 8 * 3600.0  # seconds, a night: work that takes longer needs a deadline, as nobody waits for it
SECONDS_PER_UNIT = {"s": 1, "m": 60, "h": 3600, "d": 86_400}

_UNTIL: ContextVar[float] = ContextVar("until", default=math.inf)  # of time.monotonic()
_NIGHT_UNTIL: ContextVar[float] = ContextVar("night until", default=math.inf)  # likewise, for work without a deadline
_PARTS: ContextVar[int] = ContextVar("parts", default=1)  # runs that share REASONABLE_SECONDS


class OutOfTime(KeyboardInterrupt):
    """An interrupt that nobody typed: work that ends in good order at Ctrl-C does so at a deadline too.

    `words` are its message.
    """

    def __init__(self, words: str = OUT_OF_TIME) -> None:
        super().__init__(words)


class UnreasonableError(InputError):
    """The error of work without deadline that would take longer than `reasonable_seconds`, at most 8 hours."""


@contextmanager
def within(budget: float | str | None) -> Iterator[None]:
    """Set a deadline for the work in the block, `budget` from now: seconds, or a text such as 10m; with None, set none.

    A deadline of a block around it counts if it is earlier. Nothing stops the work by itself: past the deadline
    `require_time`, which the work calls, raises OutOfTime. A budget that is no time above 0 raises FieldError.

    >>> import replnet as rn
    >>> rn.emulate("cascade", precision=1e-9, budget="1s").incomplete.partition(" after")[0]
    'out of time'
    """
    until = math.inf if budget is None else time.monotonic() + budget_seconds(budget)
    before = _UNTIL.set(min(until, _UNTIL.get()))
    try:
        yield
    finally:
        _UNTIL.reset(before)


@contextmanager
def within_reason(seconds: float = REASONABLE_SECONDS) -> Iterator[None]:
    """Let `require_time` raise OutOfTime in the block after so many `seconds` (default: a night) without a deadline.

    That is for searches, of which nobody can say beforehand how many steps they take. A limit of a block around it
    counts if it is earlier.
    """
    before = _NIGHT_UNTIL.set(min(time.monotonic() + seconds, _NIGHT_UNTIL.get()))
    try:
        yield
    finally:
        _NIGHT_UNTIL.reset(before)


@contextmanager
def sharing_reasonable_time(parts: int) -> Iterator[None]:
    """Divide the time that work without a deadline may take by `parts`, a number from 1 on, for the work in the block.

    That work is one of about `parts` runs of the same length; blocks in blocks divide it further. If it raises
    UnreasonableError, an UnreasonableError with the number of runs added to its text is raised instead.
    """
    before = _PARTS.set(parts * _PARTS.get())
    try:
        yield
    except UnreasonableError as why:
        raise UnreasonableError(f"{why}, and about {parts} such runs are wanted") from None
    finally:
        _PARTS.reset(before)


def reasonable_seconds() -> float:
    """Return how many seconds work without a deadline may take: 8 hours, less within `sharing_reasonable_time`.

    There the hours are divided by the number of parts.
    """
    return REASONABLE_SECONDS / _PARTS.get()


def budget_seconds(budget: float | str) -> float:
    """Return the seconds of a budget such as 90, 90s, 10m, 2h or 1d; a number without unit is seconds.

    Raises FieldError for anything else, also for times that are not above 0, or infinite.
    """
    text = str(budget).strip()
    try:
        duration = float(text[:-1]) * SECONDS_PER_UNIT[text[-1]] if text[-1:] in SECONDS_PER_UNIT else float(text)
    except ValueError:
        duration = 0.0
    if not 0 < duration < math.inf:
        raise FieldError("budget", f"{text!r} is no time", "such as 90s, 10m or 2h")
    return duration


def seconds_left() -> float | None:
    """Return the seconds until the deadline, 0 past it; None if there is none."""
    until = _UNTIL.get()
    return None if until == math.inf else max(until - time.monotonic(), 0.0)


def require_reasonable(seconds: float, work: str) -> None:
    """Raise UnreasonableError if there is no deadline, and `work` would take longer than `reasonable_seconds`.

    `seconds` says how long it takes, roughly, and `work` is its name in the message.
    """
    if seconds_left() is None and seconds > reasonable_seconds():
        ways = "a budget, such as 10m, ends it then with what there is"
        raise UnreasonableError(f"{work} would take about {span(seconds)} ({ways})")


def require_time() -> None:
    """Raise OutOfTime past the deadline that `within` has set, or if none is, past that of `within_reason`."""
    now = time.monotonic()
    if now > _UNTIL.get():
        raise OutOfTime
    if now > _NIGHT_UNTIL.get() and _UNTIL.get() == math.inf:
        raise OutOfTime(f"{OUT_OF_TIME} (a budget, such as 20h, allows more than a night)")
