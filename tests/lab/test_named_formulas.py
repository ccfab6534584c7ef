"""Formulas by name: as experiments, in Python and on the command line."""

from __future__ import annotations

import json
import math
from importlib import import_module

import jsonschema
import numpy as np
import pytest
from command_line import replnet
from error_tables import message_of, read_table

import replnet as rn
from replnet.allocation import Pages
from replnet.lab.experiment.sections import experiment_schema
from replnet.lab.named_formulas import Positive, compute, formulas
from replnet.lab.papers.crawl import fixed_freshness, random_freshness
from replnet.lab.sweeps.forecast import forecast
from replnet.show.report.section import section_of
from replnet.text import InputError, expression

TEXT = """\
title: Gamma rates
values: {r: 2 * s}
vary:
  spread: [0, 0.5, 1]
  s: [0.5, 1]
formula:
  name: gamma-rates
  ratio: ${r}
"""
SAID = """\
printed:
  - {at: {spread: 0, s: 0.5}, group: uniform, metric: freshness, value: 0.63, within: 0.005}
  - {at: {spread: 0, s: 1}, group: uniform, metric: freshness, value: 0.5, within: 0.005, note: made up}
claims:
  - {text: fresher, rises: freshness, over: spread, where: {group: uniform}}
  - {text: less fresh, falls: freshness, over: spread, where: {group: uniform}}
"""
TABLE = read_table(__file__, "formula_errors.yaml")


def rows(**arguments) -> dict[tuple[str, str], float | None]:
    return {(group, metric): prediction.value for group, metric, prediction in compute(**arguments)}


# ---- As an experiment


def test_an_experiment_of_a_formula_has_predictions_and_no_verdict(load, tmp_path):
    cells = load(TEXT).cells()
    assert cells[-1].subject.data == {"name": "gamma-rates", "ratio": 2.0, "spread": 1.0}
    assert {cell.subject.section for cell in cells} == {"formula"}
    assert len({cell.key for cell in cells}) == 6
    found = rn.sweep(load(TEXT), tmp_path / "run", workers=0)
    assert (found.verdict, found.incomplete, found.done, found.events) == ("", "", 6, 0)
    assert found.table["measured"].isna().all()
    assert set(found.table["verdict"]) == {""}
    by_place = {(row["spread"], row["s"], row["group"], row["metric"]): row for row in found.rows}
    row = by_place[0, 0.5, "uniform", "freshness"]
    assert row["predicted"] == pytest.approx(1 - math.exp(-1), rel=1e-15)
    assert (row["kind"], row["source"], row["z"]) == ("exact", "Sync Table 3", None)
    row = by_place[1, 1, "proportional", "age"]
    assert (row["predicted"], row["note"]) == (None, "infinite")
    assert by_place[1, 1, "uniform / proportional", "age"]["predicted"] == 0
    # Carried on with, there is nothing left to do.
    before = (tmp_path / "run" / "journal").read_bytes()
    assert rn.sweep(load(TEXT), tmp_path / "run", workers=0).hash == found.hash
    assert (tmp_path / "run" / "journal").read_bytes() == before
    assert forecast(load(TEXT).cells(), set()).events == 0
    assert forecast(load(TEXT).cells(), found.records).finished == 6


def test_print_and_claims_are_held_against_the_prediction(load):
    found = rn.sweep(load(TEXT + SAID), workers=0)
    assert [row["printed_verdict"] for row in found.rows if row["printed_verdict"]] == ["agree", "contradicts"]
    words = "spread = 0, s = 1: uniform, freshness: 0.5 is printed, 0.43233 predicted (made up)"
    assert found.contradictions == [words]
    assert [(one.name, one.kind, one.text, one.cells) for one in found.errata] == [("", "equations", words, ())]
    assert [(claim.measured, claim.predicted) for claim in found.claims] == [(None, True), (None, False)]
    assert found.verdict == "differ"


def test_fields_may_be_axes_and_overridden(load):
    assert load(TEXT, "ratio=1,2,4").axes[-1].values == (1, 2, 4)
    assert {cell.subject.data["ratio"] for cell in load(TEXT, "ratio=3").cells()} == {3}
    with pytest.raises(InputError, match="ration: is no field of formula"):
        load(TEXT, "ration=3")


def test_the_report_draws_predicted_curves(load):
    text = TEXT + "figure: {x: spread, y: freshness, series: s}\ngroups: [uniform]\n"
    found = section_of(rn.sweep(load(text), workers=0))
    assert len(found.figure.curve) > 60
    assert set(found.figure.curve["group"]) == {"uniform"}
    assert found.about["formula"]["name"] == "gamma-rates"


# ---- What is wrong is said


@pytest.mark.parametrize(("old", "new", "message"), TABLE["files"], ids=[case[2][:50] for case in TABLE["files"]])
def test_one_thing_wrong_in_an_experiment(messages, old, new, message):
    assert old in TEXT
    assert messages(TEXT.replace(old, new)).startswith(message)


@pytest.mark.parametrize(("arguments", "message"), TABLE["arguments"], ids=[case[1] for case in TABLE["arguments"]])
def test_an_argument_that_cannot_be(arguments, message):
    assert message_of(lambda: compute(**arguments)) == message


@pytest.mark.parametrize(
    ("hint", "lacks"), [(Positive, "is not described"), (float, "is not described"), (None, "has no type")]
)
def test_a_formula_that_does_not_describe_an_argument_is_named(hint, lacks, monkeypatch):
    formula = import_module("replnet.lab.named_formulas")

    def halved(of): ...

    if hint is not None:
        halved.__annotations__["of"] = hint
    monkeypatch.setattr(formula, "_KNOWN", {})
    formula.formula("halved", "nowhere")(halved)
    right = 'of: Annotated[Positive, "what it is"], or a line "of: ..." in the docstring'
    assert message_of(formula.formula_schema) == f"halved: its argument 'of' {lacks} ({right})"
    halved.__doc__ = "Half of it.\n\nof: what is halved"
    if hint is not None:
        schema = formula.formulas()["halved"].model.model_json_schema()
        assert schema["properties"]["of"]["description"] == "what is halved"


# ---- The formulas


def test_formulas_say_what_they_and_their_arguments_are():
    known, schema = formulas(), experiment_schema()
    assert str(known["gamma-rates"]) == "gamma-rates(ratio, spread)"
    assert str(known["equal-gain"]) == "equal-gain(gain, rate, order=fixed)"
    assert known["freshness"].basis.source == "P2P eq. 8"
    assert known["histograms"].about.startswith("The number of histograms")
    assert "daily:" not in known["histograms"].about
    for name, one in known.items():
        part = schema["$defs"][one.model.__name__]
        assert part["description"] == one.about != "", name
        assert all(field["description"] for key, field in part["properties"].items() if key != "name"), name
        assert part["required"] == ["name"]
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid({"title": "t", "formula": {"name": "orders", "ratio": "${r}"}})
    assert not validator.is_valid({"title": "t", "formula": {"name": "orders", "ration": 1}})
    assert not validator.is_valid({"title": "t", "formula": {"name": "order", "ratio": 1}})


def test_an_allocation_and_an_element_of_it():
    found = rows(name="allocation", rates=[1, 2, 3, 4, 5], frequency=1, rate=5)
    assert found["proportional", "frequency"] == pytest.approx(5 / 3)
    assert found["uniform", "frequency"] == 1
    assert found["best for freshness", "frequency"] == 0
    weighted = rows(name="allocation", rates=[1, 4], weights=[2, 3], frequency=2)
    listed = rows(name="allocation", rates=[1, 1, 4, 4, 4], frequency=2)
    assert weighted == pytest.approx(listed, rel=1e-12)
    assert ("uniform", "frequency") not in weighted


@pytest.mark.parametrize("given", [[2, 3], "2 + 3", "2+3"])
def test_a_division_is_a_list_or_a_sum(given):
    found = rows(name="benefit", parts=[9, 1], synchronisations=given)
    assert set(found) == {("elements", "benefit"), ("best division", "benefit")}
    assert list(found.values()) == pytest.approx([31 / 72] * 2)


def test_policies_of_crawling():
    pages = Pages(np.array([3.0, 1.0, 2.0]) / 6, np.array([1.0, 2.0, 0.1]))
    found = rows(name="crawl-policies", rates=[1, 2, 0.1], weights=[3, 1, 2], budget=2)
    assert found["uniform", "freshness"] == pytest.approx(fixed_freshness(pages, [2 / 3] * 3), rel=1e-12)
    assert found["optimum", "share_of_optimum"] == 1
    assert 0.98 < found["new algorithm", "share_of_optimum"] < 1
    # By eq. 11: all pages are above the threshold.
    rates = np.sqrt(pages.utilities * pages.changes)
    rates = rates * (2 + 3.1) / rates.sum() - pages.changes
    assert found["new algorithm, randomised", "freshness"] == pytest.approx(random_freshness(pages, rates), rel=1e-12)


def test_pages_below_a_threshold():
    """Of pages that are worth 1, 2 and 4 per change, the budget of 0.1 serves the last alone; one never changes."""
    found = rows(name="crawl-threshold", rates=[1, 1, 1, 0], weights=[1, 2, 4, 1], budget=0.1)
    worth = np.array([1, 2, 4]) / 8 * 4
    assert (found["refreshed", "pages"], found["never refreshed", "pages"]) == (1, 2)
    assert found["refreshed", "worth_per_change"] == pytest.approx(worth[2])
    assert found["never refreshed", "worth_per_change"] == pytest.approx(worth[1])
    # With p on the last alone the marginal gain is u / (1 + p)^2.
    assert found["threshold", "worth_per_change"] == pytest.approx(worth[2] / 1.1**2)
    all_served = rows(name="crawl-threshold", rates=[1, 2], weights=[1, 1], budget=10, intervals="constant")
    assert ("never refreshed", "worth_per_change") not in all_served


@pytest.mark.parametrize(("arguments", "expected"), read_table(__file__, "formula_values.yaml"))
def test_plain_equations(arguments, expected):
    values = [expression(value).value({}) if isinstance(value, str) else value for value in expected]
    assert list(rows(**arguments).values()) == pytest.approx(values, rel=1e-8, abs=1e-12)


# ---- In Python and on the command line


def test_a_formula_in_python():
    found = rn.formula("gamma-rates", ratio=2, spread=1)
    assert list(found.table["metric"]) == ["freshness", "age", "freshness", "age", "freshness", "age"]
    assert found.about("age", "proportional")[0].note == "infinite"
    assert found.data()["network"] == {"kind": "formula", "name": "gamma-rates", "ratio": 2.0, "spread": 1.0}
    assert rn.formulas().keys() == formulas().keys()


def test_a_formula_on_the_command_line():
    """Names, tables of values, errors of arguments with where they come from."""

    def run(*given: str, code: int = 0):
        done = replnet("formula", *given)
        assert done.returncode == code, done.stderr
        return done

    assert "gamma-rates(ratio, spread)" in run().stdout
    assert "replnet formula NAME" in run().stderr
    assert len(json.loads(run("--format", "json").stdout)) == len(formulas())
    assert run("--format", "csv").stdout.splitlines()[0] == "formula,equation,what it says"
    laws = {"updates": "exponential(rate=2)", "downloads": "exponential(rate=6)"}
    of_copy = ("freshness", *(word for name, law in laws.items() for word in ("-s", f"{name}={law}")))
    one = json.loads(run(*of_copy, "--format", "json").stdout)
    assert one["network"] == {"kind": "formula", "name": "freshness", **laws}
    assert [(row["group"], row["metric"], row["predicted"]) for row in one["rows"]] == [("copy", "freshness", 0.75)]
    assert run(*of_copy, "--format", "csv").stdout.splitlines()[1].split(",")[:2] == ["copy", "freshness"]
    assert run(*of_copy).stdout.splitlines()[-1].split() == ["copy", "freshness", "0.75000", "exact", "P2P", "eq.", "8"]
    wrong = run("gamma-rates", "-s", "ratio=0", code=2).stderr
    assert "spread: missing (" in wrong
    assert "-s ratio=0: ratio: 0 is not" in wrong
    assert "did you mean gamma-rates" in run("gama-rates", code=2).stderr
    frequency = run("allocation", "-s", "rates=[1e-90,1e90]", "-s", "frequency=1", code=2).stderr
    assert "-s frequency=1: frequency: 1 is out of range" in frequency


def test_a_path_of_its_own_says_that_it_keeps_its_phase():
    """At periods of 5 and 5 a path is stale for the share of its phase, here up to the ends of the run."""
    overrides = ["downloads=constant(period=5)", "run.seed=1:6"]
    rows = rn.sweep("staleness/phase-lock", overrides=overrides, workers=0).rows
    measured = [row["measured"] for row in rows]
    assert len(set(measured)) == len(rows) == 6
    assert max(measured) - min(measured) > 0.5
    for row in rows:
        assert (row["verdict"], row["predicted"]) == ("unresolved", pytest.approx(0.5))
        assert "keep their phases; this is one random phase" in row["note"]
        assert "on one path ages depend, by up to 0.8" in row["note"]
