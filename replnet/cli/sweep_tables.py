"""Tables of sweeps as text: aligned, JSON, CSV or Markdown, on stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from replnet.cli.screen import echo, print_table
from replnet.study.sweeps.sweep import Sweep
from replnet.text.csv_table import write_csv

FORMS = ("table", "json", "csv", "markdown")
LONG = 200  # rows above which an aligned table shows the worst ones
WORST = 20
ORDER = {"failed": 0, "differ": 1, "unresolved": 2}
Row = Mapping[str, Any]


def write(sweep: Sweep, form: str) -> None:
    """The table on stdout, what is to be said about it on stderr."""
    axes = [axis.name for axis in sweep.experiment.axes]
    if form == "json":
        click.echo(json.dumps(data(sweep), indent=1, allow_nan=False))
    elif form == "csv":
        columns = list(sweep.table.columns)
        write_csv(sys.stdout, columns, ([row[column] for column in columns] for row in sweep.rows))
    else:
        rows, note = _shown(sweep.rows, form)
        lines = [shown(row, axes) for row in rows]
        kept = [name for name in (lines[0] if lines else ()) if any(line[name] for line in lines)]
        print_table(kept, [[line[name] for name in kept] for line in lines], form)
        if note:
            echo(note, err=True)


def data(sweep: Sweep) -> dict[str, Any]:
    """One object of plain data."""
    claims = [
        {
            "text": claim.text,
            "measured": claim.measured,
            "predicted": claim.predicted,
            "detail": claim.detail,
            "erratum": claim.erratum,
        }
        for claim in sweep.claims
    ]
    return {
        "experiment": sweep.experiment.name,
        "title": sweep.experiment.title,
        "verdict": sweep.verdict,
        "incomplete": sweep.incomplete,
        "rows": sweep.rows,
        "claims": claims,
        "contradictions": sweep.contradictions,
        "errata": [asdict(one) for one in sweep.errata],
        "expected": [asdict(one) for one in sweep.expectations],
        "provenance": sweep.provenance,
    }


def say(sweep: Sweep) -> None:
    """Claims, mistakes of the paper, values that no paper prints, and the verdict, on stderr."""
    for claim in sweep.claims:
        sides = {"measured": claim.measured, "predicted": claim.predicted}
        words = [f"{'holds' if holds else 'fails'} {side}" for side, holds in sides.items() if holds is not None]
        detail = f" ({claim.detail})" if claim.detail else ""
        detail += f", an erratum: {claim.erratum}" if claim.erratum and claim.fails else ""
        echo(f"claim: {claim.text}: {', '.join(words) or 'could not be told'}{detail}", err=True)
    for one in sweep.errata:
        name = f"{one.name}: " if one.name else ""
        echo("\n  ".join([f"erratum ({one.kind}): {name}{one.text}", *one.cells]), err=True)
    for other in sweep.expectations:
        said = f"expected: {other.reason}: {other.agree} of {other.count} agree"
        echo("\n  ".join([said, *other.others]), err=True)
    name, cells = sweep.experiment.name, len(sweep.cells)
    verdict = f"; overall: {sweep.verdict}" if sweep.verdict else ""
    echo(f"{name}: {sweep.done:,} of {cells:,} cells, {sweep.events:,} events{verdict}", err=True)
    if sweep.mixed:
        echo(f"note: {sweep.mixed}", err=True)
    if sweep.incomplete:
        echo(f"incomplete: {sweep.incomplete}", err=True)


def shown(row: Row, axes: Sequence[str]) -> dict[str, str]:
    """A row as text."""
    interval = "" if row["ci_low"] is None else f"{number(row['ci_low'])} .. {number(row['ci_high'])}"
    expected = number(row["predicted"]) + (f" ± {row['accuracy']:.2g}" if row["accuracy"] else "")
    return {
        **{name: text(row[name]) for name in axes},
        "group": row["group"],
        "metric": row["metric"],
        "measured": number(row["measured"]),
        "95 % interval": interval,
        "predicted": expected,
        "z": "" if row["z"] is None else f"{row['z']:+.2f}",
        "verdict": row["verdict"],
        "printed": text(row["printed"]),
        "against print": row["printed_verdict"],
        "expected": text(row["expected"]),
        "against expected": row["expected_verdict"],
    }


def _shown(rows: Sequence[Row], form: str) -> tuple[Sequence[Row], str]:
    if len(rows) <= LONG or form == "markdown":
        return rows, ""
    worst = sorted(rows, key=lambda row: (ORDER.get(row["verdict"], 3), -abs(row["z"] or 0.0)))[:WORST]
    return worst, f"the {WORST} rows farthest from their prediction, of {len(rows):,} (--format csv prints all)"


def number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.5f}" if abs(value) < 10 else f"{value:,.6g}"


def text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
