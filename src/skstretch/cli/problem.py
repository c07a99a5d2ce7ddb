"""Data to learn from: read, checked, split into features, target, weights and groups."""

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from skstretch.cli.columns import (
    beside_numbers,
    exposed,
    is_index,
    is_spectrum,
    left_out_words,
    matched,
    survival,
    unnamed,
)
from skstretch.cli.console import NAMES, SHOWN, Talk, counted, listed, nearest, quoted
from skstretch.cli.data.columnar import read_columnar
from skstretch.cli.data.delimited import MISSING, comment_hint, number_in, read_delimited
from skstretch.cli.data.files import (
    Budget,
    Choice,
    Choose,
    Form,
    Kind,
    Numbers,
    Stray,
    Table,
    kind_of,
    opened,
)
from skstretch.cli.data.matrices import read_mtx, read_npz, read_svmlight, read_vector
from skstretch.cli.data.workbooks import read_workbook
from skstretch.cli.options import Aim, Recipe, TaskName
from skstretch.exceptions import DataError

Note = Callable[[str], None]

# vectors that are the target where none is named: those of NPZ and SVMlight files
USUAL_TARGETS = ("y", "target", "label")
IDENTIFIERS = ("id", "index", "key", "row", "no", "nr", "uuid", "sample", "sample_id")
# columns that a message describes one by one
CLAUSES = 4
# whole numbers with so few different values may be classes
FEW = 10
# and so may numbers without a gap up to here
MOST_CODES = 100
# numbers below it have squares that float64 does not tell from zero
LEAST = 1e-150


# Columns of a file.


def read_table(source: str, form: Form, choose: Choose, talk: Talk) -> Table:
    """Read a data file once, and say what was found out about it.

    Parameters
    ----------
    source : str
        A path, or ``-`` for standard input.
    form : Form
    choose : callable
        Shown the names of the columns and of further vectors, says which to read.
    talk : Talk
    """
    budget = Budget.of(source, form.max_memory)
    with talk.reading("reading") as watch, opened(source, watch, budget) as stream:
        kind = form.kind
        if kind is Kind.AUTO:
            kind = kind_of(source, stream.peek(1 << 14))
        if form.sheet is not None and kind is not Kind.XLSX:
            raise DataError(f"--sheet is for Excel workbooks, and {source!r} is read as {kind}.")
        if kind in (Kind.PARQUET, Kind.FEATHER):
            table = read_columnar(stream, source, kind, choose, budget)
        elif kind is Kind.NPZ:
            table = read_npz(stream, source, choose, budget)
        elif kind is Kind.MTX:
            table = read_mtx(stream, source, choose, budget)
        elif kind is Kind.SVMLIGHT:
            table = read_svmlight(stream, source, form, choose, budget)
        elif kind is Kind.XLSX:
            table = read_workbook(stream, source, form, choose, budget)
        else:
            table = read_delimited(stream, source, form, choose, budget)
    for note in table.notes:
        talk.note(note)
    return table


@dataclass(frozen=True)
class TrainingColumns:
    """Chooses columns to learn from: all that have no role and are not dropped.

    `roles` maps target, weights, groups to the names that were asked for. A target that is no
    column but a file is left to the caller. `named` maps the roles that are columns to their names
    as soon as the file was seen.
    """

    roles: Mapping[str, str | None]
    drop: Sequence[str]
    note: Note
    features: Sequence[str] = ()
    keep_index: bool = False
    named: dict[str, str] = field(default_factory=dict)
    survival: bool = False

    def __call__(self, names: Sequence[str], extras: Sequence[str]) -> Choice:
        aside = {role: name for role, name in self.roles.items() if name is not None}
        if self.roles["target"] is None:
            aside["target"] = self._usual_target(names, extras)
        for role, name in list(aside.items()):
            if name not in names and name not in extras:
                if role == "target" and Path(name).is_file():
                    del aside[role]
                    continue
                option = "--time" if self.survival and role == "target" else f"--{role}"
                raise DataError(unknown(option, name, names, extras))
        dropped = meant("--drop", self.drop, names)
        if aside.get("target") in dropped and aside["target"] not in extras:
            raise DataError(f"--drop names the target {aside['target']!r}.")
        features = others(names, {*aside.values(), *dropped, *self._unasked(names, aside, dropped)})
        check_roles({*aside.values()}, names, extras)
        if not isinstance(names, Numbers):
            check_distinct([names[i] for i in features], names)
        if not features:
            raise DataError("no column is left to learn from beside the target.")
        self.named.update(aside)
        return Choice(features, aside)

    def _unasked(
        self, names: Sequence[str], aside: Mapping[str, str], dropped: Collection[str]
    ) -> set[str]:
        """What is left out beside the target: all that --features does not name, else labels."""
        if self.features:
            wanted = {*meant("--features", self.features, names)}
            return {name for name in names if name not in wanted}
        taken, label = {*aside.values(), *dropped}, None if self.keep_index else unnamed(names)
        left_out = set()
        if label is not None and label not in taken:
            place = names.index(label) + 1
            self.note(
                f"left out the unnamed column {place}, which labels the rows; --keep-index takes "
                "it."
            )
            left_out.add(label)
        rest = names if isinstance(names, Numbers) else [n for n in names if n not in taken]
        words = [name for name in beside_numbers(rest) if name not in left_out]
        if words:
            self.note(left_out_words(words, len(rest) - len(words) - len(left_out)))
        return {*left_out, *words}

    def _usual_target(self, names: Sequence[str], extras: Sequence[str]) -> str:
        for name in USUAL_TARGETS:
            if name in extras:
                self.note(f"target: {name!r}, which the file names so.")
                return name
        raise DataError(
            "say which column to predict with --target; the columns are "
            f"{quoted([*extras, *names[:NAMES]], total=len(extras) + len(names))}."
        )


def others(names: Sequence[str], taken: set[str]) -> Sequence[int]:
    """Places of the names that are not taken."""
    if isinstance(names, Numbers) and not any(name in names for name in taken):
        return range(len(names))
    return [i for i, name in enumerate(names) if name not in taken]


def unknown(option: str, name: str, names: Sequence[str], extras: Sequence[str] = ()) -> str:
    """That there is no such column, and which it may be."""
    known = [*extras, *names[:NAMES]]
    near = nearest(name, known)
    message = f"{option}: there is no column {name!r}"
    if near is not None:
        return f"{message}; did you mean {near!r}?{comment_hint(names)}"
    message = f"{message}; the columns are {quoted(known, total=len(extras) + len(names))}."
    if known and all(number_in(entry) is not None for entry in known):
        message += " If the first line is data and not names, pass --no-header."
    return message + comment_hint(names)


def meant(option: str, words: Sequence[str], names: Sequence[str]) -> set[str]:
    """The names that the words of an option mean, each of which must mean some."""
    found: set[str] = set()
    for word in words:
        some = matched(word, names)
        if not some:
            raise DataError(unknown(option, word, names))
        found.update(some)
    return found


def dropping(*names: str) -> str:
    """The options that leave columns out."""
    return " ".join(f"--drop {shlex.quote(name)}" for name in names)


def check_distinct(used: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a name that several of the columns in use have."""
    twice = next((name for name, count in Counter(used).items() if count > 1), None)
    if twice is not None:
        raise DataError(
            f"{_occurrences(twice, names)}: rename one in the header, or leave them all out with "
            f"{dropping(twice)}."
        )


def check_roles(wanted: Collection[str], names: Sequence[str], extras: Sequence[str]) -> None:
    """Refuse a target, weights, groups or identifier that several columns could be."""
    if isinstance(names, Numbers):
        counts = Counter(name for name in wanted if name in names)
    else:
        counts = Counter(name for name in names if name in wanted)
    counts.update(name for name in extras if name in wanted)
    for name, count in counts.items():
        if count > 1:
            raise DataError(
                f"{_occurrences(name, [*names, *extras])}, and one of them is asked for: rename "
                "the others in the file."
            )


def _occurrences(name: str, names: Sequence[str]) -> str:
    places = [str(i) for i, other in enumerate(names, 1) if other == name]
    shown = listed(places[:SHOWN], len(places), more="more")
    return f"the name {name!r} occurs {len(places):,} times (columns {shown})"


def check_features(table: Table) -> None:
    """Refuse columns that hold text."""
    if not table.stray:
        return
    rows = table.X.shape[0]
    found = []
    for name, stray in table.stray.items():
        share = "" if stray.count == rows else f" in {stray.count:,} of {rows:,} rows"
        found.append(f"column {name!r} holds text{share} ({stray.place})")
    text = "; ".join(found[:CLAUSES])
    text += f"; and {len(found) - CLAUSES:,} more columns" if len(found) > CLAUSES else ""
    raise DataError(f"{text}. {_about_marks(list(table.stray.values())) or _way_out(table, rows)}")


def _about_marks(strays: Sequence[Stray]) -> str:
    """What to do where all text consists of numbers with commas or points in them."""
    decimals = all(stray.decimals for stray in strays)
    thousands = all(stray.thousands for stray in strays)
    value = strays[0].value
    bare = f"write the numbers without it, {value.replace(',', '')} in place of {value!r}"
    if decimals and thousands:
        return (
            f"If the comma is a decimal mark, pass --decimal , and if it parts thousands, {bare}."
        )
    if decimals:
        return "If the comma is a decimal mark, pass --decimal ,"
    if thousands:
        return f"If the comma parts thousands, {bare}."
    if all(stray.pointed for stray in strays):
        return (
            "The comma is the decimal mark here, and a point no part of a number: write "
            f"{value.replace('.', '')} in place of {value!r}, or pass --decimal ."
        )
    return ""


def _way_out(table: Table, rows: int) -> str:
    """What to do about columns of text: correct a few cells, drop or encode whole columns."""
    names = list(table.stray)
    whole = any(stray.count == rows for stray in table.stray.values())
    it = "it" if len(names) == 1 else "them"
    drop = dropping(*names) if len(names) <= CLAUSES else "--drop COL"
    if whole:
        return f"Leave {it} out with {drop}, or encode {it} as numbers."
    return f"Correct these cells, or leave {it} out with {drop}."


def missing_counts(table: Table) -> tuple[dict[str, int], Any]:
    """Missing values by column, and which rows have one."""
    X = table.X
    rows = np.zeros(X.shape[0], dtype=bool)
    if table.is_sparse:
        bad = np.isnan(X.data)
        rows[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[bad]] = True
        columns, counts = np.unique(X.indices[bad], return_counts=True)
        return {table.name_of(c): int(n) for c, n in zip(columns, counts, strict=True)}, rows
    suspects = np.flatnonzero(np.isnan(_sums(X)))
    found = {}
    for column in suspects.tolist():
        missing = np.isnan(X[:, column])
        if missing.any():
            found[table.name_of(column)] = int(missing.sum())
            rows |= missing
    return found, rows


def _sums(X: Any) -> Any:
    """Column sums: NaN where a column has a NaN, or infinities of both signs."""
    with np.errstate(over="ignore", invalid="ignore"):
        return X.sum(axis=0)


def check_infinite(table: Table) -> None:
    """Refuse infinite values."""
    X = table.X
    if table.is_sparse:
        columns = np.unique(X.indices[np.isinf(X.data)]).tolist()
    else:
        suspects = np.flatnonzero(~np.isfinite(_sums(X)))
        columns = [j for j in suspects.tolist() if np.isinf(X[:, j]).any()]
    if columns:
        name = table.name_of(columns[0])
        raise DataError(
            f"column {name!r} has infinite values: correct them, or leave it out with "
            f"{dropping(name)}."
        )


def leave_out_index(table: Table, note: Note) -> None:
    """Leave out a first column that numbers the rows, perhaps with gaps."""
    if table.names is None or table.is_sparse or not is_index(table.X):
        return
    name = table.names[0]
    note(
        f"left out the first column {name!r}, whole numbers that rise from row to row beside "
        "features that are not whole; --keep-index takes it."
    )
    table.X, table.names = table.X[:, 1:], table.names[1:]


def _counts_rows(values: Any) -> bool:
    return bool(values.size and values[0] in (0, 1) and (np.diff(values) == 1).all())


def note_identifiers(table: Table, note: Note) -> None:
    """Point out columns that look like identifiers: they carry no meaning, but can be fitted."""
    if table.names is None or table.is_sparse or table.X.shape[0] < 3:
        return
    for column, name in enumerate(table.names):
        first = table.X[:3, column]
        if (first != np.round(first)).any():
            continue
        word = name.strip().lower()
        named = word in IDENTIFIERS or word.endswith(("_id", " id"))
        values = table.X[:, column]
        # beyond 2**53 different identifiers can round to one number, beyond 2**64 there are none
        huge = abs(first).min() > 2**53 and abs(first).max() < 2**64
        if not (named or huge or _counts_rows(values)):
            continue
        different = np.unique(values).size
        if different == values.size or (huge and different > 1):
            note(
                f"column {name!r} looks like an identifier and is used as a feature: "
                f"{dropping(name)} leaves it out."
            )


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


def read_problem(request: Request, talk: Talk) -> Problem:
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
    return Problem(
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
