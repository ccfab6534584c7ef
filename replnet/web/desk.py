"""One process that answers the latest question of a page, and drops those that were asked before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, final

from replnet.live.pool import Failure
from replnet.live.processes import Died, Worker, dismiss, hired


@final
class Desk:
    """`patience`: seconds that a newer question waits for the answer to an older one before it is given up."""

    def __init__(self, patience: float) -> None:
        self._patience, self._asked = patience, 0
        self._free = asyncio.Lock()
        self._worker: Worker | None = None

    async def ask(self, work: Callable[[Any], Any], job: Any) -> Any:
        """What `work` makes of `job`; a Failure, or None where a newer question came before there was an answer."""
        self._asked += 1
        mine = self._asked
        try:
            await asyncio.wait_for(self._free.acquire(), self._patience)
        except TimeoutError:
            if mine == self._asked:
                await self.close()
            await self._free.acquire()
        try:
            found = await self._answer(work, job) if mine == self._asked else None
        finally:
            self._free.release()
        return found if mine == self._asked else None

    async def _answer(self, work: Callable[[Any], Any], job: Any) -> Any:
        worker = self._worker = self._worker or hired(1)[0]
        try:
            worker.call(work, job)
            return await asyncio.to_thread(worker.answer)
        except Died as gone:
            self._worker = None
            return Failure(str(gone))

    async def close(self) -> None:
        """Give up what is being computed; the next question has a new process."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await asyncio.to_thread(dismiss, [worker], [worker])
