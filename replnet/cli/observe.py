"""The command observe: a source and its replicas as they were seen from outside."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from replnet.cli.main import DIFFERS, FINE, commands, format_option
from replnet.cli.output import echo, echo_note, print_table, write
from replnet.cli.printed_ages import print_ages
from replnet.cli.printed_proposals import print_proposals
from replnet.cli.progress import progress, progress_lines
from replnet.show import Table
from replnet.text import FieldError, count_text, dimension_of, duration, time_in

if TYPE_CHECKING:
    from replnet.histories import Observation, Proposals

TABLE_HEADS = ("replica", "fresh", "", "lag", "95 % lag", "latency", "missed", "main reason")
LAGS = ("staleness_quantile(0.5)", "staleness_quantile(0.95)")
MOST_SHOWN, WORST_SHOWN, BEST_SHOWN = 25, 15, 3  # replicas
MOST_EXPLAINED = 6  # replicas whose reasons are told in sentences
FRESH_ENOUGH = 0.99  # that no reason is told
MOST_NAMED = 3  # replicas in a note

Row = dict[str, Any]


@commands.command()
@click.argument("files", nargs=-1, metavar="FILE...", type=click.Path())
@click.option("--source", metavar="NODE|FILE|REPO:PATH",
              help="The node that the others copy; or a file with the times of its updates; or a path in a git "
              "repository.  [default: source]")  # fmt: skip
@click.option("--replica", "replicas", metavar="REPO:PATH", multiple=True,
              help="A replica that is a path in a git repository, with such a source. Repeatable.")  # fmt: skip
@click.option("--left", metavar="REGEX",
              help="Finds, in files of git repositories, the instant at which their data left the source.")  # fmt: skip
@click.option("--all", "show_all", is_flag=True, help="Show all replicas, and all reasons.")
@click.option("--within", metavar="TIME", help="Count the replicas whose publication latency is at most this: 65min.")
@click.option("--target", metavar="'METRIC >= X'",
              help="Say what to change so that replicas meet this, such as 'freshness >= 0.9'.")  # fmt: skip
@format_option()
def observe(
    files: tuple[str, ...], source: str | None, replicas: tuple[str, ...], left: str | None, show_all: bool,
    within: str | None, target: str | None, form: str,
) -> int:  # fmt: skip
    """Measure how fresh real replicas were, and say why not fresher.

    FILE, or several that are one history, or a folder of them, is told by its content: what `replnet watch` has
    recorded; CSV or Parquet with a row per visit: its time, the node, and the version that the node had, such as a
    serial or a checksum, or `left`, the instant at which its data left the source; the same with a row per change, and
    its time and node alone; a crawler's log of time and changed (yes or no); a JSON answer of Prometheus; the mirror
    status of Arch Linux; mirmon.state; load times of RSSAC002. There is a line for each replica, the worst first, and
    one for clients who ask several of them.

    With --target it proposes, for each replica that misses that, the cheapest change of its pulls that would have met
    it, with a line of cron and of a systemd timer; as CSV, these proposals are the rows. The exit code is 1 if any
    replica misses it.
    """
    if not files and not replicas:
        raise click.UsageError("nothing to observe: a FILE, or --source and --replica REPO:PATH")
    from replnet.histories import COLUMNS, PROPOSED, propose
    from replnet.histories import observe as measure

    _latency_limit(within, None)  # before the record is read, which may take long
    if within is not None and form == "csv":
        raise FieldError("--within", "has no place among rows of CSV", "left out, or --format json")
    with progress_lines("reading the record, and following every replica"):
        observation = measure([*files, *replicas], source, left=left)
    limit = _latency_limit(within, observation.dated)
    if limit is not None and not observation.replicas:
        raise FieldError("--within", "the record has no source, and so no publication latency", "left out")
    proposals = None
    if target is not None:
        with progress() as report:
            proposals = propose(observation, target, progress=report)

    def show() -> None:
        """Print the lines of the observation, and then the proposals, if any were asked for."""
        _print(observation, show_all, limit)
        if proposals is not None:
            print_proposals(observation, proposals, len(proposals.found) if show_all else MOST_SHOWN)

    columns, rows = (COLUMNS, observation.rows) if proposals is None else (PROPOSED, proposals.rows)
    write(form, lambda: _data(observation, limit, proposals), columns, rows, show)
    return DIFFERS if proposals is not None and proposals.missed else FINE


def _latency_limit(text: str | None, dated: bool | None) -> float | None:
    """Return the time in seconds that the `text` of an option has, None for None; raise FieldError if it is none.

    It needs a unit if times are `dated`, and is a plain number if they are not; None if that is not known yet.
    """
    if text is None:
        return None
    limit = float(time_in(text, "s", "--within"))
    if not 0 < limit < math.inf:
        raise FieldError("--within", f"{text!r} is no length of time", "a time above 0, such as 65min")
    has_unit = dimension_of(text) == "time"
    if dated and not has_unit:
        raise FieldError("--within", f"{text!r} has no unit", f"a time such as {text}min")
    if dated is False and has_unit:
        raise FieldError("--within", f"{text!r} has a unit, but the record has plain numbers", "a number above 0")
    return limit


def _data(observation: Observation, limit: float | None, proposals: Proposals | None) -> dict[str, Any]:
    """Return an observation, and the proposals unless they are None, as the data that is printed as JSON.

    Unless `limit` is None, the count of replicas whose publication latency is at most that is among them.
    """
    data: dict[str, Any] = {
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
    if limit is not None:
        data["within"] = {"limit": limit, "count": observation.count_within(limit)}
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
    """Return the main reason for which the replica `name` was stale, in a few words; empty if it was fresh for 99 %."""
    fresh = observation.rows_of(name)["freshness"]["measured"]
    reasons = observation.reasons[name]
    return reasons[0].brief if reasons and fresh < FRESH_ENOUGH else ""


def _print(observation: Observation, show_all: bool, limit: float | None) -> None:
    """Print the lines of an observation to stdout, then reasons in sentences, and notes.

    Of many replicas it has the worst and the best, unless `show_all`. `limit` is the publication latency that is asked
    for, None if none is.
    """
    from replnet.histories import INFORMATION_AGE

    over = duration(observation.end - observation.start, observation.dated)
    names = observation.replicas
    if not names:
        echo(f"{over}, {count_text(len(observation.visits), 'replica')}, {_visit_words(observation)}\n")
        print_ages(observation, show_all)
        echo()
        for note in observation.notes:
            echo_note(note, "  ")
        return
    echo(
        f"{count_text(observation.changes, 'change')} of the source over {over}, {count_text(len(names), 'replica')}, "
        f"{_visit_words(observation)}\n"
    )
    is_whole = show_all or len(names) <= MOST_SHOWN
    worst, best = (names, []) if is_whole else (names[:WORST_SHOWN], names[-BEST_SHOWN:])
    lines = [_line(observation, name) for name in worst]
    if best:
        between = observation.replicas[WORST_SHOWN:-BEST_SHOWN]
        low, high = (f"{observation.rows_of(name)['freshness']['measured']:.3f}" for name in (between[0], between[-1]))
        lines.append([f"... {len(between)} more", low, f"to {high}", "", "", "", "", "--all shows them"])
        lines += [_line(observation, name) for name in best]
    groups = list(dict.fromkeys(row.group for row in observation.found if row.group not in observation.copies))
    lines += [_line(observation, group) for group in groups]
    doubts = {bool(row.estimate.doubt) for row in observation.found if row.metric == "freshness"}
    kinds = {False: "95 % interval", True: "bounds"}
    heads = (*TABLE_HEADS[:2], " or ".join(kinds[doubt] for doubt in sorted(doubts)), *TABLE_HEADS[3:])
    print_table(Table(heads, lines))
    if any(row.metric == INFORMATION_AGE for row in observation.found):
        echo()
        print_ages(observation, show_all)
    if limit is not None:
        count = f"{observation.count_within(limit)} of {count_text(len(names), 'replica')}"
        echo(f"\npublication latency of at most {duration(limit, observation.dated)}: {count}")
    _print_reasons(observation, len(names) if show_all else MOST_EXPLAINED)
    echo()
    for note in _notes(observation):
        echo_note(note, "  ")


def _visit_words(observation: Observation) -> str:
    """Return how often nodes were visited, in words."""
    from replnet.histories import span_text

    if not observation.visit_gap:
        count = sum(observation.visits.values())
        return f"{count:,} changes of all nodes" if observation.changes else count_text(count, "visit")
    return (
        f"{sum(observation.visits.values()):,} visits, each node about every "
        f"{span_text(observation.visit_gap, observation.dated)}"
    )


def _line(observation: Observation, group: str) -> list[str]:
    """Return the cells of a replica's line, or of that of a group of clients, in the order of TABLE_HEADS."""
    from replnet.histories import LATENCY, span_text

    rows, dated = observation.rows_of(group), observation.dated

    def text(metric: str, write_value: Callable[[float], str]) -> str:
        """Return the measured value of a metric as text; empty if there is no such row, "never" if it is infinite."""
        if metric not in rows:
            return ""
        value = rows[metric]["measured"]
        return "never" if value is None else write_value(value)

    def time(value: float) -> str:
        """Return a length of time as text, with a unit if the record has dates."""
        return span_text(value, dated) if value else "0"

    lags = [text(metric, time) for metric in LAGS]
    return [
        group, text("freshness", lambda value: f"{value:.3f}"), _range(rows.get("freshness")), *lags,
        text(LATENCY, time), text("missing_updates", lambda value: f"{value:.3g}"),
        _main_reason(observation, group) if group in observation.copies else "",
    ]  # fmt: skip


def _range(row: Row | None) -> str:
    """Return the confidence interval of a row as text, or its bounds if it has none; empty if it has neither."""
    if row is None:
        return ""
    for low, high in (("ci_low", "ci_high"), ("least", "most")):
        if row[low] is not None and row[high] is not None and row[low] != row[high]:
            return f"{row[low]:.3f}..{row[high]:.3f}"
    return ""


def _print_reasons(observation: Observation, most: int) -> None:
    """Print in sentences why the `most` least fresh replicas were stale, and how many more there are, by main reason.

    Replicas that were fresh for 99 % of the time are left out.
    """
    from replnet.histories import Reason, percent

    explained: list[tuple[str, tuple[Reason, ...]]] = []
    for name in observation.replicas:
        fresh = observation.rows_of(name)["freshness"]["measured"]
        if observation.reasons[name] and fresh < FRESH_ENOUGH:
            explained.append((f"{name}: fresh {percent(fresh)} of the time.", observation.reasons[name]))
    if explained:
        echo()
    for head, reasons in explained[:most]:
        sentences = (
            reason.words if reason.kind in ("visits", "bursts") else f"{reason.words} ({percent(reason.share)})"
            for reason in reasons
        )
        echo_note(" ".join([head, *sentences]))
    if len(explained) > most:
        kinds = Counter(reasons[0].kind for _, reasons in explained[most:])
        counts = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        echo_note(f"... and {len(explained) - most} more replicas ({counts}); --all tells of all.")


def _notes(observation: Observation) -> Iterator[str]:
    """Yield the notes of an observation: what the columns are, doubts of what is shown, and what the record lacks."""
    from replnet.histories import ALL_REPLICAS, LATENCY

    yield "lag: time since the first update that is missed, 0 while fresh, for half and 95 % of the time at most"
    yield "in brackets: the share of the stale time that a reason makes"
    yield "latency: median time of an update from first seen anywhere to first seen here; missed: updates, on average"
    doubts: dict[str, list[str]] = {}
    for row in observation.found:
        doubt = row.unbounded if row.metric == LATENCY else row.estimate.doubt if row.metric == "freshness" else ""
        if doubt and row.group != ALL_REPLICAS:
            doubts.setdefault(doubt, []).append(row.group)
    for doubt, groups in doubts.items():
        yield _with_groups(doubt, groups, len(observation.copies))
    yield from observation.notes


def _with_groups(doubt: str, groups: list[str], count: int) -> str:
    """Return a doubt after the names of the groups that it is about, or after their number if they are more than 3.

    It stands alone if they are as many as the replicas, `count`.
    """
    if len(groups) >= count:
        return doubt
    if len(groups) > MOST_NAMED:
        return f"{len(groups)} of {count} replicas: {doubt}"
    return f"{', '.join(groups)}: {doubt}"
