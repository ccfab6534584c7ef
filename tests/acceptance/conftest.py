"""The wheel in a fresh environment: what the tests of this folder use is what users install."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from installed import Installed

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def environment(tmp_path_factory) -> Path:
    """A virtual environment with the wheel, all that it offers and what runs notebooks; or the one that is named."""
    if named := os.environ.get("REPLNET_INSTALLED"):
        return Path(named)
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder = shared / "installed"
    with (shared / "installed.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            install(folder)
    return folder / ".venv"


def install(folder: Path) -> None:
    """Build the wheel of the checkout, and install it into a new environment in this folder."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(CHECKOUT)], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(folder / ".venv")], check=True)
    pip[:3] = [str(folder / ".venv/bin/python"), "-m", "pip"]
    subprocess.run([*pip, "install", f"{wheel}[all]", "nbclient", "ipykernel"], check=True)


@pytest.fixture
def installed(environment, tmp_path) -> Installed:
    """The installed program, in a new folder that knows nothing of the checkout."""
    return Installed(environment, tmp_path, variables())


@pytest.fixture(scope="session")
def installed_once(environment, tmp_path_factory) -> Installed:
    """The same, in a folder that several tests share."""
    return Installed(environment, tmp_path_factory.mktemp("shared"), variables())


def variables() -> dict[str, str]:
    """The variables that a user's shell has."""
    ours = ("PYTHON", "PYTEST", "REPLNET", "RAY_", "VIRTUAL_ENV", "NUMBA")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder are acceptance tests."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("acceptance")
