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
from replnet.laws import Exponential, Law

LOST = Basis("exact", "renewal theory", "exponential downloads and up times")
KEPT = Basis("exact", "Markov chain", "exponential downloads, updates, up and down times")


def share_up(up: Law, down: Law) -> float:
    """Return the share of time, from 0 to 1, in which a replica is up.

    `up` and `down` are the laws of its up and down times, of any kind.
    """
    return up.mean / (up.mean + down.mean)


def availability_if_lost(downloads: Exponential, up: Exponential, down: Law) -> Prediction:
    """Predict the share of time in which a replica is up and has a copy, if it loses its copy when it goes down.

    `downloads`, `up` and `down` are the laws of its download intervals, while it is up, and of its up and down times.
    """
    return Prediction.of(share_up(up, down) * downloads.rate / (downloads.rate + up.rate), LOST)


def age_if_lost(downloads: Exponential, up: Exponential) -> InformationAge:
    """Return the age of a replica's copy while it has one, if it loses its copy when it goes down.

    The age is exponential, at the rate of `downloads` (while it is up) plus that of `up`, the law of its up times.
    """
    return direct(Exponential(rate=downloads.rate + up.rate))


def freshness_if_kept(updates: Exponential, downloads: Exponential, up: Exponential, down: Exponential) -> Prediction:
    """Predict the freshness, seen while the replica is up, of a copy that it keeps while it is down.

    The laws are those of the intervals of the source's updates and of the downloads (while it is up), and of the up and
    down times.
    """
    m, d, a, b = updates.rate, downloads.rate, up.rate, down.rate
    return Prediction.of(d / (d + m + a * m / (b + m)), KEPT)
