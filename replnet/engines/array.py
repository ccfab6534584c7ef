"""The `array` engine: windows of events through compiled kernels.

A window's instants are generated per process, every wake becomes its pulls, the
pulls are put in time order by a bucket sort, and one pass per source applies
them. Memory is that of a window and of the network, whatever the horizon.

Sources do not interact: a pull takes what the other side holds of each, so each
has a pass of its own over the same sorted pulls.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from replnet.engines.content import Content
from replnet.engines.lines import load
from replnet.engines.path import Path, answered, of_sources, there
from replnet.engines.program import Program
from replnet.engines.queue import Pulls
from replnet.engines.record import Keep, Recorder
from replnet.engines.start import depths
from replnet.engines.weather import Weather, losses
from replnet.laws.renewal import Renewals, Window
from replnet.laws.streams import CHOICES, Words, seed_words, streams

WINDOW = 1 << 16  # pulls that a window aims at: many enough to share its overhead, few enough for the cache


def run_path(program: Program, seed: int, replication: int, horizon: float) -> Path:
    """One replication over [0, horizon)."""
    return _Run(program, seed, replication, horizon).path()


def record_path(
    program: Program,
    seed: int,
    replication: int,
    horizon: float,
    keep: Keep,
    looks: Iterable[float],
    pulls: bool = True,
) -> None:
    """The same once more, with every event handed to `keep`; `looks` are how far back to begin, in turn (record.py).

    The program is not to be `sampled`: it is to know when copies left their source. Without `pulls` there is no row
    of what gets on its way, nor need there be of what arrives and is no fresher than what was there, which takes a
    small part of the time.
    """
    assert not program.sampled
    _Run(program, seed, replication, horizon).record(keep, looks, pulls)


class _Run:
    """One replication, from its start to its horizon."""

    def __init__(self, program: Program, seed: int, replication: int, horizon: float) -> None:
        self._program, self._plan, self._horizon = program, program.plan, horizon
        run, most = seed_words(seed, replication), max(int(program.askers.pulls.max(initial=1)), 1)
        self._updates = self._renewals("updates", program.updating, run, WINDOW)
        self._wakes = self._renewals("wakes", program.asking, run, max(WINDOW // most, 1))
        names, purposes = self._plan.stream_names[program.asking], self._plan.purpose[program.asking]
        self._choices = streams(run, names, purposes, CHOICES)
        self._losses = losses(program, run)
        self._run, self._absent = run, np.zeros(4, np.int64)
        self._recorder: Recorder | None = None

    def _renewals(self, kind: str, rows: np.ndarray, run: Words, events: int) -> Renewals:
        used, which = np.unique(self._plan.which[rows], return_inverse=True)
        laws = [self._plan.laws[g] for g in used]
        names, purposes = self._plan.stream_names[rows], self._plan.purpose[rows]
        return Renewals(
            laws, which, run, names, purposes, events, lambda size: self._program.scratch.floats(kind, size)
        )

    def path(self) -> Path:
        age, delay, sampled = float(self._updates.age.max()), self._program.delay, self._program.sampled
        pulls, contents, depth, unproven = self._proven(depths(self._plan, age, delay, sampled))
        while self._wakes.now < self._horizon:
            window = self._wakes.window(self._horizon)
            self._weather.take_off(window, self._absent)
            self._look_ahead(contents, window.end)
            if self._program.trees is not None:
                for content, tree in zip(contents, self._program.trees, strict=True):
                    content.tree(window, tree)
                continue
            pulls.add(window)
            if self._program.plain:
                for content in contents:
                    content.plain(pulls)
                pulls.all_done()
            else:
                self._apply(pulls, contents, window)
        return self._finish(contents, depth, unproven)

    def record(self, keep: Keep, looks: Iterable[float], sent: bool) -> None:
        self._recorder = Recorder(self._program, self._run, self._horizon, keep, sent)
        pulls, contents, *_ = self._proven(looks)
        self._recorder.start(self._updates.age, [content.copies for content in contents[: len(self._plan.sources)]])
        while self._wakes.now < self._horizon:
            window = self._wakes.window(self._horizon)
            self._look_ahead(contents, window.end)
            pulls.add(window)
            if self._program.plain and not sent:
                for content in contents:
                    self._recorder.change(content.row, content.changed(pulls))
                pulls.all_done()
            else:
                self._apply(pulls, contents, window)

    def _proven(self, looks: Iterable[float]) -> tuple[Pulls, list[Content], float, int]:
        """A start from the first of these depths that leaves no copy unproven, or else from the last."""
        for depth in looks:
            pulls, contents, unproven = self._start(depth)
            if unproven == 0:
                break
        return pulls, contents, depth, unproven

    def _start(self, depth: float) -> tuple[Pulls, list[Content], int]:
        """Replay the last `depth` units of time before zero; how many copies that leaves unproven."""
        coming, past = self._updates.next_instants(), self._updates.past(depth)
        self._weather = Weather(self._program, self._run, depth, self._horizon)
        contents = [
            Content(self._program, row, depth, self._horizon, coming[row], self._weather) for row in range(coming.size)
        ]
        if self._recorder:
            self._recorder.begin(depth)
            if self._plan.strict:
                contents.append(Content(self._program, 0, depth, self._horizon, coming[0], self._weather))
                contents[-1].everywhere()
        known = [self._know(content, depth) for content in contents]
        for content in contents:
            content.updates.prepend(past.of(content.row))
        pulls = Pulls(self._program.askers, self._choices, self._losses, self._program.scratch)
        window = self._wakes.past(depth)
        pulls.add(window)
        self._apply(pulls, contents, window)
        return pulls, contents, sum(map(self._unproven, contents, known, [depth] * len(contents)))

    def _know(self, content: Content, depth: float) -> np.ndarray:
        """Replicas whose only download before the start came straight from the source, so that its age is plain."""
        process, node, upstream = self._plan.direct.T
        age = self._wakes.age[process - len(self._plan.sources)]
        plain = (upstream == content.source) & (age > depth)
        content.know(node[plain], self._program.delay - age[plain], float(self._updates.age[content.row]))
        return np.asarray(node[plain])

    def _unproven(self, content: Content, known: np.ndarray, depth: float) -> int:
        """How many copies may differ from the stationary ones (start.py)."""
        age = self._updates.age[content.row]
        if self._program.sampled and self._plan.swept and depth >= age + 2 * self._program.delay:
            return 0
        return max(np.setdiff1d(content.unknown(), known).size, int(content.contacts.lacking[0]))

    def _look_ahead(self, contents: list[Content], end: float) -> None:
        """Have every content know its updates up to `end`, and the one after."""
        while self._updates.now < end:
            window, after = self._updates.window(end), self._updates.next_instants()
            if self._recorder:
                self._recorder.updates(window)
            for content in contents:
                content.updates.extend(window.of(content.row), after[content.row])

    def _apply(self, pulls: Pulls, contents: list[Content], window: Window) -> None:
        # A pass strikes out the pulls that come to nothing, but each has lines of its own, on which these spend.
        asked = pulls.pairs.copy() if len(contents) > 1 and self._plan.bandwidth is not None else None
        for content in contents:
            if asked is not None:
                pulls.pairs[:] = asked
            # The same for every content: when a pull is answered does not depend on what it brings.
            answered, arrived = content.general(pulls, window.end)
            if self._recorder:
                self._recorder.bring(content.brought)
        if self._recorder:
            self._recorder.passed(window, pulls, arrived, contents[-1].waited)
        pulls.done(answered, arrived)

    def _finish(self, contents: list[Content], depth: float, unproven: int) -> Path:
        plan = self._plan
        fresh_time, good = (np.array([f(content) for content in contents]) for f in (Content.fresh_time, Content.good))
        absent, answers, ended = (
            np.array([content.state.sums[name] for content in contents]) for name in ("absent", "answers", "ended")
        )
        fresh, shares = there(plan, fresh_time.sum(axis=0), absent.sum(axis=0), self._horizon)
        if plan.bandwidth is not None:
            shares |= load(plan, self._weather.counts(contents[0].state.nodes), self._horizon)
        wakes = np.concatenate([self._updates.spent, self._wakes.spent])
        counts = np.bincount(plan.purpose, wakes, 4).astype(np.int64) + self._absent
        updates, downloads, polls, queries = counts.tolist()
        return Path(
            fresh=fresh,
            answers=answers.sum(axis=0),
            good=good.sum(axis=0),
            counts=(updates, downloads, polls, queries),
            copies=np.array([content.copies for content in contents]),
            depth=depth,
            unproven=unproven,
            shares=shares | answered(plan, answers.sum(axis=0), ended.sum(axis=0)),
            of_sources=of_sources(plan, fresh_time, absent, answers, good, self._horizon),
        )
