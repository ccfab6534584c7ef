"""What a cluster leaves of this process as it was; what it does itself is tested with Ray (test_driver_ray)."""

from __future__ import annotations

import ctypes
import signal
import threading

import pytest

from replnet.workers import ray_cluster

SYSTEM = ctypes.CDLL(None)


def handler() -> bytes:
    """What the system does at SIGTERM."""
    found = ctypes.create_string_buffer(ray_cluster.SIGACTION_BYTES)
    SYSTEM.sigaction(signal.SIGTERM, None, found)
    return found.raw[: ctypes.sizeof(ctypes.c_void_p)]  # which comes first in what it says


@pytest.mark.parametrize("of", ["main thread", "other thread"])
def test_sigterm_is_handled_afterwards_by_whom_it_was(of):
    """Ray changes it past Python, which is what the system's own call does here."""
    seen = []

    def block() -> None:
        with ray_cluster._own_signals():
            SYSTEM.sigaction(
                signal.SIGTERM, ctypes.create_string_buffer(ray_cluster.SIGACTION_BYTES), None
            )  # the default
            seen.append(handler())

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        mine = handler()
        if of == "main thread":
            block()
        else:
            thread = threading.Thread(target=block)
            thread.start()
            thread.join()
        assert seen[0] != mine
        assert handler() == mine
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(("mode", "token"), [("", "a"), ("disabled", "a"), ("token", "another")])
def test_a_cluster_that_wants_a_token_is_said_to(mode, token, monkeypatch):
    """Ray says so in one way to those who show none or another, and in another way to those who have none to show."""
    monkeypatch.setenv("RAY_AUTH_MODE", mode)
    wanted = (
        f"the cluster wants {token} token, which `ray get-auth-token` prints on its head (here RAY_AUTH_MODE=token,"
    )
    assert ray_cluster.complaint("Traceback\nray.exceptions.AuthenticationError: Invalid\n").startswith(wanted)
    check = "[2026 C 1 1] a.cc:5: Check failed: x Token authentication is enabled but Ray couldn't find one"
    assert ray_cluster.complaint(check).startswith("the cluster wants a token, which")


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        ("Traceback\n  File\nray.exceptions.RpcError: no answer\n", "ray.exceptions.RpcError: no answer"),
        ("", "no answer"),
        (
            "[2026 C 1 1] loader.cc:111:  A bug in Ray. Check failed: !result.hasError() RAY_AUTH_TOKEN_PATH is set but"
            " file cannot be opened or is empty: /nope\n*** StackTrace ***\n/bin/python(_start+0x21) [0x5] _start\n",
            "RAY_AUTH_TOKEN_PATH is set but file cannot be opened or is empty: /nope",
        ),
        (
            "[2026 C 1 1] loader.cc:5: Check failed: has_token || ignore_mode Token authentication is enabled\n_start",
            "Token authentication is enabled",
        ),
    ],
)
def test_what_ray_fails_of_is_found_in_what_it_prints(printed, words):
    """It prints the stack of an exception, or of machine code, which ends in nothing that says why."""
    assert ray_cluster.complaint(printed) == words
