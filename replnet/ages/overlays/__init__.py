"""Poisson pulls along any links, as information ages.

In it:

    contacts       the pulls of all nodes, with nodes that pull alike taken together
    informed_sets  the freshest of several copies, exact while there are few sets
    spreading      the copy of each node, exact on forests and between bounds elsewhere
"""
