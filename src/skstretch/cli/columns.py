"""Columns of a file: which are features, which have a role of their own, and what is in them."""

import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from skstretch.cli.console import MANY, counted, nearest, quoted
from skstretch.cli.data.delimited import comment_hint, number_in
from skstretch.cli.data.table import Choice, Numbers, Stray, Table
from skstretch.exceptions import DataError

Note = Callable[[str], None]

# how many names are looked at to see that a header holds numbers
SHOWN_NUMBERS = 100
# how many columns of text a message describes
SHOWN = 4
# vectors that are the target where none is named: those of NPZ and SVMlight files
USUAL_TARGETS = ("y", "target", "label")
# how unnamed columns of row numbers are called by us, pandas and pyarrow
NUMBERINGS = ("column 1", "Unnamed: 0", "__index_level_0__")
IDENTIFIERS = ("id", "index", "key", "row", "no", "nr", "uuid", "sample", "sample_id")


@dataclass(frozen=True)
class TrainingColumns:
    """Chooses columns to learn from: all that have no role and are not dropped.

    `roles` maps target, weights, groups to the names that were asked for. A target that is no
    column but a file is left to the caller.
    """

    roles: Mapping[str, str | None]
    drop: Sequence[str]
    note: Note

    def __call__(self, names: Sequence[str], extras: Sequence[str]) -> Choice:
        aside = {role: name for role, name in self.roles.items() if name is not None}
        if self.roles["target"] is None:
            aside["target"] = self._usual_target(names, extras)
        for role, name in list(aside.items()):
            if name not in names and name not in extras:
                if role == "target" and Path(name).is_file():
                    del aside[role]
                    continue
                raise DataError(unknown(f"--{role}", name, names, extras))
        for name in self.drop:
            if name not in names:
                raise DataError(unknown("--drop", name, names) + _apart(name, names))
        taken = {*aside.values(), *self.drop}
        if aside.get("target") in self.drop:
            raise DataError(f"--drop names the target {aside['target']!r}.")
        features = _others(names, taken)
        if not isinstance(names, Numbers):
            _check_distinct([names[i] for i in features] + list(set(aside.values())), names)
        if not features:
            raise DataError("no column is left to learn from beside the target.")
        return Choice(features, aside)

    def _usual_target(self, names: Sequence[str], extras: Sequence[str]) -> str:
        for name in USUAL_TARGETS:
            if name in extras:
                self.note(f"target: {name!r}, which the file names so.")
                return name
        raise DataError(
            "say which column to predict with --target; the columns are "
            f"{quoted([*extras, *names[:MANY]], total=len(extras) + len(names))}."
        )


def _others(names: Sequence[str], taken: set[str]) -> Sequence[int]:
    """Places of the names that are not taken."""
    if isinstance(names, Numbers) and not any(name in names for name in taken):
        return range(len(names))
    return [i for i, name in enumerate(names) if name not in taken]


def unknown(option: str, name: str, names: Sequence[str], extras: Sequence[str] = ()) -> str:
    """That there is no such column, and which it may be."""
    known = [*extras, *names[:MANY]]
    near = nearest(name, known)
    message = f"{option}: there is no column {name!r}"
    if near is not None:
        return f"{message}; did you mean {near!r}?{comment_hint(names)}"
    message = f"{message}; the columns are {quoted(known, total=len(extras) + len(names))}."
    if known and all(number_in(entry) is not None for entry in known[:SHOWN_NUMBERS]):
        message += " If the first line is data and not names, pass --no-header."
    return message + comment_hint(names)


def _apart(name: str, known: Sequence[str]) -> str:
    """How to write several names that were put into one word."""
    parts = [part.strip() for part in name.split(",")]
    if len(parts) < 2 or not {*parts} <= {*known}:
        return ""
    return " Repeat the option: " + " ".join(f"--drop {shlex.quote(part)}" for part in parts)


def _check_distinct(used: Sequence[str], names: Sequence[str]) -> None:
    twice = [name for name, count in Counter(used).items() if count > 1]
    if not twice:
        return
    places = [str(i) for i, name in enumerate(names, 1) if name == twice[0]]
    raise DataError(
        f"the name {twice[0]!r} occurs {len(places)} times (columns {', '.join(places)}): rename "
        f"one in the header, or leave them all out with --drop {shlex.quote(twice[0])}."
    )


@dataclass(frozen=True)
class KnownColumns:
    """Chooses the columns that a model knows, in its order.

    `model_names` is None for a model without names, which takes columns as they come; `unused`
    are names to which the model gives no weight: those may be absent. `target` is what the model
    predicts, `ids` are columns to keep apart, which users named with `option`.
    """

    model_names: Sequence[str] | None
    unused: frozenset[str]
    note: Note
    ids: Sequence[str] = ()
    drop: Sequence[str] = ()
    target: str | None = None
    option: str = "--id"

    def __call__(self, names: Sequence[str], extras: Sequence[str]) -> Choice:
        def known(name: str) -> bool:
            return name in names or name in extras

        ids = [name for name in self.ids if known(name) or not self._is_file(name)]
        for option, listed in ((self.option, ids), ("--drop", self.drop)):
            for name in listed:
                if not known(name):
                    raise DataError(unknown(option, name, names, extras))
        aside = {f"id {name}": name for name in ids}
        numbered = all(name == str(number) for number, name in enumerate(names, 1))
        if self.model_names is None or (numbered and not self._knows(names)):
            return Choice(_others(names, {*self.ids, *self.drop}), aside)
        return Choice(self._by_name(names, self.model_names), aside)

    def _is_file(self, name: str) -> bool:
        """Whether a target is in a file of its own, which is left to the caller."""
        return self.option == "--target" and Path(name).is_file()

    def _knows(self, names: Sequence[str]) -> bool:
        return bool(names) and names[0] in (self.model_names or ())

    def _by_name(self, names: Sequence[str], wanted: Sequence[str]) -> list[int]:
        place = {name: i for i, name in reversed(list(enumerate(names)))}
        lacking = [name for name in wanted if name not in place]
        needed = [name for name in lacking if name not in self.unused]
        if needed:
            raise DataError(_lacking(needed, names))
        if lacking:
            verb = "is" if len(lacking) == 1 else "are"
            absent = counted(len(lacking), "column")
            self.note(f"{absent} that the model gives no weight {verb} not in the file.")
        known = {*wanted, *self.ids, *self.drop}
        if self.target in names and self.target not in known:
            self.note(f"left out {self.target!r}, which is what the model predicts.")
        unknown = [name for name in names if name not in known and name != self.target]
        if unknown:
            self.note(
                f"ignored {counted(len(unknown), 'column')} that the model does not know: "
                f"{quoted(unknown)}."
            )
        used = {*wanted}
        _check_distinct([name for name in names if name in used], names)
        return [place[name] for name in wanted if name in place]


def _lacking(needed: Sequence[str], names: Sequence[str]) -> str:
    lacking = counted(len(needed), "column")
    message = f"the file lacks {lacking} that the model needs: {quoted(needed)}."
    near = nearest(needed[0], set(names) - {*needed})
    if near is not None:
        message += f" Is {needed[0]!r} called {near!r} there?"
    return message


def check_features(table: Table) -> None:
    """Refuse columns that hold text."""
    if not table.stray:
        return
    rows = table.X.shape[0]
    found = []
    for name, stray in table.stray.items():
        share = "" if stray.count == rows else f" in {stray.count:,} of {rows:,} rows"
        found.append(f"column {name!r} holds text{share} ({stray.place})")
    text = "; ".join(found[:SHOWN])
    text += f"; and {len(found) - SHOWN:,} more columns" if len(found) > SHOWN else ""
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
    drop = " ".join(f"--drop {shlex.quote(name)}" for name in names) if len(names) <= SHOWN else ""
    drop = drop or "--drop COL"
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
            f"--drop {shlex.quote(name)}."
        )


def leave_out_numbering(table: Table, note: Callable[[str], None]) -> None:
    """Leave out an unnamed column that counts the rows."""
    for name in NUMBERINGS:
        if table.names is None or name not in table.names or len(table.names) < 2:
            continue
        column = table.names.index(name)
        if _counts_rows(table.X[:, column]):
            note(f"left out the unnamed column {column + 1}, which counts the rows.")
            table.X = np.delete(table.X, column, axis=1)
            table.names = [other for other in table.names if other != name]


def _counts_rows(values: Any) -> bool:
    return bool(values.size and values[0] in (0, 1) and (np.diff(values) == 1).all())


def note_identifiers(table: Table, note: Callable[[str], None]) -> None:
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
                f"column {name!r} looks like an identifier and is used as a feature: --drop "
                f"{shlex.quote(name)} leaves it out."
            )
