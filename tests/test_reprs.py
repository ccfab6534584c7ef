"""What a prompt shows of the objects that users get: a screen at most, however large they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import replnet as rn

MOST_LINES, MOST_LETTERS = 25, 6_000
LAW = "exponential(rate=1)"
COUNT = 200_000


def visits() -> pd.DataFrame:
    seen = [(t, f"mirror {i}", t // 10) for i in range(30) for t in range(600)]
    return pd.DataFrame([(t, "source", t // 10) for t in range(600)] + seen, columns=["time", "node", "version"])


def large_objects() -> dict[str, object]:
    rng = np.random.default_rng(1)
    many = rn.aggregate(rates=rng.exponential(1.0, COUNT).tolist(), budget=1e5)
    updates, downloads = (rng.exponential(mean, 3000).cumsum() for mean in (1.0, 2.0))
    few = rn.cascade(3, 2, updates=LAW, downloads=LAW)
    sized = rn.size(few, 0.5, precision=0.02, workers=0)
    return {
        "aggregate": many,
        "specification": many.spec,
        "topology": many.topology,
        "prediction": rn.predict(many),
        "network": few,
        "lattice": rn.lattice(values=list(range(1, 3000)), weights=[1] * 2999),
        "superposition": rn.superposition([rn.exponential(rate=i) for i in range(1, 500)]),
        "emulation": rn.emulate(rn.graph(few.graph), horizon=200),
        "by source": rn.predict("aggregate", by="source"),
        "sweep": rn.sweep("p2p/fig3", quick=True, workers=0),
        "size": sized,
        "design": rn.design(LAW, 3, 0.5, workers=0),
        "audit": rn.audit(updates, downloads),
        "fit": rn.fit(updates[:300]),
        "change rate": rn.change_rate(updates[:500], downloads[:250]),
        "history": rn.fit(updates[:300]).history,
        "observation": rn.observe(visits()),
        "formula": rn.formulas()["quotient"],
        "experiment": rn.sweep("p2p/fig3", quick=True, workers=0).experiment,
    }


@pytest.fixture(scope="module")
def objects() -> dict[str, object]:
    return large_objects()


def test_no_repr_is_longer_than_a_screen(objects):
    shown = {name: repr(thing) for name, thing in objects.items()}
    assert not [name for name, text in shown.items() if len(text) > MOST_LETTERS or text.count("\n") > MOST_LINES]
    assert len(shown["aggregate"]) < 200
    assert shown["aggregate"].startswith("aggregate(rates='")
    assert shown["network"] == f"cascade(depth=3, branching=2, downloads='{LAW}', updates='{LAW}')"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("emulation", "array, sampled"),
        ("sweep", "p2p/fig3: "),
        ("size", "downloads.rate = "),
        ("design", "all ask the source"),
        ("audit", "renewal"),
        ("fit", "exponential("),
        ("change rate", "maximum likelihood"),
        ("observation", "mirror 29"),
    ],
)
def test_results_print_their_whole_table_and_show_it_in_a_notebook(objects, name, words):
    result = objects[name]
    text = str(result)
    assert words in text
    assert text.count("\n") >= len(result.table)
    assert "<table" in result._repr_html_()


def test_the_text_of_a_law_is_whole_also_inside_another_and_of_a_link():
    steps = [f"lattice(values={[*range(1, 200), last]}, weights={[1] * 200})" for last in (200, 201)]
    for text in (
        f"superposition(laws=[{steps[0]}, {LAW}])",
        f"correlated(law={steps[0]}, rho=0.5)",
        f"age({steps[0]})",
    ):
        law = rn.law(text)
        assert len(repr(law)) <= 200 < len(str(law))
        assert str(rn.law(str(law))) == str(law)
    nodes = {"s": {"updates": LAW}, "a": {"downloads": LAW}, "b": {"downloads": LAW}}
    links = [{"from": "s", "to": to, "delay": delay} for to, delay in zip("ab", steps, strict=True)]
    data = rn.graph(nodes=nodes, links=links).data()
    assert [link["delay"] for link in data["links"]] == [str(rn.law(step)) for step in steps]
