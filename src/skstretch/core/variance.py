"""Analysis of variance of the estimator: its expectation and its covariance."""

import numpy as np

from skstretch.core.closed import solve_dual, solve_primal
from skstretch.core.types import Array, ArrayLike


def expected_coef(P: ArrayLike, alpha: ArrayLike, k: float, c: float) -> Array:
    """``E[alpha_hat] = A P alpha`` when ``y = P alpha + e``, ``E[e] = 0``.

    ``A = Q'(K + lam I)^-1`` for M < D, ``A = (C + lam I)^-1 Q'`` for M >= D. For M >= D and
    ``c -> inf`` the estimator is unbiased whatever k is.

    Examples
    --------
    >>> import numpy as np
    >>> from skstretch.core import expected_coef
    >>> P = np.array([[1.0, 0.5], [0.25, 1.0], [1.0, 2.0]])
    >>> expected_coef(P, [3.0, -1.0], k=1.5, c=np.inf).round(10).tolist()
    [3.0, -1.0]
    """
    P, alpha = np.asarray(P, dtype=np.float64), np.asarray(alpha, dtype=np.float64)
    return _solve(P, P @ alpha, k, c)


def coef_covariance(P: ArrayLike, k: float, c: float, noise_covariance: ArrayLike) -> Array:
    """``Cov[alpha_hat] = A Sigma A'``, shape (D, D).

    Parameters
    ----------
    P : array of shape (M, D)
    k, c : float
    noise_covariance : float, array of shape (M,) or (M, M)
        The variance of every noise term, one for each, or their full covariance.
    """
    P = np.asarray(P, dtype=np.float64)
    M = P.shape[0]
    noise = np.asarray(noise_covariance, dtype=np.float64)
    if noise.shape not in ((), (M,), (M, M)):
        raise ValueError(
            f"noise_covariance has shape {noise.shape}; a number, ({M},) or ({M}, {M}) is needed."
        )
    A = _solve(P, np.eye(M), k, c)
    return np.asarray(A @ noise @ A.T if noise.ndim == 2 else (A * noise) @ A.T)


def _solve(P: Array, y: Array, k: float, c: float) -> Array:
    return solve_dual(P, y, k, c) if P.shape[0] < P.shape[1] else solve_primal(P, y, k, c)


def repeated_norm(residuals: Array, weights: Array) -> float:
    """``tr((I - H)'(I - H))`` over repeated rows, from ``I - H`` over the distinct ones."""
    distinct = np.sum(weights[:, None] * np.square(residuals) / weights)
    return float(weights.sum() - weights.size + distinct)
