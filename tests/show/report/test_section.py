"""What a report is made of: sections, and markup that cannot be injected into."""

from __future__ import annotations

import pytest
from report_sections import row, section

from replnet.lab.sweeps.statements import CheckedClaim
from replnet.show.report import FigureSpec, holds
from replnet.show.report.markup import Html, element


@pytest.mark.parametrize(
    ("measured", "predicted", "result", "fails"),
    [(True, True, True, False), (True, None, True, False), (None, True, True, False), (True, False, False, True),
     (None, None, False, False)],
)  # fmt: skip
def test_a_claim_holds_if_nothing_speaks_against_it(measured, predicted, result, fails):
    claim = CheckedClaim("x", measured, predicted, "")
    assert (holds(claim), claim.fails) == (result, fails)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FigureSpec("k", "freshness", log=["z"]), r"log: \['z'\] is not a choice"),
        (lambda: section([row(k=1)], figure=FigureSpec("nu", "freshness")), "nu is not a column of the table"),
        (lambda: section([row(k=1)], ("m",)), "m is not a column of the table"),
        (lambda: section([row(k=1)], name=""), "name: a section without a name"),
    ],
)
def test_faults_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_elements_escape_what_is_not_markup():
    assert element("p", "<&", Html("<b>"), class_="\"'", data_what=None) == ('<p class="&quot;&#x27;">&lt;&amp;<b></p>')
    assert element("meta", http_equiv="x", name="n") == '<meta http-equiv="x" name="n">'
