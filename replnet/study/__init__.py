"""Networks emulated beside their predictions, one at a time and in sweeps.

One network:

    predict       what formulas say, as a table: of a network, or one formula of the papers by itself
    emulate       replications until the horizon or the precision is reached, then one table
    replications  replications until there are enough of them, or every interval is narrow enough, or Ctrl-C
    glimpsing     what there is of a run so far, for those who watch it
    kept_run      a run in a directory: an experiment of one cell, whose replications are kept as they are made
    live_run      a network run for real: paths of the `live` engine beside `step` and the formulas
    findings      what paths amount to, beside what the formulas say: estimates, verdicts and rows
    caveats       how far measured intervals can be trusted
    demand        demands on a result, such as freshness > 0.9, as users write them
    legend        what the words of a table mean
    event_log     the events of a run in a Parquet file
    result        what a prediction or an emulation returns: rows, and where they come from

Many of them:

    experiment    experiments as files: what they say, checked, and the cells that follow
    sweeps        experiments run cell by cell, and what their tables say
    store         run directories that lose nothing
"""
