"""A run in a directory: interrupted between replications it ends with the same bytes, and is read as a sweep is."""

from __future__ import annotations

import math
from itertools import count

import numpy as np
import pytest
from interrupts import ending

import replnet as rn
from replnet.ages.prediction import Prediction
from replnet.engines.path import Path
from replnet.lab import kept_run
from replnet.measure.estimate import Estimate
from replnet.measure.row import Row, judge_rows
from replnet.measure.verdict import Comparison
from replnet.run import emulate
from replnet.store.store import RefusedError, part_key, parts_of_cell, read_contents

NETWORK = rn.cooperative(
    replicas=5, peers=1, updates="exponential(rate=1)", downloads="exponential(rate=1)", polls="exponential(rate=2)"
)
SHORT = {"seed": 2, "horizon": 640.0, "workers": 0}


def files(folder) -> list[bytes]:
    return [(folder / name).read_bytes() for name in ("table.parquet", "provenance.json")]


@pytest.fixture(autouse=True)
def in_small_pieces(monkeypatch):
    """A part for every eight replications, which are made at a time."""
    runner = emulate._load_engine
    monkeypatch.setattr(emulate, "_load_engine", lambda task, engine: (runner(task, engine)[0], 8))
    monkeypatch.setattr(kept_run, "SECONDS_PER_PART", 0.0)


@pytest.mark.parametrize(
    "how",
    [
        {"measure": ["staleness_age", "currency(0.4)"]},
        {"precision": 0.02, "horizon": 32.0},
        {"confirm": True},
        {"engine": "step", "horizon": 64.0},
    ],
    ids=str,
)
def test_a_run_that_was_broken_off_ends_as_one_that_was_not(tmp_path, how):
    """It is interrupted before the ninth replication that is new, as often as there are any."""
    how = SHORT | how
    plain = rn.emulate(NETWORK, **how)
    whole = rn.emulate(NETWORK, **how, out=tmp_path / "whole")
    for times in count(1):
        after = f"replication {8 * times + 1} of"
        resumed = rn.emulate(NETWORK, **how, out=tmp_path / "broken", progress=ending(after)[1])
        if not resumed.incomplete:
            break
        assert resumed.incomplete == f"interrupted after {8 * times} replications"
        assert not (tmp_path / "broken" / "table.parquet").exists()
    assert times > 1
    assert plain.rows == whole.rows == resumed.rows
    assert plain.events == whole.events == resumed.events
    assert files(tmp_path / "whole") == files(tmp_path / "broken")


def test_a_run_is_opened_compared_and_refused_as_a_sweep_is(tmp_path, monkeypatch):
    one = rn.emulate(NETWORK, **SHORT, out=tmp_path / "one")
    rn.emulate(NETWORK, **SHORT | {"seed": 3}, out=tmp_path / "other")
    found = rn.open(tmp_path / "one")
    assert (found.incomplete, found.verdict, found.provenance["engine"]) == ("", one.verdict, "array")
    assert found.table[list(one.table.columns)].equals(one.table)
    assert found.samples.equals(one.samples)
    assert len(rn.compare(tmp_path / "one", tmp_path / "other")) == len(one.rows)
    with pytest.raises(RefusedError, match=r"run\.seed: 2 -> 5"):
        rn.emulate(NETWORK, **SHORT | {"seed": 5}, out=tmp_path / "one")
    with pytest.raises(ValueError, match="trace: a run that is resumed"):
        rn.emulate(NETWORK, **SHORT, out=tmp_path / "one", trace=tmp_path / "events.parquet")
    before = files(tmp_path / "one")
    monkeypatch.setattr("replnet.engines.array.make_runner", lambda task: (pytest.fail, 1))
    assert rn.emulate(NETWORK, **SHORT, out=tmp_path / "one").rows == one.rows  # and nothing is run again
    assert files(tmp_path / "one") == before


def test_a_run_that_is_not_finished_is_read_as_it_stands(tmp_path):
    rn.emulate(NETWORK, **SHORT, out=tmp_path, progress=ending("replication 9 of")[1])
    assert read_contents(tmp_path).parts
    found = rn.open(tmp_path)
    (name,) = found.samples
    assert found.rows[0]["measured"] == pytest.approx(found.samples[name].mean(), abs=0.01)
    assert (found.done, found.incomplete) == (0, "0 of 1 cells are finished; 8 replications so far")


def test_what_a_replication_measured_is_kept_exactly():
    shares = {("level 1", "freshness"): (0.1 + 0.2, math.pi), ("clients", "lag"): (math.inf, 1e-300)}
    path = Path(shares, (3, 2, 1, 0), depth=1 / 3, unproven=2, unknown_shares={"level 1": math.nan})
    (again,) = kept_run._paths_of_part(kept_run._part_of_paths([path]))
    assert list(again.shares.items()) == list(path.shares.items())
    assert (again.counts, again.depth, again.unproven) == (path.counts, path.depth, path.unproven)
    assert np.isnan(again.unknown_shares["level 1"])


def test_parts_that_overlap_count_once_and_end_at_a_gap():
    """As after the repair of a journal that had lost one of them."""
    records = {part_key("c", range(*ends)): list(range(*ends)) for ends in [(20, 25), (0, 4), (9, 12), (2, 7)]}
    assert [which.start for which, _ in parts_of_cell("c", records | {"c": 1, "d 0:1": [0]})] == [0, 2, 9, 20]


def test_a_row_is_judged_as_it_was():
    """Rows of live runs are judged by other paths than their formula's."""
    apart = Comparison(Estimate(0.2, 0.01, 32, skew=0.1), 0.0, 0.05)
    row = Row("cluster", "freshness", Prediction(math.nan), Estimate(0.7, math.nan, 32, doubt="lost"), against=apart)
    (record,) = kept_run.run_record([row], 1, "")["rows"]
    again = kept_run.row_from_record(record)
    assert again.against == apart
    assert judge_rows([again], 0.02)[0].verdict == judge_rows([row], 0.02)[0].verdict == "differ"
