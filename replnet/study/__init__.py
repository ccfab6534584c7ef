"""Networks emulated beside their predictions, one at a time and in sweeps.

In it:

    behind        how far copies fell behind on a path: its record
    caveats       what the laws of a network say about how far its measured intervals can be trusted
    dependence    whether updates and downloads meet anew along the paths of a run
    emulate       emulate a network: replications until the horizon or the precision is reached, then one table
    event_log     the events of a run in a Parquet file: replication, at, event, node, peer, left, source
    formulas      a paper's formula by itself, as a result with a table
    findings      what paths of a network amount to, beside what the formulas say: estimates, verdicts and rows
    live_run      A network run for real: paths of the `live` engine beside `step` and the formulas
    provenance    where a number comes from: version, commit, specification, seed, machine
    replications  replications until there are enough of them, or every interval is narrow enough, or Ctrl-C
    result        what a prediction or an emulation returns: rows, and where they come from
    aggregates    a folder of its own
    experiment    a folder of its own
    store         a folder of its own
    sweeps        a folder of its own
"""
