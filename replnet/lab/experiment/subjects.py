"""What a cell of an experiment is about: a network to emulate, a formula, or a system whose best size is sought.

A subject is checked plain data. What comes of it depends on that and on its settings alone: on no clock, machine or
other cell. Streams of chance are named by seed and node, and the seed is that of all cells, so cells share their
random numbers: curves over an axis are smooth, and differences of cells are more precise than the intervals of each
suggest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from operator import mul
from typing import Any, ClassVar, final

from replnet.deadline import OUT_OF_TIME, OutOfTime
from replnet.engines import plan_of
from replnet.lab import arguments, compute, formula_schema, formulas
from replnet.measure import FEWEST_REPLICATIONS, Row
from replnet.network import MOST_SOURCES_SHOWN, Network, replication_bytes, require_room, specification
from replnet.run import EVENTS, INTERRUPTED, REPLICATIONS, Emulated, Progress, Settings, emulate_network, fastest_engine
from replnet.text import Document, outline

PILOT_EVENTS = {"array": 1e5, "step": 5e3}  # events before a run with a precision to reach first looks at its intervals
# The least length of a replication, as the past before its start costs half as much: in mean intervals of the updates
# (of an aggregate, of the updates and downloads of a source), or with the conditional estimator in mean times between
# the pulls of the replica that pulls least.
LEAST_INTERVALS = 20.0
LEAST_QUIET_TIMES = 16.0
FIXED_COST = 100.0  # of a cell, such as writing its record, in replicas that cost as much

SHORT_RUN = 1.0  # seconds up to which a cell is simply run, to see what it costs
GLANCE_EVENTS = 3e4  # the fewest events of a glance
MOST_GLANCE_EVENTS = {"array": 1e7, "step": 5e4}  # the most that a glance may have

RunOutput = tuple[list[Row], int, str]
"""Rows, how many events were emulated, and why there are not more."""


@dataclass(frozen=True, repr=False)
class Subject(ABC):
    """Abstract: what a cell is about, with its checked specification as plain `data`.

    The section `section` of a file describes it, and there the field `tag`, if it is not empty, chooses among `kinds`.
    """

    data: dict[str, Any]

    section: ClassVar[str]
    words: ClassVar[str]  # what messages call the subject
    tag: ClassVar[str] = ""
    kinds: ClassVar[Mapping[Any, Any]]  # the models of the section, by kind

    @classmethod
    @abstractmethod
    def from_document(cls, document: Document) -> Subject:
        """Return the subject that a section describes, its expressions filled in, or raise DocumentError."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({outline(self.data)})"

    @classmethod
    def fields(cls, kind: str | None) -> set[str] | None:
        """Return the names of the fields that a subject of this kind may have; None if there is no such kind."""
        return set(cls.kinds[kind].model_fields) if kind in cls.kinds else None

    @classmethod
    def metrics(cls, kind: str | None) -> tuple[str, ...]:
        """Return the metrics that a subject of this kind has rows of, if they follow from the kind alone, as of a
        formula.

        The tuple is empty if they do not.
        """
        return ()

    @classmethod
    @abstractmethod
    def schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of the section, with its definitions under "$defs"."""

    @property
    @abstractmethod
    def groups(self) -> set[str]:
        """The names of the groups that rows of the subject may have."""

    @abstractmethod
    def predict(self, settings: Settings) -> list[Row]:
        """Return the rows of the subject by formula, for the metrics of these settings, without emulation."""

    @abstractmethod
    def run(self, settings: Settings, longer: bool) -> RunOutput:
        """Emulate the subject by these settings, four times as long if `longer`, and return what came of that.

        These are its rows, measured beside the formulas, how many events there were, and why it is incomplete, or "".
        Raises KeyboardInterrupt or OutOfTime instead of returning half a run.
        """

    def cost(self, settings: Settings) -> float:
        """Return roughly what a run costs in proportion to others, from the data alone: the costliest begin first.

        The cost is a number without a unit, and 0 for a subject that takes hardly any time.
        """
        return 0.0

    def glance(self, settings: Settings) -> tuple[float, float]:
        """Estimate how many events and how many seconds on the wall clock a run takes, by brief runs if need be.

        Both are 0 for a subject that takes hardly any time.
        """
        return 0.0, 0.0

    @property
    def kernels(self) -> tuple[Any, ...]:
        """A key of the compiled kernels that a run needs; empty if a warm-up is no use.

        Subjects with equal keys need the same kernels, so that one warm-up does for all of them.
        """
        return ()


# ---- A formula


@final
class FormulaSubject(Subject):
    """A formula by itself, with its arguments: its rows are predicted, a run has no events, and nothing is measured."""

    section, words, tag = "formula", "formula", "name"
    kinds: ClassVar = {name: one.model for name, one in formulas().items()}

    @classmethod
    def from_document(cls, document: Document) -> Subject:
        return cls(arguments(document.data, document).model_dump(mode="json", exclude_none=True))

    @classmethod
    def metrics(cls, kind: str | None) -> tuple[str, ...]:
        return formulas()[kind].metrics if kind is not None and kind in cls.kinds else ()

    @classmethod
    def schema(cls) -> dict[str, Any]:
        return formula_schema()

    @property
    def groups(self) -> set[str]:
        return set(formulas()[self.data["name"]].groups)

    def predict(self, settings: Settings) -> list[Row]:
        return [Row.of((group, metric), value) for group, metric, value in compute(**self.data)]

    def run(self, settings: Settings, longer: bool) -> RunOutput:
        return self.predict(settings), 0, ""


FORMULA_METRICS = tuple(dict.fromkeys(metric for one in formulas().values() for metric in one.metrics))


# ---- A network


@final
class NetworkSubject(Subject):
    """A network, whose specification is `data`; a run emulates it beside its formulas."""

    section, words, tag, kinds = "network", "the network", "kind", specification.KINDS

    @classmethod
    def from_document(cls, document: Document) -> Subject:
        return cls(Network.from_data(document.data, document).data())

    @classmethod
    def schema(cls) -> dict[str, Any]:
        network = specification.schema()
        del network["$schema"]
        return {"$defs": network.pop("$defs"), "anyOf": [{"type": "string"}, network]}

    @property
    def groups(self) -> set[str]:
        return groups_of(self.data)

    def predict(self, settings: Settings) -> list[Row]:
        from replnet.run import predict

        return list(predict(self.network, settings.measure).rows)

    def run(self, settings: Settings, longer: bool) -> RunOutput:
        result = emulate_whole(self.network, settings, longer)
        return list(result.rows), result.events, result.incomplete

    def cost(self, settings: Settings) -> float:
        work = _count_replicas(self.data) * (1 + _number(self.data, "peers", 0)) + FIXED_COST
        if settings.precision is not None:
            return work / settings.precision**2
        return work * (settings.horizon or EVENTS["array"] / work)

    def glance(self, settings: Settings) -> tuple[float, float]:
        """Estimate how many events and how many seconds on this machine a run takes, from brief runs.

        They tell what its formulas cost, what the start of each replication costs, and what a unit of time costs.
        """
        network, engine = self.network, settings.engine or fastest_engine(self.network)
        rate = max(plan_of(network).event_rate, 1e-300)
        usual = settings.horizon or (
            EVENTS[engine] / rate if settings.precision is None else pilot_horizon(network, settings)
        )

        def brief(horizon: float, replications: int) -> Emulated:
            """Emulate the network for `horizon` units of virtual time, divided equally among this many replications."""
            return emulate_whole(network, replace(settings, precision=None, horizon=horizon, replications=replications))

        brief(1 / rate, 1)  # compiles what it needs
        first = brief(1 / rate, 1).seconds
        if first > SHORT_RUN:
            return rate * usual, first * REPLICATIONS
        start = max(brief(1 / rate, FEWEST_REPLICATIONS).seconds - first, 0.0) / (FEWEST_REPLICATIONS - 1)
        # As long as the real run if that is short: how much short paths scatter says little about long ones.
        look = brief(min(max(usual, GLANCE_EVENTS / rate), MOST_GLANCE_EVENTS[engine] / rate), FEWEST_REPLICATIONS)
        time = max(look.seconds - first - start * (FEWEST_REPLICATIONS - 1), 0.0) / look.horizon
        needed = usual
        if settings.precision is not None:
            widest = max((e.half_width for e in look.estimates if not e.doubt), default=0.0)
            needed = max(usual, look.horizon * (widest / settings.precision) ** 2)
        count = settings.replications or max(REPLICATIONS * needed / usual, REPLICATIONS)
        return needed * rate, first + count * start + needed * time

    @property
    def kernels(self) -> tuple[Any, ...]:
        return self.data["kind"], self.data.get("select")

    @cached_property
    def network(self) -> Network:
        """The network, built when it is first needed."""
        return Network.from_data(self.data)


def emulate_whole(network: Network, settings: Settings, longer: bool = False, **how: Any) -> Emulated:
    """Emulate a network by the settings of a cell, four times as long if `longer`, and return the result.

    `how` are the workers, address and progress of `emulate_so_far`. Raises KeyboardInterrupt or OutOfTime unless the
    run is whole. A run that differs from its formulas is not lengthened here, as cells are judged together.
    """
    result = emulate_so_far(network, settings, longer, **how)
    require_whole(result)
    return result


def require_whole(result: Emulated) -> None:
    """Raise KeyboardInterrupt if a run was interrupted, and OutOfTime if it ran out of time."""
    for why, error in ((INTERRUPTED, KeyboardInterrupt), (OUT_OF_TIME, OutOfTime)):
        if result.incomplete.startswith(why):
            raise error


def emulate_so_far(
    network: Network, settings: Settings, longer: bool = False, workers: int | None = 0, address: str | None = None,
    progress: Progress | None = None,
) -> Emulated:  # fmt: skip
    """Emulate a network by the settings of a cell, four times as long if `longer`; return the part done if interrupted.

    The run is shared among `workers`, one per CPU if None and this process alone if 0, of this machine or of the Ray
    cluster at `address`; `progress` is called with the share that is done and a text. Raises FieldError if the run
    takes more memory than there is.
    """
    settings = replace(settings, confirm=longer)
    if settings.horizon is None and settings.precision is not None:
        settings = replace(settings, horizon=pilot_horizon(network, settings))
    length = settings.horizon and settings.horizon / (settings.replications or REPLICATIONS)
    require_room(network.size, replication_bytes(network, length))
    return emulate_network(network, settings, workers=workers, address=address, progress=progress)[0]


def pilot_horizon(network: Network, settings: Settings) -> float:
    """Return the virtual time, of all replications together, after which a run with a precision to reach first looks at
    its intervals.

    By then there is an interval to go by, and each replication was longer than its start.
    """
    engine, compiled = settings.engine or fastest_engine(network), plan_of(network)
    rate = max(compiled.event_rate, 1e-300)
    if compiled.topology.aggregate:
        return (
            min(max(PILOT_EVENTS[engine], REPLICATIONS * LEAST_INTERVALS * compiled.sources.size), EVENTS[engine])
            / rate
        )
    if settings.estimator == "conditional":
        least = LEAST_QUIET_TIMES * compiled.longest_pull_gap
    else:
        least = LEAST_INTERVALS / float(compiled.rates[: compiled.sources.size].min())
    return max(PILOT_EVENTS[engine] / rate, least * REPLICATIONS)


def groups_of(network: Mapping[str, Any]) -> set[str]:
    """Return the names of the groups that the rows of a network with this data may have.

    For a graph there may be names of groups that it has not, as no graph is built for it.
    """
    has_clients = network["kind"] in ("redundant", "graph") or "clients" in network or "queries" in network
    groups = {"clients"} if has_clients else set()
    if network["kind"] == "compose":
        return groups.union(*(_levels(tier, f"tier {number}") for number, tier in enumerate(network["tiers"], 1)))
    if network["kind"] == "graph":
        nodes = network["nodes"]
        named = {node["group"] for node in nodes.values() if "group" in node}
        return groups | named | {"by polls", "unreached"} | {f"level {i}" for i in range(1, len(nodes) + 1)}
    if network["kind"] == "aggregate":
        return (
            groups | _shown_sources(network) | {"copies"} | ({"clients"} if network.get("replicas", 1) > 1 else set())
        )
    if network["kind"] == "cooperative":
        return groups | {"cluster"}
    return groups | {f"level {i}" for i in range(1, _depth(network) + 1)}


def _levels(tier: Mapping[str, Any], name: str) -> set[str]:
    """Return the names of the groups of a tier called `name`, from its data: its levels, and its sources if any."""
    depth = _depth(tier)
    levels = {name} if depth == 1 else {f"{name} level {i}" for i in range(1, depth + 1)}
    return levels | (_shown_sources(tier) if tier.get("kind") == "aggregate" else set())


def _shown_sources(aggregate: Mapping[str, Any]) -> set[str]:
    """Return the names of the groups of an aggregate's sources, "source 1" and so on.

    The set is empty if the sources are too many to have rows of their own.
    """
    lists = (aggregate[name] for name in ("updates", "rates", "weights", "allocate") if name in aggregate)
    count = aggregate.get("sources") or max(
        (len(values) for values in lists if isinstance(values, list | tuple)), default=1
    )
    return {f"source {i}" for i in range(1, int(count) + 1)} if count <= MOST_SOURCES_SHOWN else set()


def _count_replicas(data: Mapping[str, Any]) -> float:
    """Return about how many replicas a network has, from its unchecked data alone."""
    if data.get("tiers"):
        return sum(map(_count_replicas, data["tiers"]))
    branching, depth = data.get("branching"), int(_number(data, "depth", 1))
    if isinstance(branching, list | tuple):
        numbers = [float(number) if isinstance(number, int | float) else 1.0 for number in branching]
    else:
        numbers = [min(_number(data, "branching", 1), 1e6)] * min(depth, 20)
    tree = float(sum(accumulate(numbers[:20], mul)))
    return _number(data, "sources", 1) * _number(data, "replicas", 1) * tree + len(data.get("nodes", ()))


def _depth(data: Mapping[str, Any]) -> Any:
    """Return the depth of a tree from its data: that of its list of branching if it is left out, and 1 without any."""
    branching = data.get("branching")
    return data.get("depth") or (len(branching) if isinstance(branching, list | tuple) else 1)


def _number(data: Mapping[str, Any], name: str, otherwise: float) -> float:
    """Return the number in the field `name`; `otherwise` if the field is missing, or is an expression or a list."""
    value = data.get(name)
    return float(value) if isinstance(value, int | float) else otherwise
