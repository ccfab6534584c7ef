"""Tables of two runs that walk the same paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from replnet.measure.row import NO_PREDICTION, Row


def assert_same_rows(ours: Sequence[Row], theirs: Sequence[Row]) -> None:
    """All is the same, but that what is measured may have been added up in another order."""
    plain = [
        [
            replace(row, estimate=None, prediction=row.prediction if row.prediction.kind else NO_PREDICTION)
            for row in rows
        ]
        for rows in (ours, theirs)
    ]
    assert plain[0] == plain[1]
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine.measured is None) == (other.measured is None)
        if mine.measured is not None:
            assert mine.measured == pytest.approx(other.measured, rel=1e-9, abs=1e-9), (mine.group, mine.metric)
