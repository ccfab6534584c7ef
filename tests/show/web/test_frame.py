"""Pages cannot be injected into: what becomes markup, a style or a script is a constant of the package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import replnet

WEB = Path(replnet.__file__).parent / "show" / "web"
MODULES = sorted(WEB.glob("*.py"))
# What NiceGUI reads as attributes, classes, styles, markup and scripts.
READ_AS_CODE = {
    "props", "classes", "style", "default_props", "default_classes", "default_style", "add_slot", "html", "markdown",
    "mermaid", "add_css", "add_scss", "add_sass", "add_head_html", "add_body_html", "run_javascript", "raw_html",
}  # fmt: skip


def is_constant(node: ast.expr) -> bool:
    """A text as it stands, one of two, or a constant by its name."""
    if isinstance(node, ast.IfExp):
        return is_constant(node.body) and is_constant(node.orelse)
    if isinstance(node, ast.Subscript):
        return is_constant(node.value)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def spliced(tree: ast.AST) -> Iterator[ast.expr]:
    """Whatever else is handed to where it becomes code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READ_AS_CODE:
            yield from (one for one in (*node.args, *(word.value for word in node.keywords)) if not is_constant(one))
        elif isinstance(node, ast.Call):
            names = {word.arg: word.value for word in node.keywords}
            # The names of attributes; and what is evaluated when an event comes.
            if isinstance(node.func, ast.Name) and node.func.id == "with_attributes" and None in names:
                yield names[None]
            if "js_handler" in names:
                yield names["js_handler"]
        elif isinstance(node, ast.Dict):  # NiceGUI evaluates the values of such keys
            coded = [value for key, value in zip(node.keys, node.values, strict=True) if is_evaluated(key)]
            yield from (value for value in coded if not is_constant(value))
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and is_evaluated(node.slice):
            yield node


def is_evaluated(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant) and str(key.value).startswith(":")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_what_becomes_code_in_a_browser_is_a_constant(path):
    assert [f"{path.name}:{node.lineno}" for node in spliced(ast.parse(path.read_text()))] == []


@pytest.mark.parametrize(
    "code",
    [
        "it.props(f'aria-label={name}')", "it.classes(name)", "ui.html(text)",
        "client.run_javascript(f'f({x})')", "with_attributes(it, **names)", "it.on('x', js_handler='f()')",
        "{':formatter': name}", "options[':formatter'] = 'x'",
    ],
)  # fmt: skip
def test_what_would_be_spliced_is_found(code):
    assert list(spliced(ast.parse(code)))


@pytest.mark.parametrize("path", sorted((WEB / "static").glob("*.js")), ids=lambda path: path.stem)
def test_scripts_of_the_pages_write_no_markup_and_evaluate_nothing(path):
    assert not re.search(r"eval|Function\(|HTML|document\.write|setAttribute|template:|v-html", path.read_text())
