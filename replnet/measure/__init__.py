"""From what replications yielded to estimates with intervals, and to verdicts.

In reading order:

    estimate            means of independent replications, with an interval where one can be trusted
    verdict             measured beside predicted: agree, differ or unresolved, a cell by itself and all together
    staleness           what copies cost while they are behind: exact sums over the stretches of a path
    staleness_kernels   the compiled loops of that
    independence        whether the ages of two processes depend on one another along a path
    events              a recorded history of events, and what its intervals have in common
    replay              what a replica had at every instant, from two recorded histories
"""
