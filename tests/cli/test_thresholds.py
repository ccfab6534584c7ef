"""Demands on a result: what becomes of them, of one source and of many."""

from __future__ import annotations

import json

import pytest
from command_line import replnet

from replnet.cli.main import BAD_INPUT, DIFFERS, FINE, INCOMPLETE, UNRESOLVED


@pytest.mark.parametrize(
    ("threshold", "code", "word"),
    [
        ("freshness > 0.5", FINE, "holds"),
        ("freshness > 0.9", DIFFERS, "failed"),
        ("cluster: freshness < 0.9", FINE, "holds"),
        ("freshness > 0.68", INCOMPLETE, "unresolved"),
    ],
)
def test_thresholds_are_judged_on_the_interval(threshold, code, word):
    done = replnet("run", "cooperative", "--horizon", "5000", "--threshold", threshold)
    assert done.returncode == code
    assert word in done.stderr


@pytest.mark.parametrize(
    ("threshold", "word"), [("freshness > 9", "never"), ("freshness < 1.5", "always"), ("freshness > 1", "never")]
)
def test_what_cannot_be_otherwise_is_no_demand(threshold, word):
    done = replnet("run", "cooperative", "--horizon", "10", "--threshold", threshold)
    assert done.returncode == BAD_INPUT
    assert f"{word} holds" in done.stderr


def test_what_is_unresolved_has_a_code_of_its_own_if_that_is_asked_for():
    short = ("run", "cooperative", "--horizon", "300")
    assert [replnet(*short).returncode, replnet(*short, "--strict").returncode] == [FINE, UNRESOLVED]
    assert replnet("run", "cooperative", "--horizon", "100000", "--strict").returncode == FINE


MANY = ("-s", "sources=2", "-s", "rates=[1, 9]", "-s", "weights=[1, 1]", "-s", "budget=10", "-s", "allocate=uniform")


def test_of_many_sources_the_mean_is_demanded_unless_one_is_named():
    """At 5 downloads a unit of time they are fresh to (1 - exp(-1/5)) 5 = 0.906 and (1 - exp(-9/5)) 5/9 = 0.464."""
    asked = ("--horizon", "5000", "--threshold", "freshness > 0.6", "--threshold", "source 2: freshness > 0.6")
    done = replnet("run", "aggregate", *MANY, *asked)
    assert done.returncode == DIFFERS
    assert "\nfreshness > 0.6: holds\n" in f"\n{done.stderr}"
    assert "source 2: freshness > 0.6: failed" in done.stderr
    found = [
        json.loads(replnet("size", "aggregate", *MANY, "--target", target, "--format", "json").stdout)["value"]
        for target in ("freshness >= 0.6", "source 2: freshness >= 0.464")
    ]
    assert found[0] < found[1] == pytest.approx(10, rel=0.01)
