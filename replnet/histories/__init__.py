"""Recorded histories: read, fitted, replayed, audited.

In it:

    history       a recorded history of events: when they came, and what their intervals have in common
    trace_import  event times from what records them: CSV, Parquet, JSON, dumps and answers of MediaWiki, git
    fitting       laws fitted to recorded intervals by maximum likelihood, how good they are, and how heavy the tail is
    replay        what a replica had at every instant, from two recorded histories, exactly
    audit         a real replica from its two recorded histories: what it had, what models say, and what they assume
    observing     a source and its replicas from outside: what each had, and what clients who ask several get
    trace_fit     what one recorded history says: laws, tail, correlation, rhythm, and the price of the Poisson formula
    change_rate   how often an element changes, estimated from what visits see of it
"""
