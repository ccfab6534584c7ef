"""Engines: they run a network. All of them draw the same instants and choices, and agree copy by copy.

What all of them share:

    plan       what follows from a network for a run: which sources every node can hear of, groups, cells
    start      how far back a path begins so that its state at time zero is stationary, and how that is proven
    outages    when which nodes are down, between which nodes messages are cut off, and which messages are lost
    lines      bandwidth: what nodes spend it on, and the lines of messages that form if it is limited
    path       the task that all replications of a run share, and the results of one, by row and metric
    tally      the sums over a path: its stretches and answers, added up by group and source
    log        the events on a path, in columns

`array` puts windows of events through compiled kernels:

    array      a batch of replications side by side, run window by window
    layout     a plan laid out for that: components, and the places and slots of copies
    pulls      the queue of pulls: those of a window in time order, behind those still under way
    passes     the passes that apply a window to the copies, compiled for the features of a network
    tree_pass  the pass over trees, where no global order of events is needed

`step` runs the nodes themselves (network/nodes), and so does every host of a live run:

    runner     wakes, messages, lines and faults of nodes, in virtual time or on a clock
    watcher    measurements of nodes while they run: the copies that they hold, their answers, their log
    step       all nodes of a replication in one runner, one event at a time, in virtual time
"""
