"""How long copies stay stale, spell by spell: a spell goes on from one copy to the next, if that is stale as well.

A holder's copy becomes stale at an update f, and the holder is stale until it gets a copy that misses no update.
Copies that it gets in between left the source before f, so with [a, b) a stretch and f_1 the first update that
its copy misses

    a spell begins at f_1                  if a <= f_1 < b                               (1)
    it goes on over the next stretch       if f_1 < a of that stretch                    (2)

and no copy may be missing in between. A spell is counted as soon as it is longer than the given time.
"""

from __future__ import annotations

from typing import final

import numpy as np

from replnet.laws import Floats, Ints
from replnet.measure.stretches import Stretches


@final
class StaleSpells:
    """A counter of spells, in which a holder is stale without a break, that last longer than `least`.

    Stretches of many holders come in one batch after another; a spell may go on from one batch to the next.
    """

    def __init__(self, least: float) -> None:
        self._least = least
        no_holders, no_instants = np.empty(0, np.int64), np.empty(0)
        # Spells that may still become longer than that: holders, cells, and from when to when so far.
        self._open = no_holders, no_holders, no_instants, no_instants

    def count(self, holder: Ints, cell: Ints, stretches: Stretches, cells: int) -> Floats:
        """Return how many spells became longer than `least` in these stretches, as an array with an element per cell.

        There are so many `cells`; a spell counts in the cell of the stretch in which it began. `holder` and `cell` have
        a number for every stretch: of a node and source, and of where results are added up. The stretches of a holder
        are in order of time, and after those of all calls before; spells that are still short and go on are kept for
        the next call.
        """
        columns = holder, cell, stretches.begin, stretches.end, stretches.first_missed_update
        holders, open_cells, since, until = self._open
        earlier = holders, open_cells, since, until, since
        holder, cell, begin, end, missed = (np.concatenate(pair) for pair in zip(earlier, columns, strict=True))
        order = np.argsort(holder, kind="stable")
        holder, cell, begin, end, missed = (column[order] for column in (holder, cell, begin, end, missed))
        new = np.append(True, holder[1:] != holder[:-1])[: holder.size]
        first = np.flatnonzero(new | (missed >= begin))  # (2) holds for none of these
        last = np.append(first, holder.size)[1:] - 1
        spell = (begin[first] <= missed[first]) & (missed[first] < end[first])  # (1)
        far = end[last] - missed[first] > self._least
        goes_on = spell & ~far & np.append(new, True)[last + 1]
        still_open = first[goes_on]
        self._open = holder[still_open], cell[still_open], missed[still_open], end[last[goes_on]]
        return np.bincount(cell[first[spell & far]], minlength=cells).astype(float)
