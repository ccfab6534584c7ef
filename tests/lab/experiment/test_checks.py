"""All that is wrong with an experiment, at once, where it stands."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from error_tables import by_message, message_of, read_table, without_excerpts, write_files
from experiment_files import ALL_SECTIONS, BASE, EXPECTED, FORMULA, SYSTEM, with_

from replnet.lab.experiment.experiment import load_experiment
from replnet.text.errors import InputError

TEXTS = {"base": BASE, "expected": EXPECTED, "system": SYSTEM, "formula": FORMULA}
CASES = [case | {"of": name} for name, cases in read_table(__file__).items() for case in cases]


def read(case: dict[str, Any]) -> list[Any]:
    """Return the cells of a case: a text, or a right one in which some words are changed and to which more is added."""
    text = case["text"] if "text" in case else TEXTS[case["of"]]
    for old, new in case.get("change", {}).items():
        text = with_(old, new, text)
    Path("exp.yaml").write_text(text + case.get("add", ""))
    return load_experiment("exp.yaml", case.get("overrides", ()), case.get("zips", ())).cells()


@pytest.mark.parametrize("case", by_message(CASES))
def test_errors(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(case)
    assert without_excerpts(message_of(read, case)).replace(f"{tmp_path}/", "") == case["message"]


def test_what_quick_makes_wrong_shows_in_its_cells(load):
    experiment = load(BASE + "quick: {vary: {k: [0, 1]}}\n")
    assert len(experiment.cells()) == 9
    with pytest.raises(InputError, match="divides by zero"):
        experiment.quick().cells()


# ---- What is wrong in one place does not hide what is wrong in another, and brings no error of its own

WRONG = read_table(__file__, "faults.yaml")  # by field, in the order of the file: right words, and wrong ones
FAULTS = [*itertools.combinations(WRONG, 1), *itertools.combinations(WRONG, 2), tuple(WRONG)]


@pytest.mark.parametrize("faults", FAULTS, ids=" and ".join)
def test_as_many_problems_as_faults(faults, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = ALL_SECTIONS
    for field in faults:
        text = with_(*WRONG[field], text)
    places = [
        line.split(": ")[1] for line in message_of(read, {"text": text}).splitlines() if line.startswith("exp.yaml:")
    ]
    assert places == [*faults]
