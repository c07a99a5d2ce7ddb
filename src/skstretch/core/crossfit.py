"""Held-out samples: exact residuals from one inverse; intervals, paired comparisons and influence.

Dual: with ``beta = G y`` the residuals of samples S by the model fitted without them solve
``G_SS r = beta_S``. The block-inverse proof never uses symmetry. Exact given the z-scores and a.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack
from scipy.special import ndtr, stdtrit

from skstretch.core.dual import DualSolution, Inverse
from skstretch.core.factors import power_of_two
from skstretch.core.types import Array, Index


@dataclass(frozen=True)
class Fold:
    """One split: the samples that are not trained on, and those of them that are predicted.

    A bootstrap trains on some samples several times: the `repeated`, each as often as `times`
    says.
    """

    held: Index
    tested: Index
    repeated: Index = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    times: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def positions(self) -> Index:
        """Where the tested samples stand among the held ones, and so among the changed ones."""
        order = np.argsort(self.held)
        return order[np.searchsorted(self.held, self.tested, sorter=order)]

    @property
    def changed(self) -> Index:
        """The samples whose weight is not that of the whole: the held ones, then the repeated."""
        return np.concatenate([self.held, self.repeated])

    def weights(self, weights: Array) -> Array:
        """The weights of training: zero for the held, times w for the repeated."""
        training = weights.copy()
        training[self.held] = 0.0
        training[self.repeated] *= self.times
        return training


def loo_residuals(inverse: Inverse, beta: Array) -> Array:
    """``beta_i / G_ii``: residuals of every sample by the model fitted without it, (M, t)."""
    diagonal = inverse.diagonal()[:, None]
    return np.asarray(beta[: len(diagonal)] / diagonal)


# steps of the power method, which need not be exact
NORM_STEPS = 6


def stable_rank(R: Array) -> float:
    """``|R|_F^2 / |R|_2^2``: of how many independent numbers ``R y`` is made, at least.

    Leave-one-out residuals are ``R y`` with ones on the diagonal of R. Where nearly as many
    coefficients are free as there are samples, all of them may be multiples of one number, and then
    their mean square tells nothing of the error. With weights R is taken for ``sqrt(w) r`` and
    ``sqrt(w) y``.
    """
    x, largest = np.asarray(np.random.default_rng(0).standard_normal(R.shape[1])), 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for _ in range(NORM_STEPS):
            image = R @ (x / np.linalg.norm(x))
            largest = max(largest, float(image @ image))
            x = np.asarray(R.T @ image)
        found = float(np.divide(np.einsum("ij,ij->", R, R), largest))
    return found if np.isfinite(found) else np.inf


def changed_residuals(inverse: Inverse, solution: DualSolution, fold: Fold) -> tuple[Array, Array]:
    """``(r, A)``, ``A r = beta_S``, ``A = G_SS + diag(t / ((1 - t) lam))``, S trained t times.

    A weight that becomes t times as large adds ``d = lam (1/t - 1)`` to the diagonal of the
    system, and ``beta' = beta - G[:, S] r`` with ``r = d beta'_S``: on the held-out samples
    (t = 0) the residuals by the model fitted without them. Without a penalty repetitions change
    nothing, and take no part.
    """
    S = fold.changed
    A = inverse.block(S)
    if fold.repeated.size:
        lam = inverse.penalties[fold.repeated]
        with np.errstate(divide="ignore"):
            extra = fold.times / ((1.0 - fold.times) * lam)
        live = np.concatenate([np.ones(fold.held.size, dtype=bool), lam > 0.0])
        A.flat[fold.held.size * (S.size + 1) :: S.size + 1] += extra
        r = np.zeros((S.size, solution.beta.shape[1]))
        A, S = A[np.ix_(live, live)], S[live]
        r[live] = np.linalg.solve(A, solution.beta[S])
        return r, A
    return np.asarray(np.linalg.solve(A, solution.beta[S])), A


def without(inverse: Inverse, solution: DualSolution, fold: Fold) -> Array:
    """Dual coefficients of the model fitted to a fold: zero on the held-out samples, (M, t).

    Below them stand those of columns that are never penalised, as in the solution.
    """
    residuals, _ = changed_residuals(inverse, solution, fold)
    beta = solution.beta - inverse.columns(fold.changed) @ residuals
    beta[fold.held] = 0.0
    return np.asarray(beta)


def out_of_fold(
    inverse: Inverse, solution: DualSolution, folds: Sequence[Fold] | None
) -> tuple[Array, Array]:
    """Residuals of every tested sample, fold after fold, and bounds on their rounding errors.

    None stands for leave one out. With ``e = eps / rcond``, G is known to about ``e max|G|`` and
    beta to ``e max|beta|``; ``G_SS r = beta_S`` enlarges both by the norm of ``G_SS^-1``.
    """
    known = np.finfo(np.float64).eps / inverse.rcond
    G_peak = np.abs(inverse.diagonal()).max()
    beta_peak = np.abs(solution.beta[: inverse.diagonal().size]).max(axis=0)
    if folds is None:
        residuals = loo_residuals(inverse, solution.beta)
        sizes = np.abs(inverse.diagonal())[:, None]
        errors = known * (beta_peak + G_peak * np.abs(residuals)) / sizes
        return residuals, errors
    parts, bounds = [], []
    for fold in folds:
        residuals, A = changed_residuals(inverse, solution, fold)
        blurred = beta_peak + G_peak * np.abs(residuals).max(axis=0, initial=0.0)
        enlarged = known * _inverse_norm(A) * blurred
        parts.append(residuals[fold.positions])
        bounds.append(np.broadcast_to(enlarged, parts[-1].shape))
    return np.vstack(parts), np.vstack(bounds)


def _inverse_norm(A: Array) -> float:
    """An estimate of ``|A^-1|`` in the 1-norm."""
    if not A.size:
        return 0.0
    lu, _, info = lapack.dgetrf(A)
    norm = float(np.abs(A).sum(axis=0).max())
    rcond = 0.0 if info > 0 else float(lapack.dgecon(lu, norm)[0])
    return 1.0 / (rcond * norm) if rcond * norm > 0.0 else np.inf


@dataclass(frozen=True)
class RowSystem:
    """The primal twin: predictions ``H y`` with ``H_ij = left_i B^-1 right_j w_j``.

    For the free intercept the constant is one of the columns of left and right.
    """

    B: Array
    inverse: Array

    def leverages(self, left: Array, right: Array, weights: Array) -> Array:
        """``H_ii`` for rows of left and right."""
        return np.asarray(weights * np.einsum("ij,ij->i", left @ self.inverse, right))

    def held_residuals(
        self, left: Array, right: Array, weights: Array, residuals: Array
    ) -> tuple[Array, Array, float]:
        """``(r, change, slack)``: residuals of held-out rows, and what leaving them out does to x.

        `weights` is what they lose: all of it, or ``(1 - t) w`` where they are trained t times.
        ``(I - H_SS) r = e``: through a system of the size of S, or of B, whichever is smaller.
        The slack ``1 / max_i |((I - H_SS)^-1)_ii|``, for one row ``|1 - H_ii|``, says how well the
        other rows determine x: errors of the inverse come out enlarged by its reciprocal.
        """
        weighted = right.T * weights
        if left.shape[0] <= left.shape[1]:
            H = left @ (self.inverse @ weighted)
            G = np.asarray(np.linalg.inv(np.eye(left.shape[0]) - H), dtype=np.float64)
            r, enlarged = G @ residuals, G.diagonal()
        else:
            through = np.linalg.solve(self.B - weighted @ left, weighted)
            r = residuals + left @ (through @ residuals)
            enlarged = 1.0 + np.einsum("ij,ji->i", left, through)
        slack = float(1.0 / np.abs(enlarged).max(initial=1.0))
        return r, -(self.inverse @ (weighted @ r)), slack


def ranks(n: int, coverage: float) -> tuple[int, int]:
    """Which of n sorted values bound from below and above, counted from 1.

    Below: ``floor((1 - coverage) (n + 1))``; above: ``ceil(coverage (n + 1))``. Zero and n + 1
    stand for minus and plus infinity.
    """
    # 0.9 * 10 is a hair above 9: coverages are meant in decimals; a tiny one is not zero
    return (
        min(n, math.floor(round((1.0 - coverage) * (n + 1), 9))),
        min(n + 1, max(1, math.ceil(round(coverage * (n + 1), 9)))),
    )


def jackknife_plus(predictions: Array, residuals: Array, coverage: float) -> tuple[Array, Array]:
    """Bounds from leave-one-out predictions (N, M) at new points and residuals (M,).

    Lower: the ``floor((1 - coverage)(M + 1))`` smallest of ``prediction_i - |residual_i|``;
    upper: the ``ceil(coverage (M + 1))`` smallest of ``prediction_i + |residual_i|``.
    """
    n = residuals.size
    low, high = ranks(n, coverage)
    size = np.abs(residuals)
    lower = np.full(predictions.shape[0], -np.inf)
    upper = np.full(predictions.shape[0], np.inf)
    if low >= 1:
        lower = np.partition(predictions - size, low - 1, axis=1)[:, low - 1]
    if high <= n:
        upper = np.partition(predictions + size, high - 1, axis=1)[:, high - 1]
    return lower, upper


def mass_quantile(values: Array, masses: Array, coverage: float) -> Array:
    """The least of the values (.., M) with a mass of `coverage` up to it; infinite where there is
    none.

    Masses of ``1 / (M + 1)`` each make the ``ceil(coverage (M + 1))`` smallest.
    """
    order = np.argsort(values, axis=-1)
    reached = np.cumsum(masses[order], axis=-1) >= coverage - 1e-9
    ordered = np.take_along_axis(values, order, axis=-1)
    first = np.take_along_axis(ordered, reached.argmax(axis=-1)[..., None], axis=-1)[..., 0]
    return np.where(reached.any(axis=-1), first, np.inf)


def residual_width(residuals: Array, coverage: float) -> float:
    """Half the width of an interval around a prediction: a quantile of ``|residual|``."""
    n = residuals.size
    _, high = ranks(n, coverage)
    return float(np.sort(np.abs(residuals))[high - 1]) if high <= n else math.inf


@dataclass(frozen=True)
class Spread:
    """``log s(x) = level + z(x)' Z' beta + slope (f(x) - about)`` with the output f, learned from
    residuals of samples that were left out.

    All features together weigh as much as the output, so that a spread that follows the prediction
    is learned as easily as one that follows the features.

    Attributes
    ----------
    beta : array of shape (n,)
    level, about, slope : float
    left_out : array of shape (n,)
        Of every sample the log spread by the model without it.
    """

    beta: Array
    level: float
    about: float
    slope: float
    left_out: Array

    def at(self, products: Array, outputs: Array) -> Array:
        """Spreads (N,) of new samples with products ``Z z_new' beta`` and outputs; no further out
        than what was learned from."""
        logs = self.level + products + self.slope * (outputs - self.about)
        return np.exp(np.clip(logs, self.left_out.min(), self.left_out.max()))

    def width(self, residuals: Array, coverage: float) -> float:
        """Half the width of intervals, in spreads."""
        return residual_width(residuals / np.exp(self.left_out), coverage)


def learned_spread(
    K: Array, outputs: Array, residuals: Array, weights: Array, penalties: Sequence[float],
    least: float,
) -> Spread:  # fmt: skip
    """How the size of residuals (n,) depends on samples of inner products K and outputs (n,).

    Ridge regression of ``log |residual|``, its penalty (relative to the mean diagonal) chosen by
    exact leave-one-out; where that learns nothing, all spreads are alike. Residuals count as
    `least` times their median at least.
    """
    sizes = np.abs(residuals)
    logs = np.log(np.maximum(sizes, least * np.median(sizes) + np.finfo(float).tiny))
    size, about = max(float(np.trace(K)), np.finfo(float).tiny), float(outputs.mean())
    centred = outputs - about
    square = max(float(centred @ centred), np.finfo(float).tiny)
    K, share = K / size + np.outer(centred, centred) / square, weights / weights.sum()
    mean = float(share @ logs)
    best = np.zeros(logs.size), mean, (mean - share * logs) / (1.0 - share)
    lowest = share @ np.square(logs - best[2])
    for penalty in penalties:
        A = np.linalg.inv(K + np.diag(penalty * np.trace(K) / logs.size / weights))
        ones = A.sum(axis=1)
        level = float(ones @ logs / ones.sum())
        G = A - np.outer(ones, ones) / ones.sum()
        beta = G @ logs
        left_out = logs - beta / np.diag(G)
        error = share @ np.square(logs - left_out)
        if error < lowest:
            lowest, best = error, (beta, level, left_out)
    beta, level, left_out = best
    return Spread(beta / size, level, about, float(centred @ beta) / square, left_out)


def paired_error(
    difference: Array, weights: Array, groups: npt.NDArray[np.generic] | None
) -> tuple[float, float]:
    """Weighted mean of paired differences of loss and its standard error.

    A weight counts repetitions; with groups, whole groups are the independent units. Losses are
    squares already: theirs are taken in a unit of their size, so that they stay in range.
    """
    unit = float(power_of_two(np.abs(difference).max(initial=0.0)))
    difference, total = difference / unit, weights.sum()
    mean = float(weights @ difference / total)
    deviations = difference - mean
    if groups is None:
        return unit * mean, unit * float(np.sqrt(weights @ np.square(deviations)) / total)
    _, codes = np.unique(groups, return_inverse=True)
    sums = np.bincount(codes, weights=weights * deviations)
    return unit * mean, unit * float(np.sqrt(np.sum(np.square(sums))) / total)


def effective_weights(weights: Array, copies: Index | None = None) -> Array:
    """The weights (M,) times the constant that makes their sum the effective number of samples,
    ``(sum w)^2 / sum w^2``.

    Those of `copies` (M, numbers of samples that are equal) are one sample of their sum. So the
    number does not depend on the unit of weights, and one sample of weight w counts as w copies of
    it do; equal weights of different samples become ones.
    """
    codes = np.arange(weights.size) if copies is None else copies
    whole = np.bincount(codes, weights / weights.max())
    return np.asarray(weights / weights.max() * (whole.sum() / np.square(whole).sum()))


def needed_margin(errors: float, n_units: int) -> float:
    """The margin that is as rare by chance as so many standard errors of very many samples.

    A standard error is itself estimated: by Student's t for n - 1 degrees of freedom, and
    ``sqrt(n / (n - 1))`` since that of `paired_error` has n in its denominator.
    """
    return float(stdtrit(n_units - 1, ndtr(errors)) * np.sqrt(n_units / (n_units - 1)))


# What single samples do to a fitted model: ``d_ji`` is the change of the output for row j, with all
# samples less without sample i.


def squared_changes(changes: Array, weights: Array) -> Array:
    """``sum_j w_j d_ji^2``, (t, M), for changes (t, N, M) and weights (N,)."""
    return np.asarray(np.einsum("j,tji->ti", weights, np.square(changes)))


def distances(squares: Array, left_out: Array, weights: Array, dof: Array) -> Array:
    """``sum_j w_j d_ji^2 / (dof s^2)``, the mean over targets, (M,).

    Cook's distance with the variance s^2 of leave-one-out residuals (M, t), ``sum w r^2 / sum w``,
    in place of that of the fit, which is nothing where the fit interpolates. `squares` (t, M).
    """
    variance = weights @ np.square(left_out) / weights.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        found = squares / (dof * variance)[:, None]
    return np.asarray(found.mean(axis=0))
