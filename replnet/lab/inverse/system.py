"""Systems whose best size is sought, in the place of a network (P2P VI-D and VII-B).

Every replica and the source can handle `bandwidth` messages per unit of time,
the freshness must reach `target`, and what is left serves clients. The rates
of downloads and polls follow from that, so their laws are families: laws
without a rate.

    system         what is given                        what is sought
    independent    -                                    downloads, replicas                     P2P eq. 31-33
    redundant      ask, superposition                   downloads, replicas                     P2P eq. 34, 35
    cooperative    polls, and replicas and peers        polls, and replicas and peers           P2P eq. 30
                   unless sought                        if they are in `over`

With r the slowest rate that meets the target,

    independent    R = B^2 / r - B                       r: rate of the downloads of each
    redundant      R = B^2 / r - B / k                   r: of the k asked together
    cooperative    R = m (B - B / m - k r)               r: rate of the polls                      (1)

serves clients, so a system of a given size is known once r is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, final

from pydantic import BeforeValidator, Field, PlainSerializer, ValidationInfo, WithJsonSchema, model_validator

from replnet.lab.papers import service_rate
from replnet.laws import FieldError, at_rate
from replnet.network import (
    FAMILY,
    HELP,
    AtLeastTwo,
    Bandwidth,
    Count,
    Family,
    LawField,
    Network,
    Part,
    Target,
    TimeUnit,
    whole,
)
from replnet.run import demand_text, read_threshold
from replnet.text import FieldsError, short_repr

QUERIES_PER_CHANGE = 4.0  # queries per update or download, whichever is more frequent
SIZE_METRICS = ("service_rate", "replicas", "downloads", "polls", "peers", "freshness")  # the metrics of its rows
# and of rows that compare it with the system without polls or redundant queries
GAIN_METRICS = ("service_rate_gain", "replicas_gain")
Size = tuple[int, int]
"""The size of a cooperative system, (m, k): m replicas, of which each polls k others."""
NO_CLUSTER: Size = (0, 0)  # the size of any other system
Amounts = dict[str, Callable[[float], float]]

BOUNDS = "the least and the most, such as [2, 3000]"


def _bounds(value: object) -> dict[str, tuple[int, int]]:
    """Return the bounds of `replicas` and `peers`, as pairs by their names, from the mapping that a user gives.

    Raises FieldError if it is no mapping, and FieldsError if bounds in it are wrong.
    """
    if not isinstance(value, Mapping):
        raise FieldError("", f"{short_repr(value)} is not a mapping", f"replicas or peers: {BOUNDS}")
    bounds_by_name, checks = {}, {"replicas": whole(2), "peers": whole(1)}
    for name, bounds in value.items():
        try:
            if name not in checks:
                raise FieldError("", "cannot be sought", "replicas, peers")
            if not isinstance(bounds, list | tuple) or len(bounds) != 2:
                raise FieldError("", f"{short_repr(bounds)} is not a pair", BOUNDS)
            low, high = map(checks[name], bounds)
            if low >= high:
                raise FieldError("", f"{short_repr(list(bounds))} does not rise", BOUNDS)
        except FieldError as error:
            raise FieldsError([((name,), error.wrong, error.right)]) from None
        bounds_by_name[name] = (low, high)
    return bounds_by_name


def _freshness_of(target: object, info: ValidationInfo) -> object:
    """Return the freshness that a target demands as text, such as `freshness >= 0.9` or 90%, or any other as it is.

    Raises FieldError for a text that is no such target; `info.context` has the unit of time.
    """
    if not isinstance(target, str):
        return target
    demand = read_threshold(demand_text(target), "", (info.context or {}).get("unit"))
    if demand.metric != "freshness" or demand.group is not None or not demand.above:
        raise FieldError(
            "", f"{demand.text!r} is not about freshness alone", "freshness >= 0.9; `replnet size` for all others"
        )
    return demand.bound


PAIR = {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 2, "maxItems": 2}
Bounds = Annotated[
    dict[str, Any],
    BeforeValidator(_bounds),
    PlainSerializer(lambda bounds: {name: list(pair) for name, pair in bounds.items()}),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {"replicas": PAIR, "peers": PAIR},
            "additionalProperties": False,
        }
    ),
]
FreshnessTarget = Annotated[
    Target,
    BeforeValidator(_freshness_of),
    WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, {"type": "string"}]}),
]
FIELDS_OF_SYSTEM = {
    "redundant": ("ask", "superposition"),
    "cooperative": ("polls", "replicas", "peers", "select", "over"),
}


@final
class Optimise(Part):
    """The specification of a system of replicas whose best size, the one that serves most queries, is sought.

    Its field `system` says which of three it is, and decides which other fields it may have.
    """

    system: Literal["cooperative", "redundant", "independent"] = Field(
        description="cooperative: replicas poll one another; redundant: clients ask several; independent: neither"
    )
    maximise: Literal["service_rate"] = Field(
        "service_rate", description="service_rate: queries per unit of time of all"
    )
    unit: TimeUnit | None = Field(None, description=HELP["unit"])
    target: FreshnessTarget = Field(description="the freshness to reach, 1 - epsilon; also 90% or freshness >= 0.9")
    bandwidth: Bandwidth = Field(description="B, the messages per unit of time of each replica and of the source")
    updates: LawField = Field(description=HELP["updates"])
    downloads: Family = Field(description=f"of the times between downloads: {FAMILY}")
    polls: Family | None = Field(None, description=f"cooperative: of the times between polls: {FAMILY}")
    replicas: AtLeastTwo | None = Field(None, description="cooperative: m, where it is not sought")
    peers: Count | None = Field(None, description="cooperative: k, how many others a poll asks, where it is not sought")
    select: Literal["random", "recent"] | None = Field(None, description="cooperative: which peers; random if left out")
    over: Bounds = Field({}, description="cooperative: what is sought, replicas or peers or both, each from and to")
    ask: Count | None = Field(None, description="redundant: k, how many replicas a query asks")
    superposition: Literal["exact", "poisson"] | None = Field(
        None, description="redundant: of the downloads asked, exact or as if they were many; exact if left out"
    )

    @model_validator(mode="after")
    def _check_system(self) -> Optimise:
        """Return this system if its fields are those of its kind; raise FieldError if not."""
        for system, names in FIELDS_OF_SYSTEM.items():
            for name in names:
                if system != self.system and getattr(self, name) not in (None, {}):
                    raise FieldError(name, f"is of {system} systems, and this one is {self.system}", "left out")
        if self.system == "redundant" and self.ask is None:
            raise FieldError("ask", "missing", "how many replicas a query asks")
        if self.system == "cooperative":
            self._check_cluster()
        return self

    def _check_cluster(self) -> None:
        """Raise FieldError unless polls are given, and replicas and peers given or sought, and peers below replicas."""
        if self.polls is None:
            raise FieldError("polls", "missing", FAMILY)
        for name in ("replicas", "peers"):
            if (getattr(self, name) is None) == (name not in self.over):
                wrong = "missing" if name not in self.over else "given and sought"
                raise FieldError(name, wrong, f"a number, or its bounds in over: {{{name}: [2, 9]}}")
        most = self.over["replicas"][1] if self.replicas is None else self.replicas
        fewest = self.over["peers"][0] if self.peers is None else self.peers
        if fewest >= most:
            raise FieldError("peers", f"{fewest} is not below replicas = {most}", f"1 to {most - 1}")

    @property
    def independent(self) -> Optimise:
        """This system without polls or redundant queries."""
        return self.model_copy(update={"system": "independent", "ask": None})

    def service(self, rate: float, size: Size = NO_CLUSTER) -> float:
        """Return the queries per unit of time that all replicas together can answer at `rate`, the slowest that will
        do.

        The rate is that of the polls of each replica of a cluster, and otherwise of the downloads of all replicas that
        a query asks, taken together. `size` has the replicas and peers of a cluster. The result is negative where pulls
        alone exceed the bandwidth.
        """
        if self.system == "cooperative":
            replicas, peers = size
            return service_rate(self.bandwidth, replicas, self.bandwidth / replicas, rate, peers)
        return self.bandwidth**2 / rate - self.bandwidth / (self.ask or 1)

    def amounts(self, size: Size = NO_CLUSTER) -> Amounts:
        """Return the metrics of a system of this size that follow from its rate, as functions of the rate, by name.

        A cluster has service_rate and polls, any other system service_rate, replicas and downloads (of each replica).
        """
        amounts: Amounts = {"service_rate": lambda rate: self.service(rate, size)}
        if self.system == "cooperative":
            return amounts | {"polls": lambda rate: rate}
        ask = self.ask or 1
        return amounts | {"replicas": lambda rate: ask * self.bandwidth / rate, "downloads": lambda rate: rate / ask}

    def network(self, rate: float, size: Size) -> Network:
        """Return a network that has the freshness of this system at `rate`.

        The rate is that of the polls of each replica of a cluster, whose replicas and peers are `size`; otherwise it is
        that of the downloads of all replicas that a query asks, and the size makes no difference.
        """
        fields: dict[str, Any]
        if self.system == "cooperative":
            assert self.polls is not None
            fields = {"kind": "cooperative", "replicas": size[0], "peers": size[1], "select": self.select or "random"}
            fields |= {"polls": at_rate(self.polls, rate)}
            family, rate = self.downloads, self.bandwidth / size[0]
        elif self.system == "redundant" and self.superposition != "poisson":
            assert self.ask is not None
            queries = f"exponential(rate={QUERIES_PER_CHANGE * max(self.updates.rate, rate)!r})"
            fields = {"kind": "redundant", "replicas": self.ask, "ask": self.ask, "queries": queries}
            family, rate = self.downloads, rate / self.ask
        else:
            # Many rare downloads together are Poisson, so one replica stands for all those that are asked.
            fields, family = {"kind": "single"}, "exponential" if self.system == "redundant" else self.downloads
        fields |= {"unit": self.unit, "updates": self.updates, "downloads": at_rate(family, rate)}
        return Network.from_data(fields)
