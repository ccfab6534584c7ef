"""What a cell of an experiment is about: a network to emulate, a formula, or a system whose best size is sought.

A subject is checked plain data. What comes of it depends on that and on its settings alone: on no clock, machine or
other cell. Streams of chance are named by seed and node, and the seed is that of all cells, so cells share their
random numbers: curves over an axis are smooth, and differences of cells are more precise than the intervals of each
suggest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, final

from replnet.deadline import LATE, OutOfTime
from replnet.engines.plan import plan
from replnet.measure.estimate import FEWEST
from replnet.measure.row import Row
from replnet.network import specification
from replnet.network.network import Network
from replnet.network.sources import MOST_SHOWN
from replnet.papers import formula
from replnet.study.emulate import emulate, suited
from replnet.study.replications import EVENTS, INTERRUPTED, REPLICATIONS
from replnet.study.result import Emulated
from replnet.text.documents import Document

PILOT = {"array": 1e5, "step": 5e3}  # events after which a run that has a precision to reach looks at it
# What a replication lasts at least, as the past of its start costs half as much: mean intervals of the updates (of an
# aggregate, of the updates and downloads of a source), or with the conditional estimator mean times between the pulls
# of the replica that pulls least.
SPELLS = 20.0
QUIETS = 16.0
CENTURY = 100.0  # records of that many replicas are about as dear as all else in a cell

SHORT = 1.0  # seconds up to which a cell is simply run, to see what it costs
BRIEF = 3e4  # events of a glance
LONG = {"array": 1e7, "step": 5e4}  # and at most so many

Ran = tuple[list[Row], int, str]
"""Rows, how many events were emulated, and why there are not more."""


@final
@dataclass(frozen=True)
class Settings:
    """How a cell is run: the arguments of emulate; the fastest engine that fits if `engine` is None."""

    engine: str | None
    estimator: str
    seed: int
    horizon: float | None
    precision: float | None
    replications: int | None
    resolution: float
    measure: tuple[str, ...] = ()


@dataclass(frozen=True)
class Subject(ABC):
    """Abstract: `section` of a file gives it, in which the field `tag` chooses among several kinds."""

    data: dict[str, Any]

    section: ClassVar[str]
    words: ClassVar[str]  # for it, in messages
    tag: ClassVar[str] = ""
    kinds: ClassVar[Mapping[Any, Any]]  # models of what a section may say

    @classmethod
    @abstractmethod
    def checked(cls, document: Document) -> Subject:
        """What the section says, its expressions filled in; or an InputError."""

    @classmethod
    def fields(cls, kind: str | None) -> set[str] | None:
        """What may be said of one of this kind, by name; None where there is no such kind."""
        return set(cls.kinds[kind].model_fields) if kind in cls.kinds else None

    @classmethod
    def metrics(cls, kind: str | None) -> tuple[str, ...]:
        """All that there are rows of, where that follows from the kind alone."""
        return ()

    @classmethod
    @abstractmethod
    def schema(cls) -> dict[str, Any]:
        """JSON Schema of the section, with its definitions."""

    @property
    @abstractmethod
    def groups(self) -> set[str]:
        """All groups that its rows may have."""

    @abstractmethod
    def predict(self, settings: Settings) -> list[Row]:
        """Its rows without emulation."""

    @abstractmethod
    def run(self, settings: Settings, longer: bool) -> Ran:
        """Emulated, four times as long if `longer`; raises KeyboardInterrupt instead of returning half a run."""

    def cost(self, settings: Settings) -> float:
        """Roughly, beside other cells, from its data alone: who is largest begins first."""
        return 0.0

    def glance(self, settings: Settings) -> tuple[float, float]:
        """About how many events and seconds it takes, as far as that is known without running it as a whole."""
        return 0.0, 0.0

    @property
    def kernels(self) -> tuple[Any, ...]:
        """Equal for subjects that need the same ones compiled; empty where that is not worth a warm-up."""
        return ()


# ---- A formula


@final
class FormulaSubject(Subject):
    """A formula that is looked at by itself, with its arguments; nothing of it is measured."""

    section, words, tag = "formula", "formula", "name"
    kinds: ClassVar = {name: one.model for name, one in formula.formulas().items()}

    @classmethod
    def checked(cls, document: Document) -> Subject:
        return cls(formula.arguments(document.data, document).model_dump(mode="json", exclude_none=True))

    @classmethod
    def metrics(cls, kind: str | None) -> tuple[str, ...]:
        return formula.formulas()[kind].metrics if kind is not None and kind in cls.kinds else ()

    @classmethod
    def schema(cls) -> dict[str, Any]:
        return formula.schema()

    @property
    def groups(self) -> set[str]:
        return set(formula.formulas()[self.data["name"]].groups)

    def predict(self, settings: Settings) -> list[Row]:
        return [Row.of((group, metric), value) for group, metric, value in formula.compute(**self.data)]

    def run(self, settings: Settings, longer: bool) -> Ran:
        return self.predict(settings), 0, ""


FORMULA_METRICS = tuple(dict.fromkeys(metric for one in formula.formulas().values() for metric in one.metrics))


# ---- A network


@final
class NetworkSubject(Subject):
    """A network, emulated beside its formulas."""

    section, words, tag, kinds = "network", "the network", "kind", specification.KINDS

    @classmethod
    def checked(cls, document: Document) -> Subject:
        return cls(Network.from_data(document.data, document).data())

    @classmethod
    def schema(cls) -> dict[str, Any]:
        network = specification.schema()
        return {"$defs": network.pop("$defs"), "anyOf": [{"type": "string"}, network]}

    @property
    def groups(self) -> set[str]:
        return groups_of(self.data)

    def predict(self, settings: Settings) -> list[Row]:
        from replnet.study.predict import predict

        return list(predict(self.network, settings.measure).rows)

    def run(self, settings: Settings, longer: bool) -> Ran:
        result = emulated(self.network, settings, longer)
        return list(result.rows), result.events, result.incomplete

    def cost(self, settings: Settings) -> float:
        work = _nodes(self.data) * (1 + _number(self.data, "peers", 0)) + CENTURY
        if settings.precision is not None:
            return work / settings.precision**2
        return work * (settings.horizon or EVENTS["array"] / work)

    def glance(self, settings: Settings) -> tuple[float, float]:
        """What its formulas cost, what each replication costs to start, and what its time costs."""
        network, engine = self.network, settings.engine or suited(self.network)
        rate = max(plan(network).rate, 1e-300)
        usual = settings.horizon or (EVENTS[engine] / rate if settings.precision is None else pilot(network, settings))

        def brief(horizon: float, replications: int) -> Emulated:
            return emulated(network, replace(settings, precision=None, horizon=horizon, replications=replications))

        brief(1 / rate, 1)  # compiles what it needs
        first = brief(1 / rate, 1).seconds
        if first > SHORT:
            return rate * usual, first * REPLICATIONS
        start = max(brief(1 / rate, FEWEST).seconds - first, 0.0) / (FEWEST - 1)
        # As long as the real one, if that does not take long, as short paths say little of how far long ones scatter.
        look = brief(min(max(usual, BRIEF / rate), LONG[engine] / rate), FEWEST)
        time = max(look.seconds - first - start * (FEWEST - 1), 0.0) / look.horizon
        needed = usual
        if settings.precision is not None:
            widest = max((e.half_width for e in look.estimates if not e.doubt), default=0.0)
            needed = max(usual, look.horizon * (widest / settings.precision) ** 2)
        count = settings.replications or max(REPLICATIONS * needed / usual, REPLICATIONS)
        return needed * rate, first + count * start + needed * time

    @property
    def kernels(self) -> tuple[Any, ...]:
        return self.data["kind"], self.data.get("select")

    @property
    def network(self) -> Network:
        return Network.from_data(self.data)


def emulated(
    network: Network, settings: Settings, longer: bool = False, workers: int | None = 0, address: str | None = None
) -> Emulated:
    """By the settings of a cell; never longer of its own accord, as cells are judged together, and never less."""
    result = so_far(network, settings, longer, workers, address)
    for why, error in ((INTERRUPTED, KeyboardInterrupt), (LATE, OutOfTime)):
        if result.incomplete.startswith(why):
            raise error
    return result


def so_far(
    network: Network, settings: Settings, longer: bool = False, workers: int | None = 0, address: str | None = None
) -> Emulated:
    """The same, which may have been interrupted."""
    how = {**asdict(settings), "engine": settings.engine or suited(network)}
    if settings.horizon is None and settings.precision is not None:
        how["horizon"] = pilot(network, settings)
    return emulate(network, **how, confirm=longer, workers=workers, address=address)


def pilot(network: Network, settings: Settings) -> float:
    """A horizon after which there is an interval to go by, and each replication was longer than its start."""
    engine, compiled = settings.engine or suited(network), plan(network)
    rate = max(compiled.rate, 1e-300)
    if compiled.topology.many:
        return min(max(PILOT[engine], REPLICATIONS * SPELLS * compiled.sources.size), EVENTS[engine]) / rate
    if settings.estimator == "conditional":
        least = QUIETS * compiled.quiet
    else:
        least = SPELLS / float(compiled.rates[: compiled.sources.size].min())
    return max(PILOT[engine] / rate, least * REPLICATIONS)


def groups_of(network: Mapping[str, Any]) -> set[str]:
    """All groups that the network of this data may have, and for a graph perhaps more; no graph is built for it."""
    asked = network["kind"] in ("redundant", "graph") or "clients" in network or "queries" in network
    found = {"clients"} if asked else set()
    if network["kind"] == "compose":
        return found.union(*(_levels(tier, f"tier {number}") for number, tier in enumerate(network["tiers"], 1)))
    if network["kind"] == "graph":
        nodes = network["nodes"]
        named = {node["group"] for node in nodes.values() if "group" in node}
        return found | named | {"by polls", "unreached"} | {f"level {i}" for i in range(1, len(nodes) + 1)}
    if network["kind"] == "aggregate":
        return found | _shown(network) | {"copies"} | ({"clients"} if network.get("replicas", 1) > 1 else set())
    if network["kind"] == "cooperative":
        return found | {"cluster"}
    return found | {f"level {i}" for i in range(1, network.get("depth", 1) + 1)}


def _levels(tier: Mapping[str, Any], name: str) -> set[str]:
    depth = tier.get("depth", 1)
    levels = {name} if depth == 1 else {f"{name} level {i}" for i in range(1, depth + 1)}
    return levels | (_shown(tier) if tier.get("kind") == "aggregate" else set())


def _shown(aggregate: Mapping[str, Any]) -> set[str]:
    """Its sources that have rows of their own."""
    lists = (aggregate[name] for name in ("updates", "rates", "weights", "allocate") if name in aggregate)
    count = aggregate.get("sources") or max((len(one) for one in lists if isinstance(one, list | tuple)), default=1)
    return {f"source {i}" for i in range(1, int(count) + 1)} if count <= MOST_SHOWN else set()


def _nodes(data: Mapping[str, Any]) -> float:
    """Replicas of a network, from its data alone."""
    if data.get("tiers"):
        return sum(map(_nodes, data["tiers"]))
    branching, depth = _number(data, "branching", 1), int(_number(data, "depth", 1))
    tree = sum(min(branching, 1e6) ** min(level, 20) for level in range(1, min(depth, 20) + 1))
    return _number(data, "sources", 1) * _number(data, "replicas", 1) * tree + len(data.get("nodes", ()))


def _number(data: Mapping[str, Any], name: str, otherwise: float) -> float:
    value = data.get(name)
    return float(value) if isinstance(value, int | float) else otherwise
