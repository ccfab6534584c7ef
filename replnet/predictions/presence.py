"""How often there is a copy, or an answer, where things go wrong: formulas for availability and for answered queries.

And the law of the pulls that succeed where some messages get lost: with
exponential intervals, the same law at a lower rate.
"""

from __future__ import annotations

from math import comb

from replnet.ages.churn import LOST, age_lost, availability_lost, freshness_kept, share_up
from replnet.ages.information_age import InformationAge
from replnet.ages.prediction import Basis, NoFormulaError, Prediction, mean, unknown
from replnet.laws.families import Exponential
from replnet.laws.law import Law
from replnet.network.faults import Crash
from replnet.network.topology import DOWNLOADS, POLLS, QUERIES
from replnet.predictions.pull_graph import Asker, PullGraph

INDEPENDENT = Basis("exact", "probability", "messages get lost one by one")


def successful(graph: PullGraph, asker: Asker) -> Law:
    """The law of the pulls of a process to which there is a reply."""
    if asker.law is None:
        raise NoFormulaError("copies of copies that are downloaded on a schedule, or in turns")
    if not graph.faults.losses:
        return asker.law
    shares = {
        graph.faults.arriving(asker.node, other) ** 2 for other in asker.candidates.tolist() if other != asker.node
    }
    if shares == {1.0}:
        return asker.law
    if len(shares) > 1 or asker.ask > 1 or not isinstance(asker.law, Exponential):
        raise NoFormulaError("messages that get lost, but of single pulls at exponential intervals")
    return Exponential(rate=asker.law.rate * shares.pop())


def both_ways(graph: PullGraph, polls: Asker) -> Exponential:
    """The law of the polls of a process that hand over copies as well as they bring them."""
    if graph.faults or graph.topology.delay or graph.topology.delays:
        raise NoFormulaError("polls that go both ways, and messages that take time or nodes and messages that fail")
    if polls.ask > 1 or polls.recent or not isinstance(polls.law, Exponential):
        raise NoFormulaError("polls that go both ways, but of one random peer at exponential intervals")
    return polls.law


def require_steady(graph: PullGraph, node: int) -> None:
    """No crash strikes this node, and nothing is cut."""
    if graph.faults.cuts:
        raise NoFormulaError("messages that are cut off for a time")
    if any(node in crash.nodes for crash in graph.faults.crashes):
        raise NoFormulaError("copies that depend on a node which crashes")


def churned(graph: PullGraph, node: int) -> Crash | None:
    """The one fault by which a replica goes down and comes back, if there is one."""
    crashes = [crash for crash in graph.faults.crashes if node in crash.nodes]
    if not crashes:
        return None
    if graph.offering:
        raise NoFormulaError("nodes that crash where polls go both ways")
    if len(crashes) > 1 or crashes[0].fault.up is None:
        raise NoFormulaError("nodes that crash by a schedule, or in several ways")
    return crashes[0]


def freshness_in_churn(graph: PullGraph, crash: Crash, updates: Law, downloads: Asker) -> InformationAge | Prediction:
    """Of a replica that goes down and comes back, while it has a copy."""
    up, down, law = crash.fault.up, crash.fault.down, successful(graph, downloads)
    delayed = graph.topology.delay or graph.topology.delays
    if set(downloads.candidates.tolist()) - set(graph.sources) or downloads.candidates.size > 1 or delayed:
        raise NoFormulaError("nodes that crash, but for single downloads from a source that take no time")
    if not (isinstance(law, Exponential) and isinstance(up, Exponential)):
        raise NoFormulaError("nodes that crash, but for exponential downloads and up times")
    if crash.empties:
        return age_lost(law, up)
    if isinstance(updates, Exponential) and isinstance(down, Exponential):
        return freshness_kept(updates, law, up, down)
    raise NoFormulaError("nodes that keep their copy in a crash, but for exponential laws")


def presence(graph: PullGraph) -> dict[tuple[str, str], Prediction]:
    """By (group, metric), for a network in which pulls may come to nothing."""
    found: dict[tuple[str, str], Prediction] = {}
    for g, group in enumerate(graph.topology.groups):
        about = "answered" if graph.asks(g) else "availability"
        if about == "availability" and not graph.faults.crashes:
            continue
        parts: dict[Prediction, float] = {}
        try:
            for i, row, count in graph.held(graph.counted, g, -1):
                queries = graph.one(i, QUERIES)
                if about == "answered":
                    assert queries
                    assert queries.law
                    one, share = _answered(graph, queries, row), queries.law.rate
                else:
                    one, share = available(graph, i), 1.0
                parts[one] = parts.get(one, 0) + count * share
            if parts:
                found[group, about] = mean(parts)
        except NoFormulaError as why:
            found[group, about] = unknown(why)
    return found


def available(graph: PullGraph, node: int) -> Prediction:
    """The share of time in which a replica has a copy."""
    crash = churned(graph, node)
    if crash is None:
        return Prediction.of(1.0, LOST)
    assert crash.fault.up is not None
    assert crash.fault.down is not None
    if not crash.empties:
        return Prediction(share_up(crash.fault.up, crash.fault.down), "exact", "renewal theory", "")
    every = graph.by(node, DOWNLOADS)
    if len(every) != 1 or graph.one(node, POLLS):
        raise NoFormulaError("replicas that lose their copy and get it back by polls")
    (downloads,) = every
    for upstream in downloads.candidates.tolist():
        require_steady(graph, upstream)
    law = successful(graph, downloads)
    freshness_in_churn(graph, crash, law, downloads)  # of the same nodes
    assert isinstance(law, Exponential)
    assert isinstance(crash.fault.up, Exponential)
    return availability_lost(law, crash.fault.up, crash.fault.down)


def _answered(graph: PullGraph, queries: Asker, row: int) -> Prediction:
    """One of k pulls that each get through with the same chance, to a replica that can hear of the source."""
    if graph.faults.crashes or graph.faults.cuts:
        raise NoFormulaError("queries to nodes that crash or are cut off")
    shares = {graph.faults.arriving(queries.node, other) ** 2 for other in queries.candidates.tolist()}
    if len(shares) > 1:
        raise NoFormulaError("queries of which some are lost more often than others")
    fails, asked, k = 1 - shares.pop(), queries.candidates.size, queries.ask
    good = int(graph.reached[row][queries.candidates].sum())
    choices = [(j, comb(good, j) * comb(asked - good, k - j) / comb(asked, k)) for j in range(k + 1)]
    return Prediction.of(1 - sum(chance * fails**j for j, chance in choices), INDEPENDENT)
