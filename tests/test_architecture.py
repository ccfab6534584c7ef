"""The shape of the code: who imports whom, how long functions are, what start-up costs."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import programs
import pytest

import replnet

PACKAGE = Path(replnet.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# Each layer may import those below it, and itself.
ORDER = (
    "text", "laws", "ages", "papers", "network", "measure", "predictions", "engines", "live", "histories", "study",
    "report", "web", "cli",
)  # fmt: skip
BELOW = {part: set(ORDER[:at]) for at, part in enumerate(ORDER)}
LONGEST = 70
PASS = 90  # what every event goes through: calls with arrays would cost more than all the work in them


def layer(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports(path: Path) -> set[str]:
    tree, found = ast.parse(path.read_text()), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path):
    here = path.relative_to(PACKAGE).parts[0]
    if here not in BELOW:
        return  # the front door, which opens on everything
    for module in imports(path):
        if module.startswith("replnet."):
            beside = {"version", "compiler", "deadline"}
            assert layer(module) in BELOW[here] | {here} | beside, f"{path.name} imports {module}"


HOMES = {
    "numba": {"compiler.py"},
    "networkx": {"network"},
    "ray": {"live"},
    "matplotlib": {"network/pictures", "report"},
    "pandas": {"study", "histories"},
    "click": {"cli"},
    "rich": {"cli"},
    "pydantic": {"text", "laws/fields.py", "papers", "network", "study"},
    "ruamel": {"text"},
    "nicegui": {"web"},
    "fastapi": {"web"},
}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_each_library_lives_in_one_part(path):
    here = str(path.relative_to(PACKAGE))
    for module in imports(path):
        for home in HOMES.get(module.split(".")[0], {here}):
            if here.startswith(home):
                break
        else:
            pytest.fail(f"{here} imports {module}")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_functions_are_short(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= (PASS if path.name == "passes.py" else LONGEST), f"{node.name} has {length} lines"


FOLDERS = sorted(path.parent for path in PACKAGE.rglob("__init__.py"))


def listed(folder: Path) -> list[str]:
    """What the tables of a folder's docstring name: a word, two spaces or more, and what it is for."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()), clean=False)
    return re.findall(r"^    (\w+) {2,}\S", text, re.MULTILINE)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: str(p.relative_to(PACKAGE.parent)))
def test_a_folder_says_what_is_where_in_it(folder):
    modules = [path.stem for path in folder.glob("*.py") if not path.stem.startswith("__")]
    folders = [path.parent.name for path in folder.glob("*/*.py")]
    assert sorted(listed(folder)) == sorted({*modules, *folders})


GUIDES = [PACKAGE / "__init__.py", *(PACKAGE.parent / name for name in ("README.md", ".github/CONTRIBUTING.md"))]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda p: p.name)
def test_guides_name_what_there_is(guide):
    named = re.findall(rf"(?<![\w/.])(?:{'|'.join(BELOW)})/[\w/]+", guide.read_text())
    assert named
    gone = [name for name in named if not ((PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file())]
    assert gone == []


def test_type_checkers_see_every_public_name():
    assert (PACKAGE / "py.typed").is_file()
    (seen,) = (node for node in ast.parse((PACKAGE / "__init__.py").read_text()).body if isinstance(node, ast.If))
    named = [(node.module, name.name) for node in seen.body if node.module != "typing" for name in node.names]
    assert sorted(named) == sorted((home, name) for home, names in replnet._HOMES.items() for name in names)
    assert sorted(replnet.__all__) == sorted(["__version__", *replnet._HOME])


HEAVY = {"ray", "numba", "matplotlib", "pandas", "scipy.stats"}


def loaded_by(*arguments: str) -> set[str]:
    program = f"""
import sys
from replnet.cli import main
sys.argv = ["replnet", *{list(arguments)!r}]
try:
    main()
except SystemExit as end:
    assert end.code == 0, end.code
print("\\n".join(sys.modules), file=sys.stderr)
"""
    run = programs.run([sys.executable, "-c", program], check=True)
    return set(run.stderr.split("\n"))


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("predict", "cascade"), ("network", "cascade")])
def test_a_command_loads_only_what_it_needs(arguments):
    assert not loaded_by(*arguments) & HEAVY


def test_help_loads_nothing_but_the_command_line():
    assert not loaded_by("--help") & {"numpy", "networkx", "pydantic", "rich"}
