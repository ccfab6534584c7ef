"""The experiments that come with replnet, run one after another, and one report of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

from replnet.deadline import within
from replnet.measure.verdict import overall
from replnet.report.page import in_words, write
from replnet.report.section import section_of
from replnet.study.experiment.experiment import load_experiment
from replnet.study.result import Tabled
from replnet.study.sweeps.finished import Sweep
from replnet.study.sweeps.judged_table import frame
from replnet.study.sweeps.sweep import SweepProgress, sweep
from replnet.text.documents import shipped_names
from replnet.text.errors import suggestion

TITLE = "The papers, reproduced"
COLUMNS = ("experiment", "cells", "claims hold", "against print", "errata", "verdict", "incomplete")
LONGEST = 60  # letters of what is incomplete

Watched = Callable[[str], AbstractContextManager[SweepProgress | None]]


@final
@dataclass(frozen=True, eq=False)
class Reproduction(Tabled):
    """The sweeps as far as they came, and the page that shows them, if they were to be kept."""

    sweeps: tuple[Sweep, ...]
    page: Path | None = None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A line about every experiment."""
        return [dict(zip(COLUMNS, _line(one), strict=True)) for one in self.sweeps]

    @cached_property
    def table(self) -> Any:
        """The rows as a DataFrame."""
        return frame(self.rows, ())

    @property
    def verdict(self) -> str:
        """`agree`, `differ` or `unresolved` over all of them."""
        return overall([one.verdict for one in self.sweeps])

    @property
    def incomplete(self) -> bool:
        return any(one.incomplete for one in self.sweeps)

    @property
    def words(self) -> str:
        """What came out of all of them together."""
        return in_words([section_of(one) for one in self.sweeps])

    def __str__(self) -> str:
        return f"{self.table.to_string(index=False)}\n{self.words}"


def reproduce(
    *names: str,
    quick: bool = False,
    out: str | Path | None = None,
    workers: int | None = None,
    address: str | None = None,
    budget: float | str | None = None,
    watching: Watched | None = None,
    ended: Callable[[Sweep, float], None] | None = None,
) -> Reproduction:
    """Run the experiments of these names, `p2p/fig3` or all of `p2p`, or of all papers where none is named.

    `quick` takes minutes, with wider intervals. With `out` into that directory, where an earlier call is carried on
    with, and with a report; else in memory. `workers`, `address` and `budget` are as of `sweep`. `watching` gives, for
    the title of an experiment, a context with what is told how far it is, and `ended` is told each with its seconds.

    >>> rn.reproduce("p2p/fig3", quick=True, workers=0).table[["experiment", "verdict"]]
      experiment verdict
    0   p2p/fig3   agree
    """
    found: list[Sweep] = []
    chosen = experiments(names)
    folder = None if out is None else Path(out)
    with within(budget):
        for at, name in enumerate(chosen, 1):
            begun = time.perf_counter()
            with watching(f"{name} ({at} of {len(chosen)})") if watching else nullcontext() as look:
                asked = load_experiment(name)
                place = folder and folder / name
                one = sweep(asked, place, workers=workers, address=address, quick=quick, progress=look)
            found.append(one)
            if ended:
                ended(one, time.perf_counter() - begun)
            if one.stopped:
                break
    page = None
    if folder is not None:
        origin = {name: value for name, value in found[0].provenance.items() if name != "specification"}
        page = write(folder, [section_of(one) for one in found], TITLE, origin)
    return Reproduction(tuple(found), page)


def experiments(names: Sequence[str]) -> list[str]:
    """Those that are meant, by name or by the folder they are in; all of them if there is no name."""
    known = shipped_names("experiments")
    found = dict[str, None]()
    for name in names:
        wanted = name.removeprefix("experiments/").removesuffix(".yaml").strip("/")
        mine = [one for one in known if one == wanted or one.startswith(f"{wanted}/")]
        if not mine:
            papers = {one.partition("/")[0] for one in known}
            raise ValueError(f"reproduce: there is no {name!r} ({suggestion(wanted, [*papers, *known])})")
        found |= dict.fromkeys(mine)
    return list(found) if names else known


def _line(one: Sweep) -> tuple[str, int, str, str, str, str, str]:
    holding = [not claim.fails for claim in one.claims]
    claims = f"{sum(holding)} of {len(holding)}" if holding else ""
    words = [row["printed_verdict"] for row in one.rows if row["printed_verdict"]]
    printed = f"{words.count('agree')} of {len(words)} agree" if words else ""
    errata = str(len(one.errata)) if one.errata else ""
    return one.experiment.name, one.done, claims, printed, errata, one.verdict, one.incomplete[:LONGEST]
