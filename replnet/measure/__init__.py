"""From what replications yielded to estimates with intervals, and to verdicts.

In it:

    estimate           means of independent replications, with an interval where one can be trusted
    independence       whether the ages of two processes depend on one another along a path (Staleness IV-A, eq. 30)
    stretches          what copies cost while they are behind, from instants alone: exact sums over a path
    staleness_kernels  the compiled loops of `staleness`: where instants lie among updates
    profile            the whole law of an age along a path, for quantiles
    row                one (group, metric): measured, predicted, judged
    metrics            staleness beyond fresh or not, by name
    verdict            measured beside predicted: z, and a verdict per cell and over all cells
"""
