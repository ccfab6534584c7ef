"""Departures that are no instants: they are not taken for one another, nor for an instant."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from replnet.engines.log import logged_departure, logged_departures
from replnet.measure import FLOOR, NEVER_CAME, NOT_HELD, UNKNOWN, held_mask, known_mask, marked_unknown, never_came

NAMED = (NOT_HELD, NEVER_CAME, UNKNOWN, FLOOR)
INSTANTS = st.floats(min_value=-1e300, max_value=1e300)
DEPARTURES = st.one_of(st.sampled_from(NAMED), INSTANTS)


def test_they_differ_and_the_freshest_is_the_largest():
    assert all(earlier < later for earlier, later in pairwise(NAMED))
    assert FLOOR < -1e300


@given(st.lists(DEPARTURES, min_size=1))
def test_each_is_told_from_all_others(departures):
    numbers = np.array(departures)
    assert (held_mask(numbers) == [departure != NOT_HELD for departure in departures]).all()
    assert (never_came(numbers) == [departure == NEVER_CAME for departure in departures]).all()
    assert (known_mask(numbers) == [departure not in NAMED[:3] for departure in departures]).all()


@given(st.lists(DEPARTURES, min_size=1), INSTANTS)
def test_to_mark_what_is_unknown_twice_is_to_mark_it_once(departures, past_begins):
    marked = marked_unknown(np.array(departures), past_begins)
    assert (marked_unknown(marked, past_begins) == marked).all()
    changed = marked != np.array(departures)
    assert (marked[changed] == UNKNOWN).all()
    assert (np.array(departures)[changed] == past_begins).all()


@given(st.lists(DEPARTURES, min_size=1))
def test_a_log_has_one_departure_as_it_has_many(departures):
    many = logged_departures(np.array(departures))
    assert np.array_equal(many, [logged_departure(departure) for departure in departures], equal_nan=True)
    assert np.isnan(many).sum() == departures.count(NOT_HELD)
