"""Demands on what was measured: whether there is anything that they are about, and whether they hold."""

from __future__ import annotations

from replnet.cli.output import echo
from replnet.network.network import Network
from replnet.study.demand import Demand
from replnet.study.result import Emulated
from replnet.text.errors import FieldError


def check(demands: list[Demand], network: Network, by: str | None = None) -> None:
    """Before anything runs: every demand is about something that will be measured."""
    groups = _groups(network, by) if demands else []
    for demand in demands:
        demand.require_open()
        if demand.group not in (None, *groups):
            there = ", ".join(f"'{group}: {demand.metric}'" for group in groups)
            raise FieldError(demand.field, f"nothing will match {demand.text!r}", f"there is {there}")


def _groups(network: Network, by: str | None) -> list[str]:
    if network.kind == "aggregate":
        from replnet.study.experiment.subjects import groups_of

        return sorted(groups_of(network.data()))
    if by == "source":
        from replnet.study.predict import rows_by_source

        return rows_by_source(network)
    return list(dict.fromkeys(about["group"] for _, about in network.graph.nodes(data=True)))


def judge(demands: list[Demand], result: Emulated) -> set[bool | None]:
    """Which answers there are to all of them: True, False, and None for what is open; says so on stderr."""
    found: set[bool | None] = set()
    for demand in demands:
        rows = result.about(demand.metric, demand.group)
        # What this network has no rows of cannot be judged either.
        answers = {demand.holds(row) for row in rows} or {None}
        why = "the interval lies across it" if rows else "there is no such row"
        across = f"unresolved, {why}" if None in answers else "holds"
        echo(f"{demand.text}: {'failed' if False in answers else across}", err=True)
        found |= answers
    return found
