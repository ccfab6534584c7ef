"""What holds for all tests."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# Tests press Ctrl-C, which whatever a shell starts in the background is deaf to, and all that this starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples each time: what decides whether a change lands does not depend on luck.
settings.register_profile(
    "same",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],  # however busy the machine is
)
settings.load_profile("same")
