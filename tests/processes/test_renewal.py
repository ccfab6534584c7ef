"""Renewal processes: the same instants whatever the windows, and stationary from time zero."""

from __future__ import annotations

import numpy as np
import pytest
from laws_of_intervals import PLAIN
from renewals import instants, renewals

from replnet.laws import law
from replnet.processes import renewal
from replnet.processes.poisson import modulated

LAWS = [law(text) for text in PLAIN]


@pytest.mark.parametrize("most", [7, 100, 1e9])
def test_parts_of_a_window_have_all_of_it_one_after_another(most):
    of = renewals(LAWS, 3)
    for window in (of.past(20.0), of.window(30.0)):
        parts = list(window.parts(most))
        assert (len(parts) > 1) == (most < window.total)
        assert [part.start for part in parts] + [window.end] == [window.start] + [part.end for part in parts]
        assert sum(part.total for part in parts) == window.total
        for p in range(window.first.size):
            assert np.array_equal(np.concatenate([part.of(p) for part in parts]), window.of(p))
            for part in parts:
                assert ((part.start <= part.of(p)) & (part.of(p) < part.end)).all()
                assert part.serial[p] == window.serial[p] + np.searchsorted(window.of(p), part.start)


@pytest.mark.parametrize("lot", [1, 4, 1 << 20])
def test_the_past_does_not_depend_on_how_many_rows_are_looked_up_at_once(lot, monkeypatch):
    whole = renewals(LAWS, each=5).past(40.0)
    monkeypatch.setattr(renewal, "ROWS_LOOKED_UP_AT_ONCE", lot)
    parts = renewals(LAWS, each=5).past(40.0)
    assert np.array_equal(whole.points, parts.points)
    assert np.array_equal(whole.offset, parts.offset)


@pytest.mark.parametrize("length", [1, 64])
def test_lots_of_rows_have_the_same_instants(length, monkeypatch):
    """Whether they come in windows or in lots, and where a burst takes more room than was thought."""
    monkeypatch.setattr(renewal, "INSTANTS_PER_BLOCK_ROW", length)
    laws = [*LAWS, modulated(rates=[400, 1], means=[0.1, 5]).marginal]
    expected, past = instants(renewals(laws, each=5, events=64), 40.0, 1e9), renewals(laws, each=5).past(20.0)
    of, edges = renewals(laws, each=5, events=64), [0, 4, 5, 17, 30]
    for low, high, lot in zip(edges, edges[1:], of.past_row_blocks(20.0, edges), strict=False):
        for p in range(low, high):
            assert np.array_equal(lot.of(p - low), past.of(p))
            assert lot.serial[p - low] == past.serial[p]
    found, windows = [[] for _ in expected], 0
    while of.now < 40.0:
        begin, windows = of.now, windows + 1
        for low, lot in zip(edges, of.row_blocks(min(begin + 3, 40), edges), strict=False):
            assert lot.start == begin
            for p in range(lot.first.size):
                assert lot.serial[p] == sum(map(len, found[low + p]))
                found[low + p].append(lot.of(p).copy())
    assert windows > 3
    assert of._room_factor > 1
    assert all(np.array_equal(a, np.concatenate(b)) for a, b in zip(expected, found, strict=True))


def test_a_burst_of_one_row_shortens_windows_for_all_but_only_as_far_as_it_goes():
    """Rows that have yet to be drawn do not: a window that ends early brings what a row has room for."""
    laws = [modulated(rates=[1e4, 0], means=[0.1, 50]), law("exponential(rate=1)")]
    whole, parts = renewals(laws, each=300, events=1 << 21), renewals(laws, each=300, events=1 << 16)
    expected, windows, events = instants(whole, 1.0, 1e9), 0, 0
    found = [[] for _ in expected]
    while parts.now < 1.0:
        window = parts.window(1.0)
        windows, events = windows + 1, events + window.total
        for p, part in enumerate(found):
            part.append(window.of(p).copy())
    assert events == sum(map(len, expected)) > 5_000
    assert windows < events / 100
    assert all(np.array_equal(a, np.concatenate(b)) for a, b in zip(expected, found, strict=True))
