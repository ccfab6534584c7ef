"""Networks emulated beside their formulas, one at a time and in sweeps.

One network, from what is asked to what is shown:

    predict, capacity, presence    formulas by (group, metric), each a `formula`
    metrics                        staleness beyond fresh or not, by name: how it is measured and predicted
    emulate, replications          paths until there are enough
    behind, event_log              what a path is played back for: staleness along it, its events
    findings                       estimates, verdicts and rows of all paths
    doubts, dependence             what laws, and a path, say against an interval or a formula
    on_the_clock                   the same in real time
    result                         rows, and where they come from

and in folders: `aggregates` (the same of many sources), `computed` (formulas without a network), `spec` (experiment
files), `sweeps` (their cells, tables, claims and sizes), `storage` (what is on the disk), `recorded` (histories of
real replicas).
"""
