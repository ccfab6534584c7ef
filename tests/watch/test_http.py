"""Visits of URLs on loopback: versions by every way, as few bytes as will do, and servers that mean harm."""

from __future__ import annotations

import gzip
import itertools
import json

import pytest
from watched import visits
from web_server import Answer, web_server


def version_of(answer, **how):
    """What a single visit of this answer finds: the version, or the fault."""
    with web_server({"/": lambda request: answer}) as address:
        (visit,) = visits({"source": {"url": f"{address}/", **how}})
    return visit.version or visit.fault


def test_a_version_is_a_digest_a_header_or_stands_in_the_body():
    page = Answer(b"serial: 2026112001\n", headers={"ETag": '"abc"', "Last-Modified": "Fri, 20 Nov 2026 08:00:00 GMT"})
    digest = version_of(page)
    assert len(digest) == 32
    assert version_of(Answer(b"serial: 2026112002\n")) != digest
    assert version_of(page, version="etag") == '"abc"'
    assert version_of(page, version="last-modified") == "Fri, 20 Nov 2026 08:00:00 GMT"
    assert version_of(page, version={"pattern": r"serial: (\d+)"}) == "2026112001"
    data = Answer(json.dumps({"packages": [{"version": "1.2"}], "none": None}).encode())
    assert version_of(data, version={"json": "/packages/0/version"}) == "1.2"


@pytest.mark.parametrize(
    ("answer", "how", "fault"),
    [
        (Answer(b"x"), {"version": "etag"}, "no version: the answer has no header etag"),
        (Answer(b"serial 1"), {"version": {"pattern": r"serial: (\d+)"}}, "no version: nothing in 8 bytes matches"),
        (Answer(b"{}"), {"version": {"json": "/a"}}, "no version: there is no /a in the JSON"),
        (Answer(b'{"a": [1]}'), {"version": {"json": "/a"}}, "no version: /a is no number and no text"),
        (Answer(b"soon"), {"left": True, "version": {"pattern": "(.*)"}}, "no version: 'soon' is no instant"),
        (Answer(status=404), {}, "status: 404"),
        (Answer(status=429), {}, "too many requests: status 429"),
        (Answer(b"half", announced=400), {}, "broken answer: "),
        (Answer(gzip.compress(b"x"), headers={"Content-Encoding": "gzip"}), {}, "compressed: the body comes as 'gzip'"),
        (Answer(status=302, headers={"Location": "file:///etc/passwd"}), {}, "redirect: leads to 'file:///etc/passwd'"),
        (Answer(status=302, headers={"Location": "http://10.0.0.1/"}), {}, "redirect: leads to 'http://10.0.0.1/'"),
        (Answer(status=302, headers={"Location": "/"}), {}, "redirect: more than 5 in a row"),
    ],
)
def test_faults_are_named(answer, how, fault):
    assert version_of(answer, **how).startswith(fault)


def test_an_endless_body_ends_with_the_limit_and_a_slow_one_with_the_time():
    endless = Answer(pieces=itertools.repeat(bytes(1 << 20)))
    assert version_of(endless) == "too large: the body is longer than 16 MB"

    def slow(request):
        import time

        time.sleep(0.6)
        return Answer(b"late")

    with web_server({"/": slow}) as address:
        (visit,) = visits({"source": {"url": f"{address}/"}}, timeout=0.2)
    assert visit.fault == "time-out: no answer within 0.2 s"


def test_control_characters_do_not_come_through():
    assert version_of(Answer(b"v \x1b[2J\x07"), version={"pattern": "(.*)"}).isprintable()
    assert len(version_of(Answer(b"v" * 5000), version={"pattern": "(.*)"})) <= 200


def test_a_body_is_sent_once_while_it_stays_the_same():
    sent = []

    def page(request):
        sent.append(request.headers.get("If-None-Match"))
        return Answer(status=304) if sent[-1] == '"1"' else Answer(b"one", headers={"ETag": '"1"'})

    with web_server({"/": page}) as address:
        found = visits({"source": {"url": f"{address}/"}}, rounds=3)
    assert len({visit.version for visit in found}) == 1
    assert sent[:3] == [None, '"1"', '"1"']


def test_redirects_to_hosts_that_are_named_are_followed():
    answers = {"/old": lambda _: Answer(status=301, headers={"Location": "/new"}), "/new": lambda _: Answer(b"x")}
    with web_server(answers) as address:
        (visit,) = visits({"source": {"url": f"{address}/old"}})
    assert visit.fault is None


def test_a_clock_that_is_wrong_is_seen():
    with web_server({"/": lambda _: Answer(b"x")}) as address:
        (visit,) = visits({"source": {"url": f"{address}/"}})
    assert abs(visit.clock) < 2  # the server names whole seconds, and this machine may be busy


def test_a_server_that_is_not_there():
    with web_server({}) as address:
        pass
    (visit,) = visits({"source": {"url": address}})
    assert visit.fault.startswith("no connection")
