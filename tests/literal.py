"""Refits by the formulas as they stand in a book, in extended precision.

Nothing here uses the library. Letters: P (M x D), r = 1/(k-1), Q = P**r, lam = 1/(c k).
`intercept` is True (free, not penalised), "column" (a penalised column of ones) or False. Where
the platform has a longer float than float64, about three digits more than float64's are correct.
"""

import math
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path

LONG = np.longdouble


def features(X, a, weights=None, quadrant="exp"):
    """``exp(a z)`` with weighted mean and deviation of all of X; z at a = 0; X as it is."""
    X = np.asarray(X, dtype=LONG)
    if quadrant == "identity":
        return X
    w = np.ones(len(X), dtype=LONG) if weights is None else np.asarray(weights, dtype=LONG)
    mean = w @ X / w.sum()
    Z = (X - mean) / np.sqrt(w @ (X - mean) ** 2 / w.sum())
    return Z if a == 0 else np.exp(LONG(a) * Z)


def solve(A, B):
    """``A^-1 B`` by elimination with partial pivoting, after both sides of A are scaled."""
    rows = np.abs(A).max(axis=1)
    columns = np.abs(A / rows[:, None]).max(axis=0)
    A = np.hstack([A / rows[:, None] / columns, B / rows[:, None]])
    n = len(A)
    for i in range(n):
        pivot = i + int(np.argmax(np.abs(A[i:, i])))
        A[[i, pivot]] = A[[pivot, i]]
        A[i + 1 :, i:] -= np.outer(A[i + 1 :, i] / A[i, i], A[i, i:])
    X = A[:, n:]
    for i in reversed(range(n)):
        X[i] = (X[i] - A[i, i + 1 : n] @ X[i + 1 :]) / A[i, i]
    return X / columns[:, None]


def fit(P, Y, k, c, intercept=True, weights=None):
    """``(coef, constant)`` of shapes (D, t) and (t,): dual for fewer samples than unknowns."""
    P, Y = np.asarray(P, dtype=LONG), np.asarray(Y, dtype=LONG)
    w = np.ones(len(P), dtype=LONG) if weights is None else np.asarray(weights, dtype=LONG)
    one = np.ones((len(P), 1), dtype=LONG)
    if intercept == "column":
        coef, _ = fit(np.hstack([P, one]), Y, k, c, False, w)
        return coef[:-1], coef[-1]
    M, D = P.shape
    r = 1 / (LONG(k) - 1)
    lam = 1 / (LONG(c) * LONG(k))
    Q = P if k == 2 else P**r
    free = bool(intercept)
    if D + free > M:
        A, B = np.zeros((M + free, M + free), dtype=LONG), np.zeros((M + free, Y.shape[1]), LONG)
        A[:M, :M], B[:M] = P @ Q.T + np.diag(lam / w), Y
        if free:
            A[:M, M] = A[M, :M] = 1
        x = solve(A, B)
        return Q.T @ x[:M], x[M] if free else np.zeros(Y.shape[1], dtype=LONG)
    penalties = np.full(D, lam)
    if free:
        P, Q, penalties = np.hstack([P, one]), np.hstack([Q, one]), np.append(penalties, 0)
    x = solve((Q.T * w) @ P + np.diag(penalties), (Q.T * w) @ Y)
    return x[:D], x[D] if free else np.zeros(Y.shape[1], dtype=LONG)


def kept(coef, count):
    """Indices of the `count` largest ``|coef|``, ties to the lower index."""
    return sorted(sorted(range(len(coef)), key=lambda j: (-abs(coef[j]), j))[:count])


def count_of(density, n_features):
    """How many features a share keeps."""
    return max(1, math.ceil(round(density * n_features, 9)))


def two_pass(P, Y, k, c, intercept=True, weights=None, count=None):
    """As `fit`, and again for every target on its `count` strongest features."""
    coef, constant = fit(P, Y, k, c, intercept, weights)
    if count is None or count >= P.shape[1]:
        return coef, constant
    final, level = np.zeros_like(coef), np.zeros_like(constant)
    for t in range(Y.shape[1]):
        columns = kept(coef[:, t], count)
        second, level[[t]] = fit(P[:, columns], Y[:, [t]], k, c, intercept, weights)
        final[columns, t] = second[:, 0]
    return final, level


def lasso_support(Z, Y, count, weights=None):
    """The last active columns of the lasso path of Z (of all targets, at one penalty) that are at
    most `count`; where already the first are more, those that correlate most with any target.
    """
    w = np.ones(len(Z)) if weights is None else np.asarray(weights, dtype=float)
    Z, Y, root = np.asarray(Z, dtype=float), np.asarray(Y, dtype=float), np.sqrt(w)[:, None]
    Z, Y = (root * (each - w @ each / w.sum()) for each in (Z, Y))
    Z, Y = Z / (np.abs(Z).max() or 1.0), Y[:, np.abs(Y).max(axis=0) > 0]
    knots = []
    for j, y in enumerate(Y.T):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            size = abs(y).max()
            alphas, _, coefs = lars_path(Z, y / size, method="lasso", max_iter=5_000)
        # what leaves at a knot is zero but for rounding
        active = np.abs(coefs) > 1e-10 * np.abs(coefs).max(axis=0)
        knots += [
            (size * alphas[i], j, set(np.flatnonzero(active[:, i + 1])))
            for i in range(len(alphas) - 1)
        ]
    found, at = set(), [set() for _ in Y.T]
    # as one penalty for all targets falls
    for _, j, columns in sorted(knots, key=lambda knot: (-knot[0], knot[1])):
        at[j] = columns
        if len(set().union(*at)) > count:
            break
        found = set().union(*at)
    if found:
        return sorted(found)
    sums = np.abs(Z.T @ (Y / np.sqrt((Y**2).sum(axis=0)))).max(axis=1, initial=0.0)
    return kept(sums, count)


def out_of_fold(P, Y, splits, k, c, intercept=True, weights=None, count=None, Z=None):
    """Predictions of every test part by a model of its training part, fold after fold.

    Samples of weight zero are neither trained on nor among the predictions. A model of `count`
    features has its strongest, or (in searches) those of the lasso path of the training part of Z.
    """
    w = np.ones(len(P)) if weights is None else np.asarray(weights, dtype=float)
    parts = []
    for train, test in splits:
        train, test = np.asarray(train), np.asarray(test)
        train, test = train[w[train] > 0], test[w[test] > 0]
        some, number = P, count
        if Z is not None and count is not None and count < P.shape[1]:
            some, number = P[:, lasso_support(Z[train], Y[train], count, w[train])], None
        coef, constant = two_pass(some[train], Y[train], k, c, intercept, w[train], number)
        parts.append(some[test] @ coef + constant)
    return np.vstack(parts).astype(float)


def leave_one_out(n):
    """The splits of leave one out."""
    everything = np.arange(n)
    return [(np.delete(everything, i), everything[[i]]) for i in range(n)]


def degrees(P, k, c, intercept=True, weights=None):
    """The trace of the hat matrix, one column of it at a time."""
    coef, constant = fit(P, np.eye(len(P)), k, c, intercept, weights)
    return float(np.trace(P @ coef + constant))
