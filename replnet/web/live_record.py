"""How a run goes, glimpse by glimpse, in a file that grows: one line of JSON each, after one about the run.

Whoever shows it reads the lines that are new, and neither waits for the other: the run goes on without a reader, and
the reader shows what is there. A last line says that the run is over.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from replnet.network.network import Network
from replnet.web.outage_bands import Band

if TYPE_CHECKING:
    from replnet.engines.watcher import NodeStates
    from replnet.live import Glimpse

SUFFIX = ".glimpses"  # how the name of such a file ends
SPAN = 10  # points over which messages are counted, as hosts report theirs in turns
MOST_POINTS = 300  # of a curve; beyond them every second is dropped
MOST_NODES = 600  # that are told, and drawn, one by one
SOURCES = "sources"  # in the place of a group

Look: TypeAlias = "Callable[[Glimpse], None]"


@contextmanager
def recording(file: Path, network: Network, engine: str, seed: int = 1) -> Iterator[Look]:
    """Writes the glimpses that it is handed."""
    with file.open("w", encoding="utf-8", buffering=1) as lines:

        def add(line: Mapping[str, Any]) -> None:
            lines.write(json.dumps(line) + "\n")

        add({"network": network.data(), "engine": engine, "seed": seed})
        plain = _Plain(network)
        try:
            yield lambda seen: add(plain.of(seen))
        finally:
            add({"over": True})


@final
class _Plain:
    """Glimpses of a run of a network as plain data."""

    def __init__(self, network: Network) -> None:
        topology = network.topology
        self._groups, self._few = (*topology.groups, SOURCES), network.size <= MOST_NODES
        self._group = np.where(topology.group < 0, len(topology.groups), topology.group)
        limits = topology.bandwidth
        self._limited = None if limits is None else np.flatnonzero(np.isfinite(limits))
        self._stood = dict[str, float]()  # by words, when it was heard of

    def of(self, seen: Glimpse) -> dict[str, Any]:
        shares = zip(seen.groups, map(float, seen.fresh), strict=True)
        lost = [(one.heard, one.back, f"{_briefly(one.nodes)} lost", str(one)) for one in seen.lost]
        stood = [
            (one.at, self._stood.setdefault(str(one), seen.now), f"{one.who} stood still", str(one))
            for one in seen.stood
        ]
        return {
            "now": seen.now,
            "horizon": seen.horizon,
            "fresh": {group: share for group, share in shares if not math.isnan(share)},
            "events": sum(map(int, seen.counts)),
            "messages": int(seen.messages),
            "slip": float(seen.slip),
            "faults": [*lost, *stood],
            **(self._states(seen.states) if seen.states is not None else {}),
        }

    def _states(self, states: NodeStates) -> dict[str, Any]:
        """Of every group the copies, those that are fresh, and the messages in its lines; of few nodes each as well."""
        found: dict[str, Any] = {"copies": self._sums(states.held, states.fresh)}
        if self._limited is not None:
            mine, waiting = self._group[self._limited], states.waiting[self._limited]
            most = np.zeros(len(self._groups))
            np.maximum.at(most, mine, waiting)
            count, whole = (np.bincount(mine, weights, most.size) for weights in (None, waiting))
            lines = zip(self._groups, count.tolist(), whole.tolist(), most.tolist(), strict=True)
            found["lines"] = {group: (total / many, longest) for group, many, total, longest in lines if many}
        if self._few:
            waiting = states.waiting.astype(int).tolist() if self._limited is not None else []
            found["nodes"] = {"held": states.held.tolist(), "fresh": states.fresh.tolist(), "waiting": waiting}
        return found

    def _sums(self, held: Any, fresh: Any) -> dict[str, tuple[int, int]]:
        sums = (np.bincount(self._group, each, len(self._groups)).astype(int).tolist() for each in (held, fresh))
        return {group: (every, good) for group, every, good in zip(self._groups, *sums, strict=True) if every}


def _briefly(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names):,} nodes"


@final
class LiveRecord:
    """What is in such a file so far."""

    def __init__(self, file: Path) -> None:
        self._file, self._read = file, 0
        self.about: Mapping[str, Any] | None = None  # the network, the engine and the seed
        self.latest: Mapping[str, Any] | None = None
        self.over = False
        self.points: list[Mapping[str, Any]] = []  # glimpses, evenly over the run and not too many
        self._every, self._count = 1, 0

    def update(self) -> bool:
        """Reads what is new; whether anything was."""
        with self._file.open("rb") as lines:
            lines.seek(self._read)
            new = lines.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in map(json.loads, whole.splitlines()):
            self._add(line)
        return bool(whole)

    def _add(self, line: Mapping[str, Any]) -> None:
        if "network" in line:
            self.about = line
        elif "over" in line:
            self.over = True
        else:
            self.latest = line
            if self._count % self._every == 0 and line["now"] > 0:
                self.points.append({name: value for name, value in line.items() if name != "nodes"})
            self._count += 1
            if len(self.points) > MOST_POINTS:
                self.points, self._every = self.points[::2], 2 * self._every

    @property
    def times(self) -> list[float]:
        return [one["now"] for one in self._shown]

    def curves(self) -> dict[str, list[float]]:
        """How fresh every group was until each of the times."""
        groups = dict.fromkeys(group for one in self._shown for group in one["fresh"])
        return {group: [one["fresh"].get(group, math.nan) for one in self._shown] for group in groups}

    def pace(self) -> tuple[list[float], list[float]]:
        """Messages per unit of time shortly before each of the times, and how late wakes were."""
        ends = [*[{"now": 0.0, "messages": 0}] * SPAN, *self._shown]
        pairs = zip(ends, ends[SPAN:], strict=False)
        rates = [(b["messages"] - a["messages"]) / (b["now"] - a["now"] or math.inf) for a, b in pairs]
        return rates, [one["slip"] for one in self._shown]

    def lines(self) -> dict[str, tuple[list[float], list[float]]]:
        """Of every group with limits, how many messages a node had in line at each of the times: the mean, the most."""
        groups = dict.fromkeys(group for one in self._shown for group in one.get("lines", ()))
        none = (math.nan, math.nan)
        pairs = {group: [one.get("lines", {}).get(group, none) for one in self._shown] for group in groups}
        return {group: ([mean for mean, _ in both], [most for _, most in both]) for group, both in pairs.items()}

    def bands(self) -> list[Band]:
        """What was lost or stood still, from when to when."""
        if self.latest is None:
            return []
        now, faults = self.latest["now"], self.latest["faults"]
        return [Band(begin, now if end is None else end, who) for begin, end, who, _ in faults]

    @property
    def _shown(self) -> Sequence[Mapping[str, Any]]:
        """The points, and where it stands."""
        last = self.latest if self.points else None
        return [*self.points, last] if last and last["now"] > self.points[-1]["now"] else self.points

    @property
    def words(self) -> str:
        """How far it is, in words."""
        if self.latest is None:
            return "Starting …" if not self.over else "It ended before it began."
        now = self.latest
        share = min(now["now"] / now["horizon"], 1.0) if now["horizon"] else 1.0
        said = [f"t = {now['now']:.4g} of {now['horizon']:.4g} ({share:.0%})", f"{now['events']:,} events"]
        if now["messages"]:
            said += [f"{now['messages']:,} messages", f"wakes {now['slip']:.2g} late on average"]
        return " · ".join(["Over." if self.over else "Running.", *said, *(words for *_, words in now["faults"])])
