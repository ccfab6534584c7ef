"""Demands on a result, such as `freshness > 0.9` or `level 4: lag <= 3`, as users write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from replnet.measure.metrics import is_beyond, metric
from replnet.measure.row import AT, METRICS, Row, is_share, on_request
from replnet.text import grammar
from replnet.text.arithmetic import expression
from replnet.text.errors import FieldError, shown
from replnet.text.units import plain


@final
@dataclass(frozen=True)
class Demand:
    """`text` as it was written, in `field`; of a group, or of all groups where that is None."""

    field: str
    text: str
    group: str | None
    metric: str
    above: bool
    bound: float

    def holds(self, row: Row) -> bool | None:
        """Of the whole interval; None where it lies on both sides, or there is none."""
        low, high = row.ci_low, row.ci_high
        if low is None or high is None or low <= self.bound <= high:
            return None
        return (low > self.bound) == self.above

    def margin(self, value: float) -> float:
        """How far a value is on the right side of the bound; below 0 on the wrong one."""
        return value - self.bound if self.above else self.bound - value

    def require_open(self) -> None:
        """That it is about something that is measured, and can both hold and fail."""
        if self.metric not in METRICS and not is_beyond(self.metric):
            known = ", ".join((*METRICS, *on_request()))
            raise FieldError(self.field, f"{self.metric!r} is not measured", f"one of {known}")
        if is_share(self.metric) and not (0 <= self.bound < 1 if self.above else 0 < self.bound <= 1):
            always = "never" if (self.bound >= 1) == self.above else "always"
            wrong = f"{self.text!r} {always} holds, as {self.metric} is a share"
            raise FieldError(self.field, wrong, "0 to 1")


def demand(text: str, field: str, unit: str | None = None) -> Demand:
    """The demand that `text` in `field` makes of a network with this unit; a FieldError where it makes none."""
    group, colon, rest = text.strip().rpartition(":")
    rest = plain(rest, unit)
    try:
        sign, about, bound = _compared(rest)
        if colon and not group:
            raise ValueError
    except ValueError:
        right = "'freshness > 0.9', 'level 2: freshness > 0.5'"
        raise FieldError(field, f"{shown(text)} is not a demand", right) from None
    try:
        name = metric(about).name if is_beyond(about) else about
    except FieldError as error:
        raise FieldError(field, error.wrong, error.right) from None
    return Demand(field, text.strip(), group.strip() or None, name, sign.startswith(">"), bound)


def _compared(text: str) -> tuple[str, str, float]:
    """The sign, the metric and the bound of `metric > bound`; a ValueError where it is not that."""
    before, at, rest = text.partition(AT)
    if at:
        time = rest[: min((rest.index(sign) for sign in "<>" if sign in rest), default=0)]
        sign, always, least = _compared(f"{before} {rest[len(time) :]}")
        return sign, f"{always}{AT}{time.strip()}", least
    tree = grammar.parse(text, grammar.ARITHMETIC)
    if tree.kind == "comparison" and len(tree.parts) == 2 and tree.value[0] not in ("==", "!="):
        about, bound = tree.parts[0], expression(tree.parts[1].source)
        if about.kind in ("name", "call") and not bound.names:
            return tree.value[0], about.source, float(bound.value({}))
    raise ValueError
