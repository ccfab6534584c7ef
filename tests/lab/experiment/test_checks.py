"""All that is wrong with an experiment, at once, where it stands."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from error_tables import by_message, message_of, read_table, write_files
from experiment_files import ALL_SECTIONS, BASE, EXPECTED, SYSTEM, with_

from replnet.lab.experiment.experiment import load_experiment
from replnet.text.errors import InputError

TEXTS = {"base": BASE, "expected": EXPECTED, "system": SYSTEM}


def read(case: dict[str, Any]) -> list[Any]:
    """Return the cells of a case: a text, or a right one in which some words are changed and to which more is added."""
    text = case["text"] if "text" in case else TEXTS[case["of"]]
    for old, new in case.get("change", {}).items():
        text = with_(old, new, text)
    Path("exp.yaml").write_text(text + case.get("add", ""))
    return load_experiment("exp.yaml", case.get("overrides", ()), case.get("zips", ())).cells()


@pytest.mark.parametrize("case", by_message(read_table(__file__)["errors"]))
def test_errors(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(case)
    assert message_of(read, case).replace(f"{tmp_path}/", "") == case["message"]


def test_what_quick_makes_wrong_shows_in_its_cells(load):
    experiment = load(BASE + "quick: {vary: {k: [0, 1]}}\n")
    assert len(experiment.cells()) == 9
    with pytest.raises(InputError, match="divides by zero"):
        experiment.quick().cells()


# ---- What is wrong in one place does not hide what is wrong in another, and brings no error of its own

# By field, in the order of the file.
WRONG = {
    "vary.k": ("k: [1, 2]", "k: []"),
    "vary.j": ("1:3", "3:1"),
    "values.nu": ("4 / k", "4 / q"),
    "network.replicas": ("replicas: 10", "replicas: 0"),
    "network.updates.rate": ("exponential(rate=1)", "exponential(rate=-1)"),
    "network.polls": ("${mu}", "${muh}"),
    "network.delay": ("delay: 0.1", "delay: -1"),
    "run.precision": ("precision: 0.1", "precision: -1"),
    "quick.vary.q": ("{vary: {k: [2]}}", "{vary: {q: [2]}}"),
    "measure[2]": ("[freshness, lag]", "[freshness, speed]"),
    "printed[1].value": ("metric: freshness, value: 0.5", "metric: freshness, value: much"),
    "printed[2].at.jj": ("k: 2, j: 3", "k: 2, jj: 3"),
    "claims[1].over": ("over: k", "over: kk"),
    "errata.none.kind": ("kind: prose", "kind: slip"),
    "figure.series": ("series: j", "series: jj"),
}
FAULTS = [*itertools.combinations(WRONG, 1), *itertools.combinations(WRONG, 2), tuple(WRONG)]


@pytest.mark.parametrize("faults", FAULTS, ids=" and ".join)
def test_as_many_problems_as_faults(messages, faults):
    text = ALL_SECTIONS
    for field in faults:
        text = with_(*WRONG[field], text)
    places = [line.split(": ")[1] for line in messages(text).splitlines() if line.startswith("exp.yaml:")]
    assert places == [*faults]
