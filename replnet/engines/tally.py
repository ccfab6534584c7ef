"""What a path amounts to: its stretches and answers added up, source by source and group by group.

A stretch is (slot, begin, end, departure): from begin to end a node was up and held the copy with this departure, the
instant at which it left its source. There are two ways of counting how much of a stretch was fresh, or whether an
answer at t with a copy of departure S was:

    sampled        up to u(S), the first update after S;   if t < u(S)                                  (1)
    conditional    F(end - S) - F(begin - S), F the integrated tail of the update age;  P(age > t - S)   (2)

A node that is down, or has no copy of a source that it can hear of, counts neither as fresh nor as stale: freshness is
the share of the time in which there is a copy. A node that can hear of several sources counts once for each.
A query that brought a copy of any source is answered; its answer is stale for every other source that the client can
hear of, and so is a replica that can hear of none (Question.without_copy). A query that brought nothing counts as
unanswered if pulls may fail. The questions of metrics (measure/stretches.py) are answered likewise, but for copies
from before the replayed past, whose departure is unknown: these are left out and counted, and for freshness they are
stale.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, final

import numpy as np

from replnet.engines.path import Shares, Sums, Task, cell_weights, compute_shares
from replnet.engines.plan import Plan
from replnet.engines.wakes import process_set
from replnet.laws import Flags, Floats, Ints, Law
from replnet.measure import (
    FLOOR,
    PLACES,
    Question,
    StaleSpells,
    Stretches,
    Updates,
    cumulative_curve,
    grid_places,
    held_mask,
    known_mask,
    never_came,
)
from replnet.network import runs
from replnet.processes import Words, distinct_with_places

AFTER_ALL_UPDATES = np.nextafter(0.0, 1.0)  # the departure of copies that are fresh at time zero
MOST_UPDATES = 1e7  # updates of the past of a path that are looked up; older copies count as unknown
MOST_UPDATES_OF_ONE = 1e5  # those of one source, however many sources there are
STRETCHES_AT_ONCE = 15_000  # as many as of intervals that are drawn at once (renewal.py)


@final
class Tally:
    """The sums over [0, horizon) of one path, or of several side by side, to which stretches and answers are added.

    Rows and cells of the r-th path are those of the plan, r times their number further on. `sums` has the sums of all
    paths, and `paths` is their number. `fresh_spans` has the spans in which nodes had fresh copies, as arrays of nodes,
    begins and ends; None unless freshness of any or all sources is wanted.
    """

    def __init__(
        self, task: Task, ages: Floats, runs: Sequence[Words], questions: Mapping[str, Question] | None = None
    ) -> None:
        """Begin at time zero, with the `ages` of the last updates before then, by row, and the seed words of all paths.

        An age is infinite if a source never changes. `runs` has the seed words, one element per path. `questions` are
        those besides freshness, by metric; None stands for none.
        """
        self._plan, self._horizon, self._sampled, self._runs = task.plan, task.horizon, task.sampled, runs
        self._questions = questions or {}
        self.paths = len(runs)
        self.sums = Sums.zero(self._plan.cells[0].size * self.paths, self._questions)
        # The updates from `_updates_from` to `_updates_until` are at hand: at first the last one before time zero.
        self._updates_from, changes = -ages, np.isfinite(ages)
        self._updates = Updates(-ages[changes], np.append(0, np.cumsum(changes)))
        self._updates_until, self._waiting_answers = 0.0, list[tuple[Ints, Ints, Floats, Floats]]()
        self._ahead = max((question.ahead for question in self._questions.values()), default=0.0)
        self._waiting_stretches: list[tuple[Ints, Ints, Ints, Floats, Floats, Floats]] = []
        self._spells = {
            name: StaleSpells(question.ahead)
            for name, question in self._questions.items()
            if question.about == "spells"
        }
        self.fresh_spans: list[tuple[Ints, Floats, Floats]] | None = None  # nodes, begins and ends
        if self._plan.topology.any_and_all and self._sampled:
            self.fresh_spans = []

    def add_updates(self, new: Updates, until: float, oldest: Floats) -> None:
        """Add the `new` updates, which are all up to `until`, then the answers and stretches that waited for them.

        `oldest` has an instant per row: earlier updates are forgotten, unless answers or stretches that still wait need
        them.
        """
        old, rows, oldest = self._updates, self._updates_from.size, np.minimum(oldest, self._updates_until)
        batches = (self._waiting_answers, self._waiting_stretches)
        for row, departure in [(columns[0], columns[-1]) for batch in batches for columns in batch]:
            np.minimum.at(oldest, row[known_mask(departure)], departure[known_mask(departure)])
        keep = old.points >= oldest[np.repeat(np.arange(rows), np.diff(old.begin))]
        sizes = np.add.reduceat(np.append(keep, False), old.begin[:-1]) * (np.diff(old.begin) > 0)
        self._updates_from = np.maximum(self._updates_from, oldest)
        self._updates, self._updates_until = (
            merge_updates(Updates(old.points[keep], np.append(0, np.cumsum(sizes))), new),
            until,
        )
        late_answers, self._waiting_answers = self._waiting_answers, []
        for answers in late_answers:
            self.add_answers(*answers)
        late_stretches, self._waiting_stretches = self._waiting_stretches, []
        for stretches in late_stretches:
            self._measure(*stretches)

    def add_stretches(self, row: Ints, cell: Ints, node: Ints, begin: Floats, end: Floats, departure: Floats) -> None:
        """Add stretches to the sums, in each of which `node` held one copy of the source in `row`; it counts in `cell`.

        All arrays have an entry per stretch, with its begin and end, and the departure of the copy, which may be
        UNKNOWN (from before the replayed past) or NEVER_CAME.
        """
        if not self._sampled:
            length = end - begin
            cell, (row, begin, end, departure) = self._split_off_certain(
                self.sums.fresh, departure, cell, length, row, begin, end, departure
            )
            for law, scale, members in self._by_law(row):
                a, b = (end[members] - departure[members]) / scale, (begin[members] - departure[members]) / scale
                _add_up(scale * (law.integrated_tail(a) - law.integrated_tail(b)), cell[members], self.sums.fresh)
            return
        lasting = Stretches(row, begin, end, departure, self._updates)
        until = np.where(self._never_came(row, departure), begin, lasting.fresh_until)
        self.sums.fresh += np.bincount(cell, until - begin, self.sums.fresh.size)
        if self.fresh_spans is not None:
            path = row // self._plan.sources.size
            # `begin` may lie in memory that the next window uses again.
            self.fresh_spans.append((node + path * self._plan.size_with_choices, begin.copy(), until))
        if self._questions:
            cell, (row, node, begin, end, departure) = self._split_off_unknown(
                departure, cell, (begin, end), row, node, begin, end, departure
            )
            self._measure(row, cell, node, begin, end, departure)

    def _measure(self, row: Ints, cell: Ints, node: Ints, begin: Floats, end: Floats, departure: Floats) -> None:
        """Add what questions ask of stretches to the sums; those that end beyond the known updates wait for more.

        All arrays have an entry per stretch: its source's row, cell, node, begin, end, and the departure of its copy.
        """
        if (late := np.minimum(end + self._ahead, self._horizon) > self._updates_until).any():
            self._waiting_stretches.append((row[late], cell[late], node[late], begin[late], end[late], departure[late]))
            row, cell, node = row[~late], cell[~late], node[~late]
            begin, end, departure = begin[~late], end[~late], departure[~late]
        self._add_measured(Stretches(row, begin, end, departure, self._updates_since(row, departure)), cell, node)

    def add_answers(self, row: Ints, cell: Ints, at: Floats, departure: Floats) -> None:
        """Add answers that clients got to the sums; a departure is NOT_HELD if an answer brought no copy of the source.

        All arrays have an entry per answer and source: the source's row, the cell where it counts, the instant of the
        answer, and the departure. If updates that matter to an answer are not known yet, it waits for them.
        """
        if self._sampled and (late := self._need_later_updates(at)).any():
            self._waiting_answers.append((row[late], cell[late], at[late], departure[late]))
            row, cell, at, departure = row[~late], cell[~late], at[~late], departure[~late]
        has_copy = held_mask(departure)
        self._charge_answers_without_copy(cell[~has_copy])
        row, cell, at, departure = row[has_copy], cell[has_copy], at[has_copy], departure[has_copy]
        if not self._sampled:
            cell, (row, at, departure) = self._split_off_certain(
                self.sums.fresh_answers, departure, cell, np.ones(cell.size), row, at, departure
            )
            for law, scale, members in self._by_law(row):
                _add_up(law.tail((at[members] - departure[members]) / scale), cell[members], self.sums.fresh_answers)
            return
        answers = Stretches.answers(row, at, departure, self._updates)
        self.sums.fresh_answers += np.bincount(
            cell, (answers.stale == 0) & ~self._never_came(row, departure), self.sums.fresh_answers.size
        )
        if self._questions:
            of_clients = ~self._keeps_copies[cell]
            row, cell, at, departure = row[of_clients], cell[of_clients], at[of_clients], departure[of_clients]
            cell, (row, at, departure) = self._split_off_unknown(departure, cell, None, row, at, departure)
            updates = self._updates_since(row, departure)
            self._add_measured(Stretches.answers(row, at, departure, updates), cell)

    def _charge_answers_without_copy(self, cell: Ints) -> None:
        """Add the costs of answers without a copy of the source to all metrics, from the cell of each answer."""
        number = np.bincount(cell[~self._keeps_copies[cell]], minlength=self.sums.fresh.size)
        for name, question in self._questions.items():
            if question.of_answers:
                cost, whole = question.without_copy
                self.sums.costs[name] += cost * number
                self.sums.wholes[name] += whole * number

    def _need_later_updates(self, at: Floats) -> Flags:
        """Return a mask of the instants `at` whose answers have to wait for updates that are not known yet."""
        ahead = np.where(at < self._horizon - self._ahead, self._ahead, 0.0)
        return np.asarray(at + ahead > self._updates_until)

    @cached_property
    def _keeps_copies(self) -> Flags:
        """A mask of the cells of groups that keep copies, where answers do not count.

        The last entry, for what counts in no cell, is False.
        """
        groups = np.bincount(self._plan.cells[1], self._plan.copies) > 0
        return np.append(np.tile(groups[self._plan.cells[1]], self.paths), False)

    def _never_came(self, row: Ints, departure: Floats) -> Flags:
        """Return a mask of the copies that never came although their source changes, which are stale in any case."""
        return np.asarray(never_came(departure) & (self._rates[row] > 0))

    def _split_off_certain(
        self, sums: Floats, departure: Floats, cell: Ints, wholes: Floats, *columns: Any
    ) -> tuple[Ints, list[Any]]:
        """Split off stretches or answers whose freshness is certain, and return the cells and columns of the rest.

        Those of sources that never change are fresh: their `wholes` are added to their cells in `sums`. Those without a
        copy are stale. All arrays but `sums` have an entry per stretch or answer; the first of the `columns` has rows
        of sources.
        """
        constant = self._rates[columns[0]] == 0
        if not (certain := constant | never_came(departure)).any():
            return cell, list(columns)
        _add_up(wholes[constant], cell[constant], sums)
        return cell[~certain], [column[~certain] for column in columns]

    def _by_law(self, row: Ints) -> Iterator[tuple[Law, Floats, Ints]]:
        """Yield (law, scales, places) for each law of update ages that sources in `row` have.

        `places` are the indices in `row` of rows with this law, STRETCHES_AT_ONCE at most at a time, and `scales` by
        how much their ages are longer than the law says.
        """
        laws, number, scale = self._update_ages
        for g, law in enumerate(laws):
            members = np.flatnonzero(number[row] == g) if len(laws) > 1 else np.arange(row.size)
            for q in range(0, members.size, STRETCHES_AT_ONCE):
                some_members = members[q : q + STRETCHES_AT_ONCE]
                yield law, scale[row[some_members]], some_members

    @cached_property
    def _update_ages(self) -> tuple[list[Law], Ints, Floats]:
        """The laws of update ages, each once; by row, as two arrays, the number of its law and the scale of its ages.

        An age of a row is its scale times one that follows the law.
        """
        plan, rows = self._plan, np.arange(self._plan.sources.size)
        which = plan.clocks.law[plan.update_clocks]
        laws_used, number = distinct_with_places(which)
        laws = [plan.topology.laws[g].age for g in laws_used.tolist()]
        return laws, np.tile(number, self.paths), np.tile(plan.interval_scale(rows), self.paths)

    def _split_off_unknown(
        self, departure: Floats, cell: Ints, span: tuple[Floats, Floats] | None, *columns: Any
    ) -> tuple[Ints, list[Any]]:
        """Split off stretches or answers whose copy is of unknown age or missing; return the other cells and columns.

        Unknown ages are counted, and missing copies charged. `span` holds the begin and the end of stretches; None for
        answers. All arrays have an entry per stretch or answer; the first of the `columns` has rows of sources.
        """
        if not (departure < self._oldest[columns[0]]).any():
            return cell, list(columns)
        missing, n = never_came(departure), self.sums.fresh.size
        amounts = span[1] - span[0] if span else np.ones(cell.size)
        self.sums.unknown_age += np.bincount(cell, amounts * ((departure < self._oldest[columns[0]]) & ~missing), n)
        self.sums.known_age += np.bincount(cell, amounts * missing, n)
        misses_updates = missing & (self._rates[columns[0]] > 0)
        for name, question in self._questions.items():
            if span and question.at is not None:
                amounts = ((span[0] <= question.at) & (question.at < span[1])).astype(float)
            elif span:
                amounts = np.maximum(np.minimum(span[1], self._horizon - question.ahead) - span[0], 0.0)
            self._charge_missing(name, question, cell, (amounts * missing, amounts * misses_updates), span is not None)
        known = departure >= self._oldest[columns[0]]
        return cell[known], [column[known] for column in columns]

    def _charge_missing(
        self, name: str, question: Question, cell: Ints, missing: tuple[Floats, Floats], lasting: bool
    ) -> None:
        """Add the costs and wholes of copies that never came to the sums of the metric `name`, each in its cell.

        `missing` holds the amounts (times if `lasting`, else numbers of answers) in all, and those of sources that
        change.
        """
        n, (amounts, stale) = self.sums.fresh.size, missing
        fresh = amounts - stale
        costly = {"data": amounts, "still": fresh}.get(question.about, stale)
        whole = {"stale": stale, "fresh": fresh}.get(question.over, amounts)
        if question.over != "turns":
            self.sums.wholes[name] += np.bincount(cell, whole, n)
        if question.level is not None:
            if question.about == "first":
                self._count_up_to_date(name, cell, fresh, lasting)
        elif question.about not in ("turns", "spells"):
            self.sums.costs[name] += np.bincount(cell[costly > 0], costly[costly > 0] * question.limit, n)

    @cached_property
    def _oldest(self) -> Floats:
        """The least departure, by row, of copies that are looked into; older copies count as of unknown age.

        At least MOST_UPDATES_OF_ONE updates of the source are expected since then.
        """
        most_updates = max(MOST_UPDATES_OF_ONE, MOST_UPDATES / self._plan.sources.size)
        with np.errstate(divide="ignore"):
            return np.asarray(np.maximum(-most_updates / self._rates, FLOOR))

    @cached_property
    def _rates(self) -> Floats:
        """The number of updates per unit of time of the source in every row, for all paths; 0 if it never changes."""
        return np.tile(self._plan.clocks.rate[self._plan.update_clocks], self.paths)

    def _updates_since(self, row: Ints, departure: Floats) -> Updates:
        """Return the known updates of all rows, back to the earliest departure of these copies of the sources in `row`.

        Updates before time zero that are not at hand yet are generated, and kept.
        """
        oldest = self._updates_from.copy()
        np.minimum.at(oldest, row, departure)
        rows_short = np.flatnonzero(oldest < self._updates_from)
        if rows_short.size:
            assert (self._updates_from[rows_short] <= 0).all(), "an update that mattered is gone"
            earlier = past_updates(self._plan, self._runs, rows_short, -oldest[rows_short])
            # Rows are looked up together, so some get updates older than asked for, which would be looked up again.
            low, high = (np.repeat(bound[rows_short], np.diff(earlier.begin)) for bound in (oldest, self._updates_from))
            keep = (low <= earlier.points) & (earlier.points < high)
            sizes_kept = np.add.reduceat(np.append(keep, False), earlier.begin[:-1]) * (np.diff(earlier.begin) > 0)
            sizes = np.zeros(self._updates_from.size, np.int64)
            sizes[rows_short] = sizes_kept
            self._updates = merge_updates(Updates(earlier.points[keep], np.append(0, np.cumsum(sizes))), self._updates)
            self._updates_from[rows_short] = oldest[rows_short]
        return self._updates

    def _add_measured(self, measured: Stretches, cell: Ints, node: Ints | None = None) -> None:
        """Add what every question measures of these stretches or answers to the sums, each in its cell.

        `node` is the node that held each stretch; None for answers.
        """
        n = self.sums.fresh.size
        self.sums.known_age += np.bincount(cell, measured.whole("time"), n)
        for name, question in self._questions.items():
            if not (measured.lasting or question.of_answers):
                continue
            considered, cells = measured, cell
            if question.ahead:
                considered, is_considered = measured.cut_at(self._horizon - question.ahead)
                cells = cell[is_considered]
            if question.at is not None:
                considered, is_considered = considered.answers_at(question.at)
                cells = cells[is_considered]
            if question.about == "spells":
                assert node is not None
                holder = node * self._updates_from.size + measured.row
                self.sums.costs[name] += self._spells[name].count(holder, cell, measured, n)
            elif question.level is None:
                self.sums.costs[name] += np.bincount(cells, considered.cost(question), n)
            else:
                self._profile(name, question, considered, cells)
            self.sums.wholes[name] += np.bincount(cells, considered.whole(question.over), n)

    def _profile(self, name: str, question: Question, measured: Stretches, cell: Ints) -> None:
        """Add the ages that a question is about to the profile of a metric, as numbers and sums by cell and grid place.

        A stretch adds its first age and takes away its last. `name` is the metric, and `cell` has the cell in which
        each stretch or answer counts.
        """
        number, total = self.sums.profiles[name]
        with_age, lowest, highest = measured.ages(question)
        places = cell[with_age] * PLACES
        for ages, sign in ((lowest, 1.0), (highest, -1.0)):
            if ages is not None:
                at = places + grid_places(ages)
                _add_up(np.full(at.size, sign), at, number)
                _add_up(sign * ages, at, total)
        if question.about == "first":
            self._count_up_to_date(name, cell, measured.whole("fresh"), measured.lasting)

    def _count_up_to_date(self, name: str, cell: Ints, amounts: Floats, lasting: bool) -> None:
        """Count copies that miss no update in the profile of the metric `name`, as younger than every age there.

        `amounts` are times if `lasting`, else numbers of answers; `cell` is where each counts.
        """
        number, total = self.sums.profiles[name]
        _add_up(-amounts if lasting else amounts, cell * PLACES, total if lasting else number)

    def shares(self, r: int, names: Mapping[str, tuple[int, int]]) -> Shares:
        """Return the metrics of the r-th path, as (amount, whole) by (row of the table, metric).

        These are freshness, the metrics of the questions, and where the network asks for it freshness of any and of all
        sources. `names` has, by row of the table, the group's number and the source's row, which is -1 for all sources.
        """
        cells = self._plan.cells[0].size
        shares = compute_shares(
            self._plan, self.sums, self._horizon, names, self._questions, slice(r * cells, (r + 1) * cells)
        )
        return shares | self.joint_freshness(
            r, names, np.ones(self._plan.size_with_choices, np.bool_), 0.0, self._horizon
        )

    def joint_freshness(
        self, r: int, names: Mapping[str, tuple[int, int]], counted: Flags, since: float, until: float
    ) -> Shares:
        """Return the times with a fresh copy of any source, and of all, as (time, whole) by (row of the table, metric).

        `r` is the place of the path in this tally. `names` has, by row of the table, the group's number and the
        source's row; only rows of all sources (-1) of groups without clients get them. Only the nodes in the mask
        `counted` matter, over [since, until), and both amounts add up over them. Empty if the network does not ask for
        it.
        """
        shares = Shares()
        for name, (g, row) in names.items() if self.fresh_spans is not None else ():
            members = self._plan.members(g)
            if row < 0 and not self._plan.clients[members[members < self._plan.size]].any():
                shares |= self._joint_freshness_of(r, name, members[counted[members]], since, until)
        return shares

    def profiles(self, r: int, names: Mapping[str, tuple[int, int]]) -> dict[tuple[str, str], Floats]:
        """Return the cumulative distributions of ages on the r-th path, by (row of the table, metric), for quantiles.

        Each is an array with an entry per edge of a fixed grid of ages: the time for which copies had at most that age,
        or the number of answers that had. `names` has, by row of the table, the group's number and the source's row (-1
        for all). Only metrics that are quantiles have one.
        """
        cells, profiles = self._plan.cells[0].size, dict[tuple[str, str], Floats]()
        copies = np.bincount(self._plan.cells[1], self._plan.copies, len(self._plan.groups)) > 0
        for metric, columns in self.sums.profiles.items():
            number, total = columns.reshape(2, -1, PLACES)[:, r * cells : (r + 1) * cells]
            for name, (g, row) in names.items():
                weight = cell_weights(self._plan, g, row)
                profiles[name, metric] = cumulative_curve(weight @ number, weight @ total, bool(copies[g]))
        return profiles

    def unknown_shares(self, replication: int, rows: Mapping[str, tuple[int, int]]) -> dict[str, float]:
        """Return, by name of a row, the share of copies, or of answers, whose age is unknown; only shares above 0.

        `replication` is the place of the path among those of this tally. `rows` has for each name the number of the
        group and the row of the source, which is -1 for all sources.
        """
        count, shares = self._plan.cells[0].size, dict[str, float]()
        cells = slice(replication * count, (replication + 1) * count)
        for name, (g, row) in rows.items() if self.sums.unknown_age.any() else ():
            weight = cell_weights(self._plan, g, row)
            unknown = float((weight * self.sums.unknown_age[cells]).sum())
            known = float((weight * self.sums.known_age[cells]).sum())
            shares |= {name: unknown / (unknown + known)} if unknown else {}
        return shares

    def _joint_freshness_of(self, r: int, name: str, members: Ints, begin: float, end: float) -> Shares:
        """Return for how long members of a table's row had fresh copies of any source, and of all, over [begin, end).

        The result is (time, whole) by (`name` of the row, metric). `members` are nodes and choices of views, on the
        r-th path.
        """
        assert self.fresh_spans is not None
        nobody = np.empty(0, np.int64), np.empty(0), np.empty(0)
        node, since, until = (np.concatenate(part) for part in zip(nobody, *self.fresh_spans, strict=True))
        count = self._plan.sources.size
        any_fresh = all_fresh = 0.0
        for member in (members + r * self._plan.size_with_choices).tolist():
            spans = np.flatnonzero(node == member)
            instants = np.concatenate([[begin], since[spans], until[spans], [end]])
            change = np.concatenate([[0], np.ones(spans.size, np.int64), -np.ones(spans.size, np.int64), [0]])
            order = np.argsort(instants, kind="stable")
            fresh, lengths = np.cumsum(change[order])[:-1], np.diff(instants[order])
            any_fresh += float(lengths[fresh > 0].sum())
            all_fresh += float(lengths[fresh == count].sum())
        whole = (end - begin) * members.size
        return {(name, "any_fresh"): (any_fresh, whole), (name, "all_fresh"): (all_fresh, whole)}


def past_updates(plan: Plan, runs: Sequence[Words], rows: Ints, depth: Floats) -> Updates:
    """Return updates before time zero of the sources in `rows`, in this order, each back to its own `depth` or beyond.

    `runs` are the seed words of all paths; the rows of a path follow those of the one before. Rows of about the same
    depth are generated together.
    """
    run, clock = np.concatenate(runs)[rows // plan.sources.size], plan.update_clocks[rows % plan.sources.size]
    log_size = np.log2(np.maximum(depth * plan.clocks.rate[clock], 1.0)).astype(np.int64)
    points = np.empty(rows.size, object)
    for size in np.unique(log_size).tolist():
        places = np.flatnonzero(log_size == size)
        past = process_set(plan, clock[places], run[places]).past(float(depth[places].max()))
        for at, row in enumerate(places.tolist()):
            points[row] = past.of(at)
    sizes = np.array([instants.size for instants in points], np.int64)
    return Updates(np.concatenate([np.empty(0), *points]), np.append(0, np.cumsum(sizes)))


def merge_updates(first: Updates, second: Updates) -> Updates:
    """Return, row by row, the updates of the first followed by those of the second."""
    sizes, more = np.diff(first.begin), np.diff(second.begin)
    begin = np.append(0, np.cumsum(sizes + more))
    points = np.empty(int(begin[-1]))
    points[runs(begin[:-1], sizes)] = first.points
    points[runs(begin[:-1] + sizes, more)] = second.points
    return Updates(points, begin)


def _add_up(amounts: Floats, cells: Ints, out: Floats) -> None:
    """Add every amount to its cell in `out`, in place and one after another, in a compiled loop."""
    from replnet.engines.array import add_up

    add_up(amounts, cells, out)
