"""All experiments that come with replnet, run one after another, and one report of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from replnet.deadline import within
from replnet.lab.experiment import load_experiment
from replnet.lab.sweeps import Sweep, SweepProgress, how_many_hold, sweep, table_of_rows
from replnet.measure import worst_verdict
from replnet.run import TabularResult
from replnet.show.report.page import in_words, write
from replnet.show.report.section import section_of
from replnet.text import FieldError, file_path, shipped_names, suggestion

if TYPE_CHECKING:
    import pandas as pd

TITLE = "The papers, reproduced"
LONGEST_INCOMPLETE = 60  # letters in the column `incomplete`

SweepWatcher = Callable[[str], AbstractContextManager[SweepProgress | None]]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Reproduction(TabularResult):
    """The result of running experiments of the papers: a sweep for each that was begun, and the page of their report.

    `page` is None if there is no directory for it.
    """

    sweeps: tuple[Sweep, ...]
    page: Path | None = None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table, one for every experiment that was begun, each by the names of columns."""
        return list(map(_row, self.sweeps))

    @cached_property
    def table(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame."""
        return table_of_rows(self.rows, ())

    @property
    def verdict(self) -> str:
        """The worst verdict of all experiments: `agree`, `differ` or `unresolved`."""
        return worst_verdict([sweep.verdict for sweep in self.sweeps])

    @property
    def incomplete(self) -> bool:
        """Whether any sweep lacks cells or replications; experiments that were not begun do not count."""
        return any(sweep.incomplete for sweep in self.sweeps)

    @property
    def words(self) -> str:
        """The results of all experiments together, in a sentence."""
        return in_words([section_of(sweep) for sweep in self.sweeps])

    def _words(self) -> str:
        return self.words


def reproduce(
    *names: str,
    quick: bool = False,
    out: str | Path | None = None,
    workers: int | None = None,
    address: str | None = None,
    budget: float | str | None = None,
    watching: SweepWatcher | None = None,
    ended: Callable[[Sweep, float], None] | None = None,
) -> Reproduction:
    """Run the experiments of these names, `p2p/fig3` or all of `p2p`, or of all papers where none is named.

    `quick` takes minutes, with wider intervals. With `out`, keep the runs and a report in that directory, where an
    earlier call is carried on with; else keep all in memory. `workers` is the number of processes that share the work
    (0: this one alone; None: one per CPU, if work for some seconds is left), `address` a Ray cluster to join instead,
    and `budget` the time, in seconds or such as 10m, after which it ends with the results so far. `watching` is called
    with the title of each experiment, and returns a context that gives the callback for its progress; `ended` is called
    with each finished sweep and the seconds that it took.

    >>> rn.reproduce("p2p/fig3", quick=True, workers=0).table[["experiment", "verdict"]]
      experiment verdict
    0   p2p/fig3   agree
    """
    sweeps: list[Sweep] = []
    chosen = names_of_experiments(names)
    folder = None if out is None else file_path("out", out)
    with within(budget):
        for at, name in enumerate(chosen, 1):
            begun = time.perf_counter()
            with watching(f"{name} ({at} of {len(chosen)})") if watching else nullcontext() as progress:
                experiment = load_experiment(name)
                place = folder and folder / name
                finished_sweep = sweep(
                    experiment, place, workers=workers, address=address, quick=quick, progress=progress
                )
            sweeps.append(finished_sweep)
            if ended:
                ended(finished_sweep, time.perf_counter() - begun)
            if finished_sweep.stopped:
                break
    page = None
    if folder is not None:
        origin = {name: value for name, value in sweeps[0].provenance.items() if name != "specification"}
        page = write(folder, [section_of(finished_sweep) for finished_sweep in sweeps], TITLE, origin)
    return Reproduction(tuple(sweeps), page)


def names_of_experiments(names: Sequence[str]) -> list[str]:
    """Return the shipped experiments that `names` mean, each an experiment or a folder of them; without names, all.

    Raise FieldError for a name that means none.
    """
    shipped = shipped_names("experiments")
    chosen = dict[str, None]()
    for name in map(str, names):
        wanted = name.removeprefix("experiments/").removesuffix(".yaml").strip("/")
        matches = [experiment for experiment in shipped if experiment == wanted or experiment.startswith(f"{wanted}/")]
        if not matches:
            papers = {experiment.partition("/")[0] for experiment in shipped}
            raise FieldError("reproduce", f"there is no {name!r}", suggestion(wanted, [*papers, *shipped]))
        chosen |= dict.fromkeys(matches)
    return list(chosen) if names else shipped


def _row(sweep: Sweep) -> dict[str, Any]:
    """Return what the table says of a sweep, by the names of columns; a count that does not apply is an empty text."""
    verdicts = [row["printed_verdict"] for row in sweep.rows if row["printed_verdict"]]
    return {
        "experiment": sweep.experiment.name,
        "cells": sweep.done,
        "claims hold": how_many_hold(sweep.claims),
        "against print": f"{verdicts.count('agree')} of {len(verdicts)} agree" if verdicts else "",
        "errata": str(len(sweep.errata)) if sweep.errata else "",
        "verdict": sweep.verdict,
        "incomplete": sweep.incomplete[:LONGEST_INCOMPLETE],
    }
