"""Sweeps as labelled arrays, whose dimensions are the axes, the groups and the metrics."""

from __future__ import annotations

import numpy as np
import pytest

import replnet as rn

DATA = {
    "title": "A cascade by its depth and its laws",
    "vary": {
        "depth": [2, 1],
        "law": {"even": "constant(rate=2)", "random": "exponential(rate=2)"},
        "rate": [1.0, 0.5],
        "width": [2, 1],
    },
    "zip": [["rate", "width"]],
    "network": {
        "kind": "cascade",
        "depth": "${depth}",
        "branching": "${width}",
        "updates": "exponential(rate=${rate})",
        "downloads": "${law}",
    },
    "measure": ["freshness", "lag"],
    "run": {"horizon": 300},
}


def test_the_axes_are_dimensions_and_the_columns_variables():
    sweep = rn.sweep(DATA, workers=0)
    data = sweep.to_xarray()
    assert dict(data.sizes) == {"depth": 2, "law": 2, "rate": 2, "group": 2, "metric": 2}
    assert data["depth"].values.tolist() == [2, 1]  # in the order of the experiment
    assert data["law"].values.tolist() == ["even", "random"]
    assert data["width"].dims == ("rate",)
    assert data.sel(rate=0.5)["width"].item() == 1
    for row in sweep.table.to_dict("records"):
        cell = data.sel({name: row[name] for name in ("depth", "law", "rate", "group", "metric")})
        assert (cell["measured"].item(), cell["verdict"].item()) == (row["measured"], row["verdict"])
    assert int(data["measured"].notnull().sum()) == len(sweep.table) == 24
    shallow = data.sel(depth=1, group="level 2")  # a level that is not there
    assert np.isnan(shallow["predicted"]).all()
    assert (shallow["verdict"] == "").all()
    assert data.attrs["title"] == DATA["title"]


def test_a_single_run_has_groups_and_metrics(tmp_path):
    rn.emulate("cascade", horizon=300, out=tmp_path / "run", workers=0)
    data = rn.open(tmp_path / "run").to_xarray()
    assert dict(data.sizes) == {"group": 4, "metric": 1}
    assert data["measured"].squeeze().to_series().is_monotonic_decreasing


def test_without_xarray_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("replnet.text.extras.find_spec", lambda module: None)
    with pytest.raises(rn.InputError, match=r"to_xarray: xarray is not installed \(pip install 'replnet\[xarray\]'\)"):
        rn.sweep(DATA, workers=0, budget=0.001).to_xarray()
