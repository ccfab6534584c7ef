"""Emulates networks of pull-based replicas, and compares them with what the formulas predict.

import replnet as rn

net = rn.cascade(depth=4, branching=3, updates="exponential(rate=2)", downloads="exponential(rate=2)")
rn.predict(net).table
rn.emulate(net, seed=1, horizon=1e5).table
rn.sweep("p2p/fig3", quick=True).table
rn.size("cascade", 0.9).value

The parts, each of which imports only from those above it:

    text         texts of users: errors with places, one grammar, YAML documents, overrides
    laws         interval laws, their ages, stationary processes, named random streams
    ages         the algebra of information ages
    papers       the statements of the papers, equation by equation, each by name
    network      specifications, NetworkX graphs, the nodes as state machines
    measure      estimates with intervals, verdicts, staleness along a path
    predictions  from a network to the predictions of formulas
    engines      `array` (compiled kernels) and `step` (the nodes, one event at a time)
    live         the nodes in Ray actors, on the wall clock; a pool of workers
    histories    recorded processes: read, fitted, replayed, audited
    study        predict, emulate, compare; experiments and sweeps, and their files on the disk
    report       tables, figures, the HTML report
    web          pages in the browser: explore, watch, read
    cli          the command line

Beside them:

    testing      tools for tests of networks: a clock, scripted chance, a transport in memory
    compiler     Numba, with a cache that no change of replnet can mislead
    deadline     deadlines, at which work ends with the results so far
    version      the version of replnet

Every folder lists its modules in its `__init__`. The way from a user's words to a table:

     1. words          `replnet run cascade`, a YAML file, or rn.cascade(...)       cli/networks, text/documents
     2. specification  checked, with every error named at once                      network/specification
     3. topology       its nodes, and whom each asks and when, in columns           network/build, network/topology
     4. plan           which nodes can hear of which source, and what follows       engines/plan
     5. windows        the instants of every process, one window after another      processes/clockwork, engines/array
     6. pass           what the events do to the copies                             engines/passes, engines/tree_pass
     7. stretches      when a node held which copy, and when that left its source   engines/tally, measure/stretches
     8. estimates      means over replications, with intervals                      measure/estimate
     9. rows           estimates beside predictions, with a verdict                 study/findings
    10. table          all rows, and their origin                                   study/result, cli/output

Engine `step` does 5 and 6 with the nodes themselves (network/nodes, engines/runner), and `live` for real (live/host).
Formulas (predictions/formulas) leave it at the topology, are composed of ages, and share only laws with 5 to 8.
"""

from __future__ import annotations

from importlib import import_module

from replnet.version import __version__

TYPE_CHECKING = False  # not from typing, which takes ten times as long to load as all of this
if TYPE_CHECKING:  # for editors and type checkers, which do not call __getattr__
    from typing import Any

    from replnet.study.emulate import emulate
    from replnet.study.predict import predict
    from replnet.papers.formula import formulas
    from replnet.study.predict import formula
    from replnet.laws import (
        Law, alternating, constant, correlated, diurnal, empirical, erlang, exponential, gamma, hyperexponential,
        lattice, law, lognormal, longrange, modulated, pareto, scipy, shuffled, superposition, trace, uniform, weibull,
        windowed,
    )  # fmt: skip
    from replnet.text.errors import InputError
    from replnet.network.network import (
        Network, aggregate, cascade, compose, cooperative, graph, load, redundant, single,
    )  # fmt: skip
    from replnet.study.sweeps.finished import compare, open
    from replnet.study.sweeps.designing import design
    from replnet.study.sweeps.sizing import size
    from replnet.study.sweeps.sweep import sweep
    from replnet.report.reproduction import reproduce
    from replnet.histories.audit import audit
    from replnet.histories.change_rate import change_rate
    from replnet.histories.observing import observe
    from replnet.histories.trace_fit import fit

# Loaded when first asked for: a prediction needs neither pandas nor the compiler.
_HOMES = {
    "replnet.network.network": (
        "Network", "aggregate", "cascade", "compose", "cooperative", "graph", "load", "redundant", "single",
    ),
    "replnet.text.errors": ("InputError",),
    "replnet.study.predict": ("formula", "predict"),
    "replnet.papers.formula": ("formulas",),
    "replnet.study.emulate": ("emulate",),
    "replnet.study.sweeps.finished": ("compare", "open"),
    "replnet.study.sweeps.designing": ("design",),
    "replnet.study.sweeps.sizing": ("size",),
    "replnet.study.sweeps.sweep": ("sweep",),
    "replnet.report.reproduction": ("reproduce",),
    "replnet.histories.audit": ("audit",),
    "replnet.histories.change_rate": ("change_rate",),
    "replnet.histories.observing": ("observe",),
    "replnet.histories.trace_fit": ("fit",),
    "replnet.laws": (
        "Law", "law", "trace", "constant", "empirical", "erlang", "exponential", "gamma", "hyperexponential",
        "lattice", "lognormal", "pareto", "scipy", "uniform", "weibull",
        "alternating", "correlated", "diurnal", "longrange", "modulated", "shuffled", "superposition", "windowed",
    ),
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
    "redundant",
    "reproduce",
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
    if name == "network":  # a part whose functions are for users too: rn.network.draw
        return import_module("replnet.network")
    if name not in _HOME:
        raise AttributeError(f"module 'replnet' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
