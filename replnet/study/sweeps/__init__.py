"""Experiments run cell by cell, and what their tables say.

In it:

    finished      the result of a sweep, finished or not: its records, and what follows from them
    forecast      what a sweep will take, from a glance at a few of its cells
    designing     from a target to a network: architecture, law of pulls and rates with the fewest messages
    sizing        the inverse problem: the smallest value of one field at which a network is fresh enough
    statements    what a finished table makes of claims, of mistakes of a paper, and of what was expected
    sweep         run an experiment: every cell once, on any number of workers, into a directory to carry on with
    judged_table  the finished table: every cell's rows judged together, beside what a paper prints
"""
