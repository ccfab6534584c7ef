"""A network run for real: paths of the `live` engine beside `step` and the formulas."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean
from typing import Any, Literal

from replnet.ages.prediction import Prediction
from replnet.engines.path import Path, Task
from replnet.engines.plan import Plan, plan
from replnet.engines.step import Lateness, run_path
from replnet.laws.law import Law
from replnet.live import Glimpse, Live, LiveLost, Log, Outage, Unreachable, Watch, ray_meanwhile, run_live
from replnet.live.placement import work_of
from replnet.measure.estimate import difference
from replnet.measure.row import is_share
from replnet.measure.verdict import RESOLUTION, Comparison
from replnet.network.network import Network
from replnet.network.topology import Topology
from replnet.predictions.formulas import formulas
from replnet.study.caveats import behind
from replnet.study.emulate import kept
from replnet.study.event_log import File
from replnet.study.findings import Findings, Key
from replnet.study.replications import REPLICATIONS, Progress
from replnet.study.result import Emulated, provenance

__all__ = ["Glimpse", "LiveLost", "Unreachable", "ray_meanwhile", "run_for_real"]

UNITS = 60.0  # of the longest mean interval, of a path whose length nobody asked for
NODES = 32_000  # of all replications together, whose past is to be replayed before the run
MOST_TOLD = 4  # losses of a group or of a run, one by one
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
    watch: Watch | None = None,
    log: Log | None = None,
    out: File | None = None,
    hosts: Literal["per-node"] | int | None = None,
    time_scale: float | None = None,
    address: str | None = None,
) -> Emulated:
    """Paths on the wall clock, from Ray actors, all at once; kept in the directory `out`, if one is named.

    `horizon` units of time are shared out among the replications: 32 of them, or as many as a
    network of this size affords. The note of every row says what `step` counts on the same paths,
    which differs by the delay of messages only, and what was lost on the way. A row whose formula does not
    take that delay is judged against `step` instead, with messages as late as they were, path by path.
    """
    if network.topology.fresh_start:
        raise ValueError("start: is not for the wall clock (engine: array or step)")
    compiled = plan(network)
    replications = affordable(compiled, horizon) if replications is None else replications
    length = UNITS * compiled.slowest if horizon is None else horizon / max(replications, 1)
    task = Task(compiled, seed, length, estimator == "sampled")
    where: dict[str, Any] = {"hosts": hosts, "time_scale": time_scale}
    how = where | {"engine": "live", "seed": seed, "horizon": horizon, "replications": replications}
    with kept(out, network, how | {"estimator": estimator, "resolution": resolution}) as keeper:
        live = run_live(task, replications=replications, watch=watch, log=log, address=address, **where)
        if progress:
            progress(1.0, "the same paths in virtual time")
        result = _beside_virtual(network, replace(task, horizon=live.horizon), live, resolution)
        if keeper is not None:
            keeper.end(result, live.paths)
    return result


def _beside_virtual(network: Network, task: Task, live: Live, resolution: float) -> Emulated:
    """The table of a run, beside `step` on the same paths."""
    replications = len(live.paths)
    virtual = [run_path(task, r) for r in range(replications)]
    findings = _findings(task, live, virtual, resolution)
    return Emulated(
        network=network.data(),
        rows=tuple(findings.rows(measured=live.faithful)),
        provenance=provenance(network.data(), seed=task.seed, engine="live", **_circumstances(live)),
        engine="live",
        estimator="sampled" if task.sampled else "conditional",
        seed=task.seed,
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
    """What keeps the run from being all that was asked for: what was lost on the way has no verdict."""
    spoilt = [str(outage) for outage in live.lost if not outage.planned]
    spoilt += [str(still) for still in live.stood if still.nodes]
    spoilt[MOST_TOLD:] = [f"and so {len(spoilt) - MOST_TOLD} times more"] if len(spoilt) > MOST_TOLD else []
    uncompared = [] if live.faithful else [f"not compared: {live.why}"]
    return "; ".join([*filter(None, [live.cut_short]), *spoilt, *uncompared])


def _findings(task: Task, live: Live, virtual: list[Path], resolution: float) -> Findings:
    """Judged by the formulas that take the delay of messages, and where there is none, against `step`."""
    compiled, topology = task.plan, task.plan.topology
    theirs = Findings(compiled, {}, virtual, task.sampled, resolution)
    same = "on the same paths" if len(virtual) > 1 else "on this path"
    said = {
        group: f"step {same}: {estimate.value:.5f}"
        for (group, metric), estimate in zip(theirs.keys, theirs.estimates, strict=True)
        if metric == "freshness"
    }
    prompt, late = formulas(topology), formulas(_slower(topology, live.late))
    # What is known of delayed copies only between bounds tells less than step does.
    known = {
        key: formula
        for key, formula in late.items()
        if formula.known and (not formula.accuracy or formula == prompt[key])
    }
    without = "without delay" if compiled.constant_delay == 0 else "with no other delay than the network's own"
    for group, metric in known:
        if metric == "freshness":
            said[group] += f"; the formula {without}: {prompt[group, metric].value:.5f}"
    blind = {key: _blind(prompt.get(key)) for key in dict.fromkeys([*theirs.keys, *prompt]) if key not in known}
    driver = [str(still) for still in live.stood if not still.nodes]
    driver += ["the hosts went on by themselves"] if driver and len(driver) == len(live.stood) else []
    said = {group: "; ".join([words, *driver]) for group, words in said.items()}
    # What was lost on the way is neither in the formula nor in step, so there is nothing to judge.
    losses = {group: _losses(compiled, g, live) for g, group in enumerate(compiled.groups)}
    spoilt = {group: words for group, words in losses.items() if words}
    ours = Findings(compiled, blind | known, live.paths, task.sampled, resolution, spoilt, said)
    open_ = [key for key in theirs.keys if key in blind and key in ours.keys and key[0] not in spoilt]
    return _beside_late_step(ours, theirs, open_, live, task) if open_ and live.faithful else ours


def _beside_late_step(ours: Findings, prompt: Findings, open_: list[Key], live: Live, task: Task) -> Findings:
    """Rows without a formula judged against `step` with messages as late on average; `prompt` is step as it is."""
    lateness = Lateness(tuple(live.mean_slip + late for late in live.group_late), live.group_late)
    replications = range(len(prompt.paths))
    slowed = [run_path(task, r, lateness) for r in replications]
    reference = replace(prompt, paths=slowed)
    against = {key: _against(ours, reference, prompt, key) for key in open_}
    notes = {key: f"{ours.formulas[key].note}; {_told(live, reference, against[key], key)}" for key in open_}
    told = {key: replace(ours.formulas[key], note=note) for key, note in notes.items()}
    return replace(ours, formulas=ours.formulas | told, against=against)


def _slower(topology: Topology, late: float) -> Topology:
    """As formulas see it: constant delays are so much longer, and of others they know nothing anyway."""

    def longer(delay: Law | float) -> Law | float:
        return delay if isinstance(delay, Law) else delay + late

    links = [link if link.delay is None else link._replace(delay=longer(link.delay)) for link in topology.links]
    return replace(topology, links=links, about=topology.about | {"delay": longer(topology.delay)})


def _blind(prompt: Prediction | None) -> Prediction:
    """In the place of a formula that does not take the delay."""
    if prompt is None or not prompt.known:
        return Prediction(math.nan, note=prompt.note if prompt else "no formula")
    return Prediction(math.nan, note=f"no exact formula takes the delay of messages, without it: {prompt.value:.5f}")


def _against(ours: Findings, reference: Findings, prompt: Findings, key: Key) -> Comparison:
    """Our paths beside those of `step` with messages as late on average.

    All that an average leaves out is of the order of what it does, so that is how far off we may be.
    """
    estimate = dict(zip(ours.keys, ours.estimates, strict=True))[key]
    apart = difference(ours.amounts(*key), reference.amounts(*key), estimate.doubt)
    does = difference(reference.amounts(*key), prompt.amounts(*key)).value
    return Comparison(apart, 0.0, abs(does), 1.0 if is_share(key[1]) else estimate.value)


def _told(live: Live, reference: Findings, cell: Comparison, key: Key) -> str:
    value = dict(zip(reference.keys, reference.estimates, strict=True))[key].value
    apart = cell.estimate
    interval = "" if math.isnan(apart.error) else f" ({apart.low:+.5f} .. {apart.high:+.5f})"
    return (
        f"judged against step with wakes {live.mean_slip:.2g} and messages {live.late:.2g} late as here: {value:.5f}, "
        f"from which it is {apart.value:+.5f}{interval}, with {cell.accuracy:.5f} allowed"
    )


def _losses(compiled: Plan, g: int, live: Live) -> str:
    """What a group has suffered of hosts that were lost or stood still, with its nodes or such as it depends on."""
    needed = (
        {compiled.names[i] for i in compiled.processes.node[behind(compiled, g)]} if live.lost or live.stood else set()
    )
    own = {name for name, group in zip(compiled.names, compiled.group, strict=True) if group == g}
    words = [_loss(outage, len(own & set(outage.nodes))) for outage in live.lost if needed & set(outage.nodes)]
    words += [f"{still}, and what it was to do came late" for still in live.stood if needed & set(still.nodes)]
    words[MOST_TOLD:] = [f"and so {len(words) - MOST_TOLD} times more"] if len(words) > MOST_TOLD else []
    there = (
        [path.shares.get((compiled.groups[g], "availability")) for path in live.paths] if live.lost and words else []
    )
    if shares := [part / whole for part, whole in filter(None, there)]:
        words.append(f"{fmean(shares):.1%} of the copy-time counts")
    return "; ".join(words)


def _loss(outage: Outage, own: int) -> str:
    end = "and did not come back" if outage.back is None else f"to {outage.back:.4g}"
    what = f"{own} of its nodes here began anew" if own else "others depend on its nodes"
    return f"host {outage.host} was lost from t = {outage.heard:.4g} {end}: {what}"


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
        "stood_still": [str(still) for still in live.stood],
    }
