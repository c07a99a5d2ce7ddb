"""The files of a run: its settings, results and curves, and the lock of their folder.

Results are CSV lines, one per measurement. Lines are only added, a whole unit in one write that is
forced to the disk, so that a run may be stopped anywhere and continued. A unit is complete when
each of its cells has a line; where a cell has several, the last one counts. A line cut short is
dropped when the file is opened.

Curves are everything drawn that is not an error or a time: a row is a point of a named series in a
panel of a figure, ``figure, panel, series, x, y``, and one with an empty x or y breaks a line. The
file is small and is written whole each time a part is finished.

One run writes into a folder at a time, by a lock of the operating system that dies with its
process.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from reproduction.settings import Settings, Unit

if TYPE_CHECKING:
    import pandas as pd


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A binary file that takes the place of `path` when the block ends without an error.

    It is written under another name in the same folder and forced to the disk first; after an
    error or a stop it is gone, and an older file is as it was.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(part, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


SETTINGS = "settings.json"


def keep_settings(folder: Path, settings: Settings) -> None:
    """Note what a folder is a run of; refuse to mix two kinds of run in one folder."""
    found = read_settings(folder)
    if found is None:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / SETTINGS) as file:
            file.write(json.dumps(asdict(settings), indent=1).encode())
    elif _kind(found) != _kind(settings):
        raise ValueError(
            f"{str(folder)!r} holds a run with other settings (quick and full runs do not mix): "
            "choose another folder with --out, or remove that one."
        )


def _kind(settings: Settings) -> Settings:
    """All but the numbers of trials, which may grow from run to run in one folder."""
    return replace(settings, trials=0, standin_trials=0, descent_trials=0)


def read_settings(folder: Path) -> Settings | None:
    """The settings of the run in a folder, or None where there is no run yet."""
    path = folder / SETTINGS
    if not path.exists():
        return None
    return Settings(**{name: _tuples(v) for name, v in json.loads(path.read_text("utf-8")).items()})


def _tuples(value: Any) -> Any:
    return tuple(_tuples(each) for each in value) if isinstance(value, list) else value


def there_or_packed(path: Path) -> Path:
    """The file, or where only its gzip is there (``results.csv.gz``) that one."""
    packed = path.with_name(path.name + ".gz")
    return packed if packed.exists() and not path.exists() else path


LOCK = ".lock"


class FolderInUseError(ValueError):
    """Another run writes into the folder."""


@contextmanager
def only_run(folder: Path) -> Iterator[None]:
    """Hold the folder, which is made where it is missing, until the block ends.

    The file ``.lock`` stays, the lock on it does not: the system lets go of it when the process
    ends, however it ends, so that a crash leaves nothing to clear away.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / LOCK, "a+b") as file:
        if not _taken(file):
            raise FolderInUseError(_message(folder, file))
        file.truncate(0)
        file.write(_content())
        file.flush()
        try:
            yield
        finally:
            _let_go(file)


def _content() -> bytes:
    # Windows locks the first byte, which the loser could then not read: the number follows it.
    return f"\n{os.getpid()}\n".encode()


def _message(folder: Path, file: IO[bytes]) -> str:
    file.seek(1)
    owner = file.read(20).decode("ascii", "replace").strip() or "unknown"
    return (
        f"{str(folder)!r} is in use by another run (process {owner}): wait for it or stop it, or "
        "choose another folder with --out; --draw-only works meanwhile. The lock ends with that "
        f"process. If there is none, as may be on a network drive, remove {str(folder / LOCK)!r}."
    )


if sys.platform == "win32":
    import msvcrt

    def _taken(file: IO[bytes]) -> bool:
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _let_go(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _taken(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _let_go(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


CURVE_COLUMNS = ("figure", "panel", "series", "x", "y")


def series(figure: str, panel: str, name: str, x: ArrayLike, y: ArrayLike) -> pd.DataFrame:
    """One named series; x and y are numbers or sequences of the same length.

    Examples
    --------
    >>> from reproduction.files import series
    >>> series("fig1", "", "line", [0.0, 1.0], [2.0, 3.0])["y"].tolist()
    [2.0, 3.0]
    """
    import pandas as pd

    x, y = np.atleast_1d(np.asarray(x, float)), np.atleast_1d(np.asarray(y, float))
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(f"series {name!r}: x has shape {x.shape} and y {y.shape}; one y per x.")
    labels = {"figure": figure, "panel": panel, "series": name}
    return pd.DataFrame({**labels, "x": x, "y": y}, index=range(x.size))


def join(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The tables one below the other, with a fresh index and exactly the five columns."""
    import pandas as pd

    return pd.concat(tables, ignore_index=True)[list(CURVE_COLUMNS)]


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
            table[name] = _numbers(table[name])
    return table[table["error"].notna()].reset_index(drop=True)


def _key(line: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(line[name] for name in KEY)


def _as_text(value: Any) -> str:
    return "" if value is None else " ".join(str(value).split())


def _as_lines(rows: Iterable[tuple[str, ...]]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()


CURVE_TEXT = ("figure", "panel", "series")


class CurveBook:
    """The curves of one output folder.

    Parameters
    ----------
    path : Path
        The file; it need not be there.
    """

    def __init__(self, path: Path):
        self.path = path
        self._table = read_curves(path)

    def has(self, figure: str, prefix: str) -> bool:
        """Whether the figure has a panel that starts with `prefix`."""
        return bool(self._rows(figure, prefix).any())

    def put(self, figure: str, prefix: str, table: pd.DataFrame) -> None:
        """Put the table in the place of the panels of `figure` that start with `prefix`."""
        import pandas as pd

        kept = self._table[~self._rows(figure, prefix)]
        self._table = pd.concat([kept, table[list(CURVE_COLUMNS)]], ignore_index=True)
        with replacing(self.path) as file:
            file.write(self._table.to_csv(index=False, lineterminator="\n").encode())

    def _rows(self, figure: str, prefix: str) -> pd.Series:
        table = self._table
        return (table["figure"] == figure) & table["panel"].str.startswith(prefix)


def read_curves(path: Path) -> pd.DataFrame:
    """The curves of a file, empty where there is none."""
    import pandas as pd

    path = there_or_packed(path)
    if not path.exists():
        empty: dict[str, pd.Series] = {
            name: pd.Series(dtype=str if name in CURVE_TEXT else float) for name in CURVE_COLUMNS
        }
        return pd.DataFrame(empty)
    # An empty panel name is a name; an empty number breaks a line.
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if list(table.columns) != list(CURVE_COLUMNS):
        raise ValueError(
            f"{path} has the columns {list(table.columns)}, not {list(CURVE_COLUMNS)}: move the "
            "file away, or name another output folder."
        )
    for name in ("x", "y"):
        table[name] = _numbers(table[name])
    return table


def _numbers(texts: pd.Series) -> pd.Series:
    """Numbers of texts, NaN for what is none; pandas before 3.1 rounds badly by itself."""
    import pandas as pd

    found = pd.to_numeric(texts, errors="coerce")
    return found if found.dtype.kind == "i" else texts.where(found.notna()).astype(float)
