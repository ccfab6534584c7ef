"""From a network to what formulas say of it; shares no code with the engines.

In it:

    capacity      what limited bandwidth means for a network: service rates, lines, and messages that are turned away
    many_sources  what the formulas say of an aggregate: of the copies of many sources at once
    predict       from a network to formulas: the information age of every node, composed along its graph
    presence      how often there is a copy, or an answer, where things go wrong
"""
