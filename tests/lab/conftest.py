"""An experiment from its text, and what is said of one that is wrong."""

from __future__ import annotations

import os

import pytest

from replnet.lab.experiment.experiment import Experiment, load_experiment
from replnet.text.errors import InputError


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
