"""A host: some nodes of a network, in every replication of a run, and the order in which things happen to them.

It owns no thread and no clock. Whoever runs it calls `step` when the next event
is due or a batch has come, hands it the model time as a function, and carries
the batches that it sends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from replnet.engines.plan import Plan
from replnet.live.agenda import ARRIVAL, TURN, Agenda
from replnet.live.host_part import Part
from replnet.live.observations import LogRow, Report, Seen
from replnet.live.outbox import Post
from replnet.live.quantiles import Spread
from replnet.live.shard import Shard
from replnet.live.wire import message

BURST = 64  # events in a row before batches that have come get their turn


@final
class Host:
    def __init__(self, plan: Plan, part: Part, clock: Callable[[], float], send: Callable[[int, bytes], None]) -> None:
        self._plan, self._part, self._clock = plan, part, clock
        self.post, self._agenda = Post(part.me, part.incarnation, send), Agenda()
        self.seen = Seen(
            [Spread() for _ in plan.groups], [Spread() for _ in plan.groups], rows=[] if part.logged else None
        )
        self._horizon, self._now = part.horizon, part.since
        self.shards = [
            Shard(plan, part, r, self._agenda, self.post, self.seen) for r in range(len(part.presents))
        ]  # by replication

    def receive(self, batch: bytes) -> None:
        """May be called from another thread."""
        self.post.receive(batch)

    def step(self) -> float:
        """Some of what is due, at best all; send what may be sent; say when something is due next."""
        self._take_batches()
        self._now = self._clock()
        for _ in range(BURST):
            if self.caught_up:
                break
            at, rank, replication, _, _, node, what = self._agenda.pop()
            shard = self.shards[replication]
            if rank == ARRIVAL:
                sender, sent, mark, said = what
                shard.deliver(self._now, at, node, sender, said, sent, mark)
            elif rank == TURN:
                shard.turn(self._now, node, *what)
            else:
                shard.wake(self._now, at, node, what)
            self._now = self._clock()
        self.post.flush(self._now)
        return min(self._agenda.next_at(), self.post.next_at())

    def _take_batches(self) -> None:
        names = self._plan.names
        for replication, to, sender, sent, due, mark, said in self.post.take():
            self._now = self._clock()
            if due > self._now:
                self._agenda.arrival(due, replication, names[to], names[sender], sent, mark, message(said))
            else:
                shard = self.shards[replication]
                shard.deliver(self._now, due, names[to], names[sender], message(said), sent, mark)

    @property
    def caught_up(self) -> bool:
        """Whether all has happened that was due so far."""
        return self._agenda.next_at() > self._now

    @property
    def idle(self) -> bool:
        """Whether all its wakes are over."""
        return not self._agenda.wakes

    @property
    def done(self) -> bool:
        """Whether, besides, no query is open."""
        return self.idle and all(shard.done for shard in self.shards)

    @property
    def counts(self) -> list[int]:
        """Wakes by purpose, of all replications."""
        return [sum(shard.counts[purpose] for shard in self.shards) for purpose in range(4)]

    def meet(self, host: int, incarnation: int) -> None:
        """Another host has begun anew; what its predecessor has said is forgotten, even on its way."""
        self.post.reborn(host, incarnation)
        self._agenda.forget({name for name, at in zip(self._plan.names, self._part.at, strict=True) if at == host})

    def cut(self, horizon: float) -> None:
        """End earlier than planned."""
        self._horizon = horizon
        self._agenda.cut(horizon)
        for shard in self.shards:
            shard.cut(horizon)

    def report(self, until: float | None = None) -> Report:
        """As of the horizon, or of the latest instant at which it had caught up."""
        until = self._horizon if until is None else until
        seen, post = self.seen, self.post
        return Report(
            upto=until,
            tallied=tuple(shard.tallied(until) for shard in self.shards),
            delays=seen.delays,
            late=seen.late,
            responses=seen.responses,
            slip=seen.slip,
            said=seen.said,
            crossed=post.crossed,
            batches=post.batches,
            taken=post.taken,
            repeated=post.repeated,
        )

    def so_far(self) -> Report:
        """What it has seen up to now, to be asked for when it has caught up."""
        assert self.caught_up
        return self.report(min(max(self._now, self._part.since), self._horizon))

    def rows(self) -> list[LogRow]:
        """What has happened since this was last asked for."""
        if not self.seen.rows:
            return []
        rows, self.seen.rows = self.seen.rows, []
        return rows

    def left(self) -> list[list[tuple[int, int, float]]]:
        return [list(shard.ledger.left()) for shard in self.shards]
