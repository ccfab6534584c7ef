"""Names as a shell completes them."""

from __future__ import annotations

import pytest
from click.shell_completion import BashComplete

from replnet.cli.main import commands


@pytest.mark.parametrize(
    ("words", "begun", "found"),
    [
        (["run"], "casc", ["cascade"]),
        (["predict"], "cooperative-", ["cooperative-recent"]),
        (["sweep"], "p2p/fig12", ["p2p/fig12a", "p2p/fig12b"]),
        (["reproduce", "p2p/fig3"], "p2p/theorem6", ["p2p/theorem6"]),
        (["formula"], "gamma-r", ["gamma-rates"]),
        (["run", "cascade", "--measure"], "curr", ["currency"]),
        (["list"], "net", ["networks"]),
        (["check"], "p2p/lemma", ["p2p/lemma2"]),
        (["run", "cascade", "--engine"], "l", ["live"]),
        (["run"], "./mine", ["./mine"]),  # a network may be a file too
    ],
)
def test_what_begins_so(words, begun, found):
    items = BashComplete(commands, {}, "replnet", "_REPLNET_COMPLETE").get_completions(words, begun)
    assert [item.value for item in items if (item.type == "file") == begun.startswith(".")] == found
