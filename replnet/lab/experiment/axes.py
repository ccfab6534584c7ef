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

from replnet.text import LARGEST_VALUE, LIKE_A_RANGE, FieldsError, Place, Scalar, points_of, require, short_repr

MOST_POINTS = 1_000_000  # points of all axes
RIGHT_AXIS = "a number, a text, a range such as 1:9, a list of these, or a mapping of labels"


@final
@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of an experiment: its name, and in tuples of equal length its `values` as tables show them, the
    `meanings` that cells get in their place (the same unless the axis has labels), and the `places` of each in the
    file, as paths below the axis.
    """

    name: str
    values: tuple[Scalar, ...]
    meanings: tuple[Scalar, ...]
    places: tuple[Place, ...]

    def index(self, value: object) -> int | None:
        """Return the place of a value (not of its meaning) on the axis, counted from 0; None if it is not there."""
        return next((i for i, other in enumerate(self.values) if same_value(other, value)), None)


def same_value(a: object, b: object) -> bool:
    """Whether two values of axes are equal: numbers up to a relative 1e-9, as from rounding, and others in type too."""
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in (a, b)):
        return type(a) is type(b) and a == b
    return math.isclose(a, b, rel_tol=1e-9)  # type: ignore[arg-type]


def axis(name: str, description: object) -> Axis:
    """Return the axis `name` that an entry of `vary` describes.

    The entry is a value, a range, a list of these, or a mapping of labels. Raises FieldsError, with places below the
    axis, if it is none of these, is empty, or has a value twice.
    """
    if isinstance(description, Mapping):
        require(bool(description), (), "is empty", "one label or more")
        meanings = tuple(scalar(value, (label,)) for label, value in description.items())
        return Axis(name, tuple(description), meanings, tuple((label,) for label in description))
    items: list[tuple[Place, object]] = [((), description)]
    if isinstance(description, list | tuple):
        require(bool(description), (), "is empty", "one value or more")
        items = [((i,), item) for i, item in enumerate(description)]
    values: dict[Scalar, Place] = {}
    for place, item in items:
        ranged = isinstance(item, str) and LIKE_A_RANGE.fullmatch(item.strip())
        for value in points_of(str(item), place) if ranged else [scalar(item, place)]:
            if value in values:
                raise FieldsError([(place, f"{short_repr(value)} is given twice", "each value once")])
            values[value] = place
    return Axis(name, tuple(values), tuple(values), tuple(values.values()))


def scalar(value: object, place: Place = ()) -> Scalar:
    """Return `value` as it is if it may be a value of an axis: a number of at most 1e300 in size, or a text
    that is not empty.

    Raises FieldsError, with its `place` below the axis, for anything else.
    """
    # Written so that NaN, which compares with nothing, is refused as well.
    if value == "" or not (isinstance(value, str) or (isinstance(value, int | float) and abs(value) <= LARGEST_VALUE)):
        raise FieldsError(
            [(place, f"{short_repr(value)} is not a value", RIGHT_AXIS if not place else "a number or a text")]
        )
    return value


Point = Mapping[str, int]
"""A point of the axes: the index of its value, by axis."""


def axes_moving_together(axes: Sequence[Axis], zips: Sequence[Sequence[str]]) -> list[list[Axis]]:
    """Return the axes in lists of those that move together, in the order of the first axis of each.

    `zips` are lists of the names of axes that move together; any other axis is in a list by itself.
    """
    together = {name: tuple(names) for names in zips for name in names}
    groups: dict[Any, list[Axis]] = {}
    for axis in axes:
        groups.setdefault(together.get(axis.name, axis.name), []).append(axis)
    return list(groups.values())


def count_points(axes: Sequence[Axis], zips: Sequence[Sequence[str]]) -> int:
    """Return the number of points of the axes, where those named together in one of `zips` move together."""
    return math.prod(len(group[0].values) for group in axes_moving_together(axes, zips))


def points(axes: Sequence[Axis], zips: Sequence[Sequence[str]]) -> Iterator[Point]:
    """Yield all points of the axes, each as the index of its value by axis, the last axis fastest.

    Axes that are named together in one of `zips` move together.
    """
    groups = axes_moving_together(axes, zips)
    for indices in product(*(range(len(group[0].values)) for group in groups)):
        by_name = {axis.name: i for group, i in zip(groups, indices, strict=True) for axis in group}
        yield {axis.name: by_name[axis.name] for axis in axes}
