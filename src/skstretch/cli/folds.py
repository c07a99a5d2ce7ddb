"""Folds, from what users type: ``loo`` or a number."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skstretch.cli.data.errors import DataError
from skstretch.cli.problem import Problem


def fold_number(text: str | None) -> int | None:
    """How many folds were asked for; None for ``loo`` and where nothing was said."""
    word = "loo" if text is None else text.strip().lower()
    if word == "loo":
        return None
    if not word.isdecimal() or int(word) < 2:
        raise DataError(f"--cv {text!r} is not known: use loo, or a number of folds from 2.")
    return int(word)


def splitter(text: str | None, groups: bool, classifies: bool, compressed: bool) -> Any:
    """A splitter, or None for the default of the estimator.

    ``loo`` leaves one row out, or with groups one group; a number is that many folds, shuffled
    with a fixed seed, of whole groups where there are groups.
    """
    from sklearn.model_selection import (
        GroupKFold,
        KFold,
        LeaveOneGroupOut,
        LeaveOneOut,
        StratifiedKFold,
    )

    number = fold_number(text)
    if number is None:
        if groups:
            return LeaveOneGroupOut()
        return LeaveOneOut() if text is not None and compressed else None
    if groups:
        return GroupKFold(number)
    kind = StratifiedKFold if classifies else KFold
    return kind(number, shuffle=True, random_state=0)


def folds_named(text: str | None, groups: bool, compressed: bool) -> str:
    """The folds in words."""
    number = fold_number(text)
    if number is not None:
        return f"exact {number}-fold" + (" over groups" if groups else "")
    if groups:
        return "exact, leave one group out"
    return "exact 10-fold" if compressed and text is None else "exact leave-one-out"


def check_number(option: str, number: int, problem: Problem) -> None:
    """Refuse more folds than there are groups or rows."""
    groups = problem.groups is not None
    units = len(np.unique(problem.groups)) if groups else problem.X.shape[0]
    if number > units:
        loo = ", or loo" if option == "--cv" else ""
        raise DataError(
            f"{option} {number}: there are only {units:,} {'groups' if groups else 'rows'}; use at "
            f"most {units:,}{loo}."
        )


def check_classes(
    option: str, number: int, problem: Problem, note: Callable[[str], None] | None = None
) -> None:
    """Refuse more folds than a class has rows; with `note`, only where all classes are so small."""
    if not problem.classifies or problem.groups is not None:
        return
    names, sizes = np.unique(problem.y, return_counts=True)
    least = int(sizes.min())
    if number <= least:
        return
    rows = "1 row" if least == 1 else f"{least:,} rows"
    message = f"{option} {number}: the class {str(names[sizes.argmin()])!r} has {rows}"
    if note is None or number > sizes.max():
        raise DataError(f"{message}, fewer than there are folds.")
    note(f"{message}, so some folds have none of it.")


def check_groups(problem: Problem) -> None:
    """Refuse a single group, which cannot be left out."""
    if problem.groups is not None and len(np.unique(problem.groups)) < 2:
        raise DataError("--groups: all rows are of one group; at least two groups are needed.")
