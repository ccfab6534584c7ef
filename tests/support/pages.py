"""`replnet ui` in a process of its own, as a user starts it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import programs


class Pages:
    """The server of the pages of `what`; `record` is its standard input, `temporary` the folder of temporary files."""

    def __init__(self, *what: object, record: Path | None = None, temporary: Path | None = None) -> None:
        # Of a job in the background, Ctrl-C would be ignored.
        start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from replnet.cli import main"
        command = [sys.executable, "-c", f"{start}; main()", "ui", *map(str, what), "--port", "0", "--no-open"]
        # NiceGUI is another one where it finds itself in a test.
        others = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        if temporary is not None:
            others["TMPDIR"] = str(temporary)
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self._held = ExitStack()
        with open(record or os.devnull, "rb") as stdin:
            started = programs.running(command, stdin=stdin, **pipes, text=True, env=others)
            self._process = self._held.enter_context(started)
        assert self._process.stderr
        found = re.search(r"http://\S+", self._process.stderr.readline())
        assert found, self._process.stderr.read()
        self.start = found[0]
        self.base = self.start[: self.start.index("/", len("http://"))]
        self._wait()

    def _wait(self) -> None:
        """Until it listens, which is shortly after it has printed its address."""
        place = urlsplit(self.base)
        while self._process.poll() is None:
            try:
                socket.create_connection((place.hostname, place.port)).close()
            except ConnectionRefusedError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError(self._process.communicate())

    def end(self) -> None:
        """SIGKILL."""
        self._held.close()

    def interrupt(self) -> tuple[int, str, str]:
        """Ctrl-C: the exit code, and what was printed."""
        self._process.send_signal(signal.SIGINT)
        out, err = self._process.communicate(timeout=programs.HANGS)
        return self._process.returncode, out, err
