"""The command line as a script sees it: stdout, stderr and the exit code."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest.mock import patch

import programs

from replnet.cli import main
from replnet.cli.main import FINE, INCOMPLETE

SMALL = """\
title: a few cells
vary: {rate: [1, 2]}
network: {kind: single, updates: exponential(rate=1), downloads: "exponential(rate=${rate})"}
run: {estimator: conditional, precision: 0.01}
claims:
  - {text: more downloads are better, rises: freshness, over: rate}
printed:
  - {at: {rate: 1}, group: level 1, metric: freshness, value: 0.5, within: 0.005}
  - {at: {rate: 2}, group: level 1, metric: freshness, value: 0.7, within: 0.005, note: a slip}
figure: {x: rate}
"""
"""An experiment of two cells, with one of each kind of statement."""


def replnet(*arguments: object) -> subprocess.CompletedProcess[str]:
    """A command in this process, where what it needs is loaded and compiled already."""
    words, out, err = [str(one) for one in arguments], io.StringIO(), io.StringIO()
    code = None
    with patch.object(sys, "argv", ["replnet", *words]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def started(*arguments: object, **options) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    return programs.run([sys.executable, "-m", "replnet", *arguments], **options)


def kept_up(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether a live run was in time. On a busy machine it need not be, if it says so; nothing else may be wrong."""
    late = done.returncode == INCOMPLETE and "the machine did not keep up" in done.stderr
    assert late or done.returncode == FINE, done.stderr
    return not late
