"""What pages ask for, computed in another process so that a page never waits: each takes and gives plain data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from replnet.network.network import Network, load
from replnet.text.numbers import number
from replnet.text.overrides import SPEED, call_of

LEAST = 15  # priority of what can wait
FEW = 2e4  # events of a run that is watched
SIZES = (2, 3000)  # of clusters among which the best is sought


class NetworkQuestion(NamedTuple):
    """A network as it stands on a page, and the freshness that is wanted of it."""

    source: str
    overrides: tuple[str, ...]
    target: float

    @property
    def network(self) -> Network:
        return load(self.source, self.overrides)


def predicted(question: NetworkQuestion) -> dict[str, Any]:
    """What formulas say of the network, row by row, or what is wrong with it."""
    from replnet.study.predict import predict

    return _answered(lambda: [row.data() for row in predict(question.network).rows])


def emulated(question: NetworkQuestion, share: float) -> dict[str, Any]:
    """What happened in a run of a share of the usual length, row by row."""
    from replnet.engines.plan import plan
    from replnet.study.emulate import default_horizon, emulate, suited
    from replnet.study.replications import EVENTS

    def rows() -> list[dict[str, Any]]:
        network = question.network
        engine = suited(network)
        horizon = default_horizon(plan(network), share * EVENTS[engine])
        found = emulate(network, engine, horizon=horizon, workers=0, confirm=None if share == 1 else False)
        return [row.data() for row in found.rows]

    return _later(rows)


def recorded(question: NetworkQuestion, engine: str, file: Path) -> dict[str, Any]:
    """One replication, whose events are written into a file."""
    from replnet.engines.plan import plan
    from replnet.study.emulate import default_horizon, emulate

    def written() -> list[str]:
        network = question.network
        horizon = default_horizon(plan(network), FEW)
        emulate(network, engine, horizon=horizon, replications=1, confirm=False, trace=file)
        return [str(file)]

    return _answered(written)


def shown_live(question: NetworkQuestion, engine: str, file: Path) -> dict[str, Any]:
    """A run on the wall clock, whose glimpses are written into a file; in the end what came of it, in words."""
    from replnet.study.emulate import emulate
    from replnet.web.live_record import recording

    def written() -> list[str]:
        network = question.network
        with recording(file, network, engine) as look:
            found = emulate(network, engine, watch=look)
        return [found.incomplete or f"Overall: {found.verdict}."]

    return _answered(written)


def sized(question: NetworkQuestion) -> dict[str, Any]:
    """The smallest rate or budget with which the network is fresh enough, by formula, in a sentence."""
    from replnet.study.sweeps.sizing import predicted_size

    def words() -> list[str]:
        key, value = predicted_size(question.network, question.target)
        if value is None:
            return [f"No formula says how large {key} must be: replnet size finds it by emulation."]
        return [f"Freshness {question.target:g} everywhere takes {key} = {number(value)} or more."]

    return _later(words)


def best_size(question: NetworkQuestion) -> dict[str, Any]:
    """The replicas and rates that serve most clients under the bandwidth, by formula; none where that is no question.

    P2P eq. 30 to 34: the freshness of the target is kept, and what is left of the bandwidth serves clients.
    """
    from replnet.study.experiment.best_size import solve
    from replnet.study.experiment.system import Optimise

    def words() -> list[str]:
        asked = _system(question.network.data(), question.target)
        if asked is None:
            return []
        rows = {row.metric: row for row in solve(Optimise.model_validate(asked)) if row.group == asked["system"]}
        rate = rows["service_rate"]
        if rate.predicted is None:
            return [rate.note]
        sizes = [f"{name} {rows[name].predicted:,.4g}" for name in ("replicas", "downloads", "polls") if name in rows]
        served = f"it serves {rate.predicted:,.4g} queries per unit of time"
        return [f"Best size under bandwidth {asked['bandwidth']:g}: {', '.join(sizes)}; {served}."]

    return _later(words)


def _later(work: Any) -> dict[str, Any]:
    """What nobody waits for leaves the processors to what somebody does."""
    if hasattr(os, "setpriority"):
        os.setpriority(os.PRIO_PROCESS, 0, LEAST)
    return _answered(work)


def _answered(work: Any) -> dict[str, Any]:
    try:
        return {"found": work(), "error": ""}
    except ValueError as error:
        return {"found": [], "error": str(error).removeprefix("--target: ")}


def _system(data: Mapping[str, Any], target: float) -> dict[str, Any] | None:
    """The system whose best size is sought, of a cluster or of redundant replicas with a bandwidth."""
    if data["kind"] not in ("cooperative", "redundant") or "bandwidth" not in data:
        return None
    about = {"system": data["kind"], "target": target, "bandwidth": data["bandwidth"], "updates": data["updates"]}
    about["downloads"] = _family(data["downloads"])
    if data["kind"] == "redundant":
        return about | {"ask": data["ask"]}
    if not data["peers"]:
        return None
    over = {"replicas": [max(SIZES[0], data["peers"] + 1), SIZES[1]]}
    return about | {"polls": _family(data["polls"]), "peers": data["peers"], "select": data["select"], "over": over}


def _family(text: str) -> str:
    """A law without its rate."""
    call = call_of(text)
    assert call is not None
    kept = [part.source for part in call.parts if part.value not in SPEED]
    return f"{call.value}({', '.join(kept)})" if kept else str(call.value)
