"""Model files: the model in one, data read for it, and what it says of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer

from skstretch.cli.columns import (
    Note,
    check_distinct,
    check_features,
    check_infinite,
    check_roles,
    exposed,
    filled_words,
    meant,
    missing_counts,
    missing_message,
    others,
    read_table,
    read_values,
    survival,
    unknown,
)
from skstretch.cli.console import Talk, nearest, quoted
from skstretch.cli.data.files import Choice, Form, Table, check_source
from skstretch.cli.data.matrices import read_vector
from skstretch.cli.training import splitter
from skstretch.estimators.state import first_step, last_step, steps_before, transformed
from skstretch.exceptions import DataError
from skstretch.io.steps import takes_texts
from skstretch.style import count

# a p-value that a note of strange rows counts
STRANGE = 0.05
# what the losses that have options of their own are for
OUTCOMES = {"cox": "survival", "poisson": "counts"}


@dataclass(frozen=True)
class KnownColumns:
    """Chooses the columns that a model knows, in its order.

    `model_names` is None for a model without names, which takes columns as they come; `unused`
    are names to which the model gives no weight: those may be absent. `target` is what the model
    predicts, `ids` are columns to keep apart, each with the option that named it.
    """

    model_names: Sequence[str] | None
    unused: Collection[str]
    note: Note
    ids: Mapping[str, str] = field(default_factory=dict)
    drop: Sequence[str] = ()
    target: str | None = None

    def __call__(self, names: Sequence[str], extras: Sequence[str]) -> Choice:
        def known(name: str) -> bool:
            return name in names or name in extras

        # a target may be in a file of its own, which is left to the caller
        own = {name for name in self.ids if self.ids[name] == "--target" and Path(name).is_file()}
        ids = [name for name in self.ids if known(name) or name not in own]
        for name in ids:
            if not known(name):
                raise DataError(unknown(self.ids[name], name, names, extras))
        dropped = meant("--drop", self.drop, names)
        check_roles({*ids}, names, extras)
        aside = {f"id {name}": name for name in ids}
        numbered = all(name == str(number) for number, name in enumerate(names, 1))
        by_order = numbered and not (names and names[0] in (self.model_names or ()))
        if self.model_names is None or by_order:
            return Choice(others(names, {*self.ids, *dropped}), aside)
        return Choice(self._by_name(names, self.model_names, dropped), aside)

    def _by_name(self, names: Sequence[str], wanted: Sequence[str], dropped: set[str]) -> list[int]:
        place = {name: i for i, name in reversed(list(enumerate(names)))}
        lacking = [name for name in wanted if name not in place]
        needed = [name for name in lacking if name not in self.unused]
        if needed:
            near = nearest(needed[0], set(names) - {*wanted})
            hint = f" Is {needed[0]!r} called {near!r} there?" if near is not None else ""
            raise DataError(
                f"the file lacks {count(len(needed), 'column')} that the model needs: "
                f"{quoted(needed)}.{hint}"
            )
        if lacking:
            verb = "is" if len(lacking) == 1 else "are"
            absent = count(len(lacking), "column")
            self.note(f"{absent} that the model gives no weight {verb} not in the file.")
        known = {*wanted, *self.ids, *dropped}
        if self.target in names and self.target not in known:
            self.note(f"left out {self.target!r}, which is what the model predicts.")
        ignored = [name for name in names if name not in known and name != self.target]
        if ignored:
            self.note(
                f"ignored {count(len(ignored), 'column')} that the model does not know: "
                f"{quoted(ignored)}."
            )
        used = {*wanted}
        check_distinct([name for name in names if name in used], names)
        return [place[name] for name in wanted if name in place]


@dataclass(frozen=True)
class ModelFile:
    """A model, the header of its file, and what `skstretch fit` stored; None where it did not."""

    model: Any
    header: dict[str, Any]
    target: str | None
    beside: str | None  # the column of events, or of exposures
    weights: str | None  # the columns of the weights and of the groups of the fit
    groups: str | None
    cv: str | None
    seconds: float | None


def read_model(path: Path) -> ModelFile:
    """The model in a file; the error says where a data file was given instead."""
    from skstretch.exceptions import ModelFileError
    from skstretch.io.header import stored_facts
    from skstretch.io.model import load_with_header

    check_source(str(path))
    try:
        model, header = load_with_header(path)
    except ModelFileError as error:
        raise DataError(f"{error} Models are made by skstretch fit.") from None
    except PermissionError:
        raise DataError(f"{str(path)!r} may not be read: permission denied.") from None
    facts = stored_facts(header)
    told = {name: facts.get(name) for name in ("target", "beside", "weights", "groups", "cv")}
    words = {name: word if isinstance(word, str) else None for name, word in told.items()}
    seconds = facts.get("seconds")
    seconds = seconds if isinstance(seconds, float) else None
    return ModelFile(model=model, header=header, seconds=seconds, **words)


def read_for(
    model: Any, data: str, form: Form, talk: Talk, apart: Mapping[str, Any] | None = None
) -> Table:
    """Data whose columns are those of the model, in its order.

    No value is missing but those that a pipeline fills.

    `apart` says what else `KnownColumns` shall know: ids, drop, target.
    """
    if any(takes_texts(part) for part, _ in _parts(model)):
        raise DataError(
            "this model reads texts, and the commands read numbers: use it in Python, "
            "skstretch.load('model.stretchy').predict(texts)."
        )
    names = getattr(first_step(model), "feature_names_in_", None)
    names = None if names is None else [str(name) for name in names]
    unused = set()
    if names and not steps_before(model):  # a step may need any of its columns
        used = np.any(np.atleast_2d(last_step(model).support_), axis=0).tolist()
        unused = {name for name, some in zip(names, used, strict=True) if not some}
    choose = KnownColumns(names, unused, note=talk.note, **(apart or {}))
    table = read_table(data, form, choose, talk)
    check_features(table)
    counts, rows = missing_counts(table)
    fill = _fill(model)
    if counts and fill is None:
        raise DataError(missing_message(counts, rows))
    if counts:
        talk.note(filled_words(counts, str(fill), "of the fit"))
    check_infinite(table)
    _fit_width(table, model, names, talk)
    return table


def _fill(model: Any) -> str | None:
    """What a pipeline fills missing values with; None where it does not."""
    steps = steps_before(model)
    if not steps or type(steps[0]) is not SimpleImputer:
        return None
    missing = steps[0].missing_values  # text and None are missing values of other data
    filling = isinstance(missing, float | np.floating) and np.isnan(missing)
    return str(steps[0].strategy) if filling else None


def _parts(model: Any) -> list[tuple[Any, Any]]:
    """What is applied before the model, and to which columns where they are chosen."""
    found: list[tuple[Any, Any]] = []
    for step in steps_before(model):
        joined = isinstance(step, ColumnTransformer)
        found += [parts[1:] for parts in step.transformers_] if joined else [(step, ())]
    return found


def _framed(model: Any, X: Any) -> Any:
    """X with the names of the model, where parts of a pipeline ask for columns by name."""
    by_name = any(isinstance(name, str) for _, some in _parts(model) for name in np.ravel(some))
    names = getattr(first_step(model), "feature_names_in_", None)
    if not by_name or names is None:
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
            f"the model takes {count(D, 'column')}, and the file has {width:,}: {way_out}."
        )


def check_asked(model: Any, interval: float | None, proba: bool, adaptive: bool) -> None:
    """Refuse what this kind of model does not have."""
    if adaptive and interval is None:
        raise DataError("--adaptive goes with --interval, say --interval 0.9.")
    if interval is not None and is_classifier(model):
        raise DataError("--interval is for regression; this model tells classes: use --proba.")
    loss = last_step(model)._state.loss
    if interval is not None and loss != "squared":
        raise DataError(f"--interval is not known for {OUTCOMES[loss]}: leave it out.")
    if proba and not is_classifier(model):
        raise DataError(
            "--proba is for classification; this model predicts numbers: use --interval."
        )


def predicted(
    model: Any, table: Table, asked: tuple[float | None, bool, bool, bool], talk: Talk
) -> dict[str, Any]:
    """Name to values: copied columns, prediction, and as asked bounds, probabilities, novelty."""
    interval, proba, check, adaptive = asked
    copied = {role.removeprefix("id "): values for role, values in table.aside.items()}
    columns: dict[str, Any] = {}
    X = _framed(model, table.X)
    with talk.translating():
        columns |= _by_target("prediction", model.predict(X))
        if last_step(model)._state.baseline is not None:  # the prediction is a risk
            columns["median time"] = last_step(model).predict_median(transformed(model, X))
        if interval is not None:
            new = transformed(model, X)
            columns |= _bounds(last_step(model), new, interval, adaptive, talk)
        if proba:
            shares = model.predict_proba(X)
            columns |= {
                f"probability {name}": shares[:, i] for i, name in enumerate(model.classes_)
            }
        if check:
            columns |= _novelty(last_step(model), transformed(model, X), talk)
    taken = next((name for name in copied if name in columns), None)
    if taken is not None:
        raise DataError(
            f"--id {taken!r} has the name of a column of the predictions: rename it in the data."
        )
    return copied | columns


def _novelty(model: Any, X: Any, talk: Talk) -> dict[str, Any]:
    """Whether rows are like the training data, with a note that counts those that are not."""
    found = model.novelty(X)
    columns = {name: np.asarray(found[name]) for name in ("leverage", "distance", "p_value")}
    n, odd = X.shape[0], int((columns["p_value"] <= STRANGE).sum())
    told = (
        f"{odd:,} of {count(n, 'row')} {'is' if odd == 1 else 'are'} unlike the training data "
        f"(p_value of {STRANGE} or less; by chance about {STRANGE * n:,.3g})"
    )
    if 2 * odd > n:
        told += (
            ": either they are of another kind, where neither predictions nor bounds can be "
            "trusted, or the model was fitted to them. The check is for new rows; report --data "
            "shows which of the training data are unlike the rest."
        )
    elif odd > STRANGE * n:
        told += ": there neither predictions nor bounds can be trusted as elsewhere."
    else:
        told += ", no more than chance explains."
    talk.note(told)
    return columns


def _by_target(name: str, values: Any) -> dict[str, Any]:
    if values.ndim == 1:
        return {name: values}
    return {f"{name} {number}": column for number, column in enumerate(values.T, 1)}


def _bounds(model: Any, X: Any, coverage: float, adaptive: bool, talk: Talk) -> dict[str, Any]:
    try:
        lower, upper = model.predict_interval(X, coverage, adaptive=adaptive)
    except ValueError as error:
        if "training features" not in str(error):
            raise
        talk.note(
            "intervals from the leave-one-out residuals; for exact jackknife+ fit with --intervals."
        )
        lower, upper = model.predict_interval(X, coverage, method="residual")
    if np.isinf(lower).any():
        talk.note("some bounds are infinite: there are too few rows for this coverage.")
    return _by_target("lower", lower) | _by_target("upper", upper)


@dataclass(frozen=True)
class TrainingRows:
    """What a model was fitted to, from a file: its weights are those of the fit, times exposures;
    groups and names of the rows where a column has them."""

    X: Any
    y: Any
    weights: Any
    groups: list[str] | None
    names: list[str] | None


def training_data(
    found: ModelFile,
    data: str,
    form: Form,
    talk: Talk,
    *,
    target: str | None = None,
    beside: str | None = None,
    groups: str | None = None,
    id: str | None = None,
) -> TrainingRows:
    """The rows that a model was fitted to. The target, and `beside` it the column of events of
    survival or of exposures of counts, are those of the fit where none is named."""
    model, loss = found.model, last_step(found.model)._state.loss
    target, beside, weights = target or found.target, beside or found.beside, found.weights
    option, other = ("--time", "--event") if loss == "cox" else ("--target", "--exposure")
    if loss == "cox" and beside is None:
        raise DataError("say with --event which column of --data tells who had the event.")
    if target is None:
        raise DataError(f"say with {option} which column of --data the model predicts.")
    asked = {"--id": id, "--groups": groups, "--weights of the fit": weights, other: beside}
    ids = {name: role for role, name in {**asked, option: target}.items() if name is not None}
    table = read_for(model, data, form, talk, {"ids": ids})
    n, expected = table.X.shape[0], getattr(last_step(model), "cv_predictions_", None)
    if expected is not None and len(expected) != n:
        raise DataError(
            f"the model was fitted to {count(len(expected), 'row')}, and {data!r} has {n:,}: pass "
            "the data that it was fitted to."
        )

    def column(name: str | None) -> Any:
        return None if name is None else table.aside[f"id {name}"]

    values = read_values(
        column(target) if f"id {target}" in table.aside else read_vector(target, n, form)
    )
    y, w = _targets(found, values, target), _weights(column(weights), weights)
    if loss == "cox":
        y = survival(read_values(column(beside)), values, (str(beside), target))
    elif beside is not None:
        y, w = exposed(y, read_values(column(beside)), w, beside)
    labels = (None if name is None else [*map(str, column(name))] for name in (groups, id))
    return TrainingRows(_framed(model, table.X), y, w, *labels)


def _targets(found: ModelFile, values: Any, target: str) -> Any:
    """The column of the target as the model takes it."""
    if values.missing.any():
        raise DataError(f"the target {target!r} has {int(values.missing.sum())} missing values.")
    if is_classifier(found.model):
        return _labels(found.model, values, target)
    if values.numbers is None:
        raise DataError(f"the target {target!r} holds text ({values.odd!r}), not numbers.")
    return values.numbers


def _weights(column: Any, name: str | None) -> Any:
    """The weights of the fit."""
    if column is None:
        return None
    values = read_values(column)
    if values.numbers is None:
        raise DataError(
            f"the weights {name!r} hold text ({values.odd!r}): they must be the numbers of the fit."
        )
    return values.numbers


def restore_folds(model: Any, cv: str | None) -> None:
    """Give a loaded model the folds of its fit, which a model file cannot hold.

    `cv` is what --cv was; None for fits with groups, whose folds need the groups.
    """
    model = last_step(model)
    if cv is None or not hasattr(model, "cv_results_") or model.cv is not None:
        return
    model.cv = splitter(model, cv, model.n_features_in_)


def _labels(model: Any, values: Any, target: str) -> Any:
    whole = model.classes_.dtype.kind in "iu" and values.numbers is not None
    y = values.numbers.astype(np.int64) if whole else np.array(values.words)
    others = sorted(set(y.tolist()) - set(model.classes_.tolist()))
    if others:
        raise DataError(f"the model does not know the class {others[0]!r} of {target!r}.")
    return y
