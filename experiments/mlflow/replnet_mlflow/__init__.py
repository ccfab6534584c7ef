"""Sweeps of replnet in MLflow: a run for each sweep, and below it a run for each cell.

It logs where MLFLOW_TRACKING_URI says, and nothing without that:

    MLFLOW_TRACKING_URI=sqlite:///mlflow.db replnet sweep p2p/fig3 --quick -o runs/fig3

The parameters of a cell are those of its run, and its metrics are what was measured (`cluster/freshness/measured` and
so on), the ends of the interval and what is predicted. When a sweep is carried on with, so is its run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Any

from replnet.lab.sweeps import logger

ID = "replnet.run"  # a tag: the run of replnet that a run of MLflow is of
CELL = "replnet.cell"  # a tag: which cell of that, or SWEEP
SWEEP = "sweep"
VALUES = ("measured", "ci_low", "ci_high", "predicted")
LONGEST_VALUE = 500  # characters of a parameter, as some stores of MLflow take no more


@logger("mlflow")
class Mlflow:
    """A logger of sweeps to the tracking server, database or folder that MLFLOW_TRACKING_URI names."""

    def __init__(self) -> None:
        self._client: Any = None
        if os.environ.get("MLFLOW_TRACKING_URI"):
            from mlflow import MlflowClient

            self._client = MlflowClient()

    def cell(self, run: str, parameters: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        """Log a finished cell as a run below that of its sweep."""
        if self._client is None:
            return
        longer = parameters.pop("longer")
        title, experiment = parameters["experiment"], self._experiment(parameters["experiment"])
        digest = hashlib.sha256(json.dumps(parameters, sort_keys=True, default=str).encode()).hexdigest()
        cell = self._run(experiment, run, digest, f"{title} {digest[:6]}", self._run(experiment, run, SWEEP, title))
        for key, value in parameters.items():
            self._client.log_param(cell, _name(key), str(value)[:LONGEST_VALUE])
        self._log_rows(cell, rows)
        self._client.set_tag(cell, "longer", str(longer))
        self._client.set_terminated(cell)

    def end(self, run: str, parameters: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        """Log how a sweep ended, and its whole table as an artifact, to its own run."""
        if self._client is None:
            return
        sweep = self._run(self._experiment(parameters["experiment"]), run, SWEEP, parameters["experiment"])
        for key, value in parameters.items():
            self._client.set_tag(sweep, f"replnet.{key}", str(value)[:LONGEST_VALUE])
        columns = list(rows[0]) if rows else []
        table = {name: [row[name] for row in rows] for name in columns}
        self._client.log_dict(sweep, table, "table.json")
        self._client.set_terminated(sweep, "KILLED" if parameters["incomplete"] else "FINISHED")

    def _experiment(self, name: str) -> str:
        """Return the id of the experiment of MLflow with this name, a new one if there is none."""
        known = self._client.get_experiment_by_name(name)
        return str(known.experiment_id) if known else str(self._client.create_experiment(name))

    def _run(self, experiment: str, run: str, cell: str, name: str, parent: str = "") -> str:
        """Return the id of MLflow's run of a cell, or of the sweep; a new one, called `name`, if there is none."""
        for known in self._client.search_runs([experiment], f"tags.`{ID}` = '{run}' and tags.`{CELL}` = '{cell}'"):
            return str(known.info.run_id)
        tags = {ID: run, CELL: cell} | ({"mlflow.parentRunId": parent} if parent else {})
        return str(self._client.create_run(experiment, tags=tags, run_name=name).info.run_id)

    def _log_rows(self, cell: str, rows: list[dict[str, Any]]) -> None:
        """Log the values of rows as metrics of a run, each under its group and metric."""
        for row in rows:
            name = _name(f"{row['group']}/{row['metric']}")
            for column in VALUES:
                if row[column] is not None:
                    self._client.log_metric(cell, f"{name}/{column}", row[column])


def _name(text: str) -> str:
    """Return a text without the characters that MLflow has in no name."""
    return re.sub(r"[^\w\-. /]", "_", text)
