"""Networks as text and as pictures.

In it:

    description  A network in a few lines of text
    drawing      pictures of networks, with matplotlib
    forest       the graph seen as trees: every replica below the first upstream that data reaches it through
    layout       where the nodes of a picture stand, and which are left out of it
    sketch       the topology as text: the first branch in full, what stands beside it counted
"""
