"""What the papers' formulas predict, computed from laws alone.

Every copy has an information age X, the time since its data left the source. A
topology is an operation on X, freshness is one integral of its tail, and sizing
inverts it.

Information ages:

    prediction        a predicted number, where it comes from and how far it can be trusted
    information_age   the law of X; pulls, the best of several, delays; and `freshness`
    curve             functions of time as piecewise polynomials, which that computes with
    marks             where their pieces should end: jumps, bends and scales of laws
    half_line         integrals against the law of X on the whole half line
    single_hop        how long a copy stays fresh, and what is left of that
    phase_lock        constant updates under constant downloads, by the phase at which they meet
    order             which law of intervals keeps copies fresher at the same rate
    superposition     clients that ask several replicas and keep the freshest answer
    churn             a replica that goes down and comes back

Clusters, whose replicas poll one another:

    cluster           which of the following holds, and what it says
    chain             Poisson downloads and polls: exact
    download_chain    Poisson polls and any law of downloads: exact
    sampled_spread    few replicas with any laws, by sampled paths of their polls
    renewal_limit     very many replicas with any laws

Staleness beyond fresh or not:

    penalties         the metrics of staleness, for any X
    weights           what an age costs: weight functions and their integrals
    expression        such functions as text
    charge            what a copy of some age is expected to cost

Bandwidth and size:

    load              lines at nodes whose bandwidth is limited
    service           service rate, and the best size of a system
    inverse           the rate that meets a target
    stretched         a law of the same shape at another rate

Many sources:

    many_copies       copies of many sources at once, by what lies between their downloads
    aggregate         any fresh, all fresh, several replicas
    allocation        a budget of downloads shared out for freshness or another penalty

The Crawl paper:

    crawling          which pages to refresh and how often: Algorithms 1 and 2
    crawl_fixed       the best rates at fixed intervals, solved numerically
    crawl_policies    what these are compared with

The Sync paper:

    sync_order        freshness and age of one element, by the order of synchronisation
    sync_rates        those of a database whose elements change at rates that follow a law
    sync_allocation   how often to synchronise each element
    synchronization   the paper's tables and graphs of these
"""
