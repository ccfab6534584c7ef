"""Experiments: those that ship, overrides, and what `quick` makes of them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache

import pytest
from experiment_files import BASE, PRINTED, with_

import replnet as rn
from replnet.lab.experiment.experiment import Experiment, load_experiment
from replnet.lab.named_formulas import formulas
from replnet.text.documents import read_yaml, shipped, shipped_names
from replnet.text.errors import InputError

# ---- Those that ship

load_shipped = cache(load_experiment)
SHIPPED = shipped_names("experiments")
FORMULAS = [name for name in SHIPPED if "formula" in read_yaml(shipped(name, "experiments")).data]


def of_sections(experiment: Experiment) -> dict[str, object]:
    """Return the fields of an experiment but for the document that it was read from."""
    return replace(experiment, _document=None, _sections=None, _request=None).__dict__


@pytest.mark.parametrize("name", SHIPPED)
def test_one_that_ships_is_whole(name):
    """Values are compared up to their rounding unless the words around them are read, and every erratum is shown."""
    experiment = load_shipped(name)
    assert experiment.name == name
    assert experiment.claim
    assert experiment.paper
    assert all(one.where for one in experiment.printed)
    assert all(("within" in one) == ("reading" in one) for one in experiment.data.get("printed", ()))
    stated = (*experiment.printed, *experiment.expected, *experiment.claims)
    assert stated or name.startswith("staleness/")
    assert {one.erratum for one in stated} - {None} == set(experiment.errata)
    again, quick = Experiment.from_data(json.loads(json.dumps(experiment.data))), experiment.quick()
    assert of_sections(again) == of_sections(experiment)
    assert again.cells() == experiment.cells()
    assert 1 < len(quick.cells()) <= len(experiment.cells())
    assert len(quick.claims) == len(experiment.claims)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_that_ships_says_what_its_paper_does(name):
    """But for the mistakes of the paper, all of which show: its claims hold, and what it prints agrees."""
    experiment = load_shipped(name)
    found = rn.sweep(experiment.quick(), workers=0)
    assert found.incomplete == ""
    assert [claim.predicted for claim in found.claims] == [claim.erratum is None for claim in experiment.claims]
    assert [one.name for one in found.errata] == list(experiment.errata)
    formula = formulas()[experiment.data["formula"]["name"]]
    assert {(row["group"], row["metric"]) for row in found.rows} <= {
        (group, metric) for group in formula.groups for metric in formula.metrics
    }


def test_errata_of_one_name_say_the_same():
    found = {}
    for name in SHIPPED:
        for title, erratum in load_shipped(name).errata.items():
            assert found.setdefault(title, erratum) == erratum
    assert len(found) == 28


def test_an_experiment_that_is_not_there():
    with pytest.raises(InputError, match=r"p2p/fig3d: file: does not exist .*did you mean p2p/fig"):
        load_experiment("p2p/fig3d")
    with pytest.raises(InputError, match=r"cascade: file: is a network, and no experiment \(replnet run cascade\)"):
        load_experiment("cascade")


# ---- Overrides, and the section quick


@pytest.mark.parametrize(
    ("overrides", "axes"),
    [
        (["k=1,3,9"], {"k": (1, 3, 9)}),
        (["k=[1, 3]"], {"k": (1, 3)}),
        (["k=4"], {"k": (4,)}),
        (["k=1,2", "network.replicas=10:500:3log"], {"k": (1, 2), "replicas": (10, 71, 500)}),
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
def test_overrides_of_axes(load, overrides, axes):
    experiment = load(BASE, *overrides)
    assert {axis.name: axis.values for axis in experiment.axes} == axes
    assert len(experiment.cells()) == math.prod(map(len, axes.values()))
    assert Experiment.from_data(experiment.data).cells() == experiment.cells()


def test_overrides_of_values_settings_and_fields(load):
    given = ("nu=8 / k", "run.precision=0.01", "run.engine=step", "peers=2", "polls.rate=3", "measure=freshness")
    experiment = load(BASE, *given)
    cell = experiment.cells()[3]
    assert (cell.settings.precision, cell.settings.engine) == (0.01, "step")
    assert (cell.subject.data["peers"], cell.subject.data["polls"]) == (2, "exponential(rate=3)")
    assert experiment.measure == ("freshness",)
    assert load(BASE, "nu=8 / k").cells()[0].subject.data["polls"] == "exponential(rate=8)"
    assert [cell.settings.seed for cell in load(BASE, "k=1", "run.seed=4,5").cells()] == [4, 5]


def test_zip_from_the_command_line(load):
    cells = load(BASE, "nu=2:18:9", zips=["k, nu"]).cells()
    assert [cell.values for cell in cells] == [{"k": k, "nu": 2 * k} for k in range(1, 10)]


def test_quick_is_merged_over_the_rest(load):
    quick = load(PRINTED).quick()
    assert quick.axes[0].values == (1, 3)
    assert (quick.settings.precision, quick.settings.seed) == (0.01, 3)
    assert quick.cells()[0].subject.data["polls"] == "exponential(rate=5)"
    # What is about cells that are no longer there is left out.
    assert [printed.at for printed in quick.printed] == [{"k": 1}]
    assert [claim.text for claim in quick.claims] == ["best", "best of two"]
    assert "quick" not in quick.data
    assert "quick" not in load(BASE + "quick: {}\n").quick().data
    # The command line has the last word.
    assert load(PRINTED, "k=1,2", "run.precision=0.1").quick().axes[0].values == (1, 2)
    assert load(PRINTED, "run.precision=0.1").quick().settings.precision == 0.1


def test_what_a_paper_prints_is_about_its_own_experiment(load):
    assert [printed.at for printed in load(PRINTED, "k=9,1", "run.seed=5").printed] == [{"k": 1}, {"k": 9}]
    assert [printed.at for printed in load(PRINTED, "k=1,2").printed] == [{"k": 1}]
    for change in ("nu=3", "nu=3,4", "replicas=20", "replicas=20,30"):
        changed = load(PRINTED, change)
        assert (changed.printed, len(changed.claims)) == ((), 3)


def test_numbers_match_up_to_rounding(load):
    stated = "set: {delay: '${x}'}\nprinted: [{at: {x: 0.30000000000000004}, group: cluster, value: 1, within: 1}]\n"
    assert len(load(with_("k: 1:9", "x: 0:1:11\n  k: [1]") + stated).printed) == 1


def test_an_experiment_measures_what_it_keeps(load):
    fields = "kind: single, updates: constant(rate=2), downloads: exponential(rate=1)"
    text = f"title: t\nnetwork: {{{fields}}}\nvary: {{downloads.rate: [1, 2]}}\nrun: {{horizon: 1e5}}\n"
    swept = rn.sweep(load(text + "measure: [staleness, source_penalty( x )]\n"), workers=0)
    assert set(swept.table.metric) == {"staleness", "source_penalty(x)"}
    assert len(swept.table) == 4
    assert set(swept.table.verdict) == {"agree"}
