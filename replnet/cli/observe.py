"""The command observe: a source and its replicas as they were seen from outside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replnet.cli.main import DIFFERS, FINE, commands, format_option
from replnet.cli.output import echo, echo_note, print_table, write
from replnet.cli.progress import progress, progress_lines
from replnet.show import Table
from replnet.text import count_text, duration, time_in

if TYPE_CHECKING:
    from replnet.histories import Observation, Proposal, Proposals

TABLE_HEADS = ("replica", "fresh", "", "lag, half of the time", "95 %", "latency", "missed", "main reason")
LAGS = ("staleness_quantile(0.5)", "staleness_quantile(0.95)")
MOST_SHOWN, WORST_SHOWN, BEST_SHOWN = 25, 15, 3  # replicas
MOST_EXPLAINED = 8  # replicas whose reasons are told in sentences
FRESH_ENOUGH = 0.99  # that no reason is told
MOST_NAMED = 3  # replicas in a note

DURATION_METRICS = {"staleness_age", "lag"}

Row = dict[str, Any]


@commands.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--source", metavar="NODE", help="The node that the others copy.  [default: source]")
@click.option("--all", "show_all", is_flag=True, help="Show all replicas, and all reasons.")
@click.option("--within", metavar="TIME", help="Count the replicas whose publication latency is at most this: 65min.")
@click.option("--target", metavar="'METRIC >= X'",
              help="Say what to change so that replicas meet this, such as 'freshness >= 0.9' or 'lag <= 20min'.")  # fmt: skip
@format_option()
def observe(file: Path, source: str | None, show_all: bool, within: str | None, target: str | None, form: str) -> int:
    """Measure how fresh real replicas were, and say why not fresher.

    They are recorded from outside.

    FILE is what `replnet watch` has recorded, or CSV or Parquet: a row per visit, with its time, the node and the
    version that the node had, such as a serial or a checksum; or a row per change, with its time and node.
    There is a line for each replica, the worst first, and one for clients who ask several of them.

    With --target it proposes, for each replica that misses that, the cheapest change of its pulls that would have met it,
    with a line of cron and of a systemd timer; the exit code is 1 if any replica misses it.
    """
    from replnet.histories import COLUMNS
    from replnet.histories import observe as measure
    from replnet.histories import propose

    with progress_lines("reading the record, and following every replica"):
        observation = measure(file, source)
    proposals = None
    if target is not None:
        with progress() as report:
            proposals = propose(observation, target, progress=report)

    def show() -> None:
        """Print the lines of the observation, and then the proposals, if any were asked for."""
        _print(observation, show_all, within)
        if proposals is not None:
            _print_proposals(observation, proposals, len(proposals.found) if show_all else MOST_SHOWN)

    write(form, lambda: _data(observation, proposals), COLUMNS, observation.rows, show)
    return DIFFERS if proposals is not None and proposals.missed else FINE


def _data(observation: Observation, proposals: Proposals | None) -> dict[str, Any]:
    """Return an observation, and the proposals if there are any, as JSON has it."""
    data = {
        "start": observation.start,
        "end": observation.end,
        "unit": "s" if observation.dated else None,
        "changes": observation.changes,
        "visits": observation.visits,
        "rows": observation.rows,
        "replicas": [_replica_data(observation, name) for name in observation.replicas],
        "reasons": [
            {"replica": name, **asdict(reason)} for name in observation.replicas for reason in observation.reasons[name]
        ],
        "notes": observation.notes,
    }
    if proposals is not None:
        data |= {"target": proposals.target.text, "missed": proposals.missed, "proposals": proposals.rows}
    return data


def _replica_data(observation: Observation, name: str) -> dict[str, Any]:
    """Return what JSON has of one replica: its name, what was measured, bounds of its freshness, the main reason."""
    rows = observation.rows_of(name)
    measured = {metric: row["measured"] for metric, row in rows.items()}
    bounds = {key: rows["freshness"][key] for key in ("ci_low", "ci_high", "least", "most")}
    return {"replica": name, **measured, **bounds, "main_reason": _main_reason(observation, name)}


def _main_reason(observation: Observation, name: str) -> str:
    """Return the main reason for which a replica was stale, in a few words; empty if it was as good as fresh."""
    fresh = observation.rows_of(name)["freshness"]["measured"]
    reasons = observation.reasons[name]
    return reasons[0].brief if reasons and fresh < FRESH_ENOUGH else ""


def _print(observation: Observation, show_all: bool, within: str | None) -> None:
    """Print the lines of an observation to stdout, then reasons in sentences, and notes.

    Of many replicas it has the worst and the best, unless `show_all`. `within` is the publication latency that is asked
    for, as text, None if none is.
    """
    limit = None if within is None else time_in(within, "s" if observation.dated else None, "--within")
    over = duration(observation.end - observation.start, observation.dated)
    names = observation.replicas
    echo(
        f"{count_text(observation.changes, 'change')} of the source over {over}, {count_text(len(names), 'replica')}, "
        f"{_visit_words(observation)}\n"
    )
    shown = show_all or len(names) <= MOST_SHOWN
    worst, best = (names, []) if shown else (names[:WORST_SHOWN], names[-BEST_SHOWN:])
    lines = [_line(observation, name) for name in worst]
    if best:
        between = observation.replicas[WORST_SHOWN:-BEST_SHOWN]
        low, high = (f"{observation.rows_of(name)['freshness']['measured']:.4f}" for name in (between[0], between[-1]))
        lines.append([f"... {len(between)} more", f"{low} .. {high}", "", "", "", "", "", "--all shows them"])
        lines += [_line(observation, name) for name in best]
    groups = list(dict.fromkeys(row.group for row in observation.found if row.group not in observation.copies))
    lines += [_line(observation, group) for group in groups]
    doubts = {bool(row.estimate.doubt) for row in observation.found if row.metric == "freshness"}
    kinds = {False: "95 % interval", True: "bounds"}
    heads = (*TABLE_HEADS[:2], " or ".join(kinds[doubt] for doubt in sorted(doubts)), *TABLE_HEADS[3:])
    print_table(Table(heads, lines))
    if limit is not None:
        echo(
            f"\n{observation.count_within(limit)} of {count_text(len(names), 'replica')} have a publication latency of "
            f"at most {duration(limit, observation.dated)} (median over updates)"
        )
    _print_reasons(observation, len(names) if show_all else MOST_EXPLAINED)
    echo()
    for note in _notes(observation):
        echo_note(note, "  ")


def _visit_words(observation: Observation) -> str:
    """Return how often nodes were visited, in words."""
    from replnet.histories import span_text

    if not observation.visit_gap:
        return f"{sum(observation.visits.values()):,} changes of all nodes"
    return (
        f"{sum(observation.visits.values()):,} visits, each node about every "
        f"{span_text(observation.visit_gap, observation.dated)}"
    )


def _line(observation: Observation, group: str) -> list[str]:
    """Return the texts of a replica, or of clients, in the order of TABLE_HEADS."""
    rows, dated = observation.rows_of(group), observation.dated
    from replnet.histories import LATENCY, span_text

    def text(metric: str, write_value: Callable[[float], str]) -> str:
        """Return the measured value of a metric as text; empty if there is no such row, "never" if it is infinite."""
        if metric not in rows:
            return ""
        value = rows[metric]["measured"]
        return "never" if value is None else write_value(value)

    def time(value: float) -> str:
        """Return a length of time as text."""
        return span_text(value, dated) if value else "0"

    lags = [text(metric, time) for metric in LAGS]
    return [
        group, text("freshness", lambda value: f"{value:.4f}"), _range(rows.get("freshness")), *lags,
        text(LATENCY, time), text("missing_updates", lambda value: f"{value:.3g}"),
        _main_reason(observation, group) if group in observation.copies else "",
    ]  # fmt: skip


def _range(row: Row | None) -> str:
    """Return the confidence interval of a row as text, or its bounds if it has none; empty if it has neither."""
    if row is None:
        return ""
    for low, high in (("ci_low", "ci_high"), ("least", "most")):
        if row[low] is not None and row[high] is not None and row[low] != row[high]:
            return f"{row[low]:.4f} .. {row[high]:.4f}"
    return ""


def _print_reasons(observation: Observation, most: int) -> None:
    """Print in sentences why replicas were stale, of at most so many, the worst first; the same is said once."""
    from replnet.histories import Reason, percent

    told: list[tuple[str, tuple[Reason, ...]]] = []
    for name in observation.replicas:
        fresh = observation.rows_of(name)["freshness"]["measured"]
        if observation.reasons[name] and fresh < FRESH_ENOUGH:
            told.append((f"{name}: fresh {percent(fresh)} of the time.", observation.reasons[name]))
    if told:
        echo()
    for head, reasons in told[:most]:
        sentences = (
            reason.words if reason.kind in ("visits", "bursts") else f"{reason.words} ({percent(reason.share)})"
            for reason in reasons
        )
        echo_note(" ".join([head, *sentences]))
    if len(told) > most:
        kinds = Counter(reasons[0].kind for _, reasons in told[most:])
        counts = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        echo_note(f"... and {len(told) - most} more replicas ({counts}); --all tells of all.")


def _notes(observation: Observation) -> Iterator[str]:
    """Yield the notes of an observation: what the columns are, doubts of what is shown, and what the record lacks."""
    from replnet.histories import ALL_REPLICAS, LATENCY

    yield "lag: time since the first update that is missed, 0 while fresh, and its 95 % quantile over time"
    yield "in brackets: the share of the stale time that a reason makes"
    yield "latency: median time of an update from first seen anywhere to first seen here; missed: updates, on average"
    shown = [row for row in observation.found if row.metric in ("freshness", LATENCY, *LAGS)]
    doubts: dict[str, list[str]] = {}
    for row in shown:
        reasons = (
            [row.unbounded] if row.metric == LATENCY else [row.estimate.doubt] if row.metric == "freshness" else []
        )
        for doubt in filter(None, reasons):
            doubts.setdefault(doubt, []).append(row.group)
    for doubt, groups in doubts.items():
        groups = [group for group in groups if group != ALL_REPLICAS]
        if groups:
            yield _with_groups(doubt, groups, len(observation.copies))
    yield from observation.notes


def _with_groups(doubt: str, groups: Iterable[str], count: int) -> str:
    """Return a doubt with the groups that it is about: by name if there are few, not at all if they are all."""
    names = list(groups)
    if len(names) >= count:
        return doubt
    if len(names) > MOST_NAMED:
        return f"{len(names)} of {count} replicas: {doubt}"
    return f"{', '.join(names)}: {doubt}"


# ---- Proposals

PROPOSAL_HEADS = ("replica", "would be", "95 % interval", "emulated", "requests", "change")


def _print_proposals(observation: Observation, proposals: Proposals, most: int) -> None:
    """Print what to change for the target, at most so many proposals, and the lines of cron and timers that do it."""
    text, replicas = proposals.target.text, len(observation.copies)
    missed = sum(name in observation.copies for name in proposals.missed)
    if not missed:
        echo(f"\nEvery replica meets {text}: there is nothing to change.")
        return
    echo(
        f"\n{missed} of {count_text(replicas, 'replica')} {'misses' if missed == 1 else 'miss'} {text}. What would do:\n"
    )
    is_time = proposals.target.metric in DURATION_METRICS

    def value_text(value: float | None) -> str:
        """Return a value of the target's metric as text, empty for None."""
        if value is None:
            return ""
        return duration(value, observation.dated) if is_time else f"{value:.4f}"

    lines = []
    for row in (proposal.data() for proposal in proposals.found[:most]):
        ends = [value_text(row[end]) for end in ("ci_low", "ci_high")]
        lines.append([
            row["group"], value_text(row["expected"]), " .. ".join(ends) if all(ends) else "",
            value_text(row["emulated"]), row["requests"], row["change"],
        ])  # fmt: skip
    print_table(Table(PROPOSAL_HEADS, lines))
    if len(proposals.found) > most:
        echo(f"... and {len(proposals.found) - most} more; --all shows them")
    _print_timers([proposal for proposal in proposals.found[:most] if proposal.meets and proposal.schedule])


def _print_timers(proposals: list[Proposal]) -> None:
    """Print the lines of cron and of systemd timers for these proposals, which have schedules; the same are one."""
    names: dict[tuple[str, str], list[str]] = {}
    for proposal in proposals:
        if proposal.schedule is not None and proposal.schedule.cron:
            names.setdefault((proposal.schedule.cron, proposal.schedule.timer), []).append(proposal.group)
    if names:
        echo("\nAs lines of cron (CRON_TZ=UTC) and of systemd timers:\n")
        echo("\n".join(f"  {cron:30} {timer:45} # {', '.join(groups)}" for (cron, timer), groups in names.items()))
