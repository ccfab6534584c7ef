"""Faults as users write them: what is refused, and what a description says."""

from __future__ import annotations

import pytest

import replnet as rn

E1 = "exponential(rate=1)"
CHURN = {"up": "exponential(mean=5)", "down": "exponential(mean=2)"}


def tree(*faults):
    return rn.cascade(depth=1, branching=10, updates=E1, downloads=E1, faults=list(faults))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"crash": "levl 1", "at": 1}, r"faults\[1\].crash: there is no node or group levl 1 .did you mean level 1"),
        ({"crash": "clients", "at": 1}, r"crash: there is no node or group clients"),
        ({"crash": "level 1"}, r"does not say when \(at and perhaps lasts, or up and down"),
        ({"crash": "level 1", "at": -1}, r"faults\[1\].at: -1 is not a finite time"),
        ({"crash": "level 1", "at": 1, **CHURN}, "does not say when"),
        ({"cut": ["source"], "at": 1}, "is not two sides"),
        ({"lose": 1.5}, "not a share of messages"),
        ({"lose": 0.5, "at": 3}, r"faults\[1\].at: does not fit here"),
        ({"lose": 0.5, "copy": "kept"}, r"faults\[1\].copy: does not fit here: only with crash"),
        ({}, "neither crash nor cut nor lose"),
        ({"crash": [], "at": 1}, "names nobody"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(fault, said):
    with pytest.raises(rn.InputError, match=said):
        tree(fault)


def test_a_description_says_what_goes_wrong():
    said = tree(
        {"crash": "level 1", "copy": "kept", **CHURN}, {"cut": ["source", ["1", "2"]], "at": 3, "lasts": 2},
        {"lose": 0.01}, {"crash": "1", "at": 3},
    ).describe()  # fmt: skip
    assert "  level 1 crash, up exponential(mean=5), down exponential(mean=2); copies kept\n" in said
    assert "  cut between source and 1, 2, at 3 for 2\n" in said
    assert "  0.01 of all messages get lost\n" in said
    assert "  1 crash, at 3 for ever; copies empty\n" in said


def test_clients_do_not_crash():
    with pytest.raises(rn.InputError, match="clients do not crash"):
        rn.redundant(replicas=2, ask=1, updates=E1, downloads=E1, queries=E1, faults=[{"crash": "clients", "at": 1}])
