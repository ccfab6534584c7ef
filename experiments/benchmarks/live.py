"""What the live engine carries, beside what one would write with Ray instead. One Ray session, one run.

    python experiments/benchmarks/live.py [--seconds 4] [--replicas 4000] [--large 10000]

`naive` is one actor per node and one remote call per pull, for a source and eight
replicas that pull from it and from one another as fast as they can: no clock, no
waiting, no measuring. `packed` is replnet with a cluster of many replicas in two
hosts, sped up until a run is not faithful any more (its nodes wake late); what
counts is the fastest that was. `raw` is two actors that send each other batches
of pulls and replies and do nothing else. A pull is two messages, there and back.

`large` is 10,000 replicas in two hosts at the pace that replnet chooses by itself.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Any

import ray

import replnet as rn
from replnet.engines.path import Task
from replnet.engines.plan import plan
from replnet.live import Live, run_live
from replnet.live.ray_hosts import RayTransport
from replnet.live.transport import START_SECONDS, start_hosts
from replnet.workers import join_cluster

PEERS = 8
FASTER = 1.15  # from one attempt to the next
SIZES = (1, 10, 100, 1000)  # of raw batches
HOSTS = 2


def main() -> None:
    args = arguments()
    with join_cluster():
        alone = naive(args.seconds)
        print(f"naive    {alone:10,.0f} pulls/s   an actor per node, a call per pull, {PEERS} replicas, no clock")
        raws = {size: raw(size, args.seconds / 2) for size in SIZES}
        for size, found in raws.items():
            print(f"raw      {found:10,.0f} pulls/s   two actors, batches of {size}")
        carried = fastest(args.replicas, args.seconds)
        print(f"packed   {pulls(carried):10,.0f} pulls/s   {probe_nodes(carried)}")
        print(f"packed = {pulls(carried) / alone:.1f} x naive = {pulls(carried) / max(raws.values()):.2f} x raw")
        many = attempt(args.large, args.seconds, None)
        print(f"large    {pulls(many):10,.0f} pulls/s   {args.large:,} replicas: {probe_nodes(many)}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0, help="per measurement")
    parser.add_argument("--replicas", type=int, default=4000, help="of the packed cluster")
    parser.add_argument("--large", type=int, default=10_000, help="replicas of the large one")
    return parser.parse_args()


class Peer:
    """Holds a version; asked for it, it tells; the source makes a new one whenever it is asked."""

    def __init__(self, source: bool) -> None:
        self.source, self.version = source, 0

    async def tell(self) -> int:
        self.version += self.source
        return self.version

    async def pull(self, upstream: Any, others: list[Any], until: float) -> int:
        """From the source once for every four others, which is what the packed replicas do; returns how often."""
        done = 0
        while time.monotonic() < until:
            asked = random.choice(others) if done % 5 else upstream
            self.version = max(self.version, await asked.tell.remote())
            done += 1
        return done


def naive(seconds: float) -> float:
    kind: Any = ray.remote(num_cpus=0, max_concurrency=64)(Peer)
    source, *replicas = [kind.remote(n == 0) for n in range(PEERS + 1)]
    ray.get([node.tell.remote() for node in (source, *replicas)], timeout=60)
    until = time.monotonic() + seconds
    asked = [
        replica.pull.remote(source, [other for other in replicas if other is not replica], until)
        for replica in replicas
    ]
    done = sum(ray.get(asked, timeout=seconds + 60))
    for node in (source, *replicas):
        ray.kill(node)
    return done / seconds


def raw(size: int, seconds: float) -> float:
    with start_hosts(RayTransport(), HOSTS) as hosts:
        hosts.call("hello", patience=START_SECONDS)
        hosts.call("meet", [(hosts.addresses,)] * HOSTS)
        hosts.call("echo")
        hosts.call_some("measure", {0: (0, 1, size, seconds)})
        time.sleep(seconds + 0.1)
        (found,) = hosts.call_some("measurement", {0: ()})
    return size / float(found.seconds)


def attempt(replicas: int, seconds: float, scale: float | None) -> Live:
    network = rn.cooperative(
        replicas=replicas,
        peers=1,
        updates="exponential(rate=1)",
        downloads="exponential(rate=1)",
        polls="exponential(rate=4)",
    )
    task = Task(plan(network), 1, 4.0 if scale is None else seconds / scale)
    return run_live(task, hosts=HOSTS, time_scale=scale)


def fastest(replicas: int, seconds: float) -> Live:
    """Of the faithful runs, ever faster from the default pace on until two paces in a row have failed twice each."""
    best = attempt(replicas, seconds, None)
    if not best.faithful:
        raise SystemExit(f"not faithful at the default pace: {best.why}")
    scale, failed = best.time_scale, 0
    while failed < 2:
        scale /= FASTER
        runs = (attempt(replicas, seconds, scale) for _ in range(2))
        faithful = next((run for run in runs if run.faithful), None)
        best, failed = (faithful, 0) if faithful else (best, failed + 1)
    return best


def pulls(run: Live) -> float:
    return run.messages_per_second / 2


def probe_nodes(run: Live) -> str:
    busy = ", ".join(f"{host.busy:.0%}" for host in run.hosts)
    faithful = "faithful" if run.faithful else f"not faithful: {run.why}"
    return (
        f"{run.messages_per_second:,.0f} messages/s, {run.crossed / max(run.messages, 1):.0%} of them between hosts; "
        f"time scale {run.time_scale:g} s, mean slip {run.slip.mean:.2g} units, loops busy {busy}; {faithful}"
    )


if __name__ == "__main__":
    main()
