"""The command design: from a target to a network."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from replnet.cli.main import BUDGET, DIFFERS, FINE, INCOMPLETE, commands, formats, seeded, workers
from replnet.cli.output import cells, echo, print_table, write
from replnet.cli.progress import progress

HEADS = (
    "architecture", "pulls", "rates", "messages", "at source", "busiest", "fits", "predicted", "measured",
    "95 % interval", "verdict",
)  # fmt: skip


@commands.command()
@click.option("--updates", required=True, metavar="LAW", help="When the source changes, such as 'exponential(rate=2)'.")
@click.option("--replicas", type=click.IntRange(min=1), required=True, help="That serve clients.")
@click.option("--target", required=True, metavar="'METRIC >= X'",
              help="What clients are to get, of any metric, such as 'freshness >= 0.9' or 'lag <= 3'.")  # fmt: skip
@click.option(
    "--limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="RATE",
    help="Requests that a node may answer per unit of time.",
)
@click.option("--queries", type=click.FloatRange(min=0), metavar="RATE", default=0.0,
              help="Of all clients together, per unit of time; then these may ask several replicas.")  # fmt: skip
@click.option("--pulls", multiple=True, metavar="LAW",
              help="Of downloads and polls, its rate left open. Repeatable.  "
                   "[default: exponential and constant]")  # fmt: skip
@seeded()
@click.option("--precision", type=float, default=0.005, show_default=True, help="Half-width of what is emulated.")
@workers
@BUDGET
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="The best one, as YAML.")
@formats(words=None)
def design(target: str, limit: float | None, pulls: tuple[str, ...], output: Path | None, form: str, **how: Any) -> int:
    """The architecture, the law of pulls and the rates that meet a target with the fewest messages.

    Replicas that all ask the source, tiers above them, clusters that poll one another, and clients who ask several:
    each with the least rates that will do, by formula. The best three are emulated.
    """
    from replnet.study.sweeps.designing import COLUMNS, POLICIES
    from replnet.study.sweeps.designing import design as find
    from replnet.text.errors import FieldError
    from replnet.text.yaml_writer import yaml_text

    laws = [one if "(" in one else f"{one}(rate=1)" for one in pulls] or POLICIES
    with progress() as report:
        try:
            found = find(target=target, pulls=laws, limit=limit or math.inf, progress=report, **how)
        except FieldError as error:
            option = "--" if error.field in ("target", "limit", "queries", "updates", "pulls") else ""
            raise ValueError(f"{option}{error}") from None
    best = yaml_text(dict(found.best.built.data))
    rows = found.rows
    data = {"target": found.target.text, "best": found.best.network.data(), "rows": rows, "left_out": found.left_out}
    write(form, lambda: data, COLUMNS, rows, lambda: _table(rows, limit is not None))
    for name, why in found.left_out.items():
        echo(f"{name}: left out, as {why}", err=True)
    if output is None:
        echo("-o FILE writes the best one, to be run, swept and changed", err=True)
    else:
        output.write_text(best, encoding="utf-8")
        echo(f"the best one is in {output}: replnet run {output}", err=True)
    if not found.best.fits:
        echo(f"nothing keeps to the limit: some node answers {found.best.built.busiest:,.4g} at least", err=True)
    if found.incomplete:
        echo(found.incomplete, err=True)
    return DIFFERS if not found.best.fits else INCOMPLETE if found.incomplete else FINE


def _table(rows: list[dict[str, Any]], limited: bool) -> None:
    heads = [head for head in HEADS if limited or head != "fits"]
    lines = []
    for row in rows:
        known = {"group": "", "metric": "", "z": None, "kind": "", "source": "", "accuracy": None} | row
        line = cells(known | {"verdict": row["verdict"] or ""}) | {name: str(row[name]) for name in HEADS[:3]}
        line |= {name: f"{float(f'{row[name]:.4g}'):,.10g}" for name in ("messages", "at source", "busiest")}
        lines.append(line | {"fits": "yes" if row["fits"] else "no"})
    print_table(heads, [[line[head] for head in heads] for line in lines])
    echo(
        "messages: requests of all nodes and clients per unit of time; at source, busiest: those that one node answers"
    )
