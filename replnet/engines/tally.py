"""What a path amounts to: its stretches and answers added up, source by source and group by group.

A stretch is (slot, begin, end, left): from begin to end a node was up and held what had left its source at `left`.
Two ways of counting how much of it was fresh, and of an answer at t that brought what left at S:

    sampled        up to u(S), the first update after S;   if t < u(S)                                (1)
    conditional    F(end - S) - F(begin - S), F the integrated tail of the update age;  P(age > t - S)   (2)

A node that is down, or has no copy of a source that it can hear of, counts neither as fresh nor as stale: freshness is
the share of the time in which there is a copy. Where a node can hear of several sources it counts once for each.
So does what lies behind (measure/stretches.py), but for copies that are from before the replayed past, so that nobody
knows by how much: they are left out and counted, and as far as freshness goes they are stale.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, final

import numpy as np

from replnet.engines.passes import add_up
from replnet.engines.path import Shares, Sums, Task, cell_weights, shares
from replnet.engines.plan import Plan
from replnet.engines.pulls import runs
from replnet.laws.law import Flags, Floats, Ints, Law
from replnet.laws.processes.clockwork import Clockwork
from replnet.laws.processes.renewal import used
from replnet.laws.processes.streams import Words
from replnet.measure.profile import PLACES, grid_places, reached
from replnet.measure.stretches import Answers, Question, Stretches, Updates

UNKNOWN = -np.finfo(float).max  # in the place of the instant at which a copy left its source
JUST_NOW = np.nextafter(0.0, 1.0)  # when what is fresh at time zero left its source: after all that is forgotten
MOST_UPDATES = 1e7  # of the past of a path; older copies count as unknown
MOST_OF_ONE = 1e5  # of one source, however many there are
CHUNK = 15_000  # stretches at a time, as of intervals that are drawn (renewal.py)


@final
class Tally:
    """Sums over [0, horizon) of one path, or of several side by side, as stretches come in.

    Rows and cells of the r-th path are those of the plan and r times as many further on.
    """

    def __init__(
        self, task: Task, ages: Floats, runs: Sequence[Words], questions: Mapping[str, Question] | None = None
    ) -> None:
        """`ages` of the last updates before time zero, of all paths; `runs` are their words."""
        self._plan, self._horizon, self._sampled, self._runs = task.plan, task.horizon, task.sampled, runs
        self._questions = questions or {}
        self.paths = len(runs)
        self.sums = Sums.zero(self._plan.cells[0].size * self.paths, self._questions)
        # All updates from `known` on are at hand: at first the last one before time zero.
        self._known, there = -ages, np.isfinite(ages)
        self._updates = Updates(-ages[there], np.append(0, np.cumsum(there)))
        self._upto, self._waiting = 0.0, list[tuple[Ints, Ints, Floats, Floats]]()
        self._ahead = max((question.ahead for question in self._questions.values()), default=0.0)
        self._lasting: list[tuple[Ints, Ints, Floats, Floats, Floats]] = []  # and stretches that wait
        self.spans: list[tuple[Ints, Floats, Floats]] | None = None  # who had a fresh copy from when to when
        if self._plan.topology.together and self._sampled:
            self.spans = []

    def changed(self, new: Updates, upto: float, oldest: Floats) -> None:
        """All updates up to some instant; of these before `oldest` of its row none matters any more but to answers."""
        old, rows, oldest = self._updates, self._known.size, np.minimum(oldest, self._upto)
        for row, left in [(one[0], one[-1]) for some in (self._waiting, self._lasting) for one in some]:
            np.minimum.at(oldest, row[left > UNKNOWN], left[left > UNKNOWN])
        keep = old.points >= oldest[np.repeat(np.arange(rows), np.diff(old.begin))]
        kept = np.add.reduceat(np.append(keep, False), old.begin[:-1]) * (np.diff(old.begin) > 0)
        self._known = np.maximum(self._known, oldest)
        self._updates, self._upto = _merged(Updates(old.points[keep], np.append(0, np.cumsum(kept))), new), upto
        waiting, self._waiting = self._waiting, []
        for answers in waiting:
            self.answered(*answers)
        lasting, self._lasting = self._lasting, []
        for some in lasting:
            self._last(*some)

    def stretches(self, row: Ints, cell: Ints, who: Ints, begin: Floats, end: Floats, left: Floats) -> None:
        """`who` held them; `left` is UNKNOWN where a copy is from before the replayed past, -inf if it never came."""
        if not self._sampled:
            length = end - begin
            cell, (row, begin, end, left) = self._decided(self.sums.fresh, left, cell, length, row, begin, end, left)
            for law, stretch, some in self._by_law(row):
                a, b = (end[some] - left[some]) / stretch, (begin[some] - left[some]) / stretch
                add_up(stretch * (law.integrated_tail(a) - law.integrated_tail(b)), cell[some], self.sums.fresh)
            return
        lasting = Stretches(row, begin, end, left, self._updates)
        until = np.where(self._never(row, left), begin, lasting.fresh_until)
        self.sums.fresh += np.bincount(cell, until - begin, self.sums.fresh.size)
        if self.spans is not None:
            path = row // self._plan.sources.size
            # What comes in may lie in memory that the next window uses again.
            self.spans.append((who + path * self._plan.everyone, begin.copy(), until))
        if self._questions:
            cell, (row, begin, end, left) = self._dated(left, cell, (begin, end), row, begin, end, left)
            self._last(row, cell, begin, end, left)

    def _last(self, row: Ints, cell: Ints, begin: Floats, end: Floats, left: Floats) -> None:
        """What is asked of stretches; of those of which it is not known yet for how long they would have been fresh,
        later."""
        if (late := np.minimum(end + self._ahead, self._horizon) > self._upto).any():
            self._lasting.append((row[late], cell[late], begin[late], end[late], left[late]))
            row, cell, begin, end, left = row[~late], cell[~late], begin[~late], end[~late], left[~late]
        self._add(Stretches(row, begin, end, left, self._since(row, left)), cell)

    def answered(self, row: Ints, cell: Ints, at: Floats, left: Floats) -> None:
        """Queries that came to their end; `left` is NaN where they brought nothing.

        Some wait in line beyond the updates that are known.
        """
        if self._sampled and (late := self._early(at)).any():
            self._waiting.append((row[late], cell[late], at[late], left[late]))
            row, cell, at, left = row[~late], cell[~late], at[~late], left[~late]
        n, brought = self.sums.fresh.size, ~np.isnan(left)
        self.sums.ended += np.bincount(cell, minlength=n)
        self.sums.brought += np.bincount(cell[brought], minlength=n)
        row, cell, at, left = row[brought], cell[brought], at[brought], left[brought]
        if not self._sampled:
            cell, (row, at, left) = self._decided(self.sums.good, left, cell, np.ones(cell.size), row, at, left)
            for law, stretch, some in self._by_law(row):
                add_up(law.tail((at[some] - left[some]) / stretch), cell[some], self.sums.good)
            return
        got = Answers(row, at, left, self._updates)
        self.sums.good += np.bincount(cell, (got.stale == 0) & ~self._never(row, left), n)
        if self._questions:
            mine = ~self._with_copies[cell]
            row, cell, at, left = row[mine], cell[mine], at[mine], left[mine]
            cell, (row, at, left) = self._dated(left, cell, None, row, at, left)
            self._add(Answers(row, at, left, self._since(row, left)), cell)

    def _early(self, at: Floats) -> Flags:
        """Answers for which it takes updates that are not known yet."""
        ahead = np.where(at < self._horizon - self._ahead, self._ahead, 0.0)
        return np.asarray(at + ahead > self._upto)

    @cached_property
    def _with_copies(self) -> Flags:
        """Cells of groups that have copies, in which answers do not count; who belongs to nothing does not matter."""
        groups = np.bincount(self._plan.cells[1], self._plan.copies) > 0
        return np.append(np.tile(groups[self._plan.cells[1]], self.paths), False)

    def _never(self, row: Ints, left: Floats) -> Flags:
        """What never came of a source that changes: stale, though the first update that it misses may be forgotten."""
        return np.asarray(np.isneginf(left) & (self._rates[row] > 0))

    def _decided(self, sums: Floats, left: Floats, cell: Ints, wholes: Floats, *columns: Any) -> tuple[Ints, list[Any]]:
        """Without what is fresh for sure, as it never changes, which is added up, and what is not, as it never came."""
        still = self._rates[columns[0]] == 0
        if not (sure := still | np.isneginf(left)).any():
            return cell, list(columns)
        add_up(wholes[still], cell[still], sums)
        return cell[~sure], [column[~sure] for column in columns]

    def _by_law(self, row: Ints) -> Iterator[tuple[Law, Floats, Ints]]:
        """The law of the age of the updates, and how much longer than its intervals those of each source are."""
        laws, number, stretch = self._ages
        for g, law in enumerate(laws):
            mine = np.flatnonzero(number[row] == g) if len(laws) > 1 else np.arange(row.size)
            for q in range(0, mine.size, CHUNK):
                some = mine[q : q + CHUNK]
                yield law, stretch[row[some]], some

    @cached_property
    def _ages(self) -> tuple[list[Law], Ints, Floats]:
        """The laws of the ages of updates, and of every row the number of its own and how much that is stretched."""
        plan, rows = self._plan, np.arange(self._plan.sources.size)
        which = plan.clocks.law[plan.processes.clock[rows]]
        kinds, number = used(which)
        laws = [plan.topology.laws[g].age for g in kinds.tolist()]
        return laws, np.tile(number, self.paths), np.tile(plan.stretch(rows), self.paths)

    def _dated(
        self, left: Floats, cell: Ints, span: tuple[Floats, Floats] | None, *columns: Any
    ) -> tuple[Ints, list[Any]]:
        """Without what nobody knows the age of, which is counted, and without what never came, which costs the most.

        `span` is from when to when copies were held; None of answers.
        """
        if not (left < self._oldest[columns[0]]).any():
            return cell, list(columns)
        never, n = np.isneginf(left), self.sums.fresh.size
        lasts = span[1] - span[0] if span else np.ones(cell.size)
        self.sums.undated += np.bincount(cell, lasts * ((left < self._oldest[columns[0]]) & ~never), n)
        self.sums.whole += np.bincount(cell, lasts * never, n)
        lost = never & (self._rates[columns[0]] > 0)
        for name, question in self._questions.items():
            if span and question.at is not None:
                lasts = ((span[0] <= question.at) & (question.at < span[1])).astype(float)
            elif span:
                lasts = np.maximum(np.minimum(span[1], self._horizon - question.ahead) - span[0], 0.0)
            self._give_up(name, question, cell, (lasts * never, lasts * lost), span is not None)
        some = left >= self._oldest[columns[0]]
        return cell[some], [column[some] for column in columns]

    def _give_up(self, name: str, question: Question, cell: Ints, never: tuple[Floats, Floats], lasting: bool) -> None:
        """Account for what never came: so much of it in all, and so much that misses updates."""
        n, (kept, lost) = self.sums.fresh.size, never
        fresh = kept - lost
        missed = {"data": kept, "still": fresh}.get(question.about, lost)
        counted = {"stale": lost, "fresh": fresh}.get(question.over, kept)
        if question.over != "turns":
            self.sums.wholes[name] += np.bincount(cell, counted, n)
        if question.level is not None:
            if question.about == "first":
                self._up_to_date(name, cell, fresh, lasting)
        elif question.about != "turns":
            self.sums.costs[name] += np.bincount(cell[missed > 0], missed[missed > 0] * question.limit, n)

    @cached_property
    def _oldest(self) -> Floats:
        """By row, from when on copies are looked into."""
        most = max(MOST_OF_ONE, MOST_UPDATES / self._plan.sources.size)
        with np.errstate(divide="ignore"):
            return np.asarray(np.maximum(-most / self._rates, UNKNOWN / 2))

    @cached_property
    def _rates(self) -> Floats:
        """How often the source of every row changes."""
        return np.tile(self._plan.clocks.rate[self._plan.processes.clock[: self._plan.sources.size]], self.paths)

    def _since(self, row: Ints, left: Floats) -> Updates:
        """The updates after the oldest of these copies, looked up in the past where it is from there."""
        oldest = self._known.copy()
        np.minimum.at(oldest, row, left)
        short = np.flatnonzero(oldest < self._known)
        if short.size:
            assert (self._known[short] <= 0).all(), "an update that mattered is gone"
            earlier = past_updates(self._plan, self._runs, short, -oldest[short])
            # Of what is looked up together some is older than was asked for, and would be looked up again.
            low, high = (np.repeat(one[short], np.diff(earlier.begin)) for one in (oldest, self._known))
            keep = (low <= earlier.points) & (earlier.points < high)
            kept = np.add.reduceat(np.append(keep, False), earlier.begin[:-1]) * (np.diff(earlier.begin) > 0)
            sizes = np.zeros(self._known.size, np.int64)
            sizes[short] = kept
            self._updates = _merged(Updates(earlier.points[keep], np.append(0, np.cumsum(sizes))), self._updates)
            self._known[short] = oldest[short]
        return self._updates

    def _add(self, measured: Stretches | Answers, cell: Ints) -> None:
        n = self.sums.fresh.size
        self.sums.whole += np.bincount(cell, measured.whole("time"), n)
        for name, question in self._questions.items():
            if isinstance(measured, Answers) and not question.of_answers:
                continue
            some, own = measured, cell
            if question.ahead:
                some, there = measured.upto(self._horizon - question.ahead)
                own = cell[there]
            if question.at is not None:
                assert isinstance(some, Stretches)
                some, there = some.seen(question.at)
                own = own[there]
            if question.level is None:
                self.sums.costs[name] += np.bincount(own, some.cost(question), n)
            else:
                self._profile(name, question, some, own)
            self.sums.wholes[name] += np.bincount(own, some.whole(question.over), n)

    def _profile(self, name: str, question: Question, measured: Stretches | Answers, cell: Ints) -> None:
        number, total = self.sums.profiles[name]
        some, low, high = measured.ages(question)
        own = cell[some] * PLACES
        for ages, sign in ((low, 1.0), (high, -1.0)):
            if ages is not None:
                at = own + grid_places(ages)
                add_up(np.full(at.size, sign), at, number)
                add_up(sign * ages, at, total)
        if question.about == "first":
            self._up_to_date(name, cell, measured.whole("fresh"), isinstance(measured, Stretches))

    def _up_to_date(self, name: str, cell: Ints, amounts: Floats, lasting: bool) -> None:
        """Count what is not behind at all, as reached at every age."""
        number, total = self.sums.profiles[name]
        add_up(-amounts if lasting else amounts, cell * PLACES, total if lasting else number)

    def shares(self, r: int, names: Mapping[str, tuple[int, int]]) -> Shares:
        """Of the r-th path, by the names of groups and parts (Plan.rows)."""
        cells = self._plan.cells[0].size
        found = shares(self._plan, self.sums, self._horizon, names, self._questions, slice(r * cells, (r + 1) * cells))
        return found | self.together(r, names, np.ones(self._plan.everyone, np.bool_), 0.0, self._horizon)

    def together(self, r: int, names: Mapping[str, tuple[int, int]], own: Flags, since: float, until: float) -> Shares:
        """For how long whoever is in a group, of its `own`, had a fresh copy of any source, and of all."""
        found = Shares()
        for name, (g, row) in names.items() if self.spans is not None else ():
            members = self._plan.members(g)
            if row < 0 and not self._plan.clients[members[members < self._plan.size]].any():
                found |= self._together(r, name, members[own[members]], since, until)
        return found

    def profiles(self, r: int, names: Mapping[str, tuple[int, int]]) -> dict[tuple[str, str], Floats]:
        """By group or part and metric, for how much time, or of how many answers, ages were at most those of a grid."""
        cells, found = self._plan.cells[0].size, dict[tuple[str, str], Floats]()
        copies = np.bincount(self._plan.cells[1], self._plan.copies, len(self._plan.groups)) > 0
        for metric, both in self.sums.profiles.items():
            number, total = both.reshape(2, -1, PLACES)[:, r * cells : (r + 1) * cells]
            for name, (g, row) in names.items():
                weight = cell_weights(self._plan, g, row)
                found[name, metric] = reached(weight @ number, weight @ total, bool(copies[g]))
        return found

    def undated(self, r: int, names: Mapping[str, tuple[int, int]]) -> dict[str, float]:
        """The share of copy-time, or of answers, that had to be left out, where there is some."""
        cells, found = self._plan.cells[0].size, dict[str, float]()
        mine = slice(r * cells, (r + 1) * cells)
        for name, (g, row) in names.items() if self.sums.undated.any() else ():
            weight = cell_weights(self._plan, g, row)
            lost = float((weight * self.sums.undated[mine]).sum())
            found |= {name: lost / (lost + float((weight * self.sums.whole[mine]).sum()))} if lost else {}
        return found

    def _together(self, r: int, name: str, members: Ints, begin: float, end: float) -> Shares:
        assert self.spans is not None
        nobody = np.empty(0, np.int64), np.empty(0), np.empty(0)
        who, since, until = (np.concatenate(part) for part in zip(nobody, *self.spans, strict=True))
        count = self._plan.sources.size
        some = every = 0.0
        for member in (members + r * self._plan.everyone).tolist():
            mine = np.flatnonzero(who == member)
            at = np.concatenate([[begin], since[mine], until[mine], [end]])
            step = np.concatenate([[0], np.ones(mine.size, np.int64), -np.ones(mine.size, np.int64), [0]])
            order = np.argsort(at, kind="stable")
            fresh, lasts = np.cumsum(step[order])[:-1], np.diff(at[order])
            some, every = some + float(lasts[fresh > 0].sum()), every + float(lasts[fresh == count].sum())
        whole = (end - begin) * members.size
        return {(name, "any_fresh"): (some, whole), (name, "all_fresh"): (every, whole)}


def past_updates(plan: Plan, runs: Sequence[Words], rows: Ints, depth: Floats) -> Updates:
    """The updates of some sources of some paths before time zero, back to beyond so far ago, in lots about as deep."""
    run, clock = np.concatenate(runs), plan.processes.clock[rows % plan.sources.size]
    clocks, none = plan.clocks, np.zeros(1, np.uint64)
    lot = np.log2(np.maximum(depth * clocks.rate[clock], 1.0)).astype(np.int64)
    found = np.empty(rows.size, object)
    for which in np.unique(lot).tolist():
        some = np.flatnonzero(lot == which)
        own, names = clock[some], run[rows[some] // plan.sources.size] + clocks.word[clock[some]]
        made = Clockwork(plan.topology.laws, clocks.law[own], clocks.rate[own], none, names, clocks.purpose[own])
        past = made.past(float(depth[some].max()))
        for at, row in enumerate(some.tolist()):
            found[row] = past.of(at)
    sizes = np.array([of.size for of in found], np.int64)
    return Updates(np.concatenate([np.empty(0), *found]), np.append(0, np.cumsum(sizes)))


def _merged(first: Updates, then: Updates) -> Updates:
    """Row by row, what comes first and what comes then."""
    sizes, more = np.diff(first.begin), np.diff(then.begin)
    begin = np.append(0, np.cumsum(sizes + more))
    points = np.empty(int(begin[-1]))
    points[runs(begin[:-1], sizes)] = first.points
    points[runs(begin[:-1] + sizes, more)] = then.points
    return Updates(points, begin)
