"""From the paths of replications to estimates with intervals, and to verdicts.

In it:

    estimate           means of independent replications, with an interval where one can be trusted
    independence       whether the ages of two processes depend on one another along a path (Staleness IV-A, eq. 30)
    stretches          the costs of copies while they are out of date, as exact sums over a path
    stale_spells       how long copies stay stale, from one stretch to the next
    staleness_kernels  the compiled loops of `stretches`: where instants lie among updates
    profile            the distribution of an age along a path, for quantiles
    row                one (group, metric): measured, predicted, judged
    metrics            staleness beyond fresh or not, by name
    verdict            measured beside predicted: z, and a verdict per cell and over all cells
"""
