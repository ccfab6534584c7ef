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
