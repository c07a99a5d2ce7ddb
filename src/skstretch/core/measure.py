"""The smoothed absolute value and the k-measure built on it."""

import numpy as np

from skstretch.core.types import Array, ArrayLike


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
