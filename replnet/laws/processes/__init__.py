"""From laws to instants: streams of chance, processes in equilibrium, and processes whose intervals depend on on

In it:

    carousel       A deterministic order of refreshes in which every page comes at its rate (Crawl, Algorithm 3)
    carousel_kernels  the compiled loops of the carousel
    diurnal        A Poisson process whose rate follows the clock, as people do
    gaussian       intervals of any law that remember: a Gaussian sequence, each of its values turned into an interval
    kernels        the compiled loops of processes: words to uniforms and intervals, intervals to instants
    modulated      A Poisson process whose rate changes at random: bursts and lulls
    order          processes whose intervals depend on one another: a law of the intervals
    pattern        intervals that follow one another as they are listed, over and over: a pattern, or a recorded history
    renewal        processes in equilibrium, generated outwards from time zero
    scratch        memory that windows use again and again
    streams        named streams of chance: one per (seed, replication, node, purpose)
    superposition  the union of independent processes: many users, many authors, many feeds
"""
