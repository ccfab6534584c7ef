"""Emulate a network: in virtual time or on the wall clock, kept in a directory, watched, shared among workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from replnet.deadline import within
from replnet.measure import RESOLUTION
from replnet.network import Given, Network, network_of
from replnet.run import Emulated, Progress, Settings, emulate_network, fastest_engine, metrics_of
from replnet.text import FieldError, file_path, require_callable, short_repr, time_in

if TYPE_CHECKING:
    from replnet.lab.kept_run import RunStore
    from replnet.live import Watch
    from replnet.run import File, Measure, Trace

LIVE_OPTIONS = ("hosts", "time_scale")


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
    measure: Measure = (),
    by: str | None = None,
    workers: int | None = None,
    address: str | None = None,
    budget: float | str | None = None,
    out: File | None = None,
    watch: Watch | None = None,
    hosts: Literal["per-node"] | int | None = None,
    time_scale: float | None = None,
) -> Emulated:
    """Run a network, or a shipped one by its name, and return the measurements beside the predictions.

    `engine` is array, step (the default where array cannot), or live for real runs, which also take `hosts` and
    `time_scale`. `horizon` units of time, or a text with a unit such as 2h, are divided among the `replications`: 32,
    or more if these would take long. With `precision`, replications are added until every interval of freshness has
    this half-width at most, less near 0 or 1; comparisons above half-widths of `resolution` are unresolved. A run that
    differs goes on to four times its length before it says so, always or never if `confirm` is True or False. Ctrl-C,
    or the end of a `budget` in seconds or such as 10m, ends a run with the results so far; without one, a run of a
    night is refused. The `estimator` is sampled, by the updates that happened, or conditional, by their law. `measure`
    names metrics besides freshness, which need the former, or is a function of one's own: the mean of its value at the
    time since the first update that a copy misses, 0 while fresh. With `by="source"` groups with copies of several
    sources have a row for each. `trace` is a Parquet file for the events, named or open; `out` a directory that keeps
    the run for `open`, `compare` and the report, where the same call resumes one that was stopped. `progress` is called
    with the share done and a text, `watch` at times with a Glimpse. Long runs are shared among `workers`, one per CPU
    if None, of this machine or of the Ray cluster at `address` or RAY_ADDRESS; 0 or 1: this one alone. Raises
    ValueError, mostly a FieldError, if an argument is wrong, or does not suit the network.

    >>> result = rn.emulate("cascade", seed=1, horizon=2e4)
    >>> result.verdict, result.table.columns[:4].tolist()
    ('agree', ['group', 'metric', 'measured', 'ci_low'])
    """
    _check_kinds(out, address, progress, watch)
    network = network_of(network)
    length = time_in(horizon, network.unit, "horizon")
    names = tuple(metric.name for metric in metrics_of(network, measure))
    if out is not None:
        _require_names(names)
    if engine == "live":
        refused = {"measure": names, "by": by, "precision": precision, "workers": workers, "budget": budget}
        _refuse_for_live(refused)
        return _run_live(
            network, trace, out, length, replications, hosts=hosts, time_scale=time_scale, seed=seed,
            estimator=estimator, resolution=resolution, progress=progress, address=address, watch=watch,
        )  # fmt: skip
    if hosts is not None or time_scale is not None:
        raise FieldError("hosts" if hosts is not None else "time_scale", "is for live runs only", "engine: live")
    settings = Settings(
        engine or fastest_engine(network), estimator, seed, length, precision, replications, resolution, names, by,
        confirm,
    )  # fmt: skip
    if trace is not None and out is not None:
        wrong = "a run that is resumed in a directory does not have all its events"
        raise FieldError("trace", wrong, "leave out the directory or the trace")
    return _run_in_virtual_time(network, settings, progress, trace, workers, address, budget, out, watch)


def _check_kinds(out: object, address: object, progress: object, watch: object) -> None:
    """Raise FieldError for the first of these arguments of `emulate` that is neither None nor of the right type."""
    if out is not None:
        file_path("out", out)
    if address is not None and not isinstance(address, str):
        raise FieldError("address", f"{short_repr(address)} is no address of a Ray cluster", "such as 10.0.0.1:6379")
    require_callable("progress", progress)
    require_callable("watch", watch)


def _require_names(names: Sequence[str]) -> None:
    """Raise FieldError if one of these metrics is a function of the program, which a directory cannot keep."""
    if names:
        from replnet.measure import functions_among

        for function in functions_among(names):
            wrong = f"{function.__name__} is a function of this program, which a directory does not keep"
            raise FieldError("measure", wrong, "no out, or the metric in a package (experiments/plugin)")


def _run_in_virtual_time(
    network: Network,
    settings: Settings,
    progress: Progress | None,
    trace: Trace | None,
    workers: int | None,
    address: str | None,
    budget: float | str | None,
    out: File | None,
    watch: Watch | None,
) -> Emulated:
    """Emulate a network by the engine of the settings, array or step, and return the result.

    `trace` gets the log of events, `out` is a directory that keeps the run, and `watch` is called now and then; each of
    them may be None. The run ends early after a `budget` of time, in seconds or as text, and the result says so.
    """
    from replnet.run import event_log

    assert settings.engine is not None
    with (
        within(budget),
        event_log(trace, network, settings.seed, settings.engine) as log,
        _optional_store(out, network, asdict(settings)) as store,
    ):
        listeners: list[Any] = [] if store is None else [store.add]
        if watch is not None:
            from replnet.live import glimpse_sender

            listeners.append(glimpse_sender(watch))
        result, series = emulate_network(
            network, settings, progress=progress, log=log, workers=workers, address=address,
            stored=store.paths if store else (), listeners=listeners,
        )  # fmt: skip
        if store is not None:
            store.end(result, series.paths, series.stopped)
    return result


def _refuse_for_live(refused: Mapping[str, Any]) -> None:
    """Raise FieldError for the first of these values by argument that is given, as the live engine does not take it.

    None and () stand for arguments that are not given.
    """
    instead = {
        "measure": (f"{(refused['measure'] or ('',))[0]} is not measured on the wall clock", "engine: array or step"),
        "by": ("sources are not measured one by one on the wall clock", "engine: array or step"),
        "precision": ("a live run ends after a time, not at a precision", "horizon or replications"),
        "workers": ("hosts share the nodes of a live run", "hosts"),
        "budget": ("a live run takes as long as it says, which is horizon times time_scale", "horizon, time_scale"),
    }
    for name, value in refused.items():
        if value not in (None, ()):
            raise FieldError(name, *instead[name])


def _run_live(
    network: Network, trace: Trace | None, out: File | None, horizon: float | None, replications: int | None, **how: Any
) -> Emulated:
    """Run the network on the wall clock, and return the result.

    It is kept in the directory `out`, and `trace` gets the log of events, unless they are None. `horizon` is in units
    of virtual time, of all replications together. Without `replications` there are as many as this machine has room
    for. `how` has the other arguments of a live run.
    """
    from replnet.live import affordable, run_for_real
    from replnet.run import event_log

    replications = affordable(network, horizon) if replications is None else replications
    kept = {name: how.get(name) for name in (*LIVE_OPTIONS, "seed", "estimator", "resolution")}
    kept |= {"engine": "live", "horizon": horizon, "replications": replications}
    with event_log(trace, network, how["seed"], "live") as log, _optional_store(out, network, kept) as store:
        result, paths = run_for_real(
            network, horizon=horizon, replications=replications, log=log.add if log else None, **how
        )
        if store is not None:
            store.end(result, paths)
    return result


def _optional_store(
    out: File | None, network: Network, how: Mapping[str, Any]
) -> AbstractContextManager[RunStore | None]:
    """Return a context with the store of a run in the directory `out`, or with None if there is no directory.

    `how` are the arguments of `emulate` on which the result depends.
    """
    if out is None:
        return nullcontext()
    from replnet.lab.kept_run import open_run_store

    return open_run_store(out, network, how)
