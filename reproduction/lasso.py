"""The LASSO of the study: MATLAB's ``lasso``, solved by glmnet (package python-glmnet).

``lasso(X, y, 'Alpha', α, 'NumLambda', n)`` centres y, standardises the columns of X with the
divisor n_samples (its ``std(X, 1)``), and minimises ::

    ‖y − b0 − X b‖² / (2 n_samples) + λ (α ‖b‖₁ + (1 − α)/2 ‖b‖²)

for n penalties that fall geometrically from the least λ at which all b are zero ::

    λ_max = max_j |x_j'(y − ȳ)| / (n_samples σ_j α)

down to λ_max · LambdaRatio, 1e-4 by default. ``NumLambda = 1`` is λ_max alone: a model without
features, whose prediction is the mean of y. ``NumLambda = 2`` is λ_max and its 1e-4th part.
A path ends early at the first penalty whose fit leaves less than 1e-3 of the variance of y.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

RATIO = 1e-4
EXPLAINED = 1e-3


def largest_penalty(X: Any, y: NDArray[Any], mixing: float) -> float:
    """λ_max, the least penalty at which every coefficient is zero; constant columns are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.lasso import largest_penalty
    >>> largest_penalty(np.array([[0.0], [2.0]]), np.array([1.0, 5.0]), mixing=0.5)
    4.0
    """
    deviation = np.sqrt(StandardScaler(with_mean=False).fit(X).var_)
    products = np.abs(X.T @ (y - y.mean()))
    varies = deviation > 0
    return float((products[varies] / deviation[varies]).max() / (len(y) * mixing))


def penalty_sequence(largest: float, count: int, ratio: float = RATIO) -> NDArray[np.float64]:
    """`count` penalties from `largest` down to ``ratio * largest``; one is `largest` alone.

    Examples
    --------
    >>> from reproduction.lasso import penalty_sequence
    >>> penalty_sequence(10.0, 3).tolist()
    [10.0, 0.1, 0.001]
    """
    if count < 1:
        raise ValueError(f"count={count!r}: a sequence has at least one penalty.")
    if count == 1:
        return np.array([largest])
    return largest * np.logspace(0, np.log10(ratio), count)


def as_glmnet(
    penalties: NDArray[np.float64], mixing: float, deviation: float
) -> tuple[NDArray[np.float64], float]:
    """Penalties and mixing value with which glmnet solves MATLAB's problem on y / `deviation`.

    glmnet divides y by its standard deviation s, which leaves the ℓ1 part of the penalty as it
    was and shrinks the ℓ2 part by s. On y/s, whose deviation is 1, MATLAB's problem has the ℓ1
    weight λα/s and the ℓ2 weight λ(1 − α), so ::

        λ' = λ (α/s + 1 − α),    α' = (α/s) / (α/s + 1 − α)
    """
    first, second = mixing / deviation, 1 - mixing
    return penalties * (first + second), first / (first + second)


REL_TOL = 1e-4  # MATLAB's default
PASSES = 10**6


@dataclass(frozen=True)
class LinearPath:
    """Linear models along a path of falling penalties.

    Attributes
    ----------
    penalties : array of shape (n,)
        In MATLAB's scale; glmnet may end the path before the last one that was asked for.
    coef : array of shape (n_features, n)
    intercept : array of shape (n,)
    """

    penalties: NDArray[np.float64]
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def errors(self, X: Any, y: NDArray[Any]) -> NDArray[np.float64]:
        """Mean squared error of every model."""
        outputs = X @ self.coef + self.intercept
        return np.mean((outputs - np.asarray(y)[:, None]) ** 2, axis=0)

    def at(self, index: int) -> LinearPath:
        """The path of one model."""
        chosen = slice(index, index + 1)
        return LinearPath(self.penalties[chosen], self.coef[:, chosen], self.intercept[chosen])

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Outputs of the one model that the path holds."""
        return np.asarray(X @ self.coef[:, 0] + self.intercept[0])


def fit_path(
    X: Any,
    y: NDArray[Any],
    mixing: float,
    penalties: NDArray[np.float64],
    *,
    tolerance: float | None = None,
) -> LinearPath:
    """MATLAB's elastic net at the given penalties (see `penalties`), solved by glmnet.

    MATLAB stops when |Δb_j| / (1 + |b_j|) < 1e-4 for all j; glmnet, on y/s, when (Δb_j/s)² is
    less than its tolerance. With coefficients of at most about s, the deviation of y, the two
    agree at the tolerance ``(1e-4 (1 + s)/s)²``, the default here.
    """
    from glmnet import ElasticNet

    deviation = float(np.std(y))
    if tolerance is None:
        tolerance = (REL_TOL * (1 + deviation) / deviation) ** 2
    path, share = as_glmnet(penalties, mixing, deviation)
    model = ElasticNet(alpha=share, n_splits=0, lambda_path=path, tol=tolerance, max_iter=PASSES)
    with warnings.catch_warnings():
        # Said when the passes run out; the path is then shorter, which is checked below.
        warnings.simplefilter("ignore", RuntimeWarning)
        model.fit(X, y / deviation)
    count = model.n_lambda_
    if count == 0:
        raise RuntimeError(
            f"glmnet fitted none of {len(path)} penalties in {PASSES} passes "
            f"(mixing {mixing}, largest penalty {penalties[0]:.3g})."
        )
    coef = model.coef_path_[:, :count] * deviation
    return LinearPath(penalties[:count], coef, model.intercept_path_[:count] * deviation)


# Features, target, mixing value and penalties, to a path.
Solver = Callable[[Any, NDArray[Any], float, NDArray[np.float64]], LinearPath]


def fit_lasso(
    X: Any, y: NDArray[Any], mixing: float, count: int, solve: Solver = fit_path
) -> LinearPath:
    """What ``lasso(X, y, 'Alpha', mixing, 'NumLambda', count)`` returns: the models of its path.

    `solve` finds them, glmnet where nothing else is said. The first penalty gives the model
    without features exactly, and the path ends at the first model that leaves less than 1e-3 of
    the variance of y.
    """
    penalties = penalty_sequence(largest_penalty(X, y, mixing), count)
    path = solve(X, y, mixing, penalties)
    path.coef[:, 0], path.intercept[0] = 0.0, np.mean(y)
    done = np.flatnonzero(path.errors(X, y) < EXPLAINED * np.var(y))
    end = done[0] + 1 if done.size else len(path.penalties)
    return LinearPath(path.penalties[:end], path.coef[:, :end], path.intercept[:end])


def search_lasso(
    X: Any,
    y: NDArray[Any],
    mixing: float,
    counts: Sequence[int],
    folds: int,
    seed: int,
    solve: Solver = fit_path,
) -> LinearPath:
    """The model of least cross-validated squared error over the paths of all `counts`.

    Every count is a path and a cross-validation of its own, as by as many calls of ``lasso``
    with the option ``CV``; the inner folds are the same for all.
    """
    splits = list(KFold(folds, shuffle=True, random_state=seed).split(X))
    best, least = None, np.inf
    for count in counts:
        path = fit_lasso(X, y, mixing, count, solve)
        errors = cross_validated(X, y, mixing, path.penalties, splits, solve)
        index = int(np.argmin(errors))
        if errors[index] < least:
            best, least = path.at(index), errors[index]
    if best is None:
        raise RuntimeError(f"no finite error among NumLambda {tuple(counts)} at mixing {mixing}.")
    return best


def cross_validated(
    X: Any,
    y: NDArray[Any],
    mixing: float,
    penalties: NDArray[np.float64],
    splits: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]],
    solve: Solver = fit_path,
) -> NDArray[np.float64]:
    """Mean over the splits of the test error at every penalty; a penalty not reached is inf."""
    totals = np.zeros(len(penalties))
    for train, test in splits:
        path = solve(X[train], y[train], mixing, penalties)
        errors = path.errors(X[test], y[test])
        totals[: len(errors)] += errors
        totals[len(errors) :] = np.inf
    return totals / len(splits)
