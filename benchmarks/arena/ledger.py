"""The file of results: one CSV line per fit, appended as soon as it is known.

Lines are only ever added, each in one write, so that a run may be interrupted, continued,
or share the file with another one. The last line of a key counts; a line with the status
``stale`` takes a result back.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path

import pandas as pd

STALE = "stale"
KEY = ("seed", "task", "target", "repeat", "fold", "method")


@dataclass(frozen=True)
class Row:
    """One fit.

    ``error`` is the mean squared error over that of the training mean on the same test fold,
    or the balanced error rate; ``baseline`` is the error of using no feature: 1, or that of a
    coin with as many sides as classes. Seconds are for fit and prediction together. ``seed`` names
    the folds; ``commit`` and ``date`` say which state of this repository made the row, and when.
    """

    seed: str
    kind: str
    task: str
    target: str
    repeat: int
    fold: int
    method: str
    error: float
    baseline: float
    seconds: float
    cpu_seconds: float
    n_train: int
    n_features: int
    status: str
    commit: str
    date: str

    @property
    def key(self) -> tuple:
        """What identifies the fit."""
        return tuple(asdict(self)[name] for name in KEY)


COLUMNS = [field.name for field in fields(Row)]


def append(path: Path, rows: Iterable[Row]) -> None:
    """Add rows to the file, which is made with its header where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        if os.fstat(descriptor).st_size == 0:
            os.write(descriptor, _line(COLUMNS))
        for row in rows:
            os.write(descriptor, _line(astuple(row)))
    finally:
        os.close(descriptor)


def read(path: Path) -> pd.DataFrame:
    """The last row of each key, without the stale ones; empty where there is no file."""
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    # Names such as "NA" are names here, and a line cut short by a full disk is left out.
    table = pd.read_csv(
        path,
        dtype={"target": str, "commit": str},
        keep_default_na=False,
        na_values=["nan"],
        on_bad_lines="skip",
    )
    missing = [name for name in COLUMNS if name not in table]
    if missing:
        raise ValueError(
            f"{path} has no column {', '.join(missing)}: it was written by an older arena; name "
            "another file with --out, or move it away."
        )
    table = table.drop_duplicates(list(KEY), keep="last")
    return table[table["status"] != STALE].reset_index(drop=True)


def done_rows(path: Path) -> dict[tuple, Row]:
    """The rows of the file by their key."""
    table = read(path)
    rows = (Row(**record) for record in table.to_dict("records"))
    return {row.key: row for row in rows}


def _line(values: Iterable) -> bytes:
    buffer = io.StringIO()
    # A message may hold line breaks; a row must not.
    flat = [" ".join(v.split()) if isinstance(v, str) else v for v in values]
    csv.writer(buffer, lineterminator="\n").writerow(flat)
    return buffer.getvalue().encode()
