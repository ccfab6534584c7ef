"""What works here, what does not, and how fast."""

from __future__ import annotations

import os
import platform
import sys
import time
from importlib import metadata

from replnet.cli.screen import echo
from replnet.version import __version__

NEEDED = ("numpy", "numba", "scipy", "networkx", "pandas", "pydantic", "ruamel.yaml", "click", "rich", "matplotlib")


def examine() -> bool:
    """Print one line per check; true if all passed."""
    echo(f"replnet {__version__}, Python {platform.python_version()}, {platform.platform()}, {os.cpu_count()} CPUs")
    checks = [_python(), *map(_library, NEEDED), _instructions(), *_engines()]
    for good, words in checks:
        echo(f"  {'ok  ' if good else 'FAIL'}  {words}")
    return all(good for good, _ in checks)


def _python() -> tuple[bool, str]:
    return sys.version_info >= (3, 11), "Python 3.11 or newer"


def _instructions() -> tuple[bool, str]:
    from replnet.study.provenance import instructions

    return True, f"computing with {instructions()} (with others, results differ in their last digits)"


def _library(name: str) -> tuple[bool, str]:
    try:
        return True, f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return False, f"{name} is missing (pip install {name})"


def _engines() -> list[tuple[bool, str]]:
    from replnet.network.network import cooperative
    from replnet.study.emulate import emulate

    network = cooperative(
        replicas=100,
        peers=1,
        updates="exponential(rate=1)",
        downloads="exponential(rate=1)",
        polls="exponential(rate=4)",
    )
    begun = time.perf_counter()
    emulate(network, horizon=32)
    compiled = time.perf_counter() - begun
    fast, slow = emulate(network, horizon=4e4), emulate(network, "step", horizon=64)
    return [
        (True, f"kernels ready in {compiled:.1f} s (compiled once, then kept on disk)"),
        (
            fast.verdict == "agree",
            f"array: {fast.events / fast.seconds / 1e6:.0f} million events a second, {fast.verdict}",
        ),
        (bool(slow.rows), f"step: {slow.events / slow.seconds / 1e3:.0f} thousand events a second"),
    ]
