"""How laws are written and read, and what is refused."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import numpy as np
import programs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_of_intervals import TEXTS
from ruamel.yaml import YAML

from replnet import laws
from replnet.laws import FieldError, law
from replnet.laws.text import at_rate

SPELLINGS, REFUSED = (
    YAML(typ="safe").load(Path(__file__).with_name(f"{name}.yaml")) for name in ("spellings", "refused")
)

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


@settings(max_examples=200)
@given(any_law)
def test_text_gives_the_same_law_back(one: laws.Law) -> None:
    assert law(str(one)) == one
    assert law(one) == one
    assert law(law(one)) is law(one)
    assert law(str(one.age)) == one.age if np.isfinite(one.mean) else True


@pytest.mark.parametrize("text", SPELLINGS)
def test_laws_write_what_users_write(text: str) -> None:
    one = law(text)
    assert str(one) == text
    assert all(law(source) == one for source in SPELLINGS[text])


def test_lower_case_names_are_the_classes() -> None:
    for name in ("exponential", "constant", "pareto", "uniform", "weibull", "gamma", "lognormal", "hyperexponential"):
        assert getattr(laws, name) is getattr(laws, name.capitalize())


TOO_MUCH = [
    (f"pareto(3, rate={'9' * 5000})", "rate", "not finite"),
    ({"pareto": {"alpha": 3, "rate": 10**400}}, "rate", "not finite"),
    ("(" * 5000, "law", "character 1"),
    ("age(" * 2000, "law", "nested"),
    ("x" * 20_000, "law", "at most 10000"),
]


@pytest.mark.parametrize(("source", "field", "message"), REFUSED + TOO_MUCH)
def test_refused(source: object, field: str, message: str) -> None:
    with pytest.raises(FieldError, match=message) as caught:
        law(source)
    assert caught.value.field == field


def test_a_mapping_inside_itself_is_refused() -> None:
    endless: dict[str, object] = {}
    endless["age"] = {"law": endless}
    with pytest.raises(FieldError, match="nested"):
        law(endless)


@settings(max_examples=300)
@given(st.text("()[],='\"\\ .e1-paretou", max_size=40))
def test_any_text_is_a_law_or_refused(text: str) -> None:
    with contextlib.suppress(FieldError):
        assert isinstance(law(text), laws.Law)


@pytest.mark.parametrize("text", [text for text in TEXTS if not text.startswith("shuffled")])
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
