"""What a user makes of a network on a page: the draft as it is, those before it, and one that is kept beside it."""

from __future__ import annotations

from typing import NamedTuple, final

from replnet.show.web.controls import Assignments

SAME_MOVE = 1.0  # seconds between two changes of one field that are undone together
MOST_REMEMBERED = 200


class Draft(NamedTuple):
    """A network as the user has changed it: the texts of changed fields by key, and the freshness that is wanted."""

    assignments: Assignments
    target: float


@final
class Drafts:
    """The drafts of one page: `now`, those before it, which can be undone, and `reference`, kept to be compared with.

    `reference` is None if none is kept. `start` is the first, to which a reset goes back.
    """

    def __init__(self, now: Draft, start: Draft, reference: Draft | None = None) -> None:
        self.now, self.reference, self._start = now, reference, start
        self._before = list[Draft]()
        self._last_change: tuple[str, float] | None = None

    def change(self, draft: Draft, key: str, time: float) -> None:
        """Make `draft` the current one, as the field at `key` was changed at a `time`, in seconds of any clock.

        Changes of the same field at most a second apart, as when a slider is moved, are undone together.
        """
        last, self._last_change = self._last_change, (key, time)
        if last is None or last[0] != key or time - last[1] > SAME_MOVE:
            self._before = [*self._before, self.now][-MOST_REMEMBERED:]
        self.now = draft

    def undo(self) -> None:
        """Go back to the draft before the last change; do nothing if there is none."""
        if self._before:
            self.now = self._before.pop()
        self._last_change = None

    def reset(self) -> None:
        """Make the first draft the current one, which can be undone."""
        self._replace(self._start)

    def keep(self) -> None:
        """Make the current draft the reference, with which later ones are compared."""
        self.reference = self.now

    def swap(self) -> None:
        """Make the reference the current draft, and that the reference; do nothing if there is no reference."""
        if self.reference is not None:
            reference, self.reference = self.reference, self.now
            self._replace(reference)

    def forget(self) -> None:
        """Have no reference any more."""
        self.reference = None

    @property
    def can_undo(self) -> bool:
        """Whether there was a draft before the current one."""
        return bool(self._before)

    @property
    def is_start(self) -> bool:
        """Whether the current draft is the same as the first."""
        return self.now == self._start

    def _replace(self, draft: Draft) -> None:
        """Make `draft` the current one, if it is another, by a change that is undone by itself."""
        if draft != self.now:
            self._before.append(self.now)
            self.now = draft
        self._last_change = None
