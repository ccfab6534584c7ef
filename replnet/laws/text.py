"""The text form of laws: `pareto(alpha=3, rate=2)`, the same in YAML, on the command line and in Python.

By the LAW of `grammar`. A text is quoted, or bare where it is one word. Names ignore case.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import metadata
from numbers import Real
from pathlib import Path
from typing import Any

from replnet.laws.discrete import Discrete, Lattice
from replnet.laws.families import Hyperexponential, Uniform
from replnet.laws.guarded import Guarded, admit
from replnet.laws.law import FAMILIES, Law, choices_of, family, fields_of
from replnet.laws.scipy_law import Scipy, is_frozen
from replnet.text.errors import FieldError
from replnet.text.grammar import LAW, Term, parse
from replnet.text.overrides import call_of, with_parameter

PLUGINS = "replnet.laws"
NUMBER_HINT = "constant(period={0}) or exponential(rate={0})"

Maker = Callable[..., Law]


@family("age(weibull(shape=0.6, rate=2))")
def age(law: object) -> Law:
    """The age of `law`, for processes that are given by it."""
    found = law_of("law", law)
    found.require_finite_mean()
    return found.age


def law(source: object, *, folder: Path | None = None) -> Law:
    """The law that `source` describes: its text, a mapping {family: {argument: value}}, a law itself, or a frozen
    distribution of scipy.stats.

    Relative file names count from `folder`, else from the working directory.

    >>> rn.law("pareto(alpha=3, rate=2)").mean
    0.5
    >>> rn.law({"uniform": {"low": 0, "high": 1}})
    uniform(low=0, high=1)
    """
    return _law(source, folder)


def law_of(field: str, source: object, folder: Path | None = None) -> Law:
    """The law that a field or an argument is given as; that whole law being wrong, the error names the field."""
    try:
        return law(source, folder=folder)
    except FieldError as error:
        raise FieldError(error.field if error.field != "law" else field, error.wrong, error.right) from None


def describes_law(value: object) -> bool:
    """Is it of a kind that `law` takes, whatever it says?"""
    return isinstance(value, (str, Mapping, Law)) or is_frozen(value)


def at_rate(shape: Law | str, rate: float) -> Law:
    """A law of this shape with so many events per unit of time; a text is a law without its rate, such as pareto(3)."""
    if isinstance(shape, str):
        call = call_of(shape)
        # What is no call is no family either, and `law` says why.
        return law(shape if call is None else with_parameter(call, "rate", repr(float(rate))))
    stretch = shape.rate / rate
    match shape:
        case _ if stretch == 1:
            return shape
        case Uniform(low=low, high=high):
            return Uniform(low * stretch, high * stretch)
        case Hyperexponential():
            return Hyperexponential(shape.weights, [one / stretch for one in shape.rates])
        case Guarded(law=guarded):
            return Guarded(at_rate(guarded, rate))
        case Scipy(name=name, loc=loc, scale=scale):
            return Scipy(name, loc=loc * stretch, scale=scale * stretch, **dict(shape.shapes))
        case Discrete():
            return Lattice((shape.values * stretch).tolist(), shape.weights.tolist())
        case _ if "rate" in choices_of(shape):
            *kept, _ = fields_of(shape).items()
            maker: Maker = type(shape)
            return maker(**dict(kept), rate=rate)
    raise FieldError("law", f"{shape} cannot be stretched to rate {rate:g}", "a law whose scale is a parameter")


def _law(source: object, folder: Path | None, depth: int = 0) -> Law:
    if isinstance(source, Law):
        return admit("law", source)
    if is_frozen(source):
        return admit("law", Scipy.of(source))
    if isinstance(source, str):
        return _from_text(source, folder)
    if isinstance(source, Mapping):
        return _from_mapping(source, folder, depth)
    if isinstance(source, Real) and not isinstance(source, bool):
        raise FieldError("law", f"{source} is a number, not a law", NUMBER_HINT.format(source))
    raise FieldError("law", f"{source!r} is not a law", "text such as exponential(rate=2)")


def _from_mapping(source: Mapping[Any, Any], folder: Path | None, depth: int) -> Law:
    """A law from {family: {argument: value}}, {family: [values]} or {family: null}."""
    if depth > LAW.deepest:
        raise FieldError("law", "nested too deeply", f"at most {LAW.deepest} levels")
    if len(source) != 1:
        raise FieldError("law", f"{len(source)} keys in the mapping of a law", "one: {pareto: {alpha: 3, rate: 2}}")
    ((family, arguments),) = source.items()

    def nested(value: object) -> object:
        return _law(value, folder, depth + 1) if isinstance(value, Mapping) else value

    if arguments is None or isinstance(arguments, Mapping):
        named = {str(name): nested(value) for name, value in (arguments or {}).items()}
        return _make(str(family), [], named, folder)
    if isinstance(arguments, Sequence) and not isinstance(arguments, (str, bytes)):
        return _make(str(family), [nested(value) for value in arguments], {}, folder)
    raise FieldError(str(family), f"{arguments!r} names no argument", "{pareto: {alpha: 3, rate: 2}}")


def _make(family: str, positional: list[Any], named: dict[str, Any], folder: Path | None) -> Law:
    """The law of `family` with these arguments, or a refusal that names the argument."""
    name = family.lower()
    maker, example = FAMILIES[name] if name in FAMILIES else (_plugin(name), name + "(...)")
    arguments = _arguments(name, maker, example, positional, named)
    if name in FAMILIES:
        _read_laws(arguments, folder)
    try:
        return admit("law", maker(**arguments))
    except FieldError:
        raise
    except Exception as error:  # whatever a stranger's constructor raises
        raise FieldError(name, f"{type(error).__name__}: {error}", "see its package") from error


def _read_laws(arguments: dict[str, Any], folder: Path | None) -> None:
    """Laws among the arguments of a family may be texts or mappings too, and files count from the folder."""
    inner, several, file = (arguments.get(name) for name in ("law", "laws", "file"))
    if isinstance(inner, (str, Mapping)):
        arguments["law"] = _law(inner, folder)
    if isinstance(several, (list, tuple)):
        arguments["laws"] = [_law(one, folder) if isinstance(one, (str, Mapping)) else one for one in several]
    if isinstance(file, str) and folder is not None:
        arguments["file"] = folder / file


def _arguments(name: str, maker: Maker, example: str, positional: list[Any], named: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, as far as the family's signature tells whether they are right."""
    parameters = _parameters(maker)
    allowed = [one.name for one in parameters if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    orderly = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    anything = any(one.kind is one.VAR_KEYWORD for one in parameters)
    listing = f"allowed: {', '.join(allowed)}; for example {example}"
    if len(positional) > len(orderly):
        raise FieldError(name, f"{positional[len(orderly)]!r} needs a name", listing)
    arguments = dict(zip(orderly, positional, strict=False))
    for key, value in named.items():
        if key in arguments:
            raise FieldError(key, "given twice", "once")
        if key not in allowed and not anything:
            raise FieldError(key, f"{name} has no such argument", listing)
        arguments[key] = value
    for one in parameters:
        if one.name in allowed and one.name not in arguments and one.default is one.empty:
            raise FieldError(one.name, "missing", example)
    return arguments


@cache
def _parameters(maker: Maker) -> list[inspect.Parameter]:
    return list(inspect.signature(maker).parameters.values())


def _plugin(name: str) -> Maker:
    """The law class that another package registers under `name`."""
    points = metadata.entry_points(group=PLUGINS)
    found = next((point for point in points if point.name.lower() == name), None)
    if found is None:
        known = sorted([*FAMILIES, *(point.name.lower() for point in points)])
        near = difflib.get_close_matches(name, known, 1)
        hint = f"{near[0]}?" if near else "one of"
        raise FieldError("law", f"unknown family {name[:60]!r}", f"{hint} families: {', '.join(known)}")
    try:
        loaded = found.load()
    except Exception as error:  # whatever a stranger's module raises
        wrong = f"plug-in {name!r} ({found.value}) does not load: {type(error).__name__}: {error}"
        raise FieldError("law", wrong, "mend or uninstall its package") from error
    lacking = "is not a subclass of replnet.laws.Law"
    if isinstance(loaded, type) and issubclass(loaded, Law):
        if not inspect.isabstract(loaded):
            return loaded
        lacking = f"lacks {', '.join(sorted(loaded.__abstractmethods__))}"
    members = ", ".join(sorted(Law.__abstractmethods__))
    raise FieldError("law", f"plug-in {name!r} ({found.value}) {lacking}", f"a subclass of Law with {members}")


_WORDS = {"true": True, "false": False, "null": None, "none": None}


def _from_text(text: str, folder: Path | None) -> Law:
    try:
        tree = parse(text, LAW)
    except FieldError as error:
        records = "; long records go in trace(file=...)" if len(text) > LAW.longest else ""
        raise FieldError("law", error.wrong, error.right + records) from None
    value = _value(tree, folder)
    # A bare name: making it says which arguments are missing.
    return _make(value, [], {}, folder) if isinstance(value, str) else _law(value, folder)


def _value(node: Term, folder: Path | None) -> Any:
    if node.kind == "call":
        return _call(node, folder)
    if node.kind == "list":
        return [_value(part, folder) for part in node.parts]
    return node.value if node.kind == "text" else _word(node.value)


def _call(call: Term, folder: Path | None) -> Law:
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for part in call.parts:
        if part.kind != "named":
            if named:
                raise FieldError(call.value.lower(), "a value without a name after a named one", "named arguments last")
            positional.append(_value(part, folder))
        elif part.value in named:
            raise FieldError(part.value, "given twice", "once")
        else:
            named[part.value] = _value(part.parts[0], folder)
    return _make(call.value, positional, named, folder)


def _word(word: str) -> Any:
    """A word as a number where it is one."""
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word
