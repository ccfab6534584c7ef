"""Every experiment of the papers that is emulated, in its quick form: nothing differs but what the file says.

If all predictions are right, one of the tables differs with chance 0.01 (Holm, for the seed of its file); a cell that
does is run four times longer first, so correct code fails with far less. Errors of five standard errors would be seen.
"""

from __future__ import annotations

import pytest

import replnet as rn
from replnet.lab.experiment.experiment import load_experiment
from replnet.text.documents import read_yaml, shipped, shipped_names

pytestmark = pytest.mark.verification

EMULATED = [
    name for name in shipped_names("experiments") if "formula" not in read_yaml(shipped(name, "experiments")).data
]


@pytest.mark.parametrize("name", EMULATED)
def test_an_experiment_of_a_paper_agrees(name):
    experiment = load_experiment(name).quick()
    result = rn.sweep(experiment, workers=None)
    assert result.incomplete == ""
    assert result.verdict in ("agree", "unresolved")  # quick forms may be too short to tell
    assert [claim.text for claim in result.claims if claim.fails and claim.erratum is None] == []
    assert all(shown.name for shown in result.errata)  # mistakes of the paper that the file names
