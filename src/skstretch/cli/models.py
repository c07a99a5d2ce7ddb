"""Model files, and data read for the model in one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from skstretch.cli.checks import check_features, check_infinite, missing_counts
from skstretch.cli.columns import KnownColumns
from skstretch.cli.console import Talk
from skstretch.cli.data.errors import DataError
from skstretch.cli.data.form import Form
from skstretch.cli.data.read import read_table
from skstretch.cli.data.streams import check_source
from skstretch.cli.data.table import Table
from skstretch.cli.problem import missing_message


def load_model(path: Path) -> Any:
    """The model in a file; the error says where a data file was given instead."""
    from skstretch.io import ModelFileError, load

    check_source(str(path))
    try:
        return load(path)
    except ModelFileError as error:
        raise DataError(f"{error} Models are made by skstretch fit.") from None
    except PermissionError:
        raise DataError(f"{str(path)!r} may not be read: permission denied.") from None


@dataclass(frozen=True)
class Origin:
    """What `skstretch fit` stored beside a model; None where the file has nothing of the kind."""

    target: str | None
    cv: str | None
    seconds: float | None


def origin_of(path: Path) -> Origin:
    """The origin of a model in a file that `load_model` has accepted."""
    from skstretch.io import about

    facts = about(path)
    words = (facts.get(name) for name in ("target", "cv"))
    target, cv = (word if isinstance(word, str) else None for word in words)
    seconds = facts.get("seconds")
    return Origin(target, cv, seconds if isinstance(seconds, float) else None)


def header_of(path: Path) -> dict[str, Any]:
    """The header of a model file that `load_model` has accepted."""
    from skstretch.io.archive import Archive
    from skstretch.io.header import read_header

    with open(path, "rb") as file:
        return read_header(Archive(file))


def read_for(
    model: Any, data: str, form: Form, talk: Talk, apart: Mapping[str, Any] | None = None
) -> Table:
    """Data whose columns are those of the model, in its order, with no value missing.

    `apart` says what else `KnownColumns` shall know: ids, drop, target, option.
    """
    names = getattr(model, "feature_names_in_", None)
    names = None if names is None else [str(name) for name in names]
    idle = ~np.atleast_2d(model.support_).any(axis=0)
    unused = frozenset(np.array(names, dtype=object)[idle]) if names else frozenset()
    choose = KnownColumns(names, unused, note=talk.note, **(apart or {}))
    with talk.reading("reading") as watch:
        table = read_table(data, form, choose, watch)
    check_features(table)
    counts, rows = missing_counts(table)
    if counts:
        raise DataError(missing_message(counts, int(rows.sum()), rows.size))
    check_infinite(table)
    _fit_width(table, model, names, talk)
    return table


def _fit_width(table: Table, model: Any, names: list[str] | None, talk: Talk) -> None:
    """Give X as many columns as the model has."""
    D, width = model.n_features_in_, table.X.shape[1]
    if names is not None and table.names is not None and width < D:
        # columns without weight: any finite value does
        X = np.zeros((table.X.shape[0], D))
        place = {name: column for column, name in enumerate(names)}
        X[:, [place[name] for name in table.names]] = table.X
        table.X = X
    elif table.elastic and width != D:
        if width > D:
            talk.note(f"ignored features {D + 1} to {width}, which the model does not know.")
            table.X = table.X[:, :D]
        else:
            table.X.resize(table.X.shape[0], D)
    elif width != D:
        way_out = (
            "leave others out with --drop"
            if width > D
            else "all of them are needed, in the order of the fit"
        )
        raise DataError(f"the model takes {D:,} columns, and the file has {width:,}: {way_out}.")
