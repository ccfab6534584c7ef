"""The meanings of the words in a table, for those who read it on a terminal or in a report."""

from __future__ import annotations

COLUMNS = {
    "measured": "the value in the emulated network: the mean over independent replications",
    "95 % interval": "around the measured value; nineteen of twenty such intervals hold the true value",
    "predicted": "the value of a formula for the same network; the two share nothing but the laws of the intervals",
    "z": "(measured - predicted) / standard error of the measured value; beyond ±2 in one of twenty by chance",
}
KINDS = {
    "exact": "the value follows from the equation named, without approximation, up to the error of arithmetic",
    "limit": "the value for infinitely many nodes, or another limit; after ± stands how far off it may be",
    "approximation": "a formula that is not exact; ± is the accuracy that it states",
}
VERDICTS = {
    "agree": "the difference may be chance, and the interval is narrow enough to ask",
    "differ": "the difference is larger than chance explains",
    "unresolved": "there is no interval, or it is too wide to tell: its half-width is above --resolution, of values "
    "other than shares above that share of the value (a longer --horizon or a --precision makes it narrower)",
}
PRINTED = {"contradicts": "the measured or predicted value differs from the printed one by more than its rounding"}
