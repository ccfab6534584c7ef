"""Networks of sources, replicas and clients: specified by the user, checked, and built.

What users write:

    specification  one model per kind of network, the fields as users write them
    parts          fields that the specifications of several kinds share
    aggregate      many sources, and replicas that keep copies of all of them
    graph_fields   networks that name their nodes and links
    links          links between named nodes, one by one and in columns
    graph_file     graphs of other programs: GraphML, node-link JSON and NetworkX objects
    faults         crashes, cuts and losses, and when they happen

What it means:

    network        a network: its specification, its topology and NetworkX graph, built when first asked for
    build          the topology of a specification, level by level
    wiring         a graph specification made explicit: the role and laws of every node, the kind of every link
    sources        the topology of an aggregate: its sources as arrays, how often and in what order each is downloaded
    topology       a network in columns: blocks of nodes that are alike, their candidates and their clocks
    nodes          source, replica and client as state machines, and the messages between them
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
