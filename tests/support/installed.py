"""An installed replnet, used from outside: commands and programs in a folder of their own, of which nothing may stay.

Every command carries a name of its own in its environment, which all processes inherit that it starts, however they are
started. By that name they are found when the command is over, and ended if any is left.
"""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from programs import wait_until

MARK = "REPLNET_ACCEPTANCE"
LONGEST = 600.0  # seconds that anything may take, on however busy a machine
AFTERWARDS = 90.0  # seconds until the last process has ended; two of Ray's live on for 61 s where its driver was killed


@dataclass
class Done:
    """How a command ended, and what it printed; on a terminal all of it is `out`."""

    code: int
    out: str
    err: str


@dataclass
class Running:
    """A command under way."""

    process: subprocess.Popen[bytes]
    mark: str
    terminal: int | None = None
    _output: dict[str, bytearray] = field(default_factory=lambda: {"out": bytearray(), "err": bytearray()})
    _readers: list[threading.Thread] = field(default_factory=list)

    def read(self, name: str, descriptor: int) -> None:
        """Collect what comes from a descriptor, until its end."""

        def keep() -> None:
            with suppress(OSError):  # which is how a terminal ends
                while data := os.read(descriptor, 1 << 16):
                    self._output[name] += data

        self._readers.append(threading.Thread(target=keep, daemon=True))
        self._readers[-1].start()

    @property
    def printed(self) -> str:
        """All that it has printed so far."""
        return "".join(data.decode(errors="replace") for data in self._output.values())

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so while it runs."""
        assert wait_until(lambda: condition() or self.process.poll() is not None, LONGEST)
        assert self.process.poll() is None, f"ended with {self.process.returncode} before: {self.printed}"

    def press_ctrl_c(self) -> None:
        """Type Ctrl-C at its terminal."""
        assert self.terminal is not None
        os.write(self.terminal, b"\x03")

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the command, not to what it has started."""
        self.process.send_signal(number)

    def finish(self) -> Done:
        """Wait for its end, and for that of all that it has started."""
        code = self.process.wait(LONGEST)
        assert wait_until(lambda: not processes_of(self.mark), AFTERWARDS), "processes are left"
        if self.terminal is not None:
            os.close(self.terminal)
            self.terminal = None
        for reader in self._readers:
            reader.join(LONGEST)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        out, err = (data.decode(errors="replace") for data in self._output.values())
        return Done(code, out, err)

    def end(self) -> None:
        """End it, and all that it has started."""
        for pid in processes_of(self.mark):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(LONGEST)


@dataclass(frozen=True)
class Installed:
    """An environment with replnet, and a folder in which its commands run."""

    environment: Path
    folder: Path
    variables: Mapping[str, str]

    def replnet(self, *arguments: object, **options: object) -> Done:
        """Run a command of replnet to its end."""
        with self.started("replnet", *arguments, **options) as running:
            return running.finish()

    def python(self, program: str, **options: object) -> Done:
        """Run a program to its end, which is a script as users have them: without a guard around its main part."""
        script = self.folder / f"program-{uuid.uuid4().hex[:8]}.py"
        script.write_text(program)
        with self.started("python", script, **options) as running:
            return running.finish()

    def shell(self, line: str, **options: object) -> Done:
        """Run a line as it would be typed."""
        with self._started(["bash", "-c", line], **options) as running:
            return running.finish()

    @contextmanager
    def started(self, program: str, *arguments: object, **options: object) -> Iterator[Running]:
        """A command under way, which has ended when the block has."""
        words = [str(self.environment / "bin" / program), *map(str, arguments)]
        with self._started(words, **options) as running:
            yield running

    @contextmanager
    def _started(
        self, words: Sequence[str], on_terminal: bool = False, environment: Mapping[str, str] | None = None
    ) -> Iterator[Running]:
        mark = uuid.uuid4().hex
        temporary = Path(tempfile.mkdtemp(prefix="r-"))  # in a folder with a longer name Ray cannot make its sockets
        variables = {**self.variables, **(environment or {}), MARK: mark, "TMPDIR": str(temporary)}
        variables["PATH"] = f"{self.environment / 'bin'}{os.pathsep}{variables['PATH']}"
        running = (_on_terminal if on_terminal else _on_pipes)(words, self.folder, variables, mark)
        try:
            yield running
        finally:
            running.end()
            left = list(temporary.rglob("*"))
            shutil.rmtree(temporary)
        assert left == [], "files are left in the temporary folder"


def _on_pipes(words: Sequence[str], folder: Path, variables: Mapping[str, str], mark: str) -> Running:
    process = subprocess.Popen(
        words, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    running = Running(process, mark)
    assert process.stdout is not None
    assert process.stderr is not None
    running.read("out", process.stdout.fileno())
    running.read("err", process.stderr.fileno())
    return running


def _on_terminal(words: Sequence[str], folder: Path, variables: Mapping[str, str], mark: str) -> Running:
    """Start a command as a terminal does, which sends Ctrl-C to all that is in the foreground."""
    outer, inner = pty.openpty()
    process = subprocess.Popen(
        words, cwd=folder, env={**variables, "TERM": "xterm", "COLUMNS": "120"}, preexec_fn=lambda: os.login_tty(inner)
    )
    os.close(inner)
    running = Running(process, mark, outer)
    running.read("out", outer)
    return running


def processes_of(mark: str) -> list[int]:
    """Processes that a command has started, and itself, as long as they run."""
    return [int(place.name) for place in Path("/proc").iterdir() if place.name.isdigit() and _is_of(place, mark)]


def _is_of(place: Path, mark: str) -> bool:
    try:
        return f"{MARK}={mark}".encode() in (place / "environ").read_bytes()
    except OSError:  # it has ended, or is another user's
        return False
