"""The text form of laws: `pareto(alpha=3, rate=2)`, the same in YAML, on the command line and in Python.

Its grammar is LAW of text/grammar.py. Text arguments are quoted, or bare if one word. Names ignore case.
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

from replnet import laws
from replnet.laws.discrete import Discrete, Lattice
from replnet.laws.examination import CheckedLaw, check_law
from replnet.laws.families import Hyperexponential, Uniform
from replnet.laws.law import FAMILIES, Law, family, fields_of, scale_arguments
from replnet.laws.scipy_law import Scipy, is_frozen
from replnet.text import LAW, FieldError, Term, parse

PLUGINS = "replnet.laws"
NUMBER_HINT = "constant(period={0}) or exponential(rate={0})"

Maker = Callable[..., Law]


@family("age(weibull(shape=0.6, rate=2))")
def age(law: object) -> Law:
    """Return the law of the age of `law`, as a law of intervals of its own."""
    interval_law = law_of("law", law)
    interval_law.require_finite_mean()
    return interval_law.age


def law(source: object, *, folder: Path | None = None) -> Law:
    """Return the law that `source` describes: text, mapping {family: {argument: value}}, a law or a SciPy distribution.

    A distribution of scipy.stats is frozen, such as scipy.stats.invgauss(0.5). Relative file names count from `folder`,
    else from the working directory.

    >>> rn.law("pareto(alpha=3, rate=2)").mean
    0.5
    >>> rn.law({"uniform": {"low": 0, "high": 1}})
    uniform(low=0, high=1)
    """
    return _law_from(source, folder)


def law_of(field: str, source: object, folder: Path | None = None) -> Law:
    """Return the law that `source` describes; where it is wrong as a whole, the error names `field`."""
    try:
        return law(source, folder=folder)
    except FieldError as error:
        raise FieldError(error.field if error.field != "law" else field, error.wrong, error.right) from None


def describes_law(value: object) -> bool:
    """Whether a value is of a type that `law` takes, whatever it says."""
    return isinstance(value, (str, Mapping, Law)) or is_frozen(value)


def at_rate(shape: Law | str, rate: float) -> Law:
    """Return a law of this shape with `rate` events per unit of time; a text is a law without its rate: pareto(3)."""
    if isinstance(shape, str):
        from replnet.text import call_of, with_parameter

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
            return Hyperexponential(shape.weights, [old_rate / stretch for old_rate in shape.rates])
        case CheckedLaw(law=wrapped):
            return CheckedLaw(at_rate(wrapped, rate))
        case Scipy(name=name, loc=loc, scale=scale):
            return Scipy(name, loc=loc * stretch, scale=scale * stretch, **dict(shape.shapes))
        case Discrete():
            return Lattice((shape.values * stretch).tolist(), shape.weights.tolist())
        case _ if "rate" in scale_arguments(shape):
            *shape_fields, _ = fields_of(shape).items()
            maker: Maker = type(shape)
            return maker(**dict(shape_fields), rate=rate)
    raise FieldError("law", f"{shape} cannot be stretched to rate {rate:g}", "a law whose scale is a parameter")


def _law_from(source: object, folder: Path | None, depth: int = 0) -> Law:
    """Return the law that `source` describes; `depth` counts mappings around it."""
    if isinstance(source, Law):
        return check_law("law", source)
    if is_frozen(source):
        return check_law("law", Scipy.of(source))
    if isinstance(source, str):
        return _law_from_text(source, folder)
    if isinstance(source, Mapping):
        return _law_from_mapping(source, folder, depth)
    if isinstance(source, Real) and not isinstance(source, bool):
        raise FieldError("law", f"{source} is a number, not a law", NUMBER_HINT.format(source))
    raise FieldError("law", f"{source!r} is not a law", "text such as exponential(rate=2)")


def _law_from_mapping(source: Mapping[Any, Any], folder: Path | None, depth: int) -> Law:
    """Return the law of a mapping {family: {argument: value}}, {family: [values]} or {family: null}."""
    if depth > LAW.deepest:
        raise FieldError("law", "nested too deeply", f"at most {LAW.deepest} levels")
    if len(source) != 1:
        raise FieldError("law", f"{len(source)} keys in the mapping of a law", "one: {pareto: {alpha: 3, rate: 2}}")
    ((family, arguments),) = source.items()

    def resolve(value: object) -> object:
        return _law_from(value, folder, depth + 1) if isinstance(value, Mapping) else value

    if arguments is None or isinstance(arguments, Mapping):
        named = {str(name): resolve(value) for name, value in (arguments or {}).items()}
        return _build_law(str(family), [], named, folder)
    if isinstance(arguments, Sequence) and not isinstance(arguments, (str, bytes)):
        return _build_law(str(family), [resolve(value) for value in arguments], {}, folder)
    raise FieldError(str(family), f"{arguments!r} names no argument", "{pareto: {alpha: 3, rate: 2}}")


def _build_law(family: str, positional: list[Any], named: dict[str, Any], folder: Path | None) -> Law:
    """Return the law of `family` with these arguments; raise FieldError, with the argument, if it refuses them."""
    name = family.lower()
    maker, example = _own_family(name) or (_load_plugin(name), name + "(...)")
    arguments = _bind_arguments(name, maker, example, positional, named)
    if name in FAMILIES:
        _read_arguments(arguments, folder)
    try:
        return check_law("law", maker(**arguments))
    except FieldError:
        raise
    except Exception as error:  # whatever a stranger's constructor raises
        raise FieldError(name, f"{type(error).__name__}: {error}", "see its package") from error


def _own_family(name: str) -> tuple[Maker, str] | None:
    """Return the maker and an example of a family of this package, loading it if need be; None if there is none."""
    if name not in FAMILIES and name in dir(laws):
        getattr(laws, name)
    return FAMILIES.get(name) or law_families().get(name)


def law_families() -> Mapping[str, tuple[Maker, str]]:
    """Return the maker and an example of every family of this package, by name."""
    for name in dir(laws):
        getattr(laws, name)
    return FAMILIES


def _read_arguments(arguments: dict[str, Any], folder: Path | None) -> None:
    """Replace texts and mappings of laws among the arguments by laws, and files by those in `folder`."""
    single, several, file = (arguments.get(name) for name in ("law", "laws", "file"))
    if isinstance(single, (str, Mapping)):
        arguments["law"] = _law_from(single, folder)
    if isinstance(several, (list, tuple)):
        arguments["laws"] = [
            _law_from(source, folder) if isinstance(source, (str, Mapping)) else source for source in several
        ]
    if isinstance(file, str) and folder is not None:
        arguments["file"] = folder / file


def _bind_arguments(
    name: str, maker: Maker, example: str, positional: list[Any], named: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments by name; raise FieldError where they do not fit the signature of the family."""
    parameters = _parameters(maker)
    allowed = [
        parameter.name
        for parameter in parameters
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    ]
    positional_names = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    listing = f"allowed: {', '.join(allowed)}; for example {example}"
    if len(positional) > len(positional_names):
        raise FieldError(name, f"{positional[len(positional_names)]!r} needs a name", listing)
    arguments = dict(zip(positional_names, positional, strict=False))
    for key, value in named.items():
        if key in arguments:
            raise FieldError(key, "given twice", "once")
        if key not in allowed and not takes_any:
            raise FieldError(key, f"{name} has no such argument", listing)
        arguments[key] = value
    for parameter in parameters:
        if parameter.name in allowed and parameter.name not in arguments and parameter.default is parameter.empty:
            raise FieldError(parameter.name, "missing", example)
    return arguments


@cache
def _parameters(maker: Maker) -> list[inspect.Parameter]:
    """Return the parameters of a family's class or function."""
    return list(inspect.signature(maker).parameters.values())


def _load_plugin(name: str) -> Maker:
    """Return the law class that another package registers as `name`; raise FieldError if there is none or it fails."""
    points = metadata.entry_points(group=PLUGINS)
    point_found = next((point for point in points if point.name.lower() == name), None)
    if point_found is None:
        names = sorted([*law_families(), *(point.name.lower() for point in points)])
        similar = difflib.get_close_matches(name, names, 1)
        hint = f"{similar[0]}?" if similar else "one of"
        raise FieldError("law", f"unknown family {name[:60]!r}", f"{hint} families: {', '.join(names)}")
    try:
        loaded = point_found.load()
    except Exception as error:  # whatever a stranger's module raises
        wrong = f"plug-in {name!r} ({point_found.value}) does not load: {type(error).__name__}: {error}"
        raise FieldError("law", wrong, "mend or uninstall its package") from error
    lacking = "is not a subclass of replnet.laws.Law"
    if isinstance(loaded, type) and issubclass(loaded, Law):
        if not inspect.isabstract(loaded):
            return loaded
        lacking = f"lacks {', '.join(sorted(loaded.__abstractmethods__))}"
    members = ", ".join(sorted(Law.__abstractmethods__))
    raise FieldError("law", f"plug-in {name!r} ({point_found.value}) {lacking}", f"a subclass of Law with {members}")


_WORDS = {"true": True, "false": False, "null": None, "none": None}


def _law_from_text(text: str, folder: Path | None) -> Law:
    """Return the law of a text such as pareto(alpha=3, rate=2), or of a bare family name."""
    try:
        tree = parse(text, LAW)
    except FieldError as error:
        records = "; long records go in trace(file=...)" if len(text) > LAW.longest else ""
        raise FieldError("law", error.wrong, error.right + records) from None
    value = _value_of(tree, folder)
    # A bare name: making it says which arguments are missing.
    return _build_law(value, [], {}, folder) if isinstance(value, str) else _law_from(value, folder)


def _value_of(node: Term, folder: Path | None) -> Any:
    """Return the value of a part of a text: a law, a list, a text, or a word's value."""
    if node.kind == "call":
        return _law_from_call(node, folder)
    if node.kind == "list":
        return [_value_of(part, folder) for part in node.parts]
    return node.value if node.kind == "text" else _value_of_word(node.value)


def _law_from_call(call: Term, folder: Path | None) -> Law:
    """Return the law of a call in a text."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for part in call.parts:
        if part.kind != "named":
            if named:
                raise FieldError(call.value.lower(), "a value without a name after a named one", "named arguments last")
            positional.append(_value_of(part, folder))
        elif part.value in named:
            raise FieldError(part.value, "given twice", "once")
        else:
            named[part.value] = _value_of(part.parts[0], folder)
    return _build_law(call.value, positional, named, folder)


def _value_of_word(word: str) -> Any:
    """Return a word as number, boolean or None if it is one, else the word."""
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word
