"""Visits of name servers, git remotes, files and programs; the file that names them; the history that they leave."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import programs
import pytest
from watched import visits

import replnet as rn
from replnet.watch.fleet import read_fleet
from replnet.watch.visit_log import Visit, VisitLog


@pytest.fixture
def name_server():
    """A name server of one zone on loopback, with the serial 7; other zones it refuses."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                packet, sender = server.recvfrom(4096)
            except OSError:
                return
            if not packet:
                return
            question = dns.message.from_wire(packet)
            assert not question.flags & dns.flags.RD
            answer = dns.message.make_response(question)
            name = question.question[0].name
            if str(name) == "example.org.":
                answer.answer.append(dns.rrset.from_text(name, 60, "IN", "SOA", "ns. root. 7 1 1 1 1"))
            else:
                answer.set_rcode(dns.rcode.REFUSED)
            server.sendto(answer.to_wire(), sender)

    thread = threading.Thread(target=serve)
    thread.start()
    yield server.getsockname()[1]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
        last.sendto(b"", server.getsockname())
    thread.join()
    server.close()


def test_a_zone_has_the_serial_of_its_server(name_server):
    at = {"server": "127.0.0.1", "port": name_server}
    good, bad = visits({"source": {"zone": "example.org", **at}, "other": {"zone": "example.net", **at}})
    assert (good.version, good.fault) == ("7", None)
    assert (bad.version, bad.fault) == (None, "status: REFUSED")


def test_a_git_remote_has_the_commit_of_its_reference(tmp_path):
    def git(*words: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        done = subprocess.run(["git", "-C", tmp_path, *identity, *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "one")
    nodes = {"source": {"git": str(tmp_path), "ref": "refs/heads/main"}, "b": {"git": str(tmp_path), "ref": "refs/x"}}
    good, bad = visits(nodes)
    assert good.version == git("rev-parse", "main")
    assert bad.fault.startswith("program: git ended with 2")


def test_a_file_and_a_program_have_what_they_say(tmp_path):
    stamp = tmp_path / "stamp"
    stamp.write_text("1763625600\n")
    how = {"version": {"pattern": r"(\d+)"}, "left": True}
    nodes = {
        "source": {"file": str(stamp), **how},
        "gone": {"file": str(tmp_path / "gone"), **how},
        "program": {"command": [sys.executable, "-c", "print('2026-11-20T08:00:00+00:00')"],
                    "version": {"pattern": "(.*)"}, "left": True},
        "fails": {"command": [sys.executable, "-c", "import sys; sys.exit('no disk')"]},
        "absent": {"command": ["no-such-program"]},
    }  # fmt: skip
    found = {visit.node: visit for visit in visits(nodes, timeout=20)}
    assert found["source"].left == 1763625600.0
    assert found["gone"].fault == "no file: No such file or directory"
    assert found["program"].left == 1795161600.0
    assert found["fails"].fault.endswith("ended with 1: no disk")
    assert found["absent"].fault == "program: no-such-program: No such file or directory"


def test_what_a_program_has_started_ends_with_its_visit(tmp_path):
    mark = tmp_path / "pid"
    command = ["sh", "-c", f"sleep 47 & echo $! > {mark}; echo hi"]
    (visit,) = visits({"source": {"command": command}}, timeout=1)
    assert visit.fault == "time-out: no answer within 1 s"
    assert programs.wait_until_gone([int(mark.read_text())])


def test_a_program_that_does_not_end_is_ended(tmp_path):
    (visit,) = visits({"source": {"command": [sys.executable, "-c", "import time; time.sleep(99)"]}}, timeout=0.5)
    assert visit.fault == "time-out: no answer within 0.5 s"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("nodes: {}", "nodes: "),
        ("nodes: {source: {}}", r"nodes\.source: says nowhere to look \(one of url, zone, git, file, command\)"),
        ("nodes: {source: {url: 'ftp://x'}}", r"url: 'ftp://x' is no web address"),
        ("nodes: {source: {url: 'http://x:99999/'}}", r"url: 'http://x:99999/' is no web address"),
        ("nodes: {source: {url: 'http://x', file: a}}", "has url and file"),
        ("nodes: {source: {zone: example.org}}", "server: missing"),
        ("nodes: {a: {file: x}}", "source: 'source' is no node"),
        ("nodes: {source: {file: x, version: etag}}", "version: etag is of web addresses only"),
        ("nodes: {source: {file: x, version: {pattern: 'a'}}}", "has 0 groups"),
        ("{every: 0, nodes: {source: {file: x}}}", "every: 0 is no time of 0.01 s or more"),
        ("{every: soon, nodes: {source: {file: x}}}", "every: "),
        ("[1]", "is no mapping|a mapping"),
    ],
)
def test_a_file_that_is_wrong_says_where(tmp_path, text, wrong):
    path = tmp_path / "fleet.yaml"
    path.write_text(text)
    with pytest.raises(rn.InputError, match=wrong):
        read_fleet(path)


def test_a_history_keeps_every_visit_and_goes_on(tmp_path):
    one = Visit(1.0, "a", "v1", None, 0.25, 0.1, None)
    two = Visit(2.0, "b", None, None, None, 0.2, "status: 404")
    for visit in (two, one):
        with VisitLog(tmp_path / "visits.sqlite") as history:
            history.add(visit)
            with VisitLog(tmp_path / "visits.sqlite", only_read=True) as reader:
                assert visit in list(reader)
    with VisitLog(tmp_path / "visits.sqlite", only_read=True) as history:
        assert list(history) == [one, two]
        assert [file.name for file in tmp_path.iterdir()] == ["visits.sqlite"]
    with VisitLog(tmp_path / "visits.sqlite") as history:
        assert list(history) == [one, two]
        assert len(history) == 2
    (tmp_path / "page.html").write_text("<html>" * 1000)
    with pytest.raises(rn.InputError, match="is no history of visits"):
        VisitLog(tmp_path / "page.html")


def test_a_history_that_is_damaged_within_is_named(tmp_path):
    path = tmp_path / "visits.sqlite"
    with VisitLog(path) as history:
        for time in range(500):
            history.add(Visit(time, "source", str(time), None, None, 0.1, None))
    data = path.read_bytes()
    path.write_bytes(data[:12288] + b"\xff" * 8192 + data[20480:])
    with pytest.raises(rn.InputError, match=r"visits\.sqlite: file: is damaged \("):
        rn.observe(path)
