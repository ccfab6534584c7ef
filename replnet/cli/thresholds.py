"""Demands on what was measured, such as 'freshness > 0.9': whether they can be judged, and whether they hold."""

from __future__ import annotations

from replnet.cli.output import echo
from replnet.network import Network
from replnet.run import Emulated, Threshold
from replnet.text import FieldError


def check(demands: list[Threshold], network: Network, by: str | None = None) -> None:
    """Raise FieldError for a demand that cannot be judged, before anything runs.

    It may be on a metric that is not measured, have a bound that every value or none meets, or be on a group that no
    row of the network will have. With `by` of `source`, there are rows by source as well.
    """
    groups = _groups(network, by) if demands else []
    for demand in demands:
        demand.require_open()
        if demand.group not in (None, *groups):
            possible = ", ".join(f"'{group}: {demand.metric}'" for group in groups)
            raise FieldError(demand.field, f"nothing will match {demand.text!r}", f"there is {possible}")


def _groups(network: Network, by: str | None) -> list[str]:
    """Return the groups that rows of the network will have; if `by` is `source`, also `GROUP of SOURCE`."""
    if network.kind == "aggregate":
        from replnet.lab.experiment import groups_of

        return sorted(groups_of(network.data()))
    if by == "source":
        from replnet.run import rows_by_source

        return rows_by_source(network)
    return list(dict.fromkeys(about["group"] for _, about in network.graph.nodes(data=True)))


def judge(demands: list[Threshold], result: Emulated) -> set[bool | None]:
    """Print on stderr whether each demand holds for the result, and return the set of all answers.

    An answer is True, False, or None if the interval lies across the bound or there is no row to judge.
    """
    all_answers: set[bool | None] = set()
    for demand in demands:
        rows = result.about(demand.metric, demand.group)
        # What this network has no rows of cannot be judged either.
        answers = {demand.holds(row) for row in rows} or {None}
        why = "the interval lies across it" if rows else "there is no such row"
        verdict = f"unresolved, {why}" if None in answers else "holds"
        echo(f"{demand.text}: {'failed' if False in answers else verdict}", err=True)
        all_answers |= answers
    return all_answers
