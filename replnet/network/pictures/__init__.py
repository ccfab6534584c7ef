"""Networks as text and as pictures.

In it:

    description  a network as text: in a few lines, and its topology with the first branch in full
    layout       the graph seen as trees, where the nodes of a picture stand, and which are left out of it
    drawing      pictures of networks, with matplotlib
"""
