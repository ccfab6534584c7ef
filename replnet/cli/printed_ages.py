"""How old the data of replicas was, as the command observe prints it: a line for each replica, the oldest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replnet.cli.output import print_table
from replnet.show import Table

if TYPE_CHECKING:
    from replnet.histories import Observation

OLDEST_SHOWN, YOUNGEST_SHOWN = 22, 3  # of more replicas than both, unless all are wanted


def print_ages(observation: Observation, show_all: bool) -> None:
    """Print the mean age of the data of every replica that tells it, with bounds, and shares of time above some ages.

    Of many replicas these are the oldest and the youngest, unless `show_all`.
    """
    from replnet.histories import INFORMATION_AGE, span_text

    ages = {row.group: row for row in observation.found if row.metric == INFORMATION_AGE}
    metrics = list(dict.fromkeys(row.metric for row in observation.found if row.metric.startswith("older(")))
    shares = {(row.group, row.metric): row.estimate.value for row in observation.found}
    lines = []
    for name, row in sorted(ages.items(), key=lambda item: -item[1].estimate.value):
        low, high = (span_text(value, observation.dated) if value else "0" for value in (row.least, row.most))
        mean = span_text(row.estimate.value, observation.dated) if row.estimate.value else "0"
        older = [f"{shares[name, metric]:.3f}" for metric in metrics]
        lines.append([name, mean, "" if row.least == row.most else f"{low} .. {high}", *older])
    if not show_all and len(lines) > OLDEST_SHOWN + YOUNGEST_SHOWN:
        count = len(lines) - OLDEST_SHOWN - YOUNGEST_SHOWN
        more = [f"... {count} more", "", "--all shows them", *[""] * len(metrics)]
        lines = [*lines[:OLDEST_SHOWN], more, *lines[-YOUNGEST_SHOWN:]]
    print_table(Table(("replica", "data age", "bounds", *metrics), lines))
