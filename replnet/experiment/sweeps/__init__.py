"""Experiments run cell by cell, and what their tables say.

In reading order:

    sweep      every cell once, on any number of workers, into a directory that can be carried on with
    cell       one cell: emulated beside its formulas, as plain data
    outlook    what a sweep will take, from a glance at a few cells
    swept      the result of a sweep, finished or not
    compare    the finished table: all rows judged together, beside what a paper prints
    claims     claims about a whole table
    errata     what a table shows of the mistakes of a paper, and of what was expected
    two_runs   the difference of two runs, with its interval
    sizing     the smallest value of one field that will do
    optimise   the best size of a system
    systems    the search for that where no formula is, measured
"""
