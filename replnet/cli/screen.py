"""What people read: lines and tables in which no quoted name, title or path can steer the terminal."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

COLOURS = {"agree": "green", "differ": "red", "failed": "red", "unresolved": "yellow", "contradicts": "yellow"}


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text of one line or several, its control characters written out."""
    click.echo(visible(str(text), keep="\n"), err=err, nl=nl)


def visible(text: str, keep: str = "") -> str:
    """The text with every character that is not printed, but for those to keep, written out as in Python."""
    if text.isprintable():
        return text
    from replnet.text.errors import escaped

    return escaped(text, keep)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[object]], form: str = "table") -> None:
    """On stdout, in columns as wide as what is in them, or as Markdown."""
    lines = [[visible(str(cell)) for cell in line] for line in [heads, *rows]]
    if form == "markdown":
        lines = [[cell.replace("|", r"\|") for cell in line] for line in lines]
    widths = [max(len(line[c]) for line in lines) for c in range(len(heads))]
    for at, line in enumerate([lines[0], ["-" * width for width in widths], *lines[1:]]):
        if form == "markdown":
            click.echo(f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |")
        else:
            padded = [_painted(*pair, is_value=at > 1) for pair in zip(line, widths, strict=True)]
            click.echo("  ".join(padded).rstrip())


def _painted(cell: str, width: int, is_value: bool) -> str:
    colour = COLOURS.get(cell) if is_value and not os.environ.get("NO_COLOR") else None
    return (click.style(cell, fg=colour) if colour else cell) + " " * (width - len(cell))
