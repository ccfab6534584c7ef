"""From laws to instants: streams of chance, processes in equilibrium, intervals that depend on one another.

In it:

    streams        named streams of chance: one per (seed, replication, node, purpose)
    renewal        processes in equilibrium, generated outwards from time zero; memory that their windows use again
    schedules      processes that are drawn together: who comes when, in rounds or slots that all of them share
    carousel       a round in which every page comes at its rate (Crawl, Algorithm 3)
    clockwork      renewals, scheduled processes and silent ones side by side, with one window for all
    kernels        the compiled loops: words to uniforms and intervals, intervals to instants

Laws whose intervals depend on one another:

    order          a law of the intervals, and the order in which they come
    sequences      intervals as they are listed, over and over, and intervals alike those before them
    poisson        Poisson processes whose rate changes, by the clock or at random
    windows        events that fall into a window of the day
    superposition  the union of independent processes: many users, many authors, many feeds
"""
