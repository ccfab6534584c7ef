"""An experiment as users write it: the sections of its file."""

from __future__ import annotations

from typing import Annotated, Any, final

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from replnet.laws.fields import Name
from replnet.network.parts import Part
from replnet.study.experiment.models import (
    METRIC,
    SCALAR,
    SUBJECTS,
    Axes,
    Figure,
    Metric,
    Names,
    Quick,
    Run,
    Text,
    mapping,
    one_or_list,
    one_or_more,
    subject,
)
from replnet.study.experiment.statements import Claim, Errata, Expected, Printed
from replnet.text.errors import FieldsError


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
    network: Annotated[Any, BeforeValidator(subject)] = Field(
        None, description="fields of a network, in which ${4 / k} stands for a value, or the name of a network"
    )
    optimise: Annotated[Any, BeforeValidator(lambda value: mapping(value, "fields such as system: cooperative"))] = (
        Field(None, description="in the place of a network: a system whose best size is sought")
    )
    formula: Annotated[Any, BeforeValidator(lambda value: mapping(value, "name: and arguments"))] = Field(
        None, description="in the place of a network: a formula that is looked at by itself, with its arguments"
    )
    set: dict[str, Any] = Field({}, description="fields of the network and what they become, such as polls.rate: ${nu}")
    run: Run = Field({}, validate_default=True, description="how long a cell is run, and how")
    quick: Quick | None = Field(None, description="what --quick changes")
    measure: Annotated[tuple[Metric, ...], BeforeValidator(one_or_more), one_or_list(METRIC)] = Field(
        (), description="the metrics to keep; what is judged, shown and claimed is about these; all if left out"
    )
    groups: Names = Field(
        (),
        description="the groups to keep, such as cluster or level 1; the rest is not judged, as with measure",
    )
    printed: tuple[Printed, ...] = Field((), description="values that a paper prints")
    expected: tuple[Expected, ...] = Field((), description="values that no paper prints but that are expected, and why")
    errata: Errata = Field({}, description="name: mistake of the paper, which printed, expected and claims may name")
    claims: tuple[Claim, ...] = Field((), description="what a paper says about the whole table")
    figure: Figure | None = Field(None, description="what to draw")

    @model_validator(mode="after")
    def _one_subject(self) -> Sections:
        given = [name for name in SUBJECTS if getattr(self, name) is not None]
        if len(given) != 1:
            wrong = f"given together with {given[1]}" if given else "missing"
            raise FieldsError([((given[0] if given else "network",), wrong, f"one of {', '.join(SUBJECTS)}")])
        return self
