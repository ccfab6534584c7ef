"""Many sources, many replicas (Staleness VI-C to VI-E).

Sources are independent, so with staleness p_i of the copies of M of them

    at least one fresh    1 - product of p_i            all fresh    product of (1 - p_i)      (1)

Replicas of one source are not: an update makes all of them stale at once. The freshest
of them is as old as the last download by any, hence one replica with the superposed
downloads, and a budget lambda shared by m replicas costs

    centrally, in turns     the penalty of one replica with constant intervals 1/lambda        (2)
    independently           the penalty of the superposition of m at lambda / m each           (3)

which as m grows is that of exponential intervals (Palm-Khintchine). What (3) needs in
bandwidth beyond (2) is the rate at which it has the penalty of (2). The paper takes the
ratio of the penalties at equal rates for it, 2 for w = 1 and 6 for w = x; that is right
for w = 1 only, as the update penalty of x^n falls like lambda^-(n+1).

A query to j random replicas for k sources combines both: per subset of replicas (1)
over the sources, each by the superposition over the subset, and the mean over subsets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Literal

from replnet.ages.information_age import InformationAge, best_of, direct
from replnet.ages.penalties import source_penalty, staleness, update_penalty
from replnet.ages.prediction import Basis, Prediction, joined
from replnet.ages.roots import SAME, Family, UnreachableError, increasing_root
from replnet.ages.weights import Weight, weight
from replnet.laws.families import Constant, Exponential
from replnet.laws.law import Law
from replnet.papers.superposition import POISSON
from replnet.text.errors import FieldError, positive

Kind = Literal["source", "update"]

SOURCES = Basis("exact", "Staleness VI-C", "sources independent of one another")
IN_TURNS = Basis("exact", "Staleness VI-D", "replicas take turns at even distances")
APART = Basis("exact", "Staleness VI-D", "replicas independent of one another")
SUBSETS = Basis("exact", "Staleness VI-E", "any replicas are as likely to be asked")
MOST_SUBSETS = 2_000  # that a query averages over one by one
STEPS = 60  # doublings of the bandwidth that are tried


def any_fresh(stale: Sequence[Prediction]) -> Prediction:
    """The chance that at least one of independent sources is fresh, from their staleness; (1)."""
    return _combined(1 - math.prod(one.value for one in stale), stale, SOURCES)


def all_fresh(stale: Sequence[Prediction]) -> Prediction:
    """The chance that all of independent sources are fresh, from their staleness; (1)."""
    return _combined(math.prod(1 - one.value for one in stale), stale, SOURCES)


def in_turns(rate: float) -> InformationAge:
    """The freshest of replicas that share a budget centrally; (2), whatever their number."""
    return direct(Constant(rate=rate))


def independently(family: Family, rate: float, replicas: int | None) -> InformationAge:
    """The freshest of replicas that share a budget without coordination; (3), the Poisson limit for None."""
    if replicas is None:
        return direct(Exponential(rate=rate))
    if replicas < 1:
        raise FieldError("replicas", f"{replicas}", "1 or more, or none given for very many")
    return best_of([direct(family(rate / replicas))] * replicas, APART)


def penalty(kind: Kind, copy: InformationAge, updates: Law, by: Weight | str) -> Prediction:
    """The source or the update penalty."""
    if kind not in ("source", "update"):
        raise FieldError("penalty", f"{kind!r} is not known", "source or update")
    return (source_penalty if kind == "source" else update_penalty)(copy, updates, by)


def extra_bandwidth(
    family: Family, rate: float, replicas: int | None, updates: Law, by: Weight | str, kind: Kind = "update"
) -> Prediction:
    """The share of bandwidth that independent replicas need beyond central ones of total `rate`, for the same penalty.

    Raises UnreachableError where no rate does, as with heavy tails whose penalty is infinite.
    """
    w, rate = weight(by), positive("rate", rate)
    target = penalty(kind, in_turns(rate), updates, w)

    def short(total: float) -> float:
        """How far a total rate is from enough, negative below."""
        return 1 - penalty(kind, independently(family, total, replicas), updates, w).value / target.value

    found = _enough(short, rate)
    limit = [POISSON] if replicas is None else [APART]
    whole = joined([Basis(target.kind, target.source, target.assumes), IN_TURNS, *limit])
    return Prediction.of(found / rate - 1, whole)


def _enough(short: Callable[[float], float], rate: float) -> float:
    """The rate from which on nothing is short."""
    low = high = rate
    for _ in range(STEPS):
        if short(high) >= -SAME:
            break
        low, high = high, 2 * high
    else:
        raise UnreachableError(f"no rate up to {high:g} of independent replicas has the penalty of {rate:g} in turns")
    if low == high:  # a family as regular as turns
        low = rate / 2
    return increasing_root(short, low, high)


def query(updates: Sequence[Law], downloads: Sequence[Sequence[Law]], ask: int) -> Prediction:
    """The chance that `ask` random replicas hold at least one of the sources fresh (Staleness VI-E).

    `downloads` has a row for every replica and in it a law for every source.
    """
    if not downloads or any(len(row) != len(updates) for row in downloads):
        raise FieldError("downloads", "rows of different lengths", f"{len(updates)} laws in each, one per source")
    if not 1 <= ask <= len(downloads):
        raise FieldError("ask", f"{ask} of {len(downloads)} replicas", f"1 to {len(downloads)}")
    subsets = _subsets([tuple(row) for row in downloads], ask)
    parts = {
        subset: any_fresh(
            [staleness(best_of([direct(row[i]) for row in subset], APART), law) for i, law in enumerate(updates)]
        )
        for subset in subsets
    }
    mean = sum(parts[subset].value * count for subset, count in subsets.items()) / sum(subsets.values())
    return _combined(mean, list(parts.values()), SUBSETS)


def _subsets(rows: list[tuple[Law, ...]], ask: int) -> dict[tuple[tuple[Law, ...], ...], int]:
    """The replicas that may be asked, alike ones counted together."""
    if len(set(rows)) == 1:
        return {tuple(rows[:ask]): 1}
    if math.comb(len(rows), ask) > MOST_SUBSETS:
        raise FieldError("ask", f"{ask} of {len(rows)} unlike replicas", f"at most {MOST_SUBSETS} choices")
    counts: dict[tuple[tuple[Law, ...], ...], int] = {}
    for chosen in combinations(rows, ask):
        subset = tuple(sorted(chosen, key=str))
        counts[subset] = counts.get(subset, 0) + 1
    return counts


def _combined(value: float, parts: Sequence[Prediction], basis: Basis) -> Prediction:
    """What follows from `parts`, each of which can move it by no more than itself."""
    whole = joined([*(Basis(part.kind, part.source, part.assumes) for part in parts), basis])
    return Prediction(value, whole.kind, whole.source, whole.assumes, sum(part.accuracy for part in parts))
