"""Networks emulated beside their formulas, one at a time and in sweeps.

One network, from what is asked to what is shown:

    formula        what is predicted for one row, or why nothing is
    predict        from a network to formulas by (group, metric): information ages composed along its graph
    capacity       the same for limited bandwidth: service rates, lines, messages that are turned away
    presence       the same for copies that are not there and queries without an answer
    metrics        staleness beyond fresh or not, by name: how it is measured, and how it is predicted
    emulate        paths until there are enough, then one table
    replications   when there are enough
    behind         a path played back against its updates: the metrics of staleness
    event_log      the events of a path in a Parquet file
    doubts         what the laws of a network say against an interval
    dependence     what a path says against a formula that takes ages as independent
    findings       what all paths amount to: estimates, verdicts and rows
    result         rows as a table
    provenance     where a number comes from: version, specification, seed, machine
    csv_table      tables as CSV
    on_the_clock   the `live` engine beside `step` and the formulas

And in folders:

    aggregates     the same of many sources
    computed       formulas without a network
    spec           experiments as files
    sweeps         their cells, tables, claims and sizes
    storage        what they leave on the disk
    recorded       histories of real replicas
"""
