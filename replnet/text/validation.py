"""Plain data checked by a pydantic model; what pydantic says becomes problems with field, wrong and right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from replnet.text.documents import Document
from replnet.text.errors import FieldError, FieldsError, InputError, Problem, field_name, shown, suggestion
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


def checked(model: type[Model], data: Mapping[str, Any], document: Document | None = None) -> Model:
    """`data` as a `model`, or an InputError with every problem, at its place in `document` if there is one."""
    try:
        return model.model_validate(data, context=_context(data, document))
    except ValidationError as error:
        found = (fault for detail in error.errors(include_url=False) for fault in _faults(detail, model, data))
        raise InputError(map(located(document), found)) from None


def checked_by(
    models: Mapping[str, type[Model]], field: str, data: Mapping[str, Any], document: Document | None
) -> Model:
    """`data` as the model that its `field` names; an InputError as `checked` has them."""
    name = data.get(field)
    if isinstance(name, str) and name in models:
        return checked(models[name], data, document)
    wrong = f"{shown(name)} is unknown" if field in data else "missing"
    right = suggestion(name if isinstance(name, str) else "", models)
    raise InputError([located(document)(((field,), wrong, right, False))])


def _context(data: Mapping[str, Any], document: Document | None) -> dict[str, Any]:
    """What a field may need to know beyond its own value."""
    # With a file the nodes are not all here yet.
    nodes, unit = data.get("nodes") if data.get("file") is None else None, data.get("unit")
    return {
        # One that does not exist is said to be wrong once, and not wherever something has another.
        "unit": unit if unit is None or unit in MICROSECONDS else "s",
        "laws": {} if document is None else document.laws,  # made so far, by text: most nodes share theirs
        "folder": None if document is None else document.directory,
        "nodes": frozenset(map(str, nodes)) if isinstance(nodes, Mapping) else None,
    }


def located(document: Document | None) -> Callable[[Fault], Problem]:
    """What makes a problem with a place of a fault in this document, or in data that have none."""

    def locate(fault: Fault) -> Problem:
        path, wrong, right, key = fault
        if document is None:
            return Problem(None, None, None, field_name(path) or "network", wrong, right)
        return document.problem(path, wrong, right, key=key)

    return locate


def _faults(detail: Any, model: type[BaseModel], data: Any) -> Iterator[Fault]:
    """One error of pydantic in our words."""
    path, owner = _place(detail["loc"], model, data)
    kind, value, cause = detail["type"], detail["input"], detail.get("ctx", {}).get("error")
    if isinstance(cause, FieldError):
        yield (*path, *((cause.field,) if cause.field else ())), cause.wrong, cause.right, False
    elif isinstance(cause, FieldsError):
        for below, wrong, right in cause.faults:
            yield (*path, *below), wrong, right, False
    elif kind == "missing":
        field = _fields(owner).get(str(path[-1]))
        yield path, "missing", (field.description if field else None) or "a value", True
    elif kind == "extra_forbidden":
        yield path, "unknown field", suggestion(str(path[-1]), _fields(owner)), True
    elif kind == "literal_error":
        yield path, f"{shown(value)} is unknown here", str(detail["ctx"]["expected"]).replace("'", ""), False
    elif kind == "union_tag_invalid":
        expected = str(detail["ctx"]["expected_tags"]).replace("'", "")
        yield (*path, "kind"), f"{detail['ctx']['tag']!r} is unknown here", expected, False
    elif kind == "union_tag_not_found":
        yield (*path, "kind"), "missing", "the kind of the tier: single, cascade or cooperative", True
    elif kind in SHAPES:
        yield path, f"{shown(value)} is not {SHAPES[kind]}", SHAPES[kind], False
    else:
        yield path, f"{shown(value)} does not fit", detail["msg"], False


def _place(loc: Path, model: type[BaseModel], data: Any) -> tuple[Path, type[BaseModel] | None]:
    """pydantic's location without the parts that are not in the data (tags of unions, the list around a lone value),
    and the model whose field its last part is."""
    path: list[str | int] = []
    owner, models, names = None, [model], False  # names: the next part is a name that the user chose
    for part in loc:
        if isinstance(data, Mapping):
            if part not in data and part == data.get("kind"):
                continue
            below = data.get(part)
        elif isinstance(part, str):
            below = None
        elif isinstance(data, Sequence) and not isinstance(data, str) and part < len(data):
            below = data[part]
        else:
            continue
        path.append(part)
        owner, data = _chosen(models, data), below
        if names or isinstance(part, int):
            names = False
        else:
            field = _fields(owner).get(part)
            models = [] if field is None else list(_models(field.annotation))
            names = field is not None and get_origin(field.annotation) is dict
    return tuple(path), owner


def _chosen(models: list[type[BaseModel]], data: Any) -> type[BaseModel] | None:
    """The only model, or the one whose kind the data names."""
    if len(models) == 1:
        return models[0]
    kind = data.get("kind") if isinstance(data, Mapping) else None
    return next((model for model in models if kind in get_args(model.model_fields["kind"].annotation)), None)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that a field may hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) is not Literal:
        for inner in get_args(annotation):
            yield from _models(inner)


def _fields(model: type[BaseModel] | None) -> dict[str, FieldInfo]:
    return {} if model is None else {field.alias or name: field for name, field in model.model_fields.items()}
