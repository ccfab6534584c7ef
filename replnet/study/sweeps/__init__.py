"""Experiments run cell by cell, and what their tables say.

In it:

    cell      one cell: its network emulated beside its formulas, as a record of plain data
    claims    claims about a whole table, checked on what was measured and on what was predicted
    errata    what a finished table shows of the mistakes of a paper, and of what was expected
    finished  the result of a sweep, finished or not: its records, and what follows from them
    forecast  what a sweep will take, from a glance at a few of its cells
    optimise  the best size of a system: by formula, measured where the formula puts it
    sizing    the inverse problem: the smallest value of one field at which a network is fresh enough
    sweep     run an experiment: every cell once, on any number of workers, into a directory that can be carried on with
    systems   systems of replicas that meet a target, measured: the slowest rate that does
    table     the finished table: every cell's rows judged together, beside what a paper prints
    two_runs  the difference of two runs, cell by cell, with its interval
"""
