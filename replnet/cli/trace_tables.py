"""What `trace fit` and `audit` print."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import click

from replnet.cli.screen import echo, print_table
from replnet.histories.audit import Audit, Check
from replnet.histories.trace_fit import TraceFit
from replnet.text.csv_table import write_csv
from replnet.text.numbers import duration

DAY = 86_400.0
LONG_NUMBER = re.compile(r"\d+\.\d{5,}(?:e[-+]?\d+)?")
TIMES = {"lag", "lag while stale"}


def write_fit(found: TraceFit, form: str) -> None:
    if form == "json":
        _write_json(fit_data(found))
    elif form == "csv":
        write_csv(sys.stdout, list(found.curve[0]), [one.values() for one in found.curve])
    else:
        _print_laws(found)
        for line in ("", *_nature(found), ""):
            echo(line)
        _print_needs(found)


def write_audit(audit: Audit, dated: bool, form: str) -> None:
    if form == "json":
        _write_json(audit_data(audit))
    elif form == "csv":
        rows = []
        for metric, measured in audit.measured.items():
            ends = [None if math.isnan(end) else end for end in (measured.low, measured.high)]
            rows.append([metric, measured.value, *ends, *audit.predicted[metric].values()])
        write_csv(sys.stdout, ["metric", "measured", "ci_low", "ci_high", *audit.predicted["lag"]], rows)
    else:
        _print_audit(audit, dated)


def fit_data(found: TraceFit) -> dict[str, Any]:
    """All that was found as plain data; rates are per unit of the record's time."""
    history, tail = found.history, found.tail
    return {
        "history": {
            "name": history.name, "events": history.times.size, "start": history.start, "end": history.end,
            "mean_interval": 1 / history.rate, "unit": "s" if history.dated else None,
        },
        "fits": [
            {"family": one.family, "law": str(one.law), "log_likelihood": one.log_likelihood, "aic": one.aic,
             "distance": one.distance, "p_value": found.chances.get(one.family)}
            for one in found.fits
        ],
        "left_out": found.left_out,
        "tail": tail and {"alpha": tail.alpha, "low": tail.low, "high": tail.high, "start": tail.start,
                          "points": tail.points, "power_against_lognormal": tail.power, "verdict": tail.verdict},
        "correlation": found.rho.tolist(),
        "correlation_exponent": found.exponent,
        "hours": None if found.hours is None else found.hours.tolist(),
        "beat": found.beat and dict(zip(("period", "jitter"), found.beat, strict=True)),
        "checks": [vars(one) for one in found.checks],
        "staleness": found.curve,
        "needs": found.needs,
    }  # fmt: skip


def audit_data(audit: Audit) -> dict[str, Any]:
    """The whole audit as plain data, in the unit of the records' time."""
    shares, x = audit.ages
    return {
        "window": {"start": audit.start, "end": audit.end, "updates": audit.updates, "downloads": audit.downloads},
        "rows": [
            {"metric": metric, "measured": one.value, "ci_low": one.low, "ci_high": one.high, "doubt": one.doubt,
             "predicted": audit.predicted[metric]}
            for metric, one in audit.measured.items()
        ],
        "checks": [vars(one) for one in audit.checks],
        "download_age_given_update_age": {"x": x.tolist(), "shares": shares.tolist()},
        "mean_wait": audit.wait,
        "notes": list(audit.notes),
        "conclusion": audit.conclusion,
    }  # fmt: skip


def _write_json(data: dict[str, Any]) -> None:
    click.echo(json.dumps(_finite(data), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    """What JSON has no word for is null."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _chance(value: float | None) -> str:
    if value is None or math.isnan(value):
        return ""
    return "< 1e-6" if value < 1e-6 else f"{value:.2g}"


def _print_laws(found: TraceFit) -> None:
    import numpy as np

    history, gaps, dated = found.history, found.history.intervals, found.history.dated
    echo(
        f"{history.times.size:,} events over {duration(history.end - history.start, dated)}; intervals: mean "
        f"{duration(gaps.mean(), dated)}, median {duration(float(np.median(gaps)), dated)}, deviation "
        f"{gaps.std() / gaps.mean():.2f} of the mean\n"
    )
    rows = []
    for one in found.fits:
        law = LONG_NUMBER.sub(lambda number: f"{float(number[0]):.6g}", str(one.law))
        behind, chance = f"{one.aic - found.fits[0].aic:.1f}", _chance(found.chances.get(one.family))
        rows.append([law, behind, f"{one.distance:.4f}", chance])
    print_table(["law of the intervals", "AIC over best", "distance", "p"], rows)
    for family, reason in found.left_out.items():
        echo(f"  {family}: {reason}")


def _nature(found: TraceFit) -> Iterator[str]:
    """Tail, correlation and beat in words."""
    dated, tail = found.history.dated, found.tail
    if tail is None:
        yield "tail: too few long intervals, or a clock's, to tell an index"
    else:
        yield (
            f"tail: {tail.points} intervals beyond {duration(tail.start, dated)} fall with index {tail.alpha:.2f} "
            f"({tail.low:.2f} .. {tail.high:.2f}): {tail.verdict}"
        )
    if math.isfinite(found.exponent):
        # With a Hurst parameter above one half, correlation never quite dies.
        hurst = 1 - found.exponent / 2
        yield f"correlation: falls as lag^-{found.exponent:.2f}, Hurst parameter {hurst:.2f} if it goes on so"
    if found.beat:
        period, jitter = found.beat
        yield f"beat: multiples of {duration(period, dated)}, give or take {duration(jitter, dated)}"
    for check in found.checks:
        p = f" (p = {_chance(check.chance)})".replace("= <", "<") if _chance(check.chance) else ""
        yield f"{_word(check)}: {check.assumption}; {check.seen}{p}"


def _word(check: Check) -> str:
    return {True: "holds", False: "fails", None: "open"}[check.holds]


def _print_needs(found: TraceFit) -> None:
    """Staleness under constant downloads, and the rates that targets need."""
    per, unit = (DAY, "a day") if found.history.dated else (1.0, "a unit")
    print_table(
        [f"downloads {unit}", "stale, measured", "phases", "empirical law", "Poisson", "error"],
        [
            [f"{one['rate'] * per:.4g}", f"{one['measured']:.4f}", f"{one['low']:.4f} .. {one['high']:.4f}",
             f"{one['empirical']:.4f}", f"{one['poisson']:.4f}", f"{one['poisson'] / one['measured'] - 1:+.0%}"]
            for one in found.curve
        ],
    )  # fmt: skip
    echo()
    rows = []
    for one in found.needs:
        rates = [one[name] * per for name in ("measured", "empirical", "poisson")]
        said = ["" if math.isnan(rate) else f"{rate:.4g}" for rate in rates]
        rows.append([f"{one['target']:g}", *said, f"{one['waste']:.2f} times as many"])
    print_table(["stale at most", f"downloads {unit}, measured", "empirical law", "Poisson", "Poisson asks for"], rows)


def _print_audit(audit: Audit, dated: bool) -> None:
    first, last = (
        datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M") if dated else f"{time:.6g}"
        for time in (audit.start, audit.end)
    )
    over = duration(audit.end - audit.start, dated)
    echo(f"{audit.updates:,} updates and {audit.downloads:,} downloads over {over}, {first} to {last}\n")
    rows, doubts = [], []
    for metric, one in audit.measured.items():
        values = (one.value, one.low, one.high, *audit.predicted[metric].values())
        value, low, high, *said = (duration(x, dated) if metric in TIMES else f"{x:.4f}" for x in values)
        rows.append([metric, value, "" if one.doubt else f"{low} .. {high}", *said])
        doubts += [f"  {metric}: {one.doubt}"] if one.doubt else []
    print_table(["metric", "measured", "95 % interval", *audit.predicted["lag"]], rows)
    for line in (*doubts, ""):
        echo(line)
    checks = [[one.assumption, _word(one), _chance(one.chance), one.seen] for one in audit.checks]
    print_table(["assumption", "", "p", "seen"], checks)
    echo()
    waited, apart = duration(audit.wait, dated), duration(2 * audit.wait, dated)
    echo(f"  an update waits {waited} on average, so polls come every {apart} on average, or more often")
    for note in audit.notes:
        echo(f"  {note}")
    echo(audit.conclusion)
