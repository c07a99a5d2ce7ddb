"""The file of results: a CSV line per measurement, written unit by unit.

Lines are only added, a whole unit in one write that is forced to the disk, so that a run may be
stopped anywhere and continued. A unit is complete when each of its cells has a line; where a cell
has several, the last one counts. A line cut short is dropped when the file is opened.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skstretch.experiments.cells import Unit
from skstretch.experiments.packed import there_or_packed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COLUMNS", "Ledger"]

COLUMNS = (
    "piece", "dataset", "method", "k", "c", "density", "mixing", "size", "trial", "fold",
    "error", "measure", "cpu", "wall", "nonzero", "seed", "versions", "commit",
)  # fmt: skip
PLACE = ("dataset", "trial", "fold")
CELL = ("piece", "method", "k", "c", "density", "mixing", "size")
KEY = (*PLACE, *CELL)
TEXT = ("piece", "dataset", "method", "measure", "versions", "commit")


class Ledger:
    """The results of one output folder.

    Parameters
    ----------
    path : Path
        The file; made with its header where it is missing.
    """

    def __init__(self, path: Path):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._repair()
        self._lines = {_key(line): line for line in self._read()}

    def _repair(self) -> None:
        """Write the header, or cut off a last line that has no end."""
        with open(self.path, "ab+") as file:
            file.seek(0)
            content = file.read()
            whole = content[: content.rfind(b"\n") + 1]
            file.truncate(len(whole))
            if not whole:
                file.write(_as_lines([COLUMNS]))
                whole = _as_lines([COLUMNS])
        header = whole.split(b"\n", 1)[0].decode("utf-8", "replace").split(",")
        if header != list(COLUMNS):
            raise ValueError(
                f"{self.path} has the columns {','.join(header)[:200]}, not those of this "
                "version: move the file away, or name another output folder."
            )

    def _read(self) -> list[dict[str, str]]:
        with open(self.path, newline="", encoding="utf-8", errors="replace") as file:
            rows = csv.reader(file)
            next(rows)
            return [
                dict(zip(COLUMNS, row, strict=True)) for row in rows if len(row) == len(COLUMNS)
            ]

    def has(self, unit: Unit) -> bool:
        """Whether every cell of the unit has its line."""
        return unit.wanted <= self._lines.keys()

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add the rows of a finished unit."""
        texts = [{name: _as_text(row.get(name)) for name in COLUMNS} for row in rows]
        block = _as_lines([tuple(text.values()) for text in texts])
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            while block:
                block = block[os.write(descriptor, block) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._lines.update((_key(text), text) for text in texts)

    def table(self) -> pd.DataFrame:
        """All results, the last line of each cell."""
        return read_results(self.path)


def read_results(path: Path) -> pd.DataFrame:
    """The results of a file: numbers as numbers, the last line of each cell, bad lines left out."""
    import pandas as pd

    path = there_or_packed(path)
    table = pd.read_csv(path, dtype=str, keep_default_na=False, on_bad_lines="skip")
    # A line that is being written, or was cut short, has no last field yet.
    table = table.dropna(subset=[COLUMNS[-1]]).drop_duplicates(list(KEY), keep="last")
    for name in COLUMNS:
        if name not in TEXT:
            table[name] = pd.to_numeric(table[name], errors="coerce")
    return table[table["error"].notna()].reset_index(drop=True)


def _key(line: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(line[name] for name in KEY)


def _as_text(value: Any) -> str:
    return "" if value is None else " ".join(str(value).split())


def _as_lines(rows: Iterable[tuple[str, ...]]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()
