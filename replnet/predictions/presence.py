"""How often there is a copy, or an answer, where things go wrong: formulas for availability and for answered queries.

And the law of the pulls that succeed where some messages get lost: with
exponential intervals, the same law at a lower rate.
"""

from __future__ import annotations

from math import comb, prod

from replnet.ages.churn import LOST, age_lost, availability_lost, freshness_kept, share_up
from replnet.ages.information_age import InformationAge
from replnet.ages.prediction import Basis, NoFormulaError, Prediction, mean, unknown
from replnet.engines.outages import Crash, across
from replnet.engines.plan import DOWNLOADS, POLLS, QUERIES, Plan, Process
from replnet.laws.families import Exponential
from replnet.laws.law import Law

INDEPENDENT = Basis("exact", "probability", "messages get lost one by one")


def arrives(plan: Plan, a: int, b: int) -> float:
    """The share of messages between two nodes that arrive."""
    ways = plan.faults.losses
    return prod(1 - float(way.fault.lose or 0) for way in ways if across(int(way.side[a]), int(way.side[b])))


def successful(plan: Plan, process: Process) -> Law:
    """The law of the pulls of a process to which there is a reply."""
    if not plan.faults.losses:
        return process.law
    shares = {arrives(plan, process.node, other) ** 2 for other in process.candidates if other != process.node}
    if shares == {1.0}:
        return process.law
    if len(shares) > 1 or process.ask > 1 or not isinstance(process.law, Exponential):
        raise NoFormulaError("messages that get lost, but of single pulls at exponential intervals")
    return Exponential(rate=process.law.rate * shares.pop())


def require_steady(plan: Plan, node: int) -> None:
    """No crash strikes this node, and nothing is cut."""
    if plan.faults.cuts:
        raise NoFormulaError("messages that are cut off for a time")
    if any(node in crash.nodes for crash in plan.faults.crashes):
        raise NoFormulaError("copies that depend on a node which crashes")


def churned(plan: Plan, node: int) -> Crash | None:
    """The one fault by which a replica goes down and comes back, if there is one."""
    crashes = [crash for crash in plan.faults.crashes if node in crash.nodes]
    if not crashes:
        return None
    if len(crashes) > 1 or crashes[0].fault.up is None:
        raise NoFormulaError("nodes that crash by a schedule, or in several ways")
    return crashes[0]


def freshness_in_churn(plan: Plan, crash: Crash, updates: Law, downloads: Process) -> InformationAge | Prediction:
    """Of a replica that goes down and comes back, while it has a copy."""
    up, down, law = crash.fault.up, crash.fault.down, successful(plan, downloads)
    if set(downloads.candidates) - set(plan.sources) or len(downloads.candidates) > 1 or plan.delay or plan.delays:
        raise NoFormulaError("nodes that crash, but for single downloads from a source that take no time")
    if not (isinstance(law, Exponential) and isinstance(up, Exponential)):
        raise NoFormulaError("nodes that crash, but for exponential downloads and up times")
    if crash.empties:
        return age_lost(law, up)
    if isinstance(updates, Exponential) and isinstance(down, Exponential):
        return freshness_kept(updates, law, up, down)
    raise NoFormulaError("nodes that keep their copy in a crash, but for exponential laws")


def presence(plan: Plan) -> dict[tuple[str, str], Prediction]:
    """By (group, metric), for a plan in which pulls may come to nothing."""
    found: dict[tuple[str, str], Prediction] = {}
    processes = {(p.node, p.purpose): p for p in plan.processes}
    for g, group in enumerate(plan.groups):
        members = (plan.group == g).nonzero()[0].tolist()
        about = "answered" if plan.clients[members].any() else "availability"
        if about == "availability" and not plan.faults.crashes:
            continue
        parts: dict[Prediction, float] = {}
        try:
            for i in members:
                for row in plan.counted[:, i].nonzero()[0].tolist():
                    if about == "answered":
                        queries = processes[i, QUERIES]
                        one, share = _answered(plan, queries, row), queries.law.rate
                    else:
                        one, share = available(plan, processes, i), 1.0
                    parts[one] = parts.get(one, 0) + share
            found[group, about] = mean(parts)
        except NoFormulaError as why:
            found[group, about] = unknown(why)
    return found


def available(plan: Plan, processes: dict[tuple[int, int], Process], node: int) -> Prediction:
    """The share of time in which a replica has a copy."""
    crash = churned(plan, node)
    if crash is None:
        return Prediction.of(1.0, LOST)
    assert crash.fault.up is not None
    assert crash.fault.down is not None
    if not crash.empties:
        return Prediction(share_up(crash.fault.up, crash.fault.down), "exact", "renewal theory", "")
    downloads = processes.get((node, DOWNLOADS))
    if downloads is None or (node, POLLS) in processes:
        raise NoFormulaError("replicas that lose their copy and get it back by polls")
    for upstream in downloads.candidates:
        require_steady(plan, upstream)
    freshness_in_churn(plan, crash, downloads.law, downloads)  # of the same nodes
    law = successful(plan, downloads)
    assert isinstance(law, Exponential)
    assert isinstance(crash.fault.up, Exponential)
    return availability_lost(law, crash.fault.up, crash.fault.down)


def _answered(plan: Plan, queries: Process, row: int) -> Prediction:
    """One of k pulls that each get through with the same chance, to a replica that can hear of the source."""
    if plan.faults.crashes or plan.faults.cuts:
        raise NoFormulaError("queries to nodes that crash or are cut off")
    shares = {arrives(plan, queries.node, other) ** 2 for other in queries.candidates}
    if len(shares) > 1:
        raise NoFormulaError("queries of which some are lost more often than others")
    fails, asked, k = 1 - shares.pop(), len(queries.candidates), queries.ask
    good = int(plan.reached[row, list(queries.candidates)].sum())
    choices = [(j, comb(good, j) * comb(asked - good, k - j) / comb(asked, k)) for j in range(k + 1)]
    return Prediction.of(1 - sum(chance * fails**j for j, chance in choices), INDEPENDENT)
