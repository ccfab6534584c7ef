"""From the paths of replications to estimates with intervals, and to verdicts.

In it:

    estimate           means of independent replications, with an interval where one can be trusted
    independence       whether the ages of two processes depend on one another along a path (Staleness IV-A, eq. 30)
    departures         when a copy left its source, or why there is no such instant
    stretches          the costs of copies while they are out of date, as exact sums over a path
    stale_spells       how long copies stay stale, from one stretch to the next
    staleness_kernels  the compiled loops of `stretches`: where instants lie among updates
    profile            the distribution of an age along a path, for quantiles
    row                one (group, metric): measured, predicted, judged
    metrics            staleness beyond fresh or not, by name
    own_metrics        metrics that a program gives as functions of its own
    verdict            measured beside predicted: z, and a verdict per cell and over all cells
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.measure.departures import (
        FLOOR,
        NEVER_CAME,
        NOT_HELD,
        UNKNOWN,
        held_mask,
        known_mask,
        marked_unknown,
        never_came,
    )
    from replnet.measure.estimate import Estimate, FEWEST_REPLICATIONS, estimate_difference, paired_difference, ratio
    from replnet.measure.independence import dependence
    from replnet.measure.metrics import (
        AT_A_TIME,
        Metric,
        PLAIN_METRICS,
        expand_range,
        finite_cost,
        is_metric_on_request,
        metric,
        metrics,
    )
    from replnet.measure.own_metrics import functions_among, metric_of_function
    from replnet.measure.profile import PLACES, cumulative_curve, grid_places, length_below, pseudo_values
    from replnet.measure.row import (
        AT,
        COMPARED,
        METRICS,
        NO_PREDICTION,
        PREDICTED,
        Row,
        TIME,
        base_name,
        drop_if_rough,
        is_share,
        judge_rows,
        metrics_on_request,
        share_note,
    )
    from replnet.measure.stale_spells import StaleSpells
    from replnet.measure.stretches import Question, Stretches, Updates
    from replnet.measure.verdict import (
        Comparison,
        FAMILY,
        RESOLUTION,
        ROUNDING,
        verdicts,
        visible_errors,
        worst_verdict,
    )
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
