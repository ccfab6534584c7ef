"""Types of the fields of specifications and formulas: strict where pydantic would convert.

A boolean or a text is never a number, 1e3 replicas are fine and 2.5 are not. Values with one per source, such as rates,
are given as a list, or as a law whose quantiles they are; `source_tables` makes lists of the columns of a file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationInfo, WithJsonSchema

from replnet.laws import Floats, Law, at_rate, describes_law, law_of
from replnet.network.long_lists import checked_names, is_long_list, numbers_in, plain_list
from replnet.processes import GOLDEN, independent_law, mix, name_words
from replnet.text import (
    LARGEST,
    SMALLEST,
    SPEED,
    WORDS,
    FieldError,
    FieldsError,
    call_of,
    in_unit,
    outline,
    real,
    short_repr,
    squarable,
    with_parameter,
    without_units,
)

MOST_REPLICAS = 10_000_000  # replicas of one network
MOST_SOURCES = 100_000_000  # of an aggregate
MOST_LEVELS = 1_000  # levels; names of nodes grow with them
TREE_DEPTH = "the number of levels below the source, such as 4; that of the list, if branching is one"
ROLES_OF_NODES = ("source", "replica", "client")
EXAMPLE = "a law such as exponential(rate=2)"
SPOKEN = re.compile(
    r"(?P<every>every|each|once an?|once per)?\s*(?P<number>\d+(?:\.\d*)?)?\s*(?P<per>/?)\s*"
    rf"(?:(?P<unit>{'|'.join([*WORDS.values(), *WORDS])})s?)"
)
"""A time or a rate in the place of a law."""
LONGEST_SPOKEN = 60  # characters of a text that may be one
FAMILY = "a law without its rate, such as exponential or pareto(alpha=3)"


class Part(BaseModel):
    """Abstract: a piece of a specification, or the arguments of a formula, unchangeable and without unknown fields.

    `HINTS` say what would be right in the place of fields that it does not have, but that others might expect.
    """

    HINTS: ClassVar[Mapping[str, str]] = {}
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, populate_by_name=True)

    def __repr__(self) -> str:
        fields = ((name, getattr(self, name)) for name in sorted(self.model_fields_set))
        return f"{type(self).__name__}({', '.join(f'{name}={outline(value)}' for name, value in fields)})"

    def __str__(self) -> str:
        return repr(self)


def whole(low: int = 1, high: int = MOST_REPLICAS) -> Callable[[object], int]:
    """Return a function that checks a value and returns it as an int.

    It raises FieldError unless the value is a whole number from `low` to `high`; 1e3 is one, booleans and texts are
    not.
    """
    right = f"a whole number from {low:,} to {high:,}"

    def check(value: Any) -> int:
        # Of the value itself, as the floats of large whole numbers are others.
        check_number(value, lambda _: low <= value <= high, "is out of range", right)
        check_number(value, lambda _: value == int(value), "is not whole", right)
        return int(value)

    return check


def check_number(value: object, holds: Callable[[float], bool], wrong: str, right: str) -> float:
    """Return a number as a float; raise FieldError for other values, and for numbers for which `holds` is false.

    The error says that the number `wrong`, such as "is out of range", and that `right` would be right.
    """
    number = real("", value, right)
    if not holds(number):  # as it is for NaN
        raise FieldError("", f"{short_repr(value)} {wrong}", right)
    return number


def positive(value: object) -> float:
    """Return a value as a finite float above 0; raise FieldError for others.

    Numbers too small or too large for formulas to square them are refused as well.
    """
    number = check_number(value, lambda x: 0 < x < math.inf, "is not a finite number above 0", "a number above 0")
    return squarable("", number)


def interval_law(value: object, info: ValidationInfo) -> Law:
    """Return the law that a value describes, a text, a mapping or a Law, with its times in the unit of the network.

    `info.context` has that unit, the folder of files that laws name, and laws read before. Raise FieldError for
    anything else, and for a law without a finite mean.
    """
    if not describes_law(value) and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise FieldError("", f"{short_repr(value)} is not a law", EXAMPLE)
    if isinstance(value, str) and (right := _law_meant(value)):
        raise FieldError("", f"{short_repr(value)} is not a law", right)
    context: dict[str, Any] = info.context or {}
    unit = _unit(info)
    laws_read: dict[tuple[str, str | None], Law] = context.get("laws", {})
    if isinstance(value, str) and (value, unit) in laws_read:
        return laws_read[value, unit]
    result = law_of("", _plain(value, unit), context.get("folder"))
    try:
        result.require_finite_mean()
    except FieldError as error:
        raise FieldError("", error.wrong, error.right) from None
    result = _counted_in(result, unit) if "unit" in context else result
    if isinstance(value, str):
        laws_read[value, unit] = result
    return result


def _law_meant(text: str) -> str:
    """Return the text of the law that 5min, every hour or 2/s probably means; "" for texts that are no time or rate."""
    match = SPOKEN.fullmatch(" ".join(text[:LONGEST_SPOKEN].lower().split()))
    if match is None or not (match["every"] or match["number"]):
        return ""
    unit = next(short for short, word in WORDS.items() if match["unit"] in (short, word))
    quantity = f"{match['number'] or 1}{match['per']}{unit}"
    return f"exponential(rate={quantity})" if match["per"] else f"constant(period={quantity})"


def _counted_in(law: Law, unit: str | None) -> Law:
    """Return a law with its times in `unit`, that of the network, if it has a unit of its own.

    A record of dates has one; a law without a unit is returned as it is. Raise FieldError if the law has a unit and the
    network none (None).
    """
    if law.unit is None:
        return law
    if unit is None:
        wrong = f"{law} counts {WORDS[law.unit]}s, but the network has no unit for its times"
        raise FieldError("", wrong, f"unit: {law.unit}, or another, for all numbers without one and all results")
    return law.counted_in(unit)


def _plain(value: Any, unit: str | None, name: str = "") -> Any:
    """Return a law as it is, and the text or mapping of one with all times and rates as plain numbers in `unit`.

    Lists are gone through item by item. `unit` is that of the network or None, and `name` the argument of the law that
    `value` is for, if any.
    """
    if isinstance(value, str):
        value = in_unit(value, unit, name)
        return without_units(value, unit) if isinstance(value, str) else value
    if isinstance(value, Mapping):
        return {key: _plain(part, unit, key) for key, part in value.items()}
    return [_plain(part, unit, name) for part in value] if isinstance(value, list) else value


def plain_law(value: object, info: ValidationInfo) -> Law:
    """Return the law of independent intervals that a value describes: a text, a mapping or a Law.

    Raise FieldError for other values and for intervals that depend on one another. `info.context` has the unit of the
    network and the folder of files that laws name.
    """
    return independent_law("", interval_law(value, info))


def time_or_law(value: object, info: ValidationInfo) -> float | Law:
    """Return a delay: a finite time of 0 or more as a float, or the law of one; raise FieldError for other values.

    A text may have a unit, such as 5ms; `info.context` has the unit of the network, in which the result counts.
    """
    value = in_unit(value, _unit(info), "mean")
    if describes_law(value):
        return plain_law(value, info)
    return time(value, "0, a time, or a law such as exponential(mean=0.01)")


def _unit(info: ValidationInfo) -> str | None:
    """Return the unit in which the network that is being validated counts time, or None if it has none."""
    return (info.context or {}).get("unit")


def time(value: object, right: str = "0 or a time") -> float:
    """Return a finite time of 0 or more as a float; raise FieldError for others: `right` is what would be right."""
    return check_number(value, lambda number: 0 <= number < math.inf, "is not a finite time of 0 or more", right)


def quantity(name: str, check: Callable[[object], float]) -> Callable[[object, ValidationInfo], float]:
    """Return a function that checks a number, or the one of a text with a unit such as 5min or 3/h, by `check`.

    The number is in the unit of the network, which the context of validation has; `name` tells whether it is a time
    (mean) or a rate (rate).
    """
    return lambda value, info: check(in_unit(value, _unit(info), name))


def amount(value: object, right: str = "0, or a number above 0") -> float:
    """Return a finite number of 0 or more as a float; raise FieldError for others, with `right` as what would be right.

    Numbers above 0 that are too small or too large for formulas to square them are refused as well.
    """
    number = check_number(value, lambda x: 0 <= x < math.inf, "is not a finite number of 0 or more", right)
    return squarable("", number) if number else 0.0


def numbers(value: object, right: str = "a list of numbers") -> tuple[float, ...]:
    """Return a list, tuple or array of numbers of 0 or more as a tuple of floats.

    Raise FieldError if it is empty or no list (`right` is what would be right), FieldsError with every wrong entry.
    """
    if isinstance(value, FieldsError):  # of the table that it was read from
        raise value
    value = numbers_in(str(value)) if is_long_list(value) else value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, (list, tuple)) or not value:
        raise FieldError("", f"{short_repr(value)} is not a list of numbers", right)
    if {type(number) for number in value} <= {float}:  # at once, as there may be millions
        array = np.array(value)
        if np.all((array == 0) | ((array >= SMALLEST) & (array <= LARGEST))):
            return tuple(value)
    faults = []
    for place, number in enumerate(value):
        try:
            amount(number)
        except FieldError as error:
            faults.append(((place,), error.wrong, error.right))
    if faults:
        raise FieldsError(faults)
    return tuple(map(float, value))


def numbers_or_law(value: object, info: ValidationInfo) -> tuple[float, ...] | Law:
    """Return a list of numbers of 0 or more as a tuple of floats, or the law, described by a text, a mapping or a Law,
    whose quantiles the numbers are; raise FieldError for other values.

    Rates may have units of their own, such as 2/h. `info.context` has the unit of the network and the folder of files
    that laws name.
    """
    if describes_law(value) and not is_long_list(value):
        return plain_law(value, info)
    if info.field_name == "rates" and isinstance(value, list | tuple) and any(isinstance(rate, str) for rate in value):
        value = [_in_unit_at(place, rate, info) for place, rate in enumerate(value)]
    return numbers(value, "a list of numbers, or a law such as gamma(shape=2, mean=1)")


def _in_unit_at(place: int, rate: object, info: ValidationInfo) -> Any:
    """Return the number of a rate such as 2/h in the unit of the network, or a value that has no unit as it is.

    Raise FieldsError, which names its `place` in a list, if the network has no unit or it is no rate.
    """
    try:
        return in_unit(rate, _unit(info), "rate")
    except FieldError as error:
        raise FieldsError([((place,), error.wrong, error.right)]) from None


def shape_of(value: object, info: ValidationInfo) -> Law:
    """Return a law of which only the shape will count: where its text leaves out the rate, it gets rate 1.

    Raise FieldError if the value is no law of independent intervals; `info.context` has the unit of the network.
    """
    call = call_of(value) if isinstance(value, str) else None
    if call is not None and not SPEED & call.named_arguments:
        try:
            return plain_law(with_parameter(call, "rate", "1"), info)
        except FieldError as error:
            if error.field != "rate":
                raise
    return plain_law(value, info)


def _family(value: object) -> str:
    """Return the text of a family of laws, such as pareto(alpha=3), unchanged.

    Raise FieldError if it is no family, or if it gives the rate (or what stands for it), which will be computed.
    """
    if not isinstance(value, str):
        raise FieldError("", f"{short_repr(value)} is not a family", FAMILY)
    call = call_of(value)
    for parameter in sorted(SPEED & call.named_arguments) if call else ():
        raise FieldError(parameter, "is computed, so it cannot be given", FAMILY)
    try:
        at_rate(value, 1.0)
    except FieldError as error:
        raise FieldError("" if error.field == "law" else error.field, error.wrong, error.right) from None
    return value


def between(low: float, high: float, right: str) -> Callable[[object], float]:
    """Return a function that checks a value and returns it as a float.

    It raises FieldError, with `right` as what would be right, unless the value is a number from `low` to `high`.
    """
    return lambda value: check_number(value, lambda number: low <= number <= high, "is out of range", right)


def part_of_one(meaning: str) -> Callable[[object], float]:
    """Return a function that returns a number above 0 and below 1 as a float, and raises FieldError for other values.

    The error says that the value is not `meaning`, such as "a share of messages".
    """

    def check(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
            raise FieldError("", f"{short_repr(value)} is not {meaning}", "a number above 0 and below 1")
        return squarable("", float(value))

    return check


def depth_of_tree(value: object) -> int:
    """Return the number of levels of a tree as an int; raise FieldError for other values, and for None as missing."""
    if value is None:
        raise FieldError("", "missing", TREE_DEPTH)
    return whole(high=MOST_LEVELS)(value)


def count_or_counts(value: object) -> int | tuple[int, ...]:
    """Return a whole number from 1 on as an int, or a list of such numbers, of at most 1,000, as a tuple.

    Raise FieldError for an empty or a longer list and other values, FieldsError with every wrong entry of a list.
    """
    if isinstance(value, str):
        raise FieldError(
            "", f"{short_repr(value)} is not a number", "a whole number, or a list of one per level: [10, 3]"
        )
    if not isinstance(value, list | tuple):
        return whole()(value)
    if not 0 < len(value) <= MOST_LEVELS:
        wrong = f"has {len(value):,} numbers" if value else "is empty"
        raise FieldError("", wrong, f"a number per level, of at most {MOST_LEVELS:,} levels")
    faults, numbers_of_levels = [], []
    for place, number in enumerate(value):
        try:
            numbers_of_levels.append(whole()(number))
        except FieldError as error:
            faults.append(((place,), error.wrong, error.right))
    if faults:
        raise FieldsError(faults)
    return tuple(numbers_of_levels)


def count_or(word: str) -> Callable[[object], str | int]:
    """Return a function that returns the text `word` as it is, and any whole number from 1 on as an int.

    It raises FieldError for all other values.
    """
    return lambda value: word if value == word else whole()(value)


def text(value: object) -> str:
    """Return a name as text; a number, as nodes in a file may have, becomes its text.

    Raise FieldError for a blank text and for values that are neither texts nor numbers.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or not str(value).strip():
        raise FieldError("", f"{short_repr(value)} is not a name", "a text")
    return str(value)


def _as_list(value: object) -> Any:
    """Return a list or a tuple as it is, and any other value in a list of one."""
    return value if isinstance(value, (list, tuple)) else [value]


def _require_members(value: object) -> object:
    """Return a value as it is; raise FieldError if it is an empty list or tuple."""
    if isinstance(value, (list, tuple)) and not value:
        raise FieldError("", "is empty", "one law or more")
    return value


def _laws_text(laws: tuple[Law, ...]) -> str | list[str]:
    """Return the text of a single law, or the list of texts of several."""
    return str(laws[0]) if len(laws) == 1 else [str(law) for law in laws]


def _first_name(nodes: object) -> str:
    """Return the name of the first node in a list of names or of mappings with one; "paris" if there is none."""
    first = nodes[0] if isinstance(nodes, list | tuple) and nodes else None
    if isinstance(first, Mapping):
        first = first.get("name", first.get("id"))
    return first if isinstance(first, str) else "paris"


def _by_name(value: object) -> Any:
    """Return the fields of nodes by name, with names as texts; a name with nothing (None) gets an empty dictionary.

    Raise FieldError if the value is no mapping, and FieldsError where a node has a text in the place of its fields.
    """
    if not isinstance(value, Mapping):
        name = _first_name(value)
        right = f"names of nodes, each with its fields: {name}: {{downloads: exponential(rate=1)}}"
        raise FieldError("", f"{short_repr(value)} is not a mapping", right)
    wrong = [(str(name), fields) for name, fields in value.items() if isinstance(fields, str)]
    if wrong:
        fields_meant = {name: "role" if fields in ROLES_OF_NODES else "downloads" for name, fields in wrong}
        raise FieldsError(
            ((name,), f"{short_repr(fields)} is not a mapping of fields", f"{name}: {{{fields_meant[name]}: {fields}}}")
            for name, fields in wrong
        )
    return {str(name): {} if fields is None else fields for name, fields in value.items()}


LAW_SCHEMA: dict[str, Any] = {
    "type": ["string", "object"],
    "examples": ["exponential(rate=2)", "constant(rate=3)", "pareto(alpha=3, rate=2)"],
}

LawField = Annotated[Law, BeforeValidator(interval_law), PlainSerializer(str), WithJsonSchema(LAW_SCHEMA)]
PlainLawField = Annotated[Law, BeforeValidator(plain_law), PlainSerializer(str), WithJsonSchema(LAW_SCHEMA)]
LAWS_SCHEMA: dict[str, Any] = {"anyOf": [LAW_SCHEMA, {"type": "array", "items": LAW_SCHEMA, "minItems": 1}]}
Laws = Annotated[
    tuple[LawField, ...], BeforeValidator(_as_list), PlainSerializer(_laws_text), WithJsonSchema(LAWS_SCHEMA)
]
PlainLaws = Annotated[
    tuple[PlainLawField, ...], BeforeValidator(_as_list), PlainSerializer(_laws_text), WithJsonSchema(LAWS_SCHEMA)
]
LawList = Annotated[tuple[LawField, ...], BeforeValidator(_require_members), Field(min_length=1)]
Depth = Annotated[int, BeforeValidator(whole(high=MOST_LEVELS)), Field(ge=1, le=MOST_LEVELS)]
Count = Annotated[int, BeforeValidator(whole()), Field(ge=1, le=MOST_REPLICAS)]
TreeDepth = Annotated[
    int, BeforeValidator(depth_of_tree), WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MOST_LEVELS})
]
COUNT_SCHEMA: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": MOST_REPLICAS}
Branching = Annotated[
    Any,
    BeforeValidator(count_or_counts),
    PlainSerializer(lambda branching: list(branching) if isinstance(branching, tuple) else branching),
    WithJsonSchema(
        {"anyOf": [COUNT_SCHEMA, {"type": "array", "items": COUNT_SCHEMA, "minItems": 1, "maxItems": MOST_LEVELS}]}
    ),
]
SourceCount = Annotated[int, BeforeValidator(whole(high=MOST_SOURCES)), Field(ge=1, le=MOST_SOURCES)]
CountOrNone = Annotated[int, BeforeValidator(whole(low=0)), Field(ge=0, le=MOST_REPLICAS)]
AtLeastTwo = Annotated[int, BeforeValidator(whole(low=2)), Field(ge=2, le=MOST_REPLICAS)]
Bandwidth = Annotated[float, BeforeValidator(quantity("rate", positive)), Field(gt=0)]
Amount = Annotated[float, BeforeValidator(quantity("rate", amount)), Field(ge=0)]
Shape = Annotated[Law, BeforeValidator(shape_of), PlainSerializer(str), WithJsonSchema(LAW_SCHEMA)]
Delay = Annotated[
    Any,
    BeforeValidator(time_or_law),
    PlainSerializer(lambda delay: str(delay) if isinstance(delay, Law) else delay),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, LAW_SCHEMA]}),
]
LastOrNumber = Annotated[
    Any,
    BeforeValidator(count_or("last")),
    WithJsonSchema({"anyOf": [{"const": "last"}, {"type": "integer", "minimum": 1}]}),
]
CountOrMany = Annotated[
    Any,
    BeforeValidator(count_or("many")),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1, "maximum": MOST_REPLICAS}, {"const": "many"}]}),
]
Family = Annotated[
    str, BeforeValidator(_family), WithJsonSchema({"type": "string", "examples": ["exponential", "pareto(alpha=3)"]})
]
Target = Annotated[float, BeforeValidator(part_of_one("a freshness to reach")), Field(gt=0, lt=1)]
PerSourceField = Annotated[
    Any,
    BeforeValidator(numbers_or_law),
    PlainSerializer(lambda values: str(values) if isinstance(values, Law) else plain_list(values)),
    WithJsonSchema({"anyOf": [LAW_SCHEMA, {"type": "array", "items": {"type": "number", "minimum": 0}}]}),
]
SourceNames = Annotated[
    Any,
    BeforeValidator(checked_names),
    PlainSerializer(plain_list),
    WithJsonSchema({"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "uniqueItems": True}),
]
Instant = Annotated[float, BeforeValidator(quantity("mean", time)), Field(ge=0)]
AtLeastOne = Annotated[float, BeforeValidator(between(1, LARGEST, "a number from 1 on")), Field(ge=1)]
Share = Annotated[float, BeforeValidator(between(SMALLEST, 1, "a share, above 0 and at most 1")), Field(gt=0, le=1)]
Name = Annotated[str, BeforeValidator(text), Field(min_length=1)]
Named = BeforeValidator(_by_name)


PerSource = Law | Sequence[float] | Floats
"""Values with one per source: a list, or a law whose quantiles they are."""


def values_per_source(values: PerSource, count: int) -> Floats:
    """Return an array of `count` values, one per source, from a list of as many or from a law.

    Source i, counted from 1, gets the quantile (i - 1/2) / count of a law.
    """
    if isinstance(values, Law):
        return np.asarray(values.quantile((np.arange(count) + 0.5) / count), dtype=float)
    return np.array(values, dtype=float)


def source_weights(values: PerSource, count: int) -> Floats:
    """Return an array of the weights of `count` sources, scaled to add up to 1.

    `values` is a list of one per source, or a law whose quantiles are dealt to the sources in a shuffled order that is
    always the same. Raise FieldError if they add up to 0 or infinity.
    """
    weights = values_per_source(values, count)
    if isinstance(values, Law):
        # The order is the same in every run, as it belongs to the network.
        words = mix(name_words(["weights"]) + np.arange(count, dtype=np.uint64) * GOLDEN)
        weights = weights[np.argsort(words, kind="stable")]
    if not 0 < weights.sum() < np.inf:
        raise FieldError("weights", f"add up to {weights.sum():g}", "a law, or a list with a number above 0")
    return np.asarray(weights / weights.sum())


def size_errors(count: int | None, sizes: Mapping[str, int]) -> Iterator[tuple[str, str, str]]:
    """Yield (field, what is wrong, what would be right) for every list whose size does not fit the number of sources.

    `count` is that number, or None if it is left out, so that the first list says it; `sizes` are the sizes of the
    lists by field. If both are missing, that is the error.
    """
    if count is None and not sizes:
        yield "sources", "missing", "how many there are, or lists of rates, weights or updates"
        return
    expected = next(iter(sizes.values())) if count is None else count
    first = next(iter(sizes), "sources") if count is None else "sources"
    for name, size in sizes.items():
        if size != expected:
            yield name, f"has {size:,} entries for {expected:,} of {first}", "one per source"
