"""Formulas by name, for experiments, the command line and Python: plain functions whose signature is their schema.

    @formula("gamma-rates", GAMMA, groups=("uniform", "proportional"), metrics=("freshness", "age"))
    def gamma_rates(ratio: Positive, spread: NotNegative) -> Values:
        \"\"\"Elements whose change rates follow a gamma law, in fixed order.

        ratio: changes per synchronisation on average
        spread: standard deviation of the change rates over their mean
        \"\"\"

Arguments are annotated with their types (network/fields, and below), their defaults are those of the fields, and they
are described in the docstring or in the type. The function returns a number or a prediction, a tuple with one of them
for each metric, or several, each with its group and metric; the basis of plain numbers is that of the decorator. The
groups and metrics are the same whatever the arguments. The decorator returns the function unchanged, to be called
from Python with values instead of texts. Another package adds a formula by an entry point of the group
`replnet.formulas`, named like the formula, to its function (experiments/plugin is one).
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import repeat
from typing import Annotated, Any, Literal, TypeVar, Union, final, get_type_hints

import pydantic

from replnet.ages import CHECKED, Basis, Prediction, weight
from replnet.lab.papers import register_formulas
from replnet.network import Bandwidth, LawField, Part, amount
from replnet.text import (
    Document,
    DocumentError,
    FieldError,
    load_plugins,
    problem_at,
    short_repr,
    validate,
    validate_by,
)

PLUGINS = "replnet.formulas"  # the group of entry points

Values = Iterable[tuple[str, str, float | Prediction]]
"""Group, metric, and the value predicted, which may be infinite."""
Plain = TypeVar("Plain", bound=Callable[..., Any])


@final
@dataclass(frozen=True, eq=False, repr=False)
class Formula:
    """A function with its name as a formula, its basis (kind, equation, assumptions), and the groups and metrics of its
    values.

    `check`, if there is one, raises FieldError for arguments that do not fit together.
    """

    name: str
    basis: Basis
    function: Callable[..., Any]
    groups: tuple[str, ...]
    metrics: tuple[str, ...]
    check: Callable[..., object] | None

    def __str__(self) -> str:
        parameters = inspect.signature(self.function).parameters.values()
        words = [
            parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default}"
            for parameter in parameters
        ]
        return f"{self.name}({', '.join(words)})"

    def __repr__(self) -> str:
        return f"<{self}: {self.basis.source}>"

    @property
    def about(self) -> str:
        """The docstring of the function, up to the descriptions of the arguments."""
        return _ARGUMENT.split(inspect.getdoc(self.function) or "", 1)[0].strip()

    @cached_property
    def model(self) -> type[Part]:
        """The Pydantic model that checks the arguments: a field for each, and `name`, the name of the formula.

        Raises FieldError if an argument has no type or is not described.
        """
        fields: dict[str, Any] = {"name": (Literal[self.name], ...)}
        hints = get_type_hints(self.function, include_extras=True)
        descriptions = {
            name: " ".join(words.split()) for name, words in _ARGUMENT.findall(inspect.getdoc(self.function) or "")
        }
        for parameter in inspect.signature(self.function).parameters.values():
            hint = hints.get(parameter.name)
            words = descriptions.get(parameter.name) or next(iter(getattr(hint, "__metadata__", ())[-1:]), None)
            if hint is None or not isinstance(words, str):
                lacks = "has no type" if hint is None else "is not described"
                name = parameter.name
                right = f'{name}: Annotated[Positive, "what it is"], or a line "{name}: ..." in the docstring'
                raise FieldError(self.name, f"its argument {name!r} {lacks}", right)
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (hint, pydantic.Field(default, description=words))

        def fits(values: Part) -> Part:
            if self.check:
                self.check(**_arguments(values))
            return values

        check: Any = {"fits": pydantic.model_validator(mode="after")(fits)}
        title = self.name.title().replace("-", "")
        return pydantic.create_model(title, __base__=Part, __doc__=self.about, __validators__=check, **fields)

    @CHECKED
    def values(self, arguments: Part) -> list[tuple[str, str, Prediction]]:
        """Return the values of the formula for checked arguments, each as (group, metric, prediction).

        Raises FieldError if it has none for them.
        """
        try:
            results = self.function(**_arguments(arguments))
            if isinstance(results, float | Prediction):
                results = [(self.groups[0], self.metrics[0], results)]
            elif isinstance(results, tuple):
                results = zip(repeat(self.groups[0]), self.metrics, results, strict=False)
            return [(group, metric, self._prediction_of(value)) for group, metric, value in results]
        except ArithmeticError as error:
            wrong = f"numbers too large, too small or too far apart to calculate with ({error})"
            raise FieldError(self.name, wrong, "other arguments") from None

    def _prediction_of(self, value: float | Prediction) -> Prediction:
        """Return a number as a prediction on this formula's basis, and a prediction as it is.

        If its value is infinite, its note says so.
        """
        prediction = value if isinstance(value, Prediction) else Prediction.of(value, self.basis)
        return replace(prediction, note="infinite") if math.isinf(prediction.value) else prediction


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
    """Return a decorator that registers a function as the formula `name` and leaves the function as it is.

    `basis` may be the equation alone, where that is exact. `groups` and `metrics` are those of its values; if no metric
    is given there is one with the name of the formula, with _ in place of -. The decorator raises FieldError if another
    module has a formula of this name. `check` is called with all arguments, before the function is,
    and raises a FieldError for those that do not fit together.
    """
    rests_on = Basis("exact", basis, "") if isinstance(basis, str) else basis

    def register(function: Plain) -> Plain:
        earlier = _KNOWN.get(name)
        if earlier and earlier.function.__module__ != function.__module__:
            raise FieldError("formula", f"{name} is known already, of {earlier.function.__module__}", "another name")
        _KNOWN[name] = Formula(name, rests_on, function, groups, metrics or (name.replace("-", "_"),), check)
        return function

    return register


def formulas() -> Mapping[str, Formula]:
    """Return all formulas by name, in the order of the equations that they rest on.

    >>> sorted(rn.formulas())[:3]
    ['allocation', 'benefit', 'cascade-freshness']
    >>> rn.formulas()["gamma-rates"].basis.source
    'Sync Table 3'
    """
    register_formulas()
    _broken()
    return dict(sorted(_KNOWN.items(), key=lambda item: (item[1].basis.source, item[0])))


@cache
def _broken() -> dict[str, str]:
    """Load the formulas of other packages, once; return the errors of those that could not be loaded, by their
    names.
    """
    # A signature is the schema of its formula.
    return load_plugins(PLUGINS, _KNOWN, "formula", lambda formula: formula.model)


def arguments(data: Mapping[str, Any], document: Document | None = None) -> Part:
    """Return the checked arguments of the formula that `data` names in its field `name`, beside which they stand.

    Raises DocumentError if they are wrong, with places in `document`, if given.
    """
    known_formulas = formulas()
    if isinstance(name := data.get("name"), str) and name in known_formulas:
        return validate(known_formulas[name].model, data, document)
    if isinstance(name, str) and name in _broken():
        raise DocumentError(
            [problem_at(document)((("name",), _broken()[name], "mend or uninstall its package", False))]
        )
    return validate_by(dict.fromkeys(known_formulas, Part), "name", data, document)


def compute(name: str, **given: Any) -> list[tuple[str, str, Prediction]]:
    """Return the values of the formula `name` as (group, metric, prediction), for arguments as in YAML.

    Laws are texts. Raises DocumentError if arguments are wrong, and FieldError if the formula has no values for them.
    """
    checked_arguments = arguments({"name": name, **given})
    return formulas()[name].values(checked_arguments)


def formula_schema() -> dict[str, Any]:
    """Return the JSON Schema of the section `formula`: the name of any known formula, with its arguments."""
    union: Any = Union[tuple(formula.model for formula in formulas().values())]  # noqa: UP007  no other way of a tuple
    return pydantic.TypeAdapter(Annotated[union, pydantic.Field(discriminator="name")]).json_schema()


def _arguments(model: Part) -> dict[str, Any]:
    """Return the checked arguments in a formula's model as keyword arguments of its function."""
    return {name: getattr(model, name) for name in type(model).model_fields if name != "name"}


def _weight(value: object) -> str:
    """Return a weight function of x, given as text or number, in its canonical text; raise FieldError if it is
    wrong.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise FieldError("", f"{short_repr(value)} is not a weight", "an expression of x, such as x or 1/(1+x)")
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
    """The ratio of two numbers, and by how much the first is larger, as a share of the second.

    of: the number that is divided
    over: the number that it is divided by
    """
    yield "numbers", "ratio", of / over
    yield "numbers", "increase", of / over - 1
