"""Emulate a network: replications until the horizon or the precision is reached, then one table."""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from replnet.deadline import within
from replnet.engines.path import Path, Task
from replnet.engines.plan import MOST_CHOICES, Plan, plan
from replnet.engines.start import require_order
from replnet.laws.guarded import Guarded
from replnet.measure.estimate import FEWEST
from replnet.measure.metrics import Metric, metrics
from replnet.measure.verdict import RESOLUTION
from replnet.network.network import Given, Network, network_of
from replnet.predictions.formulas import formulas
from replnet.study.caveats import depends
from replnet.study.findings import Findings
from replnet.study.predict import metrics_of, require_by
from replnet.study.replications import EVENTS, REPLICATIONS, Progress, Replications, shared_out
from replnet.study.result import Emulated, provenance
from replnet.text.units import time_in

if TYPE_CHECKING:
    from replnet.live import Watch
    from replnet.study.event_log import EventLog, File
    from replnet.study.kept_run import Keeper

LONGEST = {"array": 2e7, "step": 5e4}  # events of a replication: about a second, which is what Ctrl-C can lose
ESTIMATORS = ("sampled", "conditional")
PAST = 1 + 1e-9  # how much longer than to the last time that is looked at
SHORT, MOST_REPLICATIONS = 10, 4096  # of replications that are looked at at times: part of the usual events, and most
LONGEST_SPEC = 1 << 22  # bytes that go to another process with every piece of work


def suited(network: Network) -> str:
    """The fastest engine that takes the network."""
    return "step" if plan(network).only_by_step else "array"


def emulate(
    network: Given,
    engine: str | None = None,
    *,
    seed: int = 1,
    horizon: float | str | None = None,
    precision: float | None = None,
    estimator: str = "sampled",
    replications: int | None = None,
    resolution: float = RESOLUTION,
    confirm: bool | None = None,
    progress: Progress | None = None,
    trace: File | None = None,
    measure: Iterable[str] = (),
    by: str | None = None,
    workers: int | None = None,
    address: str | None = None,
    budget: float | str | None = None,
    out: File | None = None,
    watch: Watch | None = None,
    **live: Any,
) -> Emulated:
    """Run the network, or one that comes with replnet by its name, and compare it with its predictions.

    By `array`, by `step` where only that can, or for real by `live`, which takes `hosts` and `time_scale` besides.
    `horizon` units of time, or a text such as 2h where the network has a unit, are shared out among the replications,
    32 of them or more if they would take long. With `precision`, replications are added until every interval of
    freshness has a half-width of at most that, and a smaller one where freshness is near 0 or 1 (replications.py).
    Rows that differ from their prediction are run four times longer before they are called so, or always or never if
    `confirm` says so. Ctrl-C ends the run with what there is, and so does a `budget` of seconds, or such as 10m;
    without one, nothing is begun that would take a night.
    `trace` names a Parquet file for all that happens, `measure` metrics besides freshness (metrics.py), which take the
    estimator `sampled`. With `by="source"` groups that can hear of several sources have a row of each.
    `out` names a directory in which the run is kept, for `open`, `compare` and the report: what was interrupted there
    or ran out of time is carried on with by the same call, and ends as if it had not been. `watch` is called now and
    then with a Glimpse. What takes longer than that takes to start is spread over so many `workers`, or one per CPU:
    processes of this machine, or of the Ray cluster at `address` or RAY_ADDRESS; 0 or 1 keep it in this one, with the
    same result.

    >>> found = rn.emulate("cascade", seed=1, horizon=2e4)
    >>> found.verdict, found.table.columns[:4].tolist()
    ('agree', ['group', 'metric', 'measured', 'ci_low'])
    """
    from replnet.study.event_log import event_log

    network = network_of(network)
    length = time_in(horizon, network.unit, "horizon")
    if engine == "live":
        live |= {"seed": seed, "horizon": length, "estimator": estimator, "replications": replications}
        live |= {"resolution": resolution, "progress": progress, "address": address, "watch": watch}
        return _live(network, metrics_of(network, measure), by, precision, workers, trace, **live, out=out)
    engine, asked = engine or suited(network), _asked(network, measure, estimator)
    _check(engine, seed, length, precision, estimator, replications, resolution, by, live)
    _require_one_file(trace, out)
    begun = time.perf_counter()
    given: dict[str, Any] = {"engine": engine, "seed": seed, "horizon": length, "replications": replications, "by": by}
    given |= {"resolution": resolution, "estimator": estimator}
    how = given | {"precision": precision, "confirm": confirm, "measure": [one.name for one in asked]}
    with within(budget), event_log(trace, network, seed, engine) as log, kept(out, network, how) as keeper:
        made = replicated(plan(network), **given, asked=asked, log=log)
        _accompany(made, keeper, watch)
        if log is None and workers != 0:
            same = Same(b"", engine, seed, made.length, estimator == "sampled", tuple(one.name for one in asked), by)
            made.spread = partial(_spread, network, same, made.run, workers, address)
            made.workers, made.soon = partial(_sharing, workers), partial(_soon, address)
        made.all(precision, confirm, progress)
        result = _emulated(network, made, engine, estimator, seed, time.perf_counter() - begun)
        if keeper is not None:
            keeper.end(result, made.paths, made.stopped)
    return result


def _emulated(
    network: Network, made: Replications[Path], engine: str, estimator: str, seed: int, seconds: float
) -> Emulated:
    found, (events, queries), data = made.found, made.counts, network.data()
    return Emulated(
        network=data,
        rows=tuple(found.rows()) if made.paths else (),
        provenance=provenance(data, seed=seed, engine=engine),
        engine=engine,
        estimator=estimator,
        seed=seed,
        horizon=made.length * len(made.paths),
        replications=len(made.paths),
        events=events,
        queries=queries,
        seconds=seconds,
        incomplete=made.incomplete,
        draws=found.draws if made.paths else {},
    )


def kept(out: File | None, network: Network, how: Mapping[str, Any]) -> AbstractContextManager[Keeper | None]:
    """What keeps a run, if a directory is named for it; what that takes is loaded only then."""
    if out is None:
        return nullcontext()
    from replnet.study.kept_run import keeping

    return keeping(out, network, how)


def _accompany(made: Replications[Path], keeper: Keeper | None, watch: Watch | None) -> None:
    """Replications are kept, and shown, as they are made, where that was asked for."""
    if keeper is not None:
        made.known = keeper.paths
        made.keep.append(keeper.keep)
    if watch is not None:
        from replnet.study.glimpsing import glimpsing

        made.keep.append(glimpsing(made, watch))


def _require_one_file(trace: File | None, out: File | None) -> None:
    if trace is not None and out is not None:
        wrong = "a run that is carried on with in a directory does not have all its events"
        raise ValueError(f"trace: {wrong} (leave out the directory or the trace)")


def _asked(network: Network, measure: Iterable[str], estimator: str) -> tuple[Metric, ...]:
    """The metrics, if these can be measured here."""
    asked = metrics_of(network, measure)
    if asked and estimator != "sampled":
        raise ValueError(f"measure: {asked[0].name} is measured against the updates that happened (estimator: sampled)")
    lasting = [one.name for one in asked if one.lasting]
    if lasting and any(fault.crash is not None for fault in network.spec.faults):
        wrong = f"{lasting[0]} is not measured where copies also end by crashes"
        raise ValueError(f"measure: {wrong} (freshness, availability)")
    return asked


def _live(
    network: Network,
    asked: tuple[Metric, ...],
    by: str | None,
    precision: float | None,
    workers: int | None,
    trace: File | None,
    **how: Any,
) -> Emulated:
    """On the wall clock, where not everything can be asked for."""
    from replnet.study.event_log import event_log
    from replnet.study.live_run import run_for_real

    if asked:
        raise ValueError(f"measure: {asked[0].name} is not measured on the wall clock (engine: array or step)")
    if by is not None:
        raise ValueError("by: sources are not measured one by one on the wall clock (engine: array or step)")
    if precision is not None:
        raise ValueError("precision: time on the wall clock is asked for (horizon or replications)")
    if workers is not None:
        raise ValueError("workers: hosts share the nodes of a live run (hosts)")
    with event_log(trace, network, how["seed"], "live") as log:
        return run_for_real(network, log=log.add if log else None, **how)


def _check(
    engine: str,
    seed: int,
    horizon: float | None,
    precision: float | None,
    estimator: str,
    replications: int | None,
    resolution: float,
    by: str | None,
    live: Iterable[str],
) -> None:
    require_by(by)
    for name in live:
        if name not in ("hosts", "time_scale"):
            raise TypeError(f"emulate() got an unexpected keyword argument {name!r}")
        raise ValueError(f"{name}: is of live runs (engine: live)")
    if engine not in EVENTS:
        raise ValueError(f"engine: {engine!r} is not an engine ({' or '.join(EVENTS)})")
    if estimator not in ESTIMATORS:
        raise ValueError(f"estimator: {estimator!r} is not an estimator ({' or '.join(ESTIMATORS)})")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed: {seed!r} is not a whole number of 0 or more (such as 1)")
    whole = isinstance(replications, int) and not isinstance(replications, bool)
    if replications is not None and not (whole and replications > 0):
        right = f"a whole number above 0, {FEWEST} or more for intervals"
        raise ValueError(f"replications: {replications!r} is not a number of replications ({right})")
    for name, value in (("horizon", horizon), ("precision", precision), ("resolution", resolution)):
        if value is not None and not (
            isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
        ):
            raise ValueError(f"{name}: {value!r} is not a number above 0")


def replicated(
    compiled: Plan,
    *,
    engine: str,
    seed: int,
    horizon: float | None,
    replications: int | None,
    resolution: float,
    estimator: str,
    asked: tuple[Metric, ...],
    by: str | None,
    log: EventLog | None,
) -> Replications[Path]:
    """What makes the replications of a run, and says what they amount to."""
    moments = [(one.question.at, one.name) for one in asked if one.question.at is not None]
    if horizon is None and moments:
        length = max(max(moments)[0] * PAST, 1 / max(compiled.rate, 1e-300))
        first = replications or _many(compiled.rate * length, EVENTS[engine])
    else:
        whole = default_horizon(compiled, EVENTS[engine]) if horizon is None else horizon
        longest = LONGEST[engine] / (2 if compiled.topology.each else 1)
        first, length = shared_out(whole, replications, compiled.rate, longest)
    if moments and max(moments)[0] >= length:
        wrong = f"{max(moments)[1]} is past the end of a replication, {length:.6g}"
        raise ValueError(f"measure: {wrong} (a longer horizon, or fewer replications)")
    questions = {one.name: one.question for one in asked}
    names = compiled.rows if by == "source" else compiled.own_rows
    task = Task(compiled, seed, length, estimator == "sampled", questions, names, log.keep if log else None)
    expected = formulas(compiled.topology, asked, by == "source")

    def found(paths: Sequence[Path]) -> Findings:
        return Findings(compiled, expected, paths, task.sampled, resolution, asked=asked, depends=depend())

    @cache
    def depend() -> dict[str, str]:
        """By group; what is averaged over updates does not depend on how they meet downloads."""
        predicted = {group for (group, _), formula in expected.items() if formula.known}
        rows = compiled.rows.items() if task.sampled else ()
        return {name: depends(compiled, g, seed, row) for name, (g, row) in rows if name in predicted}

    run, room = _runner(task, engine)
    return Replications(first, length, compiled.rate * length, run, found, _counted, EVENTS[engine], room)


# ---- Elsewhere


class Same(NamedTuple):
    """What replications have in common that other processes make."""

    spec: bytes
    engine: str
    seed: int
    length: float
    sampled: bool
    measure: tuple[str, ...]
    by: str | None


def _portable(network: Network) -> bytes:
    """The specification for other processes; nothing where they could not read it, or it is too long to send around."""
    laws = [law.law if isinstance(law, Guarded) else law for law in network.topology.laws]
    if any(type(law).__module__ == "__main__" for law in laws):
        return b""
    try:
        found = pickle.dumps(network.spec)
    except (pickle.PicklingError, AttributeError, TypeError):
        return b""
    return found if len(found) <= LONGEST_SPEC else b""


def _spread(
    network: Network,
    same: Same,
    run: Callable[[range], list[Path]],
    workers: int | None,
    address: str | None,
    groups: Sequence[Sequence[range]],
) -> Iterator[tuple[int, list[Path]]]:
    """By place of the group, as they are done; by `run` where others could not make them."""
    from replnet.live import pool

    same = same._replace(spec=_portable(network))
    if not same.spec:
        yield from ((place, [path for some in group for path in run(some)]) for place, group in enumerate(groups))
        return
    jobs = [(same, [(some.start, some.stop) for some in group]) for group in groups]
    order = [-float(at) for at in range(len(jobs))]
    with closing(pool.run(paths_of, jobs, order, workers, address, here=True)) as results:
        for place, found in results:
            if isinstance(found, pool.Failure):
                raise RuntimeError(f"{found.reason}\n{found.trace}".rstrip())
            yield place, found


def _sharing(workers: int | None) -> int:
    """How many share the work; of a cluster whose size nobody has said, as many as here."""
    from replnet.live import pool

    return max(pool.cores() if workers is None else workers, 1)


def _soon(address: str | None) -> bool:
    from replnet.live import pool

    return pool.soon(address)


def paths_of(job: tuple[Same, Sequence[tuple[int, int]]]) -> list[Path]:
    """What a worker does."""
    same, ranges = job
    run = _prepared(same)
    return [replace(path, copies=None) for begin, end in ranges for path in run(range(begin, end))]


@lru_cache(maxsize=1)
def _prepared(same: Same) -> Callable[[range], list[Path]]:
    compiled = plan(Network(pickle.loads(same.spec)))
    questions = {one.name: one.question for one in metrics(same.measure)}
    names = compiled.rows if same.by == "source" else compiled.own_rows
    return _runner(Task(compiled, same.seed, same.length, same.sampled, questions, names), same.engine)[0]


def default_horizon(compiled: Plan, events: float) -> float:
    """All replications together, of a run whose length nobody asked for."""
    horizon = events / max(compiled.rate, 1e-300)
    if not compiled.topology.each:
        return _round(horizon)
    return horizon / sum(min(compiled.members(g).size, MOST_CHOICES) for g in range(len(compiled.groups)))


def _many(events: float, enough: float) -> int:
    """How many short replications of so many events each."""
    return int(min(max(enough / SHORT / events, REPLICATIONS), MOST_REPLICATIONS))


def _counted(path: Path) -> tuple[int, int]:
    updates, downloads, polls, queries = path.counts
    return updates + downloads + polls, queries


def _round(x: float) -> float:
    """To two significant digits, for a horizon that reads well."""
    digits = 10.0 ** (math.floor(math.log10(x)) - 1)
    return float(f"{round(x / digits) * digits:.6g}")


def _runner(task: Task, engine: str) -> tuple[Callable[[range], list[Path]], int]:
    """What runs some replications, and how many of them at most at a time."""
    require_order(task.plan)
    if engine == "array":
        from replnet.engines import array

        return array.runner(task)
    from replnet.engines import step

    return step.runner(task)
