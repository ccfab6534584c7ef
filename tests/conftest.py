"""Tests press Ctrl-C, which whatever a shell starts in the background is deaf to, and all that this starts."""

from __future__ import annotations

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
