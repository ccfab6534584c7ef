"""Networks of sources, replicas and clients: specified by the user, checked, and built as graphs.

A network from its words to its graph:

    files           files of the user: text, and YAML as data that remembers where everything stands
    compose_yaml    what that reads YAML with
    overrides       `-s key=value`: one field of a file replaced
    anchored        names of files within a file, made absolute
    shipped         files that come with replnet, by name
    errors          what is wrong with an input, where it stands, and what would be right
    validation      data checked by a pydantic model, and what that says as such errors
    fields          the types of fields
    parts           what the specifications of all kinds share
    whole           what every network may say besides: name, delay, bandwidth, faults
    faults          crashes, cuts and losses as users write them
    spec            one model per kind of network; `KINDS` lists them
    aggregate       the one of many sources
    sources         its sources as arrays
    graph_spec      the one that names nodes and links
    graph_import    such a specification that reads them from another file
    graph_file      that file: GraphML or node-link JSON, and NetworkX objects
    wiring          such a specification made explicit: a role and laws for every node, a kind for every link
    room            whether there is memory for so many nodes
    build           specifications to NetworkX graphs
    tiers           the same for tiers of one another
    network         `Network`: a specification and its graph; `load`, `cascade(...)` and the like make one

What lives in it:

    messages        what nodes say to one another, and what they ask of whoever runs them
    nodes           Source, Replica and Client as state machines

How it is shown:

    describe        in a few lines of text
    sketch          the topology as text
    forest          the graph seen as trees
    layout          where the nodes of a picture stand
    draw            pictures, with matplotlib
"""

from replnet.network.errors import InputError, Problem
from replnet.network.network import Network, aggregate, cascade, compose, cooperative, graph, load, redundant, single
from replnet.network.shipped import shipped, shipped_names

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
