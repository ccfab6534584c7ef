"""What may become of the pulls of one replication, where things go wrong or bandwidth is limited.

A pull is sent if its asker is up and has room for it, arrives unless it gets
lost or is cut off, is answered if who is asked is up and has room, and the reply
comes back under the same conditions, unless the asker has crashed meanwhile.
"""

from __future__ import annotations

from typing import final

from replnet.engines.lines import Lines
from replnet.engines.outages import Losses, Outages
from replnet.engines.plan import Plan
from replnet.laws.processes.streams import Words


@final
class Hazards:
    """Nodes by number; `start` is where the path begins."""

    def __init__(self, plan: Plan, run: Words, start: float, horizon: float) -> None:
        self.outages = Outages(plan.names, plan.faults, run, max(-start, 0.0), horizon)
        self.lines = Lines(plan, start, horizon) if plan.bandwidth is not None else None
        self._losses = Losses(plan.faults, run, plan.stream_names, plan.purpose)

    def goes(self, process: int, pull: int, asker: int, asked: int, now: float) -> tuple[bool, bool]:
        """Whether a process's pull of this number gets there, and whether the reply to it would be lost."""
        lost, mute = self._losses.lost(process, pull, asker, asked)
        sent = self.lines is None or self.lines.issue(asker, now)
        return sent and not lost and not self.outages.cut(asker, asked, now), mute

    def wait(self, asked: int, asker: int, now: float) -> float | None:
        """How long the answer waits before it leaves, or None if there is none."""
        if self.outages.down(asked, now):
            return None
        return 0.0 if self.lines is None else self.lines.answer(asked, asker, now, self.outages.next_fall(asked, now))

    def returns(self, asked: int, asker: int, now: float, mute: bool) -> bool:
        """Whether a reply gets there."""
        return not mute and not self.outages.cut(asked, asker, now)
