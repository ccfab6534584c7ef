"""A DNS zone at three real name servers on loopback: a primary, one that waits for NOTIFY, one that asks every 2 s."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import dns.exception
import dns.message
import dns.query
import dns.rdatatype
from made_histories import MadeHistory

ZONE = "example.test"
REFRESH = 2  # seconds, of the SOA record: how often the secondary asks that gets no NOTIFY
POLL = 0.02  # seconds between two looks at all servers, by which it is known what they have

KNOT = """\
server:
    listen: 127.0.0.1@{port}
    rundir: {folder}
database:
    storage: {folder}/db
{remotes}
zone:
  - domain: {zone}
    storage: {folder}
    file: zone
{rules}
"""
PRIMARY = ("remote:\n  - id: notified\n    address: 127.0.0.1@{notified}\n"
           "acl:\n  - id: all\n    address: 127.0.0.1\n    action: transfer\n",
           "    notify: notified\n    acl: all\n    zonefile-sync: -1\n")  # fmt: skip
SECONDARY = ("remote:\n  - id: primary\n    address: 127.0.0.1@{primary}\n"
             "acl:\n  - id: all\n    address: 127.0.0.1\n    action: notify\n",
             "    master: primary\n    acl: all\n    refresh-min-interval: 3600\n")  # fmt: skip
NSD = """\
server:
    ip-address: 127.0.0.1@{port}
    username: ""
    chroot: ""
    database: ""
    zonesdir: "{folder}"
    pidfile: "{folder}/nsd.pid"
    xfrdfile: "{folder}/xfrd.state"
    xfrdir: "{folder}"
    zonelistfile: "{folder}/zone.list"
    logfile: "{folder}/nsd.log"
remote-control:
    control-enable: no
zone:
    name: {zone}
    zonefile: "{folder}/zone"
    request-xfr: AXFR 127.0.0.1@{primary} NOKEY
    min-refresh-time: 1
"""


def missing_programs() -> list[str]:
    """The name servers that are not installed here."""
    folders = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin"
    return [name for name in ("knotd", "knotc", "nsd") if shutil.which(name, path=folders) is None]


def free_ports(number: int) -> list[int]:
    """Ports of loopback on which nobody listens, by UDP nor TCP."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def serial(port: int) -> int | None:
    """The serial of the zone at a server, None if it has none (yet)."""
    try:
        answer = dns.query.udp(dns.message.make_query(ZONE, dns.rdatatype.SOA), "127.0.0.1", port=port, timeout=1)
    except (dns.exception.DNSException, OSError):
        return None
    return answer.answer[0][0].serial if answer.answer else None


class Zone:
    """The zone at its servers: `nodes` for a fleet file, and the history of what each has."""

    def __init__(self, folder: Path, ports: dict[str, int]) -> None:
        self.nodes = {name: {"zone": ZONE, "server": "127.0.0.1", "port": port} for name, port in ports.items()}
        self.history = MadeHistory([], {name: ([], []) for name in ports if name != "source"})
        self._folder, self._ports, self._stop = folder, ports, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def publish(self, number: int) -> None:
        """Give the primary the zone with this serial."""
        zone = f"@ 60 SOA ns.{ZONE}. root.{ZONE}. {number} {REFRESH} 1 600 60\n@ NS ns\nns A 127.0.0.1\n"
        (self._folder / "zone").write_text(f"$ORIGIN {ZONE}.\n$TTL 60\n{zone}")

    def update(self, number: int) -> None:
        """Change the zone at the primary, which tells one secondary."""
        self.publish(number)
        command = ["/usr/sbin/knotc", "-c", self._folder / "knot.conf", "zone-reload", ZONE]
        subprocess.run(command, check=True, capture_output=True)

    def wait(self) -> None:
        """Wait until all servers have the zone."""
        until = time.monotonic() + 30
        while any(serial(port) is None for port in self._ports.values()):
            assert time.monotonic() < until, "the name servers did not start"
            time.sleep(0.1)
        self._thread.start()

    def _look(self) -> None:
        while not self._stop.wait(POLL):
            for name, port in self._ports.items():
                number, now = serial(port), time.time()
                if number is None:
                    continue
                if name == "source":
                    if len(self.history.updates) < number:
                        self.history.updates.append(now)
                    continue
                times, versions = self.history.copies[name]
                if not versions or versions[-1] != number:
                    times.append(now)
                    versions.append(number)

    def close(self) -> None:
        """Look no longer."""
        self._stop.set()
        self._thread.join()


@contextmanager
def zone_servers(folder: Path) -> Iterator[Zone]:
    """Yield the zone, with the serial 1, at three servers that run until the end."""
    names = ("source", "notified", "refreshing")
    ports = dict(zip(names, free_ports(3), strict=True))
    places = {name: folder / name for name in names}
    for place in places.values():
        (place / "db").mkdir(parents=True)
    for name, (remotes, rules) in {"source": PRIMARY, "notified": SECONDARY}.items():
        about = {"folder": places[name], "port": ports[name], "zone": ZONE, "rules": rules}
        text = KNOT.format(**about, remotes=remotes.format(notified=ports["notified"], primary=ports["source"]))
        (places[name] / "knot.conf").write_text(text)
    about = {"folder": places["refreshing"], "port": ports["refreshing"], "zone": ZONE, "primary": ports["source"]}
    (places["refreshing"] / "nsd.conf").write_text(NSD.format(**about))
    zone = Zone(places["source"], ports)
    zone.publish(1)
    programs = []
    try:
        for name in names:
            own = places[name]
            nsd = ("/usr/sbin/nsd", "-d", "-c", own / "nsd.conf")
            command = nsd if name == "refreshing" else ("/usr/sbin/knotd", "-c", own / "knot.conf")
            programs.append(start(*command, log=own / "log"))
        zone.wait()
        try:
            yield zone
        finally:
            zone.close()
    finally:
        for program in programs:
            program.terminate()
        for program in programs:
            program.wait(10)


def start(*command: object, log: Path) -> subprocess.Popen[bytes]:
    """Start a program that writes what it says to a file."""
    with log.open("wb") as file:
        return subprocess.Popen([str(word) for word in command], stdout=file, stderr=file)
