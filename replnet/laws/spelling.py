"""How a law writes itself: the shortest text that gives exactly the same law back."""

from __future__ import annotations

from collections.abc import Mapping

from replnet.laws.law import Law
from replnet.text.grammar import number


def spelled(law: Law, shape: Mapping[str, float] | None = None, /, **choices: float) -> str:
    """`law` by its shape and one of `choices` (rate=, mean=, ...), the first of the shortest that is exact.

    The last choice is the field that the law keeps, hence always exact.
    """
    shape = shape or {}
    candidates = [
        {**shape, name: spelling} for name, value in choices.items() for spelling in (float(f"{value:.15g}"), value)
    ]
    exact = [arguments for arguments in candidates if _same(law, arguments)] or candidates[-1:]
    return min((_text(law, arguments) for arguments in exact), key=len)


def _same(law: Law, arguments: Mapping[str, float]) -> bool:
    try:
        return type(law)(**arguments) == law
    except ValueError:  # this parametrisation does not reach so far, as with the rate of an infinite mean
        return False


def _text(law: Law, arguments: Mapping[str, float]) -> str:
    return f"{type(law).__name__.lower()}({', '.join(f'{key}={number(value)}' for key, value in arguments.items())})"
