"""Values to try, from what users type: ``1.1,1.5,2``."""

import math
from typing import Any

from skstretch.cli.data.errors import DataError

# below this the penalty 1/(c k) leaves the range of float64
LEAST_C = 1e-249


def numbers(option: str, text: str | None) -> tuple[float, ...]:
    """Numbers with commas between them; none where the option was not given."""
    if text is None:
        return ()
    try:
        found = tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        found = ()
    if not found:
        raise DataError(f"{option} {text!r} is not a list of numbers such as 1.1,1.5,2.")
    return found


def powers(text: str | None) -> tuple[float, ...]:
    """The grid of k."""
    for k in (found := numbers("--k", text)):
        if not 1 < k < math.inf:
            raise DataError(
                f"--k {k:g} must be a number above 1: values up to 2 compress the coefficients, 2 "
                "is ridge regression."
            )
    return found


def transforms(text: str | None) -> tuple[float, ...]:
    """The grid of a."""
    for a in (found := numbers("--a", text)):
        if not math.isfinite(a):
            raise DataError(
                f"--a {a:g} must be a finite number: the paper's is -0.2, 0 is plain ridge."
            )
    return found


def strengths(text: str | None) -> Any:
    """The grid of c: ``auto`` or numbers."""
    if text is None or text.strip() == "auto":
        return "auto"
    for c in (found := numbers("--c", text)):
        if not c >= LEAST_C:
            raise DataError(
                f"--c {c:g} must be a number above 0: a large one regularises little, inf not at "
                "all."
            )
    return found


def densities(shares: str | None, counts: str | None) -> tuple[Any, ...]:
    """Shares of features to keep, and counts of them; all features where neither is given."""
    found: list[Any] = list(numbers("--density", shares))
    for share in found:
        if not 0 < share <= 1:
            raise DataError(
                f"--density {share:g} must lie above 0 and not above 1; for a count use --keep."
            )
    for count in numbers("--keep", counts):
        if count < 1 or not count.is_integer():
            raise DataError(f"--keep {count:g} must be a whole number from 1.")
        found.append(int(count))
    return tuple(found) or (1.0,)


def check_counts(grid: tuple[Any, ...], n_features: int) -> None:
    """Refuse to keep more features than there are."""
    for count in grid:
        if isinstance(count, int) and count > n_features:
            raise DataError(
                f"--keep {count}: the file has {n_features:,} features; to keep all of them as "
                "one of the choices use --density 1."
            )
