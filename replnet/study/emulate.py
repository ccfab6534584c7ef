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
from replnet.measure.estimate import FEWEST_REPLICATIONS
from replnet.measure.metrics import Metric, metrics
from replnet.measure.verdict import RESOLUTION
from replnet.network.network import Given, Network, network_of
from replnet.predictions.formulas import Tell, formulas
from replnet.study.caveats import age_dependence_note
from replnet.study.findings import Findings
from replnet.study.predict import metrics_of, require_by
from replnet.study.replications import EVENTS, REPLICATIONS, Progress, Replications, split_horizon
from replnet.study.result import Emulated, provenance
from replnet.text.units import time_in

if TYPE_CHECKING:
    from replnet.live import Watch
    from replnet.study.event_log import EventLog, File, Trace
    from replnet.study.kept_run import RunStore

LONGEST_REPLICATION = {"array": 2e7, "step": 5e4}  # in events: about a second, which is what Ctrl-C can lose
ESTIMATORS = ("sampled", "conditional")
PAST_LAST_MOMENT = 1 + 1e-9  # how much longer a replication is than to the last `at` of a metric
SHORT_RUN_DIVISOR = 10  # by which a run of metrics `at` a moment has fewer events than one without a horizon
MOST_REPLICATIONS = 4096  # of such a run
LONGEST_SPECIFICATION = 1 << 22  # bytes that go to another process with every piece of work


def fastest_engine(network: Network) -> str:
    """Return the name of the fastest engine that can run the network."""
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
    trace: Trace | None = None,
    measure: Iterable[str] = (),
    by: str | None = None,
    workers: int | None = None,
    address: str | None = None,
    budget: float | str | None = None,
    out: File | None = None,
    watch: Watch | None = None,
    **live: Any,
) -> Emulated:
    """Run a network, or a shipped one by its name, and return the measurements beside the predictions.

    `engine` is array, step (the default where array cannot run the network), or live for real runs, which also take
    `hosts` and `time_scale`. `horizon` units of time, or a text such as 2h if the network has a unit, are divided among
    the `replications`: 32, or more if they would take long. With a `precision` replications are added until every
    interval of freshness has at most this half-width, a smaller one near 0 or 1. If a row differs from its prediction,
    the run goes on to four times its length before it says so; always or never if `confirm` is True or False. Ctrl-C
    ends the run with the results so far, and so does a `budget` in seconds, or a text such as 10m; without one, a run
    of a night is refused. `trace` is a Parquet file, named or open, for the log of events. `measure` names metrics
    besides freshness (metrics.py), which need the estimator `sampled`. With `by="source"` groups that can hold copies
    of several sources have a row for each. `out` names a directory that keeps the run for `open`, `compare` and the
    report; the same call resumes a run there that was interrupted or ran out of time. `watch` is called now and then
    with a Glimpse. Long runs are shared among so many `workers`, or one per CPU: processes of this machine, or of the
    Ray cluster at `address` or RAY_ADDRESS; 0 or 1 keep it in this process, with the same result.

    >>> result = rn.emulate("cascade", seed=1, horizon=2e4)
    >>> result.verdict, result.table.columns[:4].tolist()
    ('agree', ['group', 'metric', 'measured', 'ci_low'])
    """
    from replnet.study.event_log import event_log

    network = network_of(network)
    length = time_in(horizon, network.unit, "horizon")
    if engine == "live":
        live |= {"seed": seed, "horizon": length, "estimator": estimator, "replications": replications}
        live |= {"resolution": resolution, "progress": progress, "address": address, "watch": watch}
        return _run_live(network, metrics_of(network, measure), by, precision, workers, trace, **live, out=out)
    engine, requested = engine or fastest_engine(network), _requested_metrics(network, measure, estimator)
    _check_arguments(engine, seed, length, precision, estimator, replications, resolution, by, live)
    _refuse_trace_with_directory(trace, out)
    begun = time.perf_counter()
    settings: dict[str, Any] = {"engine": engine, "seed": seed, "horizon": length, "replications": replications}
    settings |= {"by": by, "resolution": resolution, "estimator": estimator}
    how = settings | {"precision": precision, "confirm": confirm, "measure": [metric.name for metric in requested]}
    with within(budget), event_log(trace, network, seed, engine) as log, optional_store(out, network, how) as store:
        settings |= {"requested": requested, "log": log, "tell": progress and partial(progress, 0.0)}
        series = prepare_replications(plan(network), **settings)
        _add_listeners(series, store, watch)
        if log is None and workers != 0:
            shared = JobArguments(b"", engine, seed, series.length, estimator == "sampled", tuple(how["measure"]), by)
            series.run_elsewhere = partial(_run_on_workers, network, shared, series.run, workers, address)
            series.workers = partial(_count_workers, workers)
            series.workers_ready = partial(_are_workers_ready, workers, address)
        series.run_all(precision, confirm, progress)
        result = _build_result(network, series, engine, estimator, seed, time.perf_counter() - begun)
        if store is not None:
            store.end(result, series.paths, series.stopped)
    return result


def _build_result(
    network: Network, series: Replications[Path], engine: str, estimator: str, seed: int, seconds: float
) -> Emulated:
    """Return the result of these replications, which took so many seconds."""
    judgement, (events, queries), data = series.judgement, series.counts, network.data()
    return Emulated(
        network=data,
        rows=tuple(judgement.rows()) if series.paths else (),
        provenance=provenance(data, seed=seed, engine=engine),
        engine=engine,
        estimator=estimator,
        seed=seed,
        horizon=series.length * len(series.paths),
        replications=len(series.paths),
        events=events,
        queries=queries,
        seconds=seconds,
        incomplete=series.incomplete,
        draws=judgement.draws if series.paths else {},
    )


def optional_store(
    out: File | None, network: Network, how: Mapping[str, Any]
) -> AbstractContextManager[RunStore | None]:
    """Return a context with the store of a run in the directory `out`, or with None if there is no directory.

    `how` are the arguments of emulate on which the result depends.
    """
    if out is None:
        return nullcontext()
    from replnet.study.kept_run import open_run_store

    return open_run_store(out, network, how)


def _add_listeners(series: Replications[Path], store: RunStore | None, watch: Watch | None) -> None:
    """Start from the stored paths, and have new ones stored, and shown to `watch`, as they are made."""
    if store is not None:
        series.stored = store.paths
        series.listeners.append(store.add)
    if watch is not None:
        from replnet.study.glimpsing import glimpse_sender

        series.listeners.append(glimpse_sender(series, watch))


def _refuse_trace_with_directory(trace: Trace | None, out: File | None) -> None:
    """Raise ValueError if a run is to have both a trace and a directory."""
    if trace is not None and out is not None:
        wrong = "a run that is resumed in a directory does not have all its events"
        raise ValueError(f"trace: {wrong} (leave out the directory or the trace)")


def _requested_metrics(network: Network, measure: Iterable[str], estimator: str) -> tuple[Metric, ...]:
    """Return the metrics named in `measure`, or raise ValueError if this network cannot be measured by them."""
    requested = metrics_of(network, measure)
    if requested and estimator != "sampled":
        wrong = f"{requested[0].name} is measured against the updates that happened"
        raise ValueError(f"measure: {wrong} (estimator: sampled)")
    lasting = [metric.name for metric in requested if metric.is_about_durations]
    if lasting and any(fault.crash is not None for fault in network.spec.faults):
        wrong = f"{lasting[0]} is not measured where copies also end by crashes"
        raise ValueError(f"measure: {wrong} (freshness, availability)")
    return requested


def _run_live(
    network: Network,
    requested: tuple[Metric, ...],
    by: str | None,
    precision: float | None,
    workers: int | None,
    trace: Trace | None,
    **how: Any,
) -> Emulated:
    """Run the network on the wall clock, or raise ValueError for an argument that the live engine does not take."""
    from replnet.study.event_log import event_log
    from replnet.study.live_run import run_for_real

    if requested:
        raise ValueError(f"measure: {requested[0].name} is not measured on the wall clock (engine: array or step)")
    if by is not None:
        raise ValueError("by: sources are not measured one by one on the wall clock (engine: array or step)")
    if precision is not None:
        raise ValueError("precision: a live run ends after a time, not at a precision (horizon or replications)")
    if workers is not None:
        raise ValueError("workers: hosts share the nodes of a live run (hosts)")
    with event_log(trace, network, how["seed"], "live") as log:
        return run_for_real(network, log=log.add if log else None, **how)


def _check_arguments(
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
    """Raise ValueError for the first of these arguments of `emulate` that is wrong; `live` are unexpected keywords."""
    require_by(by)
    for name in live:
        if name not in ("hosts", "time_scale"):
            raise TypeError(f"emulate() got an unexpected keyword argument {name!r}")
        raise ValueError(f"{name}: is for live runs only (engine: live)")
    if engine not in EVENTS:
        raise ValueError(f"engine: {engine!r} is not an engine ({' or '.join(EVENTS)})")
    if estimator not in ESTIMATORS:
        raise ValueError(f"estimator: {estimator!r} is not an estimator ({' or '.join(ESTIMATORS)})")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed: {seed!r} is not a whole number of 0 or more (such as 1)")
    whole = isinstance(replications, int) and not isinstance(replications, bool)
    if replications is not None and not (whole and replications > 0):
        right = f"a whole number above 0, {FEWEST_REPLICATIONS} or more for intervals"
        raise ValueError(f"replications: {replications!r} is not a number of replications ({right})")
    for name, value in (("horizon", horizon), ("precision", precision), ("resolution", resolution)):
        if value is not None and not (
            isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
        ):
            raise ValueError(f"{name}: {value!r} is not a number above 0")


def prepare_replications(
    compiled: Plan,
    *,
    engine: str,
    seed: int,
    horizon: float | None,
    replications: int | None,
    resolution: float,
    estimator: str,
    requested: tuple[Metric, ...],
    by: str | None,
    log: EventLog | None,
    tell: Tell | None = None,
) -> Replications[Path]:
    """Return the replications of a run, none made yet, with the formulas that judge them.

    The arguments are those of `emulate`, with `requested` for the metrics of `measure`. `log` takes their events, and
    `tell` is called with words about the formula that is being worked out.
    """
    moments = [(metric.question.at, metric.name) for metric in requested if metric.question.at is not None]
    if horizon is None and moments:
        length = max(max(moments)[0] * PAST_LAST_MOMENT, 1 / max(compiled.event_rate, 1e-300))
        first = replications or _short_replications(compiled.event_rate * length, EVENTS[engine])
    else:
        whole = default_horizon(compiled, EVENTS[engine]) if horizon is None else horizon
        longest = LONGEST_REPLICATION[engine] / (2 if compiled.topology.process_columns else 1)
        first, length = split_horizon(whole, replications, compiled.event_rate, longest)
    if moments and max(moments)[0] >= length:
        wrong = f"{max(moments)[1]} is past the end of a replication, {length:.6g}"
        raise ValueError(f"measure: {wrong} (a longer horizon, or fewer replications)")
    questions = {metric.name: metric.question for metric in requested}
    names = compiled.rows if by == "source" else compiled.default_rows
    task = Task(compiled, seed, length, estimator == "sampled", questions, names, log.keep if log else None)
    predictions = formulas(compiled.topology, requested, by == "source", tell)

    def judge(paths: Sequence[Path]) -> Findings:
        """Return the rows of these paths."""
        notes = dependence_notes()
        return Findings(
            compiled, predictions, paths, task.sampled, resolution, metrics=requested, dependence_notes=notes
        )

    @cache
    def dependence_notes() -> dict[str, str]:
        """Return the notes on dependent ages, by group; none if `conditional` averages over the updates."""
        predicted = {group for (group, _), prediction in predictions.items() if prediction.known}
        rows = compiled.rows.items() if task.sampled else ()
        return {name: age_dependence_note(compiled, g, seed, row) for name, (g, row) in rows if name in predicted}

    run, batch = _load_engine(task, engine)
    return Replications(first, length, compiled.event_rate * length, run, judge, _count_events, EVENTS[engine], batch)


# ---- On workers


class JobArguments(NamedTuple):
    """The arguments that go to worker processes, the same for all replications; `spec` is a pickled specification."""

    spec: bytes
    engine: str
    seed: int
    length: float
    sampled: bool
    measure: tuple[str, ...]
    by: str | None


def _pickle_specification(network: Network) -> bytes:
    """Return the specification, pickled for workers; empty if they could not read it, or it is too long to send."""
    from replnet.live.by_value import CannotTravelError, dumps

    try:
        pickled = dumps(network.spec)
    except CannotTravelError:
        return b""
    return pickled if len(pickled) <= LONGEST_SPECIFICATION else b""


def _run_on_workers(
    network: Network,
    shared: JobArguments,
    run: Callable[[range], list[Path]],
    workers: int | None,
    address: str | None,
    groups: Sequence[Sequence[range]],
) -> Iterator[tuple[int, list[Path]]]:
    """Yield (place of the group, its paths) for groups of ranges of replications, as workers finish them.

    If workers could not read the specification, `run` makes them in this process.
    """
    from replnet.live import pool

    shared = shared._replace(spec=_pickle_specification(network))
    if not shared.spec:
        yield from ((place, [path for numbers in group for path in run(numbers)]) for place, group in enumerate(groups))
        return
    jobs = [(shared, [(numbers.start, numbers.stop) for numbers in group]) for group in groups]
    sizes = [-float(place) for place in range(len(jobs))]  # the pool begins with the largest: here, with the first
    with closing(pool.run(run_job, jobs, sizes, workers, address, here=True)) as results:
        for place, paths in results:
            if isinstance(paths, pool.Failure):
                raise RuntimeError(f"{paths.reason}\n{paths.trace}".rstrip())
            yield place, paths


def _count_workers(workers: int | None) -> int:
    """Return how many workers share the run; if None, as many as this machine has CPUs, also of a cluster."""
    from replnet.live import pool

    return max(pool.cores() if workers is None else workers, 1)


def _are_workers_ready(workers: int | None, address: str | None) -> bool:
    """Whether even little work is shared: the user named a number of workers, or some are running and idle."""
    from replnet.live import pool

    return workers is not None or pool.are_idle(address)


def run_job(job: tuple[JobArguments, Sequence[tuple[int, int]]]) -> list[Path]:
    """Return the paths of a job: of replications in ranges (begin, end). Workers call it."""
    shared, ranges = job
    run = _prepare_run(shared)
    return [replace(path, copies=None) for begin, end in ranges for path in run(range(begin, end))]


@lru_cache(maxsize=1)
def _prepare_run(shared: JobArguments) -> Callable[[range], list[Path]]:
    """Return a function from a range of replications to their paths, for these arguments."""
    compiled = plan(Network(pickle.loads(shared.spec)))
    questions = {metric.name: metric.question for metric in metrics(shared.measure)}
    names = compiled.rows if shared.by == "source" else compiled.default_rows
    return _load_engine(Task(compiled, shared.seed, shared.length, shared.sampled, questions, names), shared.engine)[0]


def default_horizon(compiled: Plan, events: float) -> float:
    """Return the horizon, over all replications, of a run without one that is to have about so many events."""
    horizon = events / max(compiled.event_rate, 1e-300)
    if not compiled.topology.process_columns:
        return _round_to_two_digits(horizon)
    return horizon / sum(min(compiled.members(g).size, MOST_CHOICES) for g in range(len(compiled.groups)))


def _short_replications(events: float, long_run: float) -> int:
    """Return how many replications of so many events each a run has that is looked at only at given moments.

    `long_run` events are as many as a run without a horizon has.
    """
    return int(min(max(long_run / SHORT_RUN_DIVISOR / events, REPLICATIONS), MOST_REPLICATIONS))


def _count_events(path: Path) -> tuple[int, int]:
    """Return the number of events of replicas and sources on a path, and the number of queries."""
    updates, downloads, polls, queries = path.counts
    return updates + downloads + polls, queries


def _round_to_two_digits(x: float) -> float:
    """Return x rounded to two significant digits, for a horizon that reads well."""
    digits = 10.0 ** (math.floor(math.log10(x)) - 1)
    return float(f"{round(x / digits) * digits:.6g}")


def _load_engine(task: Task, engine: str) -> tuple[Callable[[range], list[Path]], int]:
    """Return a function from a range of replications to their paths, and how many it may make at a time."""
    require_order(task.plan)
    if engine == "array":
        from replnet.engines import array

        return array.make_runner(task)
    from replnet.engines import step

    return step.make_runner(task)
