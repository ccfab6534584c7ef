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

from replnet.network.network import Network

if TYPE_CHECKING:
    from replnet.live import Glimpse

SUFFIX = ".glimpses"  # how the name of such a file ends
SPAN = 10  # points over which messages are counted, as hosts report theirs in turns
MOST_POINTS = 300  # of a curve; beyond them every second is dropped

Look: TypeAlias = "Callable[[Glimpse], None]"


@contextmanager
def recording(file: Path, network: Network, engine: str) -> Iterator[Look]:
    """Writes the glimpses that it is handed."""
    with file.open("w", encoding="utf-8", buffering=1) as lines:

        def add(line: Mapping[str, Any]) -> None:
            lines.write(json.dumps(line) + "\n")

        add({"network": network.data(), "engine": engine})
        try:
            yield lambda seen: add(_plain(seen))
        finally:
            add({"over": True})


def _plain(seen: Glimpse) -> dict[str, Any]:
    shares = zip(seen.groups, map(float, seen.fresh), strict=True)
    return {
        "now": seen.now,
        "horizon": seen.horizon,
        "fresh": {group: share for group, share in shares if not math.isnan(share)},
        "events": sum(map(int, seen.counts)),
        "messages": int(seen.messages),
        "slip": float(seen.slip),
        "faults": [str(one) for one in (*seen.lost, *seen.stood)],
    }


@final
class LiveRecord:
    """What is in such a file so far."""

    def __init__(self, file: Path) -> None:
        self._file, self._read = file, 0
        self.about: Mapping[str, Any] | None = None  # the network and the engine
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
                self.points.append(line)
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

    @property
    def _shown(self) -> Sequence[Mapping[str, Any]]:
        """The points, and where it stands."""
        last = [self.latest] if self.latest and self.points and self.latest is not self.points[-1] else []
        return [*self.points, *(one for one in last if one["now"] > self.points[-1]["now"])]

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
        return " · ".join(["Over." if self.over else "Running.", *said, *now["faults"]])
