"""Thresholds for a result, such as `freshness > 0.9` or `level 4: lag <= 3`, as users write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import final

from replnet.measure import AT, METRICS, Row, base_name, is_metric_on_request, is_share, metric, metrics_on_request
from replnet.text import FieldError, dimension_of, expression, grammar, short_repr, without_units

BOUND = re.compile(r"(?<=[<>=])(?P<bound>[^<>=]*)$")
COMPARISON, NUMBER = re.compile("[<>]"), re.compile(r"\s*[-+.]*\d")
PERCENT = re.compile(r"\s*(?P<number>\d+(?:\.\d*)?)\s*%\s*")


@final
@dataclass(frozen=True)
class Threshold:
    """A bound on a metric (its name), of a group or, if `group` is None, of all groups.

    Values are to be above the `bound` if `above` is true, and else below. `text` is how it was written, in the option
    or argument `field`.
    """

    field: str
    text: str
    group: str | None
    metric: str
    above: bool
    bound: float

    def holds(self, row: Row) -> bool | None:
        """Whether the whole interval of the row is on the right side; None if it contains the bound or is missing."""
        low, high = row.ci_low, row.ci_high
        if low is None or high is None or low <= self.bound <= high:
            return None
        return (low > self.bound) == self.above

    def margin(self, value: float) -> float:
        """Return by how much a value is on the right side of the bound, in its unit; below 0 on the wrong side."""
        return value - self.bound if self.above else self.bound - value

    def require_open(self) -> None:
        """Raise FieldError if the metric is not measured, or is a share that always or never meets the threshold."""
        if self.metric not in METRICS and not is_metric_on_request(self.metric):
            names = ", ".join((*METRICS, *metrics_on_request()))
            raise FieldError(self.field, f"{self.metric!r} is not measured", f"one of {names}")
        if is_share(self.metric) and not (0 <= self.bound < 1 if self.above else 0 < self.bound <= 1):
            always = "never" if (self.bound >= 1) == self.above else "always"
            wrong = f"{self.text!r} {always} holds, as {self.metric} is a share"
            raise FieldError(self.field, wrong, "0 to 1")


def demand_text(target: str) -> str:
    """Return the text of a target as a demand on a metric: a number alone, such as 0.9 or 90%, is one of freshness."""
    return target if COMPARISON.search(target) or not NUMBER.match(target) else f"freshness >= {target.strip()}"


def read_threshold(text: str, field: str, unit: str | None = None) -> Threshold:
    """Return the threshold that `text` states, such as `level 2: lag <= 3`, or raise FieldError.

    A bound may have a unit that fits the metric: a time (5 min), a rate (100/h), or a share in percent (90 %). Errors
    name `field`, the option or argument in which the text was written. `unit` is the network's unit of time, in which
    the bound then counts; None if it has none.
    """
    group, colon, rest = text.strip().rpartition(":")
    end = BOUND.search(rest)
    written = end["bound"].strip() if end else ""
    percent = PERCENT.fullmatch(written)
    if end and percent:
        rest = f"{rest[: end.start()]}{float(percent['number']) / 100!r}"
    try:
        rest = without_units(rest, unit)
    except FieldError as error:
        raise FieldError(field, error.wrong, error.right.replace("beside it", "in the network")) from None
    try:
        sign, about, bound = _split_comparison(rest)
        if colon and not group:
            raise ValueError
    except ValueError:
        right = "'freshness > 0.9', 'level 2: freshness > 0.5'"
        raise FieldError(field, f"{short_repr(text)} does not compare a metric with a number", right) from None
    try:
        name = metric(about).name if is_metric_on_request(about) else about
    except FieldError as error:
        raise FieldError(field, error.wrong, error.right) from None
    _check_dimension(field, name, "share" if percent else dimension_of(written), written)
    return Threshold(field, text.strip(), group.strip() or None, name, sign.startswith(">"), bound)


def _check_dimension(field: str, name: str, dimension: str, written: str) -> None:
    """Raise FieldError if a bound, as it was `written`, is a time, a rate or a share and the metric `name` another one.

    `dimension` is that of the bound, "" for a plain number.
    """
    if not dimension:
        return
    words = (METRICS | metrics_on_request()).get(base_name(name), "")
    right = "time" if words.startswith("units of time") else "rate" if "per unit of time" in words else ""
    right = "share" if is_share(name) else "number" if base_name(name) == "missing_updates" else right
    examples = {
        "time": "5min, or a number",
        "rate": "100/h, or a number",
        "share": "0.9 or 90%",
        "number": "without a unit",
    }
    if right and dimension != right:
        raise FieldError(field, f"{written} is a {dimension}, and {name} is a {right}", examples[right])


def _split_comparison(text: str) -> tuple[str, str, float]:
    """Return (sign, text of the metric, bound) of a text such as `freshness > 0.9`; the sign is <, <=, > or >=.

    Raise ValueError if it is no such comparison.
    """
    before, at, rest = text.partition(AT)
    if at:
        time = rest[: min((rest.index(sign) for sign in "<>" if sign in rest), default=0)]
        sign, always, bound_at_time = _split_comparison(f"{before} {rest[len(time) :]}")
        return sign, f"{always}{AT}{time.strip()}", bound_at_time
    tree = grammar.parse(text, grammar.ARITHMETIC)
    if tree.kind == "comparison" and len(tree.parts) == 2 and tree.value[0] not in ("==", "!="):
        about, bound = tree.parts[0], expression(tree.parts[1].source)
        if about.kind in ("name", "call") and not bound.names:
            return tree.value[0], about.source, float(bound.value({}))
    raise ValueError
