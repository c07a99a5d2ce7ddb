"""Columns that a prediction consists of."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from skstretch.cli.console import Talk
from skstretch.cli.data.errors import DataError
from skstretch.cli.data.table import Table
from skstretch.cli.wording import in_options


def check_asked(model: Any, interval: float | None, proba: bool) -> None:
    """Refuse what this kind of model does not have."""
    if interval is not None and is_classifier(model):
        raise DataError("--interval is for regression; this model tells classes: use --proba.")
    if proba and not is_classifier(model):
        raise DataError(
            "--proba is for classification; this model predicts numbers: use --interval."
        )


def predicted(
    model: Any, table: Table, interval: float | None, proba: bool, talk: Talk
) -> dict[str, Any]:
    """Name to values: copied columns, prediction, bounds, probabilities."""
    columns = {role.removeprefix("id "): values for role, values in table.aside.items()}
    try:
        with talk.warnings():
            # X has no names any more; its columns were put in order by name
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            columns |= _named("prediction", model.predict(table.X))
            if interval is not None:
                columns |= _bounds(model, table.X, interval, talk)
            if proba:
                shares = model.predict_proba(table.X)
                columns |= {
                    f"probability {name}": shares[:, i] for i, name in enumerate(model.classes_)
                }
    except ValueError as error:
        raise DataError(in_options(str(error))) from error
    return columns


def _named(name: str, values: Any) -> dict[str, Any]:
    if values.ndim == 1:
        return {name: values}
    return {f"{name} {number}": column for number, column in enumerate(values.T, 1)}


def _bounds(model: Any, X: Any, coverage: float, talk: Talk) -> dict[str, Any]:
    try:
        lower, upper = model.predict_interval(X, coverage, method="plus")
    except ValueError as error:
        if "training features" not in str(error):
            raise
        talk.note(
            "intervals from the leave-one-out residuals; for exact jackknife+ fit with --intervals."
        )
        lower, upper = model.predict_interval(X, coverage, method="residual")
    if np.isinf(lower).any():
        talk.note("some bounds are infinite: there are too few rows for this coverage.")
    return _named("lower", lower) | _named("upper", upper)
