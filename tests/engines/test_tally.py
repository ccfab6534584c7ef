"""What paths amount to, beside what their logs say: told copy by copy, by code that the engines do not share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from networks import anything, of_several_sources
from paths import assert_close, task, walks
from replay import NAMES, Replay

import replnet as rn
from replnet.engines.array import array
from replnet.engines.log import Columns
from replnet.engines.nodes import step
from replnet.engines.path import Task

LINES = ("service_rate", "queueing_delay", "rejected")  # of which logs say nothing


def assert_as_the_log_says(engine: Any, of: Task) -> None:
    log = list[Columns]()
    path = engine.run_path(replace(of, keep=lambda replication: log.append))
    shares, undated = Replay(of, log, path.depth).shares()
    assert_close({key: share for key, share in path.shares.items() if key[1] not in (*LINES, "download_rate")}, shares)
    assert_close(path.unknown_shares, undated)


def check(network, engine, seed, sampled):
    of = task(network, seed, 6.0, sampled, NAMES if sampled else ())
    assume(engine is step or walks(of.plan))
    assert_as_the_log_says(engine, of)


LINKS_OF_THEIR_OWN = rn.graph(
    nodes={"s": {"updates": "exponential(rate=2)"}, **{name: {"downloads": "exponential(rate=2)"} for name in "ab"}},
    links=[{"from": "s", "to": "a", "delay": 0.3}, {"from": "a", "to": "b", "delay": "gamma(shape=2, mean=0.4)"}],
)
ENGINES = st.sampled_from([array, step])


@settings(max_examples=40, deadline=None, derandomize=True)
@example(network=LINKS_OF_THEIR_OWN, engine=step, seed=1, sampled=True)
@given(network=anything() | of_several_sources(), engine=ENGINES, seed=st.integers(0, 2**32), sampled=st.booleans())
def test_paths_amount_to_what_their_logs_say(network, engine, seed, sampled):
    check(network, engine, seed, sampled)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(network=anything() | of_several_sources(), engine=ENGINES, seed=st.integers(0, 2**32), sampled=st.booleans())
def test_many_paths_amount_to_what_their_logs_say(network, engine, seed, sampled):
    check(network, engine, seed, sampled)
