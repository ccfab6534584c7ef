"""The networks that an inverse problem ends in, emulated and judged together as the cells of a sweep are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from replnet.deadline import sharing_reasonable_time
from replnet.lab.experiment import emulate_so_far, require_whole
from replnet.measure import judge_rows
from replnet.network import Network
from replnet.run import INTERRUPTED, Emulated, Progress, Settings


def verify(
    networks: Sequence[tuple[str, Network]], settings: Settings, tell: Progress, **how: Any
) -> tuple[list[Emulated], str]:
    """Emulate named networks; return the results in their order, and why there are fewer if it was interrupted, or "".

    Verdicts are those of all rows together; a network of which a row differs is run again four times longer. `tell`
    gets the share that is done, and `how` has workers and address.
    """
    results, stopped = list[Emulated](), ""
    try:
        with sharing_reasonable_time(len(networks)):
            for name, network in networks:
                part_progress = progress_of_part(tell, len(results), len(networks), f"{name}, emulated")
                results.append(emulate_so_far(network, settings, progress=part_progress, **how))
                require_whole(results[-1])
        results = _judge_together(results, settings)
        for place, (name, network) in enumerate(networks):
            if results[place].verdict == "differ":
                part_progress = progress_of_part(
                    tell, place, len(networks), f"{name}, which differs, emulated four times longer"
                )
                longer = emulate_so_far(network, settings, True, progress=part_progress, **how)
                require_whole(longer)
                results[place] = longer
        tell(1.0, "judged together")
    except KeyboardInterrupt as why:
        stopped = why.args[0] if why.args else INTERRUPTED
    return _judge_together(results, settings), stopped


def _judge_together(results: Iterable[Emulated], settings: Settings) -> list[Emulated]:
    """Return the results with the verdicts that all their rows have together, at the resolution of the settings."""
    results = list(results)
    rows = iter(judge_rows([row for result in results for row in result.rows], settings.resolution))
    return [replace(result, rows=tuple(next(rows) for _ in result.rows)) for result in results]


def progress_of_part(tell: Progress, done: int, parts: int, name: str) -> Progress:
    """Return a function that tells the progress of one part as a share of all.

    The part has the name `name`, and `done` of all `parts` come before it.
    """
    return lambda share, words: tell((done + share) / parts, f"{name} ({done + 1} of {parts}): {words}")
