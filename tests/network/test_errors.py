"""Every problem of a network at once, at its place, saying what would be right."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import programs
import pytest
from error_tables import by_message, message_of, read_table, without_excerpts, write_files

from replnet.network import Network, build, cascade, cooperative, load, redundant, single
from replnet.network.network import network_of
from replnet.text.documents import read_yaml
from replnet.text.errors import MOST_SHOWN, InputError

LAW = "exponential(rate=2)"
TABLE = read_table(__file__)
SHAPES = read_table(__file__, "shapes.yaml")


def read(case: dict[str, Any]) -> Network:
    """Return the network of a case: a file with its text, or a right one with some fields replaced."""
    if "text" in case:
        Path("net.yaml").write_text(case["text"])
        return load("net.yaml")
    return network_of(
        Network.from_data({**TABLE["right"][case["of"]], **case.get("fields", {})}), case.get("overrides", ())
    )


@pytest.mark.parametrize("case", by_message(TABLE["errors"]))
def test_errors(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(case)
    assert message_of(read, case) == case["message"]


@pytest.mark.parametrize("case", by_message(SHAPES["wrong"]))
def test_shapes_that_everybody_tries(case, tmp_path, monkeypatch):
    """Each is refused with the line that would be right."""
    monkeypatch.chdir(tmp_path)
    of = next(iter(case))
    Path("net.yaml").write_text(SHAPES["around"][of] + case[of] + "\n")
    assert without_excerpts(message_of(load, "net.yaml")) == case["message"]


@pytest.mark.parametrize("shape", SHAPES["right"])
def test_shapes_that_mean_one_thing_alone(shape, tmp_path):
    (tmp_path / "net.yaml").write_text(SHAPES["around"]["links"] + shape + "\n")
    assert sorted(load(tmp_path / "net.yaml").graph.edges) == [("s", "a"), ("s", "b")]


def test_what_is_right_in_the_table_is():
    for name, fields in TABLE["right"].items():
        assert name == "drawn" or Network.from_data(fields).size > 1


def test_numbers_of_many_digits():
    """Whole numbers that no float holds."""
    for field, words in (("bandwidth", "a finite number"), ("delay", "a finite time"), ("queue", "out of range")):
        for number in (10**4000, -(10**400)):
            error = message_of(lambda field=field, number=number: single(updates=LAW, downloads=LAW, **{field: number}))
            assert error.startswith(f"{field}: {number // abs(number)}000")
            assert words in error


def test_files_that_are_no_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("binary.yaml").write_bytes(b"kind: \0\1\2")
    Path("latin.yaml").write_bytes(b"kind: single\nname: caf\xe9\n")
    Path("large.yaml").write_bytes(b"# comment\n" * 300_000)
    for message in (
        "none.yaml: file: does not exist (the path of a file)",
        ".: file: is a directory (a file)",
        "/dev/zero: file: is a device (a file)",
        "binary.yaml: file: is binary (a text file in UTF-8)",
        "latin.yaml:2:10: file: byte 0xe9 is not UTF-8 (a text file in UTF-8)",
        "large.yaml: file: is larger than 1 MB (a smaller file)",
        r"nul\x00name: file: cannot be read: embedded null byte (a file)",
    ):
        name = message.partition(":")[0].replace(r"\x00", "\0")
        assert message_of(read_yaml, name) == message
    assert message_of(load, "cascad") == (
        "cascad: file: does not exist (a file, or a network that comes with replnet: did you mean cascade?)"
    )
    assert message_of(load, "p2p/fig3") == "p2p/fig3: file: is an experiment, and no network (replnet sweep p2p/fig3)"


def test_windows_line_ends_and_byte_order_marks(tmp_path):
    path = tmp_path / "net.yaml"
    path.write_bytes(b"\xef\xbb\xbfkind: single\r\nupdates: constant(rate=1)\r\ndownloads: 3\r\n")
    assert "net.yaml:3:12: downloads: 3 is a number, not a law" in message_of(load, path)


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 20)
)
STUPID = {
    "alias bomb": BOMB,
    "nested lists": "a: " + "[" * 90_000,
    "nested mappings": "a: " + "{" * 90_000,
    "nested dashes": "- " * 40_000,
    "long line": "a: " + "!" * 900_000,
    "tags": "!" * 99_000,
    "many duplicates": "a: 1\n" * 20_000,
    "not closed": 'a: "' + "x\n" * 300_000,
    "huge number": "a: " + "9" * 90_000,
    "wrong fields": "kind: single\n" + "".join(f"f{i}: 1\n" for i in range(5_000)),
    "nested JSON": "kind: graph\nfile: deep.json\n",
}


@pytest.mark.parametrize("name", STUPID)
def test_stupid_inputs_end_soon(tmp_path, name):
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "net.yaml").write_text(STUPID[name])
    assert len(message_of(load, tmp_path / "net.yaml")) < 30_000


def test_a_bomb_of_aliases_needs_little_memory(tmp_path):
    (tmp_path / "bomb.yaml").write_text(BOMB)
    code = (
        "import re, sys; from replnet import InputError, load\n"
        "try: load(sys.argv[1])\n"
        "except InputError as error: print(error)\n"
        # getrusage would count what the parent held when it forked.
        "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    done = programs.run([sys.executable, "-c", code, tmp_path / "bomb.yaml"], check=True)
    *message, kilobytes = done.stdout.splitlines()
    assert "aliases stand for more than 100,000 values" in message[0]
    assert int(kilobytes) < 512_000


def test_of_very_many_unknown_fields_those_that_are_shown_are_compared_with_the_known_ones():
    with pytest.raises(InputError) as caught:
        single(updates=LAW, downloads=LAW, **{f"download{i}": 1 for i in range(1000)})
    rights = [problem.right for problem in caught.value.problems]
    assert len(rights) == 1000
    assert set(rights[:MOST_SHOWN]) == {"did you mean downloads?"}
    assert rights[-1].startswith("one of bandwidth, charge,")
    assert str(caught.value).endswith("and 950 more")


def test_a_network_that_does_not_fit_is_refused_before_it_is_built(monkeypatch):
    monkeypatch.setattr(build, "machine_memory", lambda: 5 * 10**8)
    laws = {"updates": LAW, "downloads": LAW}
    right = r"network: .* nodes take about .* GB of memory, and this machine has 0.5 \(at most 454,545 nodes\)"
    for network in (
        cooperative(replicas=10**6, polls=LAW, **laws),
        redundant(replicas=10**6, ask=1, queries=LAW, **laws),
        cascade(depth=4, branching=30, **laws),
    ):
        with pytest.raises(ValueError, match=right):
            _ = network.graph
    assert build.resources_note(cooperative(replicas=99_999, polls=LAW, **laws)) == (
        "memory: about 0.045 GB, 0.09 GB to emulate a dozen events of each node; "
        "time: about 0.2 s of CPU time, 0.3 s until its first event"
    )


def test_a_long_run_takes_more_memory_than_a_short_one():
    plain = cooperative(replicas=200_000, updates=LAW, downloads=LAW, polls=LAW)
    network = redundant(replicas=200_000, ask=1, updates=LAW, downloads=LAW, queries=LAW)
    assert [build.replication_bytes(plain, length) for length in (None, 1e-3, 1e3)] == [900, 900, 1350]
    short, long = (build.replication_bytes(network, length) for length in (1e-3, 1e3))
    assert short == build.replication_bytes(network) == build.WAITING_BYTES
    assert long == int(build.WAITING_BYTES * build.LONG_WAITING_FACTOR)
    assert f"{network.size * long / 1e9:.2g} GB to emulate" in build.resources_note(network, 1e3)
