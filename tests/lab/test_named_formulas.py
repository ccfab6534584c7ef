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
from experiment_files import FORMULA

import replnet as rn
from replnet.allocation import Pages
from replnet.lab.experiment.sections import experiment_schema
from replnet.lab.named_formulas import Positive, compute, formulas
from replnet.lab.papers.crawl import fixed_freshness, random_freshness
from replnet.lab.sweeps.forecast import forecast
from replnet.show.report.section import section_of
from replnet.text import InputError, expression

ERRORS = read_table(__file__, "formula_errors.yaml")


def rows(**arguments) -> dict[tuple[str, str], float | None]:
    return {(group, metric): prediction.value for group, metric, prediction in compute(**arguments)}


# ---- As an experiment


def test_an_experiment_of_a_formula_has_predictions_and_no_verdict(load, tmp_path):
    cells = load(FORMULA).cells()
    assert cells[-1].subject.data == {"name": "gamma-rates", "ratio": 2.0, "spread": 1.0}
    assert {cell.subject.section for cell in cells} == {"formula"}
    assert len({cell.key for cell in cells}) == 6
    found = rn.sweep(load(FORMULA), tmp_path / "run", workers=0)
    assert (found.verdict, found.incomplete, found.done, found.events) == ("", "", 6, 0)
    assert found.table["measured"].isna().all()
    assert found.contradictions == []
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
    assert rn.sweep(load(FORMULA), tmp_path / "run", workers=0).hash == found.hash
    assert (tmp_path / "run" / "journal").read_bytes() == before
    assert forecast(load(FORMULA).cells(), set()).events == 0
    assert forecast(load(FORMULA).cells(), found.records).finished == 6


def test_fields_may_be_axes_and_overridden(load):
    assert load(FORMULA, "ratio=1,2,4").axes[-1].values == (1, 2, 4)
    assert {cell.subject.data["ratio"] for cell in load(FORMULA, "ratio=3").cells()} == {3}
    with pytest.raises(InputError, match="ration: is no field of formula"):
        load(FORMULA, "ration=3")


def test_the_report_draws_predicted_curves(load):
    text = FORMULA + "figure: {x: spread, y: freshness, series: s}\ngroups: [uniform]\n"
    found = section_of(rn.sweep(load(text), workers=0))
    assert len(found.figure.curve) > 60
    assert set(found.figure.curve["group"]) == {"uniform"}
    assert found.about["formula"]["name"] == "gamma-rates"


# ---- What is wrong is said


@pytest.mark.parametrize(("arguments", "message"), ERRORS, ids=[case[1] for case in ERRORS])
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


def test_weights_are_as_that_many_elements():
    weighted = rows(name="allocation", rates=[1, 4], weights=[2, 3], frequency=2)
    listed = rows(name="allocation", rates=[1, 1, 4, 4, 4], frequency=2)
    assert weighted == pytest.approx(listed, rel=1e-12)
    assert ("uniform", "frequency") not in weighted


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


@pytest.mark.parametrize(("arguments", "expected"), read_table(__file__, "formula_values.yaml"))
def test_plain_equations(arguments, expected):
    """All values in their order, or some of them by group and metric, nan where there is no such row."""
    found = rows(**arguments)
    if isinstance(expected, dict):
        by_name = {f"{group}, {metric}": value for (group, metric), value in found.items()}
        known, expected = [by_name.get(name, math.nan) for name in expected], [*expected.values()]
    else:
        known = [*found.values()]
    values = [expression(value).value({}) if isinstance(value, str) else value for value in expected]
    assert known == pytest.approx(values, rel=1e-8, abs=1e-12, nan_ok=True)


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
