"""Experiments as files: axes, expressions, cells and their keys, and what is said of everything that is wrong."""

# ruff: noqa: E501  messages are compared as they are printed

from __future__ import annotations

import json
import math
import os
import time
from dataclasses import replace
from textwrap import dedent

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import networks

from replnet.laws import FieldError, law
from replnet.laws.fields import family_of
from replnet.network.network import Network
from replnet.study.experiment.axes import axis, points_of
from replnet.study.experiment.experiment import Experiment, load_experiment
from replnet.study.experiment.expressions import expression, template
from replnet.study.experiment.groups import groups_of
from replnet.study.experiment.schema import experiment_schema
from replnet.text.documents import parse_yaml, read_yaml
from replnet.text.errors import FieldsError, InputError
from replnet.text.shipped import shipped, shipped_names

BASE = """\
title: Peers
values:
  nu: 4 / k
vary:
  k: 1:9
network:
  kind: cooperative
  replicas: 10
  peers: ${k}
  updates: exponential(rate=1)
  downloads: exponential(rate=1)
  polls: exponential(rate=${nu})
"""
SYSTEM = """\
title: Sizes
vary: {target: [0.4, 0.5]}
optimise:
  system: cooperative
  target: ${target}
  bandwidth: 10
  updates: exponential(rate=1)
  downloads: exponential
  polls: pareto(alpha=3)
  peers: 1
  over: {replicas: [2, 3000]}
printed:
  - {at: {target: 0.4}, group: cooperative, metric: service_rate, value: 1865, within: 0.5}
"""


@pytest.fixture
def load(tmp_path):
    def load(text: str, *overrides: str, zips=()) -> Experiment:
        path = tmp_path / "exp.yaml"
        path.write_text(text)
        return load_experiment(path, overrides, zips)

    return load


@pytest.fixture
def messages(load, tmp_path):
    """What is said of a file and its cells, with the path left out."""

    def messages(text: str, *overrides: str, zips=()) -> str:
        with pytest.raises(InputError) as caught:
            load(text, *overrides, zips=zips).cells()
        return str(caught.value).replace(f"{tmp_path}{os.sep}", "")

    return messages


def with_(old: str, new: str, text: str = BASE) -> str:
    assert old in text
    return text.replace(old, new)


# ---- Expressions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("B / m", 2.5),
        ("7 // 2", 3),
        ("7 % 4", 3),
        ("-2 ** 2", -4),
        ("2 ** -1", 0.5),
        ("min(m, 3, B)", 3),
        ("max(m, 3)", 4),
        ("sqrt(m) + abs(-1) + log(1) + exp(0)", 4.0),
        ("round(2.6) + floor(1.5) + ceil(1.5)", 6),
        ("round(3.14159, 2)", 3.14),
        ("1 if m > 3 else 2", 1),
        ("1 < m <= 4", True),
        ("lambda * 2", 6),
        ("µ", 5),
        ("text", "recent"),
        ("text if m > 3 else m", "recent"),
        (" 1e3 ", 1000.0),
    ],
)
def test_arithmetic(text, expected):
    names = {"m": 4, "B": 10, "lambda": 3, "\N{GREEK SMALL LETTER MU}": 5, "text": "recent"}
    value = expression(text).value(names)
    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("4 / k", "4 / k divides by zero"),
        ("4 % k", "4 % k divides by zero"),
        ("k ** (k - 1)", "k ** (k - 1) divides by zero"),
        ("9**9**9", "9**9**9 is too large"),
        ("9.0**9**9", "9.0**9**9 is too large"),
        ("1e200 * 1e200", "1e200 * 1e200 is too large"),
        ("exp(1000)", "exp(1000) is too large"),
        ("sqrt(k - 1)", "sqrt(k - 1) is not a real number"),
        ("log(k)", "log(k) is not a real number"),
        ("(-8) ** 0.5", "(-8) ** 0.5 is not a real number"),
        ("text + 1", "text is the text 'recent'"),
        ("round(5, -10 ** 9)", "round(5, -10 ** 9) rounds to -1000000000 digits"),
    ],
)
def test_results_that_are_none(text, wrong):
    with pytest.raises(FieldError) as caught:
        expression(text).value({"k": 0, "text": "recent"})
    assert caught.value.wrong == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("__import__(os)", "__import__ is not a function here"),
        ("__import__('os')", "\"__import__('os')\" is not an expression: \"'os')\" at character 12"),
        ("k.real", "'k.real' is not an expression: '.real' at character 2"),
        ("[k][0]", "'[k][0]' is not an expression: '[k][0]' at character 1"),
        ("(lambda: 1)()", "'(lambda: 1)()' is not an expression: ': 1)()' at character 8"),
        ("k and m", "'k and m' is not an expression: 'and m' at character 3"),
        ("k in m", "'k in m' is not an expression: 'in m' at character 3"),
        ("k if", "'k if' is not an expression: ends too early"),
        ("k if m", "'k if m' is not an expression: ends too early"),
        ("", "'' is not an expression: ends too early"),
        ("'a'", "\"'a'\" is not an expression: \"'a'\" at character 1"),
        ("True", None),
        ("1j", "'1j' is not an expression: 'j' at character 2"),
        ("1e999", "1e999 is too large"),
        ("min(k)", "min(k) does not fit min"),
        ("sqrt(k, 2)", "sqrt(k, 2) does not fit sqrt"),
        ("round(k, ndigits=2)", "round(k, ndigits=2) does not fit round"),
        ("f'{k}'", "\"f'{k}'\" is not an expression: \"'{k}'\" at character 2"),
        ("(k := 1)", "'(k := 1)' is not an expression: ':= 1)' at character 4"),
        ("${k}", "'${k}' is not an expression"),
        ("(" * 400 + "k" + ")" * 400, "is an expression of 801 characters"),
        ("(" * 249 + "k" + ")" * 249, f"'{'(' * 56}... is not an expression: nested too deeply"),
    ],
)
def test_texts_that_are_no_expressions(text, wrong):
    if wrong is None:  # words of Python that are none here are names
        assert expression(text).names == {"True"}
        return
    with pytest.raises(FieldError) as caught:
        expression(text)
    assert caught.value.wrong == wrong


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(" * 200 + "k" + ")" * 200, 3),
        ("-" * 499 + "k", -3),
        ("+".join("k" * 250), 750),
        ("**".join("1" * 167), 1),
        ("1 if k else " * 41 + "2", 1),
        ("abs(" * 99 + "-k" + ")" * 99, 3),
    ],
)
def test_the_deepest_expressions(text, value):
    assert expression(text).value({"k": 3}) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8 - 3 - 2", 3),
        ("8 / 4 / 2", 1.0),
        ("2 ** 3 ** 0", 2),
        ("2^3", 8),
        ("-2 ** -2 ** 2", -(2**-4)),
        ("- - + 3", 3),
        ("-3 % 5 * 2", 4),
        ("1 + 2 < 3 + 1 == 4", True),
        ("(1 < 2) + 1", 2),
        ("1 if 0 else 2 if 0 else 3", 3),
        ("(1 if 0 else 2) * 3", 6),
        ("max(1, 2,)", 2),
        ("0x1f + 1_000 + 0b11 + .5e1 + 2. + 010", 1051.0),
        ("1 +  # one\n 2", 3),
        ("1if 1else 2", 1),
    ],
)
def test_signs_bind_as_in_python(text, value):
    found = expression(text).value({})
    assert (found, type(found)) == (value, type(value))


@settings(max_examples=300, deadline=1000)
@given(st.text(alphabet="k1290.+-*/%()<>=, eminaxsqrtlogdf", max_size=40))
def test_any_text_is_an_expression_or_refused_at_once(text):
    """And an expression has a finite value or is refused."""
    try:
        found = expression(text)
        value = found.value(dict.fromkeys(found.names, 3))
    except FieldError:
        return
    assert math.isfinite(value)


def test_texts_with_holes():
    names = {"k": 3, "nu": 4 / 3, "name": "pareto"}
    assert template("${k}").value(names) == 3
    assert template("${name}").value(names) == "pareto"
    assert template("${name}(alpha=${k}, rate=${nu})").value(names) == "pareto(alpha=3, rate=1.3333333333333333)"
    assert template("exponential(rate=${k / 3})").value(names) == "exponential(rate=1)"
    assert template("${k} ${k > 2}").value(names) == "3 true"
    for text in ("${k", "a ${ b", "${{k}}"):
        with pytest.raises(FieldError, match="without its }"):
            template(text)
    assert template("a } b").value({}) == "a } b"


# ---- Axes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1:9", [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("1:8:8", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("0:10:3", [0, 5, 10]),
        ("1:8:3", [1.0, 4.5, 8.0]),
        ("0:1:11", [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        ("-1:1:3", [-1, 0, 1]),
        ("0.5:2.5:3", [0.5, 1.5, 2.5]),
        ("1:1000:4log", [1, 10, 100, 1000]),
        ("1:4:10log", [1, 2, 3, 4]),
        ("0.1:10:3log", [0.1, 1.0, 10.0]),
        ("1:1e4:3 log", [1, 100, 10000]),
        ("0.5:1:3log", [0.5, 0.707107, 1.0]),
        (" 1 : 3 ", [1, 2, 3]),
    ],
)
def test_ranges(text, expected):
    found = points_of(text)
    assert [(type(x), x) for x in found] == [(type(x), x) for x in expected]


def test_a_long_logarithmic_range():
    found = points_of("10:500:30log")
    assert len(found) == 30
    assert (found[0], found[-1]) == (10, 500)
    assert found == sorted(set(found))
    assert {type(x) for x in found} == {int}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("9:1", "'9:1' does not rise"),
        ("1:9:1", "'1:9:1' has 1 points"),
        ("1:2.5", "'1:2.5' has ends that are not whole"),
        ("0:5:3log", "'0:5:3log' starts at 0"),
        ("1:9:x", "'1:9:x' is not a range"),
        ("1:9:log", "'1:9:log' is not a range"),
        ("1:10000000", "'1:10000000' has 10,000,000 points"),
        ("1:9:9:9", "'1:9:9:9' is not a range"),
    ],
)
def test_ranges_that_are_none(text, wrong):
    with pytest.raises(FieldError) as caught:
        points_of(text)
    assert caught.value.wrong == wrong


def test_axes():
    found = axis("k", ["5:7", 1, "recent", 2.5])
    assert found.values == found.meanings == (5, 6, 7, 1, "recent", 2.5)
    assert found.places == ((0,), (0,), (0,), (1,), (2,), (3,))
    assert found.index(2.5 + 1e-12) == 5
    assert found.index("2.5") is None
    assert axis("k", "pareto(alpha=3, rate=2)").values == ("pareto(alpha=3, rate=2)",)
    named = axis("polls", {"P": "pareto(alpha=3, rate=${nu})", "C": 3})
    assert (named.values, named.meanings) == (("P", "C"), ("pareto(alpha=3, rate=${nu})", 3))
    for wrong in ([], {}, [1, 1], [1, "1:3"], [None], None, [math.nan], [math.inf], [[1]], {"a": [1]}, [""], 10**301):
        with pytest.raises((FieldError, FieldsError)):
            axis("k", wrong)


# ---- Cells


def test_cells_of_a_file(load):
    experiment = load(BASE)
    cells = experiment.cells()
    assert (experiment.name, experiment.title) == ("exp", "Peers")
    assert [cell.values for cell in cells] == [{"k": k} for k in range(1, 10)]
    assert cells[2].network["peers"] == 3
    assert law(cells[2].network["polls"]) == law(f"exponential(rate={4 / 3!r})")
    assert Network.from_data(cells[2].network).data() == cells[2].network
    assert cells[0].settings.seed == 1
    assert cells[0].settings.precision is None
    json.dumps([cell.network for cell in cells], allow_nan=False)


def test_the_order_of_cells_is_that_of_the_axes(load):
    text = with_("k: 1:9", "k: [1, 2]\n  replicas: [20, 30]\n  updates: [exponential(rate=1), constant(rate=1)]")
    values = [tuple(cell.values.values()) for cell in load(text).cells()]
    assert values == [(k, m, u) for k in (1, 2) for m in (20, 30) for u in ("exponential(rate=1)", "constant(rate=1)")]


def test_zipped_axes(load):
    text = with_("k: 1:9", "a: [1, 2]\n  k: [1, 2, 3]\n  replicas: [10, 20, 30]\nzip: [[k, replicas]]")
    text = with_("4 / k", "4 / k + a", text)
    assert [tuple(cell.values.values()) for cell in load(text).cells()] == [
        (a, k, m) for a in (1, 2) for k, m in ((1, 10), (2, 20), (3, 30))
    ]


def test_keys_depend_on_what_is_run_alone(load):
    keys = {cell.values["k"]: cell.key for cell in load(BASE).cells()}
    assert len(set(keys.values())) == 9
    assert all(len(key) == 64 and set(key) <= set("0123456789abcdef") for key in keys.values())
    fewer = load(with_("1:9", "[7, 3]"))
    assert {cell.values["k"]: cell.key for cell in fewer.cells()} == {7: keys[7], 3: keys[3]}
    # Other names for the same, an override that changes nothing, spellings of one law.
    same = with_("nu: 4 / k", "x: 8 / (2 * k)").replace("${nu}", "${x}").replace("rate=1)", "mean=1.0)")
    assert [cell.key for cell in load(same, "replicas=10").cells()] == list(keys.values())
    assert {cell.key for cell in load(BASE, "run.seed=2").cells()}.isdisjoint(keys.values())


def test_a_key_is_the_same_everywhere(load):
    """The hash of sorted, compact JSON, written out here once more."""
    from hashlib import sha256

    cell = load(BASE).cells()[0]
    settings = {"estimator": "sampled", "seed": 1, "resolution": 0.02, "measure": []}
    settings |= dict.fromkeys(("engine", "horizon", "precision", "replications"))
    whole = {"network": cell.network, "settings": settings}
    assert cell.key == sha256(json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def test_labels_stand_for_texts_with_expressions(load):
    text = with_("k: 1:9", "k: 1:2\n  polls:\n    P: pareto(alpha=3, rate=${nu})\n    C: constant(rate=${2 * nu})")
    text = with_("  polls: exponential(rate=${nu})\n", "", text)
    cells = load(text).cells()
    assert [cell.values for cell in cells] == [{"k": k, "polls": p} for k in (1, 2) for p in "PC"]
    assert [cell.network["polls"] for cell in cells] == [
        "pareto(alpha=3, rate=4)", "constant(rate=8)", "pareto(alpha=3, rate=2)", "constant(rate=4)",
    ]  # fmt: skip


def test_set_and_axes_override_fields_and_parts_of_them(load):
    text = BASE + "set: {polls: 'pareto(alpha=3, rate=7)', polls.alpha: '${2 + k}', bandwidth: '${k * 10}'}\n"
    cell = load(text, "k=2", "polls.rate=1:8:8").cells()[4]
    assert cell.values == {"k": 2, "polls.rate": 5}
    assert cell.network["polls"] == "pareto(alpha=4, rate=5)"
    assert cell.network["bandwidth"] == 20


def test_a_network_by_name_and_by_file(load, tmp_path):
    named = load("title: t\nvary: {peers: [1, 2]}\nnetwork: cooperative\n")
    assert [cell.network["peers"] for cell in named.cells()] == [1, 2]
    (tmp_path / "net.yaml").write_text("kind: single\nupdates: exponential(rate=${m})\ndownloads: trace(file=d.csv)\n")
    (tmp_path / "d.csv").write_text("1\n2\n4\n")
    experiment = load("title: t\nvary: {m: [1, 2]}\nnetwork: net.yaml\n")
    assert [cell.network["updates"] for cell in experiment.cells()] == ["exponential(rate=1)", "exponential(rate=2)"]
    assert str(tmp_path / "d.csv") in experiment.cells()[0].network["downloads"]
    # The data stand on their own, wherever they are read.
    again = Experiment.from_data(json.loads(json.dumps(experiment.data)))
    assert [cell.key for cell in again.cells()] == [cell.key for cell in experiment.cells()]


@pytest.mark.parametrize("name", ["p2p/fig3", "p2p/fig9", "p2p/fig11-random", "p2p/fig11-recent", "p2p/fig11d"])
def test_experiments_that_ship(name):
    assert name in shipped_names("experiments")
    experiment = load_experiment(name)
    assert experiment.name == name
    again = Experiment.from_data(json.loads(json.dumps(experiment.data)))
    assert replace(again, _document=None, _sections=None, _asked=None).__dict__ == (
        replace(experiment, _document=None, _sections=None, _asked=None).__dict__
    )
    assert again.cells() == experiment.cells()
    quick = experiment.quick()
    assert 1 < len(quick.cells()) <= len(experiment.cells())
    assert quick.settings.precision > experiment.settings.precision
    assert {c.key for c in quick.cells()}.isdisjoint(c.key for c in experiment.cells())
    assert len(quick.printed) == len(experiment.printed)
    assert len(quick.claims) == len(experiment.claims)


def test_ten_thousand_cells_in_seconds(load):
    """1.2 s were measured; per cell it stays the same."""
    experiment = load(BASE, "nu=0.001:1000:1112")
    begun = time.perf_counter()
    assert len(experiment.cells()) == 10_008
    assert time.perf_counter() - begun < 15
    assert len({cell.key for cell in experiment.cells()}) == 10_008


# ---- The command line


@pytest.mark.parametrize(
    ("overrides", "axes"),
    [
        (["k=1,3,9"], {"k": (1, 3, 9)}),
        (["k=[1, 3]"], {"k": (1, 3)}),
        (["k=4"], {"k": (4,)}),
        (["k=1,2", "replicas=10:500:3log"], {"k": (1, 2), "replicas": (10, 71, 500)}),
        (["k=1,2", "network.replicas=10,20"], {"k": (1, 2), "replicas": (10, 20)}),
        (["k=1", "nu=1:3"], {"k": (1,), "nu": (1, 2, 3)}),
        (["k=1", "nu=7"], {"k": (1,)}),
        (["k=1", "run.seed=1:3"], {"k": (1,), "run.seed": (1, 2, 3)}),
        (["k=1", "polls.rate=1:8:8"], {"k": (1,), "polls.rate": (1, 2, 3, 4, 5, 6, 7, 8)}),
        (
            ["k=1", "polls=pareto(alpha=3, rate=2),constant(rate=${nu})"],
            {"k": (1,), "polls": ("pareto(alpha=3, rate=2)", "constant(rate=${nu})")},
        ),
    ],
)
def test_overrides(load, overrides, axes):
    experiment = load(BASE, *overrides)
    assert {axis.name: axis.values for axis in experiment.axes} == axes
    assert len(experiment.cells()) == math.prod(map(len, axes.values()))
    assert Experiment.from_data(experiment.data).cells() == experiment.cells()


def test_overrides_of_values_settings_and_fields(load):
    experiment = load(
        BASE, "nu=8 / k", "run.precision=0.01", "run.engine=step", "peers=2", "polls.rate=3", "measure=freshness"
    )
    cell = experiment.cells()[3]
    assert (cell.settings.precision, cell.settings.engine) == (0.01, "step")
    assert (cell.network["peers"], cell.network["polls"]) == (2, "exponential(rate=3)")
    assert experiment.measure == ("freshness",)
    assert load(BASE, "nu=8 / k").cells()[0].network["polls"] == "exponential(rate=8)"
    seeds = [cell.settings.seed for cell in load(BASE, "k=1", "run.seed=4,5").cells()]
    assert seeds == [4, 5]


def test_zip_from_the_command_line(load, messages):
    cells = load(BASE, "nu=2:18:9", zips=["k, nu"]).cells()
    assert [cell.values for cell in cells] == [{"k": k, "nu": 2 * k} for k in range(1, 10)]
    assert (
        messages(BASE, "nu=1:8", zips=["k,nu"])
        == "--zip k,nu: zip[1]: k has 9 values, nu has 8 values (axes of one length)"
    )
    assert messages(BASE, zips=["k,q"]) == "--zip k,q: zip[1][2]: q is not an axis (one of k)"


PRINTED = BASE + dedent("""\
    quick: {run: {precision: 0.01}, vary: {k: [1, 3]}, values: {nu: 5 / k}}
    run: {precision: 0.001, seed: 3}
    printed:
      - {at: {k: 1}, group: cluster, value: 0.68, within: 0.005}
      - {at: {k: 9}, group: cluster, value: 0.6, within: 0.005}
    claims:
      - {text: best, argmax: freshness, over: k, is: 1}
      - {text: best of two, argmax: freshness, over: k, is: [9, 3]}
      - {text: nine, argmax: freshness, over: k, is: 9}
    """)


EXPECTED = BASE + dedent("""\
    quick: {vary: {k: [1, 3]}}
    expected:
      - {at: {k: 1}, group: cluster, value: 0.68, reason: eq. 8 at k = 1}
      - {at: {k: 9}, group: cluster, value: 0.6, reason: eq. 8 at k = 9, erratum: Table 1}
    claims:
      - {text: high, lies: freshness, from: 0.6, erratum: Table 1}
      - {text: best, argmax: freshness, over: k, is: 1}
    errata:
      Table 1: {kind: rounding, text: 0.6 is 0.5}
    """)


def test_expected_values_and_errata(load):
    experiment = load(EXPECTED)
    assert [(one.value, one.within, one.reason) for one in experiment.expected] == [
        (0.68, pytest.approx(0.005), "eq. 8 at k = 1"), (0.6, pytest.approx(0.05), "eq. 8 at k = 9"),
    ]  # fmt: skip
    assert experiment.errata["Table 1"].kind == "rounding"
    again = Experiment.from_data(json.loads(json.dumps(experiment.data)))
    assert (again.expected, again.errata, again.claims) == (experiment.expected, experiment.errata, experiment.claims)
    assert [one.at for one in experiment.quick().expected] == [{"k": 1}]
    # Of another network only claims remain that are no mistake of the paper about its own.
    other = load(EXPECTED, "nu=3")
    assert (other.expected, other.errata, [claim.text for claim in other.claims]) == ((), {}, ["best"])


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


@pytest.mark.parametrize("name", shipped_names("experiments"))
def test_what_papers_print_and_where(name):
    """Values are compared up to their rounding unless the words around them are read, and every erratum is shown."""
    experiment = load_experiment(name)
    for one in experiment.printed:
        assert one.where, one
    for fields in experiment.data.get("printed", ()):
        assert ("within" in fields) == ("reading" in fields), fields
    named = {one.erratum for one in (*experiment.printed, *experiment.expected, *experiment.claims)} - {None}
    assert named == set(experiment.errata)


def test_errata_of_one_name_say_the_same():
    found = {}
    for name in shipped_names("experiments"):
        for title, erratum in load_experiment(name).errata.items():
            assert found.setdefault(title, erratum) == erratum
    assert len(found) == 24


def test_quick_is_merged_over_the_rest(load):
    quick = load(PRINTED).quick()
    assert quick.axes[0].values == (1, 3)
    assert (quick.settings.precision, quick.settings.seed) == (0.01, 3)
    assert quick.cells()[0].network["polls"] == "exponential(rate=5)"
    # What is about cells that are no longer there is left out.
    assert [printed.at for printed in quick.printed] == [{"k": 1}]
    assert [claim.text for claim in quick.claims] == ["best", "best of two"]
    assert "quick" not in quick.data
    # The command line has the last word.
    assert load(PRINTED, "k=1,2", "run.precision=0.1").quick().axes[0].values == (1, 2)
    assert load(PRINTED, "run.precision=0.1").quick().settings.precision == 0.1


def test_what_a_paper_prints_is_about_its_own_experiment(load):
    assert [printed.at for printed in load(PRINTED, "k=9,1", "run.seed=5").printed] == [{"k": 1}, {"k": 9}]
    assert [printed.at for printed in load(PRINTED, "k=1,2").printed] == [{"k": 1}]
    for change in ("nu=3", "nu=3,4", "replicas=20", "replicas=20,30"):
        assert load(PRINTED, change).printed == ()
        assert len(load(PRINTED, change).claims) == 3


def test_numbers_match_up_to_rounding(load):
    text = (
        with_("k: 1:9", "x: 0:1:11\n  k: [1]")
        + "set: {delay: '${x}'}\nprinted: [{at: {x: 0.30000000000000004}, group: cluster, value: 1, within: 1}]\n"
    )
    assert len(load(text).printed) == 1


# ---- What is wrong


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
        (BASE + "  clients: {ask: 2, queries: exponential(rate=1)}\ngroups: cluster\nprinted: [{group: clients, value: 1, within: 1}]\n", "exp.yaml:15:19: printed[1].group: clients is not kept (one of groups: cluster)"),
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
    begun = time.perf_counter()
    assert messages(text) == dedent("""\
        exp.yaml:10:10: network.peers: 10 is not below replicas = 10, where select = random, k = 10 (0 to 9)
              peers: ${k}
                     ^""")
    assert time.perf_counter() - begun < 5


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
    begun = time.perf_counter()
    assert messages(BASE, "k=1,2", "nu=1:5000", "run.seed=1:1000").startswith(
        "exp.yaml:4:1: vary: makes 10,000,000 cells (at most 1,000,000)"
    )
    assert messages(BASE, "nu=1:10000000").startswith(
        "-s nu=1:10000000: vary.nu: '1:10000000' has 10,000,000 points (2 to"
    )
    assert time.perf_counter() - begun < 5


def test_an_experiment_that_is_not_there():
    with pytest.raises(InputError, match=r"p2p/fig3d: file: does not exist .*did you mean p2p/fig"):
        load_experiment("p2p/fig3d")


# ---- Groups, optimisation, schema


@settings(max_examples=60, deadline=None)
@given(networks())
def test_groups_are_those_of_the_graph(network):
    there = {about["group"] for _, about in network.graph.nodes(data=True) if about["role"] != "source"}
    found = groups_of(network.data())
    assert found >= there
    if network.kind != "graph":
        assert found == there


def test_systems_to_optimise(load):
    experiment = load(SYSTEM)
    first, second = experiment.cells()
    assert first.network == {}
    assert first.optimise == {
        "system": "cooperative", "maximise": "service_rate", "target": 0.4, "bandwidth": 10.0,
        "updates": "exponential(rate=1)", "downloads": "exponential", "polls": "pareto(alpha=3)", "peers": 1,
        "over": {"replicas": [2, 3000]},
    }  # fmt: skip
    assert first.key != second.key
    sizes = load(SYSTEM, "target=0.5", "bandwidth=10,20").cells()
    assert [cell.optimise["bandwidth"] for cell in sizes] == [10, 20]
    assert sizes[0].key == second.key
    assert family_of("pareto(alpha=3)")(2.5) == law("pareto(alpha=3, rate=2.5)")
    assert family_of("constant")(0.1) == law("constant(rate=0.1)")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("downloads: exponential", "downloads: exponential(rate=3)", "exp.yaml:8:31: optimise.downloads.rate: is what is sought (a law without its rate"),
        ("downloads: exponential", "downloads: exponentil", "exp.yaml:8:14: optimise.downloads: unknown family 'exponentil'"),
        ("polls: pareto(alpha=3)", "polls: pareto", "exp.yaml:9:10: optimise.polls.alpha: missing"),
        ("  polls: pareto(alpha=3)\n", "", "exp.yaml:3:1: optimise.polls: missing"),
        ("peers: 1", "ask: 2", "exp.yaml:10:8: optimise.ask: is of redundant systems, and this one is cooperative (left out)"),
        ("  peers: 1\n", "", "optimise.peers: missing (a number, or its bounds in over: {peers: [2, 9]})"),
        ("peers: 1", "peers: 1\n  replicas: 7", "exp.yaml:11:13: optimise.replicas: given and sought"),
        ("peers: 1", "peers: 3000", "exp.yaml:10:10: optimise.peers: 3000 is not below replicas = 3000 (1 to 2999)"),
        ("[2, 3000]", "[2]", "optimise.over.replicas: [2] is not a pair"),
        ("[2, 3000]", "[20, 3]", "optimise.over.replicas: [20, 3] does not rise"),
        ("{replicas: [", "{replcas: [", "optimise.over.replcas: cannot be sought"),
        ("[0.4, 0.5]", "[0.4, 1.5]", "exp.yaml:5:11: optimise.target: 1.5 is not a freshness to reach, where target = 1.5"),
        ("system: cooperative", "system: cooprative", "exp.yaml:4:11: optimise.system: 'cooprative' is unknown here"),
        ("group: cooperative", "group: cluster", "printed[1].group: no cell has a group cluster (one of cooperative, independent)"),
    ],
)  # fmt: skip
def test_systems_that_cannot_be(messages, old, new, said):
    text = with_(old, new, SYSTEM)
    assert said in messages(text), messages(text)


def test_redundant_and_independent_systems(load, messages):
    text = "title: t\noptimise: {system: redundant, target: 0.5, bandwidth: 1000, updates: exponential(rate=1), downloads: constant, ask: 20}\n"
    assert load(text, "ask=10,20", "superposition=exact,poisson").cells()[1].optimise == {
        "system": "redundant", "maximise": "service_rate", "target": 0.5, "bandwidth": 1000.0,
        "updates": "exponential(rate=1)", "downloads": "constant", "over": {}, "ask": 10, "superposition": "poisson",
    }  # fmt: skip
    assert "optimise.ask: is of redundant systems" in messages(text.replace("redundant", "independent"))
    assert "optimise.ask: missing" in messages(text.replace(", ask: 20", ""))
    assert len(load(text.replace("redundant", "independent").replace(", ask: 20", "")).cells()) == 1


def references(part):
    if isinstance(part, dict):
        yield from ([part["$ref"]] if "$ref" in part else [])
        for below in part.values():
            yield from references(below)
    elif isinstance(part, list):
        for below in part:
            yield from references(below)


def test_the_schema_knows_every_field_and_says_what_it_is():
    schema = experiment_schema()
    json.dumps(schema)
    assert set(references(schema)) <= {f"#/$defs/{name}" for name in schema["$defs"]}
    for name in ("", "Run", "Quick", "Printed", "Expected", "Erratum", "Claim", "Figure", "Optimise", "Cooperative"):
        part = schema["$defs"][name] if name else schema
        assert part["additionalProperties"] is False
        assert all("description" in field for field in part["properties"].values()), name
    assert "is" in schema["$defs"]["Claim"]["properties"]
    replicas = schema["$defs"]["Cooperative"]["properties"]["replicas"]
    assert {"type": "string", "pattern": r"\$\{.*\}"} in replicas["anyOf"]
    assert schema["$defs"]["Cooperative"]["required"] == ["kind"]
    assert schema["required"] == ["title"]


def test_the_examples_and_the_schema():
    """A validator for editors, which Ray brings along, takes the files that ship and refuses what is misspelt."""
    validator = jsonschema.Draft202012Validator(experiment_schema())
    for name in shipped_names("experiments"):
        data = read_yaml(shipped(name, "experiments")).data
        assert list(validator.iter_errors(data)) == []
        for wrong in (
            {"tittle": "t"},
            {"run": {"precison": 1}},
            {"network": {"kind": "single", "updats": "x"}},
            {"vary": {"k": []}},
        ):
            assert not validator.is_valid({**data, **wrong})
    assert validator.is_valid(yaml_of(SYSTEM))
    assert not validator.is_valid(yaml_of(SYSTEM.replace("bandwidth", "bandwith")))


def yaml_of(text: str):
    return parse_yaml(text, "exp.yaml").data
