"""`-s key=value`: replace one field of a document from the command line, or something in the text of a law.

peers=3                     a field
tiers.1.replicas=5          an item of a list, counted from 1
polls.rate=4                a parameter inside the text of a law
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from replnet.text.documents import Document, Mark, YamlNode, map_scalars, node_of
from replnet.text.errors import DocumentError, FieldError, Problem, field_name, input_error
from replnet.text.grammar import LAW, number_text, parse, quote
from replnet.text.grammar import Term as Call
from replnet.text.yaml_reader import compose

# Each of these parameters sets the rate of a law; a new one replaces the old one.
SPEED = frozenset({"rate", "mean", "period", "scale"})


def override(document: Document, assignments: Iterable[str]) -> Document:
    """Return the document with the texts `key=value` applied in turn; raise DocumentError with all that do not fit."""
    problems: list[Problem] = []
    for assignment in assignments:
        origin = f"-s {assignment}"
        key, equals, text = assignment.partition("=")
        keys = tuple(key.strip().split("."))
        try:
            if not equals or not all(keys):
                raise input_error(origin, "-s", "is not key=value", "such as -s peers=3")
            root = _put(document.root, keys, value_of(text, origin), text.strip(), (), origin)
            document = replace(document, root=root)
        except DocumentError as error:
            problems += error.problems
    if problems:
        raise DocumentError(problems)
    return document


def put(document: Document, key: str, new: YamlNode) -> Document:
    """Return the document with `new` at the dotted `key`, which may lead to a parameter inside the text of a law.

    Raises DocumentError if the key leads nowhere.
    """
    value = new.plain()
    text = number_text(value) if isinstance(value, float) else str(value)
    return replace(document, root=_put(document.root, tuple(key.split(".")), new, text, (), key))


def value_of(text: str, origin: str) -> YamlNode:
    """Return the value that `text` has in YAML as a node, all with the place `origin`, such as `-s peers=3`.

    Relative file names in it count from the working directory. Raises DocumentError if the text is no YAML.
    """
    try:
        node = compose(f"value: {text}", origin)
    except DocumentError as error:
        listed = text.lstrip().startswith("[") and "(" in text
        right = "laws in a list that have brackets of their own in quotes" if listed else "a value as in YAML"
        raise input_error(origin, "-s", error.problems[0].wrong, right) from None
    assert isinstance(node.value, dict)
    return with_absolute_files(node_of(node.value["value"].plain(), Mark(None, None, origin)), Path())


def _put(
    node: YamlNode, keys: tuple[str, ...], new: YamlNode, text: str, path: tuple[str | int, ...], origin: str
) -> YamlNode:
    """Return `node` with `new` at `keys`, which may lead to a parameter inside the text of a law.

    `path` leads from the root to `node`, `text` is how `new` is written, and `origin` the place of the new value.
    Raises DocumentError if the keys lead nowhere.
    """
    if not keys:
        return new
    mark = Mark(None, None, origin)
    if isinstance(node.value, dict):
        # Names of nodes may hold dots themselves: the longest one that is there wins.
        key_length = next((n for n in range(len(keys), 0, -1) if ".".join(keys[:n]) in node.value), 1)
        key, rest = ".".join(keys[:key_length]), keys[key_length:]
        child = node.value.get(key, YamlNode({}, mark, mark) if rest else new)
        changed_child = _put(child, rest, new, text, (*path, key), origin)
        return YamlNode({**node.value, key: changed_child}, node.mark, node.key)
    if isinstance(node.value, list):
        key, length = keys[0], len(node.value)
        if not (key.isascii() and key.isdigit() and 1 <= int(key[:9]) <= length):
            right = f"1 to {length}, counted from 1" if length else "an empty list"
            raise input_error(origin, field_name(path), f"has no item {key}", right)
        index = int(key) - 1
        changed_child = _put(node.value[index], keys[1:], new, text, (*path, index), origin)
        return YamlNode([*node.value[:index], changed_child, *node.value[index + 1 :]], node.mark, node.key)
    call = call_of(node.value) if isinstance(node.value, str) else None
    if call is not None and call.kind == "call" and len(keys) == 1:
        return YamlNode(with_parameter(call, keys[0], text), new.mark, new.mark)
    if node.value is None:
        return _put(YamlNode({}, mark, mark), keys, new, text, path, origin)
    raise input_error(origin, field_name(path), f"has no field {'.'.join(keys)}", f"-s {field_name(path)}=...")


def call_of(text: str) -> Call | None:
    """Return the tree of a law's text that is a call, such as exponential(rate=2), or a bare name.

    None for any other text.
    """
    try:
        tree = parse(text, LAW)
    except FieldError:
        return None
    return tree if tree.kind in ("call", "name") and tree.value.isidentifier() else None


def with_parameter(call: Call, name: str, text: str) -> str:
    """Return the text of the law `call` with the parameter `name` set to `text`; its other arguments stay.

    A rate, mean, period or scale takes the place of any other of these.
    """
    replaced = SPEED if name in SPEED else {name}
    other_arguments = [part.source for part in call.parts if part.kind != "named" or part.value not in replaced]
    return f"{call.value}({', '.join([*other_arguments, f'{name}={text}'])})"


def with_absolute_files(root: YamlNode, folder: Path, at: tuple[str | int, ...] = ()) -> YamlNode:
    """Return `root` with all names of files in it that are relative to `folder` made absolute.

    `at` has the keys and indices that lead to `root` in its document. So the document means the same wherever it is
    stored.
    """
    return _with_files(root, lambda name: str((folder / name).resolve()), at)


def files_of(document: Document) -> frozenset[str]:
    """Return the absolute paths of the files that a network names: records of events, and the file of a graph."""
    return _names(with_absolute_files(document.root, document.directory, ("network",)), ("network",))


def records_of(text: str) -> frozenset[str]:
    """Return the names of the files in the traces of a law's text, as they stand there; empty if it has none."""
    return _names(node_of(text, Mark(None, None)), ())


def _names(root: YamlNode, at: tuple[str | int, ...]) -> frozenset[str]:
    """Return the names of files, as they stand, in `root`; `at` is its path of keys and indices in its document."""
    names = set[str]()

    def collect(name: str) -> str:
        names.add(name)
        return name

    _with_files(root, collect, at)
    return frozenset(names)


def _with_files(root: YamlNode, change: Callable[[str], str], at: tuple[str | int, ...]) -> YamlNode:
    """Return `root` with `change(name)` in place of every name of a file; `at` is its path of keys in its document.

    These are the files of traces, and the `file` of the network itself.
    """

    def change_node(node: YamlNode, path: tuple[str | int, ...]) -> YamlNode:
        if not isinstance(node.value, str):
            return node
        if _is_record(path) or (*at, *path) == ("network", "file"):
            return replace(node, value=change(node.value))
        return replace(node, value=_with_records(node.value, change)) if "trace" in node.value.lower() else node

    return map_scalars(root, change_node)


def _is_record(path: tuple[str | int, ...]) -> bool:
    """Whether a path leads to the file of a law that is a mapping: {trace: {file: F}} or {trace: [F]}."""
    return len(path) > 1 and str(path[-2]).lower() == "trace" and path[-1] in ("file", 0)


def _with_records(text: str, change: Callable[[str], str]) -> str:
    """Return the text of a law with `change(name)`, in quotes, in place of the name of every file of a trace.

    A text that is no law is returned as it is.
    """
    try:
        tree = parse(text, LAW)
    except FieldError:  # raised where the law is read
        return text
    for call in reversed(list(tree.walk())):  # from the end, so that places before stay as they are
        if call.kind == "call" and call.value.lower() == "trace" and call.parts:
            # It is named, or the first argument.
            by_name = [part.parts[0] for part in call.parts if (part.kind, part.value) == ("named", "file")]
            file = (by_name or call.parts)[0]
            if file.kind in ("name", "text"):
                text = f"{text[: file.begin]}{quote(change(file.value))}{text[file.end :]}"
    return text
