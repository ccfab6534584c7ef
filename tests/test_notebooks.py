"""The notebooks in experiments/notebooks: without outputs, and every cell runs."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "experiments" / "notebooks").glob("*.ipynb"))


def test_there_are_four():
    assert [path.stem for path in NOTEBOOKS] == ["adding-a-law", "auditing-a-mirror", "sizing-a-cdn", "tour"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_stripped(path):
    notebook = json.loads(path.read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
    assert path.stat().st_size < 10_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs(path, monkeypatch, capsys):
    """As a notebook would: in its folder, one after another, and what the last line is can be shown."""
    monkeypatch.chdir(path.parent)
    before = set(path.parent.rglob("*"))
    names = {"__name__": "__main__"}
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] == "code":
            tree = ast.parse("".join(cell["source"]))
            shown = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, path.name, "exec"), names)
            if shown is not None:
                value = eval(compile(ast.Expression(shown.value), path.name, "eval"), names)
                assert repr(value)
                if hasattr(value, "_repr_html_"):
                    value._repr_html_()
    assert "Traceback" not in capsys.readouterr().out
    assert set(path.parent.rglob("*")) == before
