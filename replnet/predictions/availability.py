"""Formulas for availability (the share of time with a copy) and for answered queries, in networks with faults.

Also the law of the pulls that succeed where some messages get lost: with exponential intervals, the same law at a
lower rate.
"""

from __future__ import annotations

from math import comb

from replnet.ages import (
    LOST,
    WITHOUT_RESULT,
    Basis,
    InformationAge,
    NoFormulaError,
    Prediction,
    age_if_lost,
    availability_if_lost,
    freshness_if_kept,
    mean,
    share_up,
    unknown,
)
from replnet.laws import Exponential, Law
from replnet.network import DOWNLOADS, POLLS, QUERIES, Crash
from replnet.predictions.pull_graph import Asker, PullGraph

INDEPENDENT = Basis("exact", "probability", "messages get lost one by one")
MISSING_AT_TIMES = "the freshest of several copies, some of which are missing at times"


def successful(graph: PullGraph, asker: Asker) -> Law:
    """Return the law of the intervals between those pulls of a process that get a reply, as no message of them is lost.

    Raise NoFormulaError if there is no such law: on a schedule, or if losses hit pulls that are not single and Poisson.
    """
    if asker.law is None:
        raise NoFormulaError("copies of copies that are downloaded on a schedule, or in turns")
    if not graph.faults.losses:
        return asker.law
    shares = {
        graph.faults.arrival_probability(asker.node, other) ** 2
        for other in asker.candidates.tolist()
        if other != asker.node
    }
    if shares == {1.0}:
        return asker.law
    if len(shares) > 1 or asker.ask > 1 or not isinstance(asker.law, Exponential):
        raise NoFormulaError("messages that get lost, except those of single pulls at exponential intervals")
    return Exponential(rate=asker.law.rate * shares.pop())


def both_ways(graph: PullGraph, polls: Asker) -> Exponential:
    """Return the law of the intervals between the polls of a process that also hand over the asker's copies.

    Raise NoFormulaError with delays or faults, and unless the polls ask one random peer at exponential intervals.
    """
    if graph.faults or graph.topology.delay or graph.topology.delays:
        raise NoFormulaError("polls that go both ways, together with delays or faults")
    if polls.ask > 1 or polls.recent or not isinstance(polls.law, Exponential):
        raise NoFormulaError("polls that go both ways, except those of one random peer at exponential intervals")
    return polls.law


def require_steady(graph: PullGraph, node: int) -> None:
    """Raise NoFormulaError if a crash strikes this node, or if messages are cut off for a time anywhere."""
    if graph.faults.cuts:
        raise NoFormulaError("messages that are cut off for a time")
    if any(node in crash.nodes for crash in graph.faults.crashes):
        raise NoFormulaError("copies that depend on a node which crashes")


def crash_of(graph: PullGraph, node: int) -> Crash | None:
    """Return the one crash fault by which a replica goes down and comes back, or None if it never crashes.

    Raises NoFormulaError for crashes on schedule, or by several faults.
    """
    crashes = [crash for crash in graph.faults.crashes if node in crash.nodes]
    if not crashes:
        return None
    if graph.askers_handing_over:
        raise NoFormulaError("nodes that crash where polls go both ways")
    if len(crashes) > 1 or crashes[0].fault.up is None:
        raise NoFormulaError("nodes that crash on a schedule, or by several faults")
    return crashes[0]


def freshness_in_churn(graph: PullGraph, crash: Crash, updates: Law, downloads: Asker) -> InformationAge | Prediction:
    """Return the age of the copy of a replica that crashes and comes back, while it is up and has one.

    If the copy is kept through a crash, return its freshness instead, as the law of the age is not known then.
    `updates` is the law of the source's update intervals, and `downloads` the replica's process. Raise NoFormulaError
    unless it downloads from one source alone, without delays, and all laws that count are exponential.
    """
    up, down, law = crash.fault.up, crash.fault.down, successful(graph, downloads)
    has_delays = graph.topology.delay or graph.topology.delays
    if set(downloads.candidates.tolist()) - set(graph.sources) or downloads.candidates.size > 1 or has_delays:
        raise NoFormulaError("nodes that crash, except those with single downloads from a source and without delays")
    if not (isinstance(law, Exponential) and isinstance(up, Exponential)):
        raise NoFormulaError("nodes that crash, except with exponential downloads and up times")
    if crash.empties:
        return age_if_lost(law, up)
    if isinstance(updates, Exponential) and isinstance(down, Exponential):
        return freshness_if_kept(updates, law, up, down)
    raise NoFormulaError("nodes that keep their copy in a crash, except with exponential laws only")


def availability(graph: PullGraph) -> dict[tuple[str, str], Prediction]:
    """Return the shares of time with a copy and of answered queries, by (group, "availability" or "answered").

    Groups of clients have the second, others the first, and that only if nodes crash. Where there is no formula, the
    Prediction says why.
    """
    result: dict[tuple[str, str], Prediction] = {}
    for g, group in enumerate(graph.topology.groups):
        metric = "answered" if graph.has_clients(g) else "availability"
        if metric == "availability" and not graph.faults.crashes:
            continue
        parts: dict[Prediction, float] = {}
        try:
            for node, _, count in graph.copies_of_group(graph.counted_nodes, g, -1):
                queries = graph.first_asker_of(node, QUERIES)
                if metric == "answered":
                    assert queries
                    assert queries.law
                    prediction, share = _answered_queries(graph, queries), queries.law.rate
                else:
                    prediction, share = availability_of_node(graph, node), 1.0
                parts[prediction] = parts.get(prediction, 0) + count * share
            if parts:
                result[group, metric] = mean(parts)
        except WITHOUT_RESULT as why:
            result[group, metric] = unknown(why)
    return result


def availability_of_node(graph: PullGraph, node: int) -> Prediction:
    """Predict the share of time in which a replica has a copy; raise NoFormulaError if there is no formula.

    A replica that no data reaches counts as one that has a copy at all times, a stale one. Views, which are numbered on
    past all nodes, have a copy at all times if none of the nodes that they look at crashes, and else no formula.
    """
    viewed = node - graph.topology.size
    if viewed >= 0:
        if any(crash_of(graph, i) is not None for i in graph.topology.views[viewed].nodes.tolist()):
            raise NoFormulaError(MISSING_AT_TIMES)
        return Prediction.of(1.0, LOST)
    crash = crash_of(graph, node)
    if crash is None or not graph.reachable_from_any[node]:
        return Prediction.of(1.0, LOST)
    assert crash.fault.up is not None
    assert crash.fault.down is not None
    if not crash.empties:
        return Prediction(share_up(crash.fault.up, crash.fault.down), "exact", "renewal theory", "")
    processes = graph.askers_of(node, DOWNLOADS)
    if len(processes) != 1 or graph.first_asker_of(node, POLLS):
        raise NoFormulaError("replicas that lose their copy and get it back by polls")
    (downloads,) = processes
    for upstream in downloads.candidates.tolist():
        require_steady(graph, upstream)
    law = successful(graph, downloads)
    freshness_in_churn(graph, crash, law, downloads)  # raises if the freshness of this node has no formula either
    assert isinstance(law, Exponential)
    assert isinstance(crash.fault.up, Exponential)
    return availability_if_lost(law, crash.fault.up, crash.fault.down)


def _answered_queries(graph: PullGraph, queries: Asker) -> Prediction:
    """Predict the share of the queries of a client's process that are answered, by one or more replicas.

    A replica answers if pull and reply arrive and if it may ever have a copy. Raise NoFormulaError if there is no
    formula.
    """
    if graph.faults.crashes or graph.faults.cuts:
        raise NoFormulaError("queries to nodes that crash or are cut off")
    shares = {graph.faults.arrival_probability(queries.node, other) ** 2 for other in queries.candidates.tolist()}
    if len(shares) > 1:
        raise NoFormulaError("queries, some of which are lost more often than others")
    loss, size, ask = 1 - shares.pop(), queries.candidates.size, queries.ask
    able = int(graph.reachable_from_any[queries.candidates].sum())
    choices = [
        (count, comb(able, count) * comb(size - able, ask - count) / comb(size, ask)) for count in range(ask + 1)
    ]
    return Prediction.of(1 - sum(chance * loss**count for count, chance in choices), INDEPENDENT)
