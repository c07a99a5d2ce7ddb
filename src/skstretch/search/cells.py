"""Cells of the grid: where they stand, and what they gave."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from skstretch.core.fit import Fit
from skstretch.core.types import Array

# below this a cell's predictions carry no trustworthy digit, and it cannot win
USABLE_RCOND = 1e-13


@dataclass(frozen=True)
class Cell:
    """One point of the grid; `strength` is the relative strength of its penalty."""

    a: float
    k: float
    c: float
    strength: float
    density: float


@dataclass(frozen=True)
class FirstPass:
    """First-pass coefficients of one cell: of all samples, and of every fold; each (D, t)."""

    whole: Array
    by_fold: Sequence[Array]


@dataclass(frozen=True)
class Outcome:
    """What one cell gave.

    Attributes
    ----------
    residuals : array of shape (n_tested, t)
        Out-of-fold residuals.
    finish : callable or None
        Makes the fit of the cell from what is already known; None where it must be fitted.
    first_pass : callable or None
        Makes the coefficients from which a second pass selects.
    """

    residuals: Array
    rcond: float
    dof: float
    n_features: float
    reason: str = ""
    finish: Callable[[], Fit] | None = None
    first_pass: Callable[[], FirstPass] | None = None

    @property
    def usable(self) -> bool:
        return self.reason == ""


def failed(n_tested: int, n_targets: int, n_features: float, reason: str) -> Outcome:
    """The outcome of a cell that could not be solved."""
    return Outcome(np.full((n_tested, n_targets), np.nan), 0.0, np.nan, n_features, reason)


def judged(residuals: Array, rcond: float) -> str:
    """Why a cell must not win; empty where it may."""
    if not rcond >= USABLE_RCOND:
        return f"ill-conditioned: rcond {rcond:.0e} is below {USABLE_RCOND:.0e}"
    if not np.isfinite(residuals).all():
        return "predictions are not finite"
    return ""
