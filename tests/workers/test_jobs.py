"""The pool without Ray: order, failures, and what becomes of a job whose worker died."""

from __future__ import annotations

import sys

import programs
import pytest

from replnet.workers.jobs import run


def square(x):
    return x * x


def picky(x):
    if x == 1:
        raise ValueError("no ones")
    if x == 2:
        raise SystemExit(3)
    if x == 3:
        raise KeyboardInterrupt
    return x


def test_the_largest_job_comes_first_and_equal_ones_in_order():
    assert list(run(square, [1, 2, 3, 4], sizes=[1.0, 5.0, 5.0, 2.0])) == [(1, 4), (2, 9), (3, 16), (0, 1)]


def test_no_jobs_are_done_at_once():
    assert list(run(square, [], [], workers=2)) == []


def test_a_failure_says_why_and_the_others_go_on():
    results = dict(run(picky, [0, 1, 2, 4], [1] * 4))
    assert (results[0], results[3]) == (0, 4)
    assert results[1].reason == "ValueError: no ones"
    assert 'raise ValueError("no ones")' in results[1].trace
    assert results[2].reason == "SystemExit: 3"


def test_ctrl_c_ends_it():
    results = run(picky, [0, 3, 4], [3, 2, 1])
    assert next(results) == (0, 0)
    with pytest.raises(KeyboardInterrupt):
        next(results)


def test_jobs_are_done_only_when_somebody_asks():
    done = []
    results = run(done.append, [0, 1, 2], [1] * 3)
    next(results)
    results.close()
    assert done == [0]


def test_without_workers_ray_is_not_loaded():
    program = (
        "import sys; from replnet.workers.jobs import run; list(run(abs, [1], [1])); assert 'ray' not in sys.modules"
    )
    programs.run([sys.executable, "-c", program], check=True)
