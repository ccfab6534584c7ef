"""The value of a field, the smallest or the largest, at which a network meets a target."""

from __future__ import annotations

import math
import re
import signal

import pytest
from error_tables import read_table
from interrupts import ending

import replnet as rn
from replnet.deadline import OutOfTime, UnreasonableError
from replnet.lab.inverse import targets
from replnet.lab.inverse.designing import design
from replnet.lab.inverse.sizing import predicted_size, size
from replnet.network import build
from replnet.text.errors import FieldError

COARSE = {"precision": 0.02}
E1 = "exponential(rate=1)"
SOURCE = {"updates": E1, "replicas": 5, "target": "freshness >= 0.5", "pulls": [E1]}


def hop(rate: float = 1.0, **more) -> rn.Network:
    return rn.single(updates=E1, downloads=f"exponential(rate={rate})", **more)


@pytest.mark.parametrize(
    ("target", "value"),
    [
        ("freshness >= 0.9", 9),
        ("level 1: freshness >= 3/4", 3),
        ("lag <= 0.25", 4),  # the age of the first missed update, while stale, is that of the next download
        ("missing_updates < 0.2", 5),
        ("currency(1) >= 0.9", 1.41916),
    ],
)
def test_any_metric_may_be_the_target_and_the_answer_stands_between_its_neighbours(target, value):
    """For Poisson updates at 1 and downloads at d: d/(1 + d), 1/d, 1/d and 1 - exp(-d)/(1 + d)."""
    found = size(hop(), target, **COARSE)
    assert found.key == "downloads.rate"
    assert found.table["value"].tolist() == pytest.approx([0.9 * value, value, 1.1 * value], rel=1e-4)
    assert found.table["meets"].tolist() == [False, True, True]
    assert found.predicted == pytest.approx(found.target.bound, rel=1e-4)
    assert all(row["ci_low"] <= row["measured"] <= row["ci_high"] for row in found.rows)
    assert str(found).startswith(f"downloads.rate = {value}, the smallest that meets {target}, by formula\n")


def test_the_smallest_budget_that_will_do(tmp_path):
    """From a file, and from a budget of nothing: (1 - exp(-20 / b)) b / 20 of 20 sources are fresh."""
    file = tmp_path / "net.yaml"
    file.write_text("kind: aggregate\nsources: 20\nupdates: exponential(rate=1)\nbudget: 0\n")
    key, value = predicted_size(file, 0.8)
    assert key == "budget"
    assert (1 - math.exp(-20 / value)) * value / 20 == pytest.approx(0.8, abs=1e-5)


def test_where_more_is_worse_the_largest_value_is_sought():
    """Level n of a tree is fresh to 2^-n here; whole numbers are next to whole numbers."""
    found = size("cascade", "freshness >= 0.2", vary="depth", **COARSE)
    assert (found.value, found.extreme) == (2, "largest")
    assert [(row["value"], row["group"], row["meets"]) for row in found.rows] == [
        (1, "level 1", True), (2, "level 2", True), (3, "level 3", False)
    ]  # fmt: skip
    late = size(hop(9.0, delay=0), 0.3, vary="delay", **COARSE)  # 0.9 exp(-delay)
    assert (late.value, late.extreme) == (pytest.approx(math.log(3), rel=1e-5), "largest")


def test_steps_end_at_the_last_value_that_a_network_may_have():
    """Of ten replicas nine can be asked, which steps of two pass over."""
    polled = {"updates": E1, "downloads": E1, "polls": E1}
    made = rn.cooperative(replicas=10, peers=1, **polled)
    most = rn.predict(rn.cooperative(replicas=10, peers=9, **polled)).rows[0].predicted
    found = size(made, most - 1e-6, vary="peers", **COARSE)
    assert (found.value, sorted(found.near)) == (9, [8])
    with pytest.raises(FieldError, match=f"out of reach of peers: up to 9 it reaches {most:.4g}"):
        size(made, most + 1e-6, vary="peers")


def test_of_service_it_is_the_bandwidth():
    """Of B = 15 ten replicas need one for pulls and four for polls each; the rest is for clients (P2P eq. 30)."""
    key, value = predicted_size("load", "service_rate >= 100")
    assert (key, value) == ("bandwidth", pytest.approx(15, rel=1e-5))


@pytest.mark.parametrize(
    ("of", "given", "message"), [(of, *case) for of, cases in read_table(__file__).items() for case in cases]
)
def test_errors_name_what_is_wrong(of, given, message):
    """Of networks to size, and of sources to design a network for."""
    with pytest.raises(FieldError, match=f"^{message}"):
        size(hop(), **given) if of == "size" else design(**SOURCE | given)


def test_a_budget_that_is_over_before_anything_is_found_ends_it():
    with pytest.raises(OutOfTime, match=r"^out of time"):
        size(hop(), 0.9, **COARSE, budget=1e-9)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OutOfTime])
def test_a_search_that_is_ended_says_what_it_saw(error):
    """Ctrl-C in the second emulation."""
    told, progress = ending("number 2 of about 16", error)
    words = "interrupted" if error is KeyboardInterrupt else "out of time"
    with pytest.raises(error, match=rf"^{words}: polls.rate = 4 (meets|misses) it$"):
        size("cooperative-recent", "lag <= 0.5", precision=0.05, workers=0, progress=progress)
    assert "number 2 of about 16" in told[-1][1]


def test_a_search_by_formula_that_is_ended_names_the_nearest_values():
    told, progress = ending("number 6 of")
    words = r"^interrupted: downloads.rate = 8 misses it, downloads.rate = 16 meets it$"
    with pytest.raises(KeyboardInterrupt, match=words):
        size(hop(), 0.9, progress=progress)
    assert len(told) == 6


def test_an_emulation_that_is_ended_says_what_it_has_measured():
    told, progress = ending("replication 33 of")
    with pytest.raises(KeyboardInterrupt, match=r"^interrupted: polls.rate = 4 has lag 0\.\d+ \.\. 0\.\d+ so far$"):
        size("cooperative-recent", "lag <= 0.5", precision=0.005, workers=0, progress=progress)
    assert "number 1 of about 16" in told[-1][1]


@pytest.mark.parametrize("place", [1, 2, 3])
def test_one_interrupt_ends_all_that_was_to_be_emulated(place):
    """The value is found by then, and what was emulated whole has its row."""
    told, progress = ending(f"({place} of 3): replication")
    found = size(hop(), 0.9, **COARSE, workers=0, progress=progress)
    assert found.value == pytest.approx(9)
    assert found.incomplete == "interrupted after 0 replications"
    assert list(found.near) == pytest.approx([8.1, 9.9][: place - 1])
    assert [row["value"] for row in found.rows] == pytest.approx([[], [9], [8.1, 9]][place - 1])
    assert f"({place} of 3): replication" in told[-1][1]


def test_an_interrupt_before_anything_is_emulated_says_the_value(monkeypatch):
    monkeypatch.setattr(targets, "emulate_so_far", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    words = "interrupted: downloads.rate = 9, by formula, is the smallest that meets it, and is not emulated yet"
    with pytest.raises(KeyboardInterrupt, match=f"^{words}$"):
        size(hop(), 0.9)


@pytest.mark.parametrize(("network", "target"), [(hop(), "freshness >= 0.9"), ("cooperative-recent", "lag <= 0.5")])
def test_it_says_how_far_it_is(network, target):
    """From nothing to all, never back, with the replications of every emulation."""
    told, progress = ending("never")
    found = size(network, target, precision=0.05, workers=0, progress=progress)
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] == pytest.approx(1)
    assert told[0][1].endswith(", by formula (number 1 of about 24)")
    assert told[-1][1] == "judged together"
    assert all(re.search(r"= \d+.*, (by formula|emulated) \(.*\)(: .*)?", words) for _, words in told[:-1])
    assert found.how == ("by formula" if isinstance(network, rn.Network) else "by emulation with common random numbers")
    assert [row["meets"] for row in found.rows] == [False, True, True]


def test_what_would_take_a_night_in_all_is_refused():
    """A tenth of an hour for each of some sixteen emulations would do, and an hour is too much."""

    def progress(share, words):
        assert (
            words.endswith((", by formula (number 1 of about 24)", " of 32"))
            or "compiles" in words
            or "predicting" in words
        ), "it is under way"

    with pytest.raises(UnreasonableError, match=r"^precision: .* takes about .* and about 16 such runs are wanted$"):
        size("cooperative-recent", "lag <= 0.5", precision=3e-5, workers=0, progress=progress)


def test_what_takes_more_memory_than_there_is_is_refused(monkeypatch):
    """Of 1,000 replicas, as `run` refuses it: known they fit, emulated they do not."""
    monkeypatch.setattr(build, "machine_memory", lambda: 700_000)
    with pytest.raises(FieldError, match=r"^network: 1,001 nodes take about 0\.0009 GB of memory"):
        size(rn.cascade(depth=1, branching=1000, updates=E1, downloads=E1), 0.9)
