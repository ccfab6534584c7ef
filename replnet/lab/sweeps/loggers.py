"""Loggers: classes of other packages that are told of every finished cell, and of the end of a sweep.

    @logger("mine")
    class Mine:
        def cell(self, run: str, parameters: dict[str, Any], rows: list[dict[str, Any]]) -> None: ...
        def end(self, run: str, parameters: dict[str, Any], rows: list[dict[str, Any]]) -> None: ...

Each sweep makes one of each. `run` is the id of the run (`run_id`), the same when the sweep is carried on with. Of a
cell, `parameters` are the experiment, the fields of its network or formula and the values of its axes, and `rows` its
rows without verdicts, as these are judged together. At the end `parameters` say what the sweep is and how it ended, and
`rows` are those of the whole table. A cell that differed is told again after its longer run, then with `longer` true; a
cell that an earlier sweep finished is not told again. A package has its loggers under entry points of the group
`replnet.loggers`, each with the name of its logger (experiments/mlflow is one); in a program the decorator is enough.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from functools import cache, partial
from typing import Any, TypeVar, final

from replnet.lab.experiment import Cell
from replnet.lab.kept_run import row_from_record
from replnet.lab.sweeps.finished import Sweep
from replnet.lab.sweeps.stored_table import subject_names
from replnet.measure import COMPARED
from replnet.text import FieldError, load_plugins
from replnet.version import __version__

PLUGINS = "replnet.loggers"  # the group of entry points
METHODS = ("cell", "end")
SUBJECT_FIELDS = ("kind", "system", "name")  # of a network, a system or a formula; told as `network` or `formula`
ROW_COLUMNS = tuple(name for name in COMPARED if name != "verdict")

_KNOWN: dict[str, type[Any]] = {}
Class = TypeVar("Class", bound=type[Any])


def logger(name: str) -> Callable[[Class], Class]:
    """Return a decorator that makes a class known as the logger `name`, and returns it unchanged.

    Every sweep makes an object of it, without arguments, and calls its methods `cell` and `end`. Raises FieldError if
    the name is that of another logger, or a method is missing.
    """

    def register(kind: Class) -> Class:
        """Enter a class among the loggers, and return it.

        Raise FieldError if the name is that of another, or if the class lacks one of METHODS.
        """
        if name in _KNOWN:
            raise FieldError("logger", f"{name} is known already, of {_KNOWN[name].__module__}", "another name")
        if missing := [method for method in METHODS if not callable(getattr(kind, method, None))]:
            raise FieldError(name, f"its class has no method {' and no '.join(missing)}", "both cell and end")
        _KNOWN[name] = kind
        return kind

    return register


@cache
def _broken() -> dict[str, str]:
    """Load the loggers of all packages, once; return why some could not be loaded, by the name of the entry point."""
    return load_plugins(PLUGINS, _KNOWN, "logger")


@final
class Loggers:
    """The loggers of one sweep, whose id is `run`; `notes` says what is wrong with some of them, once for each.

    A logger that fails is told nothing more of this sweep, and hinders neither the sweep nor any other.
    """

    def __init__(self, run: str, experiment: str) -> None:
        self._run, self._experiment = run, experiment
        self.notes = [f"logger {name}: {why}" for name, why in _broken().items()]
        self._loggers: dict[str, Any] = {}
        for name, kind in sorted(_KNOWN.items()):
            self._attempt(name, partial(self._make, name, kind))

    def _make(self, name: str, kind: type[Any]) -> None:
        """Make an object of the class `kind`, and add it as the logger `name`."""
        self._loggers[name] = kind()

    def tell_cell(self, cell: Cell, record: Mapping[str, Any]) -> None:
        """Call the method `cell` of all loggers with a finished cell and the rows of its `record`."""
        if self._loggers:
            rows = [row_from_record(row).data(ROW_COLUMNS) for row in record["rows"]]
            fields = {name: value for name, value in cell.subject.data.items() if name not in SUBJECT_FIELDS}
            parameters = {"experiment": self._experiment, **subject_names(cell), **fields, **cell.values}
            self._tell("cell", parameters | {"longer": cell.longer}, rows)

    def tell_end(self, sweep: Sweep) -> None:
        """Call the method `end` of all loggers with what the sweep is, how it ended, and its rows so far."""
        if self._loggers:
            parameters = {
                "experiment": self._experiment,
                "title": sweep.experiment.title,
                "paper": sweep.experiment.paper,
                "replnet": __version__,
                "seed": sweep.experiment.settings.seed,
                "folder": None if sweep.folder is None else str(sweep.folder.absolute()),
                "cells": len(sweep.cells),
                "finished": sweep.done,
                "events": sweep.events,
                "verdict": sweep.verdict,
                "incomplete": sweep.incomplete,
            }
            self._tell("end", parameters, sweep.rows)

    def _tell(self, method: str, parameters: Mapping[str, Any], rows: list[dict[str, Any]]) -> None:
        """Call a method of every logger, each with its own copy of parameters and rows; drop loggers that fail."""
        for name, listener in list(self._loggers.items()):
            copies = dict(parameters), [dict(row) for row in rows]
            if not self._attempt(name, partial(getattr(listener, method), self._run, *copies)):
                del self._loggers[name]

    def _attempt(self, name: str, call: Callable[[], object]) -> bool:
        """Whether a call of the logger `name` succeeds; if not, a note says why.

        What it prints goes to stderr, as stdout is for tables.
        """
        try:
            with redirect_stdout(sys.stderr):
                call()
        except (Exception, SystemExit) as error:  # whatever a stranger's class raises
            why = " ".join(f"{type(error).__name__}: {error}".split())
            self.notes.append(f"logger {name}: {why} (it was told nothing more of this sweep)")
            return False
        return True
