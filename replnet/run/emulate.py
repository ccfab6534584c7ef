"""Emulate a network: replications until the horizon or the precision is reached, then one table."""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from replnet.ages import Prediction
from replnet.engines import MOST_CHOICES, Keep, Path, Plan, Task, plan_of, require_order
from replnet.measure import Metric, functions_among, metric_of_function, metrics
from replnet.network import Network
from replnet.predictions import formulas
from replnet.run.caveats import age_dependence_note, other_estimator_note
from replnet.run.findings import Findings, Key
from replnet.run.predict import metrics_of
from replnet.run.replications import EVENTS, INTERRUPTED, REPLICATIONS, Progress, Replications, split_horizon
from replnet.run.result import Emulated, provenance
from replnet.run.settings import Settings
from replnet.text import FieldError

if TYPE_CHECKING:
    from replnet.run.event_log import EventLog

LONGEST_REPLICATION = {"array": 2e7, "step": 5e4}  # in events: about a second, which is what Ctrl-C can lose
PAST_LAST_MOMENT = 1 + 1e-9  # how much longer a replication is than to the last `at` of a metric
SHORT_RUN_DIVISOR = 10  # by which a run of metrics `at` a moment has fewer events than one without a horizon
MOST_REPLICATIONS = 4096  # of such a run
LONGEST_SPECIFICATION = 1 << 22  # bytes that go to another process with every piece of work


def fastest_engine(network: Network) -> str:
    """Return the name of the fastest engine that can run the network: array, or else step."""
    return "step" if plan_of(network).only_by_step else "array"


def emulate_network(
    network: Network,
    settings: Settings,
    *,
    progress: Progress | None = None,
    log: EventLog | None = None,
    workers: int | None = 0,
    address: str | None = None,
    stored: Sequence[Path] = (),
    listeners: Sequence[Callable[[Replications[Path]], None]] = (),
) -> tuple[Emulated, Replications[Path]]:
    """Run a network in virtual time; return the measurements beside the predictions, and the replications.

    `progress` is called with the share of work that is done (0 to 1) and words about it, and `log` takes all events.
    Work is shared by so many `workers`, processes of this machine or actors of the Ray cluster at `address` (0: none;
    None: one per CPU), unless there is a `log`. The first paths may be `stored` from an earlier run; `listeners` are
    called with the replications whenever there are more. Ctrl-C and deadlines end the run with what there is.
    ValueError says that the settings do not suit the network, UnreasonableError that the run would take too long.
    """
    from replnet.workers import jobs as worker_jobs

    worker_jobs.require_workers(workers)
    begun = time.perf_counter()
    requested = requested_metrics(network, settings)
    names = tuple(metric.name for metric in requested)
    settings = replace(settings, engine=settings.engine or fastest_engine(network), measure=names)
    task, first = plan_task(network, settings, requested, log)
    series = prepare_replications(network, settings, requested, task, first, progress)
    series.stored, series.listeners = stored, [*listeners]
    if log is None and workers != 0:
        shared = JobArguments(b"", settings, task.horizon)
        series.run_elsewhere = partial(_run_on_workers, network, shared, series.run, workers, address)
        series.workers = partial(_count_workers, workers)
        series.workers_ready = partial(_are_workers_ready, workers, address)
    if not series.incomplete:
        series.run_all(settings.precision, settings.confirm, progress)
    return _build_result(network, series, settings, time.perf_counter() - begun), series


def replications_of(network: Network, settings: Settings) -> Replications[Path]:
    """Return the replications of a run, none made yet, to be judged beside the predictions, which are worked out now.

    ValueError says that the settings do not suit the network.
    """
    requested = requested_metrics(network, settings)
    return prepare_replications(network, settings, requested, *plan_task(network, settings, requested), None)


def _build_result(network: Network, series: Replications[Path], settings: Settings, seconds: float) -> Emulated:
    """Return the result of a run from its replications, the `series`, which took so many `seconds`."""
    judgement, (events, queries), data = series.judgement, series.counts, network.data()
    assert settings.engine is not None
    return Emulated(
        network=data,
        rows=tuple(judgement.rows()) if series.paths else (),
        provenance=provenance(data, seed=settings.seed, engine=settings.engine),
        engine=settings.engine,
        estimator=settings.estimator,
        seed=settings.seed,
        horizon=series.length * len(series.paths),
        replications=len(series.paths),
        events=events,
        queries=queries,
        seconds=seconds,
        incomplete=series.incomplete,
        draws=judgement.draws if series.paths else {},
    )


def requested_metrics(network: Network, settings: Settings) -> tuple[Metric, ...]:
    """Return the metrics that `settings.measure` names, without those that every run measures.

    Raise FieldError if a name is wrong, or this network or estimator cannot be measured by them.
    """
    requested = metrics_of(network, settings.measure)
    if requested and settings.estimator != "sampled":
        wrong = f"{requested[0].name} is measured against the updates that happened"
        raise FieldError("measure", wrong, "estimator: sampled")
    lasting = [metric.name for metric in requested if metric.is_about_durations]
    if lasting and any(fault.crash is not None for fault in network.spec.faults):
        wrong = f"{lasting[0]} is not measured where copies also end by crashes"
        raise FieldError("measure", wrong, "freshness, availability")
    return requested


def plan_task(
    network: Network, settings: Settings, requested: tuple[Metric, ...], log: EventLog | None = None
) -> tuple[Task, int]:
    """Return the task that all replications share, and how many replications a run begins with.

    `requested` are the metrics besides those that every run measures, and `log`, if there is one, takes the events.
    Raises FieldError if a metric looks at an instant past the end of a replication.
    """
    compiled, engine, horizon = plan_of(network), settings.engine or fastest_engine(network), settings.horizon
    moments = [(metric.question.at, metric.name) for metric in requested if metric.question.at is not None]
    if horizon is None and moments:
        length = max(max(moments)[0] * PAST_LAST_MOMENT, 1 / max(compiled.event_rate, 1e-300))
        first = settings.replications or _short_replications(compiled.event_rate * length, EVENTS[engine])
    else:
        whole = default_horizon(compiled, EVENTS[engine]) if horizon is None else horizon
        longest = LONGEST_REPLICATION[engine] / (2 if compiled.topology.process_columns else 1)
        first, length = split_horizon(whole, settings.replications, compiled.event_rate, longest)
    if moments and max(moments)[0] >= length:
        wrong = f"{max(moments)[1]} is past the end of a replication, {length:.6g}"
        raise FieldError("measure", wrong, "a longer horizon, or fewer replications")
    return _task_of(network, settings, requested, length, log.keep if log else None), first


def _task_of(
    network: Network,
    settings: Settings,
    requested: tuple[Metric, ...],
    length: float,
    keep: Callable[[int], Keep] | None = None,
) -> Task:
    """Return the task of replications of `length` units of time each, with the questions of the `requested` metrics.

    `keep(replication)`, if it is given, returns the function that takes the events of that replication.
    """
    compiled, questions = plan_of(network), {metric.name: metric.question for metric in requested}
    names = compiled.rows if settings.by == "source" else compiled.default_rows
    return Task(compiled, settings.seed, length, settings.estimator == "sampled", questions, names, keep)


def prepare_replications(
    network: Network,
    settings: Settings,
    requested: tuple[Metric, ...],
    task: Task,
    first: int,
    progress: Progress | None,
) -> Replications[Path]:
    """Return the replications of a run, none made yet, to be judged beside the predictions, which are worked out now.

    `task` is what they share, and `first` is how many are made unless a precision or a difference asks for more.
    `requested` are the metrics besides those that every run measures, and `progress` is called with 0.0 and words about
    the formula that is being worked out. If a deadline or Ctrl-C comes meanwhile, `incomplete` says so.
    """
    compiled, engine = task.plan, settings.engine or fastest_engine(network)
    predictions: dict[Key, Prediction] = {}
    run: Callable[[range], list[Path]] = _run_none
    batch, incomplete = 1, ""
    try:
        tell = progress and partial(progress, 0.0)
        predictions = formulas(network.topology, requested, settings.by == "source", tell)
        run, batch = _load_engine(task, engine)
    except KeyboardInterrupt as why:
        incomplete = f"{why.args[0] if why.args else INTERRUPTED} after 0 replications"

    def judge(paths: Sequence[Path]) -> Findings:
        """Return the estimates and rows of these paths, beside the predictions."""
        return Findings(
            compiled, predictions, paths, task.sampled, settings.resolution, notes=estimator_notes(),
            metrics=requested, dependence_notes=dependence_notes(),
        )  # fmt: skip

    @cache
    def estimator_notes() -> dict[str, str]:
        """Return the notes, by the names of rows, on the estimator that has an interval where this one has none."""
        rows = compiled.rows.items() if task.sampled else ()
        return {name: other_estimator_note(compiled, g, row) for name, (g, row) in rows}

    @cache
    def dependence_notes() -> dict[str, str]:
        """Return the notes on ages that depend on one another, by the names of the rows with a known prediction.

        A note is empty if they seem independent. There are none with the estimator `conditional`, which averages over
        the updates.
        """
        predicted = {group for (group, _), prediction in predictions.items() if prediction.known}
        rows = compiled.rows.items() if task.sampled else ()
        return {
            name: age_dependence_note(compiled, g, settings.seed, row) for name, (g, row) in rows if name in predicted
        }

    events = compiled.event_rate * task.horizon
    series = Replications(first, task.horizon, events, run, judge, _count_events, EVENTS[engine], batch)
    series.incomplete = incomplete
    return series


def _run_none(replications: range) -> list[Path]:
    """Return no paths, whatever the replications: of a run that ended before its engine was there."""
    return []


# ---- On workers


class JobArguments(NamedTuple):
    """The arguments that go to worker processes, the same for all replications of `length` units of time each.

    `spec` has the specification of the network, and the functions of the program among the metrics, pickled; `settings`
    name the engine.
    """

    spec: bytes
    settings: Settings
    length: float


def _pickle_specification(network: Network, measure: Sequence[str]) -> bytes:
    """Return the specification of a network and the functions among these metrics, pickled for workers.

    It is empty if they could not read it, or if it has more than LONGEST_SPECIFICATION bytes.
    """
    from replnet.workers import CannotTravelError, dumps

    try:
        pickled = dumps((network.spec, functions_among(measure)))
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

    `shared` has the arguments of all jobs but for the pickled specification, which is added here. There are so many
    `workers` (None: one per CPU), at a Ray cluster's `address` or, if that is None, on this machine. If workers could
    not read the specification, `run` makes the paths in this process, in order. Raises RuntimeError if a job fails.
    """
    from replnet.workers import Failure
    from replnet.workers import jobs as worker_jobs

    shared = shared._replace(spec=_pickle_specification(network, shared.settings.measure))
    if not shared.spec:
        yield from ((place, [path for numbers in group for path in run(numbers)]) for place, group in enumerate(groups))
        return
    jobs = [(shared, [(numbers.start, numbers.stop) for numbers in group]) for group in groups]
    sizes = [-float(place) for place in range(len(jobs))]  # the pool begins with the largest: here, with the first
    with closing(worker_jobs.run(run_job, jobs, sizes, workers, address, here=True)) as results:
        for place, paths in results:
            if isinstance(paths, Failure):
                raise RuntimeError(f"{paths.reason}\n{paths.trace}".rstrip())
            yield place, paths


def _count_workers(workers: int | None) -> int:
    """Return how many workers share the run, at least 1; for None as many as this machine has CPUs, and for 0 one."""
    from replnet.workers import jobs as worker_jobs

    return max(worker_jobs.cores() if workers is None else workers, 1)


def _are_workers_ready(workers: int | None, address: str | None) -> bool:
    """Whether even little work is shared: the user named a number of `workers`, or some are idle on this machine.

    With the `address` of a Ray cluster none count as idle.
    """
    from replnet.workers import jobs as worker_jobs

    return workers is not None or worker_jobs.are_idle(address)


def run_job(job: tuple[JobArguments, Sequence[tuple[int, int]]]) -> list[Path]:
    """Return the paths of a job: its arguments, and the ranges (begin, end) of the replications. Workers call it.

    The paths come without the copies that nodes hold at the end.
    """
    shared, ranges = job
    run = _prepare_run(shared)
    return [replace(path, copies=None) for begin, end in ranges for path in run(range(begin, end))]


@lru_cache(maxsize=1)
def _prepare_run(shared: JobArguments) -> Callable[[range], list[Path]]:
    """Return a function from a range of replications to their paths, for these arguments; the latest one is remembered.

    The functions that come with the specification become metrics of this process.
    """
    (spec, functions), settings = pickle.loads(shared.spec), shared.settings
    network = Network(spec)
    assert settings.engine is not None
    for function in functions:
        metric_of_function(function)
    return _load_engine(_task_of(network, settings, metrics(settings.measure), shared.length), settings.engine)[0]


def default_horizon(compiled: Plan, events: float) -> float:
    """Return the units of time, over all replications together, in which a run has about so many `events`.

    It is rounded to two digits. Where processes have a rate or a schedule of their own it is not rounded, but divided
    by the number of nodes that tables count, at most MOST_CHOICES of each group.
    """
    horizon = events / max(compiled.event_rate, 1e-300)
    if not compiled.topology.process_columns:
        return _round_to_two_digits(horizon)
    return horizon / sum(min(compiled.members(g).size, MOST_CHOICES) for g in range(len(compiled.groups)))


def _short_replications(events: float, long_run: float) -> int:
    """Return the number of replications of a run that is looked at only at given moments, with `events` events each.

    All together have about a tenth of `long_run`, the events of a run without a horizon, but there are REPLICATIONS at
    least and MOST_REPLICATIONS at most.
    """
    return int(min(max(long_run / SHORT_RUN_DIVISOR / events, REPLICATIONS), MOST_REPLICATIONS))


def _count_events(path: Path) -> tuple[int, int]:
    """Return the number of updates, downloads and polls on a path, and the number of queries."""
    updates, downloads, polls, queries = path.counts
    return updates + downloads + polls, queries


def _round_to_two_digits(x: float) -> float:
    """Return x rounded to two significant digits, for a horizon that reads well."""
    digits = 10.0 ** (math.floor(math.log10(x)) - 1)
    return float(f"{round(x / digits) * digits:.6g}")


def _load_engine(task: Task, engine: str) -> tuple[Callable[[range], list[Path]], int]:
    """Return a function from a range of replications to their paths, and how many it is best given at a time.

    `engine` is array or step. Raises FieldError if ages may be too long for floats to order them, and ValueError if the
    engine array cannot run the network.
    """
    require_order(task.plan)
    if engine == "array":
        from replnet.engines.array import make_runner

        return make_runner(task)
    from replnet.engines.nodes import make_runner as make_step_runner

    return make_step_runner(task)
