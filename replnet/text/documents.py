"""Files of the user, and those that come with replnet: text, and YAML 1.2 as data with positions."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, final

from replnet.text.errors import DocumentError, Problem, field_name, input_error

Scalar = str | int | float | bool | None
Route = Sequence[str | int]

LARGEST_YAML = 1_000_000  # bytes; a position-keeping parser reads about 300 kB of short keys in a second
LARGEST_GRAPH = 256_000_000


class Mark(NamedTuple):
    """A place: line and column (from 1) in the file `origin`, or in the document itself if that is None.

    A place in an override, such as `-s peers=3`, has no line and column, and the override as its origin.
    """

    line: int | None
    column: int | None
    origin: str | None = None


@final
@dataclass(frozen=True, slots=True)
class YamlNode:
    """A value of a document: a scalar, a list of nodes, or a mapping from keys to nodes.

    `mark` is its place and `key` that of its key, None if it has none; `bare` says that it is an unquoted scalar.
    """

    value: Scalar | list[YamlNode] | dict[str, YamlNode]
    mark: Mark
    key: Mark | None = None
    bare: bool = False  # an unquoted scalar

    def plain(self) -> Any:
        """Return the value without positions: a scalar, or lists and dicts of plain values."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def child(self, part: str | int) -> YamlNode | None:
        """Return the node below a key or an index; None if there is none."""
        if isinstance(self.value, dict):
            return self.value.get(str(part))
        if isinstance(self.value, list) and isinstance(part, int) and part < len(self.value):
            return self.value[part]
        return None


@final
@dataclass(frozen=True, slots=True)
class Document:
    """A mapping (`root`) with the position of everything in it; `name` is the path of its file, or empty.

    `lines` are those of the file, `others` the lines of other files that parts come from, by path, and `prefix` the
    keys and indices that lead to `root` in the file. `laws` is a store of the laws that have been read so far.
    """

    name: str
    root: YamlNode
    lines: tuple[str, ...]
    prefix: tuple[str | int, ...] = ()  # the path of `root` in the file
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by file, its lines, if parts come from others
    laws: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)  # laws read so far, by text and unit

    @property
    def data(self) -> dict[str, Any]:
        """The mapping without positions, as dicts, lists and scalars; built anew at each access."""
        plain = self.root.plain()
        assert isinstance(plain, dict)
        return plain

    @property
    def directory(self) -> Path:
        """The folder in which relative paths of the document start: that of its file, else the working directory."""
        return Path(self.name).parent

    def at(self, *path: str | int) -> Document:
        """Return the part of the document below `path`, keys and indices that must lead to a mapping in it.

        Problems in it still name their fields from the top.
        """
        node, rest = self._walk(path)
        assert not rest, path
        return replace(self, root=node, prefix=(*self.prefix, *path))

    def problem(self, path: Route, wrong: str, right: str, *, key: bool = False) -> Problem:
        """Return a problem with its place: that of the value at `path`, or of its key if `key` is set.

        The path has keys and indices; if it leads nowhere, the place is that of the deepest value on it. `wrong` says
        what is wrong, `right` what would be right.
        """
        node, rest = self._walk(path)
        mark = node.key if node.key and (key or (rest and isinstance(node.value, dict))) else node.mark
        file, name = mark.origin or self.name, field_name([*self.prefix, *path]) or "file"
        if mark.line is None or mark.column is None:
            return Problem(file or None, None, None, name, wrong, right)
        lines, column = self.lines if mark.origin is None else self.others[mark.origin], mark.column
        source = lines[mark.line - 1] if mark.line <= len(lines) else None
        if source is not None and isinstance(node.value, str) and rest and isinstance(rest[0], str):
            # A parameter within the text of a law.
            parameter = re.search(rf"\b{re.escape(rest[0])}\s*=\s*", source[column - 1 :])
            column += parameter.end() if parameter else 0
        return Problem(file, mark.line, column, name, wrong, right, source)

    def fields(self, *path: str | int) -> dict[str, YamlNode]:
        """Return the nodes of the mapping at a path of keys and indices, by key; an empty dict if there is none."""
        node, rest = self._walk(path)
        return {} if rest or not isinstance(node.value, dict) else node.value

    def replace_node(self, path: Sequence[str], node: YamlNode | None) -> Document:
        """Return a copy of the document with `node` at a path of keys, in the place of what is there, if anything.

        If `node` is None, that is removed. Mappings that the path leads through are made where they are missing.
        """
        return replace(self, root=_replace_below(self.root, path, node, self.root.mark))

    def _walk(self, path: Route) -> tuple[YamlNode, Route]:
        """Return the deepest node on a path of keys and indices, and the rest of the path, which leads nowhere.

        The path starts at the root of the document. The rest is empty if the whole path leads to a node.
        """
        node = self.root
        for depth, part in enumerate(path):
            child = node.child(part)
            if child is None:
                return node, path[depth:]
            node = child
        return node, ()


def _replace_below(parent: YamlNode | None, path: Sequence[str], node: YamlNode | None, mark: Mark) -> YamlNode:
    """Return `parent` with `node` at a path of keys below it, or with nothing there if the node is None.

    `mark` is the place in the file of a parent that does not exist yet.
    """
    fields = parent.value if parent and isinstance(parent.value, dict) else {}
    new = _replace_below(fields.get(path[0]), path[1:], node, mark) if path[1:] else node
    children = {key: child for key, child in {**fields, path[0]: new}.items() if child is not None}
    return YamlNode(children, parent.mark, parent.key) if parent else YamlNode(children, mark, mark)


def map_scalars(
    node: YamlNode, change: Callable[[YamlNode, tuple[str | int, ...]], YamlNode], path: tuple[str | int, ...] = ()
) -> YamlNode:
    """Return `node` with `change(scalar, path)` in place of every scalar node in it, itself included; positions stay.

    `path` is that of the node itself, from which the paths of scalars go on.
    """
    if isinstance(node.value, dict):
        fields = {key: map_scalars(child, change, (*path, key)) for key, child in node.value.items()}
        return replace(node, value=fields)
    if isinstance(node.value, list):
        return replace(node, value=[map_scalars(child, change, (*path, i)) for i, child in enumerate(node.value)])
    return change(node, path)


def node_of(data: Any, mark: Mark) -> YamlNode:
    """Return plain data, such as a number or lists and mappings, as a node; it and all below have the place `mark`."""
    if isinstance(data, Mapping):
        return YamlNode({str(key): node_of(item, mark) for key, item in data.items()}, mark, mark)
    if isinstance(data, (list, tuple)):
        return YamlNode([node_of(item, mark) for item in data], mark, mark)
    return YamlNode(data, mark, mark)


def file_error(name: str, wrong: str, right: str) -> DocumentError:
    """Return the DocumentError of the file `name` as a whole.

    `wrong` says what is wrong with it, and `right` what would be right.
    """
    return input_error(name, "file", wrong, right)


def read_text(path: str | Path, largest: int = LARGEST_YAML) -> str:
    """Return the text of a file or pipe in UTF-8, without a byte order mark.

    Raises DocumentError if it cannot be read, is no text, or has more than `largest` bytes, by default a million.
    """
    name = str(path)
    try:
        mode = Path(path).stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise file_error(name, "is a directory" if stat.S_ISDIR(mode) else "is a device", "a file")
        with open(path, "rb") as file:
            raw = file.read(largest + 1)
    except FileNotFoundError:
        raise file_error(name, "does not exist", "the path of a file") from None
    except DocumentError:
        raise
    except (OSError, ValueError) as error:
        raise file_error(name, f"cannot be read: {getattr(error, 'strerror', None) or error}", "a file") from None
    if b"\0" in raw[:65536]:
        raise file_error(name, "is binary", "a text file in UTF-8")
    if len(raw) > largest:
        raise file_error(name, f"is larger than {largest // 1_000_000} MB", "a smaller file")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = raw.count(b"\n", 0, error.start) + 1, error.start - raw.rfind(b"\n", 0, error.start)
        wrong = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        raise DocumentError([Problem(name, line, column, "file", wrong, "a text file in UTF-8")]) from None


def read_yaml(path: str | Path) -> Document:
    """Return the mapping in a YAML file as a document; raise DocumentError if it cannot be read, or holds none."""
    return parse_yaml(read_text(path), str(path))


def parse_yaml(text: str, name: str) -> Document:
    """Return the one mapping that a YAML text holds, as the document `name`; raise DocumentError if it holds none."""
    from replnet.text.yaml_reader import compose

    return Document(name, compose(text, name), tuple(split_lines(text)))


def split_lines(text: str) -> Iterator[str]:
    """Return an iterator over the lines of a text as YAML counts them, without their ends.

    Unlike with str.splitlines, a form feed ends no line.
    """
    return iter(re.split(r"\r\n|[\r\n\x85\u2028\u2029]", text))


def folders(kind: str) -> list[Path]:
    """Return the two folders for files of a kind, topologies or experiments, that come with replnet.

    One is in the installed package, the other beside it in a checkout; either may not exist.
    """
    package = Path(__file__).resolve().parents[1]
    return [package / "data" / kind, package.parent / kind]


def shipped(name: str, kind: str = "topologies") -> Path | None:
    """Return the path of a file that comes with replnet, or None if there is none of this name.

    `kind` is topologies or experiments. A topology may be called cascade, cascade.yaml or topologies/cascade.yaml.
    """
    short_name = name.removeprefix(f"{kind}/")
    if not short_name or Path(short_name).is_absolute() or ".." in Path(short_name).parts:
        return None
    files = (folder / file_name for folder in folders(kind) for file_name in (short_name, f"{short_name}.yaml"))
    return next((file for file in files if file.is_file()), None)


def shipped_names(kind: str = "topologies") -> list[str]:
    """Return the names, sorted and without .yaml, of all files of a kind, topologies or experiments, of replnet."""
    files = ((folder, file) for folder in folders(kind) for file in folder.rglob("*.yaml"))
    return sorted({str(file.relative_to(folder).with_suffix("")) for folder, file in files})
