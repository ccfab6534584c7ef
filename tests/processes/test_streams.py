"""Named streams: the same words everywhere, and even choices."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest

from replnet.engines.array import pulls
from replnet.processes import kernels
from replnet.processes.streams import (
    CHOICES,
    FUTURE,
    Streams,
    draw_distinct,
    exponentials,
    name_words,
    seed_words,
    streams,
    word,
)
from replnet.testing import FALSE_ALARM


def some_streams(n: int = 50, seed: int = 1, replication: int = 0, part: int = FUTURE) -> Streams:
    names = name_words([f"replica {i}" for i in range(n)])
    return streams(seed_words(seed, replication), names, np.ones(n, np.int64), part)


def test_the_compiled_word_is_the_plain_one():
    of = some_streams()
    for p in range(50):
        for n in (-3, -1, 0, 1, 1000, 2**40):
            assert int(kernels.word(of.key[p], of.gamma[p], n)) == word(int(of.key[p]), int(of.gamma[p]), n)


def test_exponentials_come_from_the_upper_bits_of_a_word():
    of = some_streams(1)
    u = ((word(int(of.key[0]), int(of.gamma[0]), 7) >> 11) + 1) / 2**53
    assert exponentials(of, 7)[0] == -np.log(u)


@pytest.mark.parametrize("other", [{"seed": 2}, {"replication": 1}, {"part": CHOICES}])
def test_every_part_of_the_name_makes_another_stream(other):
    assert len({*some_streams().key.tolist(), *some_streams(**other).key.tolist()}) == 100


def test_gammas_are_odd_and_mix_well():
    gamma = some_streams(10_000).gamma
    assert (gamma & np.uint64(1)).all()
    assert np.bitwise_count(gamma ^ (gamma >> np.uint64(1))).min() >= 24


def test_a_node_keeps_its_stream_whoever_else_is_there():
    names = name_words(["a", "b", "c"]), name_words(["c"])
    both = [streams(seed_words(3, 4), n, np.zeros(n.size, np.int64), FUTURE) for n in names]
    assert both[0].key[2] == both[1].key[0]
    assert both[0].gamma[2] == both[1].gamma[0]


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("wake", [-2, -1, 0, 1, 12345])
@pytest.mark.parametrize(("k", "n"), [(1, 1), (1, 7), (2, 3), (3, 3), (5, 6), (20, 100)])
def test_the_compiled_choice_is_the_plain_one(wake, k, n, mixed):
    of, out = some_streams(1), np.empty(k, np.int64)
    pulls.choose(of.key[0], of.gamma[0], wake, k, n, mixed, out)
    chosen = draw_distinct(int(of.key[0]), int(of.gamma[0]), wake, k, n, mixed)
    assert out.tolist() == chosen
    assert sorted(chosen) == sorted(draw_distinct(int(of.key[0]), int(of.gamma[0]), wake, k, n))
    assert len(set(chosen)) == k
    assert set(chosen) <= set(range(n))


@pytest.mark.parametrize(("k", "n", "mixed"), [(2, 4, True), (2, 5, False), (4, 5, False)])
def test_every_choice_is_equally_likely(k, n, mixed):
    """Hoeffding's bound for each order or set, shared among them; sees a share that is off by 0.01."""
    of, wakes = some_streams(1), 100_000
    every, as_drawn = (permutations, tuple) if mixed else (combinations, frozenset)
    choices = [as_drawn(some) for some in every(range(n), k)]
    drawn = (draw_distinct(int(of.key[0]), int(of.gamma[0]), wake, k, n, mixed) for wake in range(wakes))
    chosen = Counter(map(as_drawn, drawn))
    allowed = np.sqrt(np.log(2 * len(choices) / FALSE_ALARM) / (2 * wakes))
    assert allowed < 0.01
    assert all(abs(chosen[one] / wakes - 1 / len(choices)) < allowed for one in choices)
