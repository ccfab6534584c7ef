"""The papers' formulas by name: listed, and computed."""

from __future__ import annotations

import click

from replnet.cli.main import FINE, commands, formats
from replnet.cli.output import echo, print_table, write, write_result

COLUMNS = ("formula", "equation", "what it says")


@commands.command()
@click.argument("name", required=False)
@click.option(
    "-s", "--set", "given", multiple=True, metavar="KEY=VALUE",
    help="An argument, such as -s ratio=2 or -s 'updates=pareto(alpha=3, rate=2)'. Repeatable.",
)  # fmt: skip
@formats()
def formula(name: str | None, given: tuple[str, ...], form: str) -> int:
    """What formula NAME of the papers says for its arguments; without NAME, all formulas."""
    from replnet.papers.formula import arguments, formulas

    if name is not None:
        from replnet.study.formulas import formula as computed
        from replnet.text.documents import Document, Mark, node_of
        from replnet.text.overrides import override

        document = override(Document("", node_of({"name": name}, Mark(None, None)), ()), given)
        arguments(document.data, document)
        write_result(computed(**document.data), form)
        return FINE
    values = [(str(one), one.basis.source, one.about.partition("\n")[0]) for one in formulas().values()]
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in values]
    write(form, lambda: rows, COLUMNS, rows, lambda: print_table(COLUMNS[:2], [row[:2] for row in values]), 2)
    if form == "table":
        echo("what the arguments of one are: replnet formula NAME", err=True)
    return FINE
