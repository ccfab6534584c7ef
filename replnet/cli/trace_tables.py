"""What `trace fit` and `audit` print."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from replnet.cli.screen import echo, print_table
from replnet.histories.audit import Audit, Check
from replnet.histories.trace_fit import Study
from replnet.text.csv_table import write_csv
from replnet.text.numbers import duration

Rows = Sequence[Sequence[object]]

DAY = 86_400.0
LONG_NUMBER = re.compile(r"\d+\.\d{5,}(?:e[-+]?\d+)?")
TIMES = {"lag", "lag while stale"}


def write_study(study: Study, form: str) -> None:
    if form == "json":
        _object(study_data(study))
    elif form == "csv":
        write_csv(sys.stdout, ["rate", "measured", "low", "high", "empirical", "poisson"], _fields(study.points))
    else:
        _study_text(study)


def write_audit(audit: Audit, dated: bool, form: str) -> None:
    if form == "json":
        _object(audit_data(audit))
    elif form == "csv":
        heads = ["metric", "measured", "ci_low", "ci_high", *audit.measures[0].predicted]
        write_csv(sys.stdout, heads, [_measured(one) for one in audit.measures])
    else:
        _audit_text(audit, dated)


def study_data(study: Study) -> dict[str, Any]:
    """The whole study as plain data; rates are per unit of the record's time."""
    fits = [
        {"family": one.family, "law": str(one.law), "log_likelihood": one.log_likelihood, "aic": one.aic,
         "distance": one.distance, "p_value": study.chances.get(one.family)}
        for one in study.fits.best
    ]  # fmt: skip
    tail = study.tail
    return {
        "history": _history(study),
        "fits": fits,
        "left_out": study.fits.left_out,
        "tail": tail and {"alpha": tail.alpha, "low": tail.low, "high": tail.high, "start": tail.start,
                          "points": tail.points, "power_against_lognormal": tail.power, "verdict": tail.verdict},
        "correlation": study.rho.tolist(),
        "correlation_exponent": study.exponent,
        "hours": None if study.hours is None else study.hours.tolist(),
        "beat": study.kept and {"period": study.kept.period, "jitter": study.kept.jitter},
        "checks": [_check(one) for one in study.checks],
        "staleness": [vars(one) for one in study.points],
        "needs": [vars(one) | {"waste": one.waste} for one in study.needs],
    }  # fmt: skip


def audit_data(audit: Audit) -> dict[str, Any]:
    """The whole audit as plain data, in the unit of the records' time."""
    shares, x = audit.ages
    return {
        "window": {"start": audit.start, "end": audit.end, "updates": audit.updates, "downloads": audit.downloads},
        "rows": [
            {"metric": one.metric, "measured": one.measured.value, "ci_low": one.measured.low,
             "ci_high": one.measured.high, "doubt": one.measured.doubt, "predicted": one.predicted}
            for one in audit.measures
        ],
        "checks": [_check(one) for one in audit.checks],
        "download_age_given_update_age": {"x": x.tolist(), "shares": shares.tolist()},
        "mean_wait": audit.wait,
        "notes": list(audit.notes),
        "conclusion": audit.conclusion,
    }  # fmt: skip


def _check(check: Check) -> dict[str, Any]:
    return {"assumption": check.assumption, "holds": check.holds, "chance": check.chance, "seen": check.seen}


def _history(study: Study) -> dict[str, Any]:
    history = study.history
    return {"name": history.name, "events": history.times.size, "start": history.start, "end": history.end,
            "mean_interval": 1 / history.rate, "unit": "s" if history.dated else None}  # fmt: skip


def _object(data: dict[str, Any]) -> None:
    click.echo(json.dumps(_finite(data), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    """What JSON has no word for is null."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _fields(points: Iterable[Any]) -> list[list[object]]:
    return [list(vars(one).values()) for one in points]


def _measured(one: Any) -> list[object]:
    ends = [None if math.isnan(end) else end for end in (one.measured.low, one.measured.high)]
    return [one.metric, one.measured.value, *ends, *one.predicted.values()]


def _chance(value: float | None) -> str:
    if value is None or math.isnan(value):
        return ""
    return "< 1e-6" if value < 1e-6 else f"{value:.2g}"


def _study_text(study: Study) -> None:
    history, gaps, dated = study.history, study.history.intervals, study.history.dated
    echo(
        f"{history.times.size:,} events over {duration(history.end - history.start, dated)}; intervals: mean "
        f"{duration(gaps.mean(), dated)}, median {duration(float(_median(gaps)), dated)}, deviation "
        f"{gaps.std() / gaps.mean():.2f} of the mean\n"
    )
    best = study.fits.best[0].aic
    print_table(
        ["law of the intervals", "AIC over best", "distance", "p"],
        [
            [
                _short(str(one.law)),
                f"{one.aic - best:.1f}",
                f"{one.distance:.4f}",
                _chance(study.chances.get(one.family)),
            ]
            for one in study.fits.best
        ],
    )
    for family, reason in study.fits.left_out.items():
        echo(f"  {family}: {reason}")
    echo()
    for line in _nature(study):
        echo(line)
    echo()
    _waste(study)


def _median(gaps: Any) -> float:
    import numpy as np

    return float(np.median(gaps))


def _short(law: str) -> str:
    return LONG_NUMBER.sub(lambda found: f"{float(found[0]):.6g}", law)


def _nature(study: Study) -> Iterable[str]:
    """Tail, correlation and beat in words."""
    dated, tail = study.history.dated, study.tail
    if tail is None:
        yield "tail: too few long intervals, or a clock's, to tell an index"
    else:
        yield (
            f"tail: {tail.points} intervals beyond {duration(tail.start, dated)} fall with index {tail.alpha:.2f} "
            f"({tail.low:.2f} .. {tail.high:.2f}): {tail.verdict}"
        )
    if math.isfinite(study.exponent):
        yield f"correlation: falls as lag^-{study.exponent:.2f}, Hurst parameter {study.hurst:.2f} if it goes on so"
    if study.kept:
        kept = study.kept
        yield f"beat: multiples of {duration(kept.period, dated)}, give or take {duration(kept.jitter, dated)}"
    for check in study.checks:
        yield f"{_word(check)}: {check.assumption}; {check.seen}{_bracketed(check)}"


def _word(check: Check) -> str:
    return {True: "holds", False: "fails", None: "open"}[check.holds]


def _bracketed(check: Check) -> str:
    return f" (p = {_chance(check.chance)})".replace("= <", "<") if _chance(check.chance) else ""


def _waste(study: Study) -> None:
    """Staleness under constant downloads, and the rates that targets need."""
    per, unit = (DAY, "a day") if study.history.dated else (1.0, "a unit")
    print_table(
        [f"downloads {unit}", "stale, measured", "phases", "empirical law", "Poisson", "error"],
        [
            [f"{one.rate * per:.4g}", f"{one.measured:.4f}", f"{one.low:.4f} .. {one.high:.4f}",
             f"{one.empirical:.4f}", f"{one.poisson:.4f}", f"{one.poisson / one.measured - 1:+.0%}"]
            for one in study.points
        ],
    )  # fmt: skip
    echo()
    print_table(
        ["stale at most", f"downloads {unit}, measured", "empirical law", "Poisson", "Poisson asks for"],
        [
            [f"{one.target:g}", _rate(one.measured * per), _rate(one.empirical * per), _rate(one.poisson * per),
             f"{one.waste:.2f} times as many"]
            for one in study.needs
        ],
    )  # fmt: skip


def _rate(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4g}"


def _audit_text(audit: Audit, dated: bool) -> None:
    echo(
        f"{audit.updates:,} updates and {audit.downloads:,} downloads over {duration(audit.end - audit.start, dated)}, "
        f"{_instant(audit.start, dated)} to {_instant(audit.end, dated)}\n"
    )
    models = list(audit.measures[0].predicted)
    rows = []
    for one in audit.measures:
        timed = one.metric in TIMES
        value, low, high, *said = (
            duration(x, dated) if timed else f"{x:.4f}"
            for x in (one.measured.value, one.measured.low, one.measured.high, *one.predicted.values())
        )
        rows.append([one.metric, value, "" if one.measured.doubt else f"{low} .. {high}", *said])
    print_table(["metric", "measured", "95 % interval", *models], rows)
    for one in audit.measures:
        if one.measured.doubt:
            echo(f"  {one.metric}: {one.measured.doubt}")
    echo()
    print_table(
        ["assumption", "", "p", "seen"],
        [[one.assumption, _word(one), _chance(one.chance), one.seen] for one in audit.checks],
    )
    echo()
    waited, apart = duration(audit.wait, dated), duration(2 * audit.wait, dated)
    echo(f"  an update waits {waited} on average, so polls come every {apart} on average, or more often")
    for note in audit.notes:
        echo(f"  {note}")
    echo(audit.conclusion)


def _instant(time: float, dated: bool) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M") if dated else f"{time:.6g}"
