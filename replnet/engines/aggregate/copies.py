"""What becomes of the copies: sources really change, copies are really refreshed.

Sources do not act on one another, so each is followed by itself from time zero, at which
its changes and its refreshes are in equilibrium: the copy is fresh if its last refresh
came after the source's last change. Only who asks for more than that has the changes
before time zero looked up that a copy misses by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from replnet.engines.aggregate.kernels import fresh_time
from replnet.engines.aggregate.processes import Floats, Ints, Processes, before, chunks, named, renewals
from replnet.engines.aggregate.refreshes import Listed
from replnet.laws.law import Law
from replnet.laws.processes.streams import Words

MOST_PAST = 1e5  # changes of one source before time zero that are looked up


@final
@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """Times in which a copy stayed as it was, source after source on one long axis of time.

    `owner` is the place of the source in its chunk, `zero` where its time zero stands on the axis.
    """

    owner: Ints
    zero: Floats
    begin: Floats
    end: Floats
    left: Floats
    updates: Floats  # ascending, all that copies miss among them

    def stale(self) -> tuple[Floats, Floats]:
        """From when until when copies are, in the time of all."""
        first = np.append(self.updates, np.inf)[np.searchsorted(self.updates, self.left, side="right")]
        late = first < self.end
        since = np.maximum(first[late], self.begin[late])
        return since - self.zero[late], self.end[late] - self.zero[late]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some sources of one shape, and how they change over [0, horizon)."""

    law: Law
    some: Ints
    rates: Floats
    changes: Processes
    run: Words
    horizon: float

    @property
    def count(self) -> int:
        """Changes in the horizon."""
        return int((self.changes.rows < self.horizon).sum())

    def fresh(self, copies: Listed) -> Floats:
        """For how long each copy was."""
        own, out = copies.of(self.some), np.empty(self.some.size)
        fresh_time(self.horizon, self.changes.rows, self.changes.age, own.begin, own.instants, own.age, out)
        return out

    def dated(self, copies: Listed) -> npt.NDArray[np.bool_]:
        """Whose copies are not so old that nobody looks up what they miss."""
        with np.errstate(invalid="ignore"):
            return copies.age[self.some] * self.rates <= MOST_PAST

    def stretches(self, copies: Listed, dated: npt.NDArray[np.bool_]) -> Stretches:
        """Of all `dated` copies."""
        age = np.where(dated, copies.age[self.some], 0.0)
        return self._stretches(copies, dated, age, *self._missed(age))

    def stale(self, copies: Listed) -> tuple[Floats, Floats]:
        """From when until when copies were."""
        age = copies.age[self.some]
        late = np.flatnonzero(self.changes.age < age)
        # When a copy became stale that is so at zero does not matter here.
        everyone, age = np.ones(age.size, np.bool_), np.minimum(age, self.horizon)
        return self._stretches(copies, everyone, age, late, np.zeros(late.size)).stale()

    def _stretches(
        self, copies: Listed, dated: npt.NDArray[np.bool_], age: Floats, missing: Ints, missed: Floats
    ) -> Stretches:
        """Where the copies date from `age` before zero; sources `missing` changed `missed` before zero."""
        own, count = copies.of(self.some), self.some.size
        zero = np.cumsum(age + self.horizon) - self.horizon
        owner = np.repeat(np.arange(count), own.sizes + 1)
        first = own.begin[:-1] + np.arange(count)
        begin = np.insert(own.instants, own.begin[:-1], 0.0)
        left, end = begin.copy(), np.append(begin[1:], 0.0)
        left[first], end[np.append(first[1:], begin.size) - 1] = -age, self.horizon
        rows = self.changes.rows
        coming = (rows + zero[:, None])[(rows < self.horizon) & dated[:, None]]
        updates = np.sort(np.concatenate([zero[missing] - missed, coming]))
        kept = dated[owner]
        at = zero[owner][kept]
        return Stretches(owner[kept], at, begin[kept] + at, end[kept] + at, left[kept] + at, updates)

    def _missed(self, age: Floats) -> tuple[Ints, Floats]:
        """The changes before time zero that copies of these ages miss: of which source, and how long ago."""
        late = np.flatnonzero(self.changes.age < age)
        lots = chunks(age[late] * self.rates[late], 1.0)
        who, ago = [np.empty(0, np.int64)], [np.empty(0)]
        for lot in lots if late.size else ():
            one = late[lot]
            names, last = named(self.some[one]), self.changes.age[one]
            found = before(self.law, self.rates[one], self.run, names, "updates", last, age[one])
            inside = found < age[one][:, None]
            who.append(np.repeat(one, inside.sum(axis=1)))
            ago.append(found[inside])
        return np.concatenate(who), np.concatenate(ago)


def followed(members: Sequence[tuple[Law, Ints]], rates: Floats, run: Words, horizon: float) -> Iterator[Chunk]:
    """All sources, shape by shape."""
    for law, own in members:
        for lot in chunks(rates[own], horizon):
            some = own[lot]
            changes = renewals(law, rates[some], run, named(some), "updates", horizon)
            yield Chunk(law, some, rates[some], changes, run, horizon)


def together(stale: Sequence[tuple[Floats, Floats]], count: int, horizon: float) -> tuple[float, float]:
    """How long at least one of `count` copies was fresh, and how long all, from the times in which each was not."""
    begins, ends = (np.concatenate(part) for part in zip(*stale, strict=True))
    at = np.concatenate([[0.0], begins, ends, [horizon]])
    step = np.concatenate([[0], np.ones(begins.size, np.int64), -np.ones(ends.size, np.int64), [0]])
    order = np.argsort(at, kind="stable")
    stale_now, lasts = np.cumsum(step[order])[:-1], np.diff(at[order])
    return float(lasts[stale_now < count].sum()), float(lasts[stale_now == 0].sum())
