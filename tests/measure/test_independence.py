"""Ages on a path: dependence is found where there is some, and not where there is none."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import replnet as rn
from replnet.engines.plan import plan
from replnet.measure.independence import BANDS, _two_sided_p_values, dependence
from replnet.run.caveats import LEVEL, age_dependence_note, phase_lock_note

CSV = Path(__file__).parents[2] / "experiments" / "staleness" / "public-apis.csv"
RECORDED = f'trace(file="{CSV}", column=day, order=recorded)'


@pytest.mark.parametrize("marked", [1, 4, 11])
def test_a_cell_is_hypergeometric(marked):
    n, size = 12, 5
    chance = [math.comb(marked, x) * math.comb(n - marked, size - x) / math.comb(n, size) for x in range(size + 1)]
    expected = [min(2 * min(sum(chance[: x + 1]), sum(chance[x:])), 1) for x in range(size + 1)]
    assert _two_sided_p_values(n, marked, size) == pytest.approx(expected, rel=1e-12)


def test_independent_ages_are_called_dependent_no_more_often_than_stated():
    """400 samples at level 0.1: more than 74 are a chance of 1e-7. A level of 0.3 would show as surely."""
    rng = np.random.default_rng(1)
    called = sum(dependence(rng.exponential(size=512), rng.random(512)).chance < 0.1 for _ in range(400))
    assert called <= 74


def test_a_shift_in_one_band_is_seen():
    """P(b < 1/2) is 7/8 in one band: 256 instants show less than 0.25 more than 1/2, or 0.5, by a chance below 1e-8."""
    rng = np.random.default_rng(2)
    a, b = rng.random(4096), rng.random(4096)
    low = a < 1 / BANDS
    b[low] = np.where(rng.random(low.sum()) < 0.75, b[low] / 2, b[low])
    found = dependence(a, b)
    assert found.chance < LEVEL
    assert 0.25 < found.largest < 0.5


@pytest.mark.parametrize(
    ("updates", "downloads", "keep"),
    [
        ("constant(period=1)", "constant(period=1)", True),
        ("constant(period=5)", "constant(period=3)", True),
        ("lattice(values=[1, 3])", "lattice(values=[1, 2])", True),
        # On no lattice, and in the same pattern (Staleness V-C).
        ("alternating(values=[1, 3.141592653589793])", "alternating(values=[1, 3.141592653589793])", True),
        (RECORDED, RECORDED, True),
        ("constant(period=1)", "constant(period=1.618033988749895)", False),
        ("constant(period=5)", "lattice(values=[2.5757359312880714, 3.4242640687119285])", False),
        ("constant(period=1)", "exponential(rate=1)", False),
        (RECORDED, "lattice(values=[1, 2])", False),
    ],
)
def test_processes_that_keep_their_phase_or_meet_anew(updates, downloads, keep):
    """The latter would be called dependent by one seed of a hundred; these three seeds are not among them."""
    compiled = plan(rn.single(updates=updates, downloads=downloads))
    for seed in (1, 2, 3):
        note = age_dependence_note(compiled, 0, seed)
        assert note.startswith("on one path ages depend, by up to 0.") if keep else note == ""


def test_the_table_says_so_beside_the_verdict():
    locked = rn.single(updates="constant(period=2)", downloads="constant(period=1)")
    for row in rn.emulate(locked, horizon=1e4, measure=["staleness"]).rows:
        assert "phase-lock" in row.note
        assert "on one path ages depend" in row.note
    # What is averaged over updates depends on no phase.
    assert "depend" not in rn.emulate(locked, horizon=1e4, estimator="conditional").rows[0].note


C1 = "constant(rate=1)"


@pytest.mark.parametrize(
    ("locked", "fields"),
    [
        (
            "downloads by different replicas",
            {"updates": "exponential(rate=1)", "replicas": 2, "share": "independently"},
        ),
        ("changes and downloads", {"updates": C1}),
        ("changes and downloads", {"updates": C1, "replicas": 2}),  # in turns
        ("", {"updates": C1, "rates": [0, 1]}),  # the first never changes
        ("", {"updates": C1, "allocate": [0, 2**0.5]}),
        ("", {"updates": C1, "order": "purely random"}),
        ("", {"updates": C1, "downloads": "exponential"}),
    ],
)
def test_processes_of_many_sources_that_keep_their_phases(locked, fields):
    compiled = plan(rn.aggregate(**{"rates": [1, 1], "allocate": [1, 2**0.5], **fields}))
    note = phase_lock_note(compiled, compiled.pull_processes, True, 30)
    assert note == (f"phase-lock: {locked} keep their phases; averaged over 30 random phases" if locked else "")
