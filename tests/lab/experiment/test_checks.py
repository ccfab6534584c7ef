"""All that is wrong with an experiment, at once, where it stands."""

from __future__ import annotations

import time
from textwrap import dedent

import pytest

# ruff: noqa: E501  messages are compared as they are printed
from experiment_files import BASE, EXPECTED, with_

from replnet.text.errors import InputError


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (", reason: eq. 8 at k = 1}", "}", "exp.yaml:15:5: expected[1].reason: missing (why it is expected, in words)"),
        ("reason: eq. 8 at k = 1}", "reason: ''}", "expected[1].reason: '' is no reason (a text that says why this value is expected)"),
        ("k = 9, erratum: Table 1}", "k = 9, erratum: Table 2}", "expected[2].erratum: Table 2 is not in errata (did you mean Table 1?)"),
        ("kind: rounding", "kind: slip", "exp.yaml:21:19: errata.Table 1.kind: 'slip' is unknown here (rounding, equations, simulation or prose)"),
        (", from: 0.6", "", "claims[1].lies: has no limits (from, to or both)"),
        ("from: 0.6", "from: 0.6, over: k", "claims[1].over: does not go with lies (lies takes from and to)"),
    ],
)  # fmt: skip
def test_expected_values_and_errata_that_cannot_be(messages, old, new, said):
    assert said in (told := messages(with_(old, new, EXPECTED)))
    assert told.count("exp.yaml:") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "exp.yaml: file: is empty (a mapping of fields, such as kind: cascade)"),
        ("title: t\n", "exp.yaml:1:1: network: missing (one of network, optimise, formula)"),
        (BASE + "optimise: {}\n", "exp.yaml:7:3: network: given together with optimise (one of network, optimise, formula)"),
        (with_("title", "claim: c\ntittle: t\ntitle"), "exp.yaml:2:1: tittle: unknown field (did you mean title?)"),
        (with_("4 / k", "4 / q"), "exp.yaml:3:7: values.nu: q is unknown"),
        (with_("4 / k", "4 /"), "exp.yaml:3:7: values.nu: '4 /' is not an expression: ends too early (such as 4 / k)"),
        (with_("4 / k", "true"), "exp.yaml:3:7: values.nu: True is not a value (a number, or an expression such as 4 / k)"),
        (with_("4 / k", "9**9**9"), "exp.yaml:3:7: values.nu: 9**9**9 is too large (numbers of at most 1e300)"),
        (with_("nu: 4 / k", "nu: b + 1\n  b: nu * k"), "exp.yaml:3:7: values.nu: depends on itself: nu -> b -> nu (an expression over other names)"),
        (with_("nu: 4 / k", "nu: nu"), "exp.yaml:3:7: values.nu: depends on itself: nu -> nu (an expression over other names)"),
        (with_("nu: 4", "k: 4\n  nu: 4"), "exp.yaml:3:3: values.k: is an axis too (one of values and vary)"),
        (with_("nu: 4", "a b: 4\n  nu: 4"), "exp.yaml:3:3: values.a b: is not a name that an expression can hold (letters, digits and _)"),
        (with_("nu: 4", "min: 4\n  nu: 4"), "exp.yaml:3:3: values.min: is the name of a function (another name)"),
        (with_("k: 1:9", "k: [1, two]"), "exp.yaml:3:7: values.nu: k is the text 'two', where k = two (a number, to calculate with)"),
        (with_("k: 1:9", "k: 0:9"), "exp.yaml:3:7: values.nu: 4 / k divides by zero, where k = 0 (a divisor other than 0)"),
        (with_("k: 1:9", "k: 1:9x"), "exp.yaml:5:6: vary.k: '1:9x' is not a range (from:to"),
        (with_("k: 1:9", "k: [1, 9:1]"), "exp.yaml:5:10: vary.k[2]: '9:1' does not rise (from below to)"),
        (with_("k: 1:9", "k: 1:9\n  q: [1, 2]"), "exp.yaml:6:3: vary.q: is in no ${ }, and is no field of the network (one of bandwidth"),
        (with_("k: 1:9", "k: 1:9\n  pears: [1, 2]"), "exp.yaml:6:3: vary.pears: is in no ${ }, and is no field of the network (did you mean peers?)"),
        (with_("k: 1:9", "k: 1:9\n  group: [1, 2]"), "exp.yaml:6:3: vary.group: is a column of every table (another name)"),
        (with_("k: 1:9", "k: 1:9\n  ci_low: [1, 2]"), "exp.yaml:6:3: vary.ci_low: is a column of every table (another name)"),
        (with_("k: 1:9", "peers: 1:9").replace("/ k", "/ peers").replace("${k}", "3"), "exp.yaml:5:3: vary.peers: is a name in ${ }, and a field of the network that does not mention it (peers: ${peers} in network, or another name for the axis)"),
        (with_("k: 1:9", "k: 1:9\n  run.speed: [1, 2]"), "exp.yaml:6:3: vary.run.speed: is not a setting (did you mean seed?)"),
        (with_("k: 1:9", "k: 1:9\n  run.seed: [1, -2]"), "exp.yaml:6:17: run.seed: -2 is out of range (a whole number"),
        (with_("k: 1:9", "k: 1:9\nzip: [[k]]"), "exp.yaml:6:7: zip[1]: has nothing to move together (two axes or more)"),
        (with_("${nu}", "${nu"), "exp.yaml:12:10: network.polls: 'exponential(rate=${nu)' has a ${ without its } (an expression in braces, such as ${4 / k})"),
        (with_("${nu}", "${nnu}"), "exp.yaml:12:10: network.polls: nnu is unknown (did you mean nu?)"),
        (with_("${nu}", "${-nu}"), "exp.yaml:12:27: network.polls.rate: -4 is not above 0, where k = 1 (a number above 0)"),
        (with_("peers:", "pears:"), "exp.yaml:9:3: network.pears: unknown field (did you mean peers?)"),
        (with_("cooperative", "[cooperative]"), "exp.yaml:7:9: network.kind: ['cooperative'] is unknown"),
        (BASE + "set: {pears: 3}\n", "exp.yaml:13:7: set.pears: is no field of the network (did you mean peers?)"),
        (BASE + "set: {polls.rat: 3}\n", "exp.yaml:13:18: network.polls.rat: exponential has no such argument (allowed: rate, mean"),
        (BASE + "set: {replicas.x: 3}\n", "exp.yaml:13:19: set.replicas.x: has no field x"),
        (BASE + "set: {k: 3}\n", "exp.yaml:13:7: set.k: is an axis too (one of set and vary)"),
        (BASE + "run: {horizon: -1}\n", "exp.yaml:13:16: run.horizon: -1 is not a finite number above 0 (a number above 0)"),
        (BASE + "run: {engine: live}\n", "exp.yaml:13:15: run.engine: 'live' is unknown here (array or step)"),
        (BASE + "quick: {vary: {q: 3}}\n", "exp.yaml:13:16: quick.vary.q: 'q' is not in vary (one of k)"),
        (BASE + "quick: {run: {precison: 3}}\n", "exp.yaml:13:15: run.precison: unknown field (did you mean precision?)"),
        (BASE + "quick: {vary: {k: [0, 1]}}\n", None),
        (BASE + "measure: fresness\n", "exp.yaml:13:10: measure: 'fresness' is not a metric (did you mean freshness?)"),
        (BASE + "groups: [clusters]\n", "exp.yaml:13:10: groups[1]: no cell has a group clusters (did you mean cluster?)"),
        (BASE + "groups: cluster\nclaims: [{text: t, rises: freshness, over: k, where: {group: clients}}]\n", "exp.yaml:14:62: claims[1].where.group: no cell has a group clients"),
        (BASE + "  clients: {ask: 2, queries: exponential(rate=1)}\ngroups: cluster\nprinted: [{group: clients, value: 1, within: 1}]\n", "exp.yaml:15:19: printed[1].group: clients is not among the groups to keep (one of groups: cluster)"),
        (BASE + "figure: {x: kk}\n", "exp.yaml:13:13: figure.x: kk is not an axis (did you mean k?)"),
        (BASE + "figure: {x: k, series: k}\n", "exp.yaml:13:24: figure.series: k is x already (an axis of its own)"),
        (BASE + "figure: {x: k, log: [z]}\n", "exp.yaml:13:22: figure.log[1]: 'z' is unknown here (x or y)"),
        (BASE + "figure: {x: k, y: service_rate}\nmeasure: freshness\n", "exp.yaml:13:19: figure.y: service_rate is not measured (one of measure: freshness)"),
        (with_("  kind: cooperative\n", ""), "exp.yaml:6:1: network.kind: missing"),
    ],
)  # fmt: skip
def test_one_thing_wrong(messages, load, text, said):
    if said is None:
        load(text).cells()
        with pytest.raises(InputError, match="divides by zero"):
            load(text).quick().cells()
        return
    assert messages(text).startswith(said), messages(text)
    assert len([line for line in messages(text).split("\n") if line.startswith("exp.yaml")]) == 1


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("at: {k: 10}, group: cluster, value: 1, within: 1", "printed[1].at.k: no cell has k = 10 (1, 2, 3, 4, 5, 6, 7, 8, 9)"),
        ("at: {kk: 1}, group: cluster, value: 1, within: 1", "printed[1].at.kk: kk is not an axis (did you mean k?)"),
        ("at: {k: '1'}, group: cluster, value: 1, within: 1", "printed[1].at.k: no cell has k = 1 (1, 2"),
        ("at: {k: 1}, group: clister, value: 1, within: 1", "printed[1].group: no cell has a group clister (did you mean cluster?)"),
        ("at: {k: 1}, group: cluster, value: 1, erratum: T1", "printed[1].erratum: T1 is not in errata (errata: {NAME: {kind: ..., text: ...}})"),
        ("at: {k: 1}, group: cluster, value: '1e999999999'", "printed[1].value: inf is not finite (a number of at most 1e300)"),
        ("at: {k: 1}, group: cluster, value: 1/0", "printed[1].value: '1/0' is not a number (a number)"),
        ("at: {k: 1}, group: cluster, value: 1, reason: ours", "printed[1].reason: unknown field"),
        ("at: {k: 1}, group: cluster, value: x, within: 1", "printed[1].value: 'x' is not a number (a number)"),
        ("at: 3, group: cluster, value: 1, within: 1", "printed[1].at: 3 is not a mapping (axis: value)"),
    ],
)  # fmt: skip
def test_printed_values_that_match_nothing(messages, entry, said):
    assert said in messages(BASE + f"printed:\n  - {{{entry}}}\n")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("text: t", "claims[1]: says nothing that can be checked (one of argmax, order, rises, falls, lies)"),
        ("rises: freshness, over: k", "claims[1].text: missing (the claim, in words)"),
        ("text: t, rises: freshness, falls: freshness, over: k", "claims[1]: both rises and falls (one of argmax, order, rises, falls, lies)"),
        ("text: t, rises: freshness", "claims[1].over: missing beside rises (rises takes over)"),
        ("text: t, argmax: freshness, over: k", "claims[1].is: missing beside argmax (argmax takes over and is)"),
        ("text: t, argmax: freshness, over: k, is: []", "claims[1].is: is empty (one value or more)"),
        ("text: t, argmax: freshness, over: k, is: 11", "claims[1].is: no cell has k = 11 (1, 2"),
        ("text: t, argmax: freshness, over: q, is: 11", "claims[1].over: q is not an axis (one of group, k)"),
        ("text: t, rises: freshness, over: k, is: 1", "claims[1].is: does not go with rises (rises takes over)"),
        ("text: t, rises: freshnes, over: k", "claims[1].rises: 'freshnes' is not a metric (did you mean freshness?)"),
        ("text: t, order: [{k: 1}, {k: 11}], metric: freshness", "claims[1].order[2].k: no cell has k = 11 (1, 2"),
        ("text: t, order: [{k: 1}], metric: freshness", "claims[1].order: has nothing to compare (two or more {axis: value})"),
        ("text: t, rises: freshness, over: k, where: {group: clster}", "claims[1].where.group: no cell has a group clster (did you mean cluster?)"),
    ],
)  # fmt: skip
def test_claims_that_cannot_be_checked(messages, entry, said):
    assert said in messages(BASE + f"claims:\n  - {{{entry}}}\n")


def test_values_of_zipped_axes_that_never_meet(messages):
    text = with_("k: 1:9", "k: 1:3\n  replicas: [10, 20, 30]\nzip: [[k, replicas]]")
    printed = "printed: [{at: {k: 1, replicas: 20}, group: cluster, value: 1, within: 1}]\n"
    assert "printed[1].at: no cell has k = 1, replicas = 20 (values that move together)" in messages(text + printed)


def test_all_that_is_wrong_at_once_with_carets(messages):
    text = with_("peers: ${k}", "peers: ${kk}").replace("title: Peers", "titel: Peers") + dedent("""\
        run: {seed: -1}
        figure: {x: q}
        printed: [{at: {k: 77}, group: cluster, value: 1, within: 1}]
        """)
    assert messages(text) == dedent("""\
        exp.yaml:1:1: title: missing (one line that says what the experiment is)
            titel: Peers
            ^
        exp.yaml:1:1: titel: unknown field (did you mean title?)
            titel: Peers
            ^
        exp.yaml:9:10: network.peers: kk is unknown (did you mean k?)
              peers: ${kk}
                     ^
        exp.yaml:13:13: run.seed: -1 is out of range (a whole number from 0 to 9,223,372,036,854,775,807)
            run: {seed: -1}
                        ^
        exp.yaml:14:13: figure.x: q is not an axis (one of group, k)
            figure: {x: q}
                        ^
        exp.yaml:15:20: printed[1].at.k: no cell has k = 77 (1, 2, 3, 4, 5, 6, 7, 8, 9)
            printed: [{at: {k: 77}, group: cluster, value: 1, within: 1}]
                               ^""")


def test_bad_cells_are_told_once_with_their_values(messages):
    text = with_("k: 1:9", "select: [random, recent]\n  k: 1:5000")
    begun = time.process_time()
    assert messages(text) == dedent("""\
        exp.yaml:10:10: network.peers: 10 is not below replicas = 10, where select = random, k = 10 (0 to 9)
              peers: ${k}
                     ^""")
    assert time.process_time() - begun < 5


def test_what_is_wrong_in_every_cell_names_no_values(messages):
    assert messages(with_("downloads: exponential(rate=1)", "downloads: exponential(rate=0)")) == dedent("""\
        exp.yaml:11:31: network.downloads.rate: 0 is not above 0 (a number above 0)
              downloads: exponential(rate=0)
                                          ^""")


def test_places_in_the_file_of_the_network(messages, tmp_path):
    (tmp_path / "net.yaml").write_text("kind: single\nupdates: exponential(rate=${m})\ndownloads: nothing\n")
    assert messages("title: t\nvary: {m: [1, -2]}\nnetwork: net.yaml\n").startswith(
        dedent("""\
        net.yaml:3:12: network.downloads: unknown family 'nothing' (one of families""")
    )
    (tmp_path / "net.yaml").write_text(
        "kind: single\nupdates: exponential(rate=${m})\ndownloads: exponential(rate=1)\n"
    )
    assert messages("title: t\nvary: {m: [1, -2]}\nnetwork: net.yaml\n") == dedent("""\
        net.yaml:2:27: network.updates.rate: -2 is not above 0, where m = -2 (a number above 0)
            updates: exponential(rate=${m})
                                      ^""")
    assert "net2.yaml does not exist (fields, a file, or a network that comes with replnet" in messages(
        "title: t\nnetwork: net2.yaml\n"
    )


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("bogus", "-s bogus: -s: is not key=value (such as -s k=1,3,9)"),
        ("a..b=1", "-s a..b=1: -s: is not key=value (such as -s k=1,3,9)"),
        ("pears=3", "-s pears=3: set.pears: is no field of the network (did you mean peers?)"),
        ("pears=3,4", "-s pears=3,4: vary.pears: is in no ${ }, and is no field of the network (did you mean peers?)"),
        ("replicas=5", "-s replicas=5: network.replicas"),
        ("run.sed=3", "-s run.sed=3: run.sed: unknown field (did you mean seed?)"),
        ("k=1:9:x", "-s k=1:9:x: vary.k: '1:9:x' is not a range"),
        ("nu=4 /", "-s nu=4 /: values.nu: '4 /' is not an expression: ends too early (such as 4 / k)"),
        ("k=[1", "-s k=[1: -s: "),
    ],
)
def test_overrides_that_are_wrong(messages, override, said):
    if override == "replicas=5":
        said = "exp.yaml:9:10: network.peers: 5 is not below replicas = 5, where k = 5 (0 to 4)"
    assert messages(BASE, override).startswith(said), messages(BASE, override)


def test_too_many_cells(messages):
    begun = time.process_time()
    assert messages(BASE, "k=1,2", "nu=1:5000", "run.seed=1:1000").startswith(
        "exp.yaml:4:1: vary: makes 10,000,000 cells (at most 1,000,000)"
    )
    assert messages(BASE, "nu=1:10000000").startswith(
        "-s nu=1:10000000: vary.nu: '1:10000000' has 10,000,000 points (2 to"
    )
    assert time.process_time() - begun < 5
