"""What varies: axes of values, given as lists or ranges, and the points of their product.

[1, 3, 9]          these
1:9                every whole number from 1 to 9
1:8:8              8 points from 1 to 8, equally far apart
10:500:30log       30 points from 10 to 500, equal factors apart
{Pareto: pareto(alpha=3, rate=${nu}), constant: constant(rate=${nu})}      labels, and what they stand for
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, final

from replnet.text.arithmetic import LARGEST, Scalar
from replnet.text.errors import FieldsError, shown
from replnet.text.ranges import LIKE_A_RANGE, Place, points_of, require

MOST = 1_000_000  # points of all axes
RIGHT = "a number, a text, a range such as 1:9, a list of these, or a mapping of labels"


@final
@dataclass(frozen=True, slots=True)
class Axis:
    """`values` are what tables show; `meanings` what they stand for, mostly themselves; `places` where they are given,
    below the axis."""

    name: str
    values: tuple[Scalar, ...]
    meanings: tuple[Scalar, ...]
    places: tuple[Place, ...]

    def index(self, value: object) -> int | None:
        """Where a value is on the axis."""
        return next((i for i, one in enumerate(self.values) if same(one, value)), None)


def same(a: object, b: object) -> bool:
    """Equal, or numbers that differ by rounding alone."""
    if any(isinstance(one, bool) or not isinstance(one, int | float) for one in (a, b)):
        return type(a) is type(b) and a == b
    return math.isclose(a, b, rel_tol=1e-9)  # type: ignore[arg-type]


def axis(name: str, given: object) -> Axis:
    """The axis that a value of a file describes, or a FieldsError."""
    if isinstance(given, Mapping):
        require(bool(given), (), "is empty", "one label or more")
        meanings = tuple(scalar(value, (label,)) for label, value in given.items())
        return Axis(name, tuple(given), meanings, tuple((label,) for label in given))
    items: list[tuple[Place, object]] = [((), given)]
    if isinstance(given, list | tuple):
        require(bool(given), (), "is empty", "one value or more")
        items = [((i,), item) for i, item in enumerate(given)]
    values: dict[Scalar, Place] = {}
    for place, item in items:
        ranged = isinstance(item, str) and LIKE_A_RANGE.fullmatch(item.strip())
        for value in points_of(str(item), place) if ranged else [scalar(item, place)]:
            if value in values:
                raise FieldsError([(place, f"{shown(value)} is given twice", "each value once")])
            values[value] = place
    return Axis(name, tuple(values), tuple(values), tuple(values.values()))


def scalar(value: object, place: Place = ()) -> Scalar:
    # NaN is not below anything either.
    if value == "" or not (isinstance(value, str) or (isinstance(value, int | float) and abs(value) <= LARGEST)):
        raise FieldsError([(place, f"{shown(value)} is not a value", RIGHT if not place else "a number or a text")])
    return value


Point = Mapping[str, int]
"""By axis, the index of its value."""


def groups_of(axes: Sequence[Axis], zips: Sequence[Sequence[str]]) -> list[list[Axis]]:
    """Axes that move together, in the order of the first of each."""
    together = {name: tuple(names) for names in zips for name in names}
    groups: dict[Any, list[Axis]] = {}
    for one in axes:
        groups.setdefault(together.get(one.name, one.name), []).append(one)
    return list(groups.values())


def count(axes: Sequence[Axis], zips: Sequence[Sequence[str]]) -> int:
    return math.prod(len(group[0].values) for group in groups_of(axes, zips))


def points(axes: Sequence[Axis], zips: Sequence[Sequence[str]]) -> Iterator[Point]:
    """All combinations, the last axis fastest."""
    groups = groups_of(axes, zips)
    for indices in product(*(range(len(group[0].values)) for group in groups)):
        found = {one.name: i for group, i in zip(groups, indices, strict=True) for one in group}
        yield {one.name: found[one.name] for one in axes}
