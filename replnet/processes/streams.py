"""Named streams of chance: one per (seed, replication, node, purpose).

A stream is a pair of 64-bit words (key, gamma), gamma odd, and its n-th word is

    mix(key + (n + 1) * gamma),                                              (1)

the generator of Steele, Lea and Flood (2014). A word is a function of the
stream's name and of n alone: not of the other streams, of the order of events,
of the worker or of the size of a window. Adding a node disturbs no other.

A word w becomes u in (0, 1] by its upper 53 bits, and -log u is the standard
exponential that a law turns into an interval.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.integer[Any]]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
MASK, FACTORS = (1 << 64) - 1, (int(FIRST), int(SECOND))  # as plain integers

# What a node draws for, and which part of it. The start is (age, residual) at
# time zero; the past runs backwards from there, the future forwards. Choices are
# numbered by the wakes of a process: 0, 1, ... after time zero, -1, -2, ... before.
PURPOSES = {"updates": 0, "downloads": 1, "polls": 2, "queries": 3, "delays": 4, "faults": 5}
START, FUTURE, PAST, CHOICES, LOSSES = range(5)
NAMES_AT_ONCE = (
    1 << 13
)  # streams that are named at once: fresh memory for the steps of millions would take longer than these


class Streams(NamedTuple):
    """Streams of random words: an array of keys and one of gammas, with an element for each stream."""

    key: Words
    gamma: Words


def mix(z: Words) -> Words:
    """Return a scrambled word for each word of `z`, one to one: a change of any bit changes half of its bits."""
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))


def name_words(names: Iterable[str]) -> Words:
    """Return a 64-bit word for each name, a digest of it; not by `hash`, which differs from process to process."""
    digests = bytearray()  # grows in place, where millions of digests of their own would take ten times as much
    for name in names:
        digests += hashlib.blake2b(name.encode(), digest_size=8).digest()
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def seed_words(seed: int, replication: int) -> Words:
    """Return the word of a run, as an array of one, for its seed and the number of its replication."""
    state = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    return mix(mix(state[:1] + GOLDEN) ^ mix(state[1:] + np.full(1, replication, np.uint64) * GOLDEN))


def streams(run: Words, names: Words, purpose: Numbers, part: int) -> Streams:
    """Return the streams of many pairs of a name and a purpose, for one run and for one part of what they are for.

    `run` is the word of the run, `names` are words of names, `purpose` has numbers from PURPOSES, and the arrays are
    broadcast; `part` is START, FUTURE, PAST, CHOICES or LOSSES.
    """
    names, purpose = np.broadcast_arrays(run + names, purpose)
    result = Streams(np.empty(names.size, np.uint64), np.empty(names.size, np.uint64))
    for begin in range(0, names.size, NAMES_AT_ONCE):
        block = slice(begin, begin + NAMES_AT_ONCE)
        result.key[block], result.gamma[block] = _streams_block(names[block], purpose[block], part)
    return result


def _streams_block(names: Words, purpose: Numbers, part: int) -> Streams:
    """Return a stream for each of a block of names, to which the word of the run is added already.

    `purpose` has the number of a purpose for each; `part` is START, FUTURE, PAST, CHOICES or LOSSES.
    """
    label = (purpose * 8 + part + 1).astype(np.uint64)
    key = mix(mix(names) + label * GOLDEN)
    gamma = mix(key + GOLDEN) | np.uint64(1)
    # A gamma of long equal bit runs mixes badly; the paper's remedy flips every second bit.
    flips = np.bitwise_count(gamma ^ (gamma >> np.uint64(1)))
    return Streams(key, np.where(flips < 24, gamma ^ np.uint64(0xAAAAAAAAAAAAAAAA), gamma))


class ProcessStreams(NamedTuple):
    """The streams of many processes, which go by the word of the run, the words of their names, and their purposes.

    Each process has one for each part of what it draws for, such as START or FUTURE.
    """

    run: Words
    names: Words
    purpose: Numbers

    def of(self, rows: Numbers) -> ProcessStreams:
        """Return the streams of the processes with these numbers, in this order."""
        return ProcessStreams(self.run, self.names[rows], self.purpose[rows])

    def streams(self, part: int) -> Streams:
        """Return the streams of one part, such as FUTURE, of every process."""
        return streams(self.run, self.names, self.purpose, part)

    def start_exponentials(self, n: int) -> npt.NDArray[np.float64]:
        """Return an array of the n-th standard exponential of every process's stream for its start."""
        return exponentials(self.streams(START), n)


def words(streams: Streams, n: int | Numbers) -> Words:
    """Return the n-th word, from 0, of every stream, or for an array `n` several words of a single stream.

    `n` may be negative. The result is an array in either case.
    """
    return mix(streams.key + (np.atleast_1d(n) + 1).astype(np.uint64) * streams.gamma)


def uniforms(streams: Streams, n: int | Numbers) -> npt.NDArray[np.float64]:
    """Return the n-th uniform in (0, 1], from 0, of every stream, or for an array `n` several of a single stream.

    `n` may be negative. The result is an array in either case.
    """
    return np.asarray(((words(streams, n) >> np.uint64(11)) + np.uint64(1)) * 2.0**-53)


def exponentials(streams: Streams, n: int | Numbers) -> npt.NDArray[np.float64]:
    """Return the n-th standard exponential, from 0, of every stream, or for an array `n` several of a single stream.

    `n` may be negative. The result is an array in either case.
    """
    return np.asarray(-np.log(uniforms(streams, n)))


def word(key: int, gamma: int, n: int) -> int:
    """Return the n-th 64-bit word (1) of the stream with this key and gamma, as plain integers; n may be negative."""
    z = (key + (n + 1) * gamma) & MASK
    z = ((z ^ (z >> 30)) * FACTORS[0]) & MASK
    z = ((z ^ (z >> 27)) * FACTORS[1]) & MASK
    return z ^ (z >> 31)


def draw_distinct(key: int, gamma: int, wake: int, k: int, n: int, mixed: bool = False) -> list[int]:
    """Return k distinct numbers of 0..n-1, every set equally likely (Floyd's method).

    They are drawn from the k words from number `wake` * k on of the stream with this key and gamma. With `mixed` every
    order is equally likely as well; where k = n, all n come in ascending order.
    """
    if k == n:
        return list(range(n))
    chosen: list[int] = []
    for q in range(k):
        top = n - k + q
        # The upper half of a word times (top + 1), upper half again: even to one part in 2**32 / n.
        random_word = word(key, gamma, wake * k + q)
        pick = (random_word >> 32) * (top + 1) >> 32
        chosen.append(top if pick in chosen else pick)
        if mixed:
            place = (random_word & 0xFFFFFFFF) * (q + 1) >> 32
            chosen[q], chosen[place] = chosen[place], chosen[q]
    return chosen
