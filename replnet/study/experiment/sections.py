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

from replnet.laws.fields import Count, Name, Part, positive, text, whole
from replnet.measure.metrics import AT_A_TIME, PLAIN, each, is_beyond
from replnet.measure.metrics import metric as beyond
from replnet.measure.row import METRICS, on_request
from replnet.measure.verdict import RESOLUTION
from replnet.study.experiment.axes import Axis, axis, scalar
from replnet.study.experiment.best_size import BestSize
from replnet.study.experiment.subjects import FORMULA_METRICS, FormulaSubject, NetworkSubject, Subject
from replnet.study.experiment.system import GAINS, SIZES
from replnet.text.arithmetic import LARGEST, Scalar
from replnet.text.errors import FieldError, FieldsError, shown, suggestion

SUBJECTS: dict[str, type[Subject]] = {one.section: one for one in (NetworkSubject, BestSize, FormulaSubject)}
STATEMENTS = ("printed", "expected", "claims")  # the sections that say something of cells
GROUP = "group"  # stands beside the axes: the group of a row
RUN = "run."  # starts the name of an axis that is a setting
LARGEST_SEED = 2**63 - 1
EXACT = 1e-9  # what a fraction leaves to rounding

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
CALLS = [name for name in on_request() if name not in PLAIN]
METRIC = {
    "anyOf": [
        {"enum": [*dict.fromkeys((*METRICS, *PLAIN, *SIZES, *GAINS, *FORMULA_METRICS))]},
        {"type": "string", "pattern": rf"^({'|'.join(CALLS)})\(.+\)( at .+)?$"},
        {"type": "string", "pattern": rf"^({'|'.join((*AT_A_TIME, *PLAIN))}) at .+$"},
    ]
}
PATTERN = r"^[-+]?([0-9]+/[0-9]+|[0-9.]+([eE][-+]?[0-9]+)?)$"
NUMBER = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": PATTERN}]}


def number(value: object) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError("", f"{shown(value)} is not a number", "a number")
    if not abs(value) <= LARGEST:  # NaN is not either
        raise FieldError("", f"{shown(value)} is not finite", "a number of at most 1e300")
    return float(value)


def _positive(value: object) -> float:
    return positive(number(value) if isinstance(value, int) and value > LARGEST else value)


def _as_printed(value: object) -> float:
    """A number, or the text of one, which may be a fraction."""
    if isinstance(value, str):
        try:
            value = float(Fraction(value)) if "/" in value else float(value)
        except (ValueError, ArithmeticError):
            raise FieldError("", f"{shown(value)} is not a number", "a number") from None
    return number(value)


def _half_a_unit(value: object) -> float:
    """Of the last digit of a number as it is written: 0.005 for 0.75, 500 for 99e3; next to nothing for a fraction."""
    try:
        exponent = Decimal(str(value)).as_tuple().exponent
        return 0.5 * 10.0**exponent if isinstance(exponent, int) else EXACT
    except (InvalidOperation, OverflowError):
        return EXACT


def _metric(value: object) -> str:
    if is_beyond(value):
        try:
            return beyond(str(value)).name
        except FieldError as error:
            raise FieldError("", error.wrong, error.right) from None
    known = {*METRICS, *on_request(), *SIZES, *GAINS, *FORMULA_METRICS}
    if not isinstance(value, str) or value not in known:
        raise FieldError("", f"{shown(value)} is not a metric", suggestion(str(value), known))
    return value


def _mapping(value: object, right: str) -> Mapping[str, Any]:
    """A mapping; `right` says of what to what it should be."""
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
        except FieldsError as error:
            faults += [((name, *path), wrong, right) for path, wrong, right in error.faults]
    if faults:
        raise FieldsError(faults)
    return found


def _scalars(value: object) -> dict[str, Scalar]:
    """Values of axes by their names."""
    return {str(name): scalar(one, (name,)) for name, one in _mapping(value, "axis: value").items()}


def _one_or_more(value: object) -> Any:
    """A list as a tuple, and what is none as a tuple of one."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _metrics(value: object) -> tuple[Any, ...]:
    """Metrics, those with a range once for every point of it."""
    try:
        return tuple(one for given in _one_or_more(value) for one in (each(given) if is_beyond(given) else [given]))
    except FieldError as error:
        raise FieldError("", error.wrong, error.right) from None


def _choices(value: object) -> tuple[Scalar, ...]:
    """One value of an axis, or several of which any will do."""
    if not (found := tuple(map(scalar, _one_or_more(value)))):
        raise FieldError("", "is empty", "one value or more")
    return found


def _network(value: object) -> Any:
    """The fields of a network, or its name."""
    if not isinstance(value, str | Mapping) or not value:
        raise FieldError("", f"{shown(value)} is not a network", "fields such as kind: cascade, or a network's name")
    return value


def _reason(value: object) -> str:
    try:
        return text(value)
    except FieldError:
        raise FieldError("", f"{shown(value)} is no reason", "a text that says why this value is expected") from None


def _or_list(one: dict[str, Any]) -> WithJsonSchema:
    """JSON Schema of one such value, or of a list of them."""
    return WithJsonSchema({"anyOf": [one, {"type": "array", "items": one}]})


Kind = Literal["rounding", "equations", "simulation", "prose"]
Number = Annotated[float, BeforeValidator(number)]
Positive = Annotated[float, BeforeValidator(_positive), Field(gt=0)]
Literally = Annotated[float, BeforeValidator(_as_printed), WithJsonSchema(NUMBER)]
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
    """How a cell is run: the arguments of emulate."""

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
    """What --quick changes; its fields replace those of the experiment one by one."""

    run: dict[str, Any] = Field({}, description="fields of run, such as precision: 0.01")
    vary: Axes = Field({}, description="axes with fewer values")
    values: Values = Field({}, description="named values")
    set: dict[str, Any] = Field({}, description="overrides of fields, as in set")


@final
class Figure(Part):
    """What is drawn: a metric over an axis."""

    x: Name = Field(description="the axis to the right, or group, or time for a metric that is measured at times")
    y: Metric = Field("freshness", description="the metric upwards")
    series: Name | None = Field(None, description="one curve per value of this axis, or per group")
    panel: Name | None = Field(None, description="one plot per value of this axis, or per group")
    log: Logs = Field((), description="logarithmic axes: x, y or both")

    @field_validator("series", "panel")
    @classmethod
    def _once(cls, name: str | None, info: ValidationInfo) -> str | None:
        for other in ("x", "series"):
            if name is not None and other != info.field_name and info.data.get(other) == name:
                raise FieldError("", f"{name} is {other} already", "an axis of its own")
        return name


# ---- What is said about cells


class StatedValue(Part):
    """Abstract: a value that stands beside those of some cells."""

    at: Values = Field({}, description="axis: value, of the cells that it is about; all that agree")
    group: Name = Field(description="the group it is about, such as cluster or level 1")
    metric: Metric = Field("freshness", description="freshness, service_rate, ...")
    value: Literally = Field(description="a number or a fraction; in quotes if its last digit is a zero: '0.90'")
    within: Positive = Field(  # which `_up_to_rounding` supplies: the factory only makes it optional
        default_factory=float, description="how far off it may be: half a unit of its last digit if left out"
    )
    erratum: Name | None = Field(
        None, description="the mistake, by its name in errata, that shows if it is farther off"
    )

    @model_validator(mode="before")
    @classmethod
    def _up_to_rounding(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or data.get("within") is not None:
            return data
        return {**data, "within": _half_a_unit(data.get("value"))}


@final
class Printed(StatedValue):
    """A value that a paper prints."""

    where: Text | None = Field(None, description="where the paper prints it: section, figure or table")
    reading: Text | None = Field(None, description="how the words around it were read, where `within` is not rounding")
    note: str | None = Field(None, description="what else is to be said of it")


@final
class Expected(StatedValue):
    """A value that no paper prints."""

    reason: Annotated[str, BeforeValidator(_reason)] = Field(description="why it is expected, in words")


@final
class Erratum(Part):
    """A mistake of a paper: what it prints there, and what is right."""

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
    """What a paper says about the whole table: one of argmax, order, rises, falls and lies."""

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
    where: Values = Field({}, description="axis: value, of the cells that it is about; all if left out")
    erratum: Name | None = Field(None, description="the mistake of the paper, by its name in errata, if this fails")

    @property
    def form(self) -> str:
        return next(form for form in FORMS if getattr(self, form) is not None)

    @property
    def about(self) -> str:
        """The metric."""
        return str(self.metric if self.order is not None else getattr(self, self.form))

    @model_validator(mode="after")
    def _one_form(self) -> Claim:
        forms = [form for form in FORMS if getattr(self, form) is not None]
        if len(forms) != 1:
            wrong = "both " + " and ".join(forms) if forms else "says nothing that can be checked"
            raise FieldError("", wrong, f"one of {', '.join(FORMS)}")
        form, wanted = forms[0], FORMS[forms[0]]
        for field in ("metric", "over", "is_", "from_", "to"):
            said, name = getattr(self, field) is not None, field.rstrip("_")
            if said != (name in wanted) and not (form == "lies" and not said):
                wrong = f"does not go with {form}" if said else f"missing beside {form}"
                raise FieldError(name, wrong, f"{form} takes {' and '.join(wanted)}")
        if form == "lies" and self.from_ is None and self.to is None:
            raise FieldError("lies", "has no limits", "from, to or both")
        if self.order is not None and len(self.order) < 2:
            raise FieldError("order", "has nothing to compare", "two or more {axis: value}")
        return self


# ---- The file


@final
class Sections(Part):
    """An experiment: networks that vary, what is measured of them, and what is said about it."""

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
    def _one_subject(self) -> Sections:
        given = [name for name in SUBJECTS if getattr(self, name) is not None]
        if len(given) != 1:
            wrong = f"given together with {given[1]}" if given else "missing"
            raise FieldsError([((given[0] if given else "network",), wrong, f"one of {', '.join(SUBJECTS)}")])
        return self

    @property
    def subject(self) -> type[Subject]:
        """What the cells are made of."""
        return next(subject for name, subject in SUBJECTS.items() if getattr(self, name) is not None)

    @property
    def kind(self) -> str | None:
        """The kind of network, or the name of the formula, if all cells share it and it is known."""
        tag = self.subject.tag
        found = self.set.get(tag, getattr(self, self.subject.section).get(tag))
        return found if isinstance(found, str) and tag not in self.vary else None


# ---- JSON Schema, for editors that complete and check

HOLE = {"type": "string", "pattern": r"\$\{.*\}"}


def experiment_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of an experiment file; `load_experiment` checks more, such as the names of axes."""
    whole = Sections.model_json_schema(by_alias=True)
    replaced = [(whole["$defs"]["Quick"]["properties"], "run", {"$ref": "#/$defs/Run"})]
    for subject in (NetworkSubject, FormulaSubject, BestSize):
        own = subject.schema()
        whole["$defs"] |= {name: _open(part) for name, part in own.pop("$defs").items()}
        replaced.append((whole["properties"], subject.section, own))
    for fields, name, own in replaced:
        fields[name] = {"description": fields[name]["description"], **own}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole}


def _open(part: Any) -> Any:
    """A schema in which ${ } may stand for any value, and set and vary may supply what is missing."""
    if isinstance(part, list):
        return [_open(below) for below in part]
    if not isinstance(part, dict):
        return part
    kept = {key: _open(below) for key, below in part.items() if key != "required"}
    if tags := [tag for tag in ("kind", "name") if "const" in part.get("properties", {}).get(tag, {})]:
        kept["required"] = tags
    if kept.get("type") in ("integer", "number", "boolean") or ("enum" in kept and "const" not in kept):
        words = {key: kept.pop(key) for key in ("title", "description", "default") if key in kept}
        return {**words, "anyOf": [kept, HOLE]}
    return kept
