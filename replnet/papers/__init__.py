"""What the papers state, equation by equation; `formula` has all of it by name.

In it:

    p2p         freshness of copies of copies, how long they stay fresh, the best size of a system (P2P)
    levels      rates that keep a cascade fresh at any depth, and what they cost its source (P2P V-D)
    staleness   many sources and many replicas, budgets by penalty (Staleness)
    phases      what copies and queries keep for good where constant intervals meet (Staleness V-C)
    measurability  intervals whose law says nothing of their ages (Staleness III)
    dominance   which laws of intervals are better than others, for all copies (P2P IV, Staleness V)
    sync        change rates that follow a law, allocations, Tables 3, 4 and 6 (Sync)
    estimating  change rates from what a crawler sees, and what an allocation by them loses (Estimating)
    crawl       which pages a crawler should refresh, and how often (Crawl)

    formula     functions known by name, whose signature is their schema in experiments and on the command line
    orders      freshness and age of one element, by the order of synchronisation (Sync Table 2)
    budget      a budget shared among sources: one condition and one solver for all papers
    allocation  the rates that a policy gives to many sources, by its name
"""
