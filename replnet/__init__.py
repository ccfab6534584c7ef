"""Emulates networks of pull-based replicas, and compares them with what the formulas predict.

import replnet as rn

net = rn.cascade(depth=4, branching=3, updates="exponential(rate=2)", downloads="exponential(rate=2)")
rn.predict(net).table
rn.emulate(net, seed=1, horizon=1e5).table
rn.sweep("p2p/fig3", quick=True).table
rn.size("cascade", 0.9).value

The parts, each of which imports only those above it, by the names that their `__init__` offers:

    text         texts of users: errors with places, one grammar, YAML documents, overrides
    workers      work that others do: processes of this machine, or Ray
    store        run directories that lose nothing
    laws         interval laws and their ages
    processes    laws in equilibrium: named random streams, renewals, schedules, dependent intervals
    ages         the algebra of information ages
    allocation   how a budget of downloads is spent over sources
    network      specifications, and topologies in columns
    measure      stretches, estimates with intervals, verdicts, rows
    predictions  from a network to the predictions of formulas
    engines      `array` (compiled kernels), and `nodes` (engine `step`: the nodes, one event at a time)
    run          one network, predicted and emulated

These are the core. The rooms around it:

    live         the nodes in Ray actors, on the wall clock
    lab          the papers, experiments, sweeps, inverse problems, and `rn.emulate`, which chooses the engine
    watch        visits of real sources and replicas, recorded
    histories    recorded processes: read, fitted, replayed, audited
    show         pictures, the HTML report, pages in the browser
    cli          the command line

Beside them:

    testing      tools for tests of networks: a clock, scripted chance, a transport in memory
    compiler     Numba, with a cache that no change of replnet can mislead
    deadline     deadlines, at which work ends with the results so far
    faces        names that a folder offers, loaded when they are first asked for
    version      the version of replnet

Every folder lists its modules in its `__init__`. The way from a user's words to a table:

     1. words          `replnet run cascade`, a YAML file, or rn.cascade(...)       cli/networks, text/documents
     2. specification  checked, with every error named at once                      network/specification
     3. topology       its nodes, and whom each asks and when, in columns           network/build, network/topology
     4. plan           which nodes can hear of which source, and what follows       engines/plan
     5. windows        the instants of every process, one window after another      processes/process_set, engines/array
     6. pass           what the events do to the copies                             engines/array/passes, tree_pass
     7. stretches      when a node held which copy, and when that left its source   engines/tally, measure/stretches
     8. estimates      means over replications, with intervals                      measure/estimate
     9. rows           estimates beside predictions, with a verdict                 run/findings
    10. table          all rows, and their origin                                   run/result, cli/output

Engine `step` does 5 and 6 with the nodes themselves (engines/nodes/nodes, engines/nodes/runner), and `live` for real
(live/host). Formulas (predictions/formulas) leave it at the topology, are composed of ages, and share with 5 to 8 the
laws, what is asked, and the description of the network alone.
"""

from __future__ import annotations

from importlib import import_module

from replnet.version import __version__

TYPE_CHECKING = False  # not from typing, which takes ten times as long to load as all of this
if TYPE_CHECKING:  # for editors and type checkers, which do not call __getattr__
    from typing import Any

    from replnet.laws import (
        Law, alternating, constant, correlated, diurnal, empirical, erlang, exponential, gamma, hyperexponential,
        lattice, law, lognormal, longrange, modulated, pareto, scipy, shuffled, superposition, trace, uniform, weibull,
        windowed,
    )  # fmt: skip
    from replnet.text import InputError
    from replnet.network import Network, aggregate, cascade, compose, cooperative, graph, load, redundant, single
    from replnet.run import predict, schedule
    from replnet.lab import emulate, formula, formulas
    from replnet.lab.sweeps import compare, open, sweep
    from replnet.lab.inverse import design, size
    from replnet.show.report import reproduce
    from replnet.histories import audit, change_rate, change_rates, fit, observe, propose

# Loaded when first asked for: a prediction needs neither pandas nor the compiler.
_HOMES = {
    "replnet.laws": (
        "Law", "law", "trace", "constant", "empirical", "erlang", "exponential", "gamma", "hyperexponential",
        "lattice", "lognormal", "pareto", "scipy", "uniform", "weibull",
        "alternating", "correlated", "diurnal", "longrange", "modulated", "shuffled", "superposition", "windowed",
    ),
    "replnet.text": ("InputError",),
    "replnet.network": (
        "Network", "aggregate", "cascade", "compose", "cooperative", "graph", "load", "redundant", "single",
    ),
    "replnet.run": ("predict", "schedule"),
    "replnet.lab": ("emulate", "formula", "formulas"),
    "replnet.lab.sweeps": ("compare", "open", "sweep"),
    "replnet.lab.inverse": ("design", "size"),
    "replnet.show.report": ("reproduce",),
    "replnet.histories": ("audit", "change_rate", "change_rates", "fit", "observe", "propose"),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [  # written out, as type checkers read it
    "InputError",
    "Law",
    "Network",
    "__version__",
    "aggregate",
    "alternating",
    "audit",
    "cascade",
    "change_rate",
    "change_rates",
    "compare",
    "compose",
    "constant",
    "cooperative",
    "correlated",
    "design",
    "diurnal",
    "empirical",
    "emulate",
    "erlang",
    "exponential",
    "fit",
    "formula",
    "formulas",
    "gamma",
    "graph",
    "hyperexponential",
    "lattice",
    "law",
    "load",
    "lognormal",
    "longrange",
    "modulated",
    "observe",
    "open",
    "pareto",
    "predict",
    "propose",
    "redundant",
    "reproduce",
    "schedule",
    "scipy",
    "shuffled",
    "single",
    "size",
    "superposition",
    "sweep",
    "trace",
    "uniform",
    "weibull",
    "windowed",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "show":  # which stands above networks and results, and shows them for their methods
        return import_module("replnet.show")
    if name not in _HOME:
        raise AttributeError(f"module 'replnet' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
