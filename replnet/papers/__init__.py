"""The formulas of the papers, equation by equation; `formula` lists them by name.

In it:

    p2p         freshness of copies of copies, how long they stay fresh, the best size of a system (P2P)
    levels      rates that keep a cascade fresh at any depth, and what they cost its source (P2P V-D)
    staleness   many sources and many replicas, budgets by penalty (Staleness)
    phases      freshness that depends for good on a phase, where constant intervals meet (Staleness V-C)
    measurability  intervals whose law says nothing of their ages (Staleness III)
    dominance   laws of intervals that are better than others, for all copies (P2P IV, Staleness V)
    sync        change rates that follow a law, allocations, Tables 3, 4 and 6 (Sync)
    estimating  change rates estimated from visits, and the loss of an allocation by them (Estimating)
    crawl       the pages that a crawler should refresh, and how often (Crawl)

    formula     functions known by name, whose signature is their schema in experiments and on the command line
    orders      freshness and age of one element, by the order of synchronisation (Sync Table 2)
    budget      a budget shared among sources: one condition and one solver for all papers
    allocation  the rates that a policy gives to many sources, by its name
"""
