"""What `--explain` adds to a table, on stderr: what its words mean, and where each of its numbers comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from replnet.cli.output import echo_note
from replnet.text import count_text, name_units

if TYPE_CHECKING:
    from replnet.lab.inverse import Sized
    from replnet.lab.sweeps import Sweep
    from replnet.run import Emulated, Result

ESTIMATORS = {
    "sampled": "the time for which copies were fresh (or what else is measured) along each path, integrated exactly "
    "between events, against the updates that happened",
    "conditional": "the probability of no update since the data left the source, integrated along the path of the "
    "copies: updates are not drawn but averaged over",
}


def explain_result(result: Result, confirmed: bool = True) -> None:
    """Print to stderr what the words in the table of a result mean, and where its numbers come from.

    `confirmed` says that rows that differed were run longer before they were judged, unless the run was live.
    """
    from replnet.run import Emulated

    rows = [row.data() for row in result.rows]
    _print_section(_word_lines(rows, result.unit))
    _print_section(_formula_lines(result))
    if isinstance(result, Emulated):
        _print_section(_measurement_lines(result, confirmed and result.engine != "live"))


def explain_size(sized: Sized) -> None:
    """Print to stderr how the value that meets a target was found, below an explanation of the table at that value."""
    from replnet.lab.inverse import BY_FORMULA, CLOSE_BY_EMULATION, CLOSE_BY_FORMULA, STEP_FACTOR

    explain_result(sized.result, confirmed=False)
    whole, by_formula = isinstance(sized.value, int), sized.how == BY_FORMULA
    close = "to a whole number" if whole else f"to {CLOSE_BY_FORMULA if by_formula else CLOSE_BY_EMULATION:g} of itself"
    near = " and ".join(f"{value:.6g}" for value in sorted(sized.near))
    seen = f"there, and next to it at {near}" if near else "there"
    _print_section([
        f"How {sized.key} = {sized.value:.6g} came about:",
        f"searched {sized.how}: between a value that meets {sized.target.text} and one that does not, by steps of a "
        f"factor of {STEP_FACTOR:g} from the one given, and then closed in on, {close}; it is the {sized.extreme}, as "
        f"{'less' if sized.extreme == 'smallest' else 'more'} of it does not meet the target",
        f"measured: the network was emulated {seen}, each time from seed {sized.result.seed}",
        f"meets: whether {sized.target.text} holds, as {'predicted' if by_formula else 'measured'}, of the group that "
        "is worst off, which the table shows",
    ])  # fmt: skip


def explain_sweep(sweep: Sweep) -> None:
    """Print to stderr what the words in the table of a sweep mean, and where its numbers come from."""
    from replnet.run import NO_VARIANCE

    _print_section(_word_lines(sweep.rows, None))
    sources = Counter(f"{row['kind']}, {row['source']}" for row in sweep.rows if row["kind"])
    _print_section(
        ["How the predictions came about:", *(f"{source}: {count:,} rows" for source, count in sources.items())]
    )
    settings = sweep.experiment.settings
    length = f"until half-widths of {settings.precision:g}" if settings.precision else "for a fixed time"
    if settings.precision and any(row["note"].startswith(NO_VARIANCE) for row in sweep.rows):
        length += " (the precision is not used where there is no interval, as of an infinite variance)"
    judged = sum(bool(row["verdict"]) for row in sweep.rows)
    measured = [
        f"{settings.estimator}: {ESTIMATORS[settings.estimator]}",
        f"every cell was emulated {length}, from seed {settings.seed}, with the same streams of chance as all others",
        f"verdict: all rows are judged together. {_joint_verdict(judged)}",
    ]
    _print_section(["How the measurements came about:", *(measured if judged else [])])


def _print_section(lines: Iterable[str]) -> None:
    """Print to stderr the first of `lines` as a head, and the others indented below it.

    If there are no others, nothing is printed.
    """
    head, *others = lines
    if others:
        echo_note(head, err=True)
        for line in others:
            echo_note(line, "  ", err=True)


def _word_lines(rows: Iterable[Mapping[str, Any]], unit: str | None) -> Iterator[str]:
    """Yield a head, and lines that say what each metric, kind of prediction and verdict that occurs in `rows` means.

    Lines about intervals and z follow if there are any; `unit` is the name of the unit of time, None if it has none.
    """
    from replnet.measure import AT, METRICS, base_name, metrics_on_request
    from replnet.run import COLUMNS, KINDS, PRINTED, VERDICTS

    rows = list(rows)
    units = {metric: name_units(words, unit) for metric, words in (METRICS | metrics_on_request()).items()}
    yield "What the words mean:"
    for name in dict.fromkeys(row["metric"] for row in rows):
        moment = f", at time {name.partition(AT)[2]}" if AT in name else ""
        if base_name(name) in units:
            yield f"{name}: {units[base_name(name)]}{moment}"
    for words, column in ((KINDS, "kind"), (VERDICTS, "verdict"), (PRINTED, "printed_verdict")):
        words_used = {row.get(column) for row in rows}
        yield from (f"{word}: {meaning}" for word, meaning in words.items() if word in words_used)
    if any(row.get("ci_low") is not None for row in rows):
        yield f"95 % interval: {COLUMNS['95 % interval']}"
    if any(row.get("z") is not None for row in rows):
        yield f"z: {COLUMNS['z']}"


def _formula_lines(result: Result) -> Iterator[str]:
    """Yield a head, and a line for each basis of predictions: which rows rest on it, and what it assumes."""
    rows_by_source: dict[tuple[str, str, str], list[str]] = {}
    for row in result.rows:
        prediction = row.prediction
        key = (row.kind, row.source, prediction.assumes) if prediction.known else ("", "", row.note or "no formula")
        rows_by_source.setdefault(key, []).append(f"{row.group} {row.metric}")
    yield "How the predictions came about, from the network as it is specified and the laws alone:"
    for (kind, source, assumes), names in rows_by_source.items():
        basis = f"{kind}, {source}" if kind else "nothing is predicted"
        yield f"{', '.join(names)}: {basis}{f' ({assumes})' if assumes else ''}"


def _begin(network: Mapping[str, Any]) -> str:
    """Return in words how each replication of a network begins; `network` is its specification as plain data."""
    if network.get("start") == "fresh":
        return "each from a begin at which all copies have just been brought up to date"
    dated = any(fault.get("at") is not None for fault in network.get("faults", ()))
    return "each stationary from its begin" + (", but for the faults at set times" if dated else "")


def _measurement_lines(result: Emulated, confirmed: bool) -> Iterator[str]:
    """Yield a head, and lines that say how measured values, intervals, deviations and verdicts came about.

    `confirmed` says that rows that differed were run longer before they were judged.
    """
    yield "How the measurements came about:"
    length = result.horizon / max(result.replications, 1)
    yield f"{result.estimator}: {ESTIMATORS[result.estimator]}"
    yield (
        f"engine {result.engine}, seed {result.seed}: {count_text(result.replications, 'independent replication')} of "
        f"{length:,.6g} {name_units('units of time', result.unit)}, {_begin(result.network)}; a value is the mean "
        "over them"
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
        yield f"verdict: {_joint_verdict(judged)}{longer}"


def _joint_verdict(judged: int) -> str:
    """Return in words how the verdicts of `judged` rows, so many in all, are judged together."""
    from replnet.measure import FAMILY

    return (
        f"Of {count_text(judged, 'row')} the one farthest off differs if chance is that far off less than once in "
        f"{judged / FAMILY:,.0f} times (Holm), so that a table of right predictions shows a difference in at most one "
        f"run of {1 / FAMILY:,.0f}."
    )
