"""What is said about the cells of an experiment: values that a paper prints, values expected, claims, and errata.

A printed value is compared up to its own rounding, half a unit of the last digit that is printed: 0.75 stands for
0.745 to 0.755. `within` replaces that where the words around a value ("about", "reaches") ask for it, and `reading`
says how they were read.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Annotated, Any, Literal, final

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from replnet.laws.fields import Name, text
from replnet.network.parts import Part
from replnet.study.experiment.models import SCALAR, Metric, Number, Positive, Text, Values, choices, number, one_or_list
from replnet.text.checks import FieldError
from replnet.text.errors import shown

Kind = Literal["rounding", "equations", "simulation", "prose"]
EXACT = 1e-9  # what a fraction leaves to rounding
PATTERN = r"^[-+]?([0-9]+/[0-9]+|[0-9.]+([eE][-+]?[0-9]+)?)$"
NUMBER = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": PATTERN}]}


def _as_printed(value: object) -> float:
    """A number, or the text of one, which may be a fraction."""
    if not isinstance(value, str):
        return number(value)
    try:
        found = float(Fraction(value)) if "/" in value else float(value)
    except (ValueError, ArithmeticError):
        raise FieldError("", f"{shown(value)} is not a number", "a number") from None
    return number(found)


def half_a_unit(value: object) -> float:
    """Of the last digit of a number as it is written: 0.005 for 0.75, 500 for 99e3; next to nothing for a fraction."""
    try:
        exponent = Decimal(str(value)).as_tuple().exponent
        return 0.5 * 10.0**exponent if isinstance(exponent, int) else EXACT
    except (InvalidOperation, OverflowError):
        return EXACT


def _reason(value: object) -> str:
    try:
        return text(value)
    except FieldError:
        raise FieldError("", f"{shown(value)} is no reason", "a text that says why this value is expected") from None


Literally = Annotated[float, BeforeValidator(_as_printed), WithJsonSchema(NUMBER)]


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
        return {**data, "within": half_a_unit(data.get("value"))}


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


Errata = dict[Name, Erratum]


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
    is_: Annotated[
        tuple[Any, ...] | None,
        BeforeValidator(choices),
        one_or_list(SCALAR),
    ] = Field(None, alias="is", description="the value of `over` where argmax is, or a list of those it may be")
    where: Values = Field({}, description="axis: value, of the cells that it is about; all if left out")
    erratum: Name | None = Field(None, description="the mistake of the paper, by its name in errata, if this fails")

    @property
    def form(self) -> str:
        return next(form for form in FORMS if getattr(self, form) is not None)

    @model_validator(mode="after")
    def _one_form(self) -> Claim:
        forms = [form for form in FORMS if getattr(self, form) is not None]
        if len(forms) != 1:
            wrong = "both " + " and ".join(forms) if forms else "says nothing that can be checked"
            raise FieldError("", wrong, f"one of {', '.join(FORMS)}")
        form, wanted = forms[0], FORMS[forms[0]]
        for field in ("metric", "over", "is_", "from_", "to"):
            said, name = getattr(self, field) is not None, field.rstrip("_")
            if said and name not in wanted:
                raise FieldError(name, f"does not go with {form}", f"{form} takes {' and '.join(wanted)}")
            if not said and name in wanted and form != "lies":
                raise FieldError(name, f"missing beside {form}", f"{form} takes {' and '.join(wanted)}")
        if self.lies is not None and self.from_ is None and self.to is None:
            raise FieldError("lies", "has no limits", "from, to or both")
        if self.order is not None and len(self.order) < 2:
            raise FieldError("order", "has nothing to compare", "two or more {axis: value}")
        return self


FORMS = {
    "argmax": ("over", "is"), "order": ("metric",), "rises": ("over",), "falls": ("over",), "lies": ("from", "to"),
}  # fmt: skip
