"""Pictures of recorded histories."""

from __future__ import annotations

import numpy as np
import pytest
from recorded import pair

from replnet.histories.history import History
from replnet.histories.trace_fit import fit
from replnet.laws import Exponential
from replnet.show.report.trace_plots import draw


def test_pictures_are_the_same_twice(tmp_path):
    updates, _ = pair(12, Exponential(mean=5000), Exponential(mean=9000), 6e5)
    found = fit(History(np.floor(updates.times) + 1.7e9, "u"))
    for name in ("a.svg", "b.svg"):
        draw(found, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    undated = fit(History(found.history.times[:60] - found.history.start, "u"))
    assert undated.hours is None
    draw(undated, tmp_path / "c.png")
    for bad, words in ((tmp_path / "a.gif", "no kind of picture"), (tmp_path / "no" / "a.png", "cannot be written")):
        with pytest.raises(ValueError, match=words):
            draw(found, bad)
