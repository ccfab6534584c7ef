"""From laws to instants: streams of chance, processes in equilibrium, intervals that depend on one another.

In it:

    streams        named streams of chance: one per (seed, replication, node, purpose)
    renewal        processes in equilibrium, generated outwards from time zero; memory that their windows use again
    order          processes whose intervals depend on one another: a law of the intervals, and their order
    sequences      intervals as they are listed, over and over, and intervals alike those before them
    poisson        Poisson processes whose rate changes, by the clock or at random
    superposition  the union of independent processes: many users, many authors, many feeds
    kernels        the compiled loops of processes: words to uniforms and intervals, intervals to instants
"""
