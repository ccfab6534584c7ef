"""Processes that are not renewal: drawn as their order says, in equilibrium, and alike in every engine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from laws_of_intervals import DEPENDENT as TEXTS
from laws_of_intervals import PLAIN
from live_world import assert_same_path
from networks import networks
from paths import assert_agree, task, walks
from renewals import instants, renewals
from scipy.linalg import expm
from scipy.special import ndtri
from scipy.stats import gamma as frozen_gamma

import replnet as rn
from replnet.engines.plan import plan
from replnet.laws import FieldError, law, shuffled
from replnet.processes.order import Ordered, StationaryProcesses
from replnet.processes.renewal import Renewals
from replnet.processes.streams import FUTURE, PAST, ProcessStreams, exponentials, name_words, seed_words
from replnet.testing import assert_mean

MANY = 10_000  # processes side by side


def chance(count: int, seed: int = 1) -> ProcessStreams:
    names = name_words([f"node {i}" for i in range(count)])
    return ProcessStreams(seed_words(seed, 0), names, np.zeros(count, np.int64))


def processes(text: str, count: int, events: int = 1 << 15) -> Renewals:
    return renewals([law(text)], count, events)


def flow(text: str, count: int) -> StationaryProcesses:
    one = law(text)
    assert isinstance(one, Ordered)
    return one.start_processes(chance(count))


@pytest.mark.parametrize("text", TEXTS)
def test_they_write_what_users_write(text: str) -> None:
    one = law(text)
    assert str(one) == text
    assert law(str(one.age)) == one.age
    assert law(str(shuffled(one))) == shuffled(one)
    assert hash(law(text)) == hash(one)


def test_delays_and_faults_take_no_process() -> None:
    about: dict[str, Any] = {"updates": "exponential(rate=1)", "downloads": "exponential(rate=1)"}
    with pytest.raises(rn.InputError, match=r"delay: .*not independent"):
        rn.single(**about, delay=TEXTS[0])
    with pytest.raises(rn.InputError, match=r"faults.*up: .*not independent"):
        rn.single(**about, faults=[{"crash": "replicas", "up": TEXTS[0], "down": "constant(period=1)"}])


def test_the_modes_of_a_modulated_process() -> None:
    """(4) of poisson.py against the matrix exponential, with a state without events and more than two states."""
    rates, means = np.array([8.0, 0.0, 3.0]), np.array([1.0, 2.0, 0.5])
    one = law(TEXTS[6])
    generator = (1 / means)[:, None] * (0.5 * np.ones((3, 3)) - 1.5 * np.eye(3))
    share = means / means.sum()
    assert one.rate == pytest.approx(share @ rates, rel=1e-12)
    for x in (0.0, 0.1, 1.0, 7.0):
        silent = expm((generator - np.diag(rates)) * x) @ np.ones(3)
        assert one.age.tail(x) == pytest.approx(share @ silent, rel=1e-12)
        assert one.tail(x) == pytest.approx((share * rates) @ silent / (share @ rates), rel=1e-12)


@pytest.mark.parametrize("text", [TEXTS[7], TEXTS[8], "diurnal(rate=20, swing=1, period=7)"])
def test_the_bessel_functions_of_a_day(text: str) -> None:
    """(2) and (3) of poisson.py against the mean over the day; an even grid integrates what is periodic exactly."""
    of = law(text).marginal  # type: ignore[attr-defined]
    t = np.arange(512) / 512 * of.period
    bend = of.rate * of.swing * of.period / (2 * math.pi)
    rate = of.rate * (1 + of.swing * np.cos(2 * math.pi * t / of.period))
    for x in np.array([0.0, 0.01, 0.3, 1.0, 2.5]) / of.rate:
        turns = np.sin(2 * math.pi * (t + x) / of.period) - np.sin(2 * math.pi * t / of.period)
        silent = np.exp(-of.rate * x - bend * turns)
        assert law(text).age.tail(x) == pytest.approx(silent.mean(), rel=1e-11)
        assert law(text).tail(x) == pytest.approx((rate * silent).mean() / of.rate, rel=1e-11)


def test_unions_in_closed_form() -> None:
    """Of two ticks at random phases the gap after one of them is uniform on (0, 1)."""
    one = law("superposition(law=constant(period=1), count=2)")
    assert one.tail(0.3) == pytest.approx(0.7, rel=1e-14)
    assert one.age.tail(0.3) == pytest.approx(0.49, rel=1e-14)
    assert float(one.isf(0.0)) == 1.0
    assert one.second_moment == pytest.approx(1 / 3, rel=1e-12)
    unlike = law("superposition(laws=[constant(period=1), constant(period=2)])")
    assert unlike.tail([0.5, 1.0, 1.5]).tolist() == pytest.approx([(2 * 0.75 + 0.5) / 3, 0, 0], abs=1e-15)
    # The age of two is below x^-0.8 together, of three below x^-1.2.
    assert law("superposition(law=pareto(alpha=1.4, rate=1), count=2)").second_moment == math.inf
    assert law("superposition(law=pareto(alpha=1.4, rate=1), count=3)").second_moment < math.inf


def test_patterns_and_records_are_played_as_they_are(tmp_path) -> None:
    """Also across time zero, and round and round; two instants of the record are the same."""
    path = tmp_path / "times.txt"
    path.write_text("3\n4\n4\n6.5\n7\n11\n")
    text = f'trace(file="{path}", order=recorded)'
    assert str(law(text)) == text
    assert law(str(law(text))) == law(text)
    assert shuffled(law(text)) == law(f'trace(file="{path}")')
    for one, pattern in ((text, [1, 2.5, 0.5, 4]), (TEXTS[1], [0.5, 0.25, 2, 0.25])):
        of, again = processes(one, 50), np.tile(pattern, 40)
        past = of.past(20.0)
        for p, points in enumerate(instants(of, 30.0)):
            steps = np.diff(np.concatenate([past.of(p), points]))
            assert any(np.allclose(steps, again[k : k + steps.size], rtol=0, atol=1e-12) for k in range(4))


@pytest.mark.parametrize("hurst", [0.501, 0.6, 0.75, 0.9, 0.99])
def test_long_memory_is_a_power(hurst: float) -> None:
    """(4) of sequences.py, as closely as its head says."""
    process = law(f"longrange(law=exponential(rate=1), hurst={hurst})")
    for lag in [0, 1, 2, 3, 5, 10, 100, 1000, 10_000, 100_000]:
        assert process.correlation(lag) == pytest.approx((1 + lag) ** (2 * hurst - 2), rel=0.01)


@pytest.mark.parametrize(("kind", "lag"), [("correlated", 1), ("correlated", 4), ("longrange", 1), ("longrange", 20)])
def test_correlations_are_those_asked_for(kind: str, lag: int) -> None:
    """P(two normals of correlation r are above 0) = 1/4 + asin(r) / (2 pi), and one has its law wherever it is.

    Intervals that are all but constant are seen as often as they come. Sees an error of 0.1 in r, and of 10 % in a
    deviation.
    """
    text = f"{kind}(law=uniform(low=1, high=1.000001), {'rho=-0.9' if kind == 'correlated' else 'hurst=0.9'})"
    process, of, everyone = law(text), flow(text, 30_000), np.arange(30_000)
    ahead, behind = of.forwards(everyone, lag)[:, -1], of.start_backwards()(everyone, lag)[:, -1]
    z = [ndtri((x - 1) * 1e6) for x in (of.age + of.residual, ahead, behind)]
    for a, b, far in ((0, 1, lag), (0, 2, lag), (1, 2, 2 * lag)):
        expected = 1 / 4 + math.asin(process.correlation(far)) / (2 * math.pi)
        assert_mean(((z[a] > 0) & (z[b] > 0)).astype(float), expected, resolution=0.035)
    for one in z:
        assert_mean((one > ndtri(0.9)).astype(float), 0.1, resolution=0.025)


@pytest.mark.parametrize("text", [TEXTS[7], TEXTS[8], "diurnal(rate=100, swing=1, period=3)"])
def test_a_day_spends_one_exponential_on_every_interval(text: str) -> None:
    """(1) of poisson.py, from time zero on and back: the rate between events adds up to what the streams say."""
    of, own, walks, everyone = law(text).marginal, chance(5), flow(text, 5), np.arange(5)  # type: ignore
    bend = of.rate * of.swing * of.period / (2 * math.pi)
    zero = (np.exp(-own.start_exponentials(0)) * of.period)[:, None]
    for sign, first, walk, part in (
        (1, walks.residual, walks.forwards, FUTURE),
        (-1, walks.age, walks.start_backwards(), PAST),
    ):
        waits = np.column_stack([np.zeros(5), first, walk(everyone, 200)])
        t = zero + sign * np.cumsum(waits, axis=1)
        spent = sign * np.diff(of.rate * t + bend * np.sin(2 * math.pi * t / of.period), axis=1)
        asked = np.array([exponentials(own.streams(part), n) for n in range(201)]).T
        assert np.allclose(spent, asked, rtol=1e-9, atol=1e-11 * of.rate * of.period)


def test_a_modulated_process_races_events_against_changes() -> None:
    """The plain twin of `race`, word by word."""
    rates, leave = [8.0, 0.0, 3.0], [1.0, 0.5, 2.0]
    own, walks = chance(4), flow(TEXTS[6], 4)
    waits = np.column_stack([walks.residual, walks.forwards(np.arange(4), 50)])
    words = np.array([exponentials(own.streams(FUTURE), n) for n in range(2000)]).T
    start = np.searchsorted(np.cumsum([1.0, 2.0, 0.5]) / 3.5, np.exp(-own.start_exponentials(0)))
    for p in range(4):
        state, word = int(start[p]), iter(words[p].tolist())
        for wait in waits[p]:
            total = 0.0
            while True:
                both = rates[state] + leave[state]
                total += next(word) / both
                point = math.exp(-next(word)) * both
                if point <= rates[state]:
                    break
                others = [s for s in range(3) if s != state]
                state = others[int((point - rates[state]) / leave[state] * 2)]
            assert wait == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("text", TEXTS[-3:])
def test_a_window_has_its_share_of_the_events(text: str) -> None:
    """Some time of the day is the begin of the window: then events on the even clock are equally far apart."""
    of = law(text).marginal  # type: ignore[attr-defined]
    zero = np.exp(-chance(30).start_exponentials(0)) * of.period
    renewals = processes(text, 30)
    past = [renewals.past(40 * of.period).of(p).copy() for p in range(30)]
    for p, points in enumerate(instants(renewals, 40 * of.period)):
        time = (np.concatenate([past[p], points]) + zero[p]) / of.period
        day, w = np.floor(time + 1e-9), of.window / of.period
        even = np.interp(time - day, (0, w, 1), (0, of.share, 1)) if of.share < 1 else (time - day) / w
        assert even.min() >= -1e-6
        assert even.max() <= 1 + 1e-9
        assert np.allclose(np.diff(day + even), 1 / (of.rate * of.period), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("text", TEXTS[-3:])
def test_intervals_of_a_window_by_counting(text: str) -> None:
    """(2) of windows.py on a fine even grid."""
    of = law(text).marginal  # type: ignore[attr-defined]
    u = (np.arange(100_000) + 0.5) / 100_000
    x = np.sort((of.clock_time(u + of.step) - of.clock_time(u)) * of.period)
    assert of.mean == pytest.approx(x.mean(), rel=1e-5)
    assert of.second_moment == pytest.approx((x**2).mean(), rel=1e-4)
    for at in np.array([0.01, 0.3, 0.7, 0.99, 1.01, 1.6]) * of.mean:
        assert of.tail(at) == pytest.approx((x > at).mean(), abs=3e-5)
        assert of.cdf(at) == pytest.approx((x <= at).mean(), abs=3e-5)
        assert of.excess(at) == pytest.approx(np.maximum(x - at, 0).mean(), rel=1e-4, abs=1e-9)


@pytest.mark.parametrize(("events", "step"), [(64, math.inf), (1 << 12, 7.0), (1 << 15, 0.37)])
@pytest.mark.parametrize("text", TEXTS + PLAIN)
def test_instants_do_not_depend_on_windows_blocks_or_depth(text: str, events: int, step: float) -> None:
    whole = instants(processes(text, 5), 60.0)
    parts = instants(processes(text, 5, events), 60.0, step)
    for a, b in zip(whole, parts, strict=True):
        assert np.array_equal(a, b)
        assert (np.diff(a) > 0).all()
        assert a[-1] < 60
    of = processes(text, 5, events)
    deep, shallow = of.past(300.0), of.past(5.0)
    for p in range(5):
        assert np.array_equal(deep.of(p)[deep.of(p) >= -5], shallow.of(p))
        assert np.array_equal(deep.of(p)[-1:], -of.age[p : p + 1])
        assert deep.serial[p] == -deep.of(p).size


@pytest.mark.parametrize("text", TEXTS)
def test_walks_do_not_depend_on_blocks_or_company(text: str) -> None:
    everyone, some, others = np.arange(5), np.array([3, 1]), np.array([0, 2, 4])
    for whole, parts in (
        (flow(text, 5).forwards, flow(text, 5).forwards),
        (flow(text, 5).start_backwards(), flow(text, 5).start_backwards()),
    ):
        expected, given = whole(everyone, 60), np.empty((5, 60))
        given[some, :7], given[others, :40] = parts(some, 7), parts(others, 40)
        given[some, 7:40], given[:, 40:] = parts(some, 33), parts(everyone, 20)
        assert np.array_equal(expected, given)


@pytest.mark.parametrize("text", TEXTS + PLAIN)
def test_every_time_is_like_any_other(text: str) -> None:
    """At zero by (1) of order.py; 3 units before and after it the chance of no event is that of an age.

    Sees an error of 0.035.
    """
    of, one = processes(text, MANY), law(text)
    for a, b in [(0.1, 0.0), (0.0, 0.1), (0.3, 0.3), (1.0, 0.5)]:
        hits = ((of.age > a) & (of.next_instants() > b)).astype(float)
        assert_mean(hits, float(one.age.tail(a + b)), resolution=0.07)
    past = of.past(3.0)
    for points, low in (([past.of(p) for p in range(MANY)], -3.0), (instants(of, 3.4), 3.0)):
        some, at = np.repeat(np.arange(MANY), list(map(len, points))), np.concatenate(points)
        for length in (0.1, 0.4):
            silent = np.ones(MANY)
            silent[some[(at >= low) & (at < low + length)]] = 0.0
            assert_mean(silent, float(one.age.tail(length)), resolution=0.07)


@st.composite
def replaced(draw: st.DrawFn) -> rn.Network:
    """Any network, some of whose laws are processes."""
    return rn.Network.from_data(_replaced(draw, draw(networks()).data()))


def _replaced(draw: st.DrawFn, data: Any, key: str = "") -> Any:
    if isinstance(data, dict):
        return {name: _replaced(draw, value, name) for name, value in data.items()}
    if isinstance(data, list):
        return [_replaced(draw, value, key) for value in data]
    if key in ("updates", "downloads", "polls", "queries") and draw(st.booleans()):
        return draw(st.sampled_from(TEXTS))
    return data


@settings(max_examples=30)
@given(network=replaced(), seed=st.integers(0, 2**32), sampled=st.booleans())
def test_engines_agree_copy_by_copy(network: rn.Network, seed: int, sampled: bool) -> None:
    of = task(network, seed, 8.0, sampled)
    assume(walks(of.plan))
    assert_agree(of)


@pytest.mark.parametrize("text", [TEXTS[2], TEXTS[6], TEXTS[7], TEXTS[9]])
def test_hosts_on_the_wall_clock_walk_the_same_path(text: str) -> None:
    network = rn.cascade(depth=2, branching=2, updates=text, downloads=[text, "exponential(rate=1)"])
    assert_same_path(plan(network), 3, 1, True)


@pytest.mark.parametrize("purpose", ["downloads", "polls"])
def test_a_cluster_needs_renewal_downloads_and_polls(purpose: str) -> None:
    about = {"updates": TEXTS[5], "downloads": "exponential(rate=1)", "polls": "exponential(rate=2)"}
    (row,) = rn.predict(rn.cooperative(replicas=5, **{**about, purpose: TEXTS[2]})).rows
    assert row.predicted is None
    assert "depend on one another" in row.note


def test_a_prediction_needs_the_law_of_intervals_alone() -> None:
    pattern = law(TEXTS[1])
    one, same = (rn.cascade(depth=2, updates=u, downloads=u) for u in (pattern, shuffled(pattern)))
    assert [row.predicted for row in rn.predict(one).rows] == [row.predicted for row in rn.predict(same).rows]


@pytest.mark.parametrize("written", ["gamma(shape=2, rate=2)", {"gamma": {"shape": 2, "rate": 2}}, "frozen"])
def test_a_law_inside_a_process_is_written_as_anywhere(written: Any) -> None:
    inner = frozen_gamma(2, scale=0.5) if written == "frozen" else written
    assert rn.correlated(law=inner, rho=0.9) == rn.correlated(law=law(inner), rho=0.9)
    assert rn.longrange(law=inner, hurst=0.8) == rn.longrange(law=law(inner), hurst=0.8)
    assert rn.superposition(law=inner, count=3) == rn.superposition(law=law(inner), count=3)
    assert rn.superposition(laws=[inner, "constant(rate=2)"]) == rn.superposition(
        laws=[law(inner), law("constant(rate=2)")]
    )
    with pytest.raises(FieldError, match=r"^laws\[2\]: unknown family 'nosuch'"):
        rn.superposition(laws=[inner, "nosuch(2)"])
    assert rn.shuffled(inner) == law(inner)
    assert rn.shuffled("alternating(values=[1, 3])") == rn.lattice([1, 3])
    assert rn.single(updates=inner, downloads="constant(rate=2)").spec.updates == law(inner)
