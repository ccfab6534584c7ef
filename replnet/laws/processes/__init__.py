"""From laws to instants: random streams, stationary processes, intervals that depend on one another.

In it:

    streams        named random streams: one per (seed, replication, node, purpose)
    renewal        stationary processes, generated outwards from time zero; memory that windows reuse
    schedules      processes that are scheduled together, in rounds or slots that they share
    carousel       a round in which every page comes at its rate (Crawl, Algorithm 3)
    clockwork      sets of renewals, scheduled processes and silent ones, with one window for all
    kernels        the compiled loops: words to uniforms and intervals, intervals to instants

Laws whose intervals depend on one another:

    order          a law of the intervals, and the order in which they come
    sequences      listed intervals over and over, and intervals that are correlated with those before them
    poisson        Poisson processes whose rate changes, by the clock or at random
    windows        events that fall into a window of the day
    superposition  the union of independent processes: many users, many authors, many feeds
"""
