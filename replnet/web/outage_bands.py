"""When something was out of order, as bands along the time of a chart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from replnet.engines.outages import Outages
from replnet.engines.plan import plan
from replnet.laws.processes.streams import seed_words
from replnet.network.network import Network
from replnet.web.node_spans import NodeSpans

BINS = 400  # of the time, if more changes; what is shorter than one shows as a weak band
MOST = 3_000  # nodes that crash, of which it is worked out who is down when
NAMED = 3  # nodes that go down are named, if they are no more
MOST_SAID = 6


class Band(NamedTuple):
    """Something was out of order from one time to another: a `share`, up to 1, of all to which that happens."""

    begin: float
    end: float
    what: str
    share: float = 1.0


def planned_outages(network: Network, seed: int, replication: int, end: float) -> Outages | None:
    """What was to go wrong in a replication by its seed; None where there are no faults, or too many to work out."""
    compiled = plan(network)
    crashes = sum(len(crash.nodes) for crash in compiled.faults.crashes)
    if not (crashes or compiled.faults.cuts) or crashes > MOST:
        return None
    return Outages(compiled, seed_words(seed, replication), 0.0, end)


def planned_bands(network: Network, outages: Outages | None, end: float) -> list[Band]:
    """How many of the nodes that go down were so when, and when no message passed."""
    if outages is None:
        return []
    found = _of_nodes(network, down_spans(outages, end), end)
    for way, times in zip(plan(network).faults.cuts, outages.cut_times, strict=True):
        between = " and ".join(", ".join(side) for side in way.fault.cut or ())
        spans = times[(times[:, 1] > 0) & (times[:, 0] < end)].clip(0.0, end).tolist()
        found += [Band(begin, stop, f"cut between {between}") for begin, stop in spans]
    return found


def band_words(bands: Iterable[Band]) -> str:
    """What the bands of a chart are, and when; of what comes again and again, how often."""
    spans: dict[str, list[tuple[float, float]]] = {}
    for band in bands:
        mine = spans.setdefault(band.what, [])
        begin = mine.pop()[0] if mine and mine[-1][1] == band.begin else band.begin
        mine.append((begin, band.end))
    said = [
        f"{what} {len(mine)} times" if len(mine) > 1 else f"{what} from {mine[0][0]:.4g} to {mine[0][1]:.4g}"
        for what, mine in spans.items()
    ]
    more = f"; and {len(said) - MOST_SAID} more" if len(said) > MOST_SAID else ""
    return f"Bands: {'; '.join(said[:MOST_SAID])}{more}. The darker, the more." if said else ""


def down_spans(outages: Outages, end: float) -> NodeSpans:
    """When nodes were down, until the end."""
    rows = [(node, *span) for node, spans in outages.by_node.items() for span in spans.tolist()]
    node, begin, stop = np.array(rows, float).reshape(-1, 3).T
    return NodeSpans(node.astype(np.int64), begin.clip(0.0, end), stop.clip(0.0, end))


def _of_nodes(network: Network, down: NodeSpans, end: float) -> list[Band]:
    """Times in a row with as many nodes down are one band."""
    many = np.unique(down.node)
    if not many.size:
        return []
    names = [network.topology.names[i] for i in many[:NAMED].tolist()]
    what = f"{', '.join(names)} down" if many.size <= NAMED else "nodes down"
    edges = np.unique(np.concatenate([[0.0, end], down.begin, down.end]))
    if edges.size > BINS:
        edges = np.linspace(0.0, end, BINS + 1)
    shares = np.round(np.diff(down.until(edges)) / (np.diff(edges) * many.size), 3)
    starts = np.flatnonzero(np.diff(shares, prepend=-1.0))
    spans = zip(edges[starts].tolist(), edges[np.append(starts[1:], -1)].tolist(), shares[starts].tolist(), strict=True)
    return [Band(begin, stop, what, share) for begin, stop, share in spans if share > 0]
