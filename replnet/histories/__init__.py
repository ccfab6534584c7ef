"""Recorded histories: read, fitted, replayed, audited.

In it:

    audit         A real replica from its two recorded histories: what it had, what models say
    fitting       laws fitted to recorded intervals by maximum likelihood, and how good the fits are
    git_history   when a path in a git repository changed, from repositories that nobody vouches for
    history       A recorded history of events: when they came, and what their intervals have in common
    mediawiki     when a page of a MediaWiki was revised, from its XML dumps and the answers of its API
    replay        what a replica had at every instant, from two recorded histories, exactly
    tails         how heavy the tail of recorded intervals is: the index of a power law, and whether it is one
    trace_fit     everything that one recorded history says: laws, tail, correlation, rhythm
    trace_import  event times from what records them, as the plain CSV that `trace(file=...)` and `replnet audit` read
    waste         how wrong the Poisson formula is for a recorded source, and what it would cost (Staleness VI-B
"""
