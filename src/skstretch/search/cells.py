"""Cells of the grid: where they stand, and what they gave."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.core.crossfit import Fold
from skstretch.core.dual import DualSolution
from skstretch.core.dual_gram import Frame
from skstretch.core.types import Array, Fit, Index
from skstretch.designs.protocol import Design

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
class Unknowns:
    """What was solved for, from which coefficients are a product away.

    Attributes
    ----------
    solved : DualSolution, or array of shape (D, t)
        Dual coefficients, from which ``alpha = Q' beta``; or the coefficients themselves.
    frame : Frame or None
        Of the dual coefficients.
    columns, target : index array, int, or None
        Of a second pass: the columns of the design that it keeps, and the target that keeps them.
    """

    solved: DualSolution | Array
    frame: Frame | None = None
    columns: Index | None = None
    target: int | None = None

    @property
    def n_bytes(self) -> int:
        """Bytes that it holds on to, but for the frame, which cells share."""
        own = self.solved.beta if isinstance(self.solved, DualSolution) else self.solved
        return own.nbytes + (0 if self.columns is None else self.columns.nbytes)

    @property
    def is_shared(self) -> bool:
        """Whether cells of the same (a, k) have the same frame."""
        return self.frame is not None and self.frame.log_rows is None and self.columns is None

    @staticmethod
    def joined(parts: "Sequence[Unknowns]") -> "Unknowns":
        """Dual coefficients of cells with the same frame side by side."""
        found = [part.solved for part in parts if isinstance(part.solved, DualSolution)]
        beta = np.hstack([solution.beta for solution in found])
        total = np.concatenate([solution.total for solution in found])
        constant = np.concatenate([solution.constant for solution in found])
        return Unknowns(DualSolution(beta, total, constant), parts[0].frame)

    def coefficients(self, design: Design, weights: Array) -> Array:
        """Coefficients (D, t) of the columns of a design."""
        if not isinstance(self.solved, DualSolution):
            return self.solved
        assert self.frame is not None
        beta, total = self.solved.beta, self.solved.total
        blocks = design.coefficients(self.frame, beta, total, weights)
        return np.vstack([alpha for _, alpha in blocks])


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
    unknowns : tuple of Unknowns
        What the coefficients of all samples are made of, pass by pass.
    """

    residuals: Array
    rcond: float
    dof: float
    n_features: float
    reason: str = ""
    finish: Callable[[], Fit] | None = None
    first_pass: Callable[[], FirstPass] | None = None
    unknowns: tuple[Unknowns, ...] = ()

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


# Splits of the samples, as sets that are held out.


@dataclass(frozen=True)
class Folds:
    """Leave one out (`folds` is None), or a list of folds over the samples in use.

    `tested` names the tested sample of every out-of-fold prediction, fold after fold.
    """

    folds: Sequence[Fold] | None
    tested: Index

    def mean(self, values: Array, n_samples: int) -> Array:
        """Average predictions (or losses) of each sample over its folds; NaN where it has none."""
        sums = np.zeros((n_samples, *values.shape[1:]))
        np.add.at(sums, self.tested, values)
        counts = np.bincount(self.tested, minlength=n_samples).astype(float)
        counts[counts == 0] = np.nan
        return sums / counts.reshape(-1, *([1] * (values.ndim - 1)))


def leave_one_out(n_samples: int) -> Folds:
    """Every sample on its own."""
    return Folds(None, np.arange(n_samples))


def folds_from_splits(splits: Iterable[tuple[Any, Any]], used: Index, n_samples: int) -> Folds:
    """Folds over the samples `used` (those of positive weight) from (train, test) pairs.

    What is not trained on is held out, whether it is tested or not; so any splitter is exact.
    """
    place = np.full(n_samples, -1)
    place[used] = np.arange(used.size)
    folds = []
    for train, test in splits:
        training = np.zeros(n_samples, dtype=bool)
        training[train] = True
        test = np.asarray(test)
        if test.dtype == bool:
            test = np.flatnonzero(test)
        overlap = np.flatnonzero(training[test])
        if overlap.size:
            raise ValueError(
                f"sample {test[overlap[0]]} is in the training and the test part of one split."
            )
        if not training[used].any():
            raise ValueError("a split has no training sample of positive weight.")
        held = place[np.flatnonzero(~training)]
        tested = place[test]
        folds.append(Fold(held[held >= 0], tested[tested >= 0]))
    if not folds:
        raise ValueError("cv gives no split.")
    return Folds(folds, np.concatenate([fold.tested for fold in folds]))
