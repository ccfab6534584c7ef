"""The shape of the code: who imports whom, how long functions are, what start-up costs."""

from __future__ import annotations

import ast
import re
import sys
from importlib import import_module
from pathlib import Path

import programs
import pytest

import replnet

PACKAGE = Path(replnet.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# Each part may import those before it, and itself: the core, and then the rooms, which use only its faces.
CORE = (
    "text", "workers", "store", "laws", "processes", "ages", "allocation", "network", "measure", "predictions",
    "engines", "run",
)  # fmt: skip
ROOMS = ("live", "lab", "watch", "histories", "show", "cli")
ORDER = CORE + ROOMS
BESIDE = {"version", "compiler", "deadline", "faces"}
BELOW = {part: set(ORDER[:at]) | BESIDE for at, part in enumerate(ORDER)}
LONGEST = 70
PASS = 90  # what every event goes through: calls with arrays would cost more than all the work in them


def folder_of(module: str) -> str:
    """The folder of a module, itself if it is one, both as in an import."""
    path = PACKAGE.parent / module.replace(".", "/")
    return module if path.is_dir() else module.rpartition(".")[0]


def imports(path: Path) -> set[str]:
    """The modules that a file imports, also within functions."""
    tree, found = ast.parse(path.read_text()), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            within = {f"{node.module}.{name.name}" for name in node.names} & NAMES if node.module == "replnet" else ()
            found |= set(within) or {node.module}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path) for path in MODULES}


@pytest.mark.parametrize("part", ORDER)
def test_imports_point_down_and_through_faces(part):
    """A module imports other modules of its own folder and of those around it, and else only folders before it."""
    wrong = []
    for path in (PACKAGE / part).rglob("*.py"):
        below = BELOW[part] | {part}
        for module in imports(path):
            if not module.startswith("replnet."):
                continue
            within = f"{folder_of(name_of(path))}.".startswith(f"{folder_of(module)}.")
            face = folder_of(module) == module
            if name_of(path) == "replnet.laws" and module == "replnet.processes":
                continue  # dependent intervals are laws for users, and made of processes
            if module.split(".")[1] not in below or not (within or face):
                wrong.append(f"{name_of(path)} imports {module}")
    assert wrong == []


def test_nothing_is_imported_by_its_text_but_by_faces():
    """Or an import upwards would be hidden."""
    texts = [path for path in MODULES if re.search(r"import_module\(|__import__\(", path.read_text())]
    assert [name_of(path) for path in texts if path.name != "__init__.py"] == ["replnet.faces"]


def test_only_pictures_are_asked_of_the_front_door():
    """It opens on everything, also on what is above."""
    nodes = [(path, node) for path in MODULES for node in ast.walk(ast.parse(path.read_text()))]
    attributes = [(path, node) for path, node in nodes if isinstance(node, ast.Attribute)]
    asked = {(name_of(path), node.attr) for path, node in attributes if ast.unparse(node.value) == "replnet"}
    assert {name for _, name in asked} == {"show"}, asked


@pytest.mark.parametrize("folder", [path.parent for path in PACKAGE.glob("*/**/__init__.py")], ids=name_of)
def test_a_face_offers_what_there_is(folder):
    face = import_module(name_of(folder))
    for name in getattr(face, "__all__", ()):
        assert getattr(face, name) is not None


HOMES = {
    "numba": {"compiler.py"},
    "networkx": {"network", "show/pictures"},
    "ray": {"live", "workers"},
    "matplotlib": {"show/pictures", "show/report"},
    "pandas": {"run", "lab", "histories", "show"},
    "xarray": {"lab/sweeps"},
    "click": {"cli"},
    "rich": {"cli"},
    "pydantic": {"text", "network", "run/settings.py", "lab", "watch"},
    "httpx": {"watch"},
    "dns": {"watch/elsewhere.py"},
    "sqlite3": {"watch/visit_log.py"},
    "ruamel": {"text"},
    "nicegui": {"show/web"},
    "fastapi": {"show/web"},
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


GUIDES = [PACKAGE / "__init__.py", PACKAGE.parent / ".github/CONTRIBUTING.md"]


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
    assert not loaded_by("--help") & {"numpy", "networkx", "pydantic", "rich", "asyncio"}
