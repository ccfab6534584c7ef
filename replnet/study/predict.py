"""What formulas say, as a table: of a network, or one formula of the papers by itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from replnet.deadline import within
from replnet.measure.row import Row
from replnet.network.network import Given, Network, network_of
from replnet.papers.formula import arguments, compute
from replnet.predictions.formulas import formulas
from replnet.predictions.pull_graph import PullGraph
from replnet.study.result import Predicted, provenance
from replnet.text.units import plain

if TYPE_CHECKING:
    from replnet.measure.metrics import Metric


def predict(
    network: Given, measure: Iterable[str] = (), by: str | None = None, *, budget: float | str | None = None
) -> Predicted:
    """What the formulas say, group by group; of `measure` as well (metrics.py); `by="source"` as in `emulate`.

    Past a `budget` of seconds, or such as 10m, rows that are not worked out yet say so (`.incomplete`).

    >>> rn.predict("cascade").table[["group", "metric", "predicted", "source"]]
         group     metric  predicted      source
    0  level 1  freshness     0.5000   P2P eq. 8
    1  level 2  freshness     0.2500  P2P eq. 28
    2  level 3  freshness     0.1250  P2P eq. 28
    3  level 4  freshness     0.0625  P2P eq. 28
    >>> round(rn.predict("cascade", measure="lag").about("lag", "level 1")[0].predicted, 4)
    0.5
    """
    require_by(by)
    with within(budget):
        network = network_of(network)
        found = formulas(network.topology, metrics_of(network, measure), by == "source")
    rows = tuple(Row.of(key, formula) for key, formula in found.items())
    data = network.data()
    return Predicted(data, rows, provenance(data))


def metrics_of(network: Network, measure: Iterable[str]) -> tuple[Metric, ...]:
    """The metrics of these names, whose times may have units."""
    names = [plain(name, network.unit) for name in ([measure] if isinstance(measure, str) else measure)]
    if not names:
        return ()  # without loading what few ask for
    from replnet.measure.metrics import metrics

    return metrics(names)


def require_by(by: str | None) -> None:
    if by not in (None, "source"):
        raise ValueError(f"by: {by!r} is nothing to have rows by (source)")


def rows_by_source(network: Network) -> list[str]:
    """The groups of a network, and what has rows beside them where they are asked for by source."""
    return list(PullGraph(network.topology).rows)


def formula(name: str, **given: Any) -> Predicted:
    """What a formula of the papers says; `formulas()` names them all. Laws and weights are texts.

    >>> round(rn.formula("freshness", updates="exponential(rate=2)", downloads="constant(rate=3)").rows[0].predicted, 4)
    0.7299
    """
    data = {"kind": "formula", **arguments({"name": name, **given}).model_dump(mode="json", exclude_none=True)}
    rows = (Row.of((group, metric), value) for group, metric, value in compute(name, **given))
    return Predicted(data, tuple(rows), provenance(data))
