"""Answers to what pages ask, computed in another process so that a page never waits.

Each function takes and returns plain data: {"answer": a list, empty if there is none, "error": what is wrong, or "",
"field": the key of the field that is wrong, or ""}.
"""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from replnet.measure import METRICS
from replnet.network import Network, document_of, load
from replnet.show.web.controls import command, controls, read_assignments
from replnet.text import SPEED, FieldError, InputError, call_of, value_text

if TYPE_CHECKING:
    from replnet.show.web.live_record import InboxAddress

BACKGROUND_NICENESS = 15  # of a process whose answer can wait
EVENTS_TO_WATCH = 2e4  # about as many events has a run that is recorded to be watched
CLUSTER_SIZES = (2, 3000)  # fewest and most replicas of the clusters among which the best is sought


class NetworkQuestion(NamedTuple):
    """A network as it stands on a page, with the freshness that the user wants of it (`target`).

    `source` is its file or shipped name, and `overrides` are texts `key=value` that change its fields. `metric` is the
    name of a metric that the user looks at.
    """

    source: str
    overrides: tuple[str, ...]
    target: float
    metric: str = "freshness"

    @property
    def measure(self) -> tuple[str, ...]:
        """The names of metrics to be measured besides those that come in any case: `metric`, or none."""
        return () if self.metric in METRICS else (self.metric,)

    @property
    def network(self) -> Network:
        """The network that `source`, a file or a shipped name, specifies with these overrides."""
        return load(self.source, self.overrides)


def predict_rows(question: NetworkQuestion) -> dict[str, Any]:
    """Return {"answer": the rows that formulas predict for the network, as dictionaries, "error": "", "field": ""}.

    If the network is wrong, the answer is empty, "error" says what is wrong, and "field" is the key of the field.
    """
    from replnet.run import predict

    return _answer(lambda: [row.data() for row in predict(question.network, question.measure).rows])


def curve_rows(questions: Sequence[NetworkQuestion], key: str, values: Sequence[float]) -> dict[str, Any]:
    """Return {"answer": for each question a list of (value, {group: predicted value}), "error": "", "field": ""}.

    The field at `key` takes each of the values in turn, and what is predicted is the metric of the question. A value at
    which the network cannot be has no groups.
    """
    from replnet.run import predict

    def groups(question: NetworkQuestion, value: float) -> dict[str, float | None]:
        """Return the predicted metric of each group where the field has this value."""
        try:
            network = load(question.source, (*question.overrides, f"{key}={value}"))
            return {row.group: row.predicted for row in predict(network, question.measure).about(question.metric)}
        except ValueError:
            return {}

    points = [[(value, groups(question, value)) for value in values] for question in questions]
    return {"answer": points, "error": "", "field": ""}


def emulate_rows(question: NetworkQuestion, share: float) -> dict[str, Any]:
    """Emulate the network, and return {"answer": its rows as dictionaries, "error": "", "field": ""}.

    The run has a `share` of the usual length. If it cannot be, the answer is empty, "error" says why, and "field" is
    the key of the field that is to blame. This process has a low priority from then on.
    """
    from replnet.engines import plan_of
    from replnet.lab import emulate
    from replnet.run import EVENTS, default_horizon, fastest_engine

    def rows() -> list[dict[str, Any]]:
        """Emulate the network, and return its rows; only at the full length are more replications made to confirm rows
        that differ from their predictions.
        """
        network = question.network
        engine = fastest_engine(network)
        horizon = default_horizon(plan_of(network), share * EVENTS[engine])
        confirm = None if share == 1 else False
        run = emulate(network, engine, horizon=horizon, measure=question.measure, workers=0, confirm=confirm)
        return [row.data() for row in run.rows]

    return _answer_at_low_priority(rows)


def record_trace(question: NetworkQuestion, engine: str) -> dict[str, Any]:
    """Emulate one short replication by `engine`, and return {"answer": [its trace], "error": "", "field": ""}.

    The trace is the bytes of a file as `run --trace` writes it. If there is none, the answer is empty, "error" says
    why, and "field" is the key of the field that is to blame.
    """
    from replnet.engines import plan_of
    from replnet.lab import emulate
    from replnet.run import default_horizon

    def trace_bytes() -> list[bytes]:
        network, trace = question.network, io.BytesIO()
        horizon = default_horizon(plan_of(network), EVENTS_TO_WATCH)
        emulate(network, engine, horizon=horizon, replications=1, confirm=False, trace=trace)
        return [trace.getvalue()]

    return _answer(trace_bytes)


def run_live(question: NetworkQuestion, engine: str, inbox: InboxAddress) -> dict[str, Any]:
    """Run the network by `engine`, and return {"answer": [a sentence], "error": "", "field": ""}.

    Meanwhile its glimpses are sent to the process that listens at `inbox`. The sentence is the overall verdict, or says
    why the run is incomplete. If it cannot run, the answer is empty, "error" says why, and "field" is the key of the
    field.
    """
    from replnet.lab import emulate
    from replnet.show.web.live_record import RunNames, connect_to_inbox, record_run

    def verdict_sentence() -> list[str]:
        network, source = question.network, question.source
        names = RunNames(source, f"{command(source, read_assignments(question.overrides))} --engine {engine}")
        with connect_to_inbox(inbox) as (record, stops), record_run(record, network, engine, names=names) as recorder:
            recorder.stops = stops
            signal.signal(signal.SIGINT, signal.default_int_handler)  # which a worker ignores, and the recorder sends
            run = emulate(network, engine, watch=recorder)
            recorder.end(run)
        return [run.incomplete or f"Overall: {run.verdict}."]

    return _answer(verdict_sentence)


def smallest_size(question: NetworkQuestion) -> dict[str, Any]:
    """Return {"answer": [a sentence], "error": "", "field": ""} with the least rate or budget for the wanted freshness.

    The sentence tells it by formula, or says that no formula does. If the question makes no sense, the answer is empty,
    "error" says why, and "field" is the key of the field. This process has a low priority from then on.
    """
    from replnet.lab.inverse import predicted_size

    def size_sentence() -> list[str]:
        key, value = predicted_size(question.network, question.target)
        if value is None:
            return [f"No formula says how large {key} must be: replnet size finds it by emulation."]
        fields = controls(document_of(question.source), read_assignments(question.overrides))
        label = next((control.label for control in fields if control.key == key), key)
        return [f"Freshness {question.target:g} everywhere takes {label} = {value_text(value)} or more."]

    return _answer_at_low_priority(size_sentence)


def best_size(question: NetworkQuestion) -> dict[str, Any]:
    """Return {"answer": [a sentence], "error": "", "field": ""} with the replicas and rates that serve most clients.

    They are those by formula at which the wanted freshness is kept, and what is left of the network's bandwidth serves
    clients (P2P eq. 30 to 34). The answer is empty if the network has no bandwidth, is of a kind that cannot be
    optimised, or is wrong, for which "error" says why. This process has a low priority from then on.
    """
    from replnet.lab.inverse import Optimise, solve

    def size_sentence() -> list[str]:
        system = _system_to_optimise(question.network.data(), question.target)
        if system is None:
            return []
        rows = {row.metric: row for row in solve(Optimise.model_validate(system)) if row.group == system["system"]}
        rate = rows["service_rate"]
        if rate.predicted is None:
            return [rate.note]
        sizes = [f"{name} {rows[name].predicted:,.4g}" for name in ("replicas", "downloads", "polls") if name in rows]
        served = f"it serves {rate.predicted:,.4g} queries per unit of time"
        return [f"Best size under bandwidth {system['bandwidth']:g}: {', '.join(sizes)}; {served}."]

    return _answer_at_low_priority(size_sentence)


def _answer_at_low_priority(work: Any) -> dict[str, Any]:
    """Lower the priority of this process for good, and return the answer of `work`, as `_answer` does.

    So the answers that a user waits for come first.
    """
    if hasattr(os, "setpriority"):
        os.setpriority(os.PRIO_PROCESS, 0, BACKGROUND_NICENESS)
    return _answer(work)


def _answer(work: Any) -> dict[str, Any]:
    """Call `work` without arguments, and return {"answer": what it returns, "error": "", "field": ""}.

    If it raises a ValueError, the answer is an empty list, and the others are its `fault`.
    """
    try:
        return {"answer": work(), "error": "", "field": ""}
    except ValueError as error:
        field, words = fault(error)
        return {"answer": [], "error": words, "field": field}


def fault(error: ValueError) -> tuple[str, str]:
    """Return the key of the field that an error is about, "" if it says none, and the message for a page.

    Places in lists are parts of the key, as in "tiers.1.depth". If the field was changed on the page, the message says
    what is wrong and what would be right; otherwise it is that of the error, and of several faults the first counts.
    """
    if isinstance(error, FieldError):
        return _key(error.field), f"{error.field}: {error.wrong} ({error.right})"
    if not isinstance(error, InputError) or not error.problems:
        return "", str(error)
    problem = error.problems[0]
    is_change = (problem.file or "").startswith("-s ")
    return _key(problem.field), f"{problem.wrong} ({problem.right})" if is_change else str(problem)


def _key(field: str) -> str:
    """Return the key, such as "tiers.1.depth", of a field that a message calls tiers[1].depth."""
    return field.replace("[", ".").replace("]", "")


def _system_to_optimise(data: Mapping[str, Any], target: float) -> dict[str, Any] | None:
    """Return the specification, in the fields of `Optimise`, of the cluster or the redundant replicas that `data`, the
    fields of a network, specify.

    `target` is the wanted freshness. Return None for networks of other kinds, for clusters whose replicas poll no
    peers, and without a bandwidth.
    """
    if data["kind"] not in ("cooperative", "redundant") or "bandwidth" not in data:
        return None
    about = {"system": data["kind"], "target": target, "bandwidth": data["bandwidth"], "updates": data["updates"]}
    about["downloads"] = _law_without_rate(data["downloads"])
    if data["kind"] == "redundant":
        return about | {"ask": data["ask"]}
    if not data["peers"]:
        return None
    over = {"replicas": [max(CLUSTER_SIZES[0], data["peers"] + 1), CLUSTER_SIZES[1]]}
    return about | {
        "polls": _law_without_rate(data["polls"]),
        "peers": data["peers"],
        "select": data["select"],
        "over": over,
    }


def _law_without_rate(text: str) -> str:
    """Return the text of a law without the parameter that sets its rate, such as "pareto(alpha=3)" for "pareto(alpha=3,
    rate=2)".
    """
    call = call_of(text)
    assert call is not None
    parts = [part.source for part in call.parts if part.value not in SPEED]
    return f"{call.value}({', '.join(parts)})" if parts else str(call.value)
