"""Files of one value for each row, for formats that hold a matrix alone."""

from pathlib import Path
from typing import Any

import numpy as np

from stretchy.cli.data.errors import DataError
from stretchy.cli.data.streams import opened


def read_vector(source: str, n_rows: int) -> Any:
    """An array of numbers from ``.npy``, or a list of strings, one a line.

    A text with one line more than there are rows starts with a header.
    """
    if Path(source).suffix == ".npy":
        try:
            values: Any = np.load(source, allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise DataError(f"{source!r} is not a sound NPY file of numbers: {error}.") from None
        values = values.reshape(-1) if values.size == max(values.shape, default=0) else values
        if values.ndim != 1:
            raise DataError(f"{source!r} has shape {values.shape}: one value a row is needed.")
    else:
        with opened(source, lambda file, size: file) as stream:
            try:
                values = stream.read().decode("utf-8-sig").split("\n")
            except UnicodeDecodeError:
                raise DataError(f"{source!r} is not UTF-8 text.") from None
        values = [value.strip().strip('"') for value in values]
        if values and not values[-1]:
            values.pop()
        values = values[1:] if len(values) == n_rows + 1 else values
    if len(values) != n_rows:
        raise DataError(f"{source!r} has {len(values)} values, and the data have {n_rows} rows.")
    return values
