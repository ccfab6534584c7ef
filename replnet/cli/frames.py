"""Tables with a row for each of many sources or visits: written to files, and printed in part."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from replnet.cli.output import echo, print_table
from replnet.show import Table
from replnet.text import PARQUET_ENDINGS, FieldError, as_cell, output_file, value_text

DataFrame: TypeAlias = Any  # of pandas

MOST_ROWS_SHOWN = 10
CSV_ENDINGS = (".csv",)


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet, by the ending of its name."""
    return path.suffix.lower() in PARQUET_ENDINGS


def require_table_ending(path: Path) -> None:
    """Raise FieldError for `--output` if the ending of a file's name is that of no kind of table."""
    if path.suffix.lower() not in CSV_ENDINGS + PARQUET_ENDINGS:
        raise FieldError("--output", f"{path} has no known ending", "a name that ends in .csv or .parquet")


def write_frame(table: DataFrame, path: Path) -> None:
    """Write a DataFrame to a CSV or Parquet file, by the ending of its name; a file that is there is replaced."""
    with output_file(path) as file:
        if is_parquet(path):
            table.to_parquet(file, index=False)
        else:
            write_csv_table(with_date_texts(table), file)


def write_csv_table(table: DataFrame, file: Any) -> None:
    """Write a DataFrame to a binary file as CSV; texts like formulas get an apostrophe, missing values are empty."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    texts = {name: [as_cell(value) for value in table[name]] for name in table.select_dtypes(["object", "string"])}
    rows = pa.Table.from_pandas(table.assign(**texts), preserve_index=False)
    kinds = (pa.string(), pa.large_string())
    strings = [column for column in rows.columns if column.type in kinds]
    is_plain = not any(pc.any(pc.match_substring_regex(column, '[",\r\n]')).as_py() for column in strings)
    file.write(f"{','.join(rows.column_names)}\n".encode())
    layout = csv.WriteOptions(include_header=False, quoting_style="none" if is_plain else "needed")
    csv.write_csv(rows, file, layout)


def print_csv(table: DataFrame) -> None:
    """Print a DataFrame to stdout as CSV, as `write_csv_table` writes it."""
    buffer = io.BytesIO()
    write_csv_table(table, buffer)
    sys.stdout.write(buffer.getvalue().decode())


def with_date_texts(table: DataFrame) -> DataFrame:
    """Return a copy of a table whose dates are texts such as 2026-01-01T12:00:00.000Z, None for a missing one."""
    import numpy as np

    dates = {}
    for name in table.select_dtypes("datetimetz"):
        instants = table[name].dt.tz_localize(None).to_numpy().astype("datetime64[ms]")
        texts = np.char.add(np.datetime_as_string(instants, unit="ms"), "Z").astype(object)
        texts[np.isnat(instants)] = None
        dates[name] = texts
    return table.assign(**dates)


def plain_rows(table: DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame as plain data for JSON, with None for what is missing."""
    plain = with_date_texts(table).astype(object)
    return plain.where(plain.notna(), None).to_dict("records")  # type: ignore[no-any-return]


def print_head(table: DataFrame, heads: Sequence[str]) -> None:
    """Print the first 10 rows of a DataFrame to stdout, under these heads, and how many more there are."""
    head_rows = with_date_texts(table.head(MOST_ROWS_SHOWN))
    cells = [[_cell_text(value) for value in row] for row in head_rows.itertuples(index=False)]
    more = len(table) - len(head_rows)
    print_table(Table(list(heads), cells, [f"{more:,} more rows (-o FILE writes all)"] if more else []))
    echo()


def _cell_text(value: Any) -> str:
    """Return the text of a cell, empty for a missing value."""
    if value is None or value != value:
        return ""
    return value if isinstance(value, str) else value_text(value)
