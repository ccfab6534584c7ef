"""Pictures of recorded histories."""

from __future__ import annotations

import numpy as np
import pytest
from recorded import pair

from replnet.histories.history import History
from replnet.histories.trace_fit import fit
from replnet.laws import Exponential
from replnet.show.report import draw


def test_pictures_are_the_same_twice(tmp_path):
    updates, _ = pair(12, Exponential(mean=5000), Exponential(mean=9000), 6e5)
    dated = fit(History(np.floor(updates.times) + 1.7e9, "u"))
    for name in ("a.svg", "b.svg"):
        draw(dated, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "events an hour, over the day" in (tmp_path / "a.svg").read_text()
    draw(fit(History(dated.history.times[:60] - dated.history.start, "u")), tmp_path / "c.svg")
    assert "events an hour" not in (tmp_path / "c.svg").read_text()
    with pytest.raises(ValueError, match=r"file: .*a.gif is no kind of picture"):
        draw(dated, tmp_path / "a.gif")
