"""What to change so that replicas meet a target: when they pull, how often they pull, or how many of them clients ask.

The updates of a record are replayed against pulls that were not made. Pulls every `interval` bring at t what the source
had at t - delay, where the delay is the least time that an update was seen to take. Pulls at no stated times are
proposed if they meet the target at each of several phases, and their value is the mean over these. Stated times are
chosen on the first half of the record and valued on the second, so that a time that was good by chance is not proposed;
where pulls were seen to come now earlier and now later, or visits are far apart, stated times are uncertain by as much,
the `slack`, and their value is a mean over that.

Intervals are those that a line of cron or a timer can say, or 1, 2, 5 times powers of ten where times are no dates. The
longest that meets the target is proposed, as it takes the fewest requests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from replnet.histories.audit import BATCHES, estimates
from replnet.histories.held_copies import StalenessSums, stretches_of, sums_between
from replnet.histories.history import DAY
from replnet.histories.locked_clocks import clock, phase_lock
from replnet.histories.observing import Observation
from replnet.histories.reasons import interval_by_waits
from replnet.histories.time_words import span_text
from replnet.lab.inverse import read_target
from replnet.laws import Empirical, Floats, constant
from replnet.measure import Estimate, Row, is_metric_on_request, is_share
from replnet.run import Progress, TabularResult, Threshold
from replnet.text import FieldError

if TYPE_CHECKING:
    import pandas as pd

METRICS = ("freshness", "staleness", "staleness_age", "lag", "missing_updates")
MINUTE, HOUR = 60.0, 3600.0
SAID_BY_CRON = (
    *(MINUTE * count for count in (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30)),
    *(HOUR * count for count in (1, 2, 3, 4, 6, 8, 12, 24)),
)
SAID_BY_TIMERS = (1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, *SAID_BY_CRON)
ROUND = (1.0, 2.0, 5.0)
PHASES, FEW_PHASES = 96, 8  # at which pulls at stated times, and at any times, are tried
FEWEST_PULLS = 20  # in a record, for an interval to be proposed
MOST_PULLS = 1_000_000
MIDDLE = (0.05, 0.95)  # quantiles between which pulls are early or late
MOST_TIMES = 4  # of a day that are listed
SAME = 0.01  # of an interval: a longer one is longer by more
CLIENTS = "clients who ask "  # before their number, in the name of a group
PROPOSED = (
    "group", "change", "measured", "expected", "ci_low", "ci_high", "emulated", "requests", "interval", "cron", "timer",
    "meets",
)  # fmt: skip
SEED = 20_111
PRECISION = 0.005  # half-width of what is emulated, of a share; of others relative to the value
CHECK_SECONDS = 30.0  # of an emulation, at most


@final
@dataclass(frozen=True)
class PullTimes:
    """A schedule of pulls every `interval`, one of them at the instant `anchor`; None if they come at no stated times.

    If `dated`, both are in seconds, the anchor since 1970.
    """

    interval: float
    anchor: float | None = None
    dated: bool = True

    def instants(self, start: float, end: float, shift: float = 0.0) -> Floats:
        """Return the instants of pulls, `shift` later than stated, from the last one not after `start` until `end`.

        Pulls at no stated times are put at the multiples of the interval.
        """
        first = (self.anchor or 0.0) + shift
        first += self.interval * math.floor((start - first) / self.interval)
        return np.asarray(first + self.interval * np.arange(math.floor((end - first) / self.interval) + 1))

    def words(self) -> str:
        """Return the pulls as a person would say them, such as "every 6 h, at 02:05, 08:05, 14:05 and 20:05 UTC".

        `dated` says that times are in seconds since 1970; else they have no unit, and stated times are told as a
        remainder.
        """
        every = "daily" if self.dated and self.interval == DAY else f"every {span_text(self.interval, self.dated)}"
        if self.anchor is None or (self.dated and self.interval not in SAID_BY_CRON):
            return every
        if not self.dated:
            return f"{every}, {self.anchor % self.interval:.5g} after its multiples"
        *rest, last = [f"{hour:02}:{minute:02}" for hour, minute in _clock_times(self)]
        if len(rest) >= MOST_TIMES:
            return f"{every}, one of them at {rest[0]} UTC"
        return f"{every}, at {', '.join(rest)}{' and ' if rest else ''}{last} UTC"

    @property
    def cron(self) -> str:
        """The five fields of a line of cron that says these pulls, in UTC; empty if no line can."""
        if not self.dated or self.interval not in SAID_BY_CRON:
            return ""
        times = _clock_times(self)
        if self.interval < HOUR:
            first, step = times[0][1], round(self.interval / MINUTE)
            minutes = "*" if step == 1 else f"{f'{first}-59' if first else '*'}/{step}"
            return f"{minutes} * * * *"
        return f"{times[0][1]} {'*' if self.interval == HOUR else ','.join(str(hour) for hour, _ in times)} * * *"

    @property
    def timer(self) -> str:
        """The line of a systemd timer that says these pulls, as `OnCalendar=*-*-* 14:05:00 UTC`; empty if none can."""
        if not self.dated or self.interval not in SAID_BY_TIMERS:
            return ""
        if self.interval < MINUTE:
            return f"OnCalendar=*-*-* *:*:0/{self.interval:.0f}"
        times = _clock_times(self)
        if self.interval <= HOUR:
            minutes = ",".join(f"{minute:02}" for hour, minute in times if hour == times[0][0])
            return f"OnCalendar=*-*-* *:{minutes}:00 UTC"
        return f"OnCalendar=*-*-* {','.join(f'{hour:02}' for hour, _ in times)}:{times[0][1]:02}:00 UTC"


def _clock_times(schedule: PullTimes) -> list[tuple[int, int]]:
    """Return the (hour, minute) in UTC of the pulls of a day, in ascending order; the anchor is rounded to a minute.

    The interval is one of SAID_BY_CRON. Pulls at no stated times are taken to begin at midnight.
    """
    first, step = round((schedule.anchor or 0.0) / MINUTE), round(schedule.interval / MINUTE)
    return [divmod(minute, 60) for minute in sorted((first + pull * step) % 1440 for pull in range(1440 // step))]


@final
@dataclass(frozen=True, eq=False)
class ReplicaRecord:
    """The record of one replica, as far as proposals need it.

    `updates` are the ascending instants of the source's changes, and `arrivals` those at which the replica was first
    seen with a newer version, both also before and after the time that is measured, from the first of `cuts` to the
    last. `waits` has the time from each update to its arrival, and visits of the node are `visited` apart. If `dated`,
    times are seconds since 1970.
    """

    name: str
    updates: Floats
    arrivals: Floats
    waits: Floats
    cuts: Floats
    visited: float
    dated: bool

    @cached_property
    def delay(self) -> float:
        """The least time that an update took to arrive, 0 or more; 0 if the source and the arrivals keep locked clocks.

        Then a delay cannot be told from the time until the next pull.
        """
        enough = min(self.updates.size, self.arrivals.size) >= FEWEST_PULLS
        clocks = (
            [clock(np.unique(times), 4 * self.visited) for times in (self.updates, self.arrivals)] if enough else []
        )
        of_source, of_arrivals = clocks or (None, None)
        if of_source is not None and of_arrivals is not None and phase_lock(of_source, of_arrivals) is not None:
            return 0.0
        return max(float(self.waits.min()), 0.0) if self.waits.size else 0.0

    @cached_property
    def schedule(self) -> PullTimes:
        """The pulls as they are: by their clock, if they keep one, else as often as the waits of updates tell.

        Where updates wait much less than an interval of the clock of the arrivals, that is only the source's clock. The
        interval is NaN if there is neither a clock nor a wait.
        """
        by_waits = max(interval_by_waits(self.waits, self.delay), self.visited) if self.waits.size else math.nan
        beat = clock(self.arrivals) if self.arrivals.size >= FEWEST_PULLS else None
        if beat is None or beat.period <= 2 * self.visited or by_waits < beat.period / 2:
            return PullTimes(by_waits, None, self.dated)
        # A clock that strays by less than an interval in twenty over the record keeps the time of the day.
        strays = np.abs(np.array(SAID_BY_CRON) - beat.period) * int(beat.beats[-1])
        nearest = int(np.argmin(strays))
        period = SAID_BY_CRON[nearest] if strays[nearest] < beat.period / 20 else beat.period
        return PullTimes(period, float(np.median(self.arrivals - period * beat.beats)), self.dated)

    @cached_property
    def slack(self) -> float:
        """The length of time within which a pull at a stated time may come, around that.

        It is the distance in which the middle 90 % of arrivals are early or late by the present schedule, but at least
        the time between visits, and just that if the replica pulls at no stated times.
        """
        present = self.schedule
        if present.anchor is None:
            return self.visited
        off = (self.arrivals - present.anchor + present.interval / 2) % present.interval
        return max(float(np.subtract(*np.quantile(off, MIDDLE[::-1]))), self.visited)

    def values(self, schedule: PullTimes, target: Threshold, cuts: Floats) -> tuple[Estimate, Floats]:
        """Return the estimate of the target's metric by a `schedule`, and how far it meets the target in 8 cases each.

        Pulls are shifted within their interval, or within the slack of stated times; the estimate is that of the mean
        over these shifts. It covers the time from the first of `cuts` to the last, and its interval is that of batches
        between them. Margins are 0 or more where the target is met.
        """
        width = schedule.interval if schedule.anchor is None else min(self.slack, schedule.interval)
        shifts = ((np.arange(FEW_PHASES) + 0.5) / FEW_PHASES - 0.5) * width
        sums = [self._sums(schedule.instants(cuts[0] - self.delay, cuts[-1], shift), cuts) for shift in shifts]
        lengths = np.diff(cuts)
        margins = [target.margin(self._value(each, lengths, target, "one phase").value) for each in sums]
        mean = StalenessSums(*(np.mean(amounts, axis=0) for amounts in zip(*sums, strict=True)))
        return self._value(mean, lengths, target, ""), np.array(margins)

    def _value(self, sums: StalenessSums, lengths: Floats, target: Threshold, doubt: str) -> Estimate:
        """Return the estimate of the target's metric from sums in batches of these lengths.

        `doubt` is a text on why it has no confidence interval; empty if it has one.
        """
        by_metric = estimates(sums, lengths, doubt)
        if target.metric == "lag" and not sums.stale.any():
            return replace(by_metric["lag"], value=0.0)
        if target.metric != "freshness":
            return by_metric[target.metric]
        share = by_metric["staleness"]
        return replace(share, value=1 - share.value, skew=-share.skew)

    def _sums(self, pulls: Floats, cuts: Floats) -> StalenessSums:
        """Return how stale a copy would be between `cuts` if pulled at these instants, to come `delay` later."""
        return sums_between(cuts, stretches_of(pulls + self.delay, pulls, self.updates, cuts))

    def best_anchor(self, interval: float, target: Threshold, cuts: Floats) -> float:
        """Return the instant of one of the pulls every `interval` at which the target's metric has the largest margin.

        It is the middle of the phases that are nearly as good as the best of 96, between the first of `cuts` and an
        interval later. Only the time from the first to the last of `cuts` counts; margins are means over the slack.
        """
        edges = cuts[[0, -1]]
        shifts = np.arange(PHASES) * (interval / PHASES)
        anchor = float(math.floor(cuts[0] / DAY) * DAY)
        values = np.empty(PHASES)
        for i, shift in enumerate(shifts):
            pulls = PullTimes(interval, anchor).instants(edges[0] - self.delay, edges[1], shift)
            values[i] = target.margin(self._value(self._sums(pulls, edges), np.diff(edges), target, "one batch").value)
        values[np.isnan(values)] = -math.inf
        width = min(math.ceil(PHASES * self.slack / interval) + 1, PHASES)
        around = np.concatenate([values, values])[np.add.outer(np.arange(PHASES), np.arange(width))].mean(axis=1)
        # The middle of the longest run of phases that are nearly as good as the best.
        good = around >= np.max(around) - max(abs(float(np.max(around))) * SAME, 1e-9)
        begin, length = _longest_run(good)
        middle = (begin + (length - 1) / 2 + (width - 1) / 2) % PHASES
        return anchor + float(middle * interval / PHASES)


def _longest_run(good: np.ndarray[Any, np.dtype[np.bool_]]) -> tuple[int, int]:
    """Return where the longest run of true values on a circle begins, and its length; (0, size) if all are true."""
    if good.all():
        return 0, good.size
    start = int(np.argmin(good))
    turned = np.append(np.roll(good, -start), False).astype(int)
    steps = np.diff(turned, prepend=0)
    begins, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    longest = int(np.argmax(ends - begins))
    return (int(begins[longest]) + start) % good.size, int(ends[longest] - begins[longest])


@final
@dataclass(frozen=True)
class Proposal:
    """A change with which a replica, or clients (`group`), would meet a target, and what it costs.

    `change` says it in words. `measured` and `expected` are the metric's values before and after, the latter with an
    interval where there is one, and `requests` says how many are made then: pulls of the replica, or for a query.
    `schedule` has the pulls that are proposed, None if those stay. `meets` is false if nothing that is known here meets
    the target; then `expected` is the best value, and `change` says with what. `emulated` is the metric's value in an
    emulation of the change; None if there was none.
    """

    group: str
    change: str
    measured: float
    expected: Estimate
    requests: str = ""
    schedule: PullTimes | None = None
    meets: bool = True
    emulated: Estimate | None = None

    def data(self) -> dict[str, Any]:
        """Return the proposal as plain values by the names in PROPOSED, with None for numbers that are not finite."""
        numbers = {
            "measured": self.measured,
            "expected": self.expected.value,
            "ci_low": self.expected.low,
            "ci_high": self.expected.high,
            "emulated": self.emulated.value if self.emulated else math.nan,
        }
        finite = {name: value if math.isfinite(value) else None for name, value in numbers.items()}
        pulls = self.schedule
        lines = (pulls.interval, pulls.cron, pulls.timer) if pulls else (None, None, None)
        cells = (self.group, self.change, *finite.values(), self.requests, *lines, self.meets)
        return dict(zip(PROPOSED, cells, strict=True))


def propose_for(replica: ReplicaRecord, measured: float, target: Threshold, had_outages: bool) -> Proposal | None:
    """Return the change of a replica's pulls that meets the target with the fewest requests; None if it does as it is.

    If no change meets it, return the best one, as a proposal that says so; None if the record is too short to try any.
    `measured` is the metric's value as the replica was seen, and `had_outages` says that its pulls stopped for a time,
    or for good.
    """
    if target.margin(measured) >= 0:
        return None
    present = replica.schedule
    usual = replica.values(present, target, replica.cuts)[0] if had_outages and present.interval > 0 else None
    if usual is not None and target.margin(usual.value) >= 0:
        return Proposal(replica.name, "mend what stops it: as it usually pulls it meets the target", measured, usual)
    best: Proposal | None = None
    for interval in _intervals(replica):
        schedule, expected, meets = _best_schedule(replica, interval, target)
        mend = "mend what stops it, and " if had_outages else ""
        change = f"{mend}pull {schedule.words()}{_present_words(present)}"
        proposal = Proposal(
            replica.name, change, measured, expected, _requests(interval, replica.dated), schedule, meets
        )
        if meets:
            return proposal
        if best is None or target.margin(expected.value) > target.margin(best.expected.value):
            best = proposal
    return best and replace(best, change=f"nothing tried suffices; best: {best.change}")


def _present_words(present: PullTimes) -> str:
    """Return words for the end of a change on how often the replica has pulled so far; empty if that is unknown."""
    if not present.interval > 0:
        return ""
    return f" (so far {'' if present.anchor is not None else 'as if '}{present.words()})"


def _requests(interval: float, dated: bool) -> str:
    """Return in words how many requests pulls every `interval` make: a day if `dated`, in seconds."""
    return f"{DAY / interval:.3g} a day" if dated else f"{1 / interval:.3g} per unit of time"


def _intervals(replica: ReplicaRecord) -> list[float]:
    """Return the intervals to try, the longest first: those that can be said, and that fit the record; perhaps none.

    The record has 20 of them or more, and visits are at most 10 times as far apart.
    """
    length = float(replica.cuts[-1] - replica.cuts[0])
    longest = length / FEWEST_PULLS
    # What is far below the distance of visits cannot be judged by what visits saw.
    shortest = max(length / MOST_PULLS, replica.visited / 10)
    if replica.dated:
        intervals = list(SAID_BY_TIMERS)
    else:
        powers = range(math.floor(math.log10(shortest)), math.ceil(math.log10(longest)) + 1)
        intervals = [digit * 10.0**power for power in powers for digit in ROUND]
    return sorted((interval for interval in intervals if shortest <= interval <= longest), reverse=True)


def _best_schedule(replica: ReplicaRecord, interval: float, target: Threshold) -> tuple[PullTimes, Estimate, bool]:
    """Return a schedule of pulls every `interval`, the value of the target's metric, and whether that meets the target.

    Pulls are at stated times if some phases meet the target and others do not, unless their slack makes phases alike,
    or intervals are too short to state times; else each phase has to meet it. The value of
    pulls at stated times is that in the second half of the record.
    """
    schedule = PullTimes(interval, None, replica.dated)
    mean, margins = replica.values(schedule, target, replica.cuts)
    spread = margins.max() - margins.min()  # between few phases the best can be better by as much
    at_any_times = schedule, mean, bool(margins.min() >= 0)
    too_short = replica.dated and interval < MINUTE
    if margins.min() >= 0 or margins.max() + spread < 0 or interval <= 2 * replica.slack or too_short:
        return at_any_times
    begin, middle, end = np.quantile(replica.cuts, (0.0, 0.5, 1.0))
    anchor = replica.best_anchor(interval, target, np.linspace(begin, middle, BATCHES + 1))
    later = np.linspace(middle, end, BATCHES + 1)
    at_stated = replica.values(PullTimes(interval, anchor, replica.dated), target, later)[0]
    at_any, _ = replica.values(schedule, target, later)
    gain = target.margin(at_stated.value) - target.margin(at_any.value)
    if gain <= 2 * np.nan_to_num(np.hypot(at_stated.error, at_any.error)):
        return at_any_times
    return PullTimes(interval, anchor, replica.dated), at_stated, bool(target.margin(at_stated.value) >= 0)


# ---- Observations


@final
@dataclass(frozen=True)
class Proposals(TabularResult):
    """The changes with which the replicas of an observation meet the `target`, the worst replica first.

    `found` has a proposal for each replica that does not meet it, as far as there is one, and for clients who ask
    several if that meets it. `missed` names the groups that do not meet the target as they are.
    """

    target: Threshold
    found: tuple[Proposal, ...]
    missed: tuple[str, ...]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The proposals as dicts of plain values by the names in PROPOSED."""
        return [proposal.data() for proposal in self.found]

    @cached_property
    def table(self) -> pd.DataFrame:
        """The proposals as a DataFrame with the columns PROPOSED."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(PROPOSED))

    def __str__(self) -> str:
        return str(self.table.to_string(index=False, float_format="%.5g", na_rep=""))


def propose(
    observation: Observation,
    target: float | str,
    *,
    check: bool = True,
    seed: int = 1,
    progress: Progress | None = None,
) -> Proposals:
    """Return what to change so that replicas, or clients who ask several, meet a target, at the least cost.

    A target is a freshness, or a demand on one of METRICS, such as `lag <= 20min`. Pulls that may come at any times are
    also emulated if `check`, from `seed`, with the source's recorded history played again. `progress` is called with
    the share that is done, and a text. Raises FieldError if the target is wrong.

    >>> import pandas as pd
    >>> seen = [(t, "source", t // 10) for t in range(600)] + [(t, "mirror", (t - t % 9) // 10) for t in range(600)]
    >>> observation = rn.observe(pd.DataFrame(seen, columns=["time", "node", "version"]))
    >>> proposal = rn.propose(observation, "freshness >= 0.85", check=False).found[0]
    >>> proposal.group, proposal.schedule.interval, round(proposal.expected.value, 2)
    ('mirror', 10.0, 0.89)
    """
    goal = read_target(target, "s" if observation.dated else None)
    if goal.metric in METRICS and goal.above != (goal.metric == "freshness"):
        right = f"{goal.metric} {'>=' if goal.metric == 'freshness' else '<='} {goal.bound:g}"
        raise FieldError("target", f"{goal.text!r} asks for copies that are worse", right)
    if goal.metric not in METRICS or goal.group is not None:
        raise FieldError("target", f"{goal.text!r} is not told by a record", f"a demand on {', '.join(METRICS)}")
    tell = progress or (lambda share, words: None)
    measured = {row.group: row.estimate.value for row in observation.found if row.metric == row_metric(goal)}
    if not measured:
        raise FieldError(
            "target", f"nobody recorded the source, so {goal.metric} is unknown", "a record of the source too"
        )
    if goal.metric == "staleness":
        measured = {group: 1 - value for group, value in measured.items()}
    if goal.metric == "lag":  # there is none while nothing is stale
        measured = {group: 0.0 if math.isnan(value) else value for group, value in measured.items()}
    missed = tuple(group for group, value in measured.items() if not goal.margin(value) >= 0)
    names = [name for name in observation.replicas if name in missed]
    proposals, emulated = list[Proposal](), dict[tuple[float, float], Row | None]()
    for place, name in enumerate(names):
        tell(place / len(names), name)
        replica = replica_record(observation, name)
        kinds = {reason.kind for reason in observation.reasons[name]}
        proposal = propose_for(replica, measured[name], goal, bool(kinds & {"outage", "dead"}))
        if proposal is None:
            continue
        if "upstream" in kinds and proposal.schedule:
            proposal = replace(proposal, change=f"{proposal.change}, and from the source")
        if check and proposal.schedule is not None and proposal.schedule.anchor is None:
            key = (proposal.schedule.interval, replica.delay)
            if key not in emulated:
                emulated[key] = emulate_schedule(replica, proposal.schedule, goal, proposal.expected.value, seed)
            row = emulated[key]
            proposal = replace(proposal, emulated=row.estimate if row else None)
        proposals.append(proposal)
    for_clients = (_ask_several(observation, goal, measured),) if names else ()
    return Proposals(goal, (*proposals, *filter(None, for_clients)), missed)


def row_metric(goal: Threshold) -> str:
    """Return the metric of an observation's rows from which that of the goal follows.

    It is freshness if that is staleness, which is 1 less freshness, and else the same.
    """
    return "freshness" if goal.metric == "staleness" else goal.metric


def _ask_several(observation: Observation, goal: Threshold, measured: Mapping[str, float]) -> Proposal | None:
    """Return the proposal that clients ask several replicas, if that meets the goal; None if it does not.

    `measured` has the metric's value by group. Only goals of freshness are tried, with as many replicas as were
    observed.
    """
    for group, value in measured.items() if goal.metric == "freshness" else ():
        number = group.removeprefix(CLIENTS)
        if group not in observation.copies and number.isdigit() and goal.margin(value) >= 0:
            estimate = next(
                row.estimate for row in observation.found if (row.group, row.metric) == (group, "freshness")
            )
            single = float(np.mean([measured[name] for name in observation.copies]))
            words = f"let clients ask {number} replicas, and take the freshest answer"
            return Proposal("clients", words, single, estimate, f"{number} a query")
    return None


def replica_record(observation: Observation, name: str) -> ReplicaRecord:
    """Return what an observation tells of the replica `name`, as far as proposals need it.

    An update that came between two visits is put anywhere between them, at random: half way, all of them would keep the
    clock of the visits. Those that came before the record began are left out, as nobody knows when, and those that had
    not arrived when visits ended are left out of the waits.
    """
    held, updates = observation.copies[name], observation.updates
    chance = np.random.default_rng(SEED)
    dated = np.isfinite(updates.before)
    gaps = np.where(dated, updates.seen - updates.before, 0.0)
    came = np.maximum.accumulate(updates.seen - chance.random(gaps.size) * gaps)
    arrived = held.first_with(np.arange(1, came.size + 1), held.middle)
    counted = dated & (came >= observation.start) & (arrived <= observation.end)
    return ReplicaRecord(
        updates=came[dated],
        arrivals=held.middle[np.isfinite(held.before)],
        waits=np.maximum(arrived - came, 0.0)[counted],
        cuts=np.linspace(observation.start, observation.end, BATCHES + 1),
        visited=observation.visit_gap,
        dated=observation.dated,
        name=name,
    )


def emulate_schedule(
    replica: ReplicaRecord, schedule: PullTimes, target: Threshold, expected: float, seed: int = 1
) -> Row | None:
    """Emulate a replica that pulls every `schedule.interval`, at any phase, and a source with the recorded updates.

    The source plays the times between its recorded updates again. Return the row of the target's metric, of which about
    `expected` is expected; None if it is not known after half a minute.
    """
    from replnet.lab import emulate
    from replnet.network import single
    from replnet.processes import Cycle

    gaps = np.diff(np.unique(replica.updates))
    network = single(
        updates=Cycle(Empirical(gaps), "recorded", gaps),
        downloads=constant(mean=schedule.interval),
        delay=replica.delay,  # of the answer, which a copy is late by
    )
    metrics = [target.metric] if is_metric_on_request(target.metric) else []
    precision = PRECISION if is_share(target.metric) else PRECISION * max(expected, target.bound)
    result = emulate(network, measure=metrics, precision=precision, seed=seed, workers=0, budget=CHECK_SECONDS)
    return None if result.incomplete else result.about(target.metric)[0]
