"""Penalty factors by the formulas as they stand in a book; nothing here knows the library's.

Letters as in `tests.literal`: P (M x D), r = 1/(k-1), Q = P**r, lam = 1/(c k), p (D,) the factors:
0 never penalised, inf left out, the others over their mean.
"""

import numpy as np

from skstretch.core.bridge_path import finish, solve, space
from tests.literal import LONG
from tests.literal import solve as eliminate


def shares(p):
    """``(penalised, free, p)``: masks, and factors of the penalised over their mean."""
    p = np.asarray(p, dtype=LONG)
    penalised, free = np.isfinite(p) & (p > 0), p == 0
    return penalised, free, p[penalised] / p[penalised].mean()


def closed_form(P, y, k, c, p, weights=None):
    """``(coef, constant)``: ``(K + lam/w) beta + [U, 1] g = y``, ``[U, 1]' beta = 0``,
    ``K = sum_j p_j^-r P_j Q_j'``, ``alpha_j = p_j^-r Q_j' beta``."""
    P, y = np.asarray(P, dtype=LONG), np.asarray(y, dtype=LONG)
    w = np.ones(len(P), dtype=LONG) if weights is None else np.asarray(weights, dtype=LONG)
    penalised, free, p = shares(p)
    r, lam, M = 1 / (LONG(k) - 1), 1 / (LONG(c) * LONG(k)), len(P)
    Q = P[:, penalised] if k == 2 else P[:, penalised] ** r
    B = np.column_stack([P[:, free], np.ones(M, dtype=LONG)])
    A = np.zeros((M + B.shape[1], M + B.shape[1]), dtype=LONG)
    A[:M, :M] = (P[:, penalised] * p**-r) @ Q.T + np.diag(lam / w)
    A[:M, M:], A[M:, :M] = B, B.T
    x = eliminate(A, np.append(y, np.zeros(B.shape[1], dtype=LONG))[:, None])[:, 0]
    coef = np.zeros(P.shape[1], dtype=LONG)
    coef[penalised], coef[free] = p**-r * (Q.T @ x[:M]), x[M:-1]
    return coef.astype(float), float(x[-1])


def least_squares(F, X, w):
    """Coefficients of the weighted regression of X on F."""
    root = np.sqrt(w)[:, None]
    return np.linalg.lstsq(root * F, root * X, rcond=None)[0]


def minimiser(Z, y, k, c, p, weights=None):
    """``(coef, constant)`` of least ``sum p_j |alpha_j|^k + 2c sum w e^2``, by Frisch and Waugh:
    y and the penalised columns without their part in [1, U], columns in the scale p^(-1/k)."""
    w = np.ones(len(Z)) if weights is None else np.asarray(weights, dtype=float)
    penalised, free, p = shares(p)
    s = p.astype(float) ** (-1 / k)
    F, A = np.column_stack([np.ones(len(Z)), Z[:, free]]), Z[:, penalised] * s
    rest, left = A - F @ least_squares(F, A, w), y - F @ least_squares(F, y[:, None], w)[:, 0]
    where, point = solve(space(rest, np.sqrt(w), "none"), k, c, left)
    alpha = s * finish(where, point, left).alpha
    gamma = least_squares(F, (y - Z[:, penalised] @ alpha)[:, None], w)[:, 0]
    coef = np.zeros(Z.shape[1])
    coef[penalised], coef[free] = alpha, gamma[1:]
    return coef, gamma[0]


def fitted(P, y, a, k, c, p, weights=None):
    """The one or the other."""
    exact = a == 0 and k < 2
    return (minimiser if exact else closed_form)(P, y, k, c, p, weights)


def out_of_fold(P, y, a, k, c, p, splits, weights=None):
    """Residuals of every test part by the model of its training part, fold after fold."""
    w = np.ones(len(P)) if weights is None else np.asarray(weights, dtype=float)
    parts = []
    for train, test in splits:
        coef, constant = fitted(P[train], y[train], a, k, c, p, w[train])
        parts.append(y[test] - P[test] @ coef - constant)
    return np.concatenate(parts)


def features(X, a, weights=None):
    """z-scores, or ``exp(a z)``, by weighted moments."""
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    mean = w @ X / w.sum()
    Z = (X - mean) / np.sqrt(w @ (X - mean) ** 2 / w.sum())
    return Z if a == 0 else np.exp(a * Z)
