"""Engines: what makes a network happen. They draw the same instants and choices, and agree copy by copy.

What all of them share:

    plan       what they know of a network: who can hear of which source, and what follows from that for a run
    start      where a path begins so that its state at time zero is stationary, and how that is proven
    outages    who is down when, which ways are cut, and which messages are lost
    lines      bandwidth: what nodes spend it on, and the lines that form where it is limited
    path       what is asked of all replications alike, and what comes of one, by group and metric
    tally      what a path amounts to: stretches of copies and answers, added up by group and source
    log        what happened on a path, in columns

`array` puts windows of events through compiled kernels:

    array      a run: windows, one after another, of several replications side by side
    layout     a plan laid out for that: places and slots of copies, components, replications
    pulls      the pulls of a window in time order, with those that are still on their way
    passes     what a window does to the copies: one pass, compiled for what a network needs
    tree_pass  the same over trees, where no global order of events is needed

`step` runs the nodes themselves (network/nodes), and so does every host of a live run:

    runner     nodes as they go on: wakes, messages, lines and faults, in virtual time or on a clock
    watcher    what is to be seen of them: what they hold from when to when, their answers, their log
    step       all nodes of a replication in one runner, one event at a time, in virtual time
"""
