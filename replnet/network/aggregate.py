"""The specification of an aggregate: many sources, and replicas that keep copies of all of them.

Downloads are limited by a budget for all sources together. The allocation shares it
among sources, the order says when each is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, final

from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    model_serializer,
    model_validator,
)

from replnet.laws import Constant, Exponential, FieldError
from replnet.network.fields import (
    Amount,
    Count,
    LawField,
    Part,
    PerSourceField,
    PlainLaws,
    Shape,
    SourceCount,
    SourceNames,
    numbers,
    size_errors,
)
from replnet.network.long_lists import is_long_list, plain_list
from replnet.network.parts import HELP, Whole
from replnet.network.source_tables import with_tables
from replnet.text import FieldsError, argument, short_repr, suggestion

Order = Literal["independent", "fixed", "random", "purely random", "carousel"]
POLICIES = (
    "uniform", "proportional", "weights", "freshness", "age", "missing_updates", "change_directed",
    "algorithm1", "algorithm2",
)  # fmt: skip
PENALTIES = ("source_penalty", "update_penalty")
OPTIMAL = ("freshness", "age")  # policies whose rates depend on the intervals between downloads
POISSON = Exponential(rate=1.0)

ALLOCATE = (
    "how sources share the budget: uniform; proportional, to the rates of change; weights, in proportion to them; "
    "freshness or age, optimal for the order; missing_updates, the square-root law; change_directed, as if all weights "
    "were equal; algorithm1 or algorithm2 (Crawl); source_penalty(w) or update_penalty(w), optimal at constant "
    "intervals; or a list of downloads per unit of time, one per source, or a CSV or Parquet file with a column "
    "visit_rate or visit_interval"
)


def penalty_of(policy: str) -> tuple[str, str] | None:
    """Return the penalty that a policy of allocation minimises, "source" or "update", and the text of its weight.

    For update_penalty(x) that is ("update", "x"). None if the policy is of another name; raise FieldError without a
    weight.
    """
    name = policy.partition("(")[0].strip()
    if name not in PENALTIES:
        return None
    return name.removesuffix("_penalty"), argument(policy, "", f"a weight in brackets, such as {name}(x)")


def _allocation(value: object) -> str | tuple[float, ...]:
    """Return an allocation of downloads, checked: the name of a policy, or a list of rates, as a tuple of floats.

    Raise FieldError if no policy has that name, or if the list is empty, FieldsError if it has other entries than
    numbers of 0 or more.
    """
    if not isinstance(value, str) or is_long_list(value):
        return numbers(value, f"a list of rates, or {', '.join(POLICIES)}")
    if value not in POLICIES and penalty_of(value) is None:
        raise FieldError("", f"{short_repr(value)} is unknown", suggestion(value, [*POLICIES, "update_penalty(x)"]))
    return value


Allocate = Annotated[
    Any,
    BeforeValidator(_allocation),
    PlainSerializer(lambda allocation: allocation if isinstance(allocation, str) else plain_list(allocation)),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(POLICIES)},
                {"type": "string", "pattern": "^(source|update)_penalty"},
                {"type": "string", "pattern": "[.](csv|tsv|txt|parquet|pq)$"},
                {"type": "array", "items": {"type": "number", "minimum": 0}, "minItems": 1},
            ]
        }
    ),
]


class AggregateShape(Part):
    """Abstract: the fields of many sources, and of one or several replicas that keep copies of all of them."""

    kind: Literal["aggregate"] = Field(description="aggregate: copies of many sources, within a budget of downloads")
    sources: SourceCount | None = Field(
        None, description="M, how many; left out where another field is a list of one each"
    )
    updates: PlainLaws = Field(
        (POISSON,),
        description="the law of the times between updates of a source, or a list of one per source; "
        "beside rates, their shape only, exponential if left out",
    )
    rates: PerSourceField | None = Field(
        None,
        description="how often sources are updated: a list, or a law whose quantiles (i - 1/2) / M they are, "
        "such as gamma(shape=2, mean=1), or a CSV or Parquet file with a column rate or interval, and perhaps weight "
        "and name; 0 is never",
    )
    weights: PerSourceField | None = Field(
        None,
        description="how much each source counts in means, equal if left out: a list, or a law whose quantiles are "
        "dealt to them in an order that is shuffled once for all, or a CSV or Parquet file with a column weight",
    )
    names: SourceNames | None = Field(
        None, description="what the sources are called, a list; in a file of rates, the column name"
    )
    budget: Amount | None = Field(
        None, description="downloads per unit of time, all sources and replicas together; the sum of a list in allocate"
    )
    order: Order = Field(
        "independent",
        description="independent: each source at its own intervals, of the law `downloads`; fixed: in rounds, always "
        "in one order; random: a new order every round; purely random: each drawn afresh (Sync); carousel: the order "
        "that keeps to all rates within one download at any time (Crawl)",
    )
    downloads: Shape | None = Field(
        None,
        description="order independent: the law of the times between downloads of a source, whose rate does not count: "
        "constant if left out, exponential, pareto(alpha=3), ...",
    )
    allocate: Allocate = Field("uniform", description=ALLOCATE)
    replicas: Count = Field(1, description="m, how many keep copies of all sources and share the budget")
    ask: Count = Field(1, description="j, how many of the replicas a query asks, drawn at random, all different")
    share: Literal["turns", "independently"] = Field(
        "turns",
        description="how replicas share the downloads of a source: in turns, or each at its own independent times",
    )

    _notes: tuple[str, ...] = PrivateAttr(())

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes, as sentences, on the tables that its lists were read from: which of their columns are not read."""
        return self._notes

    @model_validator(mode="wrap")
    @classmethod
    def _with_tables(
        cls, data: Any, handler: ModelWrapValidatorHandler[AggregateShape], info: ValidationInfo
    ) -> AggregateShape:
        """Return the model of `data`, fields by name, with lists in place of the tables that it names.

        `info.context` has the folder of these, and the unit of the network.
        """
        context = info.context or {}
        data, notes = with_tables(data, context.get("folder"), context.get("unit"))
        result = handler(data)
        if notes:
            result._notes = notes
        return result

    @model_validator(mode="after")
    def _fits(self) -> AggregateShape:
        """Return this model; raise FieldsError with all that is wrong with its fields together."""
        faults = [*size_errors(self.sources, self._lists()), *self._speeds(), *self._shares(), *self._solvable()]
        if faults:
            raise FieldsError(((field,), wrong, right) for field, wrong, right in faults)
        return self

    def _lists(self) -> dict[str, int]:
        """Return the length of every field that is a list with an entry per source, by the name of the field.

        A single law of updates is that of all sources, and no such list.
        """
        fields = {"updates": self.updates, "rates": self.rates, "weights": self.weights, "allocate": self.allocate}
        fields |= {"names": self.names}
        lists = {name: len(value) for name, value in fields.items() if isinstance(value, tuple)}
        if lists["updates"] == 1:  # one law for all
            del lists["updates"]
        return lists

    def _speeds(self) -> Iterator[tuple[str, str, str]]:
        """Yield what is wrong with rates, weights and the budget: (field, what is wrong, what would be right)."""
        if self.rates is None and "updates" not in self.model_fields_set:
            yield "updates", "missing", "the law of the times between updates, or rates"
        if self.rates is not None and len(self.updates) > 1:
            yield "rates", "are given, and the list of updates has rates of its own", "one law of updates, or no rates"
        if isinstance(self.weights, tuple) and not any(self.weights):
            yield "weights", "are all 0", "at least one source that counts"
        if isinstance(self.allocate, str):
            if self.budget is None:
                yield "budget", "missing", "downloads per unit of time, all sources together"
        elif self.budget is not None and abs(sum(self.allocate) - self.budget) > 1e-9 * self.budget:
            wrong = f"{self.budget:g} is not the sum of the rates in allocate, {sum(self.allocate):g}"
            yield "budget", wrong, "their sum, or left out"

    def _shares(self) -> Iterator[tuple[str, str, str]]:
        """Yield what is wrong with `ask` and with replicas that share an order of downloads.

        Each is (field, what is wrong, what would be right).
        """
        if self.ask > self.replicas:
            yield "ask", f"{self.ask} is more than replicas = {self.replicas}", f"1 to {self.replicas}"
        if self.order != "independent":
            if self.downloads is not None:
                yield "downloads", f"follow from order: {self.order}", "left out, or order: independent"
            if self.replicas > 1:
                yield "replicas", f"{self.replicas} cannot share a {self.order} order", "1, or order: independent"

    def _solvable(self) -> Iterator[tuple[str, str, str]]:
        """Yield an error if the best rates for the allocation are not known.

        It is (field, what is wrong, what would be right). At intervals that are not constant, the rates are known for
        some laws, orders and weights only.
        """
        if self.allocate not in OPTIMAL or self.constant:
            return
        between = self.downloads if self.order == "independent" else self.order
        if self.order == "independent" and not isinstance(self.downloads, Exponential):
            yield (
                "allocate",
                f"the best rates for {self.allocate} under {between} downloads are not known",
                ("constant or exponential downloads, or another allocation"),
            )
        elif not self.poisson:
            yield (
                "allocate",
                f"the best rates for {self.allocate} under {between} downloads are not known",
                ("exponential updates, or constant downloads"),
            )
        elif self.weights is not None and (self.allocate == "age" or self.order == "random"):
            yield (
                "allocate",
                f"the best rates for {self.allocate} under {between} downloads are not known",
                ("equal weights, or constant downloads"),
            )

    @property
    def count(self) -> int:
        """The number of sources (M)."""
        return self.sources or next(iter(self._lists().values()))

    @property
    def constant(self) -> bool:
        """Whether each source is downloaded at constant intervals, or as nearly so as its order allows."""
        if self.order == "independent":
            return self.downloads is None or isinstance(self.downloads, Constant)
        return self.order in ("fixed", "carousel")

    @property
    def poisson(self) -> bool:
        """Whether all updates are Poisson processes."""
        return all(isinstance(law, Exponential) for law in self.updates)

    @classmethod
    def sizes(cls, fields: Mapping[str, Any]) -> tuple[int, ...]:
        """Return (replicas,), the number of replicas in each level, from `fields`: an aggregate has one level."""
        return (fields["replicas"],)


@final
class Aggregate(AggregateShape, Whole):
    """A network of many sources, of replicas that keep copies of all of them, and perhaps of a client."""

    queries: LawField | None = Field(
        None, description=f"{HELP['queries']}, which asks at those times; left out, it may ask at any time"
    )

    @model_serializer(mode="wrap")
    def _without_defaults(self, dump: Callable[[Aggregate], dict[str, Any]]) -> dict[str, Any]:
        """Return all fields by name, as `dump` does, without some that are not given.

        Delay, queue, charge, faults and start are left out then, so that old records of an aggregate keep their keys.
        """
        usual = {name for name in ("delay", "queue", "charge", "faults", "start") if name not in self.model_fields_set}
        return {name: value for name, value in dump(self).items() if name not in usual}
