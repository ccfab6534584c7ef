"""An experiment from its text."""

from __future__ import annotations

import pytest

from replnet.lab.experiment.experiment import Experiment, load_experiment


@pytest.fixture
def load(tmp_path):
    def load(text: str, *overrides: str, zips=()) -> Experiment:
        path = tmp_path / "exp.yaml"
        path.write_text(text)
        return load_experiment(path, overrides, zips)

    return load
