"""Experiments: those that ship, overrides, and what `quick` makes of them."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from experiment_files import BASE, PRINTED, with_

import replnet as rn
from replnet.lab.experiment.experiment import Experiment, load_experiment
from replnet.text.documents import shipped_names
from replnet.text.errors import InputError


@pytest.mark.parametrize("name", ["p2p/fig3", "p2p/fig9", "p2p/fig11-random", "p2p/fig11-recent", "p2p/fig11d"])
def test_experiments_that_ship(name):
    assert name in shipped_names("experiments")
    experiment = load_experiment(name)
    assert experiment.name == name
    again = Experiment.from_data(json.loads(json.dumps(experiment.data)))
    assert replace(again, _document=None, _sections=None, _request=None).__dict__ == (
        replace(experiment, _document=None, _sections=None, _request=None).__dict__
    )
    assert again.cells() == experiment.cells()
    quick = experiment.quick()
    assert 1 < len(quick.cells()) <= len(experiment.cells())
    assert quick.settings.precision > experiment.settings.precision
    assert {c.key for c in quick.cells()}.isdisjoint(c.key for c in experiment.cells())
    assert len(quick.printed) == len(experiment.printed)
    assert len(quick.claims) == len(experiment.claims)


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
    assert (cell.subject.data["peers"], cell.subject.data["polls"]) == (2, "exponential(rate=3)")
    assert experiment.measure == ("freshness",)
    assert load(BASE, "nu=8 / k").cells()[0].subject.data["polls"] == "exponential(rate=8)"
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
    assert len(found) == 28


def test_quick_is_merged_over_the_rest(load):
    quick = load(PRINTED).quick()
    assert quick.axes[0].values == (1, 3)
    assert (quick.settings.precision, quick.settings.seed) == (0.01, 3)
    assert quick.cells()[0].subject.data["polls"] == "exponential(rate=5)"
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


def test_an_experiment_that_is_not_there():
    with pytest.raises(InputError, match=r"p2p/fig3d: file: does not exist .*did you mean p2p/fig"):
        load_experiment("p2p/fig3d")


MEASURED = {
    "title": "t",
    "network": {"kind": "single", "updates": "constant(rate=2)", "downloads": "exponential(rate=1)"},
    "vary": {"downloads.rate": [1, 2]},
    "run": {"horizon": 200_000}, "measure": ["staleness", "source_penalty( x )"],
}  # fmt: skip


def test_an_experiment_measures_what_it_keeps(tmp_path):
    swept = rn.sweep(Experiment.from_data(MEASURED), out=tmp_path / "run", workers=0)
    assert set(swept.table.metric) == {"staleness", "source_penalty(x)"}
    assert len(swept.table) == 4
    assert set(swept.table.verdict) == {"agree"}


def test_what_an_experiment_speaks_of_it_has_to_measure():
    claims = [{"text": "c", "falls": "missing_updates", "over": "downloads.rate"}]
    for measure in ({}, {"measure": ["staleness"]}):
        data = {key: value for key, value in MEASURED.items() if key != "measure"} | measure | {"claims": claims}
        with pytest.raises(rn.InputError, match="missing_updates is not measured"):
            Experiment.from_data(data).cells()
