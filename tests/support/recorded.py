"""Recorded histories that are drawn from laws, and written as files."""

from __future__ import annotations

import numpy as np

from replnet.histories.history import History


def history(rng, law, span, name="history"):
    gaps = np.asarray(law.draw(rng.standard_exponential(int(1.5 * span * law.rate) + 50)))
    times = np.cumsum(gaps)
    return History(times[times < span], name)


def pair(seed, updates, downloads, span):
    rng = np.random.default_rng(seed)
    return history(rng, updates, span, "updates.csv"), history(rng, downloads, span, "downloads.csv")


def written(path, times):
    path.write_text("timestamp\n" + "".join(f"{t:.0f}\n" for t in times))
    return str(path)
