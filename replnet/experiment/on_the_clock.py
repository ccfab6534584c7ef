"""A network run for real: paths of the `live` engine beside `step` and the formulas."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from replnet.engines.live import Glimpse, Live, LiveLost, Log, Outage, Unreachable, run_live
from replnet.engines.live.placement import work_of
from replnet.engines.path import Path
from replnet.engines.plan import Plan, plan
from replnet.engines.step import run_path
from replnet.experiment.doubts import behind, heavy, locked
from replnet.experiment.emulate import REPLICATIONS, Progress
from replnet.experiment.formula import Formula
from replnet.experiment.predict import formulas
from replnet.experiment.provenance import provenance
from replnet.experiment.result import Emulated, Row
from replnet.measure.estimate import Estimate, ratio
from replnet.measure.verdict import RESOLUTION, Cell, verdicts
from replnet.network.network import Network

__all__ = ["LiveLost", "Unreachable", "run_for_real"]

UNITS = 60.0  # of the longest mean interval, of a path whose length nobody asked for
NODES = 32_000  # of all replications together, whose past is to be replayed before the run
WORK = 1.5e6  # wakes and messages of a run whose length nobody asked for: some ten seconds on two CPUs


def run_for_real(
    network: Network,
    *,
    seed: int = 1,
    horizon: float | None = None,
    replications: int | None = None,
    estimator: str = "sampled",
    resolution: float = RESOLUTION,
    progress: Progress | None = None,
    log: Log | None = None,
    **how: Any,
) -> Emulated:
    """Paths on the wall clock, from Ray actors, all at once; `how`: hosts, time_scale, address.

    `horizon` units of time are shared out among the replications: 32 of them, or as many as a
    network of this size affords. The note of every row says what `step` counts on the same paths,
    which differs by the delay of messages only, and what was lost on the way.
    """
    compiled = plan(network)
    replications = affordable(compiled, horizon) if replications is None else replications
    length = UNITS * compiled.slowest if horizon is None else horizon / max(replications, 1)

    def look(seen: Glimpse) -> None:
        if progress:
            lost = f", {len(seen.lost)} losses" if seen.lost else ""
            progress(min(max(seen.now / seen.horizon, 0.0), 1.0), f"live, {seen.messages:,} messages so far{lost}")

    sampled = estimator == "sampled"
    live = run_live(compiled, seed, length, replications=replications, sampled=sampled, watch=look, log=log, **how)
    if progress:
        progress(1.0, "the same paths in virtual time")
    virtual = [run_path(compiled, seed, r, live.horizon, sampled) for r in range(replications)]
    return Emulated(
        network=network.data(),
        rows=tuple(_rows(compiled, live, virtual, _formulas(network, compiled, live), sampled, resolution)),
        provenance=provenance(network.data(), seed=seed, engine="live", **_circumstances(live)),
        engine="live",
        estimator=estimator,
        seed=seed,
        horizon=live.horizon * replications,
        replications=replications,
        events=sum(sum(path.counts[:3]) for path in live.paths),
        queries=sum(path.counts[3] for path in live.paths),
        seconds=live.total_seconds,
        incomplete=_incomplete(live),
    )


def affordable(compiled: Plan, horizon: float | None) -> int:
    """How many replications a run can do with; its length in all is given, or theirs is UNITS each."""
    fit = NODES / len(compiled.names)
    if horizon is None:
        fit = min(fit, WORK / (float(work_of(compiled).sum()) * UNITS * compiled.slowest))
    return max(1, min(REPLICATIONS, int(fit)))


def _incomplete(live: Live) -> str:
    lost = [str(outage) for outage in live.lost if outage.back is None]
    uncompared = [] if live.faithful else [f"not compared: {live.why}"]
    return "; ".join([*filter(None, [live.cut_short]), *lost, *uncompared])


def _formulas(network: Network, compiled: Plan, live: Live) -> list[Formula]:
    """Per group, the formula that knows of the measured delay where there is one, else the one without delay."""
    prompt = formulas(network, compiled)
    late = formulas(network, replace(compiled, delay=live.delays.mean)) if compiled.constant_delay == 0 else {}
    found = []
    for group in compiled.groups:
        aware = late.get((group, "freshness"))
        found.append(aware if aware is not None and aware.value is not None else prompt[group, "freshness"])
    return found


def _rows(
    compiled: Plan, live: Live, virtual: list[Path], predicted: list[Formula], sampled: bool, resolution: float
) -> list[Row]:
    notes, estimates = [], []
    for g in range(len(compiled.groups)):
        processes = behind(compiled, g)
        losses = _losses(compiled, g, live, {compiled.names[p.node] for p in processes})
        doubt = heavy(processes, sampled) or losses
        theirs = _estimate(compiled, g, virtual, np.ones((len(virtual), len(compiled.groups))), "")
        estimates.append(_estimate(compiled, g, list(live.paths), live.present, doubt))
        same = (
            f"step on the same paths: {theirs.value:.5f}"
            if len(virtual) > 1
            else f"step on this path: {theirs.value:.5f}"
        )
        word = locked(processes, sampled, len(virtual))
        notes.append([same, estimates[-1].doubt, losses, _unproven(live), word, predicted[g].note])
    # What was lost on the way is not in the formula, so there is nothing to judge.
    cells = [
        Cell(e, f.value if live.faithful and not n[2] else None, f.accuracy)
        for e, f, n in zip(estimates, predicted, notes, strict=True)
    ]
    return [
        _row(compiled.groups[g], cell, predicted[g], live, word, notes[g])
        for g, (cell, word) in enumerate(zip(cells, verdicts(cells, resolution), strict=True))
    ]


def _row(group: str, cell: Cell, formula: Formula, live: Live, word: str, notes: list[str]) -> Row:
    estimate = cell.estimate if live.faithful else Estimate(math.nan, math.nan, cell.estimate.replications)
    return Row(
        group,
        "freshness",
        measured=estimate.value,
        ci_low=estimate.low,
        ci_high=estimate.high,
        predicted=formula.value,
        z=cell.z,
        verdict=word,
        note="; ".join(dict.fromkeys(note for note in notes if note)),
        **formula.about,
    )


def _estimate(compiled: Plan, g: int, paths: list[Path], present: Any, doubt: str) -> Estimate:
    if compiled.copies[g]:
        wholes = np.asarray(present[:, g], float)
        shares = np.array([path.fresh[g] for path in paths])
        return ratio(np.where(wholes > 0, shares, 0.0) * wholes, wholes, doubt=doubt)
    answers = np.array([float(path.answers[g]) for path in paths])
    return ratio(np.array([float(path.good[g]) for path in paths]), answers, doubt=doubt)


def _losses(compiled: Plan, g: int, live: Live, behind: set[str]) -> str:
    """What a group has suffered of the loss of hosts, of its own or of nodes on which it depends."""
    own = {name for name, group in zip(compiled.names, compiled.group, strict=True) if group == g}
    words = [_loss(outage, len(own & set(outage.nodes))) for outage in live.lost if behind & set(outage.nodes)]
    if words and compiled.copies[g]:
        words.append(f"{float(np.mean(live.present[:, g])):.1%} of the copy-time counts")
    return "; ".join(words)


def _loss(outage: Outage, own: int) -> str:
    end = "and did not come back" if outage.back is None else f"to {outage.back:.4g}"
    what = f"{own} of its nodes here began anew" if own else "others depend on its nodes"
    return f"host {outage.host} was lost from t = {outage.heard:.4g} {end}: {what}"


def _unproven(live: Live) -> str:
    doubtful = sum(path.unproven > 0 for path in live.paths)
    return f"start not proven in {doubtful} replications" if doubtful else ""


def _circumstances(live: Live) -> dict[str, Any]:
    return {
        "time_scale": live.time_scale,
        "hosts": len(live.hosts),
        "messages": live.messages,
        "messages_per_second": live.messages_per_second,
        "reply_delay": {"mean": live.delays.mean, "p50": live.delays.p50, "p99": live.delays.p99},
        "slip": {"mean": live.slip.mean, "p99": live.slip.p99},
        "clock_offsets": [[host.offset.seconds, host.offset.error] for host in live.hosts],
        "unanswered": live.unanswered,
        "lost": [str(outage) for outage in live.lost],
    }
