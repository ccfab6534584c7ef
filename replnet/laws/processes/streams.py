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
LOT = 1 << 13  # streams that are named at once: fresh memory for the steps of millions would take longer than these


class Streams(NamedTuple):
    """One stream per entry."""

    key: Words
    gamma: Words


def mix(z: Words) -> Words:
    """Every bit of the input changes half of the output's."""
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))


def name_words(names: Iterable[str]) -> Words:
    """A word per node name; not `hash`, which differs from process to process."""
    digests = bytearray()  # grows in place, where millions of digests of their own would take ten times as much
    for name in names:
        digests += hashlib.blake2b(name.encode(), digest_size=8).digest()
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def seed_words(seed: int, replication: int) -> Words:
    """One word, as an array, for a whole run."""
    state = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    return mix(mix(state[:1] + GOLDEN) ^ mix(state[1:] + np.full(1, replication, np.uint64) * GOLDEN))


def streams(run: Words, names: Words, purpose: Numbers, part: int) -> Streams:
    """The streams of many (node, purpose) pairs in one part of one run."""
    names, purpose = np.broadcast_arrays(run + names, purpose)
    made = Streams(np.empty(names.size, np.uint64), np.empty(names.size, np.uint64))
    for at in range(0, names.size, LOT):
        some = slice(at, at + LOT)
        made.key[some], made.gamma[some] = _streams(names[some], purpose[some], part)
    return made


def _streams(names: Words, purpose: Numbers, part: int) -> Streams:
    """Of few, by names that have the word of the run in them."""
    label = (purpose * 8 + part + 1).astype(np.uint64)
    key = mix(mix(names) + label * GOLDEN)
    gamma = mix(key + GOLDEN) | np.uint64(1)
    # A gamma of long equal bit runs mixes badly; the paper's remedy flips every second bit.
    flips = np.bitwise_count(gamma ^ (gamma >> np.uint64(1)))
    return Streams(key, np.where(flips < 24, gamma ^ np.uint64(0xAAAAAAAAAAAAAAAA), gamma))


class Chance(NamedTuple):
    """Where many processes have their chance from: the streams of their names."""

    run: Words
    names: Words
    purpose: Numbers

    def of(self, rows: Numbers) -> Chance:
        """Of some of the processes."""
        return Chance(self.run, self.names[rows], self.purpose[rows])

    def streams(self, part: int) -> Streams:
        return streams(self.run, self.names, self.purpose, part)

    def starts(self, n: int) -> npt.NDArray[np.float64]:
        """The n-th standard exponential of every process's start."""
        return exponentials(self.streams(START), n)


def words(of: Streams, n: int | Numbers) -> Words:
    """The n-th word of every stream, or many of one; n may be negative."""
    return mix(of.key + (np.atleast_1d(n) + 1).astype(np.uint64) * of.gamma)


def uniforms(of: Streams, n: int | Numbers) -> npt.NDArray[np.float64]:
    """The same words as numbers in (0, 1]."""
    return np.asarray(((words(of, n) >> np.uint64(11)) + np.uint64(1)) * 2.0**-53)


def exponentials(of: Streams, n: int | Numbers) -> npt.NDArray[np.float64]:
    """And as standard exponentials."""
    return np.asarray(-np.log(uniforms(of, n)))


def word(key: int, gamma: int, n: int) -> int:
    """(1) for one stream in plain integers; n may be negative."""
    z = (key + (n + 1) * gamma) & MASK
    z = ((z ^ (z >> 30)) * FACTORS[0]) & MASK
    z = ((z ^ (z >> 27)) * FACTORS[1]) & MASK
    return z ^ (z >> 31)


def distinct(key: int, gamma: int, wake: int, k: int, n: int, mixed: bool = False) -> list[int]:
    """k distinct numbers of 0..n-1, every set equally likely (Floyd's method), and `mixed` every order of it.

    All n in order where k = n.
    """
    if k == n:
        return list(range(n))
    chosen: list[int] = []
    for q in range(k):
        top = n - k + q
        # The upper half of a word times (top + 1), upper half again: even to one part in 2**32 / n.
        chance = word(key, gamma, wake * k + q)
        pick = (chance >> 32) * (top + 1) >> 32
        chosen.append(top if pick in chosen else pick)
        if mixed:
            place = (chance & 0xFFFFFFFF) * (q + 1) >> 32
            chosen[q], chosen[place] = chosen[place], chosen[q]
    return chosen
