"""Many sources from files and DataFrames, with a row for each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from error_tables import message_of

import replnet as rn
from replnet.network import network_of
from replnet.store import RefusedError

LISTED = rn.aggregate(rates=[0.5, 3, 0], weights=[1, 2, 1], names=["/a", "/b,c", "/d"], budget=2, unit="d")
TABLES = {
    "plain.csv": 'name,rate,weight\n/a,0.5,1\n"/b,c",3,2\n/d,0,1\n',
    "excel.csv": "\ufeffWeight; Rate;name;language\r\n1;0.5;/a;en\r\n2;3;/b,c;\r\n1;0;/d;de\r\n",
    "units.tsv": "rate\tname\tweight\n3.5/w\t/a\t1\n0.125/h\t/b,c\t2\n0\t/d\t1\n",
    "blank.txt": 'rate,name,weight\n\n 0.5 ,/a,1\n3,"/b,c",2e0\n\n0,/d,1\n\n',
}


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_all_sorts_are_the_network_of_their_lists(name):
    Path(name).write_bytes(TABLES[name].encode())
    net = rn.aggregate(rates=name, budget=2, unit="d")
    assert net.data() == LISTED.data()
    assert rn.Network.from_data(net.data()) == LISTED
    assert net.notes == (("excel.csv: nothing is read from language",) if name == "excel.csv" else ())


def test_data_frames_parquet_files_and_arrays():
    frame = pd.DataFrame({"name": LISTED.spec.names, "rate": [0.5, 3, 0], "weight": [1, 2, 1]})
    frame.to_parquet("pages.parquet")
    for table in (frame, Path("pages.parquet"), "pages.parquet"):
        assert rn.aggregate(rates=table, budget=2, unit="d").data() == LISTED.data()
    hourly = frame.assign(rate=frame["rate"] / 24)
    hourly.attrs["unit"] = "h"
    assert rn.aggregate(rates=hourly, budget=2, unit="d").spec.rates == pytest.approx((0.5, 3, 0))
    assert message_of(lambda: rn.aggregate(rates=hourly, budget=2)).startswith("rates: the table: has rates per hour, ")
    assert rn.aggregate(rates=np.array([0.5, 3, 0]), budget=2).spec.rates == (0.5, 3.0, 0.0)
    assert rn.aggregate(rates=frame[["rate"]], budget=2).spec.weights is None
    frame.loc[1, "rate"] = np.nan
    assert message_of(lambda: rn.aggregate(rates=frame, budget=2)) == (
        "rates: the table: row 2, column rate: is missing (0, or a number above 0)"
    )


def test_fields_that_are_given_win_and_tables_are_joined_by_name():
    Path("pages.csv").write_text(TABLES["plain.csv"])
    Path("visits.csv").write_text('visit_interval,name\n4,"/b,c"\n0.5,/d\n1,/a\n')
    net = rn.aggregate(rates="pages.csv", weights=[1, 1, 1], allocate="visits.csv")
    assert net.spec.weights == (1, 1, 1)
    assert net.spec.allocate == (1, 0.25, 2)
    net = rn.aggregate(rates="pages.csv", names=["/b,c", "/d", "/a"], budget=1)
    assert (net.spec.rates, net.spec.weights) == ((3, 0, 0.5), (2, 1, 1))
    Path("blank.csv").write_text("name,rate,weight\nx,1,\ny,2,\n")
    assert rn.aggregate(rates="blank.csv", budget=1).spec.weights is None


def test_bytes_that_are_no_text():
    Path("latin.csv").write_bytes(b"name,rate\na,1\ncaf\xe9,2\n")
    Path("wide.csv").write_bytes("name,rate\na,1\n".encode("utf-16-le"))
    for name, message in (
        ("latin.csv", "rates: latin.csv: line 3: byte 0xe9 is not UTF-8 (a text file in UTF-8)"),
        ("wide.csv", "rates: wide.csv: is binary (a text file in UTF-8, or Parquet by its ending)"),
    ):
        assert message_of(lambda name=name: rn.aggregate(rates=name, budget=1)) == message


def test_a_file_counts_from_its_network_and_its_content_is_the_network():
    folder = Path("nets")
    folder.mkdir()
    (folder / "net.yaml").write_text("kind: aggregate\nunit: d\nrates: pages.csv\nbudget: 2\nallocate: freshness\n")
    (folder / "pages.csv").write_text(TABLES["plain.csv"])
    Path("typed.csv").write_text("rate\n1\n2\n")
    assert rn.load("nets/net.yaml", ["rates=typed.csv"]).spec.rates == (1, 2)
    rn.emulate("nets/net.yaml", horizon=100, out="run", workers=0)
    (folder / "pages.csv").write_text(TABLES["plain.csv"].replace("0.5", "0.6"))
    with pytest.raises(RefusedError, match=r"network.rates\[1\]: 0.5 -> 0.6"):
        rn.emulate("nets/net.yaml", horizon=100, out="run", workers=0)
    (folder / "pages.csv").unlink()
    assert rn.open("run").rows  # without the file


def test_many_wrong_rows_are_counted_and_long_lists_are_short_in_a_repr():
    rates = [-1.0] * 10_000
    error = message_of(lambda: rn.aggregate(rates=pd.DataFrame({"rate": rates, "weight": rates}), budget=1))
    assert "rates: the table: row 10, column rate: -1 is negative" in error
    for head in ("rate", "weight"):
        assert f"rates: the table: column {head}: 9,990 more such rows (0, or a number above 0)" in error
    Path("pages.csv").write_text("rate,weight\n" + "1,2,3\n" * 200)
    error = message_of(lambda: rn.aggregate(rates="pages.csv", budget=1))
    assert "rates: pages.csv: line 11: has 3 values for 2 columns" in error
    assert "pages.csv: 190 more such lines (as many as columns" in error
    assert "rates=[1.0, 1.0, 1.0, 1.0, ...]" in repr(rn.aggregate(rates=[1.0] * 100, budget=1))


def test_texts_in_a_data_frame_may_have_units():
    table = pd.DataFrame({"name": ["/a", "/b,c", "/d"], "rate": ["0.5/d", "0.125/h", "0"], "weight": ["1", "2", "1"]})
    assert rn.aggregate(rates=table, budget=2, unit="d").data() == LISTED.data()
    empty = table.assign(weight=["", " ", ""])
    assert rn.aggregate(rates=empty, budget=2, unit="d").spec.weights is None


def test_long_lists_are_one_text_as_plain_data():
    """Or a run directory would have a value, with its place, for every source."""
    rates = np.random.default_rng(1).gamma(0.5, 2, 100_000)
    names = [f"/{i}" for i in range(rates.size)]
    net = rn.aggregate(rates=rates, names=names, weights=rates, allocate=rates)
    data = net.data()
    assert {type(data[field]) for field in ("rates", "weights", "allocate", "names")} == {str}
    assert rn.Network.from_data(data) == net
    assert net.spec.rates == tuple(rates)
    assert len(repr(net)) < 600
    two_lines = rn.aggregate(rates=rates, names=[*names[1:], "a\nb"], budget=1)
    assert rn.Network.from_data(two_lines.data()) == two_lines
    pd.DataFrame({"name": names[::-1], "rate": rates[::-1]}).to_parquet("pages.parquet")
    assert network_of(net, ["rates=pages.parquet"]) == net  # in the order of the names
    broken = data | {"rates": data["rates"].replace(" ", " x", 1)}
    assert message_of(rn.Network.from_data, broken).startswith("rates: could not convert string to float: 'x")
