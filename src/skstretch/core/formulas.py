"""The closed forms on one array P as given, without intercept or weights, and their variance.

The smoothed absolute value and the k-measure built on it.
"""

import numpy as np

from skstretch.core.dual import dual_system
from skstretch.core.features import PlainFeatures
from skstretch.core.gram import dual_coefficients, dual_grams, primal_grams
from skstretch.core.primal import primal_system
from skstretch.core.qr import tall_system, wide_system
from skstretch.core.stretch import Intercept, is_safe, penalty, rows_are_alike, stretch_exponent
from skstretch.core.types import Array, ArrayLike


def solve_dual(P: ArrayLike, y: ArrayLike, k: float, c: float) -> Array:
    """``alpha = Q' (P Q' + I/(ck))^-1 y`` with ``Q = P**(1/(k-1))``: for M < D.

    Parameters
    ----------
    P : array-like of shape (n_samples, n_features)
        Features, not negative; of any sign at ``k = 2``.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets.
    k : float
        Stretching power, above 1.
    c : float
        Inverse strength of regularisation; ``np.inf`` gives the limit without any.

    Returns
    -------
    alpha : ndarray of shape (n_features,) or (n_features, n_targets)
        Coefficients.

    See Also
    --------
    solve_primal : The equal form for more samples than features.
    solve_qr : Slower, and accurate where the others lose digits.
    skstretch.StretchyRegressor : The estimator, with intercept and weights.

    Examples
    --------
    >>> from skstretch.core import solve_dual
    >>> solve_dual([[1.0, 2.0]], [5.0], k=2.0, c=float("inf")).round(12).tolist()
    [1.0, 2.0]
    """
    features, r, lam, Y = _checked(P, y, k, c)
    weights, peaks = np.ones(len(Y)), features.log_peaks(axis=1)
    log_rows = None if rows_are_alike(peaks, r) else peaks
    gram = dual_grams([features], [r], weights, log_rows)[0]
    system = dual_system(gram, lam * weights, Intercept.NONE)
    solution = system.solve(Y)
    alpha = dual_coefficients(features, system.gram.frame, solution.beta, solution.total, weights)
    return alpha.reshape(alpha.shape[0], *np.shape(y)[1:])


def solve_primal(P: ArrayLike, y: ArrayLike, k: float, c: float) -> Array:
    """``alpha = (Q'P + I/(ck))^-1 Q'y`` with ``Q = P**(1/(k-1))``: for M >= D.

    Equal to `solve_dual` in exact arithmetic.

    Parameters
    ----------
    P : array-like of shape (n_samples, n_features)
        Features, not negative; of any sign at ``k = 2``.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets.
    k : float
        Stretching power, above 1.
    c : float
        Inverse strength of regularisation; ``np.inf`` gives the limit without any.

    Returns
    -------
    alpha : ndarray of shape (n_features,) or (n_features, n_targets)
        Coefficients.

    See Also
    --------
    solve_dual : The equal form for fewer samples than features.
    solve_qr : Slower, and accurate where the others lose digits.

    Examples
    --------
    >>> from skstretch.core import solve_primal
    >>> solve_primal([[1.0], [2.0]], [3.0, 6.0], k=1.5, c=float("inf")).round(12).tolist()
    [3.0]
    """
    features, r, lam, Y = _checked(P, y, k, c)
    peaks = features.log_peaks(axis=0)
    log_columns = None if is_safe(peaks, r) else r * peaks
    gram = primal_grams([(slice(None), features)], [r], np.ones(len(Y)), [log_columns])[0]
    system = primal_system(gram, lam, Intercept.NONE)
    projected = system.gram.stretched(features).T @ Y
    alpha, _ = system.solve(projected, Y.mean(axis=0))
    return alpha.reshape(alpha.shape[0], *np.shape(y)[1:])


def solve_qr(P: ArrayLike, y: ArrayLike, k: float, c: float) -> Array:
    """The same solution by sorted, pivoted QR of Q: slower, and accurate where they lose digits.

    Parameters
    ----------
    P : array-like of shape (n_samples, n_features)
        Features, not negative; of any sign at ``k = 2``.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets.
    k : float
        Stretching power, above 1.
    c : float
        Inverse strength of regularisation; ``np.inf`` gives the limit without any.

    Returns
    -------
    alpha : ndarray of shape (n_features,) or (n_features, n_targets)
        Coefficients.

    See Also
    --------
    solve_dual, solve_primal : The same by LU.

    Examples
    --------
    >>> from skstretch.core import solve_qr
    >>> solve_qr([[1.0, 2.0]], [5.0], k=2.0, c=float("inf")).round(12).tolist()
    [1.0, 2.0]
    """
    features, r, lam, Y = _checked(P, y, k, c)
    M, D = features.shape
    if M < D:
        fit = wide_system(features, r, np.full(M, lam), Intercept.NONE).fit(Y)
    else:
        fit = tall_system(features, r, lam, np.ones(M), Intercept.NONE).fit(Y)
    return fit.coef.reshape(D, *np.shape(y)[1:])


def _checked(
    P: ArrayLike, y: ArrayLike, k: float, c: float
) -> tuple[PlainFeatures, float, float, Array]:
    """The features, r, lam and targets (M, t), after a look at shapes, values and signs."""
    r, lam = stretch_exponent(k), penalty(c, k)
    P, Y = np.asarray(P, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if P.ndim != 2 or 0 in P.shape:
        raise ValueError(f"P has shape {P.shape}; a non-empty (M, D) matrix is needed.")
    if not np.isfinite(P).all():
        raise ValueError("P has entries that are not finite.")
    if k != 2 and P.min() < 0:
        row, column = np.unravel_index(int(P.argmin()), P.shape)
        raise ValueError(
            f"P[{row}, {column}] = {P.min():g} is negative: its power 1/(k-1) is not real. "
            "Use k=2, or features in the first quadrant such as exp(a z)."
        )
    if Y.shape[:1] != P.shape[:1] or Y.ndim > 2:
        raise ValueError(f"y has shape {Y.shape}, which does not go with P of {P.shape}.")
    if not np.isfinite(Y).all():
        raise ValueError("y has entries that are not finite.")
    return PlainFeatures(P), r, lam, Y.reshape(len(P), -1)


def expected_coef(P: ArrayLike, alpha: ArrayLike, k: float, c: float) -> Array:
    """``E[alpha_hat] = A P alpha`` when ``y = P alpha + e``, ``E[e] = 0``.

    ``A = Q'(K + lam I)^-1`` for M < D, ``A = (C + lam I)^-1 Q'`` for M >= D. For M >= D and
    ``c -> inf`` the estimator is unbiased whatever k is.

    Parameters
    ----------
    P : array-like of shape (n_samples, n_features)
        Features, not negative; of any sign at ``k = 2``.
    alpha : array-like of shape (n_features,)
        The true coefficients.
    k : float
        Stretching power, above 1.
    c : float
        Inverse strength of regularisation.

    Returns
    -------
    expected : ndarray of shape (n_features,)
        Mean of the estimated coefficients over the noise.

    See Also
    --------
    coef_covariance : Their spread.

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
    P : array-like of shape (n_samples, n_features)
        Features, not negative; of any sign at ``k = 2``.
    k : float
        Stretching power, above 1.
    c : float
        Inverse strength of regularisation.
    noise_covariance : float or array-like of shape (n_samples,) or (n_samples, n_samples)
        The variance of every noise term, one for each, or their full covariance.

    Returns
    -------
    covariance : ndarray of shape (n_features, n_features)
        Covariance of the estimated coefficients.

    See Also
    --------
    expected_coef : Their mean.
    skstretch.StretchyRegressor.coef_covariance : The same of a fitted model.

    Examples
    --------
    >>> from skstretch.core import coef_covariance
    >>> coef_covariance([[1.0], [1.0]], 2.0, float("inf"), 1.0).round(12).tolist()
    [[0.5]]
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


def smooth_abs(alpha: ArrayLike, eps: float) -> Array:
    """Smoothed absolute value ``f(alpha) = sqrt(alpha**2 + eps)``, elementwise.

    Convex and differentiable for ``eps > 0``; tends to ``|alpha|`` as ``eps -> 0``. Computed
    without overflow for any finite `alpha`.

    Parameters
    ----------
    alpha : array-like
        Numbers of any shape.
    eps : float
        How much is smoothed, not negative; 0 gives the absolute value.

    Returns
    -------
    magnitudes : ndarray
        The smoothed absolute values, in the shape of `alpha`.

    See Also
    --------
    k_measure : The measure built on it.

    Examples
    --------
    >>> from skstretch.core import smooth_abs
    >>> smooth_abs([-3.0, 0.0], 16.0).tolist()
    [5.0, 4.0]
    """
    if not eps >= 0:
        raise ValueError(f"eps={eps!r} must be non-negative; 0 gives the absolute value itself.")
    return np.hypot(np.asarray(alpha, dtype=np.float64), np.sqrt(eps))


def k_measure(alpha: ArrayLike, k: float, eps: float = 0.0) -> float:
    """The k-measure ``(sum_j f(alpha_j)**k)**(1/k)`` with ``f`` the smoothed absolute value.

    At ``eps = 0`` it is the l_k norm. For ``eps > 0`` it is not homogeneous, hence no norm.

    Parameters
    ----------
    alpha : array-like
        Coefficients.
    k : float
        Power, positive.
    eps : float, default=0.0
        How much the absolute value is smoothed.

    Returns
    -------
    measure : float
        The k-measure.

    See Also
    --------
    k_measure_power : A power of it, convex.
    smooth_abs : The smoothed absolute value.

    Examples
    --------
    >>> from skstretch.core import k_measure
    >>> k_measure([3.0, -4.0], 2.0)
    5.0
    """
    return _measure_power(alpha, k, eps, 1.0)


def k_measure_power(alpha: ArrayLike, k: float, eps: float = 0.0, q: float | None = None) -> float:
    """The q-th power of the k-measure; ``q = k`` by default: ``sum_j f(alpha_j)**k``.

    Convex in `alpha` for ``q = k >= 1`` (Lemma 1 of the paper).

    Parameters
    ----------
    alpha : array-like
        Coefficients.
    k : float
        Power inside the sum, positive.
    eps : float, default=0.0
        How much the absolute value is smoothed.
    q : float or None, default=None
        Power of the measure; None is k.

    Returns
    -------
    power : float
        ``k_measure(alpha, k, eps)**q``, without overflow on the way.

    See Also
    --------
    k_measure : The measure itself.

    Examples
    --------
    >>> from skstretch.core import k_measure_power
    >>> k_measure_power([3.0, -4.0], 2.0)
    25.0
    """
    return _measure_power(alpha, k, eps, k if q is None else q)


def _measure_power(alpha: ArrayLike, k: float, eps: float, q: float) -> float:
    if not 0 < k < np.inf:
        raise ValueError(f"k={k!r} must be positive and finite.")
    magnitudes = smooth_abs(alpha, eps)
    largest = magnitudes.max(initial=0.0)
    if largest == 0.0:
        return 0.0
    # the largest term is taken out, so that no intermediate power over- or underflows
    return float(largest**q * np.sum((magnitudes / largest) ** k) ** (q / k))


def scaling_vector(A: ArrayLike, b: ArrayLike, k: float) -> Array:
    """The vector ``s`` of Lemma 3: ``A (A' b)^k = (A (A')^k b^k) * s``, powers elementwise.

    Parameters
    ----------
    A : array-like of shape (m, d)
        A matrix without negative entries.
    b : array-like of shape (m,)
        A vector without negative entries.
    k : float
        Power.

    Returns
    -------
    s : ndarray of shape (m,)
        The scaling vector.

    Raises
    ------
    ValueError
        Where an entry of ``A (A')^k b^k`` is zero: the lemma asks for non-zero ones.

    See Also
    --------
    k_measure_power : The measure whose derivative the lemma serves.

    Examples
    --------
    >>> from skstretch.core import scaling_vector
    >>> scaling_vector([[2.0]], [3.0], 1.5).round(12).tolist()
    [1.0]
    """
    A, b = np.asarray(A, dtype=np.float64), np.asarray(b, dtype=np.float64)
    factored = A @ ((A.T**k) @ b**k)
    if np.any(factored == 0):
        row = int(np.flatnonzero(factored == 0)[0])
        raise ValueError(f"entry {row} of A (A')^k b^k is zero: there is no scaling vector.")
    return np.asarray(A @ (A.T @ b) ** k / factored)
