"""Networks emulated beside their predictions, one at a time and in sweeps.

One network:

    predict       predictions as a table: of a network, or one formula of the papers by itself
    emulate       replications until the horizon or the precision is reached, then one table
    replications  replications until there are enough of them, or every interval is narrow enough, or Ctrl-C
    glimpsing     how a run is going, for those who watch it
    kept_run      a run in a directory: an experiment of one cell, whose replications are stored as they are made
    live_run      a network run for real: paths of the `live` engine beside `step` and the formulas
    findings      the results of paths beside the predictions: estimates, verdicts and rows
    caveats       how far measured intervals can be trusted
    demand        thresholds for a result, such as freshness > 0.9, as users write them
    legend        the meanings of the words in a table
    event_log     the events of a run in a Parquet file
    result        the results of predictions and emulations: rows, and where they come from

Many of them:

    experiment    experiments as files: their contents, checked, and the cells that follow
    sweeps        experiments run cell by cell, and their tables
    store         run directories that lose nothing
"""
