"""The papers' formulas by name: listed, and computed."""

from __future__ import annotations

import json
import sys

import click

from replnet.cli.codes import FINE
from replnet.cli.screen import echo, print_table

COLUMNS = ("formula", "equation", "what it says")


@click.command()
@click.argument("name", required=False)
@click.option(
    "-s", "--set", "given", multiple=True, metavar="KEY=VALUE",
    help="An argument, such as -s ratio=2 or -s 'updates=pareto(alpha=3, rate=2)'. Repeatable.",
)  # fmt: skip
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True,
              help="Of what goes to stdout.")  # fmt: skip
def formula(name: str | None, given: tuple[str, ...], form: str) -> int:
    """What formula NAME of the papers says for its arguments; without NAME, all formulas."""
    from replnet.papers.formula import arguments, formulas
    from replnet.text.csv_table import write_csv

    if name is not None:
        from replnet.cli.output import write
        from replnet.study.formulas import formula as computed
        from replnet.text.documents import Document, Mark, node_of
        from replnet.text.overrides import override

        document = override(Document("", node_of({"name": name}, Mark(None, None)), ()), given)
        arguments(document.data, document)
        write(computed(**document.data), form)
        return FINE
    rows = [(str(one), one.basis.source, one.about.partition("\n")[0]) for one in formulas().values()]
    if form == "json":
        click.echo(json.dumps([dict(zip(COLUMNS, row, strict=True)) for row in rows], indent=2))
    elif form == "csv":
        write_csv(sys.stdout, COLUMNS, rows)
    else:
        print_table(COLUMNS[:2], [row[:2] for row in rows])
        echo("what the arguments of one are: replnet formula NAME", err=True)
    return FINE
