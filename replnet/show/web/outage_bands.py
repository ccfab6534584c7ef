"""Bands along the time axis of a chart, for the times at which nodes were down or the network was cut."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from replnet.engines import Outages, plan_of
from replnet.network import Network
from replnet.processes import seed_words
from replnet.show.web.node_spans import NodeSpans

TIME_BINS = 400  # equal spans to draw where more changes than that; an outage shorter than one shows as a weak band
MOST_CRASHING_NODES = 3_000  # of a network whose outages are computed
MOST_NODES_NAMED = 3  # in the label of a band
MOST_BANDS_DESCRIBED = 6


class Band(NamedTuple):
    """A time span in which something was out of order, named by `label`.

    `share` is how many of the nodes that fail at some time were down then, from 0 to 1; it is 1 for anything else.
    """

    begin: float
    end: float
    label: str
    share: float = 1.0


def planned_outages(network: Network, seed: int, replication: int, end: float) -> Outages | None:
    """Return the outages that a replication has by its seed, from time zero to `end`.

    The time is that of the model. None if the network has no outages, or if more than 3,000 of its nodes crash, which
    are too many to compute.
    """
    compiled = plan_of(network)
    crashes = sum(len(crash.nodes) for crash in compiled.faults.crashes)
    if not (crashes or compiled.faults.cuts) or crashes > MOST_CRASHING_NODES:
        return None
    return Outages(compiled, seed_words(seed, replication), 0.0, end)


def planned_bands(network: Network, outages: Outages | None, end: float) -> list[Band]:
    """Return a band for each span in which some number of nodes was down, and one for each span in which the network
    was cut.

    There are none if `outages` is None. Bands are cut off at time zero and at `end`.
    """
    if outages is None:
        return []
    bands = _node_bands(network, down_spans(outages, end), end)
    for cut, times in zip(plan_of(network).faults.cuts, outages.cut_times, strict=True):
        between = " and ".join(", ".join(side) for side in cut.fault.cut or ())
        spans = times[(times[:, 1] > 0) & (times[:, 0] < end)].clip(0.0, end).tolist()
        bands += [Band(begin, stop, f"cut between {between}") for begin, stop in spans]
    return bands


def describe_bands(bands: Iterable[Band]) -> str:
    """Return a sentence that names the bands of a chart with their times, or how often each came if more than once.

    Bands of the same label that touch count as one. Six labels are named, and the others counted. The text is empty if
    there are no bands.
    """
    spans: dict[str, list[tuple[float, float]]] = {}
    for band in bands:
        times = spans.setdefault(band.label, [])
        begin = times.pop()[0] if times and times[-1][1] == band.begin else band.begin
        times.append((begin, band.end))
    entries = [
        f"{label} {len(times)} times" if len(times) > 1 else f"{label} from {times[0][0]:.4g} to {times[0][1]:.4g}"
        for label, times in spans.items()
    ]
    more = f"; and {len(entries) - MOST_BANDS_DESCRIBED} more" if len(entries) > MOST_BANDS_DESCRIBED else ""
    return f"Bands: {'; '.join(entries[:MOST_BANDS_DESCRIBED])}{more}. The darker, the more." if entries else ""


def down_spans(outages: Outages, end: float) -> NodeSpans:
    """Return the time spans in which nodes were down, cut off at time zero and at `end`."""
    rows = [(node, *span) for node, spans in outages.by_node.items() for span in spans.tolist()]
    node, begin, stop = np.array(rows, float).reshape(-1, 3).T
    return NodeSpans(node.astype(np.int64), begin.clip(0.0, end), stop.clip(0.0, end))


def _node_bands(network: Network, down: NodeSpans, end: float) -> list[Band]:
    """Return bands for the nodes that were down, one for each span in which their number stays the same.

    If that changes very often, the bands are some of 400 equal spans instead, whose share is a mean. `down` are
    the spans in which nodes were down; time from zero to `end` is drawn.
    """
    nodes = np.unique(down.node)
    if not nodes.size:
        return []
    names = [network.topology.names[i] for i in nodes[:MOST_NODES_NAMED].tolist()]
    label = f"{', '.join(names)} down" if nodes.size <= MOST_NODES_NAMED else "nodes down"
    edges = np.unique(np.concatenate([[0.0, end], down.begin, down.end]))
    if edges.size > TIME_BINS:
        edges = np.linspace(0.0, end, TIME_BINS + 1)
    shares = np.round(np.diff(down.total_until(edges)) / (np.diff(edges) * nodes.size), 3)
    starts = np.flatnonzero(np.diff(shares, prepend=-1.0))
    spans = zip(edges[starts].tolist(), edges[np.append(starts[1:], -1)].tolist(), shares[starts].tolist(), strict=True)
    return [Band(begin, stop, label, share) for begin, stop, share in spans if share > 0]
