"""The text form of laws: `pareto(alpha=3, rate=2)`, the same in YAML, on the command line and in Python.

Its grammar is LAW of text/grammar.py. Text arguments are quoted, or bare if one word. Names ignore case.
"""

from __future__ import annotations

import difflib
import inspect
import re
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

OTHER_NAMES = (
    dict.fromkeys(("poisson", "exp", "expon", "expovariate", "memoryless"), "exponential(rate=2)")
    | dict.fromkeys(("fixed", "deterministic", "det", "periodic", "every", "interval", "cron"), "constant(period=5)")
    | dict(zip(("hourly", "daily", "weekly"), (f"constant(period=1{unit})" for unit in "hdw"), strict=True))
    | dict.fromkeys(("normal", "gauss", "gaussian", "norm"), "gamma(shape=9, mean=5), which has no times below 0")
    | dict.fromkeys(("powerlaw", "power", "zipf"), "pareto(alpha=3, rate=2)")
)
"""Laws for the names that other programs, or people, have for them."""
NAMES_OF_FAMILY = ("law", "family", "name", "type", "kind", "distribution")

Maker = Callable[..., Law]


@family("age(weibull(shape=0.6, rate=2))")
def age(law: object) -> Law:
    """Return the law of the time since the last event with intervals of `law`, as a law of intervals of its own.

    `law` may be a law, its text or its mapping. Raises FieldError if its mean is infinite.
    """
    interval_law = law_of("law", law)
    interval_law.require_finite_mean()
    return interval_law.age


def law(source: object, *, folder: Path | None = None) -> Law:
    """Return the law that `source` describes: text, mapping {family: {argument: value}}, a law or a SciPy distribution.

    A distribution of scipy.stats is frozen, such as scipy.stats.invgauss(0.5). Relative file names count from `folder`,
    else from the working directory. Raises FieldError if the source describes no law.

    >>> rn.law("pareto(alpha=3, rate=2)").mean
    0.5
    >>> rn.law({"uniform": {"low": 0, "high": 1}})
    uniform(low=0, high=1)
    """
    return _law_from(source, folder)


def law_of(field: str, source: object, folder: Path | None = None) -> Law:
    """Return the law that `source` describes: its text, mapping or distribution of SciPy, or the law itself.

    Relative file names count from `folder`, else from the working directory. Raises FieldError, which names `field`
    where the source is wrong as a whole.
    """
    try:
        return law(source, folder=folder)
    except FieldError as error:
        raise FieldError(error.field if error.field != "law" else field, error.wrong, error.right) from None


def describes_law(value: object) -> bool:
    """Whether a value is of a type that describes laws: a text, mapping, law or distribution of SciPy.

    Whether it describes one rightly is not checked.
    """
    return isinstance(value, (str, Mapping, Law)) or is_frozen(value)


def at_rate(shape: Law | str, rate: float) -> Law:
    """Return a law of the same shape with `rate` events per unit of time.

    A shape given as a text is that of a law without its rate, such as pareto(3). Raises FieldError if none of the law's
    parameters is its scale, so that it cannot have another rate.
    """
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
    """Return the law that `source` describes; raise FieldError if it describes none.

    Relative file names count from `folder`, and `depth` is the number of mappings around the source.
    """
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
    """Return the law of a mapping {family: {argument: value}}, {family: [values]} or {family: null}.

    Relative file names count from `folder`, and `depth` is the number of mappings around it. Raises FieldError for any
    other mapping.
    """
    if depth > LAW.deepest:
        raise FieldError("law", "nested too deeply", f"at most {LAW.deepest} levels")
    if len(source) != 1:
        right = _call_meant(source) or "one: {pareto: {alpha: 3, rate: 2}}"
        raise FieldError("law", f"{len(source)} keys in the mapping of a law", right)
    ((family, arguments),) = source.items()

    def resolve(value: object) -> object:
        return _law_from(value, folder, depth + 1) if isinstance(value, Mapping) else value

    if arguments is None or isinstance(arguments, Mapping):
        named = {str(name): resolve(value) for name, value in (arguments or {}).items()}
        return _build_law(str(family), [], named, folder)
    if isinstance(arguments, Sequence) and not isinstance(arguments, (str, bytes)):
        return _build_law(str(family), [resolve(value) for value in arguments], {}, folder)
    _, example = _own_family(str(family).lower()) or (None, "exponential(rate=2)")
    raise FieldError(str(family), f"{arguments!r} names no argument", example)


def _call_meant(source: Mapping[Any, Any]) -> str:
    """Return the text of the law that a mapping such as {family: pareto, alpha: 3} means; "" for other mappings."""
    key = next((key for key in NAMES_OF_FAMILY if isinstance(source.get(key), str)), None)
    if key is None:
        return ""
    arguments = ", ".join(f"{name}={value}" for name, value in source.items() if name != key)
    return f"{source[key]}({arguments})"


def _build_law(family: str, positional: list[Any], named: dict[str, Any], folder: Path | None) -> Law:
    """Return the law of `family` with these arguments, without names (`positional`) and by name (`named`).

    Relative file names count from `folder`. Raises FieldError, with the argument, if the family is unknown or refuses
    one.
    """
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
    """Return the maker of a family of this package, and an example text; None if there is none of this name.

    The modules of families are loaded if need be.
    """
    if name not in FAMILIES and name in dir(laws):
        getattr(laws, name)
    return FAMILIES.get(name) or law_families().get(name)


def law_families() -> Mapping[str, tuple[Maker, str]]:
    """Return every family of this package by its name in small letters: its class or function, and an example text.

    Loads all their modules.
    """
    for name in dir(laws):
        getattr(laws, name)
    return FAMILIES


def _read_arguments(arguments: dict[str, Any], folder: Path | None) -> None:
    """Replace texts and mappings of laws among a law's `arguments`, by name, by the laws; in place.

    A `file` becomes one in `folder`, unless that is None. Raises FieldError if one of the laws is wrong.
    """
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
    """Return all arguments of a family by name, from those without (`positional`) and those with one (`named`).

    `maker` is the family's class or function, called `name`, and `example` a text of it for errors. Raises FieldError
    if the arguments do not fit its signature.
    """
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
    """Return the law class that another package registers as `name`; raise FieldError if there is none.

    It also raises if the class does not load, or is no complete subclass of Law.
    """
    points = metadata.entry_points(group=PLUGINS)
    point_found = next((point for point in points if point.name.lower() == name), None)
    if point_found is None:
        names = sorted([*law_families(), *(point.name.lower() for point in points)])
        similar = difflib.get_close_matches(name, names, 1)
        if name in OTHER_NAMES:
            raise FieldError("law", f"unknown family {name!r}", OTHER_NAMES[name])
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
    """Return the law of a text such as pareto(alpha=3, rate=2), or of a bare family name.

    Relative file names count from `folder`. Raises FieldError if the text is no law.
    """
    try:
        tree = parse(text, LAW)
    except FieldError as error:
        records = "; long records go in trace(file=...)" if len(text) > LAW.longest else ""
        if match := re.fullmatch(r"\s*(\w+)[\s:]+(\w+\s*=[^()]*)", text[: LAW.longest]):
            records = f", as in {match[1]}({match[2].strip()})"
        raise FieldError("law", error.wrong, error.right + records) from None
    value = _value_of(tree, folder)
    # A bare name: making it says which arguments are missing.
    return _build_law(value, [], {}, folder) if isinstance(value, str) else _law_from(value, folder)


def _value_of(node: Term, folder: Path | None) -> Any:
    """Return the value of a part of a law's text: a law, a list or a text; else a number, boolean, None or the word.

    Relative file names in laws count from `folder`.
    """
    if node.kind == "call":
        return _law_from_call(node, folder)
    if node.kind == "list":
        return [_value_of(part, folder) for part in node.parts]
    return node.value if node.kind == "text" else _value_of_word(node.value)


def _law_from_call(call: Term, folder: Path | None) -> Law:
    """Return the law of a call in a text, such as pareto(alpha=3, rate=2).

    Relative file names count from `folder`. Raises FieldError if an argument is given twice or wrong.
    """
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
