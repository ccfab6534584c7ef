"""What `--explain` adds to a table, on stderr: what its words mean, and how each of its numbers came about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from replnet.cli.output import echo_note
from replnet.text.numbers import counted
from replnet.text.units import named

if TYPE_CHECKING:
    from replnet.study.result import Emulated, Result
    from replnet.study.sweeps.sizing import Sized
    from replnet.study.sweeps.sweep import Sweep

ESTIMATORS = {
    "sampled": "the time for which copies were fresh (or what else is measured) along each path, integrated exactly "
    "between events, against the updates that happened",
    "conditional": "the probability of no update since the data left the source, integrated along the path of the "
    "copies: updates are not drawn but averaged over",
}


def explain_result(result: Result, confirmed: bool = True) -> None:
    """Of what formulas say of a network, or of what happened in it; `confirmed` if rows that differ were run longer."""
    from replnet.study.result import Emulated

    rows = [row.data() for row in result.rows]
    _say(_words(rows, result.unit))
    _say(_formulas(result))
    if isinstance(result, Emulated):
        _say(_measured(result, confirmed and result.engine != "live"))


def explain_size(found: Sized) -> None:
    """How the value that meets a target was found, and of the network that was emulated there."""
    from replnet.study.sweeps.sizing import BY_FORMULA, CLOSE, COARSE, STEP

    explain_result(found.result, confirmed=False)
    whole, by_formula = isinstance(found.value, int), found.how == BY_FORMULA
    close = "to a whole number" if whole else f"to {CLOSE if by_formula else COARSE:g} of itself"
    near = " and ".join(f"{value:.6g}" for value in sorted(found.near))
    seen = f"there, and next to it at {near}" if near else "there"
    _say([
        f"How {found.key} = {found.value:.6g} came about:",
        f"searched {found.how}: between a value that meets {found.target.text} and one that does not, by steps of a "
        f"factor of {STEP:g} from the one given, and then closed in on, {close}; it is the {found.extreme}, as "
        f"{'less' if found.extreme == 'smallest' else 'more'} of it does not meet the target",
        f"measured: the network was emulated {seen}, each time from seed {found.result.seed}",
        f"meets: whether {found.target.text} holds, as {'predicted' if by_formula else 'measured'}, of the group that "
        "is worst off, which the table shows",
    ])  # fmt: skip


def explain_sweep(sweep: Sweep) -> None:
    """Of the finished cells of an experiment."""
    _say(_words(sweep.rows, None))
    sources = Counter(f"{row['kind']}, {row['source']}" for row in sweep.rows if row["kind"])
    _say(["How the predictions came about:", *(f"{source}: {count:,} rows" for source, count in sources.items())])
    how = sweep.experiment.settings
    asked = f"until half-widths of {how.precision:g}" if how.precision else "for a fixed time"
    judged = sum(bool(row["verdict"]) for row in sweep.rows)
    measured = [
        f"{how.estimator}: {ESTIMATORS[how.estimator]}",
        f"every cell was emulated {asked}, from seed {how.seed}, with the same streams of chance as all others",
        f"verdict: all rows are judged together. {_together(judged)}",
    ]
    _say(["How the measurements came about:", *(measured if judged else [])])


def _say(lines: Iterable[str]) -> None:
    head, *others = lines
    if others:
        echo_note(head, err=True)
        for line in others:
            echo_note(line, "  ", err=True)


def _words(rows: Iterable[Mapping[str, Any]], unit: str | None) -> Iterator[str]:
    """Those that are in the table."""
    from replnet.measure.row import AT, METRICS, bare, on_request
    from replnet.study.legend import COLUMNS, KINDS, PRINTED, VERDICTS

    rows = list(rows)
    units = {metric: named(words, unit) for metric, words in (METRICS | on_request()).items()}
    yield "What the words mean:"
    for name in dict.fromkeys(row["metric"] for row in rows):
        moment = f", at time {name.partition(AT)[2]}" if AT in name else ""
        if bare(name) in units:
            yield f"{name}: {units[bare(name)]}{moment}"
    for words, column in ((KINDS, "kind"), (VERDICTS, "verdict"), (PRINTED, "printed_verdict")):
        there = {row.get(column) for row in rows}
        yield from (f"{word}: {meaning}" for word, meaning in words.items() if word in there)
    if any(row.get("ci_low") is not None for row in rows):
        yield f"95 % interval: {COLUMNS['95 % interval']}"
    if any(row.get("z") is not None for row in rows):
        yield f"z: {COLUMNS['z']}"


def _formulas(result: Result) -> Iterator[str]:
    """What is predicted, from which equation, and what that assumes."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in result.rows:
        about = row.prediction
        key = (row.kind, row.source, about.assumes) if about.known else ("", "", row.note or "no formula")
        found.setdefault(key, []).append(f"{row.group} {row.metric}")
    yield "How the predictions came about, from the network as it is specified and the laws alone:"
    for (kind, source, assumes), names in found.items():
        said = f"{kind}, {source}" if kind else "nothing is predicted"
        yield f"{', '.join(names)}: {said}{f' ({assumes})' if assumes else ''}"


def _begin(network: Mapping[str, Any]) -> str:
    """How a replication begins."""
    if network.get("start") == "fresh":
        return "each from a begin at which all copies have just been brought up to date"
    dated = any(fault.get("at") is not None for fault in network.get("faults", ()))
    return "each stationary from its begin" + (", but for the faults at set times" if dated else "")


def _measured(result: Emulated, confirmed: bool) -> Iterator[str]:
    yield "How the measurements came about:"
    each = result.horizon / max(result.replications, 1)
    yield f"{result.estimator}: {ESTIMATORS[result.estimator]}"
    yield (
        f"engine {result.engine}, seed {result.seed}: {counted(result.replications, 'independent replication')} of "
        f"{each:,.6g} {named('units of time', result.unit)}, {_begin(result.network)}; a value is the mean over them"
    )
    if any(row.ci_low is not None for row in result.rows):
        yield "interval: from how far replications scatter (Student's t, with a correction for their skewness)"
    for row in result.rows:
        if row.z is None or row.measured is None or row.predicted is None or row.estimate is None:
            continue
        off = f"{row.measured - row.predicted:+.2g} is {row.z:+.2f} standard errors of {row.estimate.error:.2g}"
        if share := result.visible.get((row.group, row.metric)):
            off += f"; an error of the prediction of {100 * share:.2g} % would have shown in nine runs of ten"
        yield f"{row.group} {row.metric}: {off}"
    if judged := sum(bool(row.verdict) for row in result.rows):
        longer = " Rows that differ are first run four times longer." if confirmed else ""
        yield f"verdict: {_together(judged)}{longer}"


def _together(judged: int) -> str:
    from replnet.measure.verdict import FAMILY

    return (
        f"Of {counted(judged, 'row')} the one farthest off differs if chance is that far off less than once in "
        f"{judged / FAMILY:,.0f} times (Holm), so that a table of right predictions shows a difference in at most one "
        f"run of {1 / FAMILY:,.0f}."
    )
