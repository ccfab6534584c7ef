"""Networks of sources, replicas and clients: specified by the user, checked, and built as graphs.

In it:

    aggregate      the specification of an aggregate: many sources, and replicas that keep copies of all of them
    build          specifications to NetworkX graphs
    common         what every network may say, whatever its kind
    faults         what goes wrong in a network, and when: crashes, cuts and losses as users write them
    graph_fields   networks that name their nodes and links
    graph_file     graphs made elsewhere: GraphML
    graph_import   A graph specification that reads its nodes and links from another file
    memory_check   how much memory a network takes, and whether this machine has it
    messages       what nodes say to one another, and what they ask of whoever runs them
    network        A network: what the user specified, and the graph that it means
    nodes          source, Replica and Client as state machines: told what happened, they answer with commands
    parts          what the specifications of all kinds share
    sources        the sources of an aggregate as arrays: how often each changes, in what shape, and what it counts
    specification  specifications of networks: one model per kind, the fields as users write them
    tiers          networks as tiers of one another
    wiring         A graph specification made explicit: the role and laws of every node, the kind of every link
    pictures       a folder of its own
"""

from replnet.network.network import Network, aggregate, cascade, compose, cooperative, graph, load, redundant, single
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
    "graph",
    "load",
    "redundant",
    "shipped",
    "shipped_names",
    "single",
]
