"""The fields of an experiment as users write them: one model per section.

What depends on other sections (names of axes, expressions, networks) is
checked in `checks` and, cell by cell, in `cells`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, final

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator, model_validator

from replnet.experiment.computed.registry import METRICS as COMPUTED
from replnet.experiment.metrics import PLAIN, is_beyond
from replnet.experiment.metrics import metric as beyond
from replnet.experiment.result import METRICS, ON_REQUEST
from replnet.experiment.spec.axes import Axis, axis, scalar
from replnet.experiment.spec.expressions import LARGEST, Scalar
from replnet.laws import FieldError
from replnet.measure.verdict import RESOLUTION
from replnet.network.errors import FieldsError, shown, suggestion
from replnet.network.fields import Count, Name, positive, text, whole
from replnet.network.parts import Part

SIZES = ("service_rate", "replicas", "downloads", "polls", "peers", "freshness")  # of optimised systems
GAINS = ("service_rate_gain", "replicas_gain")  # of those, over an independent system
LARGEST_SEED = 2**63 - 1
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


def _number(value: object) -> float:
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


def _mapping(value: object, right: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise FieldError("", f"{shown(value)} is not a mapping", right)
    return value


def _axes(value: object) -> dict[str, Axis]:
    """Axes by name, with what is wrong in all of them."""
    found: dict[str, Axis] = {}
    faults: list[tuple[tuple[str | int, ...], str, str]] = []
    for name, given in _mapping(value, "name: values").items():
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
    return {str(name): scalar(one, (name,)) for name, one in _mapping(value, "axis: value").items()}


def _one_or_more(value: object) -> Any:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _choices(value: object) -> tuple[Scalar, ...]:
    choices = tuple(scalar(one) for one in _one_or_more(value))
    if not choices:
        raise FieldError("", "is empty", "one value or more")
    return choices


def _one_or_list(one: dict[str, Any]) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [one, {"type": "array", "items": one}]})


def _subject(value: object) -> Any:
    if not isinstance(value, str | Mapping) or not value:
        raise FieldError("", f"{shown(value)} is not a network", "fields such as kind: cascade, or a network's name")
    return value


Number = Annotated[float, BeforeValidator(_number)]
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
Value = Annotated[Any, BeforeValidator(scalar), WithJsonSchema(SCALAR)]
Axes = Annotated[
    dict[str, Any], BeforeValidator(_axes), WithJsonSchema({"type": "object", "additionalProperties": AXIS})
]
Values = Annotated[
    dict[str, Any], BeforeValidator(_scalars), WithJsonSchema({"type": "object", "additionalProperties": SCALAR})
]
Names = Annotated[tuple[Name, ...], BeforeValidator(_one_or_more), _one_or_list({"type": "string"})]
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
class Printed(Part):
    """A value that a paper prints."""

    at: Values = Field({}, description="axis: value, of the cells that it is about; all that agree")
    group: Name = Field(description="the group it is about, such as cluster or level 1")
    metric: Metric = Field("freshness", description="freshness, service_rate, ...")
    value: Number = Field(description="as it is printed")
    within: Positive = Field(description="how far off the print may be: half a unit of its last digit, or of a reading")
    note: str | None = Field(None, description="where it stands, or how it was read")


@final
class Claim(Part):
    """What a paper says about the whole table: one of argmax, order, rises and falls."""

    text: Text = Field(description="the claim, in words")
    argmax: Metric | None = Field(None, description="the metric that is largest, along `over`, where `is` says")
    rises: Metric | None = Field(None, description="the metric that rises along `over`")
    falls: Metric | None = Field(None, description="the metric that falls along `over`")
    order: tuple[Values, ...] | None = Field(
        None, description="two or more {axis: value}: `metric` of the first is at least that of the second, and so on"
    )
    metric: Metric | None = Field(None, description="the metric that `order` is about")
    over: Name | None = Field(None, description="an axis, or group")
    is_: Annotated[
        tuple[Any, ...] | None,
        BeforeValidator(_choices),
        _one_or_list(SCALAR),
    ] = Field(None, alias="is", description="the value of `over` where argmax is, or a list of those it may be")
    where: Values = Field({}, description="axis: value, of the cells that it is about; all if left out")

    @property
    def form(self) -> str:
        return next(form for form in FORMS if getattr(self, form) is not None)

    @model_validator(mode="after")
    def _one_form(self) -> Claim:
        forms = [form for form in FORMS if getattr(self, form) is not None]
        if len(forms) != 1:
            wrong = "both " + " and ".join(forms) if forms else "says nothing that can be checked"
            raise FieldError("", wrong, f"one of {', '.join(FORMS)}")
        wanted = FORMS[forms[0]]
        for field in ("metric", "over", "is_"):
            said, name = getattr(self, field) is not None, field.rstrip("_")
            if said != (name in wanted):
                wrong = f"does not go with {forms[0]}" if said else f"missing beside {forms[0]}"
                raise FieldError(name, wrong, f"{forms[0]} takes {' and '.join(wanted)}")
        if self.order is not None and len(self.order) < 2:
            raise FieldError("order", "has nothing to compare", "two or more {axis: value}")
        return self


FORMS = {"argmax": ("over", "is"), "order": ("metric",), "rises": ("over",), "falls": ("over",)}


@final
class Figure(Part):
    """What is drawn: a metric over an axis."""

    x: Name = Field(description="the axis to the right, or group")
    y: Metric = Field("freshness", description="the metric upwards")
    series: Name | None = Field(None, description="one curve per value of this axis, or per group")
    panel: Name | None = Field(None, description="one plot per value of this axis, or per group")
    log: Annotated[tuple[Literal["x", "y"], ...], BeforeValidator(_one_or_more), _one_or_list({"enum": ["x", "y"]})] = (
        Field((), description="logarithmic axes: x, y or both")
    )

    @field_validator("series", "panel")
    @classmethod
    def _once(cls, name: str | None, info: ValidationInfo) -> str | None:
        for other in ("x", "series"):
            if name is not None and other != info.field_name and info.data.get(other) == name:
                raise FieldError("", f"{name} is {other} already", "an axis of its own")
        return name


@final
class Sections(Part):
    """An experiment: networks that vary, what is measured of them, and what is said about it."""

    name: Name | None = Field(None, description="a short name; that of the file if left out")
    title: Text = Field(description="one line that says what the experiment is")
    claim: Text | None = Field(None, description="one line that says what it should show")
    paper: Text | None = Field(None, description="where it comes from, such as P2P Fig. 11(a)")
    values: Annotated[dict[str, Any], WithJsonSchema({"type": "object", "additionalProperties": SCALAR})] = Field(
        {}, description="names for numbers, or for expressions such as 4 / k over other names and axes"
    )
    vary: Axes = Field(
        {}, description="axes: a list, a range such as 1:9, 1:8:8 or 10:500:30log, or labels with what they stand for"
    )
    zip: tuple[tuple[Name, ...], ...] = Field((), description="lists of axes that move together")
    network: Annotated[Any, BeforeValidator(_subject)] = Field(
        None, description="fields of a network, in which ${4 / k} stands for a value, or the name of a network"
    )
    optimise: Annotated[Any, BeforeValidator(lambda value: _mapping(value, "fields such as system: cooperative"))] = (
        Field(None, description="in the place of a network: a system whose best size is sought")
    )
    formula: Annotated[Any, BeforeValidator(lambda value: _mapping(value, "name: and arguments"))] = Field(
        None, description="in the place of a network: a formula that is looked at by itself, with its arguments"
    )
    set: dict[str, Any] = Field({}, description="fields of the network and what they become, such as polls.rate: ${nu}")
    run: Run = Field({}, validate_default=True, description="how long a cell is run, and how")
    quick: Quick | None = Field(None, description="what --quick changes")
    measure: Annotated[tuple[Metric, ...], BeforeValidator(_one_or_more), _one_or_list(METRIC)] = Field(
        (), description="the metrics to keep; what is judged, shown and claimed is about these; all if left out"
    )
    groups: Names = Field(
        (),
        description="the groups to keep, such as cluster or level 1; the rest is not judged, as with measure",
    )
    printed: tuple[Printed, ...] = Field((), description="values that a paper prints")
    claims: tuple[Claim, ...] = Field((), description="what a paper says about the whole table")
    figure: Figure | None = Field(None, description="what to draw")

    @model_validator(mode="after")
    def _one_subject(self) -> Sections:
        given = [name for name in SUBJECTS if getattr(self, name) is not None]
        if len(given) != 1:
            wrong = f"given together with {given[1]}" if given else "missing"
            raise FieldsError([((given[0] if given else "network",), wrong, f"one of {', '.join(SUBJECTS)}")])
        return self
