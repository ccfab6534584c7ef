"""A fleet that is visited in a test, a few times or once."""

from __future__ import annotations

import asyncio

from replnet.watch.fleet import Fleet
from replnet.watch.watching import watch


def visits(nodes, rounds=1, **fields):
    """Return the visits of nodes, by how each is visited, so many times each; `fields` are others of the fleet."""
    source = next(iter(nodes))
    fleet = Fleet.model_validate(
        {"nodes": nodes, "source": source, "gap": 0.01, "every": 0.01, "timeout": 3, "retries": 0, **fields}
    )
    found = []

    async def run() -> None:
        task = asyncio.create_task(watch(fleet, found.append, once=rounds == 1))
        while not task.done() and (rounds == 1 or len(found) < rounds * len(nodes)):
            await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    return found if rounds == 1 else found[: rounds * len(nodes)]
