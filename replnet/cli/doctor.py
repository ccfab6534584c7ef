"""The command `doctor`: what is installed, how much room there is, whether the engines work, and how fast."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator

import click

from replnet.cli.main import DIFFERS, EPILOG, FINE, commands
from replnet.cli.output import echo
from replnet.version import __version__

REQUIRED_PACKAGES = (
    "numpy",
    "numba",
    "scipy",
    "networkx",
    "pandas",
    "pyarrow",
    "pydantic",
    "ruamel.yaml",
    "click",
    "rich",
)
DISK_NEEDED = 1e9  # bytes that a large sweep, or a trace of some million events, may take


@commands.command(epilog=EPILOG)
@click.option("--address", help="Check this Ray cluster as well, node by node.")
def doctor(address: str | None) -> int:
    """Check that this installation can do its work, and how fast."""
    import platform

    echo(f"replnet {__version__}, Python {platform.python_version()}, {platform.platform()}, {os.cpu_count()} CPUs")
    checks = [(sys.version_info >= (3, 11), "Python 3.11 or newer"), *map(_check_package, REQUIRED_PACKAGES)]
    checks += [
        *_check_extras(),
        *_check_disk(),
        _check_kernels(),
        *_check_engines(),
        *(_check_cluster(address) if address else ()),
    ]
    for good, words in checks:
        echo(f"  {'ok  ' if good else 'FAIL'}  {words}")
    return FINE if all(good for good, _ in checks) else DIFFERS


def _check_cluster(address: str) -> Iterator[tuple[bool, str]]:
    """Yield, for each node of the Ray cluster at `address`, whether it can work, and in words what it is like."""
    from replnet.live import check_cluster
    from replnet.workers import NO_CPUS

    checks = check_cluster(address)
    if not any(check.node.cpus for check in checks):
        yield False, NO_CPUS
    for check in checks:
        node = check.node
        if node.unfit or not node.cpus:
            yield not node.unfit, f"{node}: {node.unfit or 'no CPUs for jobs, left alone'}"
            continue
        assert node.software
        assert check.offset
        assert check.costs
        code = "" if node.up_to_date else " of other sources" if node.software.replnet else " missing"
        travels = " (ours travels with the job)" if code else ""
        has = f"Python {node.software.python}, replnet{code or ' as here'}{travels}"
        room = f"CPUs {node.cpus:g}, memory {node.memory / 1e9:.1f} GB"
        clock = f"clock {1e3 * check.offset.seconds:+.2f} ± {1e3 * check.offset.error:.2f} ms"
        costs = check.costs
        messages = f"{1e3 * costs.latency:.2g} ms to a batch of messages, {1e6 * costs.message:.0f} µs to a message"
        yield True, f"{node}: {has}; {room}; {clock}; {messages}"


def _check_package(name: str) -> tuple[bool, str]:
    """Return whether a package is installed, and a text with its version, or on how to install it."""
    from importlib import metadata

    try:
        return True, f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return False, f"{name} is missing (pip install {name})"


def _check_extras() -> Iterator[tuple[bool, str]]:
    """Yield, for each optional package, whether it is usable or else missing, which is allowed, and that in words.

    If matplotlib or Ray is installed, the font of pictures or the address of Ray follows in the same form.
    """
    from replnet.text import EXTRAS, is_installed

    for module, (name, extra) in EXTRAS.items():
        if is_installed(module):
            good, words = _check_package(module)
            yield good, words
        else:
            yield True, f"without {name} (pip install 'replnet[{extra}]' brings it)"
    if is_installed("matplotlib"):
        from replnet.show.pictures import DRAWING_FONT, has_font

        yield has_font(), f"pictures are written in {DRAWING_FONT}"
    if is_installed("ray"):
        address = os.environ.get("RAY_ADDRESS")
        yield (
            True,
            f"Ray at RAY_ADDRESS, {address}" if address else "no RAY_ADDRESS: Ray is started where it is needed",
        )


def _check_disk() -> Iterator[tuple[bool, str]]:
    """Yield whether a folder can be written and has room enough, and in words how much room there is.

    The folders are the working directory and that of temporary files.
    """
    import tempfile

    for purpose, folder in (("here", "."), ("for temporary files", tempfile.gettempdir())):
        free = shutil.disk_usage(folder).free
        writable = os.access(folder, os.W_OK)
        yield (
            free > DISK_NEEDED and writable,
            f"{free / 1e9:,.0f} GB of disk {purpose}{'' if writable else ', not writable'}",
        )


def _check_kernels() -> tuple[bool, str]:
    """Return whether there is a folder in which compiled kernels can be kept, and in words which one."""
    from replnet.compiler import cache_folder

    folder = cache_folder(os.path.join("engines", "array", "passes.py"))
    if folder is None:
        return False, "kernels can be kept nowhere (NUMBA_CACHE_DIR: a folder that can be written)"
    return True, f"kernels are kept in {folder}"


def _check_engines() -> list[tuple[bool, str]]:
    """Emulate a small network by each engine but `live`, and return checks: whether all is well, and that in words.

    There is one of the CPU's instructions, one of compiled kernels, and one of each engine, with its speed.
    """
    from replnet.lab import emulate
    from replnet.network import cooperative
    from replnet.run import instructions

    often, law = "exponential(rate=4)", "exponential(rate=1)"
    network = cooperative(replicas=100, peers=1, updates=law, downloads=law, polls=often)
    begun = time.perf_counter()
    emulate(network, horizon=32)
    compiled = time.perf_counter() - begun
    fast, slow = emulate(network, horizon=4e4), emulate(network, "step", horizon=64)
    millions, thousands = fast.events / fast.seconds / 1e6, slow.events / slow.seconds / 1e3
    return [
        (True, f"computing with {instructions()} (with others, results differ in their last digits)"),
        (True, f"kernels ready in {compiled:.1f} s (compiled once, then kept on disk)"),
        (fast.verdict == "agree", f"array: {millions:.0f} million events a second, {fast.verdict}"),
        (bool(slow.rows), f"step: {thousands:.0f} thousand events a second"),
    ]
