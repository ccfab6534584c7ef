"""Formulas by name, for experiments, the command line and Python: plain functions whose signature is their schema.

    @formula("gamma-rates", GAMMA, groups=("uniform", "proportional"), metrics=("freshness", "age"))
    def gamma_rates(ratio: Positive, spread: NotNegative) -> Values:
        \"\"\"Elements whose change rates follow a gamma law, in fixed order.

        ratio: changes per synchronisation on average
        spread: standard deviation of the change rates over their mean
        \"\"\"

Arguments are annotated with their types (laws/fields, and below), their defaults are those of the fields, and what
they are stands in the docstring or in the type. The function gives a number or a prediction, a tuple with one of them
for each metric, or several with the group and the metric of each; what a number rests on is said by the decorator. Its
groups and metrics are the same whatever the arguments. It stays what it was, to be called from Python with ready
arguments. Another package makes a formula known by an entry point of the group `replnet.formulas`, named like the
formula, to its function (experiments/plugin is one).
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from itertools import repeat
from typing import Annotated, Any, Literal, TypeVar, Union, final, get_type_hints

import pydantic

from replnet.ages.prediction import Basis, Prediction
from replnet.ages.weights import weight
from replnet.laws.fields import Bandwidth, LawField, Part, amount
from replnet.text.documents import Document
from replnet.text.errors import FieldError, InputError, shown
from replnet.text.plugins import load_plugins
from replnet.text.validation import checked, checked_by, located

# The modules whose formulas are known.
PAPERS = ("p2p", "levels", "staleness", "phases", "measurability", "dominance", "sync", "estimating", "crawl")

PLUGINS = "replnet.formulas"  # the group of entry points

Values = Iterable[tuple[str, str, float | Prediction]]
"""Group, metric, and what is predicted; infinite where it diverges."""
Plain = TypeVar("Plain", bound=Callable[..., Any])


@final
@dataclass(frozen=True, eq=False)
class Formula:
    """A function with its name, the paper and equation that it rests on, and what its values are called."""

    name: str
    basis: Basis
    function: Callable[..., Any]
    groups: tuple[str, ...]
    metrics: tuple[str, ...]
    check: Callable[..., object] | None

    def __str__(self) -> str:
        given = inspect.signature(self.function).parameters.values()
        words = [one.name if one.default is one.empty else f"{one.name}={one.default}" for one in given]
        return f"{self.name}({', '.join(words)})"

    @property
    def about(self) -> str:
        """The docstring, up to the arguments."""
        return _ARGUMENT.split(inspect.getdoc(self.function) or "", 1)[0].strip()

    @cached_property
    def model(self) -> type[Part]:
        """What its arguments are checked by."""
        fields: dict[str, Any] = {"name": (Literal[self.name], ...)}
        hints = get_type_hints(self.function, include_extras=True)
        said = {name: " ".join(words.split()) for name, words in _ARGUMENT.findall(inspect.getdoc(self.function) or "")}
        for one in inspect.signature(self.function).parameters.values():
            hint = hints.get(one.name)
            words = said.get(one.name) or next(iter(getattr(hint, "__metadata__", ())[-1:]), None)
            if hint is None or not isinstance(words, str):
                lacks = "has no type" if hint is None else "is not described"
                right = f'{one.name}: Annotated[Positive, "what it is"], or a line "{one.name}: ..." in the docstring'
                raise FieldError(self.name, f"its argument {one.name!r} {lacks}", right)
            default = ... if one.default is one.empty else one.default
            fields[one.name] = (hint, pydantic.Field(default, description=words))

        def fits(given: Part) -> Part:
            if self.check:
                self.check(**_arguments(given))
            return given

        check: Any = {"fits": pydantic.model_validator(mode="after")(fits)}
        title = self.name.title().replace("-", "")
        return pydantic.create_model(title, __base__=Part, __doc__=self.about, __validators__=check, **fields)

    def values(self, given: Part) -> list[tuple[str, str, Prediction]]:
        found = self.function(**_arguments(given))
        if isinstance(found, float | Prediction):
            found = [(self.groups[0], self.metrics[0], found)]
        elif isinstance(found, tuple):
            found = zip(repeat(self.groups[0]), self.metrics, found, strict=False)
        return [(group, metric, self._predicted(value)) for group, metric, value in found]

    def _predicted(self, value: float | Prediction) -> Prediction:
        found = value if isinstance(value, Prediction) else Prediction.of(value, self.basis)
        return replace(found, note="infinite") if math.isinf(found.value) else found


_ARGUMENT = re.compile(r"^(\w+): ((?:.+\n?)(?:  .+\n?)*)", re.MULTILINE)
_KNOWN: dict[str, Formula] = {}


def formula(
    name: str,
    basis: Basis | str,
    *,
    groups: tuple[str, ...] = ("copy",),
    metrics: tuple[str, ...] = (),
    check: Callable[..., object] | None = None,
) -> Callable[[Plain], Plain]:
    """Make a function known by `name`; its one metric is that name if no other is given.

    `basis` may be the equation alone, where that is exact. `check` is called with all arguments, before the function
    is, and raises a FieldError for those that do not fit together.
    """
    rests_on = Basis("exact", basis, "") if isinstance(basis, str) else basis

    def known(function: Plain) -> Plain:
        there = _KNOWN.get(name)
        if there and there.function.__module__ != function.__module__:
            raise FieldError("formula", f"{name} is known already, of {there.function.__module__}", "another name")
        _KNOWN[name] = Formula(name, rests_on, function, groups, metrics or (name.replace("-", "_"),), check)
        return function

    return known


def formulas() -> Mapping[str, Formula]:
    """All formulas by name.

    >>> sorted(rn.formulas())[:3]
    ['allocation', 'benefit', 'cascade-freshness']
    >>> rn.formulas()["gamma-rates"].basis.source
    'Sync Table 3'
    """
    for module in PAPERS:
        import_module(f"replnet.papers.{module}")
    _broken()
    return _KNOWN


@cache
def _broken() -> dict[str, str]:
    """By name, why a formula of another package could not be made known, which all other packages are."""
    # A signature is the schema of its formula.
    return load_plugins(PLUGINS, _KNOWN, "formula", lambda one: one.model)


def arguments(data: Mapping[str, Any], document: Document | None = None) -> Part:
    """The checked arguments of the formula that `data` names; errors are placed in `document` if there is one."""
    known = formulas()
    if isinstance(name := data.get("name"), str) and name in known:
        return checked(known[name].model, data, document)
    if isinstance(name, str) and name in _broken():
        raise InputError([located(document)((("name",), _broken()[name], "mend or uninstall its package", False))])
    return checked_by(dict.fromkeys(known, Part), "name", data, document)


def compute(name: str, **given: Any) -> list[tuple[str, str, Prediction]]:
    """Group, metric and prediction of a formula, for arguments as they are in YAML: laws and weights are texts."""
    found = arguments({"name": name, **given})
    return formulas()[name].values(found)


def schema() -> dict[str, Any]:
    """JSON Schema of a formula and its arguments."""
    union: Any = Union[tuple(one.model for one in formulas().values())]  # noqa: UP007  no other way of a tuple
    return pydantic.TypeAdapter(Annotated[union, pydantic.Field(discriminator="name")]).json_schema()


def _arguments(given: Part) -> dict[str, Any]:
    return {name: getattr(given, name) for name in type(given).model_fields if name != "name"}


def _weight(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise FieldError("", f"{shown(value)} is not a weight", "an expression of x, such as x or 1/(1+x)")
    try:
        return str(weight(str(value)))
    except FieldError as error:
        raise FieldError("", error.wrong, error.right) from None


Positive = Bandwidth
NotNegative = Annotated[
    float, pydantic.BeforeValidator(lambda value: amount(value, "a number of 0 or more")), pydantic.Field(ge=0)
]
WeightText = Annotated[
    str,
    pydantic.BeforeValidator(_weight),
    pydantic.WithJsonSchema({"type": ["string", "number"]}),
    "w(x), such as 1 or x",
]
Updates = Annotated[LawField, "the law of the times between updates"]
Downloads = Annotated[LawField, "the law of the times between downloads"]


@formula("quotient", Basis("exact", "division", ""), groups=("numbers",), metrics=("ratio", "increase"))
def quotient(of: Positive, over: Positive) -> Values:
    """One number over another, and by which share the one is larger.

    of: the number that is divided
    over: the number that it is divided by
    """
    yield "numbers", "ratio", of / over
    yield "numbers", "increase", of / over - 1
