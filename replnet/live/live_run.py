"""A network run for real: paths of the `live` engine beside `step` and the formulas."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, Literal

from replnet.ages import Prediction
from replnet.engines import Path, Plan, Task, plan_of
from replnet.engines.nodes import Lateness, run_path
from replnet.laws import Law
from replnet.live import Live, Log, Outage, Watch, run_live
from replnet.live.placement import work_of
from replnet.measure import NO_PREDICTION, RESOLUTION, Comparison, is_share, paired_difference
from replnet.network import Network, Topology
from replnet.predictions import formulas
from replnet.run import (
    REPLICATIONS,
    Emulated,
    Findings,
    Key,
    Progress,
    provenance,
    upstream_processes,
)
from replnet.text import FieldError, name_units

INTERVALS_PER_PATH = 60.0  # longest mean intervals, of a run without a horizon that is to have so many replications
SECONDS = 30.0  # of the wall clock that a run without a horizon takes, about
MOST_NODES = 32_000  # of all replications together, whose past is to be replayed before the run
MOST_LOSSES_SHOWN = 4  # of a group or of a run, one by one
MOST_EVENTS = 1.5e6  # wakes and messages of a run without a horizon: some ten seconds on two CPUs


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
    hosts: Literal["per-node"] | int | None = None,
    time_scale: float | None = None,
    address: str | None = None,
) -> tuple[Emulated, Sequence[Path]]:
    """Run the network on the wall clock in Ray actors; return measurements beside predictions, and the paths.

    All replications run at once. `horizon` units of time are divided among them (None: as much as takes about SECONDS,
    and at most MOST_EVENTS in all); without `replications` they are REPLICATIONS, or fewer if no more can be afforded.
    The note of every row has the value that `step` counts on the same paths, which differs by the delay of messages
    only, and the hosts that were lost. A row whose formula does not account for that delay is judged against `step`
    instead, with messages as late as they were, path by path. Rows with half-widths above `resolution` are unresolved.

    `progress` is called with what is waited for before time zero, with how long the run takes, and once it is over;
    `watch` with glimpses of it, and `log` with blocks of log rows. The run has `hosts` processes (None: one per CPU) in
    the Ray cluster at `address` (None: a local one, if none is set), and takes `time_scale` seconds per unit (None: as
    few as it can keep up with). Raises FieldError for a network that starts fresh.
    """
    if network.topology.fresh_start:
        raise FieldError("start", "is not for the wall clock", "engine: array or step")
    compiled = plan_of(network)
    replications = affordable(network, horizon) if replications is None else replications
    length = _longest_path(compiled, replications) if horizon is None else horizon / max(replications, 1)
    task = Task(compiled, seed, length, estimator == "sampled")
    where: dict[str, Any] = {"hosts": hosts, "time_scale": time_scale, "address": address}
    where["aim"] = SECONDS if horizon is None else None
    tell = (lambda words: progress(0.0, name_units(words, network.unit))) if progress else lambda words: None
    live = run_live(task, replications=replications, watch=watch, log=log, tell=tell, **where)
    if progress:
        progress(1.0, "the same paths in virtual time")
    return _beside_virtual(network, replace(task, horizon=live.horizon), live, resolution), live.paths


def _beside_virtual(network: Network, task: Task, live: Live, resolution: float) -> Emulated:
    """Return the result of a live run, with `step` run on the same paths for its notes and verdicts.

    If the run was not faithful, the rows have no measured values. Rows whose intervals have half-widths above
    `resolution` are unresolved.
    """
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


def _longest_path(plan: Plan, replications: int) -> float:
    """Return the horizon, in model time, at which so many paths have MOST_EVENTS together; 1 without any events."""
    events_per_unit = float(work_of(plan).sum()) * max(replications, 1)
    return MOST_EVENTS / events_per_unit if events_per_unit else 1.0


def affordable(network: Network, horizon: float | None) -> int:
    """Return the number of replications of a live run that is not told it: from 1 to REPLICATIONS, as many as fit.

    With a `horizon`, the time of all of them together, only their nodes must fit, MOST_NODES in all. If it is None,
    their events must fit too, MOST_EVENTS in all, if each lasts INTERVALS_PER_PATH mean intervals of the slowest pulls.
    """
    compiled = plan_of(network)
    fit = MOST_NODES / len(compiled.names)
    if horizon is None:
        events_of_path = float(work_of(compiled).sum()) * INTERVALS_PER_PATH * compiled.slowest_pull_interval
        fit = min(fit, MOST_EVENTS / max(events_of_path, 1.0))  # there are none where nothing is ever pulled
    return max(1, min(REPLICATIONS, int(fit)))


def _incomplete(live: Live) -> str:
    """Return why the run is not complete, in words; empty if it is.

    The reasons are that it was cut short, that hosts were lost or stood still, and that it was too slow to be compared.
    """
    disturbances = [str(outage) for outage in live.lost if not outage.planned]
    disturbances += [str(standstill) for standstill in live.stood if standstill.nodes]
    if len(disturbances) > MOST_LOSSES_SHOWN:
        disturbances[MOST_LOSSES_SHOWN:] = [f"and so {len(disturbances) - MOST_LOSSES_SHOWN} times more"]
    uncompared = [] if live.faithful else [f"not compared: {live.why}"]
    return "; ".join([*filter(None, [live.cut_short]), *disturbances, *uncompared])


def _findings(task: Task, live: Live, virtual: list[Path], resolution: float) -> Findings:
    """Return the findings of a live run, judged by formulas that account for the delay of messages.

    A row without such a formula is judged against the paths of `step`; `virtual` are these, with the network's own
    delays. If hosts on which a group depends were lost or stood still, its rows are not judged. Rows whose intervals
    have half-widths above `resolution` are unresolved.
    """
    compiled, topology = task.plan, task.plan.topology
    virtual_findings = Findings(compiled, {}, virtual, task.sampled, resolution)
    same = "on the same paths" if len(virtual) > 1 else "on this path"
    notes = {
        group: f"step {same}: {estimate.value:.5f}"
        for (group, metric), estimate in zip(virtual_findings.keys, virtual_findings.estimates, strict=True)
        if metric == "freshness"
    }
    prompt, late = formulas(topology), formulas(_with_delay(topology, live.late))
    # A formula that only bounds the freshness of delayed copies tells less than step does.
    predictions = {
        key: prediction
        for key, prediction in late.items()
        if prediction.known and (not prediction.accuracy or prediction == prompt[key])
    }
    without = "without delay" if compiled.constant_delay == 0 else "with no other delay than the network's own"
    for group, metric in predictions:
        if metric == "freshness":
            notes[group] += f"; the formula {without}: {prompt[group, metric].value:.5f}"
    keys = dict.fromkeys([*virtual_findings.keys, *prompt])
    unpredicted = {key: _without_formula(prompt.get(key)) for key in keys if key not in predictions}
    # Losses are neither in the formula nor in step, so there is nothing to judge.
    losses = {group: _loss_note(compiled, g, live) for g, group in enumerate(compiled.groups)}
    unjudged = {group: note for group, note in losses.items() if note}
    keys_for_step = [
        key for key in virtual_findings.keys if key in unpredicted and live.faithful and key[0] not in unjudged
    ]
    notes |= {group: "" for group, metric in keys_for_step if metric == "freshness"}  # they have one of their own
    driver = [str(standstill) for standstill in live.stood if not standstill.nodes]
    driver += ["the hosts went on by themselves"] if driver and len(driver) == len(live.stood) else []
    notes = {group: "; ".join(filter(None, [words, *driver])) for group, words in notes.items()}
    findings = Findings(compiled, unpredicted | predictions, live.paths, task.sampled, resolution, unjudged, notes)
    keys_for_step = [key for key in keys_for_step if key in findings.keys]
    if not keys_for_step:
        return findings
    return _beside_late_step(findings, virtual_findings, keys_for_step, live, task, prompt)


def _beside_late_step(
    ours: Findings,
    prompt: Findings,
    keys: list[Key],
    live: Live,
    task: Task,
    formulas_without: Mapping[Key, Prediction],
) -> Findings:
    """Return `ours` with the rows of `keys` judged against `step` with messages as late, on average, as in the run.

    `prompt` are the findings of `step` with the network's own delays. Runs as many replications of `step` as that has.
    A row with a formula without the delay of messages, in `formulas_without`, is predicted by that and the effect of
    the mean delay.
    """
    lateness = Lateness(tuple(live.mean_slip + late for late in live.group_late), live.group_late)
    replications = range(len(prompt.paths))
    late_paths = [run_path(task, r, lateness) for r in replications]
    reference = replace(prompt, paths=late_paths)
    effects = {key: paired_difference(reference.amounts(*key), prompt.amounts(*key)).value for key in keys}
    against = {key: _compare(ours, reference, effects[key], key) for key in keys}
    values = dict(zip(reference.keys, reference.estimates, strict=True))
    predictions = {}
    for key, comparison in against.items():
        without = formulas_without.get(key, NO_PREDICTION)
        prediction = _with_effect(without, effects[key]) if without.known else ours.formulas[key]
        notes = [*([] if without.known else [prediction.note]), _comparison_note(values[key].value, comparison)]
        predictions[key] = replace(prediction, note="; ".join(notes))
    return replace(ours, formulas=ours.formulas | predictions, against=against)


def _with_effect(without: Prediction, effect: float) -> Prediction:
    """Return the prediction `without` the delay of messages, changed by the effect that their mean delay has in `step`.

    That effect is added to the accuracy, as the mean delay stands for delays that differ.
    """
    source = f"{without.source}; mean delay of messages"
    return Prediction(without.value + effect, "approximation", source, accuracy=without.accuracy + abs(effect))


def _with_delay(topology: Topology, late: float) -> Topology:
    """Return the topology with all constant delays longer by `late` units of time.

    Delays with a law have no formulas and stay as they are.
    """

    def longer(delay: Law | float) -> Law | float:
        """Return a constant delay increased by `late`, and a law as it is."""
        return delay if isinstance(delay, Law) else delay + late

    links = [link if link.delay is None else link._replace(delay=longer(link.delay)) for link in topology.links]
    return replace(topology, links=links, about=topology.about | {"delay": longer(topology.delay)})


def _without_formula(prompt: Prediction | None) -> Prediction:
    """Return a prediction without a value, whose note says why.

    `prompt` is the prediction without the delay of messages, whose value the note has; it is None or has no value if
    there is none.
    """
    if prompt is None or not prompt.known:
        return Prediction(math.nan, note=prompt.note if prompt else "no formula")
    return Prediction(
        math.nan, note=f"no formula accounts for the delay of messages; without that delay: {prompt.value:.5f}"
    )


def _compare(ours: Findings, reference: Findings, effect: float, key: Key) -> Comparison:
    """Return the comparison of the row `key` of our paths with the same row of `reference`.

    `reference` are the findings of `step` with messages as late on average, and `effect` is what that changes in them.
    Using the mean delay errs by at most about this effect, so it is the stated accuracy.
    """
    estimate = dict(zip(ours.keys, ours.estimates, strict=True))[key]
    deviation = paired_difference(ours.amounts(*key), reference.amounts(*key), estimate.doubt)
    return Comparison(deviation, 0.0, abs(effect), None if is_share(key[1]) else estimate.value)


def _comparison_note(value: float, comparison: Comparison) -> str:
    """Return a note on a row that was judged against a `step` as late as the run, which has this `value`.

    `comparison` has the difference from it, and how large that may be.
    """
    difference = f"it differs by {comparison.estimate.value:+.5f}, and {comparison.accuracy:.5f} is allowed"
    return f"judged against step on the same paths, as late as this run: {value:.5f}; {difference}"


def _loss_note(compiled: Plan, g: int, live: Live) -> str:
    """Return how hosts that were lost or stood still affected the group with number `g`.

    It is empty if the group depends on no node of such hosts.
    """
    upstream: set[str] = set()
    if live.lost or live.stood:
        upstream = {compiled.names[i] for i in compiled.processes.node[upstream_processes(compiled, g)]}
    members = {name for name, group in zip(compiled.names, compiled.group, strict=True) if group == g}
    words = [
        _outage_note(outage, len(members & set(outage.nodes))) for outage in live.lost if upstream & set(outage.nodes)
    ]
    words += [f"{standstill}, so its work came late" for standstill in live.stood if upstream & set(standstill.nodes)]
    if len(words) > MOST_LOSSES_SHOWN:
        words[MOST_LOSSES_SHOWN:] = [f"and so {len(words) - MOST_LOSSES_SHOWN} times more"]
    availability = (
        [path.shares.get((compiled.groups[g], "availability")) for path in live.paths] if live.lost and words else []
    )
    if shares := [part / whole for part, whole in filter(None, availability)]:
        words.append(f"{fmean(shares):.1%} of the time of copies is counted")
    return "; ".join(words)


def _outage_note(outage: Outage, members: int) -> str:
    """Return a note on a lost host for a group, of whose nodes `members` (a number, or 0) were in that host."""
    end = "and did not come back" if outage.back is None else f"to {outage.back:.4g}"
    effect = f"{members} of its nodes here began anew" if members else "others depend on its nodes"
    return f"host {outage.host} was lost from t = {outage.heard:.4g} {end}: {effect}"


def _circumstances(live: Live) -> dict[str, Any]:
    """Return how the run went, for its provenance: hosts, messages, delays, clocks and losses, as plain data."""
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
