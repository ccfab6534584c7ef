"""Networks of sources, replicas and clients: specified by the user, checked, and built.

What users write:

    specification  one model per kind of network, the fields as users write them
    fields         types of the fields of specifications and formulas: laws, numbers, lists of them
    parts          fields that the specifications of several kinds share
    aggregate      many sources, and replicas that keep copies of all of them
    source_tables  rates, weights and names of sources in files and DataFrames, a row for each
    long_lists     lists with an entry per source as plain data, one text if they are long
    source_files   files and DataFrames read by columns, with the lines of their rows
    graph_fields   networks that name their nodes and links
    links          links between named nodes, one by one and in columns
    graph_file     graphs of other programs: GraphML, GML, node-link JSON, lists of edges and NetworkX objects
    gml            the nodes and edges of a GML text
    edge_list      the links of a list of edges: CSV, TSV, and what NetworkX writes
    faults         crashes, cuts and losses, and when they happen

What it means:

    constructors   networks of each kind in Python, with every field as a parameter
    network        a network: its specification, its topology and NetworkX graph, built when first asked for
    build          the topology of a specification, level by level
    graph_columns  a graph specification made explicit: the role and laws of every node, the kind of every link
    sources        the topology of an aggregate: its sources as arrays, how often and in what order each is downloaded
    topology       a network in columns: blocks of nodes that are alike, their candidates and their clocks
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.network import specification
    from replnet.network.aggregate import Aggregate
    from replnet.network.build import LARGE_NETWORK, machine_memory, replication_bytes, require_room, resources_note
    from replnet.network.faults import Crash, Fault, Faults, LinkFault, ONE, OTHER, faults, on_opposite_sides
    from replnet.network.fields import (
        AtLeastOne,
        AtLeastTwo,
        Bandwidth,
        Count,
        CountOrMany,
        CountOrNone,
        Depth,
        FAMILY,
        Family,
        LAW_SCHEMA,
        LawField,
        LawList,
        Name,
        Part,
        PerSource,
        PerSourceField,
        Share,
        Target,
        amount,
        positive,
        size_errors,
        source_weights,
        text,
        values_per_source,
        whole,
    )
    from replnet.network.constructors import LawLike, aggregate, cascade, compose, cooperative, graph, redundant, single
    from replnet.network.network import (
        EXPERIMENT_FIELDS,
        Given,
        Network,
        document_of,
        file_of,
        is_experiment,
        load,
        network_of,
    )
    from replnet.network.parts import HELP, TimeUnit
    from replnet.network.sources import MOST_SOURCES_SHOWN, ManySources, Sources, part_of, source_slices, sources_of
    from replnet.network.specification import KINDS, schema
    from replnet.network.topology import (
        BestOfView,
        CLIENT,
        Clocks,
        DOWNLOADS,
        INDEX,
        IndexLists,
        POLLS,
        Processes,
        QUERIES,
        REPLICA,
        ROLES,
        SOURCE,
        Topology,
        UPDATES,
        runs,
    )
    from replnet.text import DocumentError, Problem, shipped, shipped_names
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
