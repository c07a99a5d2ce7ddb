"""Model files: the model in one, data read for it, and what it says of them."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer

from skstretch.cli.columns import KnownColumns, check_features, check_infinite, missing_counts
from skstretch.cli.console import Talk, counted, in_options
from skstretch.cli.data.files import Form, check_source
from skstretch.cli.data.read import read_table, read_vector
from skstretch.cli.data.table import Table
from skstretch.cli.learning import asked_to_select, splitter
from skstretch.cli.problem import missing_message, read_values
from skstretch.cli.recipe import filled_words
from skstretch.estimators.steps import first_step, last_step, steps_before, transformed
from skstretch.exceptions import DataError


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
    """Data whose columns are those of the model, in its order.

    No value is missing but those that a pipeline fills.

    `apart` says what else `KnownColumns` shall know: ids, drop, target, option.
    """
    names = getattr(first_step(model), "feature_names_in_", None)
    names = None if names is None else [str(name) for name in names]
    unused = frozenset(names[j] for j in _idle(model)) if names else frozenset()
    choose = KnownColumns(names, unused, note=talk.note, **(apart or {}))
    with talk.reading("reading") as watch:
        table = read_table(data, form, choose, watch)
    for note in table.notes:
        talk.note(note)
    check_features(table)
    counts, rows = missing_counts(table)
    fill = _fill(model)
    if counts and fill is None:
        raise DataError(missing_message(counts, int(rows.sum()), rows.size))
    if counts:
        talk.note(filled_words(counts, str(fill)).replace("of the column", "of the fit"))
    check_infinite(table)
    _fit_width(table, model, names, talk)
    return table


def _idle(model: Any) -> list[int]:
    """Columns without weight; a step before the model may need any of them."""
    if steps_before(model):
        return []
    support = np.atleast_2d(last_step(model).support_)
    return [int(j) for j in np.flatnonzero(~support.any(axis=0))]


def _fill(model: Any) -> str | None:
    """What a pipeline fills missing values with; None where it does not."""
    steps = steps_before(model)
    filling = bool(steps) and type(steps[0]) is SimpleImputer and np.isnan(steps[0].missing_values)
    return str(steps[0].strategy) if filling else None


def _by_name(step: Any) -> bool:
    """Whether a step asks for some of its columns by name."""
    listed = step.transformers_ if isinstance(step, ColumnTransformer) else []
    return any(isinstance(name, str) for *_, columns in listed for name in np.ravel(columns))


def _framed(model: Any, X: Any) -> Any:
    """X with the names of the model, where parts of a pipeline ask for columns by name."""
    if not any(_by_name(step) for step in steps_before(model)):
        return X
    names = getattr(first_step(model), "feature_names_in_", None)
    if names is None:
        return X
    try:
        import pandas as pd
    except ImportError:
        raise DataError(
            "this model chooses columns by name, which needs pandas: pip install "
            "'skstretch[frames]'."
        ) from None
    return pd.DataFrame(X, columns=names)


def _fit_width(table: Table, model: Any, names: list[str] | None, talk: Talk) -> None:
    """Give X as many columns as the model has."""
    D, width = first_step(model).n_features_in_, table.X.shape[1]
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
        raise DataError(
            f"the model takes {counted(D, 'column')}, and the file has {width:,}: {way_out}."
        )


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
    X = _framed(model, table.X)
    try:
        with talk.warnings():
            # X has no names any more; its columns were put in order by name
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            columns |= _named("prediction", model.predict(X))
            if interval is not None:
                columns |= _bounds(last_step(model), transformed(model, X), interval, talk)
            if proba:
                shares = model.predict_proba(X)
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


def training_data(
    model: Any, data: str, target: str | None, form: Form, talk: Talk
) -> tuple[Any, Any]:
    """Features in the order of the model, and its target."""
    if target is None:
        raise DataError("say with --target which column of --data the model predicts.")
    table = _table(model, data, target, form, talk)
    expected = getattr(last_step(model), "cv_predictions_", None)
    if expected is not None and len(expected) != table.X.shape[0]:
        raise DataError(
            f"the model was fitted to {counted(len(expected), 'row')}, and {data!r} has "
            f"{table.X.shape[0]:,}: pass the data that it was fitted to."
        )
    values = read_values(table.aside["target"])
    if values.missing.any():
        raise DataError(f"the target {target!r} has {int(values.missing.sum())} missing values.")
    if not is_classifier(model):
        if values.numbers is None:
            raise DataError(f"the target {target!r} holds text ({values.odd!r}), not numbers.")
        return _framed(model, table.X), values.numbers
    return _framed(model, table.X), _labels(model, values, target)


def restore_folds(model: Any, cv: str | None) -> None:
    """Give a loaded model the folds of its fit, which a model file cannot hold.

    `cv` is what --cv was; None for fits with groups, whose folds need the groups.
    """
    model = last_step(model)
    if cv is None or not hasattr(model, "cv_results_") or model.cv is not None:
        return
    compressed = asked_to_select(model.density_grid, model.n_features_in_)
    model.cv = splitter(cv, False, is_classifier(model), compressed)


def _table(model: Any, data: str, target: str, form: Form, talk: Talk) -> Any:
    """The features, and the target apart: a column, or a file of one value a row."""
    table = read_for(model, data, form, talk, {"ids": (target,), "option": "--target"})
    column = table.aside.pop(f"id {target}", None)
    table.aside["target"] = column
    if column is None:
        table.aside["target"] = read_vector(target, table.X.shape[0], form.max_memory)
    return table


def _labels(model: Any, values: Any, target: str) -> Any:
    whole = model.classes_.dtype.kind in "iu" and values.numbers is not None
    y = values.numbers.astype(np.int64) if whole else np.array(values.words)
    unknown = sorted(set(y.tolist()) - set(model.classes_.tolist()))
    if unknown:
        raise DataError(f"the model does not know the class {unknown[0]!r} of {target!r}.")
    return y
