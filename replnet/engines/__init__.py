"""Engines: what makes a network happen. They draw the same instants and choices, and agree copy by copy.

What they share:

    plan              a network as arrays: nodes, processes, and whom each may ask
    outages           who is down when, which ways are cut and which messages are lost, all planned beforehand
    lines             bandwidth: what nodes spend it on, and the lines that form
    hazards           what may become of a pull where there are outages or lines
    wiring            the nodes of a plan with their instants and choices
    start             how far back a path begins, so that it is stationary at time zero, and the proof
    tally             how long copies were fresh, from what nodes report
    path              what one path of a network yields, whichever engine made it
    record            a log of what happens on a path

`step`, the readable reference:

    step              the nodes themselves, one event at a time, in virtual time

`array`, compiled:

    array             the engine: window after window of instants, each through a pass
    tiling            a plan laid out for it: replications side by side, and each in components
    pulls             the pulls of a window in time order
    passes            what a window does to the copies: the pass over any network
    trees             the pass over trees, which needs no order of events
    weather           outages and losses as the arrays that a pass takes
    stretch_kernels   the stretches in which copies stay the same, from what a pass yields

And

    live              the nodes in Ray actors, on the wall clock
    aggregate         many sources within a budget
    pool              many independent jobs, here or on Ray workers
"""
