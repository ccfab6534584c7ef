"""What a report is made of."""

from __future__ import annotations

import pytest
from report_sections import row, section

from replnet.lab.sweeps.statements import CheckedClaim
from replnet.show.report import FigureSpec
from replnet.show.report.section import holds


@pytest.mark.parametrize(
    ("measured", "predicted", "result", "fails"),
    [
        (True, True, True, False),
        (True, None, True, False),
        (None, True, True, False),
        (True, False, False, True),
        (None, None, False, False),
    ],
)
def test_a_claim_holds_if_nothing_speaks_against_it(measured, predicted, result, fails):
    claim = CheckedClaim("x", measured, predicted, "")
    assert holds(claim) is result
    assert claim.fails is fails


def test_faults_are_named():
    with pytest.raises(ValueError, match="log: \\['z'\\] is not a choice"):
        FigureSpec("k", "freshness", log=["z"])
    with pytest.raises(ValueError, match="nu is not a column of the table"):
        section([row(k=1)], figure=FigureSpec("nu", "freshness"))
    with pytest.raises(ValueError, match="m is not a column of the table"):
        section([row(k=1)], ("m",))
    with pytest.raises(ValueError, match="name: a section without a name"):
        section([row(k=1)], name="")
