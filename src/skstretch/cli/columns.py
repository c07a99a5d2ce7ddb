"""Columns of a file: which are features, and targets that are made of two of them."""

import fnmatch
import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from skstretch.cli.console import counted, quoted
from skstretch.cli.data.delimited import number_in
from skstretch.cli.data.files import Numbers
from skstretch.exceptions import DataError

# how unnamed columns of row numbers are called by us, pandas and pyarrow
NUMBERINGS = ("column 1", "Unnamed: 0", "__index_level_0__")
RANGE = re.compile(r"([-+]?\d*\.?\d+)-([-+]?\d*\.?\d+)")
# so many names that are numbers make a spectrum, if others are at most one in so many
MANY, SHARE = 20, 10


def matched(word: str, names: Sequence[str]) -> list[str]:
    """Names that a word means: itself, several with commas, a range of numbers, or a pattern."""
    if word in names:
        return [word]
    found = []
    for part in (part.strip() for part in word.split(",")):
        some = [part] if part in names else _pattern(part, names)
        if not some:
            return []
        found += some
    return found


def _pattern(part: str, names: Sequence[str]) -> list[str]:
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
    return words if numbers >= MANY and SHARE * len(words) <= numbers else []


def is_spectrum(names: Sequence[str] | None) -> bool:
    """Whether names are numbers that rise or fall throughout, and do not just count."""
    if names is None or len(names) < MANY:
        return False
    values = np.array([_value(name) for name in names])
    steps = np.diff(values)
    counts = values[0] in (0.0, 1.0) and (steps == 1).all()
    return bool(((steps > 0).all() or (steps < 0).all()) and not counts)


def is_index(X: Any) -> bool:
    """Whether the first column is whole numbers that rise, beside others that are not whole."""
    first, others = X[:, 0], X[:, 1:]
    if len(first) < 3 or not others.size or not _whole(first) or not (np.diff(first) > 0).all():
        return False
    return not any(_whole(column) for column in itertools.islice(others.T, MANY))


def _whole(values: Any) -> bool:
    known = values[~np.isnan(values)]
    return bool((known == np.round(known)).all())


def left_out_words(names: Sequence[str], total: int) -> str:
    """That features beside a spectrum are left out, and how they are taken."""
    return (
        f"left out {quoted(names)}: the other {counted(total, 'feature')} are named by numbers, as "
        "wavelengths are, and such columns are often other results of the laboratory. "
        "--features '*' takes all, --drop leaves some out."
    )


# words for an event and for none
EVENTS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


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
