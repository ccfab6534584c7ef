"""A network run for real: one path of the `live` engine beside `step` and the formulas."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from replnet.engines.live import Glimpse, Live, LiveLost, Unreachable, run_live
from replnet.engines.plan import Plan, plan
from replnet.engines.step import run_path
from replnet.experiment.emulate import Progress
from replnet.experiment.predict import Formula, formulas
from replnet.experiment.provenance import provenance
from replnet.experiment.result import Emulated, Row
from replnet.network.network import Network

__all__ = ["LiveLost", "Unreachable", "run_for_real"]

UNITS = 20.0  # of time, of a run whose length nobody asked for


def run_for_real(
    network: Network, *, seed: int = 1, horizon: float | None = None, progress: Progress | None = None, **how: Any
) -> Emulated:
    """One path on the wall clock, from Ray actors; `how`: hosts, time_scale, address.

    One path has no interval, so there is no verdict. The note of every row says
    what `step` counts on the same path, which differs by the delay of messages only.
    """
    compiled = plan(network)

    def look(seen: Glimpse) -> None:
        if progress:
            progress(min(max(seen.now / seen.horizon, 0.0), 1.0), f"live, {seen.messages:,} messages so far")

    horizon = UNITS * compiled.slowest if horizon is None else horizon
    live = run_live(compiled, seed, horizon, watch=look, **how)
    path = run_path(compiled, seed, 0, horizon, sampled=True)
    late = formulas(network, replace(compiled, delay=live.delays.mean)) if compiled.constant_delay == 0 else {}
    rows = [
        _row(compiled, g, live, path.fresh[g] if compiled.copies[g] else path.good[g] / max(path.answers[g], 1), f)
        for g, f in enumerate(_with_delay(formulas(network, compiled), late, compiled))
    ]
    return Emulated(
        network=network.data(),
        rows=tuple(rows),
        provenance=provenance(network.data(), seed=seed, engine="live", **_circumstances(live)),
        engine="live",
        seed=seed,
        horizon=horizon,
        replications=1,
        events=sum(live.path.counts[:3]),
        queries=live.path.counts[3],
        seconds=live.total_seconds,
        incomplete="" if live.faithful else f"not compared: {live.why}",
    )


def _with_delay(
    prompt: dict[tuple[str, str], Formula], late: dict[tuple[str, str], Formula], compiled: Plan
) -> list[Formula]:
    """Per group, the formula that knows of the measured delay where there is one, else the one without delay."""
    found = []
    for group in compiled.groups:
        aware = late.get((group, "freshness"))
        found.append(aware if aware is not None and aware.value is not None else prompt[group, "freshness"])
    return found


def _row(compiled: Plan, g: int, live: Live, virtual: float, formula: Formula) -> Row:
    path = live.path
    measured = path.fresh[g] if compiled.copies[g] else path.good[g] / max(path.answers[g], 1)
    notes = [f"step on this path: {virtual:.5f}; one path, so no interval", formula.note]
    value = measured if live.faithful and math.isfinite(measured) else None
    note = "; ".join(n for n in notes if n)
    return Row(compiled.groups[g], "freshness", value, predicted=formula.value, note=note, **formula.about)


def _circumstances(live: Live) -> dict[str, Any]:
    return {
        "time_scale": live.time_scale,
        "hosts": len(live.hosts),
        "messages": live.messages,
        "messages_per_second": live.messages_per_second,
        "reply_delay": {"mean": live.delays.mean, "p50": live.delays.p50, "p99": live.delays.p99},
        "slip": {"mean": live.slip.mean, "p99": live.slip.p99},
        "clock_offsets": [[host.offset.seconds, host.offset.error] for host in live.hosts],
    }
