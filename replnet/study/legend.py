"""What the words of a table mean, for those who read it on a terminal or in a report."""

from __future__ import annotations

COLUMNS = {
    "measured": "what happened in the emulated network, the mean over independent replications",
    "95 % interval": "around what was measured; nineteen of twenty such intervals hold the true value",
    "predicted": "what a formula says of the same network; the two share nothing but the laws of the intervals",
    "z": "(measured - predicted) / standard error of what was measured; beyond ±2 in one of twenty by chance",
}
KINDS = {
    "exact": "the value follows from the equation named, without approximation, up to the error of arithmetic",
    "limit": "the value for infinitely many nodes, or another limit; with ± it is how far off that may be",
    "approximation": "a formula that is not exact; ± is the accuracy that it states",
}
VERDICTS = {
    "agree": "the difference may be chance, and the interval is narrow enough to ask",
    "differ": "the difference is larger than chance explains",
    "unresolved": "the interval is too wide to tell (half-width above --resolution, of shares; of others as a share of "
    "the value): a longer --horizon, or --precision",
}
PRINTED = {"contradicts": "what was measured, or is predicted, lies beyond the rounding of what is printed"}
