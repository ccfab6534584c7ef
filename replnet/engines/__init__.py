"""Engines: what makes a network happen. They draw the same instants and choices, and agree copy by copy.

In it:

    array            the `array` engine: windows of events through compiled kernels
    hazards          what may become of the pulls of one replication, where things go wrong or bandwidth is limited
    lines            bandwidth: what nodes spend it on, and the lines that form at those whose bandwidth is limited
    outage_arrays    what may go wrong in one replication, as the arrays that the kernels of `array` take
    outages          faults of one replication: who is down when, which ways are cut, and which messages are lost
    passes           the pass of `array`: what a window does to the copies of every source
    path             what one emulated path of a network yields, whichever engine made it
    plan             A network as arrays: what `step` walks and `array` compiles, from one graph
    pulls            the pulls of a window in time order, component by component
    record           A log of what happens on a path: its columns, and how `array` comes by them
    start            where a path begins so that its state at time zero is stationary, and how that is proven
    step             the `step` engine: the nodes themselves, one event at a time, in virtual time
    stretch_kernels  the compiled loops behind metrics of staleness: when copies change
    tally            how long copies were fresh, from what the nodes of `step` and `live` report as it happens
    tiling           A plan laid out for `array`: replications side by side, and each in components
    trees            the pass of `array` over trees: no global order of events is needed
    wiring           the nodes of a plan with their instants and choices, whoever runs them and on whatever clock
    aggregate        a folder of its own
"""
