"""The data that a model was fitted to, read again beside it."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from skstretch.cli.console import Talk
from skstretch.cli.data.errors import DataError
from skstretch.cli.data.form import Form
from skstretch.cli.data.vectors import read_vector
from skstretch.cli.folds import splitter
from skstretch.cli.labels import read_values
from skstretch.cli.models import read_for


def training_data(
    model: Any, data: str, target: str | None, form: Form, talk: Talk
) -> tuple[Any, Any]:
    """Features in the order of the model, and its target."""
    if target is None:
        raise DataError("say with --target which column of --data the model predicts.")
    table = _table(model, data, target, form, talk)
    expected = model.cv_predictions_ if hasattr(model, "cv_predictions_") else None
    if expected is not None and len(expected) != table.X.shape[0]:
        raise DataError(
            f"the model was fitted to {len(expected):,} rows, and {data!r} has "
            f"{table.X.shape[0]:,}: pass the data that it was fitted to."
        )
    values = read_values(table.aside["target"])
    if values.missing.any():
        raise DataError(f"the target {target!r} has {int(values.missing.sum())} missing values.")
    if not is_classifier(model):
        if values.numbers is None:
            raise DataError(f"the target {target!r} holds text ({values.odd!r}), not numbers.")
        return table.X, values.numbers
    return table.X, _labels(model, values, target)


def restore_folds(model: Any, cv: str | None) -> None:
    """Give a loaded model the folds of its fit, which a model file cannot hold.

    `cv` is what --cv was; None for fits with groups, whose folds need the groups.
    """
    if cv is None or not hasattr(model, "cv_results_") or model.cv is not None:
        return
    compressed = any(isinstance(d, int) or d < 1 for d in model.density_grid)
    model.cv = splitter(cv, False, is_classifier(model), compressed)


def _table(model: Any, data: str, target: str, form: Form, talk: Talk) -> Any:
    """The features, and the target apart: a column, or a file of one value a row."""
    table = read_for(model, data, form, talk, {"ids": (target,), "option": "--target"})
    column = table.aside.pop(f"id {target}", None)
    table.aside["target"] = read_vector(target, table.X.shape[0]) if column is None else column
    return table


def _labels(model: Any, values: Any, target: str) -> Any:
    whole = model.classes_.dtype.kind in "iu" and values.numbers is not None
    y = values.numbers.astype(np.int64) if whole else np.array(values.words)
    unknown = sorted(set(y.tolist()) - set(model.classes_.tolist()))
    if unknown:
        raise DataError(f"the model does not know the class {unknown[0]!r} of {target!r}.")
    return y
