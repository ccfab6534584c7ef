"""What copies and answers cost while they are behind, and how long they stay fresh, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from replnet.measure.metrics import metric
from replnet.measure.stretches import Answers, Stretches, Updates

UPDATES = Updates.of(np.array([1.0, 2.0, 5.0]))


def stretches(*rows):
    begin, end, left = np.array(rows, float).T
    return Stretches(np.zeros(len(rows), np.int64), begin, end, left, UPDATES)


# A copy from 0.5 that is fresh until 1, one from 2.5 taken at 3, which is replaced by one from 4 at 4 and lasts to 5.
PATH = stretches((0.5, 3.0, 0.5), (3.0, 4.0, 2.5), (4.0, 6.0, 4.0))


def cost(name, path=PATH):
    question = metric(name).question
    return path.cost(question).tolist(), path.whole(question.over).tolist()


def test_a_spell_is_counted_where_it_ends():
    assert cost("fresh_spell") == ([0.5, 1.0, 1.0], [1, 0, 1])
    assert cost("stale_spell") == ([2.0, 0.0, 1.0], [1, 0, 1])


def test_a_long_spell_is_counted_in_the_stretch_in_which_it_has_long_to_go():
    assert cost("fresh_spell_beyond(0.4)")[0] == [1, 0, 1]
    assert cost("fresh_spell_beyond(1.5)")[0] == [0, 1, 0]
    assert cost("fresh_spell_beyond(2.5)")[0] == [0, 0, 0]


def test_what_is_left_of_fresh_time():
    assert cost("fresh_residual(0.25)") == ([0.25, 1.0, 0.75], [0.5, 1.0, 1.0])
    assert cost("fresh_residual(1.5)") == ([0.0, 0.5, 0.0], [0.5, 1.0, 1.0])


def test_old_data():
    assert cost("older(1)")[0] == [1.5, 0.5, 1.0]


def test_answers():
    got = Answers(np.zeros(3, np.int64), np.array([0.7, 1.5, 4.5]), np.array([0.5, 0.5, 4.0]), UPDATES)
    assert got.cost(metric("fresh_residual(0.25)").question).tolist() == [1, 0, 1]
    assert got.cost(metric("older(0.6)").question).tolist() == [0, 1, 0]
    assert not metric("fresh_spell").question.of_answers


@pytest.mark.parametrize(("at", "there", "fresh"), [(0.0, 0, 0), (0.5, 1, 1), (1.0, 1, 0), (4.0, 1, 1), (6.0, 0, 0)])
def test_the_copy_at_a_time(at, there, fresh):
    seen, which = PATH.seen(at)
    assert which.sum() == there
    assert (there - seen.stale.sum()) == fresh
