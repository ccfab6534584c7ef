"""Servers that mean harm, visited by the program all at once: what is said of each, in bounded memory and time."""

from __future__ import annotations

import gzip
import itertools
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import programs
from fleet_world import certificate
from ruamel.yaml import YAML
from watched import visits
from web_server import Answer, web_server

import replnet as rn

MEGABYTE = 1 << 20
MOST_MEMORY = 300 * MEGABYTE  # of the program with all that it loads, twice what it takes
WEIGHED = """
import re, sys
from replnet.cli import main
try:
    main()
finally:
    # What getrusage says begins with the memory of the program that started this one.
    print(int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]) << 10, file=sys.stderr)
"""
VERSION = {"version": {"pattern": "(?s)(.*)"}}
JSON = {"version": {"json": "/a"}}


BOMB = gzip.compress(bytes(64 * MEGABYTE))


def endless(first: bytes, then: bytes) -> Iterator[bytes]:
    return itertools.chain([first], itertools.repeat(then))


def head(*lines: str) -> bytes:
    return "\r\n".join(["HTTP/1.1 200 OK", "Connection: close", *lines, "", ""]).encode()


def moved(place: str) -> bytes:
    return f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode()


def slowly(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield piece
        time.sleep(0.02)


# By name: what the server sends, how the version is read, and what the program says of it.
HOSTILE = {
    "endless": (endless(head(), bytes(MEGABYTE)), {}, "too large: the body is longer than 16 MB"),
    "announced": ([head("Content-Length: 99999999999999"), b"x"], {}, "broken answer: "),
    "bomb": ([head("Content-Encoding: gzip"), BOMB], {}, "compressed: the body comes as 'gzip'"),
    "headers": (endless(b"HTTP/1.1 200 OK\r\n", b"X: " + b"y" * 1000 + b"\r\n"), {}, "broken answer: "),
    "garbage": ([b"\x00\x1b[2J\xff" * 1000], {}, "broken answer: "),
    "silent": ([], {}, "broken answer: "),
    "drip": (slowly(endless(head(), b"x")), {}, "time-out: no answer within 2 s"),
    "file": ([moved("file:///etc/passwd")], {}, "redirect: leads to 'file:///etc/passwd'"),
    "inner": ([moved("http://169.254.169.254/latest/meta-data/")], {}, "redirect: leads to 'http://169.254.169.254/"),
    "port": ([moved("http://127.0.0.1:22/")], {}, "redirect: leads to 'http://127.0.0.1:22/'"),
    "strange": ([moved("http://[::1")], {}, "broken answer: "),
    "escape": ([moved("http://\x1b]0;mine\x07.example.org/")], {}, "broken answer: "),
    "nested": ([head(), b"[" * MEGABYTE], JSON, "no version: there is no /a in the JSON"),
    "wide": ([head(), b"[" + b"{}," * (2 * MEGABYTE)], JSON, "too large: the JSON is longer than 4 MB"),
    "digits": ([head(), b'{"a": ' + b"9" * 100_000 + b"}"], JSON, "no version: there is no /a in the JSON"),
    "list": ([head(), b'{"a": [1, 2]}'], JSON, "no version: /a is no number and no text"),
}  # fmt: skip


@contextmanager
def raw_server(pieces: Iterable[bytes]) -> Iterator[int]:
    """Yield the port of a server that sends these pieces to who asks first, and nothing to who asks after."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        left = iter(pieces)
        while True:
            connection, _ = server.accept()
            with connection:
                if not connection.recv(65536):
                    return
                with suppress(OSError):  # who asked has had enough
                    for piece in left:
                        connection.sendall(piece)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        with socket.create_connection(server.getsockname()):
            pass
        thread.join()
        server.close()


def test_hostile_servers_do_no_harm(tmp_path):
    with ExitStack() as stack:
        nodes = {
            name: {"url": f"http://127.0.0.1:{stack.enter_context(raw_server(pieces))}/", **how}
            for name, (pieces, how, _) in HOSTILE.items()
        }
        controls = [head(), b"v1\x1b[2J\x07\r\nsource: has 99"]
        nodes["source"] = {"url": f"http://127.0.0.1:{stack.enter_context(raw_server(controls))}/", **VERSION}
        with (tmp_path / "fleet.yaml").open("w") as file:
            YAML().dump({"nodes": nodes, "timeout": 2, "gap": 0.01}, file)
        done = programs.run([sys.executable, "-c", WEIGHED, "watch", "fleet.yaml", "--once"], cwd=tmp_path)
    assert done.returncode == 3
    assert int(done.stderr.split()[-1]) < MOST_MEMORY, done.stderr
    for name, (_, _, fault) in HOSTILE.items():
        assert f"{name}: {fault}" in done.stderr, done.stderr
    assert r"source: has v1\x1b[2J\x07\r\nsource: has 99" in done.stderr
    assert all(line.isprintable() for line in (done.stdout + done.stderr).splitlines())


def test_a_certificate_of_another_name_is_no_answer(tmp_path, monkeypatch):
    context, trusted = certificate(tmp_path, "another.example.org")
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with web_server({"/": lambda request: Answer(b"x")}, context) as address:
        place = address.replace("127.0.0.1", "localhost")
        (visit,) = visits({"source": {"url": f"{place}/"}})
    assert visit.fault.startswith("certificate: Hostname mismatch, certificate is not valid for 'localhost'")


def test_what_is_observed_may_be_hostile_too(tmp_path):
    """Names and faults with control characters come to a terminal as plain text."""
    path = tmp_path / "seen.csv"
    path.write_text('time,node,left,error\n0,"a\x1b[2J",0,\n5,"a\x1b[2J",,"\x1b]0;mine\x07"\n9,"a\x1b[2J",0,\n')
    done = programs.run([sys.executable, "-m", "replnet", "observe", str(path)])
    assert done.returncode == 0, done.stderr
    assert r"\x1b]0;mine\x07" in done.stdout
    assert all(line.isprintable() for line in (done.stdout + done.stderr).splitlines())
    assert rn.observe(path).rows[0]["measured"] == 4.5
