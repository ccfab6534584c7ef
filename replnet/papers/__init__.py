"""What the papers state, equation by equation.

In it:

    allocation       A budget of downloads shared among sources (Staleness VI-C, eq. 66)
    crawl_fixed      the best refresh rates at fixed intervals, solved numerically (Crawl eq. 6, Sync 5.3)
    crawl_policies   what the optimal crawl is compared with, and what an order of refreshes is worth (Crawl, Fig. 1)
    crawling         which pages a crawler should refresh, and how often (Crawl)
    many_replicas    many sources, many replicas (Staleness VI-C to VI-E)
    many_copies      copies of many sources at once: what each is worth, by what lies between its downloads
    order            which law of intervals keeps copies fresher at the same rate (P2P IV)
    phase_lock       constant updates under constant downloads, by the phase at which they meet (Staleness V-C)
    service          service rate under limited bandwidth, and the best size of a system (P2P VI-D, VII)
    superposition    clients that ask several replicas and keep the freshest answer (P2P VII)
    sync_allocation  how often to synchronise each element of a database (Sync 5, App. E)
    sync_order       freshness and age of one element, by the order in which elements are synchronised (Sync 4, App. B)
    sync_rates       freshness and age of a database whose elements change at rates that follow a law (Sync 5.1, App. C)
    synchronization  what Sync asks of orders and allocations: Tables 4 and 6, and the graphs of Fig. 10, 17 and 18
"""
