"""Laws that others wrote: what breaks a promise of `Law` is named, by every way in, and never run."""

from __future__ import annotations

import math
import pickle
import sys

import numpy as np
import pytest
from laws_of_intervals import TEXTS
from strange_laws import Bare, Sound

import replnet as rn
from replnet import laws
from replnet.cli.main import BAD_INPUT, main
from replnet.laws import FieldError
from replnet.laws.examination import CheckedLaw, check_law, examine

RIGHT = "exponential(rate=1)"


def test_a_sound_law_of_strangers_is_admitted_and_gives_its_own_numbers():
    """Seeds are promises: nothing but the law's own answers comes out."""
    net = rn.single(updates=Sound(), downloads=RIGHT)
    assert pickle.loads(pickle.dumps(net.spec.updates)) == net.spec.updates == Sound()
    ours = rn.emulate(rn.single(updates=laws.exponential(mean=1), downloads=RIGHT), horizon=1000).rows[0]
    theirs = rn.emulate(net, horizon=1000).rows[0]
    assert theirs.measured == pytest.approx(ours.measured, rel=1e-9)
    assert theirs.predicted == pytest.approx(ours.predicted, rel=1e-9)


class InSeconds(Sound):
    """The law of intervals that are counted in seconds, and then in whatever unit they are wanted in."""

    unit = "s"

    def counted_in(self, unit):
        assert unit == "min"
        return laws.exponential(mean=self.mean / 60)


def test_a_law_of_strangers_is_counted_in_the_unit_of_the_network():
    net = rn.single(updates=InSeconds(), downloads="exponential(mean=1)", unit="min")
    assert rn.predict(net).rows[0].predicted == pytest.approx(1 / 61)
    with pytest.raises(rn.InputError, match="unit"):
        rn.single(updates=InSeconds(), downloads="exponential(mean=1)")


def wrong_at(member, beyond, gives):
    """A law that is sound but that `member` gives something else where its argument exceeds `beyond`."""

    def given(self, x, *more):
        right = getattr(super(kind, self), member)(x, *more)
        return np.where(np.asarray(x) > beyond, gives, right)

    kind = type("Broken", (Sound,), {member: given})
    return kind


def raising(error):
    def raises(self, *arguments):
        raise error

    return raises


def broken(**members):
    return type("Broken", (Sound,), members)


BROKEN = {
    "negative draws": (broken(draw=lambda self, e: -np.asarray(e)), "draw at .* is -.*finite interval above 0"),
    "zero draws": (broken(draw=lambda self, e: 0.0 * np.asarray(e)), "draw at .* is 0 .*finite interval above 0"),
    "NaN draws": (broken(draw=lambda self, e: np.nan * np.asarray(e)), "draw at .* is nan"),
    "long draws that are infinite": (wrong_at("draw", 6.0, math.inf), "draw at 6.* is inf"),
    "draws of another law": (broken(draw=lambda self, e: 2 * np.asarray(e)), "draw at .* where the tail is"),
    "one draw for many": (broken(draw=lambda self, e: 1.0), r"draw of an array of shape \(2040,\) has the shape \(\)"),
    "complex draws": (broken(draw=lambda self, e: np.asarray(e) + 0j), "draw at .* is .*j.*real number"),
    "negative mean": (broken(mean=-1.0), r"mean is -1.0 \(a number above 0\)"),
    "truth as mean": (broken(mean=True), r"mean is True \(a number above 0\)"),
    "complex mean": (broken(mean=1 + 0j), r"mean is \(1\+0j\)"),
    "another mean": (broken(mean=1.2), r"mean is 1.2, but excess at 0 is 1"),
    "mean beyond floats": (broken(mean=1e200), "mean is 1e.200"),
    "another second moment": (broken(second_moment=3.0), "second_moment is 3"),
    "NaN tail far out": (wrong_at("tail", 1e9, math.nan), "tail at .* is nan .*from 0 to 1"),
    "tail above 1": (broken(tail=lambda self, x: 2 * np.exp(-np.asarray(x))), "tail at 0 is 2"),
    "tail that starts low": (broken(tail=lambda self, x: 0.9 * np.exp(-np.asarray(x))), "tail at 0 is 0.9"),
    "tail that rises": (wrong_at("tail", 3.0, 0.5), "tail rises from .* to 0.5"),
    "tail that stays": (wrong_at("tail", 3.0, math.exp(-3)), "tail at .* more than mean / x"),
    "tail for numbers only": (broken(tail=lambda self, x: math.exp(-x)), "tail at .* raises TypeError"),
    "another excess": (broken(excess=lambda self, x: np.exp(-2 * np.asarray(x))), "excess changes by"),
    "another integrated tail": (wrong_at("integrated_tail", 2.0, 1.0), "integrated_tail changes by"),
    "another quantile": (broken(quantile=lambda self, p: -2 * np.log1p(-np.asarray(p))), "quantile at"),
    "another cdf": (broken(cdf=lambda self, x: -np.expm1(-np.asarray(x) / 2)), "cdf at"),
    "no inverse": (Bare, "neither isf nor solve"),
    "covering below the age": (broken(covering=lambda self, age, e: 0 * age + e), "covering at .* and .* is"),
    "covering of another law": (broken(covering=lambda self, age, e: age + 3 * e), "covering at .* where the tail is"),
    "age of nothing": (broken(age=None), "age is None"),
    "another age": (broken(age=property(lambda self: laws.constant(mean=1))), "tail of its age at"),
    "age that draws wrongly": (
        broken(age=property(lambda self: broken(draw=lambda self, e: 2 * np.asarray(e))())),
        "draw at .* where the tail is",
    ),
    "wrong span": (broken(span=0.5), "span is 0.5"),
    "wrong breaks": (broken(breaks=[math.nan]), "breaks is"),
    "raises": (broken(tail=raising(ZeroDivisionError("by hand"))), "tail at .* raises ZeroDivisionError: by hand"),
    "raises in its mean": (broken(mean=property(raising(KeyError("rate")))), "mean raises KeyError: 'rate'"),
    "unhashable": (broken(__hash__=None), "cannot be hashed"),
    "calls itself": (broken(tail=lambda self, x: self.tail(x)), "tail at .* raises RecursionError"),
}
# What the error says of it begins with the name of the law, which these write as dataclasses do.
NAMED = r"(Broken|Bare)\(\) "


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_law_is_named_at_every_door(case):
    kind, message = BROKEN[case]
    doors = (
        lambda: laws.law(kind()),
        lambda: rn.single(updates=kind(), downloads=RIGHT),
        lambda: rn.single(updates=RIGHT, downloads=kind()),
        lambda: rn.cooperative(replicas=3, peers=1, updates=RIGHT, downloads=RIGHT, polls=kind()),
        lambda: rn.single(updates=RIGHT, downloads=RIGHT, delay=kind()),
        lambda: laws.correlated(kind(), rho=0.5),
        lambda: laws.superposition(law=kind(), count=2),
        lambda: laws.shuffled(kind()),
        lambda: laws.law({"age": [kind()]}),
    )
    for door in doors:
        with pytest.raises(ValueError, match=NAMED) as caught:
            door()
        assert caught.match(f"(?s){message}")


@pytest.mark.parametrize("text", TEXTS)
def test_our_own_laws_would_pass(text):
    examine(CheckedLaw(laws.law(text)))


@pytest.mark.parametrize("by", [1.0005, 0.9995])
def test_small_mistakes_are_seen(by):
    """Draws that are half a thousandth too long are 0.00018 away from their law."""
    with pytest.raises(FieldError, match=r"draw at .* where the tail is"):
        check_law("law", broken(draw=lambda self, e: by * np.asarray(e))())
    with pytest.raises(FieldError, match="integrated_tail changes by"):
        check_law("law", broken(mean=by, excess=lambda self, x: by * np.exp(-np.asarray(x)))())


@pytest.fixture
def installed(tmp_path, monkeypatch) -> None:
    """A package with broken laws, newly installed."""
    info = tmp_path / "strange-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1.0\n")
    names = {name.lower(): f"strange_laws:{name}" for name in ("Odd", "Proud", "Half", "nothing")}
    names |= {"steady": "replnet.laws:Exponential", "absent": "nosuchpackage:Odd"}
    points = "".join(f"{name} = {value}\n" for name, value in names.items())
    (info / "entry_points.txt").write_text(f"[replnet.laws]\n{points}")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    ("command", "law", "message"),
    [
        (["predict"], "odd()", "-s updates=odd(): updates: odd(gives=-1.0) is no law of intervals: draw at"),
        (["run", "--engine", "array"], "odd(gives=0)", " is 0 (a finite interval above 0)"),
        (["run", "--engine", "step"], "odd(gives=nan)", "draw at 1.2e-16 is nan (a finite interval above 0)"),
        (["predict"], "proud(gives=1)", "LookupError: no table (see its package)"),
    ],
)
@pytest.mark.usefixtures("installed")
def test_a_broken_plug_in_ends_a_command_with_its_name(monkeypatch, capfd, command, law, message):
    monkeypatch.setattr(sys, "argv", ["replnet", *command, "single", "-s", f"updates={law}"])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capfd.readouterr()
    assert (end.value.code, out) == (BAD_INPUT, "")
    assert message in err
    assert "Traceback" not in err


@pytest.mark.usefixtures("installed")
def test_families_of_plug_ins():
    assert laws.law("Steady(rate=2)") == laws.exponential(rate=2)
    for text, message in (
        ("absent()", "'absent' .nosuchpackage:Odd. does not load: ModuleNotFoundError: No module"),
        ("nothing()", "is not a subclass"),
        (
            "half()",
            r"'half' \(strange_laws:Half\) lacks age, excess, second_moment, tail \(a subclass of Law with age,",
        ),
        ("steady(speed=2)", "steady has no such argument"),
        ("stedy(rate=2)", "steady?"),
    ):
        with pytest.raises(FieldError, match=message):
            laws.law(text)


@pytest.mark.parametrize("engine", ["array", "step"])
@pytest.mark.parametrize("role", ["updates", "downloads", "polls", "delay"])
@pytest.mark.parametrize("gives", [math.nan, 0.0])
def test_a_law_that_turns_while_it_runs_is_named(engine, role, gives, monkeypatch):
    if engine == "array" and role == "delay":
        pytest.skip("array takes no delays of a law")
    kind = broken()
    fields = dict.fromkeys(("updates", "downloads", "polls"), RIGHT) | {role: kind()}
    net = rn.cooperative(replicas=3, peers=1, **fields)
    monkeypatch.setattr(kind, "draw", lambda self, e: np.full(np.shape(e), gives))
    with pytest.raises(FieldError, match=r"Broken.*draw at .* is .*finite interval above 0"):
        rn.emulate(net, engine, horizon=100)


def test_the_error_of_a_law_crosses_processes():
    error = FieldError("law", "it is broken", "one that is not")
    again = pickle.loads(pickle.dumps(error))
    assert (again.field, again.wrong, again.right, str(again)) == ("law", "it is broken", "one that is not", str(error))
