"""Recorded histories: read, fitted, replayed, audited.

In reading order:

    trace_import   event times from CSV, Parquet and JSON files, and from the following two
    git_history    when a path in a git repository changed
    mediawiki      when a page of a MediaWiki was revised
    trace_fit      everything that one history says
    fitting        laws fitted to its intervals
    tails          how heavy their tail is
    waste          how wrong the Poisson formula is for it, and what that costs
    audit          a real replica from its two histories: what it had, and what models say
"""
