"""All formulas by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Union, get_args

from pydantic import Field, TypeAdapter

from replnet.study.formulas.computation import Computation
from replnet.study.formulas.crawl import CRAWL
from replnet.study.formulas.quotient import QUOTIENT
from replnet.study.formulas.staleness import STALENESS
from replnet.study.formulas.sync import SYNC
from replnet.text.documents import Document
from replnet.text.validation import checked_by

COMPUTATIONS: dict[str, type[Computation]] = {
    name: one
    for one in (*SYNC, *CRAWL, *STALENESS, *QUOTIENT)
    for name in get_args(one.model_fields["name"].annotation)
}
METRICS = tuple(dict.fromkeys(metric for one in COMPUTATIONS.values() for metric in one.metrics))


def computation(data: Mapping[str, Any], document: Document | None = None) -> Computation:
    """The checked formula that `data` describes; errors are placed in `document` if there is one."""
    return checked_by(COMPUTATIONS, "name", data, document)


def schema() -> dict[str, Any]:
    """JSON Schema of a formula and its arguments."""
    union: Any = Union[tuple(COMPUTATIONS.values())]  # noqa: UP007  there is no other way to spell that of a tuple
    return TypeAdapter(Annotated[union, Field(discriminator="name")]).json_schema()
