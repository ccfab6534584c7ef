"""One number per source, given as a list or as a law whose quantiles they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from replnet.laws.law import Law
from replnet.laws.processes.streams import GOLDEN, mix, name_words
from replnet.text.errors import FieldError

Floats = npt.NDArray[np.float64]
Given = Law | Sequence[float] | Floats


def listed(given: Given, count: int) -> Floats:
    """The list, or for i from 1 the quantiles (i - 1/2) / count."""
    if isinstance(given, Law):
        return np.asarray(given.quantile((np.arange(count) + 0.5) / count), dtype=float)
    return np.array(given, dtype=float)


def dealt(given: Given, count: int) -> Floats:
    """What sources count, which adds up to 1; quantiles in an order that is shuffled once for all."""
    weights = listed(given, count)
    if isinstance(given, Law):
        # The same for everybody, as it belongs to the network and not to a run of it.
        words = mix(name_words(["weights"]) + np.arange(count, dtype=np.uint64) * GOLDEN)
        weights = weights[np.argsort(words, kind="stable")]
    if not 0 < weights.sum() < np.inf:
        raise FieldError("weights", f"add up to {weights.sum():g}", "a law, or a list, of which some count")
    return np.asarray(weights / weights.sum())


def misfits(count: int | None, sizes: Mapping[str, int]) -> Iterator[tuple[str, str, str]]:
    """What is wrong with lists of these sizes, by field, for so many sources."""
    if count is None and not sizes:
        yield "sources", "missing", "how many there are, or lists of rates, weights or updates"
        return
    whole = next(iter(sizes.values())) if count is None else count
    first = next(iter(sizes), "sources") if count is None else "sources"
    for name, size in sizes.items():
        if size != whole:
            yield name, f"has {size:,} entries for {whole:,} of {first}", "one per source"
