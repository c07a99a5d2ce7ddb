"""What a fit is given, from a file: features, a target and its task, weights and groups.

A target is one column, or two: an event and its time, counts and their exposure.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from skstretch.cli.columns import (
    CLAUSES,
    TrainingColumns,
    check_features,
    check_infinite,
    dropping,
    is_spectrum,
    leave_out_index,
    missing_counts,
    note_identifiers,
    read_table,
)
from skstretch.cli.console import SHOWN, Talk, counted, listed
from skstretch.cli.data.delimited import MISSING, number_in
from skstretch.cli.data.files import (
    Form,
    Table,
)
from skstretch.cli.data.matrices import read_vector
from skstretch.cli.options import Aim, Recipe, TaskName
from skstretch.exceptions import DataError

# whole numbers with so few different values may be classes
FEW = 10
# and so may numbers without a gap up to here
MOST_CODES = 100
# numbers below it have squares that float64 does not tell from zero
LEAST = 1e-150


# words for an event and for none
EVENTS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


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
    return different <= FEW or bool(gapless and different <= min(numbers.size / 2, MOST_CODES))


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
    features: Sequence[str] = ()
    keep_index: bool = False
    recipe: Recipe | None = None  # None where the command has no steps before the model
    aim: Aim = field(default_factory=Aim)

    @property
    def roles(self) -> dict[str, str | None]:
        """Columns that are no features."""
        own = {"target": self.aim.time or self.target, "weights": self.weights}
        return {
            **own,
            "groups": self.groups,
            "event": self.aim.event,
            "exposure": self.aim.exposure,
        }


@dataclass(frozen=True)
class Training:
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
    loss: str = "squared"

    @property
    def strata(self) -> Any:
        """What folds have alike: classes, or events; None for numbers."""
        if self.task is TaskName.SURVIVAL:
            return self.y["event"]
        return self.y if self.classifies else None

    @property
    def classifies(self) -> bool:
        return self.task is TaskName.CLASSIFICATION


def read_training(request: Request, talk: Talk) -> Training:
    """Read a file and check all that can be checked before a fit."""
    start = perf_counter()
    aim, given = request.aim, (request.drop, talk.note, request.features, request.keep_index)
    choose = TrainingColumns(request.roles, *given, survival=aim.time is not None)
    table, named = read_table(request.data, request.form, choose, talk), choose.named
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
    filled = missing_counts(table)[0] if _fills(request) else {}
    _check_filled(table, filled)
    if not (request.keep_index or request.features):
        leave_out_index(table, talk.note)
    note_identifiers(table, talk.note)
    if request.recipe is not None and not request.recipe.filters and is_spectrum(table.names):
        talk.note(
            "the names of the features are numbers in order, as of spectra: fit with --recipes to "
            "have scatter corrections and derivatives tried."
        )
    target = columns["target"]
    if target.numbers is not None and not np.isfinite(target.numbers).all():
        raise DataError(f"the target {name!r} has infinite values: correct or delete those rows.")
    _check_range("target", name, target)
    recipe = request.recipe or Recipe()
    recipe.check(table)
    weights = _weights(columns.get("weights"), request.weights)
    if aim.time is not None:
        y = survival(columns["event"], target, (str(aim.event), name))
        labels = Labels(y, TaskName.SURVIVAL, f"by {aim.event!r}")
    else:
        task = request.task if aim.loss == "squared" else aim.task
        labels = read_labels(target, task, name)
        y, weights = exposed(labels.y, columns.get("exposure"), weights, aim.exposure)
    groups = columns.get("groups")
    return Training(
        table.X,
        y,
        table.names,
        name,
        labels.task,
        labels.reason,
        weights,
        None if groups is None else np.unique(groups.words, return_inverse=True)[1],
        perf_counter() - start,
        recipe,
        filled,
        "cox" if aim.time is not None else aim.loss,
    )


def _fills(request: Request) -> bool:
    """Whether the recipe fills missing values of the features."""
    return request.recipe is not None and request.recipe.impute is not None


def _known_rows(
    table: Table, columns: dict[str, Values], named: dict[str, str], request: Request
) -> Any:
    """Rows to keep: all, or with --drop-missing those without a missing value.

    Gaps that the recipe fills are none.
    """
    counts, rows = missing_counts(table)
    if _fills(request):
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
    can_fill = request.recipe is not None
    raise DataError(missing_message(counts, rows, named.values(), can_fill))


def _check_filled(table: Table, filled: dict[str, int]) -> None:
    """Refuse columns without any value: there is nothing to fill them with."""
    empty = [name for name, count in filled.items() if count == table.X.shape[0]]
    if empty:
        raise DataError(
            f"column {empty[0]!r} has no value at all to fill it with: leave it out with "
            f"{dropping(empty[0])}."
        )


def most_first(counts: Mapping[str, int]) -> str:
    """Columns with their counts, the greatest first."""
    order = sorted(counts, key=lambda name: -counts[name])
    first = [f"{name!r} {counts[name]:,}" for name in order[:SHOWN]]
    return listed(first, len(order), more="more columns")


def filled_words(counts: Mapping[str, int], fill: str, where: str = "of the column") -> str:
    """What was filled with a mean or median: how many values in which columns."""
    total, columns = counted(sum(counts.values()), "missing value"), counted(len(counts), "column")
    return f"filled {total} in {columns} with the {fill} {where}: {most_first(counts)}."


def missing_message(
    counts: dict[str, int], rows: Any, apart: Collection[str] | None = None, can_fill: bool = False
) -> str:
    """Counts by column, and the ways out; `apart` is None for new data, all rows of which count.

    `can_fill` says whether the command can fill gaps of the features by itself.
    """
    message = f"missing values in {rows.sum():,} of {rows.size:,} rows: {most_first(counts)}."
    if apart is None:
        return f"{message} Fill these cells first, or fit the model with --impute."
    order = sorted(counts, key=lambda name: -counts[name])
    droppable = [name for name in order if name not in apart]
    ways = ["leave out these rows with --drop-missing"]
    if can_fill and droppable:
        ways = ["have them filled with --impute mean or --impute median", *ways]
    if droppable:
        drop = dropping(*droppable) if len(droppable) <= CLAUSES else "--drop COL"
        ways.append(f"the columns with {drop}")
    return f"{message} Fill the cells, or {', or '.join(ways)}."


def _taken(values: Values, keep: Any) -> Values:
    if isinstance(keep, slice):
        return values
    numbers = None if values.numbers is None else values.numbers[keep]
    return replace(values, numbers=numbers, words=[values.words[row] for row in keep])


def _check_range(role: str, name: str | None, values: Values) -> None:
    """Refuse numbers whose squares are all zero to a computer."""
    largest = 0.0 if values.numbers is None else float(abs(values.numbers).max())
    if 0.0 < largest < LEAST:
        raise DataError(
            f"the {role} {name!r} has no value beyond {largest:.1e}, too small to compute with: "
            "give it in another unit."
        )


def _weights(values: Values | None, name: str | None) -> Any:
    if values is None:
        return None
    if values.numbers is None:
        raise DataError(f"the weights {name!r} hold text ({values.odd!r}): they must be numbers.")
    if not np.isfinite(values.numbers).all() or values.numbers.min() < 0:
        raise DataError(f"the weights {name!r} have a value below zero or infinite.")
    if not values.numbers.any():
        raise DataError(f"the weights {name!r} are all zero.")
    _check_range("weights", name, values)
    return values.numbers


def survival(event: Any, time: Any, names: tuple[str, str]) -> Any:
    """Events and times as one structured array; both have `numbers`, `words` and `odd`."""
    words = [word.strip().lower() for word in event.words]
    odd = next((word for word in words if word not in EVENTS), None)
    if odd is not None:
        raise DataError(
            f"--event {names[0]!r} holds {odd!r}: an event is 1 or 0, true or false, yes or no."
        )
    if time.numbers is None:
        raise DataError(f"--time {names[1]!r} holds text ({time.odd!r}): times are numbers.")
    if time.numbers.min() < 0:
        raise DataError(f"--time {names[1]!r} has {time.numbers.min():g}: times start at 0.")
    found = np.empty(len(words), dtype=[("event", bool), ("time", float)])
    found["event"], found["time"] = [EVENTS[word] for word in words], time.numbers
    if not found["event"].any():
        raise DataError(
            f"--event {names[0]!r} is 0 in all rows: nothing tells who is at risk. Is it coded the "
            "other way round?"
        )
    return found


def exposed(counts: Any, exposure: Any, weights: Any, name: str | None) -> tuple[Any, Any]:
    """Rates and their weights, from counts and exposures."""
    if exposure is None:
        return counts, weights
    if exposure.numbers is None:
        raise DataError(f"--exposure {name!r} holds text ({exposure.odd!r}): pass numbers.")
    if not np.isfinite(exposure.numbers).all() or not exposure.numbers.min() > 0:
        raise DataError(
            f"--exposure {name!r} has {exposure.numbers.min():g}: pass numbers above 0."
        )
    rates = counts / exposure.numbers
    return rates, exposure.numbers if weights is None else weights * exposure.numbers
