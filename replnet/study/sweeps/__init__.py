"""Experiments run cell by cell, and what their tables say.

In it:

    finished       the result of a sweep, finished or not: its records, and what follows from them
    forecast       what a sweep will take, from a glance at a few of its cells
    search         the least amount that meets a demand, and the cheapest of several amounts
    architectures  replicas that ask the source, tiers above them, clusters, redundancy: in all sizes, their rates open
    rate_search    the rates of the fewest messages for an architecture
    designing      from a target to a network: architecture, law of pulls and rates with the fewest messages
    sizing         the inverse problem: the smallest value of one field at which a network is fresh enough
    verifying      the networks that an inverse problem ends in, emulated and judged together
    statements     claims, mistakes of a paper, and expected values, checked on a finished table
    sweep          run an experiment: every cell once, on any number of workers, into a directory to carry on with
    judged_table   the finished table: every cell's rows judged together, beside what a paper prints
"""
