"""Columns of a file: which are features and which are not, and whether a fit can take them."""

import fnmatch
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from skstretch.cli.console import NAMES, SHOWN, Talk, listed, nearest, quoted
from skstretch.cli.data.columnar import read_columnar
from skstretch.cli.data.delimited import MISSING, comment_hint, number_in, read_delimited
from skstretch.cli.data.files import (
    DECIMAL_COMMA,
    THOUSANDS,
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
from skstretch.cli.data.matrices import read_mtx, read_npz, read_svmlight
from skstretch.cli.data.workbooks import read_workbook
from skstretch.cli.options import Chosen
from skstretch.exceptions import DataError
from skstretch.style import count

Note = Callable[[str], None]

# vectors that are the target where none is named: those of NPZ and SVMlight files
USUAL_TARGETS = ("y", "target", "label")
IDENTIFIERS = ("id", "index", "key", "row", "no", "nr", "uuid", "sample", "sample_id")
# columns that a message describes one by one
CLAUSES = 4


# how unnamed columns of row numbers are called by us, pandas and pyarrow
NUMBERINGS = ("column 1", "Unnamed: 0", "__index_level_0__")
RANGE = re.compile(r"([-+]?\d*\.?\d+)-([-+]?\d*\.?\d+)")
# names that are numbers for each name that is a word, where columns are a spectrum
NUMBERED = 20


def matched(part: str, names: Sequence[str]) -> list[str]:
    """Names that a word means: itself, those in a range of numbers, or of a pattern."""
    if part in names:
        return [part]
    if ends := RANGE.fullmatch(part):
        low, high = sorted(map(float, ends.groups()))
        return [name for name in names if low <= _value(name) <= high]
    if any(sign in part for sign in "*?["):
        return [name for name in names if fnmatch.fnmatchcase(name, part)]
    return []


def _value(name: str) -> float:
    """The number that a name is; NaN where it is none."""
    number = number_in(name.strip())
    return np.nan if number is None else number


def unnamed(names: Sequence[str]) -> str | None:
    """A column of row labels that has no name; None where no column has one."""
    if isinstance(names, Numbers) or len(names) < 3 or "column 2" in names:
        return None
    return next((name for name in NUMBERINGS if name in (names[0], names[-1])), None)


def beside_numbers(names: Sequence[str]) -> list[str]:
    """Names that are words, where nearly all are numbers, as wavelengths are."""
    if isinstance(names, Numbers):
        return []
    words = [name for name in names if np.isnan(_value(name))]
    numbers = len(names) - len(words)
    return words if numbers >= NUMBERED * max(1, len(words)) else []


def is_spectrum(names: Sequence[str] | None) -> bool:
    """Whether names are numbers that rise or fall throughout, and do not just count."""
    if names is None or len(names) < NUMBERED:
        return False
    values = np.array([_value(name) for name in names])
    steps = np.diff(values)
    counts = values[0] in (0.0, 1.0) and (steps == 1).all()
    return bool(((steps > 0).all() or (steps < 0).all()) and not counts)


def _whole(values: Any) -> bool:
    known = values[~np.isnan(values)]
    return bool((known == np.round(known)).all())


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
    budget = form.budget(source)
    with talk.reading() as watch, opened(source, watch, budget) as stream:
        kind = form.format
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
    chosen: Chosen
    note: Note
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
        dropped = meant("--drop", self.chosen.drop, names)
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
        if self.chosen.features:
            wanted = {*meant("--features", self.chosen.features, names)}
            return {name for name in names if name not in wanted}
        label = None if self.chosen.keep_index else unnamed(names)
        taken = {*aside.values(), *dropped}
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
            others = count(len(rest) - len(words) - len(left_out), "feature")
            self.note(
                f"left out {quoted(words)}: the other {others} are named by numbers, as "
                "wavelengths are, and such columns are often other results of the laboratory. "
                "--features '*' takes all, --drop leaves some out."
            )
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


def meant(option: str, words: Sequence[str] | None, names: Sequence[str]) -> set[str]:
    """The names that the words of an option mean, several with commas; each must mean some."""
    found: set[str] = set()
    for word in words or ():
        parts = [word] if word in names else [part.strip() for part in word.split(",")]
        some = [matched(part, names) for part in parts]
        if not all(some):
            raise DataError(unknown(option, word, names))
        found.update(*some)
    return found


def dropping(*names: str) -> str:
    """The options that leave columns out, which are named where they are few."""
    if len(names) > CLAUSES:
        return "--drop COL"
    return " ".join(f"--drop {shlex.quote(name)}" for name in names)


def check_distinct(used: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a name that several of the columns in use have."""
    twice = next((name for name, times in Counter(used).items() if times > 1), None)
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
    for name, times in counts.items():
        if times > 1:
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
    value, ways = strays[0].value, []
    if all(DECIMAL_COMMA.fullmatch(stray.value) for stray in strays):
        ways.append("if the comma is a decimal mark, pass --decimal ,")
    if all(THOUSANDS.fullmatch(stray.value) for stray in strays):
        it = "it" if ways else "the comma"
        bare = f"{value.replace(',', '')} in place of {value!r}."
        ways.append(f"if {it} parts thousands, write the numbers without it, {bare}")
    if ways:
        said = " and ".join(ways)
        return said[0].upper() + said[1:]
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
    if whole:
        return f"Leave {it} out with {dropping(*names)}, or encode {it} as numbers."
    return f"Correct these cells, or leave {it} out with {dropping(*names)}."


def check_infinite(table: Table) -> None:
    """Refuse infinite values."""
    for name in missing_counts(table, np.isinf)[0]:
        raise DataError(
            f"column {name!r} has infinite values: correct them, or leave it out with "
            f"{dropping(name)}."
        )


def missing_counts(
    table: Table, test: Callable[[Any], Any] = np.isnan
) -> tuple[dict[str, int], Any]:
    """Missing values by column, and which rows have one; or values that another `test` finds."""
    X = table.X
    rows = np.zeros(X.shape[0], dtype=bool)
    if table.is_sparse:
        bad = test(X.data)
        rows[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[bad]] = True
        columns, counts = np.unique(X.indices[bad], return_counts=True)
        return {table.name_of(c): int(n) for c, n in zip(columns, counts, strict=True)}, rows
    # of columns with such values the sum is infinite or none
    with np.errstate(over="ignore", invalid="ignore"):
        suspects = np.flatnonzero(~np.isfinite(X.sum(axis=0)))
    found = {}
    for column in suspects.tolist():
        bad = test(X[:, column])
        if bad.any():
            found[table.name_of(column)] = int(bad.sum())
            rows |= bad
    return found, rows


def leave_out_index(table: Table, note: Note) -> None:
    """Leave out a first column that numbers the rows, perhaps with gaps."""
    if table.names is None or table.is_sparse or table.X.shape[0] < 3 or table.X.shape[1] < 2:
        return
    name, first = table.names[0], table.X[:, 0]
    rises = _whole(first) and (np.diff(first) > 0).all()
    if not rises or any(_whole(column) for column in table.X[:, 1:].T):
        return
    note(
        f"left out the first column {name!r}, whole numbers that rise from row to row beside "
        "features that are not whole; --keep-index takes it."
    )
    table.X, table.names = table.X[:, 1:], table.names[1:]


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
        counts_rows = values[0] in (0, 1) and (np.diff(values) == 1).all()
        if not (named or huge or counts_rows):
            continue
        different = np.unique(values).size
        if different == values.size or (huge and different > 1):
            note(
                f"column {name!r} looks like an identifier and is used as a feature: "
                f"{dropping(name)} leaves it out."
            )


# Missing values in words.


def most_first(counts: Mapping[str, int]) -> str:
    """Columns with their counts, the greatest first."""
    order = sorted(counts, key=lambda name: -counts[name])
    first = [f"{name!r} {counts[name]:,}" for name in order[:SHOWN]]
    return listed(first, len(order), more="more columns")


def filled_words(counts: Mapping[str, int], fill: str, where: str = "of the column") -> str:
    """What was filled with a mean or median: how many values in which columns."""
    total, columns = count(sum(counts.values()), "missing value"), count(len(counts), "column")
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
        ways.append(f"the columns with {dropping(*droppable)}")
    return f"{message} Fill the cells, or {', or '.join(ways)}."


# One column by itself: a target, weights, labels.


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


def survival(event: Any, time: Any, names: tuple[str, str]) -> Any:
    """Events and times as one structured array; both have `numbers`, `words` and `odd`."""
    known = event.words if event.numbers is None else map(_word, event.numbers.tolist())
    words = [word.strip().lower() for word in known]
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
    if (negative := np.flatnonzero(counts < 0)).size:
        raise DataError(
            f"the target has {counts[negative[0]]:g} (row {negative[0] + 1}), and counts are not "
            "negative: check the target."
        )
    rates = counts / exposure.numbers
    return rates, exposure.numbers if weights is None else weights * exposure.numbers
