"""JSON Schema of an experiment, for editors that complete and check."""

from __future__ import annotations

from typing import Any

from replnet.network.specification import schema
from replnet.papers import formula as formulas
from replnet.study.experiment.sections import Sections
from replnet.study.experiment.system_fields import Optimise

HOLE = {"type": "string", "pattern": r"\$\{.*\}"}


def experiment_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of an experiment file; `load_experiment` checks more, such as the names of axes."""
    whole = Sections.model_json_schema(by_alias=True)
    network, system, formula = schema(), Optimise.model_json_schema(), formulas.schema()
    definitions = {**network.pop("$defs"), **formula.pop("$defs"), "Optimise": system}
    open_ = {name: _open(part) for name, part in definitions.items()}
    whole["$defs"] = {**whole.get("$defs", {}), **open_}
    fields = whole["properties"]
    fast = whole["$defs"]["Quick"]["properties"]
    fast["run"] = {**_said(fast["run"]), "$ref": "#/$defs/Run"}
    fields["network"] = {**_said(fields["network"]), "anyOf": [{"type": "string"}, network]}
    fields["optimise"] = {**_said(fields["optimise"]), "$ref": "#/$defs/Optimise"}
    fields["formula"] = {**_said(fields["formula"]), **formula}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole}


def _said(field: dict[str, Any]) -> dict[str, Any]:
    return {"description": field["description"]}


def _open(part: Any) -> Any:
    """A schema in which ${ } may stand for any value, and set and vary may supply what is missing."""
    if isinstance(part, list):
        return [_open(below) for below in part]
    if not isinstance(part, dict):
        return part
    kept = {key: _open(below) for key, below in part.items() if key != "required"}
    if tags := [tag for tag in ("kind", "name") if "const" in part.get("properties", {}).get(tag, {})]:
        kept["required"] = tags
    if kept.get("type") in ("integer", "number", "boolean") or ("enum" in kept and "const" not in kept):
        words = {key: kept.pop(key) for key in ("title", "description", "default") if key in kept}
        return {**words, "anyOf": [kept, HOLE]}
    return kept
