"""The `step` engine: the nodes themselves, one event at a time, in virtual time.

It is the readable reference: the same planned instants and choices as in `array`,
but run by the state machines of nodes.py, which exchange messages (runner.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, final

import numpy as np

from replnet.deadline import require_time
from replnet.engines.lines import line_metrics, settling_times
from replnet.engines.nodes.measure_nodes import NodeMeasure
from replnet.engines.nodes.nodes import Copies, Replica, Reply
from replnet.engines.nodes.runner import EventQueue, Instants, Runner, TimedMessage
from replnet.engines.outages import Hazards
from replnet.engines.path import Path, Task, compute_shares, rates_of_downloads
from replnet.engines.plan import Plan
from replnet.engines.start import depths, look_back_further
from replnet.engines.tally import AFTER_ALL_UPDATES
from replnet.engines.wakes import find_phases, process_set
from replnet.laws import Floats, Law
from replnet.measure import NEVER_CAME, NOT_HELD, UNKNOWN
from replnet.processes import seed_words

BETWEEN_LOOKS = 4096  # events that happen between two looks at the clock, some hundredths of a second


class Lateness(NamedTuple):
    """The extra time that messages take beyond what the network says, in its units of time.

    Both fields, `pulls` and `replies`, have an entry per group of askers, by the number of the group.
    """

    pulls: tuple[float, ...]
    replies: tuple[float, ...]


def make_runner(task: Task) -> tuple[Callable[[range], list[Path]], int]:
    """Return a function that runs a range of replications, and the number of them that it is best given at once, 1.

    The function runs them one after another, and returns their paths.
    """
    return lambda some: [run_path(task, replication) for replication in some], 1


def run_path(task: Task, replication: int = 0, late: Lateness | None = None) -> Path:
    """Run one replication over [0, horizon), and return its path.

    With `late`, messages take longer than the network says from time zero on; None stands for no such delays.
    """
    step_run = run_to_zero(task, replication)
    if late is not None:
        step_run.slow_down(late)
    return step_run.path()


def run_to_zero(task: Task, replication: int, *, logged: bool = False) -> StepRun:
    """Return the run of a replication at time zero, after a past deep enough to make its state stationary.

    If no past that can be afforded is deep enough, the run's `unproven` is above 0. If its events are to be `logged`,
    the past is looked up further, for the departures of the copies that are held at time zero.
    """
    plan, run = task.plan, seed_words(task.seed, replication)
    update_ages = process_set(plan, plan.update_clocks, run).age
    oldest = float(np.max(update_ages, where=np.isfinite(update_ages), initial=0.0))
    for depth in depths(plan, oldest, longest_delay(plan), task.sampled):
        step_run = StepRun(task, replication, depth)
        if step_run.unproven == 0:
            break
    if (task.needs_departures or (logged and task.sampled)) and step_run.unproven == 0:
        proven = step_run.depth
        for depth in look_back_further(plan, proven, task.horizon, "step", bool(task.questions)):
            step_run = step_run if depth <= proven else StepRun(task, replication, depth)
            if not step_run.has_unknown:
                break
    return step_run


def longest_delay(plan: Plan) -> float:
    """Return the delay, in units of time, that only one in 1e9 messages of the slowest link exceeds."""
    return max(
        float(delay.isf(1e-9)) if isinstance(delay, Law) else delay for delay in (plan.delay, *plan.delays.values())
    )


@final
class StepRun:
    """The run of all nodes of a replication, from `depth` before time zero up to there, and then on.

    `unproven` is how many copies at time zero may differ from those of a network that has always been running, and
    `has_unknown` whether any may be from before the past. `unknown` stands for the departure of such a copy. `runner`
    has the nodes, and `watcher` their measurements.
    """

    def __init__(self, task: Task, replication: int, depth: float) -> None:
        """Run the replication with this number from `depth` before time zero, up to time zero.

        At the start all copies are of unknown age, unless they came straight from a source.
        """
        plan, everyone = task.plan, np.arange(task.plan.size)
        self._task, self._plan, self.depth = task, plan, depth
        self._run, self._queue = seed_words(task.seed, replication), EventQueue()
        instants = Instants(plan, self._run, np.arange(plan.processes.node.size), depth)
        self._ages, self._clocks = instants.clocks.age, instants.clocks
        # Copies of unknown age count as stale if freshness is measured, else as old as the start.
        self.unknown = UNKNOWN if task.sampled and not task.needs_departures else -depth
        keep = task.keep(replication) if task.keep else None
        self.watcher = NodeMeasure(task, self._run, everyone, -depth, self.unknown, keep=keep)
        hazards = Hazards(plan, self._run, -depth, task.horizon) if plan.pulls_may_fail else None
        instants_of_process = lambda q: (instants.of(q), instants.before(q))  # noqa: E731
        self.runner = Runner(plan, self._run, everyone, instants_of_process, self._queue, self.watcher, hazards)
        self.runner.on_contacts = self._note_contacts
        self.runner.plan_turns(-np.inf, np.inf)
        self._lacking = set(np.flatnonzero(plan.contacts_needed).tolist())
        self._known = self._find_known_copies()
        self._set_initial_copies(-depth)
        self.runner.start(-depth)
        self.run_until(0.0)
        old_copies = self._old_copies()
        self.has_unknown, self.unproven = bool(old_copies), self._count_unproven(old_copies)
        if plan.topology.fresh_start:
            for i, node in self._replicas():
                node.copies = dict.fromkeys(node.copies, float(AFTER_ALL_UPDATES))
                self.watcher.note_copies(0.0, i, node.copies)
        self.watcher.open({i: node.copies for i, node in self._replicas()})

    def _replicas(self) -> Iterator[tuple[int, Replica]]:
        """Yield every replica with its number."""
        return ((i, node) for i, node in self.runner.nodes.items() if isinstance(node, Replica))

    def _find_known_copies(self) -> dict[tuple[int, int], float]:
        """Return, by (node, row), the departures of copies whose age is known as they came straight from the source.

        The last download before time zero tells the age, if it was before the past. Copies that no process ever asks
        for are known as well, as NEVER_CAME.
        """
        process, node, row = self._plan.direct_copies
        delay, number = self._plan.constant_delay, np.ones(self._ages.size, np.int64)
        turns, phase = self._plan.processes.turns[process], find_phases(self._plan, self._run, process)
        number[process] = turns - phase
        ages = self._clocks.before(number)[process] if (turns > 1).any() else self._ages[process]
        pairs = zip(node.tolist(), row.tolist(), ages.tolist(), strict=True)
        unasked = ((*pair, np.inf) for pair in zip(*map(np.ndarray.tolist, self._plan.unasked_copies), strict=True))
        return {(i, s): max((delay or 0.0) - age, NEVER_CAME) for i, s, age in (*pairs, *unasked) if age > self.depth}

    def _set_initial_copies(self, now: float) -> None:
        """Give every replica its known copies, and copies of unknown age of all other sources that it can hear of."""
        for i, node in self._replicas():
            rows = self._plan.reachable_sources.of(i).tolist()
            sources = self._plan.sources[rows].tolist()
            node.copies = {s: self._known.get((i, row), self.unknown) for row, s in zip(rows, sources, strict=True)}
            self.watcher.note_copies(now, i, node.copies)

    def _note_contacts(self, now: float, i: int) -> None:
        """Check off replica i, which was handed a list of contacts, if the list is as long as it needs.

        Once all lists are, every poll asks as specified; copies that came before may be wrong, and are made unknown.
        """
        node = self.runner.nodes[i]
        if i in self._lacking and isinstance(node, Replica) and len(node.contacts) >= self._plan.contacts_needed[i]:
            self._lacking.discard(i)
            if not self._lacking:
                self._queue.change(0, _without_copies)
                self._set_initial_copies(now)

    def slow_down(self, late: Lateness) -> None:
        """Make messages take longer from now on, by the times in `late`, which replace any from an earlier call."""
        by_group = list(zip(*late, strict=True))
        self.runner.lateness = [by_group[g] for g in self._plan.group]

    def run_until(self, end: float) -> None:
        """Let all events before the instant `end` happen. Raises OutOfTime past a deadline."""
        while self._queue.next_at < end:
            require_time()
            self._run_some_events(end)

    def _run_some_events(self, end: float) -> None:
        """Let the next BETWEEN_LOOKS events happen, as far as they come before `end`."""
        for _ in range(BETWEEN_LOOKS):
            if self._queue.next_at >= end:
                return
            event = self._queue.pop()
            self.runner.handle(event[0], event)

    def _old_copies(self) -> list[tuple[int, int]]:
        """Return the copies that may be from before the replayed past, as (row of the source, node)."""
        departures = [
            (row, i, departure) for i, node in self._replicas() for row, departure in self._rows_of(node.copies)
        ]
        return [
            (row, i) for row, i, departure in departures if departure <= -self.depth and (i, row) not in self._known
        ]

    def _rows_of(self, copies: Copies) -> list[tuple[int, float]]:
        """Return the copies, which are by source node, as (row of the source, departure)."""
        rows = {int(s): row for row, s in enumerate(self._plan.sources)}
        return [(rows[int(s)], departure) for s, departure in copies.items()]

    def _count_unproven(self, old_copies: list[tuple[int, int]]) -> int:
        """Return how many copies may differ from those of a network that has always been running.

        `old_copies` are (row, node) of those that may be from before the past. A later update of the source settles
        these if freshness is sampled; lines and lists of contacts that are not settled yet count as well.
        """
        unproven = int(np.count_nonzero(settling_times(self._plan) > self.depth))
        for row in range(self._plan.sources.size):
            settled = self._task.sampled and self._plan.update_settles_unknown
            if not (settled and self.depth >= self._ages[row] + 2 * longest_delay(self._plan)):
                unproven += max(sum(of == row for of, _ in old_copies), len(self._lacking))
        return unproven

    def path(self) -> Path:
        """Run on to the horizon, and return the path; to be called once."""
        task, plan = self._task, self._plan
        self.run_until(task.horizon)
        tally = self.watcher.tally
        tally.sums, together = self.watcher.sums(task.horizon)
        self.watcher.finish()
        metrics = compute_shares(plan, tally.sums, task.horizon, task.rows, task.questions) | together
        if self.runner.hazards and (lines := self.runner.hazards.lines):
            metrics |= line_metrics(plan, lines.totals(task.horizon), task.horizon)
        metrics |= rates_of_downloads(plan, self.watcher.downloads, task.horizon)
        updates, downloads, polls, queries = self.watcher.counts
        return Path(
            shares=metrics,
            counts=(updates, downloads, polls, queries),
            depth=self.depth,
            unproven=self.unproven,
            unknown_shares=tally.unknown_shares(0, task.rows),
            profiles=tally.profiles(0, task.rows),
            copies=self._final_copies(),
        )

    def _final_copies(self) -> Floats:
        """Return the departures of the copies that nodes hold at the end, a row per source and a column per node.

        A departure is NOT_HELD where there is no copy.
        """
        result = np.full((self._plan.sources.size, self._plan.size), NOT_HELD)
        for i, node in self._replicas():
            for row, departure in self._rows_of(node.copies):
                result[row, i] = departure
        return result


def _without_copies(timed: TimedMessage) -> TimedMessage:
    """Return a message as it is, or, if it is a reply, without the copies that it brings."""
    message = timed.message
    if not isinstance(message, Reply):
        return timed
    return timed._replace(message=Reply({}, message.query, message.contacts))
