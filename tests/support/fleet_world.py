"""A source and replicas that are real servers on loopback, and pull at instants that are written down.

What every node had when is known from that, whatever else is wrong with how it answers.
"""

from __future__ import annotations

import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from made_histories import MadeHistory
from web_server import Answer, web_server


class World:
    """What the nodes have; a thread changes the source and lets replicas pull, each at its own pace."""

    def __init__(self, pace: dict[str, float]) -> None:
        self.history = MadeHistory([time.time()], {name: ([0.0], [0]) for name in pace if name != "source"})
        self._pace, self._stop = pace, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        due = {name: time.time() + period / 2 for name, period in self._pace.items()}
        while not self._stop.wait(max(min(due.values()) - time.time(), 0.0)):
            now = time.time()
            for name, when in due.items():
                if when <= now:
                    due[name] += self._pace[name]
                    self._act(name, now)

    def _act(self, name: str, now: float) -> None:
        if name == "source":
            self.history.updates.append(now)
            return
        times, versions = self.history.copies[name]
        if len(self.history.updates) > versions[-1]:
            versions.append(len(self.history.updates))
            times.append(now)

    def serial(self, name: str, behind: int = 0) -> int:
        """What a node has now, or had so many versions before."""
        now = time.time()
        return max(self.history.version(name, now) - behind, 1)

    def page(self, name: str, **more: object) -> Answer:
        """What a sound server of a node answers."""
        serial = self.serial(name)
        return Answer(b"serial: %d\n" % serial, headers={"ETag": f'"{serial}"'}, **more)

    @contextmanager
    def running(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join()


def certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, Path]:
    """A context of a server with a new certificate for this name, and the file of that certificate."""
    key, file = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", file,
         "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"], check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key)
    return context, file


def in_turn(*answers: Callable[[], Answer], each: int = 3) -> Callable[[object], Answer]:
    """Answers that take turns, so many times each."""
    asked = count()
    return lambda request: answers[next(asked) // each % len(answers)]()


@contextmanager
def faulty_fleet(world: World, folder: Path) -> Iterator[tuple[dict[str, dict], Path]]:
    """Yield the nodes of a fleet file, every one but the source with a fault of its own, and a certificate to trust."""

    def slow() -> Answer:
        page = world.page("slow")
        time.sleep(0.05)
        return page

    def clock() -> Answer:
        page = world.page("clock")
        page.headers["Date"] = "Fri, 01 Jan 2027 00:00:00 GMT"
        return page

    def flapping() -> Answer:
        return Answer(b"serial: %d\n" % world.serial("flapping", behind=next(turn) % 2))

    turn = count()
    answers: dict[str, Callable[[object], Answer]] = {
        "source": lambda request: world.page("source"),
        "slow": lambda request: slow(),
        "clock": lambda request: clock(),
        "flapping": lambda request: flapping(),
        "down": in_turn(lambda: world.page("down"), lambda: Answer(status=503), each=4),
        "broken": in_turn(
            lambda: world.page("broken"),
            lambda: world.page("broken", announced=4000),
            lambda: Answer(status=302, headers={"Location": "http://10.1.2.3/"}),
            lambda: Answer(status=429),
        ),
    }
    version = {"version": {"pattern": r"serial: (\d+)"}}
    context, trusted = certificate(folder, "another.example.org")
    with ExitStack() as stack:
        nodes = {}
        for name, answer in answers.items():
            nodes[name] = {"url": stack.enter_context(web_server({"/": answer})) + "/", **version}
        secure = stack.enter_context(web_server({"/": lambda request: world.page("source")}, context))
        nodes["named"] = {"url": f"{secure}/", **version}
        with web_server({}) as address:
            nodes["gone"] = {"url": f"{address}/", **version}
        yield nodes, trusted
