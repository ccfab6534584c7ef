"""Tables of runs as files: what DuckDB reads of many runs at once, whatever they are about."""

from __future__ import annotations

import re

import pyarrow.parquet as pq
import pytest
from site_pages import FENCE, PAGES

import replnet as rn
from replnet.lab.sweeps import STORED_COLUMNS
from replnet.lab.sweeps.stored_table import NUMERIC_FIELDS, TEXT_FIELDS
from replnet.network import KINDS

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed (pip install duckdb)")

SINGLE = {"kind": "single", "updates": "exponential(rate=1)", "downloads": "exponential(rate=${k})"}
TREE = {"kind": "cascade", "depth": "${k}", "branching": 2, "updates": "exponential(rate=1)",
        "downloads": ["exponential(rate=2)", "constant(rate=2)"]}  # fmt: skip
SHORT = {"horizon": 500, "seed": 1}
SWEEPS = {
    "rates": {"vary": {"k": [0.5, 1]}, "network": SINGLE, "run": SHORT},
    "depths": {"vary": {"k": [2]}, "network": TREE, "run": SHORT},
    "laws": {
        "vary": {"k": ["exponential(rate=1)", "constant(rate=1)"]},
        "formula": {"name": "freshness", "updates": "${k}", "downloads": "exponential(rate=1)"},
        "expected": [{"at": {"k": "constant(rate=1)"}, "group": "copy", "metric": "freshness", "value": 0.37,
                      "within": 0.01, "reason": "a value"}],
    },
}  # fmt: skip
"""Sweeps whose axis of one name is a number, a whole number and a text."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return a folder with a sweep of each kind, and with a run of a network, each in a directory."""
    folder = tmp_path_factory.mktemp("kept") / "runs"
    for name, parts in SWEEPS.items():
        rn.sweep({"name": name, "title": name, **parts}, folder / name, workers=0)
    net = rn.cooperative(replicas=3, updates="exponential(rate=1)", downloads="exponential(rate=1)",
                         polls="exponential(rate=1)")  # fmt: skip
    rn.emulate(net, horizon=500, seed=1, out=folder / "one")
    return folder


def test_tables_of_unlike_runs_have_one_schema(runs):
    schemas = [pq.read_schema(file) for file in runs.glob("*/table.parquet")]
    assert len(schemas) == 4
    assert all(schema.equals(schemas[0]) for schema in schemas)
    assert schemas[0].names == list(STORED_COLUMNS)


@pytest.mark.parametrize("options", ["", ", union_by_name = true"])
def test_duckdb_reads_all_runs_at_once(runs, options):
    source = f"read_parquet('{runs}/*/table.parquet'{options})"
    kinds = f"select distinct experiment, network, formula from {source} order by experiment"
    assert duckdb.sql(kinds).fetchall() == [
        ("cooperative", "cooperative", None), ("depths", "cascade", None), ("laws", None, "freshness"),
        ("rates", "single", None),
    ]  # fmt: skip
    axis = f"select axes['k'] from {source} where experiment in ('rates', 'laws') order by all"
    assert duckdb.sql(axis).fetchall() == [("0.5",), ("1",), ("constant(rate=1)",), ("exponential(rate=1)",)]
    fields = f"select depth, branching, downloads, replicas from {source} where experiment = 'depths'"
    laws = '["exponential(rate=2)","constant(rate=2)"]'
    assert set(duckdb.sql(fields).fetchall()) == {(2.0, 2.0, laws, None)}
    replicas = f"select replicas, measured is null from {source} where experiment = 'cooperative'"
    assert duckdb.sql(replicas).fetchall() == [(3.0, False)]
    missing = f"select verdict, note, expected from {source} where experiment = 'laws' order by axes['k']"
    assert duckdb.sql(missing).fetchall() == [(None, None, 0.37), (None, None, None)]


def test_a_run_is_told_from_others_by_its_id(runs, tmp_path):
    source = f"'{runs}/*/table.parquet'"
    ids = dict(duckdb.sql(f"select distinct experiment, run from {source}").fetchall())
    assert len(set(ids.values())) == 4
    assert {name: rn.open(runs / name).run for name in SWEEPS} == {name: ids[name] for name in SWEEPS}
    again = rn.sweep(rn.open(runs / "rates").experiment, tmp_path / "elsewhere", workers=0)
    assert again.run == ids["rates"]
    assert (tmp_path / "elsewhere" / "table.parquet").read_bytes() == (runs / "rates" / "table.parquet").read_bytes()
    longer = SWEEPS["rates"] | {"run": SHORT | {"seed": 2}}
    assert rn.sweep({"name": "rates", "title": "rates", **longer}, workers=0).run not in ids.values()


def test_the_page_of_the_table_names_its_columns_and_its_queries_run(runs, monkeypatch):
    page = (PAGES / "reference" / "table.md").read_text().partition("## Tables of many runs")[2]
    named = re.findall(r"^\| (`.*?`) \| ([\w ]+) \|", page, re.MULTILINE)
    types = {name: kind for names, kind in named for name in re.findall(r"`(\w+)`", names)}
    words = {"string": "text", "double": "double", "map": "map of texts"}
    schema = pq.read_schema(runs / "rates" / "table.parquet")
    assert types == {field.name: words[str(field.type).partition("<")[0]] for field in schema}
    monkeypatch.chdir(runs.parent)
    queries = [body for language, body in FENCE.findall(page) if language == "sql"]
    assert [len(duckdb.sql(query).fetchall()) > 0 for query in queries] == [True, True]


def test_every_field_of_a_network_that_is_a_number_or_a_text_has_its_column():
    nested = {"kind", "name", "title", "faults", "rates", "weights", "clients", "tiers", "nodes", "links", "pools"}
    of_files = {"file", "edges", "names"}
    fields = {name for model in KINDS.values() for name in model.model_fields}
    assert fields - nested - of_files == {*NUMERIC_FIELDS, *TEXT_FIELDS}
