"""What trees of `syntax` are worth: checked against the signs and functions of their kind, and evaluated.

Weights are functions of arrays, named values are numbers with bounds; each kind says what its signs and functions do.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

from replnet.text.checks import FieldError
from replnet.text.grammar import Node

Operation = Callable[..., Any]

UNARIES: Mapping[str, Operation] = {"+": operator.pos, "-": operator.neg}


@final
@dataclass(frozen=True, slots=True)
class Arithmetic:
    """What expressions of one kind may hold: signs, and functions with the fewest and the most numbers they take."""

    signs: Mapping[str, Operation]
    functions: Mapping[str, tuple[Operation, int, int]]

    def check(self, tree: Node) -> None:
        """Refuses a tree that has anything else."""
        for node in tree.walk():
            signs = node.value if node.kind == "comparison" else [node.value]
            if node.kind == "call":
                self._check_call(node)
            elif node.kind not in ("number", "name") and not all(sign in self.signs for sign in signs):
                right = f"{' '.join(self.signs)}, {', '.join(self.functions)}"
                raise FieldError("", f"{node.source} has a sign that is not known here", right)

    def _check_call(self, node: Node) -> None:
        if node.value not in self.functions:
            raise FieldError("", f"{node.value} is not a function here", f"one of {', '.join(self.functions)}")
        _, fewest, most = self.functions[node.value]
        if node.named or not fewest <= len(node.parts) <= most:
            right = f"{fewest} number" + ("s" if fewest > 1 else "") + (" or more" if most > fewest else "")
            raise FieldError("", f"{node.source} does not fit {node.value}", right)

    def operation(self, node: Node) -> Operation:
        """What a call, or a sign between or before numbers, does with them."""
        if node.kind == "call":
            return self.functions[node.value][0]
        return self.signs[node.value] if len(node.parts) > 1 else UNARIES[node.value]


def evaluated(node: Node, names: Mapping[str, Any], calculate: Callable[[Node, list[Any]], Any]) -> Any:
    """The value of a tree: of a part that has parts, what `calculate` makes of their values; of an `if`, whether its
    condition holds, given the value of that."""
    if node.kind == "number":
        return node.value
    if node.kind == "name":
        return names[node.value]
    if node.kind == "if":
        then, condition, otherwise = node.parts
        holds = calculate(node, [evaluated(condition, names, calculate)])
        return evaluated(then if holds else otherwise, names, calculate)
    values = []
    for part in node.parts:  # a comprehension would need a second frame for each level
        values.append(evaluated(part, names, calculate))  # noqa: PERF401
    return calculate(node, values)
