"""Every figure and table of the papers that comes with replnet, and one report of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from replnet.cli.screen import echo, print_table
from replnet.cli.sweep_tables import data, say, write
from replnet.cli.sweep_view import span, watched
from replnet.study.experiment.experiment import load_experiment
from replnet.study.sweeps.sweep import Sweep
from replnet.text.documents import shipped_names
from replnet.text.errors import suggestion

HEADS = ("experiment", "cells", "claims hold", "against print", "errata", "verdict", "incomplete")


def chosen(names: Sequence[str]) -> list[str]:
    """Experiments by name, or by the folder they are in; all of them if there is no name."""
    known = shipped_names("experiments")
    found = dict[str, None]()
    for name in names:
        wanted = name.removeprefix("experiments/").removesuffix(".yaml").strip("/")
        mine = [one for one in known if one == wanted or one.startswith(f"{wanted}/")]
        if not mine:
            papers = sorted({one.partition("/")[0] for one in known})
            raise ValueError(f"reproduce: there is no {name!r} ({suggestion(wanted, [*papers, *known])})")
        found |= dict.fromkeys(mine)
    return list(found) if names else known


def run_all(
    names: Sequence[str], quick: bool, folder: Path, workers: int | None, address: str | None, form: str
) -> list[Sweep]:
    """Each in a directory of its own, which a later call carries on with; stdout gets a line for each."""
    from replnet.report import write as write_report
    from replnet.report.page import in_words
    from replnet.report.sections import section
    from replnet.study.sweeps import sweep as sweeps

    found, lines = [], []
    for at, name in enumerate(names, 1):
        asked = load_experiment(name)
        asked = asked.quick() if quick else asked
        begun = time.perf_counter()
        with watched(f"{name} ({at} of {len(names)})") as progress:
            one = sweeps.sweep(asked, folder / name, workers=workers, address=address, progress=progress)
        found.append(one)
        lines.append(_line(one))
        echo(f"{name}: {lines[-1][5] or 'done'} in {span(time.perf_counter() - begun)}", err=True)
        if one.stopped:
            break
    if form == "json":
        import json

        click.echo(json.dumps([data(one) for one in found], indent=1, allow_nan=False))
    elif form == "csv":
        for one in found:
            write(one, form)
    else:
        print_table(HEADS, lines, form)
    for one in found:
        say(one)
    parts = [section(one) for one in found]
    echo(f"in all: {in_words(parts)}", err=True)
    page = write_report(folder, parts, "The papers, reproduced", _origin(found))
    echo(f"report: {page}", err=True)
    if any(one.incomplete for one in found):
        echo("carry on with: the same command", err=True)
    return found


def _origin(found: Sequence[Sweep]) -> dict[str, Any]:
    return {name: value for name, value in found[0].provenance.items() if name != "specification"} if found else {}


def _line(one: Sweep) -> list[str]:
    holding = [not claim.fails for claim in one.claims]
    claims = f"{sum(holding)} of {len(holding)}" if holding else ""
    words = [row["printed_verdict"] for row in one.rows if row["printed_verdict"]]
    printed = f"{words.count('agree')} of {len(words)} agree" if words else ""
    errata = str(len(one.errata)) if one.errata else ""
    return [one.experiment.name, f"{one.done:,}", claims, printed, errata, one.verdict, one.incomplete[:60]]
