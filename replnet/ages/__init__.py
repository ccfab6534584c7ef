"""The algebra of information ages: what a copy of a copy, the best of several, or a member of a cluster holds.

In it:

    information_age  the law of the information age X of a copy, and what topologies do to it
    half_line        that law on the whole half line, and integrals against it
    penalties        staleness of a copy beyond fresh or not (Staleness II-IV, Sync 2.1), for any X
    spells           how long it stays fresh, and stale (P2P V-B)
    weights          what an age costs: weight functions w and their repeated integrals
    prediction       a predicted number, with where it comes from and how far it can be trusted
    roots            rates that meet a target: where increasing functions cross zero

    clusters         replicas that pull from the source and from one another (P2P VI)
    overlays         Poisson pulls along any links
    choices          the freshest of several copies, some of which come by shared ways

    curve            functions of time as piecewise polynomials: fitted, integrated, convolved
    panels           where to put panels: the jumps, bends and scales of laws

    transient        ages some time after something has happened, which are not stationary
    churn            a replica that goes down and comes back, downloading from a source that does not
    queueing         lines at nodes whose bandwidth is limited
"""
