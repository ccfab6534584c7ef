"""A replica that goes down and comes back, downloading from a source that does not (beyond the papers).

Up times are exponential of rate a, so that seen from an instant at which the
replica is up, its last restart lies an exponential time of rate a back, and so
does the last download, at rate d, unless a restart comes before it.

The copy is lost in a crash. The replica has one if its last event was a download
and not a restart, which is the case with probability d / (d + a); and then that
was

    X exponential of rate d + a                                              (1)

ago, whatever the law of the down times is.

The copy is kept. Down times are exponential of rate b and updates of rate m. Going back in
time, p is the chance that a download comes before an update, seen from an up
instant, and q the same from a down instant:

    p (d + m + a) = d + a q,  q (b + m) = b p,  so  p = d / (d + m + a m / (b + m)).  (2)
"""

from __future__ import annotations

from replnet.ages.information_age import InformationAge, direct
from replnet.ages.prediction import Basis, Prediction
from replnet.laws.families import Exponential
from replnet.laws.law import Law

LOST = Basis("exact", "renewal theory", "exponential downloads and up times")
KEPT = Basis("exact", "Markov chain", "exponential downloads, updates, up and down times")


def share_up(up: Law, down: Law) -> float:
    """Of the time, whatever the laws."""
    return up.mean / (up.mean + down.mean)


def availability_lost(downloads: Exponential, up: Exponential, down: Law) -> Prediction:
    """The share of time with a copy, if a crash loses it."""
    return Prediction.of(share_up(up, down) * downloads.rate / (downloads.rate + up.rate), LOST)


def age_lost(downloads: Exponential, up: Exponential) -> InformationAge:
    """(1), of a copy that is there."""
    return direct(Exponential(rate=downloads.rate + up.rate))


def freshness_kept(updates: Exponential, downloads: Exponential, up: Exponential, down: Exponential) -> Prediction:
    """(2)."""
    m, d, a, b = updates.rate, downloads.rate, up.rate, down.rate
    return Prediction.of(d / (d + m + a * m / (b + m)), KEPT)
