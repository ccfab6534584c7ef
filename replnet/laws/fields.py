"""Types of the fields of specifications and formulas: strict where pydantic would convert.

A boolean or a text is never a number, 1e3 replicas are fine and 2.5 are not. What every source has one of is given as
a list, or as a law whose quantiles they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationInfo, WithJsonSchema

from replnet.laws.law import Floats, Law
from replnet.laws.processes.order import independent
from replnet.laws.processes.streams import GOLDEN, mix, name_words
from replnet.laws.text import at_rate, describes_law, law_of
from replnet.text.errors import FieldError, FieldsError, shown
from replnet.text.overrides import SPEED, call_of, with_parameter
from replnet.text.units import in_unit, plain

LARGEST = 10_000_000  # replicas of one network
MOST_SOURCES = 100_000_000  # of an aggregate
DEEPEST = 1_000  # levels; names of nodes grow with them
EXAMPLE = "a law such as exponential(rate=2)"
FAMILY = "a law without its rate, such as exponential or pareto(alpha=3)"


class Part(BaseModel):
    """Abstract: a piece of a specification, or the arguments of a formula."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, populate_by_name=True)


def whole(low: int = 1, high: int = LARGEST) -> Callable[[object], int]:
    """A check for whole numbers from low to high."""
    right = f"a whole number from {low:,} to {high:,}"

    def check(value: object) -> int:
        number = _number(value, right)
        if not low <= number <= high:  # NaN is not either
            raise FieldError("", f"{shown(value)} is out of range", right)
        if number != int(number):
            raise FieldError("", f"{shown(value)} is not whole", right)
        return int(number)

    return check


def positive(value: object) -> float:
    number = _float(value, "a number above 0")
    if not 0 < number < math.inf:
        raise FieldError("", f"{shown(value)} is not a finite number above 0", "a number above 0")
    return number


def _float(value: object, right: str) -> float:
    """Infinite where a whole number has more digits than a float takes."""
    number = _number(value, right)
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _number(value: object, right: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise FieldError("", f"{shown(value)} is not a number", right)
    return value


def interval_law(value: object, info: ValidationInfo) -> Law:
    """A law with a finite mean, from its text, its mapping or ready made."""
    if not describes_law(value):
        raise FieldError("", f"{shown(value)} is not a law", EXAMPLE)
    context: dict[str, Any] = info.context or {}
    known: dict[str, Law] = context.get("laws", {})
    if isinstance(value, str) and value in known:
        return known[value]
    result = law_of("", _plain(value, _unit(info)), context.get("folder"))
    try:
        result.require_finite_mean()
    except ValueError as error:
        raise FieldError("", str(error), "a law whose mean is finite") from None
    if isinstance(value, str):
        known[value] = result
    return result


def _plain(value: Any, unit: str | None, name: str = "") -> Any:
    """A law, its text or its mapping, without units; `name` is that of an argument."""
    if isinstance(value, str):
        value = in_unit(value, unit, name)
        return plain(value, unit) if isinstance(value, str) else value
    if isinstance(value, Mapping):
        return {key: _plain(one, unit, key) for key, one in value.items()}
    return [_plain(one, unit, name) for one in value] if isinstance(value, list) else value


def plain_law(value: object, info: ValidationInfo) -> Law:
    """A law that is drawn from again and again, each time by itself."""
    return independent("", interval_law(value, info))


def time_or_law(value: object, info: ValidationInfo) -> float | Law:
    """A delay: a time of 0 or more, or the law of one."""
    value = in_unit(value, _unit(info), "mean")
    if describes_law(value):
        return plain_law(value, info)
    return time_of(value, info, "0, a time, or a law such as exponential(mean=0.01)")


def _unit(info: ValidationInfo) -> str | None:
    """What the network counts time in."""
    return (info.context or {}).get("unit")


def rate_of(value: object, info: ValidationInfo) -> float:
    return positive(in_unit(value, _unit(info), "rate"))


def rate_or_none(value: object, info: ValidationInfo) -> float:
    return amount(in_unit(value, _unit(info), "rate"))


def time_of(value: object, info: ValidationInfo, right: str = "0 or a time") -> float:
    number = _float(in_unit(value, _unit(info), "mean"), right)
    if not 0 <= number < math.inf:
        raise FieldError("", f"{shown(value)} is not a finite time of 0 or more", right)
    return number


def amount(value: object, right: str = "0, or a number above 0") -> float:
    number = _float(value, right)
    if not 0 <= number < math.inf:
        raise FieldError("", f"{shown(value)} is not a finite number of 0 or more", right)
    return number


def numbers(value: object, right: str = "a list of numbers") -> tuple[float, ...]:
    """A list of numbers of 0 or more."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, (list, tuple)) or not value:
        raise FieldError("", f"{shown(value)} is not a list of numbers", right)
    faults = []
    for place, one in enumerate(value):
        try:
            amount(one)
        except FieldError as error:
            faults.append(((place,), error.wrong, error.right))
    if faults:
        raise FieldsError(faults)
    return tuple(map(float, value))


def numbers_or_law(value: object, info: ValidationInfo) -> tuple[float, ...] | Law:
    """Numbers, or a law that they are the quantiles of."""
    if describes_law(value):
        return plain_law(value, info)
    return numbers(value, "a list of numbers, or a law such as gamma(shape=2, mean=1)")


def shape(value: object, info: ValidationInfo) -> Law:
    """A law whose rate does not count, and may be left out."""
    call = call_of(value) if isinstance(value, str) else None
    if call is not None and not SPEED & call.named:
        try:
            return plain_law(with_parameter(call, "rate", "1"), info)
        except FieldError as error:
            if error.field != "rate":
                raise
    return plain_law(value, info)


def _family(value: object) -> str:
    if not isinstance(value, str):
        raise FieldError("", f"{shown(value)} is not a family", FAMILY)
    call = call_of(value)
    for parameter in sorted(SPEED & call.named) if call else ():
        raise FieldError(parameter, "is what is sought", FAMILY)
    try:
        at_rate(value, 1.0)
    except FieldError as error:
        raise FieldError("" if error.field == "law" else error.field, error.wrong, error.right) from None
    return value


def share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise FieldError("", f"{shown(value)} is not a freshness to reach", "a number above 0 and below 1")
    return float(value)


def last_or_number(value: object) -> str | int:
    return "last" if value == "last" else whole()(value)


def text(value: object) -> str:
    """A name; names of nodes that are numbers in a file are the text of the number."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or not str(value).strip():
        raise FieldError("", f"{shown(value)} is not a name", "a text")
    return str(value)


def _listed(value: object) -> Any:
    return value if isinstance(value, (list, tuple)) else [value]


def _unlisted(laws: tuple[Law, ...]) -> str | list[str]:
    return str(laws[0]) if len(laws) == 1 else [str(one) for one in laws]


def _named(value: object) -> Any:
    """Nodes by name; a name alone, without attributes, is fine."""
    if not isinstance(value, Mapping):
        raise FieldError("", f"{shown(value)} is not a mapping", "names of nodes, each with its fields")
    return {str(name): {} if fields is None else fields for name, fields in value.items()}


LAW_SCHEMA: dict[str, Any] = {
    "type": ["string", "object"],
    "examples": ["exponential(rate=2)", "constant(rate=3)", "pareto(alpha=3, rate=2)"],
}

LawField = Annotated[Law, BeforeValidator(interval_law), PlainSerializer(str), WithJsonSchema(LAW_SCHEMA)]
PlainLawField = Annotated[Law, BeforeValidator(plain_law), PlainSerializer(str), WithJsonSchema(LAW_SCHEMA)]
LAWS_SCHEMA: dict[str, Any] = {"anyOf": [LAW_SCHEMA, {"type": "array", "items": LAW_SCHEMA, "minItems": 1}]}
Laws = Annotated[
    tuple[LawField, ...], BeforeValidator(_listed), PlainSerializer(_unlisted), WithJsonSchema(LAWS_SCHEMA)
]
PlainLaws = Annotated[
    tuple[PlainLawField, ...], BeforeValidator(_listed), PlainSerializer(_unlisted), WithJsonSchema(LAWS_SCHEMA)
]
Depth = Annotated[int, BeforeValidator(whole(high=DEEPEST)), Field(ge=1, le=DEEPEST)]
Count = Annotated[int, BeforeValidator(whole()), Field(ge=1, le=LARGEST)]
SourceCount = Annotated[int, BeforeValidator(whole(high=MOST_SOURCES)), Field(ge=1, le=MOST_SOURCES)]
CountOrNone = Annotated[int, BeforeValidator(whole(low=0)), Field(ge=0, le=LARGEST)]
AtLeastTwo = Annotated[int, BeforeValidator(whole(low=2)), Field(ge=2, le=LARGEST)]
Bandwidth = Annotated[float, BeforeValidator(rate_of), Field(gt=0)]
Amount = Annotated[float, BeforeValidator(rate_or_none), Field(ge=0)]
Shape = Annotated[Law, BeforeValidator(shape), PlainSerializer(str), WithJsonSchema(LAW_SCHEMA)]
Delay = Annotated[
    Any,
    BeforeValidator(time_or_law),
    PlainSerializer(lambda delay: str(delay) if isinstance(delay, Law) else delay),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, LAW_SCHEMA]}),
]
LastOrNumber = Annotated[
    Any,
    BeforeValidator(last_or_number),
    WithJsonSchema({"anyOf": [{"const": "last"}, {"type": "integer", "minimum": 1}]}),
]
Family = Annotated[
    str, BeforeValidator(_family), WithJsonSchema({"type": "string", "examples": ["exponential", "pareto(alpha=3)"]})
]
Target = Annotated[float, BeforeValidator(share), Field(gt=0, lt=1)]
Sourced = Annotated[
    Any,
    BeforeValidator(numbers_or_law),
    PlainSerializer(lambda given: str(given) if isinstance(given, Law) else list(given)),
    WithJsonSchema({"anyOf": [LAW_SCHEMA, {"type": "array", "items": {"type": "number", "minimum": 0}}]}),
]
Instant = Annotated[float, BeforeValidator(time_of), Field(ge=0)]
Name = Annotated[str, BeforeValidator(text), Field(min_length=1)]
Named = BeforeValidator(_named)


Given = Law | Sequence[float] | Floats


def listed(given: Given, count: int) -> Floats:
    """The list, or for i from 1 the quantiles (i - 1/2) / count."""
    if isinstance(given, Law):
        return np.asarray(given.quantile((np.arange(count) + 0.5) / count), dtype=float)
    return np.array(given, dtype=float)


def dealt(given: Given, count: int) -> Floats:
    """What sources count, which adds up to 1; quantiles in an order that is shuffled once for all."""
    weights = listed(given, count)
    if isinstance(given, Law):
        # The same for everybody, as it belongs to the network and not to a run of it.
        words = mix(name_words(["weights"]) + np.arange(count, dtype=np.uint64) * GOLDEN)
        weights = weights[np.argsort(words, kind="stable")]
    if not 0 < weights.sum() < np.inf:
        raise FieldError("weights", f"add up to {weights.sum():g}", "a law, or a list, of which some count")
    return np.asarray(weights / weights.sum())


def misfits(count: int | None, sizes: Mapping[str, int]) -> Iterator[tuple[str, str, str]]:
    """What is wrong with lists of these sizes, by field, for so many sources."""
    if count is None and not sizes:
        yield "sources", "missing", "how many there are, or lists of rates, weights or updates"
        return
    whole = next(iter(sizes.values())) if count is None else count
    first = next(iter(sizes), "sources") if count is None else "sources"
    for name, size in sizes.items():
        if size != whole:
            yield name, f"has {size:,} entries for {whole:,} of {first}", "one per source"
