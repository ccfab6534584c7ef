"""How laws are written and read, and what is refused."""

from __future__ import annotations

import contextlib
import sys
from importlib import metadata

import numpy as np
import programs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replnet import laws
from replnet.laws import FieldError, law
from replnet.laws.text import at_rate

positive = st.floats(1e-60, 1e60) | st.integers(1, 1000)
shape = st.floats(0.1, 50)
numbers = st.lists(positive, min_size=1, max_size=5)
scaled = st.tuples(st.sampled_from(["rate", "mean", "scale"]), positive).map(lambda pair: dict([pair]))
any_law = st.one_of(
    st.builds(laws.Exponential, rate=positive),
    st.builds(laws.Exponential, mean=positive),
    st.builds(laws.Constant, period=positive),
    st.builds(laws.Constant, rate=positive),
    st.builds(lambda a, kw: laws.Pareto(a, **kw), st.floats(1.0001, 50), scaled),
    st.builds(lambda a, s: laws.Pareto(a, scale=s), st.floats(0.01, 1), positive),
    st.builds(lambda a, kw: laws.Weibull(a, **kw), shape, scaled),
    st.builds(lambda a, kw: laws.Gamma(a, **kw), shape, scaled),
    st.builds(lambda a, kw: laws.Lognormal(a, **kw), st.floats(0.01, 5), scaled),
    st.builds(lambda low, more: laws.Uniform(low, low + more), st.floats(0, 10), st.floats(0.1, 10)),
    st.builds(lambda w, r: laws.Hyperexponential(w[: len(r)], r[: len(w)]), numbers, numbers),
    st.builds(lambda w, v: laws.Lattice(v[: len(w)], w[: len(v)]), numbers, numbers),
    st.builds(laws.Empirical, numbers),
    st.builds(lambda a, s: laws.Scipy("weibull_min", c=a, scale=s), st.floats(0.5, 5), st.floats(0.1, 10)),
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(any_law)
def test_text_gives_the_same_law_back(one: laws.Law) -> None:
    assert law(str(one)) == one
    assert law(one) == one
    assert law(law(one)) is law(one)
    assert law(str(one.age)) == one.age if np.isfinite(one.mean) else True


@pytest.mark.parametrize(
    "text",
    [
        "exponential(rate=2)",
        "exponential(mean=3)",
        "constant(rate=3)",
        "pareto(alpha=3, rate=2)",
        "pareto(alpha=0.5, scale=2)",
        "weibull(shape=0.6, rate=2)",
        "gamma(shape=2, rate=2)",
        "lognormal(sigma=1, mean=7)",
        "uniform(low=0, high=1)",
        "hyperexponential(weights=[0.9, 0.1], rates=[2, 0.1])",
        "lattice(values=[1, 2], weights=[3, 1])",
        "lattice(values=[1, 2])",
        "empirical(intervals=[0.5, 1, 3])",
        "scipy(name=invgauss, mu=0.5, loc=1, scale=2)",
        "age(weibull(shape=0.6, rate=2))",
    ],
)
def test_laws_write_what_users_write(text: str) -> None:
    assert str(law(text)) == text


@pytest.mark.parametrize(
    ("source", "same"),
    [
        ("  Pareto( 3 ,rate = 2 ) ", "pareto(alpha=3, rate=2)"),
        ("EXPONENTIAL(rate=1e3)", "exponential(rate=1000)"),
        ("uniform(0, 1)", "uniform(low=0, high=1)"),
        ("constant(period=0.5)", "constant(rate=2)"),
        ("erlang(3, rate=2)", "gamma(shape=3, rate=2)"),
        ("lattice([1, 2,], weights=[3, 1],)", "lattice(values=[1, 2], weights=[3, 1])"),
        ("scipy('invgauss', mu=0.5)", "scipy(name=invgauss, mu=0.5)"),
        ("age(exponential(rate=2))", "exponential(rate=2)"),
        ({"pareto": {"alpha": 3, "rate": 2}}, "pareto(alpha=3, rate=2)"),
        ({"uniform": [0, 1]}, "uniform(low=0, high=1)"),
        ({"lattice": {"values": [1, 2]}}, "lattice(values=[1, 2])"),
        ({"age": {"law": {"weibull": {"shape": 2, "rate": 1}}}}, "age(weibull(shape=2, rate=1))"),
        ({"age": {"law": "weibull(2, rate=1)"}}, "age(weibull(shape=2, rate=1))"),
    ],
)
def test_other_ways_to_write(source: object, same: str) -> None:
    assert law(source) == law(same)


def test_lower_case_names_are_the_classes() -> None:
    for name in ("exponential", "constant", "pareto", "uniform", "weibull", "gamma", "lognormal", "hyperexponential"):
        assert getattr(laws, name) is getattr(laws, name.capitalize())


REFUSED = [
    ("", "law", "exponential"),
    ("2", "law", r"constant\(period=2\) or exponential\(rate=2\)"),
    (2.5, "law", r"constant\(period=2.5\) or exponential\(rate=2.5\)"),
    (True, "law", "not a law"),
    (None, "law", "not a law"),
    ([1], "law", "not a law"),
    ({}, "law", "0 keys"),
    ({"pareto": 3}, "pareto", "names no argument"),
    ("true", "law", "not a law"),
    ("exponential", "rate", "missing"),
    ("pareto", "alpha", "missing"),
    ("exponential(2)", "exponential", "needs a name.*rate, mean"),
    ("exponential(rate=2", "law", "ends too early"),
    ("exponential(rate=2) 3", "law", "character 21"),
    ("exponential(,rate=2)", "law", "expected a value"),
    ("exponential(rate=2,,)", "law", "expected a value"),
    ("exponential(rate='2)", "law", "expected a value"),
    ("paretto(alpha=3)", "law", r"'paretto' \(pareto\?.*weibull"),
    ("__import__(os)", "law", "unknown family"),
    ("pareto(alpha=1, rate=2)", "alpha", "infinite mean"),
    ("pareto(alhpa=3)", "alhpa", "no such argument.*alpha, rate, mean, scale"),
    ("pareto(3, rate=-1)", "rate", "not above 0"),
    ("pareto(3, rate=0)", "rate", "not above 0"),
    ("pareto(3, rate=nan)", "rate", "not finite"),
    ("pareto(3, rate=-inf)", "rate", "not finite"),
    ("pareto(3, rate=1e400)", "rate", "not finite"),
    (f"pareto(3, rate={'9' * 5000})", "rate", "not finite"),
    ({"pareto": {"alpha": 3, "rate": 10**400}}, "rate", "not finite"),
    ("exponential(rate=1e-320)", "rate", "out of range"),
    ("pareto(3, rate=true)", "rate", "not a number"),
    ("pareto(3, rate='2')", "rate", "not a number"),
    ("pareto(3, rate=[2])", "rate", "not a number"),
    ({"exponential": {"rate": "2"}}, "rate", "not a number"),
    ({"exponential": {"rate": True}}, "rate", "not a number"),
    ({"exponential": {"rate": None}}, "rate", "missing"),
    ("pareto(3, rate=2, mean=3)", "mean", "together with rate"),
    ("pareto(3, rate=2, rate=3)", "rate", "given twice"),
    ("pareto(3, alpha=3)", "alpha", "given twice"),
    ("pareto(alpha=3, 2)", "pareto", "without a name"),
    ("uniform(1, 0.5)", "high", "not above low"),
    ("uniform(-1, 1)", "low", "negative"),
    ("weibull(1e-5, rate=1)", "shape", "spreads"),
    ("lognormal(100, mean=1)", "sigma", "spreads"),
    ("erlang(2.5, rate=1)", "stages", "whole number"),
    ("erlang(true, rate=1)", "stages", "whole number"),
    ("erlang(0, rate=1)", "stages", "whole number"),
    ("hyperexponential([1], [1, 2])", "rates", "2 rates for 1 weights"),
    ("lattice(3)", "values", "not a list"),
    ("lattice([])", "values", "empty"),
    ("lattice([1, 0])", r"values[2]", "not above 0"),
    ("lattice([1, 2], [1])", "weights", "1 weights for 2 values"),
    ("empirical([0, 0])", "intervals", "no interval"),
    ("empirical([1, -2])", "intervals[2]", "-2"),
    ("empirical([[1], [2, 3]])", "intervals", "plain list"),
    ("empirical(x)", "intervals", "not a list"),
    ("scipy(norm)", "loc", "below 0"),
    ("scipy(uniform, loc=-0.5)", "loc", "below 0"),
    ("scipy(invgaus)", "name", "invgauss"),
    ("scipy(poisson, mu=2)", "name", "discrete"),
    ("scipy(invgauss)", "mu", "missing"),
    ("scipy(invgauss, mu=-1)", "mu", "not defined"),
    ("scipy(invgauss, mu=0.5, nu=1)", "nu", "no such parameter.*mu, loc, scale"),
    ("scipy(pareto, b=0.5)", "name", "no finite mean"),
    ("scipy(geninvgauss, p=2.3, b=1.5)", "name", "rounds the far tail"),
    ("age(pareto(alpha=1, scale=2))", "law", "infinite mean"),
    ("age(3)", "law", "not a law"),
    ("(" * 5000, "law", "character 1"),
    ("age(" * 2000, "law", "nested"),
    ("[" * 9999, "law", "nested"),
    ("x" * 20_000, "law", "at most 10000"),
]


@pytest.mark.parametrize(("source", "field", "message"), REFUSED, ids=[str(each[0])[:40] for each in REFUSED])
def test_refused(source: object, field: str, message: str) -> None:
    with pytest.raises(FieldError, match=message) as caught:
        law(source)
    assert caught.value.field == field


def test_a_mapping_inside_itself_is_refused() -> None:
    endless: dict[str, object] = {}
    endless["age"] = {"law": endless}
    with pytest.raises(FieldError, match="nested"):
        law(endless)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text("()[],='\"\\ .e1-paretou", max_size=40))
def test_any_text_is_a_law_or_refused(text: str) -> None:
    with contextlib.suppress(FieldError):
        assert isinstance(law(text), laws.Law)


class Unfinished(laws.Law):
    """A plug-in that forgot its methods."""


class FakeEntry:
    def __init__(self, name: str, loaded: object) -> None:
        self.name, self.value, self._loaded = name, f"stranger:{name}", loaded

    def load(self) -> object:
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [
        FakeEntry("steady", laws.Exponential),
        FakeEntry("broken", ImportError("no module named stranger")),
        FakeEntry("function", print),
        FakeEntry("abstract", Unfinished),
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: entries if group == "replnet.laws" else [])


@pytest.mark.usefixtures("plugins")
def test_plugin_families() -> None:
    assert law("Steady(rate=2)") == laws.exponential(rate=2)
    for text, message in (
        ("broken()", "'broken' .stranger:broken. does not load: ImportError: no module"),
        ("function()", "is not a subclass"),
        ("abstract()", "lacks age, excess, mean, second_moment, tail"),
        ("steady(speed=2)", "steady has no such argument"),
        ("stedy(rate=2)", "steady?"),
    ):
        with pytest.raises(FieldError, match=message):
            law(text)


@pytest.mark.parametrize(
    "text",
    [
        "exponential(rate=1)",
        "constant(period=3)",
        "pareto(alpha=3, scale=2)",
        "weibull(shape=0.6, mean=2)",
        "gamma(shape=2, rate=1)",
        "lognormal(sigma=1, mean=7)",
        "uniform(low=0.5, high=1)",
        "hyperexponential(weights=[0.9, 0.1], rates=[2, 0.1])",
        "lattice(values=[1, 2], weights=[3, 1])",
        "empirical(intervals=[1, 2, 2, 5])",
        "scipy(name=invgauss, mu=0.5, loc=0.1)",
    ],
)
def test_a_law_at_another_rate_is_stretched(text: str) -> None:
    one = law(text)
    other, stretch = at_rate(one, 2.5), one.rate / 2.5
    assert other.rate == pytest.approx(2.5, rel=1e-12)
    x = one.solve(np.array([0.01, 0.5, 3.0])) * 0.999
    np.testing.assert_allclose(other.tail(x * stretch), one.tail(x), rtol=1e-10)
    assert at_rate(one, one.rate) is one


def test_a_family_and_a_rate_make_a_law() -> None:
    assert at_rate("pareto(alpha=3)", 2.5) == law("pareto(alpha=3, rate=2.5)")
    assert at_rate("constant", 0.1) == law("constant(rate=0.1)")
    for text in ("uniform(low=0, high=1)", "paretto(3)", "2"):
        with pytest.raises(FieldError):
            at_rate(text, 2.0)
    for fixed in ("alternating(values=[1, 3])", "age(weibull(shape=2, rate=1))"):
        with pytest.raises(FieldError, match=r"cannot be stretched to rate 2 \(a law whose scale is a parameter\)"):
            at_rate(law(fixed), 2.0)


def test_reading_laws_starts_quickly() -> None:
    """Parsing and plain families pay neither for scipy nor for what engines need."""
    code = (
        "import sys; from replnet.laws import law; law('pareto(3, rate=2)').age; law('weibull(0.6, rate=2)')\n"
        "print([name for name in ('scipy', 'numba', 'ray', 'networkx', 'pandas', 'matplotlib') if name in sys.modules])"
    )
    done = programs.run([sys.executable, "-c", code], check=True)
    assert done.stdout.strip() == "[]"
