"""The table of a sweep as labelled arrays of xarray: the axes of the experiment are dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from replnet.lab.experiment import Axis
from replnet.lab.sweeps.judged_table import NUMBERS, in_column
from replnet.text import require_extra

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def dataset_of(
    table: pd.DataFrame, axes: Sequence[Axis], zips: Sequence[Sequence[str]], about: Mapping[str, str]
) -> xr.Dataset:
    """Return the table of a sweep as an xarray Dataset with a dimension for each axis, for groups and for metrics.

    Its variables are the other columns; where the table has no row, numbers are NaN and texts are empty. Of axes that
    move together, by `zips`, the first is the dimension, and the others are coordinates along it. `about` are the
    attributes. Raises FieldError if xarray is not installed.
    """
    require_extra("xarray", "to_xarray")
    import pandas as pd
    import xarray as xr

    leaders = {name: first for first, *others in zips for name in others}
    labels = {axis.name: in_column(axis, axis.values) for axis in axes}
    rows = table[table["metric"] != ""]  # the others are of cells that failed
    keys: dict[str, Any] = {axis.name: labels[axis.name] for axis in axes if axis.name not in leaders}
    keys |= {name: list(dict.fromkeys(rows[name])) for name in ("group", "metric")}
    whole = rows.set_index([*keys]).reindex(pd.MultiIndex.from_product(keys.values(), names=[*keys]))
    shape = [len(values) for values in keys.values()]
    variables = {
        name: ([*keys], _values(whole[name], name in NUMBERS).reshape(shape)) for name in whole if name not in leaders
    }
    coordinates = {name: (leader, labels[name]) for name, leader in leaders.items()}
    return xr.Dataset(variables, coords={**keys, **coordinates}, attrs=dict(about))


def _values(column: pd.Series[Any], is_number: bool) -> Any:
    """Return a column as an array of floats, if `is_number`, or of texts; what is missing is NaN, or empty."""
    return column.to_numpy(dtype=float) if is_number else column.fillna("").to_numpy(dtype=str)
