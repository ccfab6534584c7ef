"""Networks of sources, replicas and clients: specified by the user, checked, and built.

What users write:

    specification  one model per kind of network, the fields as users write them
    parts          what the specifications of all kinds share
    aggregate      many sources, and replicas that keep copies of all of them
    graph_fields   networks that name their nodes and links
    links          links between named nodes, one by one and in columns
    graph_file     graphs made elsewhere: GraphML, node-link JSON and NetworkX objects
    faults         what goes wrong, and when: crashes, cuts and losses

What it means:

    network        a network: its specification, its topology and NetworkX graph, built when first asked for
    build          specifications to topologies, level by level
    wiring         a graph specification made explicit: the role and laws of every node, the kind of every link
    sources        an aggregate made ready: its sources as arrays, and how often and in what order each is downloaded
    topology       a network in columns: its nodes in blocks that are alike, whom they ask, and when
    nodes          source, replica and client as state machines, and what they say to one another
    pictures       networks as text and as pictures
"""

from replnet.network.network import (
    Network,
    aggregate,
    cascade,
    compose,
    cooperative,
    draw,
    graph,
    load,
    redundant,
    single,
)
from replnet.text.documents import shipped, shipped_names
from replnet.text.errors import InputError, Problem

__all__ = [
    "InputError",
    "Network",
    "Problem",
    "aggregate",
    "cascade",
    "compose",
    "cooperative",
    "draw",
    "graph",
    "load",
    "redundant",
    "shipped",
    "shipped_names",
    "single",
]
