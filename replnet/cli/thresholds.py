"""Demands on a result, such as 'freshness > 0.9' or 'level 4: freshness >= 0.5'."""

from __future__ import annotations

from dataclasses import dataclass

from replnet.cli.output import echo
from replnet.measure.metrics import is_beyond, metric
from replnet.measure.row import METRICS, ON_REQUEST, Row, is_share
from replnet.network.network import Network
from replnet.study.result import Emulated
from replnet.text import grammar
from replnet.text.arithmetic import expression
from replnet.text.errors import FieldError, shown


@dataclass(frozen=True)
class Demand:
    text: str
    group: str | None
    metric: str
    above: bool
    bound: float

    def holds(self, row: Row) -> bool | None:
        """Of the whole interval; None where it lies on both sides, or there is none."""
        low, high = row.ci_low, row.ci_high
        if low is None or high is None or low <= self.bound <= high:
            return None
        return (low > self.bound) == self.above


def parse(text: str, option: str = "--threshold") -> Demand:
    """The demand that stands after an option of the command line."""
    group, colon, rest = text.strip().rpartition(":")
    try:
        sign, about, bound = _compared(rest)
        if colon and not group:
            raise ValueError
    except ValueError:
        right = "'freshness > 0.9', 'level 2: freshness > 0.5'"
        raise ValueError(f"{option}: {shown(text)} is not a demand ({right})") from None
    try:
        name = metric(about).name if is_beyond(about) else about
    except FieldError as error:
        raise ValueError(f"{option}: {error.wrong} ({error.right})") from None
    return Demand(text.strip(), group.strip() or None, name, sign.startswith(">"), bound)


def _compared(text: str) -> tuple[str, str, float]:
    """The sign, the metric and the bound of `metric > bound`; a ValueError where it is not that."""
    tree = grammar.parse(text, grammar.ARITHMETIC)
    if tree.kind == "comparison" and len(tree.parts) == 2 and tree.value[0] not in ("==", "!="):
        about, bound = tree.parts[0], expression(tree.parts[1].source)
        if about.kind in ("name", "call") and not bound.names:
            return tree.value[0], about.source, float(bound.value({}))
    raise ValueError


def check(demands: list[Demand], network: Network, by: str | None = None) -> None:
    """Before anything runs: every demand is about something that will be measured."""
    groups = _groups(network, by) if demands else []
    for demand in demands:
        if demand.metric not in METRICS and not is_beyond(demand.metric):
            known = ", ".join((*METRICS, *ON_REQUEST))
            raise ValueError(f"--threshold: {demand.metric!r} is not measured (one of {known})")
        if is_share(demand.metric) and not (0 <= demand.bound < 1 if demand.above else 0 < demand.bound <= 1):
            always = "never" if (demand.bound >= 1) == demand.above else "always"
            raise ValueError(f"--threshold: {demand.text!r} {always} holds, as {demand.metric} is a share (0 to 1)")
        if demand.group not in (None, *groups):
            there = ", ".join(f"'{group}: {demand.metric}'" for group in groups)
            raise ValueError(f"--threshold: nothing will match {demand.text!r} (there is {there})")


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
