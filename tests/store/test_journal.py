"""The journal: what verifies is what was appended, whatever is missing or damaged around it."""

from __future__ import annotations

import pytest
from records import flips, record

from replnet.store import journal as journals
from replnet.store.durable import RefusedError

BOND = "bond"


def test_every_prefix_of_a_journal_holds_a_prefix_of_its_records():
    lines = [journals.line(BOND, i, f"cell-{i}", record(i)) for i in range(30)]
    raw, ends = b"".join(lines), {0: 0}
    for i, line in enumerate(lines):
        ends[max(ends) + len(line)] = i + 1
    done = 0
    for length in range(len(raw) + 1):
        done = ends.get(length, done)
        found = journals.scan(raw[:length], BOND)
        assert list(found.records.values()) == [record(i) for i in range(done)]
        assert not found.damage
        assert (found.torn == 0) == (length in ends)
        assert bool(found.note) == bool(found.torn)


def test_a_flipped_byte_in_a_journal_costs_at_most_two_records_and_is_reported():
    true = {f"cell-{i}": record(i) for i in range(30)}
    raw = b"".join(journals.line(BOND, i, *entry) for i, entry in enumerate(true.items()))
    for at, bad in flips(raw, 500, seed=1):
        found = journals.scan(bad, BOND)
        assert all(true[key] == value for key, value in found.records.items())
        assert len(found.records) in (28, 29)
        assert found.note
        if found.damage:
            assert min(found.damage) <= at


def test_every_flipped_bit_of_a_record_is_seen():
    raw = journals.line(BOND, 0, "cell-0", record(0))
    for at in range(len(raw)):
        for bit in range(8):
            bad = raw[:at] + bytes([raw[at] ^ 1 << bit]) + raw[at + 1 :]
            assert not journals.scan(bad, BOND).records


@pytest.mark.parametrize(("change", "damages"), [("drop", 1), ("repeat", 1), ("swap", 3)])
def test_lines_that_are_whole_but_not_in_order_are_seen(change, damages):
    lines = [journals.line(BOND, i, f"cell-{i}", record(i)) for i in range(6)]
    lines[2:4] = {"drop": [lines[3]], "repeat": [lines[2], lines[2], lines[3]], "swap": [lines[3], lines[2]]}[change]
    found = journals.scan(b"".join(lines), BOND)
    assert len(found.damage) == damages
    assert all(found.records[key] == record(int(key[5:])) for key in found.records)


def test_two_results_of_one_cell_are_refused():
    raw = journals.line(BOND, 0, "cell-0", record(0)) + journals.line(BOND, 1, "cell-0", record(1))
    with pytest.raises(RefusedError, match="two different results of cell cell-0"):
        journals.scan(raw, BOND)
