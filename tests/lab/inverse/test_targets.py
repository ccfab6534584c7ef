"""Networks that are emulated and judged together: seeds of which one run in a hundred differs, as it may."""

from __future__ import annotations

from dataclasses import replace

import pytest
from interrupts import ending

import replnet as rn
from replnet.lab.experiment.subjects import Settings, emulate_so_far
from replnet.lab.inverse.targets import verify

SETTINGS = Settings(None, "sampled", 0, 600.0, None, None, 0.5, ())
BY_CHANCE, BARELY = 136, 40  # z = 3.5 and -2.8, of replications that are short


def hop(rate):
    return rn.single(updates="exponential(rate=1)", downloads=f"exponential(rate={rate})")


NAMED = [(f"rate {rate}", hop(rate)) for rate in (4, 2, 3)]


def check(networks, seed, tell=lambda share, words: None):
    return verify(networks, replace(SETTINGS, seed=seed), tell)


@pytest.mark.parametrize("seed", [BY_CHANCE, BARELY])
def test_what_differs_alone_differs_no_more_after_a_longer_run(seed):
    assert emulate_so_far(hop(4), replace(SETTINGS, seed=seed)).verdict == "differ"
    told = []
    (result,), stopped = check(NAMED[:1], seed, lambda share, words: told.append(words))
    assert (result.verdict, result.replications, stopped) == ("agree", 4 * 32, "")
    assert any(words.startswith("rate 4, which differs, emulated four times longer (1 of 1): ") for words in told)


def test_among_others_it_takes_more_to_differ():
    """Of three rows the first differs below a chance of 0.01 / 3."""
    results, stopped = check(NAMED, BARELY)
    assert [(result.verdict, result.replications) for result in results] == [("agree", 32)] * 3
    assert stopped == ""


@pytest.mark.parametrize(
    ("seed", "when", "results"),
    [
        (BY_CHANCE, "four times longer", [("differ", 32), ("agree", 32), ("agree", 32)]),
        (BARELY, "rate 2, emulated (2 of 3): replication", [("differ", 32), ("", 0)]),
    ],
)
def test_an_interrupt_leaves_what_there_is(seed, when, results):
    """The first runs of those that would be run longer; and of the others none that is not begun."""
    found, stopped = check(NAMED, seed, ending(when)[1])
    assert [(result.verdict if result.rows else "", result.replications) for result in found] == results
    assert stopped == "interrupted"
