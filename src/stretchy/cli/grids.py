"""Values to try, from what users type: ``1.1,1.5,2``."""

from typing import Any

from stretchy.cli.data.errors import DataError


def numbers(option: str, text: str | None) -> tuple[float, ...] | None:
    """Numbers with commas between them; None where the option was not given."""
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(",") if part.strip()) or _refuse(
            option, text
        )
    except ValueError:
        return _refuse(option, text)


def _refuse(option: str, text: str) -> Any:
    raise DataError(f"{option} {text!r} is not a list of numbers such as 1.1,1.5,2.")


def strengths(text: str | None) -> Any:
    """The grid of c: ``auto`` or numbers."""
    return "auto" if text is None or text.strip() == "auto" else numbers("--c", text)


def densities(shares: str | None, counts: str | None) -> tuple[Any, ...]:
    """Shares of features to keep, and counts of them; all features where neither is given."""
    found: list[Any] = list(numbers("--density", shares) or ())
    for share in found:
        if not 0 < share <= 1:
            raise DataError(
                f"--density {share:g} must lie above 0 and not above 1; for a count use --keep."
            )
    for count in numbers("--keep", counts) or ():
        if count < 1 or not count.is_integer():
            raise DataError(f"--keep {count:g} must be a whole number from 1.")
        found.append(int(count))
    return tuple(found) or (1.0,)


def folds(text: str | None, groups: bool, classifies: bool, compressed: bool) -> Any:
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

    word = "" if text is None else text.strip().lower()
    if word in ("", "loo"):
        if groups:
            return LeaveOneGroupOut()
        return LeaveOneOut() if word == "loo" and compressed else None
    if not word.isdigit() or int(word) < 2:
        raise DataError(f"--cv {text!r} is not known: use loo, or a number of folds from 2.")
    if groups:
        return GroupKFold(int(word))
    kind = StratifiedKFold if classifies else KFold
    return kind(int(word), shuffle=True, random_state=0)


def folds_named(text: str | None, groups: bool, compressed: bool) -> str:
    """The folds in words."""
    word = "" if text is None else text.strip().lower()
    if word not in ("", "loo"):
        return f"exact {int(word)}-fold" + (" over groups" if groups else "")
    if groups:
        return "exact, leave one group out"
    return "exact 10-fold" if compressed and word == "" else "exact leave-one-out"
