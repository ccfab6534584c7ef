"""An experiment as users write it: the sections of its file, their types, and their JSON Schema.

What depends on other sections (names of axes, expressions, networks) is checked in `checks` and, cell by cell, in
`cells`.

A printed value is compared up to its own rounding, half a unit of the last digit that is printed: 0.75 stands for
0.745 to 0.755. `within` replaces that where the words around a value ("about", "reaches") ask for it, and `reading`
says how they were read.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Annotated, Any, Literal, final

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator, model_validator

from replnet.lab.experiment.axes import Axis, axis, scalar
from replnet.lab.experiment.subjects import FORMULA_METRICS, FormulaSubject, NetworkSubject, Subject
from replnet.lab.inverse import GAIN_METRICS, SIZE_METRICS, BestSize
from replnet.measure import (
    AT_A_TIME,
    METRICS,
    PLAIN_METRICS,
    RESOLUTION,
    expand_range,
    is_metric_on_request,
    metrics_on_request,
)
from replnet.measure import metric as beyond
from replnet.network import Count, Name, Part, positive, text, whole
from replnet.text import LARGEST_VALUE, FieldError, FieldsError, Scalar, editor_schema, short_repr, suggestion

SUBJECTS: dict[str, type[Subject]] = {kind.section: kind for kind in (NetworkSubject, BestSize, FormulaSubject)}
STATEMENTS = ("printed", "expected", "claims")  # the sections that say something of cells
GROUP = "group"  # stands beside the axes: the group of a row
RUN = "run."  # starts the name of an axis that is a setting
LARGEST_SEED = 2**63 - 1
FRACTION_ROUNDING = 1e-9  # how far off a value may be that is printed as a fraction

# ---- Types of fields

SCALAR: dict[str, Any] = {"type": ["number", "string", "boolean"]}
SCALARS: dict[str, Any] = {"type": "object", "additionalProperties": SCALAR}
AXIS: dict[str, Any] = {
    "anyOf": [
        {**SCALAR, "examples": ["1:9", "1:8:8", "10:500:30log"]},
        {"type": "array", "items": SCALAR, "minItems": 1},
        {**SCALARS, "minProperties": 1},
    ]
}
METRICS_WITH_ARGUMENTS = [name for name in metrics_on_request() if name not in PLAIN_METRICS]
METRIC = {
    "anyOf": [
        {"enum": [*dict.fromkeys((*METRICS, *PLAIN_METRICS, *SIZE_METRICS, *GAIN_METRICS, *FORMULA_METRICS))]},
        {"type": "string", "pattern": rf"^({'|'.join(METRICS_WITH_ARGUMENTS)})\(.+\)( at .+)?$"},
        {"type": "string", "pattern": rf"^({'|'.join((*AT_A_TIME, *PLAIN_METRICS))}) at .+$"},
    ]
}
PATTERN = r"^[-+]?([0-9]+/[0-9]+|[0-9.]+([eE][-+]?[0-9]+)?)$"
NUMBER = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": PATTERN}]}


def number(value: object) -> float:
    """Return a number of at most 1e300 in size as a float; raise FieldError for anything else, truth values
    included.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError("", f"{short_repr(value)} is not a number", "a number")
    if not abs(value) <= LARGEST_VALUE:  # which refuses NaN too
        raise FieldError("", f"{short_repr(value)} is not finite", "a number of at most 1e300")
    return float(value)


def _printed_number(value: object) -> float:
    """Return the number that a value is, or that its text is, which may be a fraction; raise FieldError for others."""
    if isinstance(value, str):
        try:
            value = float(Fraction(value)) if "/" in value else float(value)
        except (ValueError, ArithmeticError):
            raise FieldError("", f"{short_repr(value)} is not a number", "a number") from None
    return number(value)


def _half_a_unit(value: object) -> float:
    """Return half a unit of the last digit of a number as it is written: 0.005 for 0.75, 500 for 99e3.

    For a fraction, and for what is no number, it is 1e-9.
    """
    try:
        exponent = Decimal(str(value)).as_tuple().exponent
        return 0.5 * 10.0**exponent if isinstance(exponent, int) else FRACTION_ROUNDING
    except (InvalidOperation, OverflowError):
        return FRACTION_ROUNDING


def _metric(value: object) -> str:
    """Return the name of a metric as tables have it, such as currency(2); raise FieldError if there is no such
    metric.
    """
    if is_metric_on_request(value):
        try:
            return beyond(str(value)).name
        except FieldError as error:
            raise FieldError("", error.wrong, error.right) from None
    names = {*METRICS, *metrics_on_request(), *SIZE_METRICS, *GAIN_METRICS, *FORMULA_METRICS}
    if not isinstance(value, str) or value not in names:
        raise FieldError("", f"{short_repr(value)} is not a metric", suggestion(str(value), names))
    return value


def _mapping(value: object, right: str) -> Mapping[str, Any]:
    """Return a value that is a mapping; raise FieldError for anything else.

    `right` is what the error says would be right, such as "axis: value".
    """
    if not isinstance(value, Mapping):
        raise FieldError("", f"{short_repr(value)} is not a mapping", right)
    return value


def _axes(value: object) -> dict[str, Axis]:
    """Return the axes that a mapping of names to values describes, by name.

    Raises FieldsError with what is wrong in all of them.
    """
    axes: dict[str, Axis] = {}
    faults: list[tuple[tuple[str | int, ...], str, str]] = []
    for name, description in _mapping(value, "name: values").items():
        try:
            axes[name] = axis(name, description)
        except FieldsError as error:
            faults += [((name, *path), wrong, right) for path, wrong, right in error.faults]
    if faults:
        raise FieldsError(faults)
    return axes


def _scalars(value: object) -> dict[str, Scalar]:
    """Return the values in a mapping of axes to values, by the name of the axis.

    Raises FieldError if it is no mapping, and FieldsError if a value is neither a number nor a text.
    """
    return {str(name): scalar(value, (name,)) for name, value in _mapping(value, "axis: value").items()}


def _one_or_more(value: object) -> Any:
    """Return the entries of a list as a tuple, and anything else as a tuple of that alone."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _metrics(value: object) -> tuple[Any, ...]:
    """Return the metrics of a list, or the one metric given, with one for every point of a range in it.

    Raises FieldError for a range that is wrong; whether the metrics exist is not checked.
    """
    try:
        return tuple(
            metric
            for entry in _one_or_more(value)
            for metric in (expand_range(entry) if is_metric_on_request(entry) else [entry])
        )
    except FieldError as error:
        raise FieldError("", error.wrong, error.right) from None


def _choices(value: object) -> tuple[Scalar, ...]:
    """Return as a tuple the value of an axis, or the several in a list, of which a claim accepts any.

    Raises FieldError for an empty list, and FieldsError for what is no value.
    """
    if not (scalars := tuple(map(scalar, _one_or_more(value)))):
        raise FieldError("", "is empty", "one value or more")
    return scalars


def _network(value: object) -> Any:
    """Return `value` as it is if it is a mapping of fields or a text, and not empty; raise FieldError for anything
    else.

    Whether the fields or the name are those of a network is not checked.
    """
    if not isinstance(value, str | Mapping) or not value:
        raise FieldError(
            "", f"{short_repr(value)} is not a network", "fields such as kind: cascade, or a network's name"
        )
    return value


def _reason(value: object) -> str:
    """Return a text that says why a value is expected; raise FieldError for anything else."""
    try:
        return text(value)
    except FieldError:
        raise FieldError(
            "", f"{short_repr(value)} is no reason", "a text that says why this value is expected"
        ) from None


def _or_list(schema: dict[str, Any]) -> WithJsonSchema:
    """Return an annotation with the JSON Schema of a value or a list of such values; `schema` is that of one value."""
    return WithJsonSchema({"anyOf": [schema, {"type": "array", "items": schema}]})


Kind = Literal["rounding", "equations", "simulation", "prose"]
Number = Annotated[float, BeforeValidator(number)]
Positive = Annotated[float, BeforeValidator(positive), Field(gt=0)]
Literally = Annotated[float, BeforeValidator(_printed_number), WithJsonSchema(NUMBER)]
Seed = Annotated[int, BeforeValidator(whole(0, LARGEST_SEED)), Field(ge=0)]
Text = Annotated[str, BeforeValidator(text)]
Names = Annotated[tuple[Name, ...], BeforeValidator(_one_or_more), _or_list({"type": "string"})]
Metric = Annotated[str, BeforeValidator(_metric), WithJsonSchema(METRIC)]
Metrics = Annotated[tuple[Metric, ...], BeforeValidator(_metrics), _or_list(METRIC)]
Axes = Annotated[dict[str, Any], BeforeValidator(_axes), WithJsonSchema({**SCALARS, "additionalProperties": AXIS})]
Values = Annotated[dict[str, Any], BeforeValidator(_scalars), WithJsonSchema(SCALARS)]
Choices = Annotated[tuple[Any, ...] | None, BeforeValidator(_choices), _or_list(SCALAR)]
Logs = Annotated[tuple[Literal["x", "y"], ...], BeforeValidator(_one_or_more), _or_list({"enum": ["x", "y"]})]


# ---- How cells are run and drawn


@final
class Run(Part):
    """The section `run`: how every cell is run, as arguments of `emulate`; None leaves one at its default there."""

    engine: Literal["array", "step"] | None = Field(
        None, description="array or step; the fastest that fits if left out"
    )
    estimator: Literal["sampled", "conditional"] = Field("sampled", description="sampled or conditional")
    seed: Seed = Field(1, description="the same seed, the same paths; shared by all cells")
    horizon: Positive | None = Field(None, description="units of time per cell, all replications together")
    precision: Positive | None = Field(
        None, description="until every half-width is at most this, and less where freshness is near 0 or 1"
    )
    replications: Count | None = Field(None, description="independent paths per cell, 30 or more for intervals")
    resolution: Positive = Field(RESOLUTION, description="half-width above which a comparison counts as unresolved")


@final
class Quick(Part):
    """The section `quick`: the changes of --quick, whose fields replace those of the experiment one by one."""

    run: dict[str, Any] = Field({}, description="fields of run, such as precision: 0.01")
    vary: Axes = Field({}, description="axes with fewer values")
    values: Values = Field({}, description="named values")
    set: dict[str, Any] = Field({}, description="overrides of fields, as in set")


@final
class Figure(Part):
    """A figure of one metric over an axis, as curves of a series of values, in one plot or several panels."""

    x: Name = Field(description="the axis to the right, or group, or time for a metric that is measured at times")
    y: Metric = Field("freshness", description="the metric upwards")
    series: Name | None = Field(None, description="one curve per value of this axis, or per group")
    panel: Name | None = Field(None, description="one plot per value of this axis, or per group")
    log: Logs = Field((), description="logarithmic axes: x, y or both")

    @field_validator("series", "panel")
    @classmethod
    def _check_distinct(cls, name: str | None, info: ValidationInfo) -> str | None:
        """Return the axis that `series` or `panel` names; raise FieldError if `x` or `series` has the same axis
        already.
        """
        for other in ("x", "series"):
            if name is not None and other != info.field_name and info.data.get(other) == name:
                raise FieldError("", f"{name} is {other} already", "an axis of its own")
        return name


# ---- What is said about cells


class StatedValue(Part):
    """Abstract: a value that is stated for a metric of a group in some cells, and how far off the rows there may be."""

    at: Values = Field({}, description="the cells that it is about, as axis: value; all that have these values")
    group: Name = Field(description="the group it is about, such as cluster or level 1")
    metric: Metric = Field("freshness", description="freshness, service_rate, ...")
    value: Literally = Field(description="a number or a fraction; in quotes if its last digit is a zero: '0.90'")
    within: Positive = Field(  # which `_supply_within` supplies: the factory only makes it optional
        default_factory=float, description="how far off it may be: half a unit of its last digit if left out"
    )
    erratum: Name | None = Field(
        None, description="the mistake, by its name in errata, that shows if it is farther off"
    )

    @model_validator(mode="before")
    @classmethod
    def _supply_within(cls, data: Any) -> Any:
        """Return the fields of a stated value with `within` supplied if it is left out: half a unit of its last digit.

        What is no mapping is returned as it is.
        """
        if not isinstance(data, Mapping) or data.get("within") is not None:
            return data
        return {**data, "within": _half_a_unit(data.get("value"))}


@final
class Printed(StatedValue):
    """A value that a paper prints for some cells, with where it does and how its words were read."""

    where: Text | None = Field(None, description="where the paper prints it: section, figure or table")
    reading: Text | None = Field(None, description="how the words around it were read, where `within` is not rounding")
    note: str | None = Field(None, description="what else is to be said of it")


@final
class Expected(StatedValue):
    """A value that is expected of some cells though no paper prints it, with the reason why."""

    reason: Annotated[str, BeforeValidator(_reason)] = Field(description="why it is expected, in words")


@final
class Erratum(Part):
    """A mistake of a paper: its kind (rounding, equations, simulation or prose), and in a line what is printed and what
    is right.
    """

    kind: Kind = Field(
        description="rounding: of a digit, or carried on; equations: does not follow from the paper's own, or they are "
        "wrong; simulation: what the paper simulated comes out otherwise; prose: a sentence that its numbers deny"
    )
    text: Text = Field(description="what is printed and what is right, in one line")


FORMS = {
    "argmax": ("over", "is"), "order": ("metric",), "rises": ("over",), "falls": ("over",), "lies": ("from", "to"),
}  # fmt: skip


@final
class Claim(Part):
    """A claim of a paper about a metric in the table, in one of five forms.

    The metric is largest at some value of an axis (argmax), is ordered between cells (order), rises or falls along an
    axis, or lies between limits. `where` says which cells it is about.
    """

    text: Text = Field(description="the claim, in words")
    argmax: Metric | None = Field(None, description="the metric that is largest, along `over`, where `is` says")
    rises: Metric | None = Field(None, description="the metric that rises along `over`")
    falls: Metric | None = Field(None, description="the metric that falls along `over`")
    order: tuple[Values, ...] | None = Field(
        None, description="two or more {axis: value}: `metric` of the first is at least that of the second, and so on"
    )
    lies: Metric | None = Field(None, description="the metric that is nowhere below `from` and nowhere above `to`")
    from_: Number | None = Field(None, alias="from", description="the lowest value that `lies` allows")
    to: Number | None = Field(None, description="the highest value that `lies` allows")
    metric: Metric | None = Field(None, description="the metric that `order` is about")
    over: Name | None = Field(None, description="an axis, or group")
    is_: Choices = Field(
        None, alias="is", description="the value of `over` where argmax is, or a list of those it may be"
    )
    where: Values = Field({}, description="the cells that it is about, as axis: value; all cells if left out")
    erratum: Name | None = Field(None, description="the mistake of the paper, by its name in errata, if this fails")

    @property
    def form(self) -> str:
        """The form of the claim: argmax, order, rises, falls or lies."""
        return next(form for form in FORMS if getattr(self, form) is not None)

    @property
    def about(self) -> str:
        """The metric that the claim is about."""
        return str(self.metric if self.order is not None else getattr(self, self.form))

    @model_validator(mode="after")
    def _check_form(self) -> Claim:
        """Return the claim if it has one form and the fields that go with it; raise FieldError if not."""
        forms = [form for form in FORMS if getattr(self, form) is not None]
        if len(forms) != 1:
            wrong = "both " + " and ".join(forms) if forms else "says nothing that can be checked"
            raise FieldError("", wrong, f"one of {', '.join(FORMS)}")
        form, wanted = forms[0], FORMS[forms[0]]
        for field in ("metric", "over", "is_", "from_", "to"):
            is_given, name = getattr(self, field) is not None, field.rstrip("_")
            if is_given != (name in wanted) and not (form == "lies" and not is_given):
                wrong = f"does not go with {form}" if is_given else f"missing beside {form}"
                raise FieldError(name, wrong, f"{form} takes {' and '.join(wanted)}")
        if form == "lies" and self.from_ is None and self.to is None:
            raise FieldError("lies", "has no limits", "from, to or both")
        if self.order is not None and len(self.order) < 2:
            raise FieldError("order", "has nothing to compare", "two or more {axis: value}")
        return self


# ---- The file


@final
class Sections(Part):
    """The sections of an experiment: one subject (network, formula or best size), what varies of it, how its cells are
    run, what is measured, and the statements about that."""

    name: Name | None = Field(None, description="a short name; that of the file if left out")
    title: Text = Field(description="one line that says what the experiment is")
    claim: Text | None = Field(None, description="one line that says what it should show")
    paper: Text | None = Field(None, description="where it comes from, such as P2P Fig. 11(a)")
    values: Annotated[dict[str, Any], WithJsonSchema(SCALARS)] = Field(
        {}, description="names for numbers, or for expressions such as 4 / k over other names and axes"
    )
    vary: Axes = Field(
        {}, description="axes: a list, a range such as 1:9, 1:8:8 or 10:500:30log, or labels with what they stand for"
    )
    zip: tuple[tuple[Name, ...], ...] = Field((), description="lists of axes that move together")
    network: Annotated[Any, BeforeValidator(_network)] = Field(
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
    measure: Metrics = Field(
        (), description="the metrics to keep; what is judged, shown and claimed is about these; all if left out"
    )
    groups: Names = Field(
        (), description="the groups to keep, such as cluster or level 1; the rest is not judged, as with measure"
    )
    printed: tuple[Printed, ...] = Field((), description="values that a paper prints")
    expected: tuple[Expected, ...] = Field((), description="values that no paper prints but that are expected, and why")
    errata: dict[Name, Erratum] = Field(
        {}, description="name: mistake of the paper, which printed, expected and claims may name"
    )
    claims: tuple[Claim, ...] = Field((), description="what a paper says about the whole table")
    figure: Figure | None = Field(None, description="what to draw")

    @model_validator(mode="after")
    def _check_subject(self) -> Sections:
        """Return the sections if they have exactly one of network, optimise and formula; raise FieldsError if not."""
        sections = [name for name in SUBJECTS if getattr(self, name) is not None]
        if len(sections) != 1:
            wrong = f"given together with {sections[1]}" if sections else "missing"
            raise FieldsError([((sections[0] if sections else "network",), wrong, f"one of {', '.join(SUBJECTS)}")])
        return self

    @property
    def subject(self) -> type[Subject]:
        """The class of the subjects that the cells are about: of networks, of formulas or of best sizes."""
        return next(subject for name, subject in SUBJECTS.items() if getattr(self, name) is not None)

    @property
    def kind(self) -> str | None:
        """The kind of network, or the name of the formula, that all cells share; None if it varies or is not known."""
        tag = self.subject.tag
        kind = self.set.get(tag, getattr(self, self.subject.section).get(tag))
        return kind if isinstance(kind, str) and tag not in self.vary else None


# ---- JSON Schema, for editors that complete and check

TEMPLATE = {"type": "string", "pattern": r"\$\{.*\}"}


def experiment_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft-07) of an experiment file, as plain data with bounds and descriptions of fields.

    `load_experiment` checks more than the schema can, such as the names of axes.
    """
    whole = Sections.model_json_schema(by_alias=True)
    replaced = [(whole["$defs"]["Quick"]["properties"], "run", {"$ref": "#/$defs/Run"})]
    for subject in (NetworkSubject, FormulaSubject, BestSize):
        schema = subject.schema()
        whole["$defs"] |= {name: _allow_templates(part) for name, part in schema.pop("$defs").items()}
        replaced.append((whole["properties"], subject.section, schema))
    for fields, name, schema in replaced:
        fields[name] = {"description": fields[name]["description"], **schema}
    return editor_schema(whole)


def _allow_templates(part: Any) -> Any:
    """Return a part of a JSON Schema in which ${ } may stand for any value, and fewer fields are required.

    Fields may be missing as the sections set and vary may supply them.
    """
    if isinstance(part, list):
        return [_allow_templates(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    opened = {key: _allow_templates(inner) for key, inner in part.items() if key != "required"}
    if tags := [tag for tag in ("kind", "name") if "const" in part.get("properties", {}).get(tag, {})]:
        opened["required"] = tags
    if opened.get("type") in ("integer", "number", "boolean") or ("enum" in opened and "const" not in opened):
        words = {key: opened.pop(key) for key in ("title", "description", "default") if key in opened}
        return {**words, "anyOf": [opened, TEMPLATE]}
    return opened
