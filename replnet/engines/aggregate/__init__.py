"""Many sources and the copies of them, that are refreshed within a budget.

In reading order:

    processes   the processes of many sources as arrays
    refreshes   when the copies of every source are refreshed, by the order in which that happens
    copies      what becomes of the copies
    kernels     the compiled loop
"""
