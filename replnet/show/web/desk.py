"""A process that answers only the latest question of a page, and drops the questions that were asked before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, final

from replnet.workers import Failure, Worker, WorkerDiedError, dismiss, hire


@final
class LatestOnly:
    """A process that works on one question at a time, and answers only the latest.

    `patience` is how many seconds a newer question waits for the answer to an older one before the process, and with it
    the older question, is given up.
    """

    def __init__(self, patience: float) -> None:
        self._patience, self._latest_number = patience, 0
        self._free = asyncio.Lock()
        self._worker: Worker | None = None

    async def ask(self, work: Callable[[Any], Any], job: Any) -> Any:
        """Let the process compute `work(job)`, and return the result; a Failure if it fails, None if a newer question
        was asked meanwhile.
        """
        self._latest_number += 1
        number = self._latest_number
        try:
            await asyncio.wait_for(self._free.acquire(), self._patience)
        except TimeoutError:
            if number == self._latest_number:
                await self.close()
            await self._free.acquire()
        try:
            answer = await self._answer(work, job) if number == self._latest_number else None
        finally:
            self._free.release()
        return answer if number == self._latest_number else None

    async def _answer(self, work: Callable[[Any], Any], job: Any) -> Any:
        """Let the process compute `work(job)`, after starting it if there is none; return the result, or a Failure if
        the process dies.
        """
        try:
            worker = self._worker = self._worker or hire(1)[0]
            worker.call(work, job)
            return await asyncio.to_thread(worker.answer)
        except (WorkerDiedError, OSError) as gone:
            self._worker = None
            return Failure(str(gone))

    async def close(self) -> None:
        """End the process, and with it what it computes; the next question starts a new one."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await asyncio.to_thread(dismiss, [worker], [worker])
