"""Every problem of an input at once, at its place, saying what would be right."""

# ruff: noqa: E501  messages are compared as they are printed

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from textwrap import dedent

import programs
import pytest

from replnet.network import InputError, build, cascade, compose, cooperative, graph, load, redundant, single
from replnet.text.documents import parse_yaml, read_yaml
from replnet.text.errors import MOST_SHOWN, suggestion

LAW = "exponential(rate=2)"
CLUSTER = """\
kind: cooperative
replicas: 10
updates: exponential(rate=1)
downloads: exponential(rate=1)
polls: exponential(rate=4)
"""


def messages(tmp_path: Path, text: str, *overrides: str) -> str:
    """What `load` says of a file, with the path left out."""
    path = tmp_path / "net.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load(path, overrides)
    return str(caught.value).replace(f"{tmp_path}{os.sep}", "")


def refused(make, **fields) -> str:
    with pytest.raises(InputError) as caught:
        make(**fields)
    return str(caught.value)


def test_all_problems_of_a_file_in_order_with_carets(tmp_path):
    text = dedent("""\
        kind: cooperative
        replicas: 10
        peers: 10
        selekt: recent
        updates: exponential(rate=0)
        downloads: pareto(alpha=1, rate=2)
        polls: true
        """)
    assert messages(tmp_path, text) == dedent("""\
        net.yaml:3:8: peers: 10 is not below replicas = 10 (0 to 9)
            peers: 10
                   ^
        net.yaml:4:1: selekt: unknown field (did you mean select?)
            selekt: recent
            ^
        net.yaml:5:27: updates.rate: 0 is not above 0 (a number above 0)
            updates: exponential(rate=0)
                                      ^
        net.yaml:6:25: downloads.alpha: 1 gives an infinite mean (alpha above 1)
            downloads: pareto(alpha=1, rate=2)
                                    ^
        net.yaml:7:8: polls: True is not a law (a law such as exponential(rate=2))
            polls: true
                   ^""")


@pytest.mark.parametrize("digits", [400, 4000])
@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_of_many_digits(digits, sign):
    """Whole numbers that no float holds."""
    for field in ("bandwidth", "delay", "replicas", "queue"):
        fields = {"replicas": 5, "updates": LAW, "downloads": LAW, "polls": LAW, field: sign * 10**digits}
        said = refused(cooperative, **fields)
        assert said.startswith(f"{field}: {'' if sign > 0 else '-'}1000"), said
        assert "is not a finite" in said or "is out of range" in said


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
    assert build.resources_note(cooperative(replicas=99_999, updates=LAW, downloads=LAW, polls=LAW)) == (
        "memory: about 0.045 GB, 0.09 GB to emulate a dozen events of each node; time: about 0.2 s of CPU time, 0.3 s until its first event"
    )


def test_places_in_lists_count_from_one_as_levels_do(tmp_path):
    text = dedent("""\
        kind: cascade
        depth: 2
        updates: exponential(rate=1)
        downloads:
          - exponential(rate=1)
          - exponential(rate=-1)
        """)
    assert messages(tmp_path, text) == dedent("""\
        net.yaml:6:22: downloads[2].rate: -1 is not above 0 (a number above 0)
              - exponential(rate=-1)
                                 ^""")


def test_a_missing_field_is_described_and_stands_at_the_file(tmp_path):
    text = "kind: single\nupdates: exponential(rate=1)\n"
    assert messages(tmp_path, text) == dedent("""\
        net.yaml:1:1: downloads: missing (the law of the times between downloads of a replica, such as exponential(rate=2))
            kind: single
            ^""")


def test_problems_inside_tiers(tmp_path):
    text = dedent("""\
        kind: compose
        updates: exponential(rate=1)
        tiers:
          - {kind: cascade, depth: 2, brunching: 2, downloads: exponential(rate=2)}
          - {kind: cluster, replicas: 2}
          - {depth: 3}
        clients: {ask: 0, queries: constant(rate=1)}
        """)
    assert messages(tmp_path, text) == dedent("""\
        net.yaml:4:31: tiers[1].brunching: unknown field (did you mean branching?)
              - {kind: cascade, depth: 2, brunching: 2, downloads: exponential(rate=2)}
                                          ^
        net.yaml:5:12: tiers[2].kind: 'cluster' is unknown here (single, cascade, cooperative, aggregate)
              - {kind: cluster, replicas: 2}
                       ^
        net.yaml:6:5: tiers[3].kind: missing (the kind of the tier: single, cascade or cooperative)
              - {depth: 3}
                ^
        net.yaml:7:16: clients.ask: 0 is out of range (a whole number from 1 to 10,000,000)
            clients: {ask: 0, queries: constant(rate=1)}
                           ^""")


def test_problems_of_a_graph(tmp_path):
    text = dedent("""\
        kind: graph
        downloads: exponential(rate=1)
        nodes:
          source: {updates: exponential(rate=1)}
          paris: {dowloads: exponential(rate=1)}
        links:
          - source -> paris
          - source -> pari
          - paris -> paris
          - source paris
        """)
    assert messages(tmp_path, text) == dedent("""\
        net.yaml:5:11: nodes.paris.dowloads: unknown field (did you mean downloads?)
              paris: {dowloads: exponential(rate=1)}
                      ^
        net.yaml:8:5: links[2]: there is no node pari (did you mean paris?)
              - source -> pari
                ^
        net.yaml:9:5: links[3]: links paris to itself (two nodes)
              - paris -> paris
                ^
        net.yaml:10:5: links[4]: 'source paris' is not a link (a -> b (b downloads from a), or a -- b (they poll one another))
              - source paris
                ^""")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"replicas": 0}, "replicas: 0 is out of range (a whole number from 2 to 10,000,000)"),
        ({"replicas": 1, "peers": 1}, "replicas: 1 is out of range (a whole number from 2 to 10,000,000)"),
        ({"replicas": 2.5}, "replicas: 2.5 is not whole (a whole number from 2 to 10,000,000)"),
        ({"replicas": True}, "replicas: True is not a number (a whole number from 2 to 10,000,000)"),
        ({"replicas": "10"}, "replicas: '10' is not a number (a whole number from 2 to 10,000,000)"),
        ({"replicas": float("nan")}, "replicas: nan is out of range (a whole number from 2 to 10,000,000)"),
        ({"replicas": 1e8}, "replicas: 100000000.0 is out of range (a whole number from 2 to 10,000,000)"),
        ({"replicas": 2, "peers": 2}, "peers: 2 is not below replicas = 2 (0 to 1)"),
        ({"select": "best"}, "select: 'best' is unknown here (random or recent)"),
        ({"bandwidth": 0}, "bandwidth: 0 is not a finite number above 0 (a number above 0)"),
        ({"bandwidth": float("inf")}, "bandwidth: inf is not a finite number above 0 (a number above 0)"),
        (
            {"delay": -1},
            "delay: -1 is not a finite time of 0 or more (0, a time, or a law such as exponential(mean=0.01))",
        ),
        ({"polls": 4}, "polls: 4 is not a law (a law such as exponential(rate=2))"),
        ({"clients": {"ask": 11, "queries": LAW}}, "clients.ask: 11 is more than the 10 replicas there (1 to 10)"),
        ({"clients": {"level": 2, "queries": LAW}}, "clients.level: 2 is below the last level, 1 (last or 1)"),
    ],
)
def test_fields_of_a_cluster(fields, message):
    good = {"replicas": 10, "updates": LAW, "downloads": LAW, "polls": LAW}
    assert refused(cooperative, **{**good, **fields}) == message


def test_other_kinds_in_python():
    assert refused(redundant, replicas=3, ask=4, updates=LAW, downloads=LAW, queries=LAW) == (
        "ask: 4 is more than replicas = 3 (1 to 3)"
    )
    assert refused(cascade, depth=3, updates=LAW, downloads=[LAW, LAW]) == (
        "downloads: has 2 laws for 3 levels (one law, or a list of one per level)"
    )
    assert refused(cascade, depth=9, branching=10, updates=LAW, downloads=LAW) == (
        "branching: 10 over 9 levels gives more than 10,000,000 replicas (fewer levels or fewer branches)"
    )
    assert refused(compose, updates=LAW, tiers=[]) == "tiers: is empty (one tier or more)"
    assert refused(graph) == "nodes: none is a source (updates: exponential(rate=1), or another law, on one)"
    assert "downloads.rate: inf is not finite" in refused(single, updates=LAW, downloads="exponential(rate=inf)")
    assert issubclass(InputError, ValueError)


def test_infinite_mean_is_refused_whatever_the_parameters():
    message = refused(single, updates="pareto(alpha=0.9, scale=1)", downloads=LAW)
    assert message.startswith("updates: ")
    assert message.endswith("(a law whose mean is finite)")


@pytest.mark.parametrize(
    ("nodes", "links", "message"),
    [
        ({"b": {"ask": 2}}, ["s -> b"], "nodes.b.ask: 2 is more than the 1 upstreams of b (1 to 1)"),
        ({"b": {"queries": LAW, "updates": LAW}}, [], "nodes.b.queries: a source has no queries (one of updates)"),
        ({"b": None}, ["b -> s"], "links[1]: b -> s: a source asks nobody (a link to a replica or a client)"),
        ({"b": None}, ["s -> b", "s -> b"], "links[2]: s -> b is already a download link (once)"),
        ({"b": {"role": "client"}}, [], "nodes.b.queries: missing, b is a client"),
        (
            {"b": {"polls": LAW}},
            ["s -> b"],
            "nodes.b.peers: 1 is more than the 0 peers of b (a link such as a -- b, or a pool) (at least one of them)",
        ),
        (
            {"b": {"polls": LAW, "select": "recent"}, "c": None},
            ["b -- c"],
            "nodes.b.select: recent, but b does not have exactly one upstream, which lists its recent contacts (random, or one download link)",
        ),
    ],
)
def test_nodes_and_links_that_do_not_fit(nodes, links, message):
    found = refused(graph, nodes={"s": {"updates": LAW}, **nodes}, links=links, downloads=LAW)
    assert message in found


RECENT = {"downloads": LAW, "polls": LAW, "select": "recent", "pool": "p"}


@pytest.mark.parametrize(
    ("nodes", "links", "pools", "message"),
    [
        (
            {"a": {**RECENT, "pool": None}, "b": None},
            ["s -> a", "s -> b", {"from": "b", "to": "a", "kind": "peer"}],
            None,
            "nodes.a.pool: missing, but a selects recent contacts, which are listed by pool"
            " (pool: the name of one, or select: random)",
        ),
        (
            {"a": RECENT, "b": None, "c": None},
            ["s -> a", "c -> b", "s -> b"],
            {"p": ["a", "b"]},
            "pools.p: b has 2 upstreams, but one alone lists a recent contact"
            " (one download link to it, or select: random in this pool)",
        ),
        (
            {"a": RECENT, "b": {"pool": "p", "polls": LAW}, "c": None},
            ["s -> a", "s -> b", "s -> c", "c -> b"],
            None,
            "nodes.b.pool: b has 2 upstreams, but one alone lists a recent contact"
            " (one download link to it, or select: random in this pool)",
        ),
        (
            {"a": RECENT, "b": None, "c": None},
            ["s -> a", "s -> b", "s -> c"],
            {"p": ["b", "c"]},
            "pools.p: a polls its recent contacts, but is no member (a as well, or select: random)",
        ),
        (
            {"a": RECENT, "b": {**RECENT, "pool": "q"}, "c": None},
            ["s -> a", "s -> b", "s -> c"],
            {"p": ["a", "c"], "q": ["b", "c"]},
            "pools.q: c is a recent contact in p already (one such pool, or select: random in this one)",
        ),
    ],
)
def test_recent_contacts_need_one_list_each(nodes, links, pools, message):
    found = refused(graph, nodes={"s": {"updates": LAW}, **nodes}, links=links, pools=pools, downloads=LAW)
    assert found == message


def test_recent_contacts_of_links_are_refused_in_a_file_and_as_a_default(tmp_path):
    text = f"kind: graph\nselect: recent\nlinks: [s -> a, s -> b, a -- b]\ndownloads: {LAW}\nupdates: {LAW}\n"
    found = messages(tmp_path, text + f"polls: {LAW}\nnodes: {{s: , a: , b: }}\n")
    assert "nodes.a.pool: missing, but a selects recent contacts" in found
    assert "nodes.b.pool: missing, but b selects recent contacts" in found


@pytest.mark.parametrize("under", ["each", "spread"])
def test_clusters_of_recent_contacts_have_one_list_each(under):
    """As kinds, and written out as graphs."""
    cluster = {"kind": "cooperative", "replicas": 3, "select": "recent", "downloads": LAW, "polls": LAW}
    tiers = [{"kind": "cascade", "depth": 1, "branching": 2, "downloads": LAW}, {**cluster, "under": under}]
    for network in (compose(updates=LAW, tiers=[*tiers, tiers[1]]), cooperative(**{**cluster, "updates": LAW})):
        assert graph(network.graph).replicas == network.replicas


def test_a_replica_with_links_needs_a_law():
    nodes = {"s": {"updates": LAW}, "b": None}
    assert refused(graph, nodes=nodes, links=["s -> b"]) == (
        "nodes.b.downloads: missing, b is a replica (downloads: a law, here or as a default of the network)"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "net.yaml: file: is empty (a mapping of fields, such as kind: cascade)"),
        ("# only a comment\n", "net.yaml: file: is empty (a mapping of fields, such as kind: cascade)"),
        ("- a\n- b\n", "net.yaml:1:1: yaml: is a list (a mapping of fields, such as kind: cascade)\n    - a\n    ^"),
        (
            "just text\n",
            "net.yaml:1:1: yaml: is the single value 'just text' (a mapping of fields, such as kind: cascade)\n"
            "    just text\n    ^",
        ),
        ("a: 1\na: 2\n", "net.yaml:2:1: a: is given twice, first in line 1 (once)\n    a: 2\n    ^"),
        (
            "a:\n  b: 1\n  c: 2\n  b: 3\n",
            "net.yaml:4:3: a.b: is given twice, first in line 2 (once)\n      b: 3\n      ^",
        ),
        ("a: 1\n---\nb: 2\n", "net.yaml:2:1: yaml: a second document starts (one document per file)\n    ---\n    ^"),
        ("a: *x\n", "net.yaml:1:4: yaml: *x has no anchor (&x before it)\n    a: *x\n       ^"),
        (
            "a: &a [*a]\n",
            "net.yaml:1:8: yaml: *a stands inside what it names (aliases without a cycle)\n    a: &a [*a]\n           ^",
        ),
        (
            "a:\n\tb: 1\n",
            "net.yaml:2:1: yaml: found character '\\t' that cannot start any token (indent with spaces)\n     b: 1\n    ^",
        ),
        (
            "a: !!python/object:os.system x\n",
            "net.yaml:1:4: yaml: the tag tag:yaml.org,2002:python/object:os.system is not known"
            " (plain values without tags)\n    a: !!python/object:os.system x\n       ^",
        ),
        (
            "kind: cascad\n",
            "net.yaml:1:7: kind: 'cascad' is unknown (did you mean cascade?)\n    kind: cascad\n          ^",
        ),
    ],
)
def test_yaml_that_is_no_network(tmp_path, text, message):
    assert messages(tmp_path, text) == message


def test_files_that_are_no_text(tmp_path):
    (tmp_path / "binary.yaml").write_bytes(b"kind: \0\1\2")
    (tmp_path / "latin.yaml").write_bytes(b"kind: single\nname: caf\xe9\n")
    (tmp_path / "large.yaml").write_bytes(b"# comment\n" * 300_000)
    cases = {
        "none.yaml": "none.yaml: file: does not exist (the path of a file)",
        ".": f"{tmp_path}: file: is a directory (a file)",
        "binary.yaml": "binary.yaml: file: is binary (a text file in UTF-8)",
        "latin.yaml": "latin.yaml:2:10: file: byte 0xe9 is not UTF-8 (a text file in UTF-8)",
        "large.yaml": "large.yaml: file: is larger than 1 MB (a smaller file)",
    }
    for name, message in cases.items():
        with pytest.raises(InputError) as caught:
            read_yaml(tmp_path / name)
        assert str(caught.value).replace(f"{tmp_path}{os.sep}", "") == message
    with pytest.raises(InputError, match="is a device"):
        read_yaml("/dev/zero")
    with pytest.raises(InputError, match="cannot be read"):
        read_yaml("nul\0name")


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
    "wrong fields": CLUSTER + "".join(f"f{i}: 1\n" for i in range(5_000)),
}


@pytest.mark.parametrize("name", STUPID)
def test_stupid_inputs_end_soon(tmp_path, name):
    path = tmp_path / "net.yaml"
    path.write_text(STUPID[name])
    start = time.process_time()
    with pytest.raises(InputError) as caught:
        load(path)
    assert time.process_time() - start < 2
    assert len(str(caught.value)) < 30_000


def test_the_bomb_needs_little_memory(tmp_path):
    path = tmp_path / "bomb.yaml"
    path.write_text(BOMB)
    code = (
        "import re, sys; from replnet.network import InputError, load\n"
        "try: load(sys.argv[1])\n"
        "except InputError as error: print(error)\n"
        # getrusage would count what the parent held when it forked.
        "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    done = programs.run([sys.executable, "-c", code, path], check=True)
    *message, kilobytes = done.stdout.splitlines()
    assert "aliases stand for more than 100,000 values" in message[0]
    assert int(kilobytes) < 512_000


def test_a_network_that_does_not_exist():
    with pytest.raises(InputError) as caught:
        load("cascad")
    assert str(caught.value) == (
        "cascad: file: does not exist (a file, or a network that comes with replnet: did you mean cascade?)"
    )


def test_a_long_line_is_cut_around_the_caret(tmp_path):
    text = "kind: single\nupdates: exponential(rate=1)\ndownloads: " + " " * 300 + "true\n"
    *_, line, caret = messages(tmp_path, text).splitlines()
    assert line[caret.index("^") :] == "true"
    assert len(line) < 110


def test_control_characters_are_not_printed():
    assert "\x1b" not in refused(single, updates=LAW, downloads=LAW, **{"\x1b[31m": 1})


def test_suggestions():
    assert suggestion("replcas", ["replicas", "peers"]) == "did you mean replicas?"
    assert suggestion("xyz", ["b", "a"]) == "one of a, b"


def test_a_section_of_a_file_names_its_fields_from_the_top():
    text = "network:\n  kind: single\n  peers: 3\n"
    document = parse_yaml(text, "e.yaml").at("network")
    assert document.data == {"kind": "single", "peers": 3}
    assert str(document.problem(("peers",), "unknown", "none", key=True)) == (
        "e.yaml:3:3: network.peers: unknown (none)\n      peers: 3\n      ^"
    )


def test_a_long_run_takes_more_memory_than_a_short_one():
    plain = cooperative(replicas=200_000, updates=LAW, downloads=LAW, polls=LAW)
    network = redundant(replicas=200_000, ask=1, updates=LAW, downloads=LAW, queries=LAW)
    assert [build.replication_bytes(plain, length) for length in (None, 1e-3, 1e3)] == [900, 900, 1350]
    short, long = (build.replication_bytes(network, length) for length in (1e-3, 1e3))
    assert short == build.replication_bytes(network) == build.WAITING_BYTES
    assert long == int(build.WAITING_BYTES * build.LONG_WAITING_FACTOR)
    assert f"{network.size * long / 1e9:.2g} GB to emulate" in build.resources_note(network, 1e3)


def test_of_very_many_unknown_fields_those_that_are_shown_are_compared_with_the_known_ones():
    fields = {f"download{i}": 1 for i in range(1000)}
    with pytest.raises(InputError) as caught:
        single(updates=LAW, downloads=LAW, **fields)
    rights = [problem.right for problem in caught.value.problems]
    assert len(rights) == 1000
    assert set(rights[:MOST_SHOWN]) == {"did you mean downloads?"}
    assert rights[-1].startswith("one of bandwidth, charge,")
    assert str(caught.value).endswith("and 950 more")
