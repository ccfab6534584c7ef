"""Visits at a stated pace: every node at its own interval, spread over it, and one visit of a host at a time."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, final

from replnet.text import printable
from replnet.watch.content import Seen, VisitError
from replnet.watch.elsewhere import visit_file, visit_git, visit_program, visit_zone
from replnet.watch.fleet import Fleet, Node
from replnet.watch.http import visit_url, web_client
from replnet.watch.visit_log import Visit

if TYPE_CHECKING:
    import httpx

TIME_OUT = "time-out"
RETRIED = (TIME_OUT, "no connection", "network", "broken answer")  # kinds of faults that may pass at once
LONGEST_FAULT = 300  # letters that are kept of a fault
LONGEST_WAIT = 3600.0  # seconds that a host which was asked too often is left alone at most


async def watch(fleet: Fleet, visited: Callable[[Visit], None], *, once: bool = False) -> None:
    """Visit all nodes of a fleet, again and again until this is cancelled, or `once`; call `visited` after each visit.

    The first visits are spread over the shortest of: the interval of a node, and a gap for each node.
    """
    async with web_client() as client, asyncio.TaskGroup() as tasks:
        watcher = _Watcher(fleet, client, visited)
        for place, name in enumerate(fleet.nodes):
            tasks.create_task(watcher.follow(name, place / len(fleet.nodes), once))


@final
class _Watcher:
    """The state of a watch: what every node had last, and when every host may be asked again."""

    def __init__(self, fleet: Fleet, client: httpx.AsyncClient, visited: Callable[[Visit], None]) -> None:
        self._fleet, self._client, self._visited = fleet, client, visited
        self._last: dict[str, Seen] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._free_at: defaultdict[str, float] = defaultdict(float)

    async def follow(self, name: str, share: float, once: bool) -> None:
        """Visit the node called `name` again and again, each time after its interval, or `once`.

        The first visit comes after a `share`, from 0 to 1, of its interval, or at once if it is the only one. A visit
        that fails is tried again, as often as the fleet says, if its fault may pass.
        """
        node = self._fleet.nodes[name]
        every = node.every or self._fleet.every
        loop = asyncio.get_running_loop()
        due = loop.time() + (0.0 if once else share * every)
        while True:
            await asyncio.sleep(due - loop.time())
            for _ in range(1 + self._fleet.retries):
                if await self._visit_in_turn(name, node) not in RETRIED:
                    break
            if once:
                return
            # Visits that come late move no later one, and are not made up for.
            due += every * max(1, -(-(loop.time() - due) // every))

    async def _visit_in_turn(self, name: str, node: Node) -> str:
        """Visit a node when its host is free, and report the visit; then leave the host alone for a gap.

        Return the kind of its fault, empty if there is none.
        """
        loop = asyncio.get_running_loop()
        async with self._turns[node.host]:
            await asyncio.sleep(self._free_at[node.host] - loop.time())
            begin, started, wait = time.time(), time.monotonic(), 0.0
            seen: Seen | None = None
            kind, fault = "", None
            try:
                async with asyncio.timeout(self._fleet.timeout):
                    seen = await self._look(name, node)
                self._last[name] = seen
            except TimeoutError:
                kind, fault = TIME_OUT, f"{TIME_OUT}: no answer within {self._fleet.timeout:g} s"
            except VisitError as error:
                kind, fault = error.kind, printable(str(error), LONGEST_FAULT)
                wait = min(error.retry_after, LONGEST_WAIT)
            seconds = time.monotonic() - started
            version, left, clock = (None, None, None) if seen is None else (seen.version, seen.left, seen.clock)
            # The middle of the visit is the best guess at when the version was there.
            self._visited(Visit(begin + seconds / 2, name, version, left, clock, seconds, fault))
            self._free_at[node.host] = loop.time() + max(self._fleet.gap, wait)
        return kind

    async def _look(self, name: str, node: Node) -> Seen:
        """Return what a node has; raise VisitError if that cannot be found out."""
        if node.url is not None:
            return await visit_url(self._client, node, self._fleet.hosts, self._last.get(name))
        if node.zone is not None:
            return await visit_zone(node, self._fleet.timeout)
        if node.git is not None:
            return await visit_git(node)
        return await (visit_file(node) if node.file is not None else visit_program(node))
