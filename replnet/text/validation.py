"""Validation of plain data by a pydantic model; pydantic's errors become problems with field, wrong and right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from replnet.text.documents import Document
from replnet.text.errors import (
    MOST_SHOWN,
    DocumentError,
    FieldError,
    FieldsError,
    Problem,
    field_name,
    short_repr,
    suggestion,
)
from replnet.text.units import MICROSECONDS

Path = tuple[str | int, ...]
Fault = tuple[Path, str, str, bool]  # path, wrong, right, whether the key is meant
Model = TypeVar("Model", bound=BaseModel)

SHAPES = {
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "a mapping of fields"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
    "string_type": "a text",
    **dict.fromkeys(("bool_type", "bool_parsing"), "yes or no"),
}

DRAFT_07 = "http://json-schema.org/draft-07/schema#"
BOUNDS = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}
"""The names of bounds in JSON Schema, by those of pydantic."""


def validate(model: type[Model], data: Mapping[str, Any], document: Document | None = None) -> Model:
    """Return `data` as a `model`; raise DocumentError with every problem, with its place in `document` if given."""
    try:
        return model.model_validate(data, context=_context(model, data, document))
    except ValidationError as error:
        details = enumerate(error.errors(include_url=False))
        # A name that is like an unknown one takes long to find, for problems that are only counted.
        faults = (
            fault
            for number, detail in details
            for fault in _faults(detail, model, data, with_suggestion=number < MOST_SHOWN)
        )
        raise DocumentError(map(problem_at(document), faults)) from None


def validate_by(
    models: Mapping[str, type[Model]], field: str, data: Mapping[str, Any], document: Document | None
) -> Model:
    """Return `data` as an instance of one of `models`: that of the name which `data` has in `field`.

    Raises DocumentError with every problem, with its place in `document` if there is one; an unknown or missing name is
    one.
    """
    name = data.get(field)
    if isinstance(name, str) and name in models:
        return validate(models[name], data, document)
    wrong = f"{short_repr(name)} is unknown" if field in data else "missing"
    right = suggestion(name if isinstance(name, str) else "", models)
    raise DocumentError([problem_at(document)(((field,), wrong, right, False))])


def _context(model: type[BaseModel], data: Mapping[str, Any], document: Document | None) -> dict[str, Any]:
    """Return what validators may need to know beyond a field's own value: unit, folder, names of nodes, laws so far.

    The unit is left out if the model has no such field. Without `document`, there is no folder; the names of nodes are
    None if a file may list more.
    """
    # If the network has a file, it lists further nodes.
    nodes, unit = data.get("nodes") if data.get("file") is None else None, data.get("unit")
    is_known = unit is None or (isinstance(unit, str) and unit in MICROSECONDS)
    return {
        # An unknown unit is reported once, and not again wherever another unit is used.
        **({"unit": unit if is_known else "s"} if "unit" in model.model_fields else {}),
        "laws": {} if document is None else document.laws,  # made so far, by text and unit: most nodes share theirs
        "folder": None if document is None else document.directory,
        "nodes": frozenset(map(str, nodes)) if isinstance(nodes, Mapping) else None,
    }


def problem_at(document: Document | None) -> Callable[[Fault], Problem]:
    """Return a function that turns a fault into a problem with its place in the document.

    A fault is its path, what is wrong, what would be right, and whether the key is meant, not the value. Without
    document, the problem has no place.
    """

    def locate(fault: Fault) -> Problem:
        path, wrong, right, key = fault
        if document is None:
            return Problem(None, None, None, field_name(path) or "network", wrong, right)
        return document.problem(path, wrong, right, key=key)

    return locate


def _faults(detail: Any, model: type[BaseModel], data: Any, with_suggestion: bool) -> Iterator[Fault]:
    """Yield the faults that an error `detail` of pydantic stands for, in our words.

    A fault is its path, what is wrong, what would be right, and whether the key is meant. `data` was validated by
    `model`. With `with_suggestion`, an unknown field gets the nearest known name.
    """
    path, owner = _place(detail["loc"], model, data)
    kind, value, cause = detail["type"], detail["input"], detail.get("ctx", {}).get("error")
    if isinstance(cause, FieldError):
        yield (*path, *((cause.field,) if cause.field else ())), cause.wrong, cause.right, False
    elif isinstance(cause, FieldsError):
        for inner, wrong, right in cause.faults:
            yield (*path, *inner), wrong, right, False
    elif kind == "missing":
        field = _fields(owner).get(str(path[-1]))
        yield path, "missing", (field.description if field else None) or "a value", True
    elif kind == "extra_forbidden":
        similar = suggestion(str(path[-1]) if with_suggestion else "", _fields(owner))
        yield path, "unknown field", getattr(owner, "HINTS", {}).get(str(path[-1]), similar), True
    elif kind == "literal_error":
        yield path, f"{short_repr(value)} is unknown here", str(detail["ctx"]["expected"]).replace("'", ""), False
    elif kind == "union_tag_invalid":
        expected = str(detail["ctx"]["expected_tags"]).replace("'", "")
        yield (*path, "kind"), f"{detail['ctx']['tag']!r} is unknown here", expected, False
    elif kind == "union_tag_not_found":
        yield (*path, "kind"), "missing", "the kind of the tier: single, cascade or cooperative", True
    elif kind in SHAPES:
        yield path, f"{short_repr(value)} is not {SHAPES[kind]}", SHAPES[kind], False
    else:
        yield path, f"{short_repr(value)} does not fit", detail["msg"], False


def _place(loc: Path, model: type[BaseModel], data: Any) -> tuple[Path, type[BaseModel] | None]:
    """Return pydantic's location `loc` as the path of a value in `data`, and the model whose field the last part is.

    The path leaves out what is not in the data: tags of unions, and the list around a single value. `model` is that of
    the whole data; the one returned is None if the last part is no field of a model.
    """
    path: list[str | int] = []
    owner, models, names = None, [model], False  # names: the next part is a name that the user chose
    for part in loc:
        if isinstance(data, Mapping):
            if part not in data and part == data.get("kind"):
                continue
            child = data.get(part)
        elif isinstance(part, str):
            child = None
        elif isinstance(data, Sequence) and not isinstance(data, str) and part < len(data):
            child = data[part]
        else:
            continue
        path.append(part)
        owner, data = _chosen(models, data), child
        if names or isinstance(part, int):
            names = False
        else:
            field = _fields(owner).get(part)
            models = [] if field is None else list(_models(field.annotation))
            names = field is not None and get_origin(field.annotation) is dict
    return tuple(path), owner


def _chosen(models: list[type[BaseModel]], data: Any) -> type[BaseModel] | None:
    """Return the only one of `models`, or the one whose `kind` the data names; None if there is none."""
    if len(models) == 1:
        return models[0]
    kind = data.get("kind") if isinstance(data, Mapping) else None
    return next((model for model in models if kind in get_args(model.model_fields["kind"].annotation)), None)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the pydantic models that a field with this type annotation may hold, also within unions and lists."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) is not Literal:
        for inner in get_args(annotation):
            yield from _models(inner)


@lru_cache(maxsize=64)
def _fields(model: type[BaseModel] | None) -> dict[str, FieldInfo]:
    """Return the fields of a model by the names that users write."""
    return {} if model is None else {field.alias or name: field for name, field in model.model_fields.items()}


def editor_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema as editors know it, of draft-07, from one that pydantic made."""
    return {"$schema": DRAFT_07, **_in_draft_07(schema)}


def _in_draft_07(part: Any) -> Any:
    """Return a part of a JSON Schema of pydantic with the words of draft-07 in the place of others.

    Bounds of numbers that a function of ours reads have pydantic's names, tuples those of a later draft; and what
    stands beside a reference would not count.
    """
    if isinstance(part, list):
        return [_in_draft_07(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    is_bound = {key: key in BOUNDS and isinstance(value, int | float) for key, value in part.items()}
    words = {BOUNDS[key] if is_bound[key] else key: _in_draft_07(value) for key, value in part.items()}
    if isinstance(words.get("prefixItems"), list):
        words |= {"items": words.pop("prefixItems"), "additionalItems": False}
    if len(words) > 1 and isinstance(words.get("$ref"), str):
        words["allOf"] = [{"$ref": words.pop("$ref")}]
    if "propertyName" in words.get("discriminator", ()):  # a word of OpenAPI
        del words["discriminator"]
    return words
