"""Fleets that are made: 500 whose bounds hold the truth and whose reasons are told, and the cover of intervals."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from made_fleets import made_changes, made_fleet

from replnet.histories import LATENCY, observe

pytestmark = pytest.mark.verification

FLEETS, RECORDS = 500, 300


def test_bounds_hold_the_truth_and_reasons_are_those_put_in():
    """In all rows of 500 fleets, and the first reason of nine in ten replicas: 96 of 100 in all, every kind in 85."""
    right, wrong = Counter[str](), Counter[str]()
    for number in range(FLEETS):
        fleet = made_fleet(number)
        result = observe(fleet.visits)
        truth = fleet.history.truth(result.start, result.end)
        for row in result.rows:
            most = math.inf if row["most"] is None else row["most"]
            if row["metric"] != LATENCY:
                assert row["least"] - 1e-9 <= truth[row["group"], row["metric"]] <= most + 1e-9, (number, row)
        for name, kind in fleet.reasons.items():
            first = next((reason.kind for reason in result.reasons[name]), "none")
            (right if first == kind else wrong)[kind] += 1
    assert right.total() >= 0.9 * (right.total() + wrong.total()), (right, wrong)
    for kind in right:
        assert right[kind] >= 0.85 * (right[kind] + wrong[kind]), (right, wrong)


def test_intervals_cover_what_holds_in_the_long_run():
    """Of freshness, over 300 records of 1,000 updates: 93 to 97 %, 2.4 standard errors of some 700 intervals.

    With a true cover of 95 % the share leaves that range once in 60 times; it would mostly if 92 % or 98 % were true.
    """
    hits = total = 0
    for number in range(RECORDS):
        record, fresh = made_changes(number)
        result = observe(record)
        for name, share in fresh.items():
            row = result.rows_of(name)["freshness"]
            if row["ci_low"] is not None:
                total += 1
                hits += row["ci_low"] <= share <= row["ci_high"]
    assert total > RECORDS
    assert 0.93 <= hits / total <= 0.97, (hits, total)
