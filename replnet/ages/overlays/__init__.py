"""Poisson pulls along any links, as information ages.

In it:

    contacts       who asks whom, with nodes that are alike taken together
    informed_sets  the freshest of several copies, exact while there are few sets
    spreading      each one's copy, exact on forests and between bounds elsewhere
"""
