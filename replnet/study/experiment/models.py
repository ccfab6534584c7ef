"""The types of an experiment's fields, and its sections on how cells are run and drawn.

`statements` has what is said about cells, `sections` the whole file. What depends on other sections (names of axes,
expressions, networks) is checked in `checks` and, cell by cell, in `cells`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, final

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator

from replnet.laws.fields import Count, Name, positive, text, whole
from replnet.measure.metrics import PLAIN, is_beyond
from replnet.measure.metrics import metric as beyond
from replnet.measure.row import METRICS, ON_REQUEST
from replnet.measure.verdict import RESOLUTION
from replnet.network.parts import Part
from replnet.papers.formula import formulas
from replnet.study.experiment.axes import Axis, axis, scalar
from replnet.study.experiment.expressions import LARGEST, Scalar
from replnet.text.checks import FieldError
from replnet.text.errors import FieldsError, shown, suggestion

SIZES = ("service_rate", "replicas", "downloads", "polls", "peers", "freshness")  # of optimised systems
GAINS = ("service_rate_gain", "replicas_gain")  # of those, over an independent system
LARGEST_SEED = 2**63 - 1
COMPUTED = tuple(dict.fromkeys(metric for one in formulas().values() for metric in one.metrics))
SUBJECTS = ("network", "optimise", "formula")  # what cells are made from
GROUP = "group"  # stands beside the axes: the group of a row

SCALAR: dict[str, Any] = {"type": ["number", "string", "boolean"]}
AXIS: dict[str, Any] = {
    "anyOf": [
        {**SCALAR, "examples": ["1:9", "1:8:8", "10:500:30log"]},
        {"type": "array", "items": SCALAR, "minItems": 1},
        {"type": "object", "additionalProperties": SCALAR, "minProperties": 1},
    ]
}


def number(value: object) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError("", f"{shown(value)} is not a number", "a number")
    if not abs(value) <= LARGEST:  # NaN is not either
        raise FieldError("", f"{shown(value)} is not finite", "a number of at most 1e300")
    return float(value)


def _positive(value: object) -> float:
    if isinstance(value, int) and value > LARGEST:
        raise FieldError("", f"{shown(value)} is not finite", "a number of at most 1e300")
    return positive(value)


def _metric(value: object) -> str:
    if is_beyond(value):
        try:
            return beyond(str(value)).name
        except FieldError as error:
            raise FieldError("", error.wrong, error.right) from None
    known = (*METRICS, *ON_REQUEST, *SIZES, *GAINS, *COMPUTED)
    if value not in known:
        raise FieldError("", f"{shown(value)} is not a metric", suggestion(str(value), set(known)))
    return str(value)


def mapping(value: object, right: str) -> Mapping[str, Any]:
    """A mapping; `right` says of what to what it should be."""
    if not isinstance(value, Mapping):
        raise FieldError("", f"{shown(value)} is not a mapping", right)
    return value


def _axes(value: object) -> dict[str, Axis]:
    """Axes by name, with what is wrong in all of them."""
    found: dict[str, Axis] = {}
    faults: list[tuple[tuple[str | int, ...], str, str]] = []
    for name, given in mapping(value, "name: values").items():
        try:
            found[name] = axis(name, given)
        except FieldError as error:
            faults.append(((name,), error.wrong, error.right))
        except FieldsError as error:
            faults += [((name, *path), wrong, right) for path, wrong, right in error.faults]
    if faults:
        raise FieldsError(faults)
    return found


def _scalars(value: object) -> dict[str, Scalar]:
    """Values of axes by their names."""
    return {str(name): scalar(one, (name,)) for name, one in mapping(value, "axis: value").items()}


def one_or_more(value: object) -> Any:
    """A list as a tuple, and what is none as a tuple of one."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def choices(value: object) -> tuple[Scalar, ...]:
    """One value of an axis, or several of which any will do."""
    found = tuple(scalar(one) for one in one_or_more(value))
    if not found:
        raise FieldError("", "is empty", "one value or more")
    return found


def one_or_list(one: dict[str, Any]) -> WithJsonSchema:
    """JSON Schema of one such value, or of a list of them."""
    return WithJsonSchema({"anyOf": [one, {"type": "array", "items": one}]})


def subject(value: object) -> Any:
    """The fields of a network, or its name."""
    if not isinstance(value, str | Mapping) or not value:
        raise FieldError("", f"{shown(value)} is not a network", "fields such as kind: cascade, or a network's name")
    return value


Number = Annotated[float, BeforeValidator(number)]
Positive = Annotated[float, BeforeValidator(_positive), Field(gt=0)]
Seed = Annotated[int, BeforeValidator(whole(0, LARGEST_SEED)), Field(ge=0)]
CALLS = [name for name in ON_REQUEST if name not in PLAIN]
METRIC = {
    "anyOf": [
        {"enum": [*dict.fromkeys((*METRICS, *PLAIN, *SIZES, *GAINS, *COMPUTED))]},
        {"type": "string", "pattern": rf"^({'|'.join(CALLS)})\(.+\)$"},
    ]
}
Metric = Annotated[str, BeforeValidator(_metric), WithJsonSchema(METRIC)]
Axes = Annotated[
    dict[str, Any], BeforeValidator(_axes), WithJsonSchema({"type": "object", "additionalProperties": AXIS})
]
Values = Annotated[
    dict[str, Any], BeforeValidator(_scalars), WithJsonSchema({"type": "object", "additionalProperties": SCALAR})
]
Names = Annotated[tuple[Name, ...], BeforeValidator(one_or_more), one_or_list({"type": "string"})]
Text = Annotated[str, BeforeValidator(text)]


@final
class Run(Part):
    """How a cell is run: the arguments of emulate."""

    engine: Literal["array", "step"] | None = Field(
        None, description="array or step; the fastest that fits if left out"
    )
    estimator: Literal["sampled", "conditional"] = Field("sampled", description="sampled or conditional")
    seed: Seed = Field(1, description="the same seed, the same paths; shared by all cells")
    horizon: Positive | None = Field(None, description="units of time per cell, all replications together")
    precision: Positive | None = Field(
        None,
        description="until every half-width is at most this, and less where freshness is near 0 or 1",
    )
    replications: Count | None = Field(None, description="independent paths per cell, 30 or more for intervals")
    resolution: Positive = Field(RESOLUTION, description="half-width above which a comparison counts as unresolved")


@final
class Quick(Part):
    """What --quick changes; its fields replace those of the experiment one by one."""

    run: dict[str, Any] = Field({}, description="fields of run, such as precision: 0.01")
    vary: Axes = Field({}, description="axes with fewer values")
    values: Values = Field({}, description="named values")
    set: dict[str, Any] = Field({}, description="overrides of fields, as in set")


@final
class Figure(Part):
    """What is drawn: a metric over an axis."""

    x: Name = Field(description="the axis to the right, or group")
    y: Metric = Field("freshness", description="the metric upwards")
    series: Name | None = Field(None, description="one curve per value of this axis, or per group")
    panel: Name | None = Field(None, description="one plot per value of this axis, or per group")
    log: Annotated[tuple[Literal["x", "y"], ...], BeforeValidator(one_or_more), one_or_list({"enum": ["x", "y"]})] = (
        Field((), description="logarithmic axes: x, y or both")
    )

    @field_validator("series", "panel")
    @classmethod
    def _once(cls, name: str | None, info: ValidationInfo) -> str | None:
        for other in ("x", "series"):
            if name is not None and other != info.field_name and info.data.get(other) == name:
                raise FieldError("", f"{name} is {other} already", "an axis of its own")
        return name
