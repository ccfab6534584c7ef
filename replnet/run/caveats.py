"""How far measured intervals can be trusted: by the laws of a network, and by a path where the laws leave it open.

Formulas take the age of a download as independent of that of the update (Staleness eq. 30).
Theorem 11 grants it where one of the two has independent intervals on no lattice. Processes that
are on a lattice, or repeat a cycle of intervals, are tested on the path of the first replication,
continued with its own random streams. Ages are compared at INSTANTS instants, each drawn at random
within a time span of its own:

    two cycles      ROUNDS times the longer cycle, so that the phases take all values            (1)
    others          SPACING mean intervals of the process that is no cycle, or of the faster
                    one if neither is: by the next instant it has forgotten its state            (2)

where constant intervals are a cycle of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement
from math import inf

import numpy as np

from replnet.engines import Plan
from replnet.laws import Constant, Floats, Ints, Law, commensurable, has_coarse_lattice
from replnet.measure import Metric, dependence, finite_cost
from replnet.network import DOWNLOADS, POLLS, QUERIES, UPDATES
from replnet.processes import Cycle, Renewals, Union, Words, seed_words

PULLS = (DOWNLOADS, POLLS)
NO_VARIANCE = "no interval: infinite variance"  # how the notes on rows without an interval for that reason begin
MOST_UPSTREAM_VISITS = 200_000  # to nodes from which the candidates of a client get their copies
MOST_SOURCES_CHECKED = 10  # of an aggregate, for a common lattice of updates and downloads


def upstream_processes(plan: Plan, group: int, row: int = -1) -> Ints:
    """Return the numbers of the processes on which the copies or answers of a group depend, sorted by node.

    `group` is the number of the group, whose own processes are among them. With the `row` of a source only the
    processes of that source count, and those of nodes that can hold a copy of it; -1 stands for all sources. Processes
    that never wake or follow a schedule are left out.
    """
    p, views = plan.processes, [view.nodes for view in plan.topology.views if view.group == plan.groups[group]]
    upstream = plan.origins(np.concatenate([np.flatnonzero(plan.group == group), *views]))
    if row >= 0:
        hears = np.zeros(plan.size, np.bool_)
        hears[plan.reachable_sources.owners[plan.reachable_sources.members == row]] = True
        hears[plan.sources[row]] = True
        upstream &= hears
    processes = np.flatnonzero(upstream[p.node] & (plan.rates > 0) & (plan.clocks.schedule[p.clock] < 0))
    return processes[np.lexsort((processes, p.node[processes]))]


def infinite_variance_note(plan: Plan, group: int, row: int, processes: Ints, sampled: bool) -> str:
    """Return a note on the laws whose infinite variance leaves a group without any interval; empty if there are none.

    `group` is the number of the group, `row` that of the source, -1 for all, and `processes` are the numbers of the
    processes on which the copies of both depend. The laws of updates count only if freshness is `sampled`, that is
    measured against the updates that happened.
    """
    # Updates of a source make all copies of it stale at once, so asking several replicas only helps against slow pulls.
    updates = _laws(plan, processes, QUERIES, *PULLS) if sampled else []
    worst = [law for law in updates if law.second_moment == inf]
    worst += _slow_laws(plan, group, row, _laws(plan, processes, QUERIES, UPDATES), _has_no_second_moment)
    return f"{NO_VARIANCE} of {', '.join(map(str, worst))}" if worst else ""


def other_estimator_note(plan: Plan, group: int, row: int) -> str:
    """Return a note that the estimator `conditional` has an interval of a group's freshness, and `sampled` has none.

    It is empty if that is not so: the updates have a variance, or the pulls have none. `group` is the number of the
    group, and `row` that of the source, -1 for all.
    """
    if all(law.second_moment < inf for law in plan.topology.laws):
        return ""
    processes = upstream_processes(plan, group, row)
    sampled, conditional = (infinite_variance_note(plan, group, row, processes, of) for of in (True, False))
    return "estimator: conditional has an interval of freshness" if sampled and not conditional else ""


def _has_no_second_moment(law: Law, copies: int) -> bool:
    """Whether `law` has infinite variance, and the freshest of `copies` pulled at its intervals no finite mean age.

    With a single copy the variance alone decides.
    """
    return law.second_moment == inf and (copies == 1 or not finite_cost(law, copies, lambda x: x))


def metric_variance_note(plan: Plan, group: int, row: int, processes: Ints, metric: Metric) -> str:
    """Return a note on a law under which the cost that `metric` measures has infinite variance; empty if there is none.

    `group` is the number of the group, `row` that of the source, -1 for all, and `processes` are the numbers of the
    processes on which the copies of both depend. Laws of downloads, of polls and of the time for which faults last
    count.
    """
    laws = _slow_laws(plan, group, row, _laws(plan, processes, QUERIES, UPDATES), metric.has_no_variance)
    faults = [crash.fault for crash in plan.faults.crashes] + [cut.fault for cut in plan.faults.cuts]
    down = (fault.down for fault in faults if fault.down is not None)
    laws += [law for law in dict.fromkeys(down) if metric.has_no_variance(law, 1)]
    return f"{NO_VARIANCE} of {metric.name} under {laws[0]}" if laws else ""


def _slow_laws(
    plan: Plan, group: int, row: int, laws: Sequence[Law], too_slow: Callable[[Law, int], bool]
) -> list[Law]:
    """Return those of `laws` that leave what is measured of a group without a variance; empty if none does.

    `group` is the number of the group and `row` that of the source, -1 for all. `too_slow(law, n)` says whether the
    freshest of n copies, all pulled at intervals of the law, has no variance.
    """
    worst = [law for law in laws if too_slow(law, 1)]
    copies = slow_at_once(plan, group, row, worst) if worst else 1
    return [law for law in worst if copies == 1 or (copies and too_slow(law, copies))]


def slow_at_once(plan: Plan, group: int, row: int, laws: Sequence[Law]) -> int:
    """Return how few processes with one of `laws` make what a group gets old if they are slow at once; 0 if none can.

    `group` is the number of the group and `row` that of the source, -1 for all. The number is 1 for groups with copies
    of their own, and where pulls can fail; otherwise the freshest of several copies is old only if each depends on a
    slow process. It is a lower bound.
    """
    p, members = plan.processes, plan.members(group)
    nodes = members[members < plan.size]
    if plan.pulls_may_fail or not plan.clients[nodes].all():
        return 1  # where pulls can fail, a single copy may be all that arrives
    queries = np.flatnonzero((p.purpose == QUERIES) & np.isin(p.node, nodes))
    questions = {(int(p.candidates[q]), int(p.ask[q])) for q in queries.tolist()}
    choices = [(plan.lists.of(among), ask) for among, ask in questions]
    choices += [(view.nodes, view.ask) for view in plan.topology.views if view.group == plan.groups[group]]
    fewest = [number for nodes, ask in choices if (number := _fewest_slow(plan, row, nodes, ask, laws))]
    return min(fewest, default=0)


def _fewest_slow(plan: Plan, row: int, nodes: Ints, ask: int, laws: Sequence[Law]) -> int:
    """Return how few clocks with one of `laws`, all slow at once, delay an asker of `ask` of `nodes`; 0 if none can.

    These are the fewest clocks on which, together, so many nodes depend that no prompt copy need be among the replies.
    Copies are those of the source in `row`, or with -1 of the source of which the fewest nodes can hear. The answer is
    1 if only one reply is sure to bring a copy, or if the search takes more than MOST_UPSTREAM_VISITS visits to nodes.
    """
    heard = np.concatenate([plan.reachable_sources.of(i) for i in nodes.tolist()])
    counts = np.bincount(heard, minlength=1)
    hearing = int(counts[row] if row >= 0 else counts[counts > 0].min(initial=nodes.size))
    copies = max(ask - (nodes.size - hearing), 1)  # of the nodes asked, at least so many hold a copy of a source
    if copies == 1:
        return 1
    depending, visits_left = Counter[int](), MOST_UPSTREAM_VISITS
    for node in nodes.tolist():
        upstream = _upstream_of(plan, node, visits_left)
        visits_left -= len(upstream)
        if visits_left <= 0:
            return 1
        processes = np.concatenate([plan.of_node(i) for i in upstream])
        depending.update({int(plan.processes.clock[q]) for q in processes.tolist() if plan.law(q) in laws})
    covered = np.cumsum([count for _, count in depending.most_common()])
    enough = np.flatnonzero(covered >= copies)
    return int(enough[0]) + 1 if enough.size else 0


def _upstream_of(plan: Plan, node: int, limit: int) -> list[int]:
    """Return the node and all nodes from which its copies may come; the search stops past `limit` of them."""
    reached, p = {node: None}, plan.processes
    waiting = [node]
    while waiting and len(reached) <= limit:
        for q in plan.of_node(waiting.pop()).tolist():
            new = [i for i in plan.candidates(q).tolist() if i not in reached] if p.ask[q] else []
            reached |= dict.fromkeys(new)
            waiting += new
    return list(reached)


def _laws(plan: Plan, processes: Ints, *excluded: int) -> list[Law]:
    """Return the distinct laws of `processes`, numbers, in order of first use, without those of `excluded` purposes."""
    p = plan.processes
    remaining = processes[~np.isin(p.purpose[processes], excluded)]
    return list(
        dict.fromkeys(plan.topology.laws[g] for g in dict.fromkeys(plan.clocks.law[p.clock[remaining]].tolist()))
    )


def phase_lock_note(plan: Plan, upstream: Ints, sampled: bool, replications: int) -> str:
    """Return a note if two of the `upstream` processes keep their phases, else an empty text.

    They do if their intervals lie on lattices with a common multiple. Within a replication nothing averages over these
    phases, only over the `replications` (their number) does. `upstream` has the numbers of processes; queries do not
    count. Unless freshness is `sampled`, that is measured against the updates that happened, it is a mean over all
    phases of the updates, and the note says so. Where processes have rates of their own, `upstream` is not looked at.
    """
    many_sources = bool(plan.topology.process_columns)
    locked = _locked_columns(plan) if many_sources else _locked_laws(plan, upstream, sampled)
    over = f"averaged over {replications} random phases" if replications > 1 else "this is one random phase"
    if not (locked or sampled or many_sources) and (locked := _locked_laws(plan, upstream, True)):
        over = "this is the mean over all phases, of which a real network has one"
    return f"phase-lock: {locked} keep their phases; {over}" if locked else ""


def _locked_columns(plan: Plan) -> str:
    """Return in words which processes of many sources keep their phases; empty if none do.

    These are downloads by different replicas at intervals on a lattice, or the updates and the downloads of a source on
    lattices with a common multiple, of which the first MOST_SOURCES_CHECKED sources are checked.
    """
    updates, downloads = plan.topology.process_columns
    law = downloads.laws[0]
    if downloads.schedule is not None or not has_coarse_lattice(law):
        return ""
    if downloads.clock is None:  # each replica downloads at instants of its own
        return "downloads by different replicas"
    first = slice(MOST_SOURCES_CHECKED)
    kinds = (column[first].tolist() for column in (updates.law, updates.rate, downloads.rate))
    for which, changes, pulls in zip(*kinds, strict=True):
        shape = updates.laws[which]
        if has_coarse_lattice(shape) and changes > 0 and pulls > 0:
            spans = float(shape.span or 0) * shape.rate / changes, float(law.span or 0) * law.rate / pulls
            if commensurable(*spans):
                return "changes and downloads"
    return ""


def _locked_laws(plan: Plan, upstream: Ints, sampled: bool) -> str:
    """Return in words which two of the `upstream` processes keep their phases, by their laws; empty if none do.

    Updates count only if freshness is `sampled`.
    """
    p, clocks = plan.processes, plan.clocks
    processes = upstream[~np.isin(p.purpose[upstream], [QUERIES, *([] if sampled else [UPDATES])])]
    lattice_kinds = np.column_stack([clocks.law[p.clock[processes]], plan.interval_scale(processes)])
    lattice_kinds, first_places, counts = np.unique(lattice_kinds, axis=0, return_index=True, return_counts=True)
    lattices = []  # the name of a law, the span of its lattice in this network, and how many processes have both
    for place in np.argsort(first_places).tolist():
        law = plan.topology.laws[int(lattice_kinds[place, 0])]
        if has_coarse_lattice(law):
            lattices.append((str(law), float(law.span or 0) * lattice_kinds[place, 1], int(counts[place])))
    for a, b in combinations_with_replacement(range(len(lattices)), 2):
        (first, first_span, first_count), (second, second_span, _) = lattices[a], lattices[b]
        if (a != b or first_count > 1) and commensurable(first_span, second_span):
            return f"{first} and {second}" if a != b else f"processes with {first}"
    return ""


INSTANTS = 4096
ROUNDS, SPACING = 97, 64
LEVEL = 0.01  # chance that independent ages are called dependent
MOST_EVENTS_AT_ONCE = 1 << 16  # of one window of a process


def age_dependence_note(plan: Plan, group: int, seed: int, row: int = -1) -> str:
    """Return a note if ages of updates and downloads depend on one another on the first path, else an empty text.

    That is the first path of `seed`. Only processes on which the group with the number `group` depends are tested, and
    with the `row` of a source only those of its copies; -1 stands for all. Independent ages get a note with a chance of
    LEVEL at most.
    """
    results = [dependence(*_sample_ages(plan, pair, seed)) for pair in _undecided_pairs(plan, group, row)]
    # Bonferroni: each pair is tested at LEVEL / pairs, so that all tests together keep LEVEL.
    significant = [result for result in results if result.chance < LEVEL / len(results)]
    if not significant:
        return ""
    strongest = max(significant, key=lambda result: result.largest)
    return (
        f"on one path ages depend, by up to {strongest.largest:.2f} in P(A_D < x | A_U): "
        "the formula is for the mean over paths"
    )


def _undecided_pairs(plan: Plan, group: int, row: int) -> Iterator[tuple[int, int]]:
    """Yield (update process, download process), by number, whose ages may depend on one another along a path.

    They may if the intervals of both lie on a lattice or repeat in a cycle. Only processes on which `group` (a number)
    depends are considered, and only updates of the source in `row`, or of all with -1. Of pairs with the same two laws
    only the first is yielded, and none if processes have a rate or a schedule of their own.
    """
    p = plan.processes
    if plan.topology.process_columns or not any(map(_is_regular, _laws(plan, np.arange(plan.sources.size)))):
        return
    seen: set[tuple[Law, Law]] = set()
    rows = {int(source): q for q, source in enumerate(plan.sources) if row in (-1, q)}
    for q in upstream_processes(plan, group, row).tolist():
        if p.purpose[q] != DOWNLOADS or not _is_regular(plan.law(q)):
            continue
        for source in set(plan.candidates(q).tolist()) & rows.keys():
            laws = plan.law(rows[source]), plan.law(q)
            if _is_regular(laws[0]) and laws not in seen:
                seen.add(laws)
                yield rows[source], q


def _is_regular(law: Law) -> bool:
    """Whether intervals of `law` lie on a lattice or repeat in a cycle: two such processes may keep their phases.

    A union of processes is regular if all its members are.
    """
    if isinstance(law, Union):
        return all(_is_regular(member) for member, _ in law.marginal.members)
    return has_coarse_lattice(law) or _cycle_length(law) > 0


def _cycle_length(law: Law) -> float:
    """Return the time, in units of time, after which the intervals of `law` repeat; 0 if they are no cycle."""
    if isinstance(law, Constant):
        return law.mean
    if isinstance(law, Cycle):
        return float(law.intervals.sum())
    return 0.0


def _sample_ages(plan: Plan, pair: tuple[int, int], seed: int) -> tuple[Floats, Floats]:
    """Return the ages of an update and of a download process at the same INSTANTS instants, as two arrays.

    `pair` has the numbers of both processes, on the first path of `seed`. The instants are random, and so far apart
    that neighbours are as good as independent.
    """
    laws = [plan.law(q) for q in pair]
    rounds = [_cycle_length(law) for law in laws]
    if all(rounds):
        spacing = ROUNDS * max(rounds)  # (1)
    else:
        spacing = SPACING * min(law.mean for law, cycle in zip(laws, rounds, strict=True) if not cycle)  # (2)
    instants = (np.arange(INSTANTS) + np.random.default_rng([seed, *pair]).random(INSTANTS)) * spacing
    update, download = (
        _process_ages(plan, q, seed_words(seed, 0), instants, cycle) for q, cycle in zip(pair, rounds, strict=True)
    )
    return update, download


def _process_ages(plan: Plan, number: int, words: Words, instants: Floats, cycle: float) -> Floats:
    """Return the age of a process, by its `number`, at each of the ascending `instants` of a path.

    An age is the time since its last event. `words` are the seed words of the path. `cycle` is the time after which the
    intervals repeat, so that it is enough to draw those of one cycle; 0 if they do not.
    """
    clock = plan.processes.clock[[number]]
    names, purposes = plan.clocks.word[clock], plan.clocks.purpose[clock]
    process = Renewals([plan.law(number)], np.zeros(1, np.int64), words, names, purposes, MOST_EVENTS_AT_ONCE)
    horizon = cycle or float(instants[-1])
    blocks = [-process.age]
    while process.now < horizon:
        blocks.append(process.window(horizon).of(0).copy())
    events = np.concatenate(blocks)
    if cycle:
        instants = instants % cycle
    return np.asarray(instants - events[np.searchsorted(events, instants, side="right") - 1])
