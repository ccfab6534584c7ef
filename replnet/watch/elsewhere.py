"""Visits of what is no URL: name servers, git remotes, files of this machine, and programs."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from replnet.watch.content import LARGEST_BODY, Seen, VisitError, kept_version, read_body
from replnet.watch.fleet import Node

LONGEST_COMPLAINT = 4096  # bytes that are kept of what a program says
COMMIT = re.compile(rb"^([0-9a-f]{40,64})\t", re.MULTILINE)
# No question is asked at a terminal, and no transport is one that runs programs of somebody's choice.
GIT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_SSH_COMMAND": os.environ.get("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
    "GIT_ASKPASS": "",
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
}


async def visit_zone(node: Node, timeout: float) -> Seen:
    """Return the serial of a zone at its name server, asked over UDP, and over TCP if the answer does not fit.

    `timeout` is in seconds. Raise VisitError if there is no answer in time, or none with a serial.
    """
    import dns.asyncquery
    import dns.exception
    import dns.message
    import dns.rcode
    import dns.rdatatype

    question = dns.message.make_query(str(node.zone), dns.rdatatype.SOA)
    question.flags &= ~dns.flags.RD  # what the server itself has, and not what it could ask others for
    try:
        answer, _ = await dns.asyncquery.udp_with_fallback(question, str(node.server), timeout, node.port)
    except dns.exception.Timeout:
        raise VisitError("time-out", f"the name server did not answer within {timeout:g} s") from None
    except (dns.exception.DNSException, OSError, ValueError) as error:
        raise VisitError("no connection", str(error)[:200]) from None
    if answer.rcode() != dns.rcode.NOERROR:
        raise VisitError("status", dns.rcode.to_text(answer.rcode()))
    for records in answer.answer:
        if records.rdtype == dns.rdatatype.SOA:
            return kept_version(node, str(records[0].serial))
    raise VisitError("no version", "the name server has no SOA record of the zone")


async def visit_git(node: Node) -> Seen:
    """Return the commit of a reference of a git remote; raise VisitError if it has none, or git fails."""
    out = await _output(("git", "ls-remote", "--exit-code", "--", str(node.git), node.ref), GIT)
    match = COMMIT.search(out)
    if match is None:
        raise VisitError("no version", f"the remote has no {node.ref}")
    return kept_version(node, match.group(1).decode())


async def visit_file(node: Node) -> Seen:
    """Return what a file of this machine says; raise VisitError if it cannot be read, or has no version."""
    try:
        body = await asyncio.to_thread(_read, Path(str(node.file)))
    except OSError as error:
        raise VisitError("no file", error.strerror or str(error)) from None
    return read_body(node, body)


async def visit_program(node: Node) -> Seen:
    """Return what the output of a node's program says; raise VisitError if the program fails, or tells no version."""
    return read_body(node, await _output(node.command or (), {}))


def _read(path: Path) -> bytes:
    """Return the content of a file; raise VisitError if it is too large, OSError if it cannot be read."""
    with path.open("rb") as file:
        body = file.read(LARGEST_BODY + 1)
    if len(body) > LARGEST_BODY:
        raise VisitError("too large", f"the file is longer than {LARGEST_BODY >> 20} MB")
    return body


async def _output(command: Sequence[str], environment: Mapping[str, str]) -> bytes:
    """Run a program and return what it prints; with the visit it ends, and all that it has started.

    Raise VisitError if it cannot be started, fails, or prints too much.
    """
    try:
        program = await asyncio.create_subprocess_exec(
            *command,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    except OSError as error:
        raise VisitError("program", f"{command[0]}: {error.strerror}") from None
    assert program.stdout is not None
    assert program.stderr is not None
    try:
        complaint = asyncio.ensure_future(_beginning(program.stderr))
        body = bytearray()
        while chunk := await program.stdout.read(1 << 16):
            body += chunk
            if len(body) > LARGEST_BODY:
                raise VisitError("too large", f"{command[0]} prints more than {LARGEST_BODY >> 20} MB")
        code = await program.wait()
        words = (await complaint).decode("utf-8", "replace").strip()
    finally:
        # With all that it has started itself, which would go on and hold its output open.
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        await program.wait()
        # What has left the group may still hold the pipes open.
        program._transport.close()  # type: ignore[attr-defined]
    if code:
        raise VisitError("program", f"{command[0]} ended with {code}: {words[:160]}")
    return bytes(body)


async def _beginning(stream: asyncio.StreamReader) -> bytes:
    """Read a stream to its end, so that its writer need not wait, and return its first LONGEST_COMPLAINT bytes."""
    first = b""
    while chunk := await stream.read(1 << 16):
        first += chunk[: LONGEST_COMPLAINT - len(first)]
    return first
