"""Files and DataFrames with a row per source, read by columns; errors say in which line a row is."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, final

from replnet.text import PARQUET_ENDINGS, FieldsError

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
Fault = tuple[tuple[str | int, ...], str, str]
"""A fault of a field: an empty path, what is wrong, and what would be right."""

ENDINGS = (".csv", ".tsv", ".txt", *PARQUET_ENDINGS)
SEPARATORS = ",;\t"
MOST_FAULTS = 10  # of a column that are told one by one, so that the count of the others is told as well


def is_table(value: object) -> bool:
    """Whether the value of a field is a table: a DataFrame, a path, or the name of a CSV or Parquet file as text."""
    if isinstance(value, str):
        return value.lower().endswith(ENDINGS)
    return isinstance(value, os.PathLike) or hasattr(value, "columns")


def refuse(wrong: str, right: str) -> NoReturn:
    """Raise a FieldsError with one fault of a field as a whole: what is `wrong`, and what would be `right`."""
    raise FieldsError([((), wrong, right)])


def reader_of(table_or_path: Any, folder: Path | None) -> Reader:
    """Return the reader of a table: a DataFrame, or a file; raise FieldsError if there is no such file.

    A relative path counts from `folder`, or from the working directory if `folder` is None or has no such file.
    """
    if hasattr(table_or_path, "columns"):
        return Frame(table_or_path)
    path = Path(table_or_path) if folder is None else folder / table_or_path
    if not path.exists() and Path(table_or_path).exists():
        path = Path(table_or_path)  # as one is typed on the command line, beside a network from elsewhere
    if not path.is_file():
        refuse(f"{path}: {'is no file' if path.exists() else 'does not exist'}", "a CSV or Parquet file")
    return (ParquetFile if path.suffix.lower() in PARQUET_ENDINGS else CsvFile)(path)


@final
class Frame:
    """A DataFrame as a table of sources."""

    name = "the table"

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def heads(self) -> list[str]:
        """Return the names of its columns."""
        return [str(head) for head in self._frame.columns]

    def columns(self, heads: Sequence[str]) -> list[pa.Array]:
        """Return the columns with these names, in this order; raise FieldsError if one mixes numbers and texts."""
        import pyarrow as pa

        place = {str(head): head for head in self._frame.columns}
        try:
            return [pa.array(self._frame[place[head]], from_pandas=True) for head in heads]
        except (pa.ArrowException, TypeError) as error:
            refuse(f"the table: {str(error).splitlines()[0][:200]}", "columns of numbers, or of texts")

    def places(self, rows: Sequence[int]) -> list[str]:
        """Return what errors call these rows, numbers from 0 on: "row 1" for the first."""
        return [f"row {row + 1}" for row in rows]


@final
class ParquetFile:
    """A Parquet file as a table of sources."""

    def __init__(self, path: Path) -> None:
        self._path, self.name = path, str(path)

    def heads(self) -> list[str]:
        """Return the names of its columns; raise FieldsError if it is no Parquet file."""
        import pyarrow.parquet as pq

        return [str(name) for name in self._try(lambda: pq.read_schema(self._path)).names]

    def columns(self, heads: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the columns with these names, in this order; raise FieldsError if the file cannot be read."""
        import pyarrow.parquet as pq

        table = self._try(lambda: pq.read_table(self._path, columns=list(heads)))
        return [table.column(head) for head in heads]

    def _try(self, read: Callable[[], T]) -> T:
        """Return what `read` returns; raise FieldsError if the file cannot be read."""
        import pyarrow as pa

        try:
            return read()
        except (pa.ArrowException, OSError, ValueError):
            refuse(f"{self.name}: cannot be read as Parquet", "a Parquet file, or a name that ends in .csv")

    def places(self, rows: Sequence[int]) -> list[str]:
        """Return what errors call these rows, numbers from 0 on: "row 1" for the first."""
        return [f"row {row + 1}" for row in rows]


@final
class CsvFile:
    """A CSV file in UTF-8 as a table of sources: a line of heads, then rows, between commas, semicolons or tabs."""

    def __init__(self, path: Path) -> None:
        self._path, self.name = path, str(path)

    def heads(self) -> list[str]:
        """Return the names of its columns, and keep what separates them, for the other methods; call it first.

        Raise FieldsError if the file cannot be read, is empty, or is no text in UTF-8.
        """
        try:
            with self._path.open(encoding="utf-8-sig", newline="") as file:
                first = next((line for line in file if line.strip()), "")
            if "\0" in first:
                refuse(f"{self.name}: is binary", "a text file in UTF-8, or Parquet by its ending")
        except UnicodeDecodeError as error:
            self._refuse_bytes(error)
        except OSError as error:
            refuse(f"{self.name}: cannot be read: {error.strerror or error}", "a CSV or Parquet file")
        if not first:
            refuse(f"{self.name}: is empty", "a line of heads, then a row for each source")
        self._separator = max(SEPARATORS, key=first.count)
        return next(csv.reader([first], delimiter=self._separator))

    def columns(self, heads: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the columns with these names, in this order, as texts; call `heads` first.

        Raise FieldsError with the lines that have more or fewer columns, or if the file cannot be read.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        layout = arrow_csv.ParseOptions(delimiter=self._separator, newlines_in_values=True)
        texts = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(heads, pa.string()), include_columns=list(heads), strings_can_be_null=False
        )
        try:
            table = arrow_csv.read_csv(self._path, parse_options=layout, convert_options=texts)
        except pa.ArrowException as error:
            self._refuse_lines()
            refuse(f"{self.name}: cannot be read: {str(error).splitlines()[0][:100]}", "a CSV file")
        return [table.column(head) for head in heads]

    def _refuse_lines(self) -> None:
        """Raise FieldsError with the first lines that have more or fewer values than heads, or bytes not in UTF-8.

        Return if there are none.
        """
        faults, count, others = list[Fault](), 0, 0
        right = "as many as columns; texts with separators in quotes"
        try:
            for line, row in self._rows():
                count = count or len(row)
                if len(row) != count and len(faults) == MOST_FAULTS:
                    others += 1
                elif len(row) != count:
                    faults.append(((), f"{self.name}: line {line}: has {len(row)} values for {count} columns", right))
        except UnicodeDecodeError as error:
            self._refuse_bytes(error)
        except csv.Error as error:
            refuse(f"{self.name}: cannot be read: {error}", "a CSV file")
        if others:
            faults.append(((), f"{self.name}: {others:,} more such lines", right))
        if faults:
            raise FieldsError(faults)

    def _refuse_bytes(self, error: UnicodeDecodeError) -> NoReturn:
        """Raise the FieldsError of a file that is not in UTF-8, with the first line that is not."""
        line = 1
        with self._path.open("rb") as file:
            for line, raw in enumerate(file, 1):  # noqa: B007
                try:
                    raw.decode()
                except UnicodeDecodeError:
                    break
        byte = error.object[error.start]
        refuse(f"{self.name}: line {line}: byte 0x{byte:02x} is not UTF-8", "a text file in UTF-8")

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line in which each row begins, from 1, and its values; the heads first, and no empty lines."""
        with self._path.open(encoding="utf-8-sig", newline="") as file:
            reader, line = csv.reader(file, delimiter=self._separator), 1
            for row in reader:
                if row:
                    yield line, row
                line = reader.line_num + 1

    def places(self, rows: Sequence[int]) -> list[str]:
        """Return what errors call these rows, numbers from 0 on without the heads: "line 2", where the first begins."""
        wanted, lines = set(rows), dict[int, int]()
        for row, (line, _) in enumerate(islice(self._rows(), max(rows) + 2), -1):
            if row in wanted:
                lines[row] = line
        return [f"line {lines[row]}" for row in rows]


Reader = Frame | ParquetFile | CsvFile
"""What a table of sources is read by: the heads of its columns, columns by head, and what errors call rows."""
