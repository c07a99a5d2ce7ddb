"""From a file to a fitted model."""

import os
from typing import Any

from skstretch.io.archive import Archive, refusing
from skstretch.io.errors import ModelFileError
from skstretch.io.header import NAME, field, read_header
from skstretch.io.npy import read_array, read_entry
from skstretch.io.rebuild import rebuilt


def load(path: Any) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    model : StretchyRegressor, StretchyClassifier, StretchyRegressorCV or StretchyClassifierCV
        Fitted; its predictions are bit for bit those of the model that was saved. Parameters that
        could not be stored have their default; ``not_stored_``, a dict that is only there for
        such a model, says how they were written.

    Raises
    ------
    ModelFileError
        For a file that is damaged, hostile, or written by a newer version. Nothing in a file is
        ever executed, and reading takes memory and time in proportion to its size on the disk.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            archive = Archive(file)
            header = read_header(archive)
            arrays = _read_arrays(archive, header)
        with refusing("its parts do not fit together"):
            return rebuilt(header, arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{name!r} is not a sound model file: {error}") from error


def _read_arrays(archive: Archive, header: dict[str, Any]) -> dict[str, Any]:
    listed = field(header, "arrays", dict)
    members = {name.removesuffix(".npy") for name in archive.members if name != NAME}
    if members != set(listed):
        odd = sorted(members ^ set(listed))[0]
        where = "in the file" if odd in members else "in the header"
        raise ModelFileError(f"its array {odd[:80]!r} is only {where}.")
    entries = {name: read_entry(name, fields) for name, fields in listed.items()}
    return {name: read_array(archive, name, entry) for name, entry in entries.items()}
