"""The algebra of information ages: what a copy of a copy, the best of several, or a member of a cluster holds.

In it:

    chain            A cluster with Poisson downloads and polls: exact, for any number of replicas
    charge           what a copy of age x is expected to cost, whatever made it that old
    churn            A replica that goes down and comes back, downloading from a source that does not
    cluster          replicas that pull from the source and from one another (P2P VI), as information ages
    curve            functions of time as piecewise polynomials
    download_chain   A cluster with Poisson polls and any law of downloads: exact too, for finite m
    durations        how long a copy stays fresh, and what is left of that (P2P V-B)
    half_line        the law of an information age X on the whole half line, and integrals against it
    information_age  the law of the information age X of a copy, and what topologies do to it
    panels           where to put panels: the jumps, bends and scales of laws
    penalties        staleness of a copy beyond fresh or not (Staleness II-IV, Sync 2.1), for any information age X
    prediction       A predicted number, with where it comes from and how far it can be trusted
    queueing         lines at nodes whose bandwidth is limited (beyond the papers
    renewal_limit    A cluster of very many replicas, with any laws of downloads and polls
    roots            the rate that meets a target: roots of increasing functions
    sampled_paths    A cluster of few replicas with any laws of downloads and polls, by sampled paths of its polls
    weights          what an age costs: weight functions w and their repeated integrals (Staleness II-C, eq. 24)
"""
