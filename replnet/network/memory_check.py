"""How much memory a network takes, and whether this machine has it."""

from __future__ import annotations

import os

from replnet.text.errors import FieldError

# Bytes per node, measured on clusters of 100,000 and 1,000,000 replicas: the graph, and 32 replications in `array`.
GRAPH, EMULATED = 1_100, 6_500
COPIES = 150  # bytes per source of an aggregate, measured on 10,000,000 of them
MANY = 100_000  # nodes from which on it is worth saying


def memory() -> int:
    """Bytes that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def require_room(nodes: int, each: int = GRAPH) -> None:
    """Refuses what this machine cannot hold, before it tries for minutes."""
    needed, there = nodes * each, memory()
    if needed > there:
        wrong = f"{nodes:,} nodes take about {needed / 1e9:.2g} GB of memory, and this machine has {there / 1e9:.2g}"
        raise FieldError("network", wrong, f"at most {there // each:,} nodes")


def memory_said(nodes: int) -> str:
    """About how much a large network takes; empty for others."""
    if nodes < MANY:
        return ""
    return f"memory: about {nodes * GRAPH / 1e9:.2g} GB, {nodes * EMULATED / 1e9:.2g} GB to emulate it"
