"""Data to learn from: read, checked, split into features, target, weights and groups."""

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from skstretch.cli.columns import (
    TrainingColumns,
    check_features,
    check_infinite,
    leave_out_numbering,
    missing_counts,
    note_identifiers,
)
from skstretch.cli.console import SHOWN, Talk, listed
from skstretch.cli.data.delimited import MISSING, number_in
from skstretch.cli.data.files import Form
from skstretch.cli.data.read import read_table, read_vector
from skstretch.cli.data.table import Choice, Table
from skstretch.cli.options import TaskName
from skstretch.cli.recipe import Recipe
from skstretch.exceptions import DataError

# whole numbers with so few different values may be classes
FEW = 10
# and so may numbers without a gap up to here
MANY = 100


@dataclass(frozen=True)
class Values:
    """Values of one column.

    Attributes
    ----------
    numbers : float array, or None
        None where some value is text.
    words : list of str
        As written; empty where missing.
    odd : str
        The first value that is no number.
    """

    numbers: Any
    words: list[str]
    odd: str = ""

    @property
    def missing(self) -> Any:
        """Which values are missing."""
        if self.numbers is not None:
            return np.isnan(self.numbers)
        return np.array([word == "" for word in self.words])


def read_values(column: Any) -> Values:
    """Numbers where all values are, else words; column is an array or a list of strings."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        numbers = column.astype(np.float64)
        return Values(numbers, [_word(value) for value in column.tolist()])
    words = ["" if (word := str(value).strip()) in MISSING else word for value in column]
    found = [number_in(word) for word in words]
    if None in found:
        return Values(None, words, words[found.index(None)])
    return Values(np.array(found, dtype=np.float64), words)


def _word(value: Any) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.0f}" if value.is_integer() else repr(value)
    return str(value)


@dataclass(frozen=True)
class Labels:
    """A target ready to be learned: floats, or classes; and why it is which."""

    y: Any
    task: TaskName
    reason: str


def read_labels(values: Values, asked: TaskName, name: str) -> Labels:
    """Decide the task: text or exactly two different values are classes, else numbers.

    `values` has no missing ones.
    """
    different = len(set(values.words if values.numbers is None else values.numbers.tolist()))
    task, reason = asked, "as asked"
    if different == 1:
        raise DataError(
            f"the target {name!r} is {values.words[0]} in all {len(values.words):,} rows: there is "
            "nothing to predict."
        )
    if asked is TaskName.AUTO:
        task, reason = _rule(values, different)
    if task is TaskName.REGRESSION:
        if values.numbers is None:
            raise DataError(
                f"the target {name!r} holds text ({values.odd!r}), which regression cannot "
                "predict: use --task classification, or encode it as numbers."
            )
        return Labels(values.numbers, task, reason)
    if different > max(FEW, len(values.words) // 2):
        raise DataError(
            f"the target {name!r} has {different:,} different values in {len(values.words):,} "
            "rows, too many for classes"
            + (": use --task regression." if values.numbers is not None else ".")
        )
    return Labels(_classes(values), task, reason)


def _rule(values: Values, different: int) -> tuple[TaskName, str]:
    if values.numbers is None:
        return TaskName.CLASSIFICATION, "the target holds text"
    if different == 2:
        return TaskName.CLASSIFICATION, "the target has two different values"
    reason = f"the target has {different:,} different numbers"
    if _may_be_codes(values.numbers, different):
        reason += "; if they are classes, pass --task classification"
    return TaskName.REGRESSION, reason


def _may_be_codes(numbers: Any, different: int) -> bool:
    """Whether numbers may stand for classes: few whole ones, or 0..n-1 or 1..n in many rows."""
    if not (numbers == np.round(numbers)).all():
        return False
    gapless = numbers.min() in (0, 1) and numbers.max() - numbers.min() == different - 1
    return different <= FEW or bool(gapless and different <= min(numbers.size / 2, MANY))


def _classes(values: Values) -> Any:
    """Whole numbers as such, anything else as written."""
    numbers = values.numbers
    if numbers is not None and (numbers == np.round(numbers)).all() and abs(numbers).max() < 2**53:
        return numbers.astype(np.int64)
    return np.array(values.words)


@dataclass(frozen=True)
class Request:
    """What a user asked of a data file."""

    data: str
    target: str | None = None
    task: TaskName = TaskName.AUTO
    weights: str | None = None
    groups: str | None = None
    drop: Sequence[str] = ()
    drop_missing: bool = False
    form: Form = field(default_factory=Form)
    recipe: Recipe | None = None  # None where the command has no steps before the model


@dataclass(frozen=True)
class Problem:
    """Features and target, with no value missing but those that the recipe fills."""

    X: Any
    y: Any
    names: list[str] | None
    target: str
    task: TaskName
    reason: str
    weights: Any
    groups: Any
    seconds: float
    recipe: Recipe = field(default_factory=Recipe)
    filled: dict[str, int] = field(default_factory=dict)

    @property
    def classifies(self) -> bool:
        return self.task is TaskName.CLASSIFICATION


def read_problem(request: Request, talk: Talk) -> Problem:
    """Read a file and check all that can be checked before a fit."""
    start = perf_counter()
    table, named = _read(request, talk)
    for note in table.notes:
        talk.note(note)
    if "target" not in named:
        table.aside["target"] = read_vector(
            str(request.target), table.X.shape[0], request.form.max_memory
        )
        named["target"] = Path(str(request.target)).name
    name = named["target"]
    columns = {role: read_values(values) for role, values in table.aside.items()}
    check_features(table)
    keep = _known_rows(table, columns, named, request)
    table.X, columns = table.X[keep], {r: _taken(v, keep) for r, v in columns.items()}
    if table.X.shape[0] < 2:
        raise DataError("there is one row to learn from: at least two are needed.")
    check_infinite(table)
    filled = missing_counts(table)[0]
    _check_filled(table, filled)
    leave_out_numbering(table, talk.note)
    note_identifiers(table, talk.note)
    target = columns["target"]
    if target.numbers is not None and not np.isfinite(target.numbers).all():
        raise DataError(f"the target {name!r} has infinite values: correct or delete those rows.")
    recipe = request.recipe or Recipe()
    recipe.check(table)
    labels = read_labels(target, request.task, name)
    groups = columns.get("groups")
    return Problem(
        table.X,
        labels.y,
        table.names,
        name,
        labels.task,
        labels.reason,
        _weights(columns.get("weights"), request.weights),
        None if groups is None else np.unique(groups.words, return_inverse=True)[1],
        perf_counter() - start,
        recipe,
        filled,
    )


def _read(request: Request, talk: Talk) -> tuple[Table, dict[str, str]]:
    """The table, and the names of the columns that are kept apart, by role."""
    roles = {"target": request.target, "weights": request.weights, "groups": request.groups}
    choose = TrainingColumns(roles, request.drop, talk.note)
    named: dict[str, str] = {}

    def remembered(names: Sequence[str], extras: Sequence[str]) -> Choice:
        choice = choose(names, extras)
        named.update(choice.aside)
        return choice

    with talk.reading("reading") as watch:
        return read_table(request.data, request.form, remembered, watch), named


def _known_rows(
    table: Table, columns: dict[str, Values], named: dict[str, str], request: Request
) -> Any:
    """Rows to keep: all, or with --drop-missing those without a missing value.

    Gaps that the recipe fills are none.
    """
    counts, rows = missing_counts(table)
    recipe = request.recipe
    if recipe is not None and recipe.impute is not None:
        counts, rows = {}, np.zeros_like(rows)
    for role, values in columns.items():
        if values.missing.any():
            counts[named[role]] = int(values.missing.sum())
            rows |= values.missing
    if not counts:
        return slice(None)
    if request.drop_missing:
        if rows.all():
            raise DataError("every row has a missing value: --drop-missing leaves nothing.")
        return np.flatnonzero(~rows)
    apart, fills = named.values(), recipe is not None
    raise DataError(missing_message(counts, int(rows.sum()), rows.size, apart, fills))


def _check_filled(table: Table, filled: dict[str, int]) -> None:
    """Refuse columns without any value: there is nothing to fill them with."""
    empty = [name for name, count in filled.items() if count == table.X.shape[0]]
    if empty:
        raise DataError(
            f"column {empty[0]!r} has no value at all to fill it with: leave it out with --drop "
            f"{shlex.quote(empty[0])}."
        )


def missing_message(
    counts: dict[str, int],
    n_bad: int,
    n_rows: int,
    apart: Collection[str] | None = None,
    fills: bool = False,
) -> str:
    """Counts by column, most first, and the ways out; no row of new data can be left out.

    `fills` says whether the command can fill gaps of the features by itself.
    """
    order = sorted(counts, key=lambda name: -counts[name])
    first = [f"{name!r} {counts[name]:,}" for name in order[:SHOWN]]
    where = listed(first, len(order), more="more columns")
    message = f"missing values in {n_bad:,} of {n_rows:,} rows: {where}."
    if apart is None:
        return f"{message} Fill these cells first, or fit the model with --impute."
    droppable = [name for name in order if name not in apart]
    ways = ["leave out these rows with --drop-missing"]
    if fills and droppable:
        ways = ["have them filled with --impute mean or --impute median", *ways]
    if droppable and len(droppable) <= 3:
        ways.append(
            "the columns with " + " ".join(f"--drop {shlex.quote(name)}" for name in droppable)
        )
    elif droppable:
        ways.append("the columns with --drop COL")
    return f"{message} Fill the cells, or {', or '.join(ways)}."


def _taken(values: Values, keep: Any) -> Values:
    if isinstance(keep, slice):
        return values
    numbers = None if values.numbers is None else values.numbers[keep]
    return replace(values, numbers=numbers, words=[values.words[row] for row in keep])


def _weights(values: Values | None, name: str | None) -> Any:
    if values is None:
        return None
    if values.numbers is None:
        raise DataError(f"the weights {name!r} hold text ({values.odd!r}): they must be numbers.")
    if not np.isfinite(values.numbers).all() or values.numbers.min() < 0:
        raise DataError(f"the weights {name!r} have a value below zero or infinite.")
    if not values.numbers.any():
        raise DataError(f"the weights {name!r} are all zero.")
    return values.numbers
