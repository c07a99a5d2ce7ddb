"""Slow, obvious implementations that the tests hold the library against.

Nothing here uses the library. Letters: P (M x D), r = 1/(k-1), Q = P**r, lam = 1/(c k).
`intercept` is True (free, not penalised), "column" (a penalised column of ones) or False.
"""

from dataclasses import dataclass

import mpmath as mp
import numpy as np

DIGITS = 150
INTERCEPTS = (True, "column", False)


@dataclass(frozen=True)
class Exact:
    """Coefficients and intercept as mpmath numbers of 150 digits."""

    coef: list
    intercept: mp.mpf

    @property
    def vector(self):
        """The coefficients and the intercept rounded to float64, in one array."""
        return np.array([float(v) for v in [*self.coef, self.intercept]])

    def predict(self, P):
        """``P coef + intercept``, summed in 150 digits and then rounded to float64."""
        with mp.workdps(DIGITS):
            rows = np.asarray(P, dtype=np.float64).tolist()
            return np.array([float(mp.fdot(row, self.coef) + self.intercept) for row in rows])


def exact_solution(P, y, k, c, intercept, weights=None, digits=DIGITS):
    """The closed form in 150 digits, from the float64 numbers P, y, k, c and weights as they are.

    Primal where there are at least as many samples as coefficients, else dual. Both are regular
    whenever the solution is unique. Features whose powers span more than a hundred orders of
    magnitude need more digits.
    """
    with mp.workdps(digits):
        P = np.asarray(P, dtype=np.float64)
        M = P.shape[0]
        ones = np.ones((M, 1))
        A = np.hstack([P, ones]) if intercept == "column" else P
        A = mp.matrix(A.tolist())
        y = mp.matrix(np.asarray(y, dtype=np.float64).tolist())
        w = mp.matrix((np.ones(M) if weights is None else np.asarray(weights, float)).tolist())
        r = 1 / (mp.mpf(k) - 1)
        lam = mp.mpf(0) if np.isinf(c) else 1 / (mp.mpf(c) * mp.mpf(k))
        Q = A.apply(lambda v: v**r if v else mp.mpf(0))
        free = intercept is True
        solve = _exact_dual if A.cols + free > M else _exact_primal
        coef, constant = solve(A, Q, y, lam, w, free)
        if intercept == "column":
            *coef, constant = coef
        return Exact(coef, constant)


def _exact_dual(P, Q, y, lam, w, free):
    """``(P Q' + lam W^-1) beta + 1 m = y``, ``1' beta = 0`` (free); ``coef = Q' beta``.

    The border is as large as the rest, so that the features set no scale of their own.
    """
    M = P.rows
    A, b = mp.zeros(M + free, M + free), mp.zeros(M + free, 1)
    A[:M, :M] = P * Q.T
    for i in range(M):
        A[i, i] += lam / w[i]
        b[i] = y[i]
    size = mp.mnorm(A, mp.inf)
    for i in range(M * free):
        A[i, M] = A[M, i] = size
    x = mp.lu_solve(A, b)
    return list(Q.T * x[:M, :]), x[M] * size if free else mp.mpf(0)


def _exact_primal(P, Q, y, lam, w, free):
    """``(Q'WP + lam I) coef + Q'W1 m = Q'Wy``, ``1'W(P coef + 1 m - y) = 0`` (free)."""
    D = P.cols
    if free:
        P, Q = _with_ones(P), _with_ones(Q)
    QW = Q.T * mp.diag(list(w))
    A = QW * P
    for j in range(D):
        A[j, j] += lam
    x = mp.lu_solve(A, QW * y)
    return list(x[:D, :]), x[D] if free else mp.mpf(0)


def _with_ones(A):
    out = mp.ones(A.rows, A.cols + 1)
    out[:, : A.cols] = A
    return out


def relative_error(coef, intercept, exact):
    """``|(coef, intercept) - exact| / |exact|`` in the 2-norm, computed in 150 digits."""
    with mp.workdps(DIGITS):
        found = [*np.asarray(coef, dtype=np.float64).tolist(), float(intercept)]
        truth = [*exact.coef, exact.intercept]
        assert len(found) == len(truth)
        wrong = mp.norm([mp.mpf(f) - t for f, t in zip(found, truth, strict=True)])
        return float(wrong / mp.norm(truth))


def with_column(P):
    """P and the paper's column of ones, last."""
    return np.column_stack([P, np.ones(len(P))])


def plain_dual(P, y, k, c, *, intercept=False, weights=None):
    """``(coef, intercept)`` of the dual form as it stands in a book, by LU in float64."""
    if intercept == "column":
        coef, _ = plain_dual(with_column(P), y, k, c, weights=weights)
        return coef[:-1], coef[-1]
    M = len(P)
    Q, lam = P ** (1 / (k - 1)), 1 / (c * k)
    w = np.ones(M) if weights is None else weights
    K = P @ Q.T + np.diag(lam / w)
    if intercept is False:
        return Q.T @ np.linalg.solve(K, y), np.zeros(np.shape(y)[1:])
    bordered = np.block([[K, np.ones((M, 1))], [np.ones((1, M)), np.zeros((1, 1))]])
    x = np.linalg.solve(bordered, np.concatenate([y, np.zeros((1, *np.shape(y)[1:]))]))
    return Q.T @ x[:M], x[M]


def plain_primal(P, y, k, c, *, intercept=False, weights=None):
    """``(coef, intercept)`` of the primal form as it stands in a book, by LU in float64."""
    if intercept == "column":
        coef, _ = plain_primal(with_column(P), y, k, c, weights=weights)
        return coef[:-1], coef[-1]
    M, D = P.shape
    Q, lam = P ** (1 / (k - 1)), 1 / (c * k)
    W = np.diag(np.ones(M) if weights is None else weights)
    penalties = np.full(D, lam)
    if intercept is True:
        P, Q, penalties = with_column(P), with_column(Q), np.append(penalties, 0.0)
    x = np.linalg.solve(Q.T @ W @ P + np.diag(penalties), Q.T @ W @ y)
    return (x[:D], x[D]) if intercept is True else (x, np.zeros(np.shape(y)[1:]))


def literal_repeat(X, y, weights):
    """Every row as often as its integer weight says."""
    return np.repeat(X, weights, axis=0), np.repeat(y, weights, axis=0)


def five_points():
    """The paper's first example: five points on a quartic, powers 1 to 10 (5 x 10), and y."""
    x = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    return np.vander(x, 11, increasing=True)[:, 1:], 1 + 0.6 * x - 1.5 * x**3 + 0.8 * x**4


def exponential_features(M, D, a=-0.2, seed=0):
    """``exp(a z)`` of random normal z, and random targets."""
    rng = np.random.default_rng(seed)
    return np.exp(a * rng.standard_normal((M, D))), rng.standard_normal(M)


def hard_powers(lowest):
    """Powers `lowest` to 7 of 30 equal steps on [0.05, 1], and ``sin 3x``: tall, hard."""
    x = np.linspace(0.05, 1, 30)
    return np.vander(x, 8, increasing=True)[:, lowest:], np.sin(3 * x)


def minimiser_in_60_digits(Z, y, w, k, c, kind, e):
    """alpha, m, predictions in 60 digits: Newton on F(e) = e + Zφ(Zᵀe) − y from e, until
    ‖F‖ ≤ 1e-45‖y‖. The minimiser is unique, so where Newton starts does not matter."""
    with mp.workdps(60):
        K, lam, w = mp.mpf(k), 1 / (4 * mp.mpf(c)), [mp.mpf(x) for x in w]
        r, M = 1 / (K - 1), len(y)
        columns = [[mp.mpf(x) for x in z] for z in Z.T] + ([[mp.mpf(1)] * M] * (kind == "column"))
        mean = [mp.fdot(w, z) / mp.fsum(w) if kind == "free" else mp.mpf(0) for z in columns]
        y = [mp.mpf(x) for x in y]
        level = mp.fdot(w, y) / mp.fsum(w) if kind == "free" else mp.mpf(0)
        A = mp.matrix(
            [
                [mp.sqrt(w[i]) * (z[i] - m) for z, m in zip(columns, mean, strict=True)]
                for i in range(M)
            ]
        )
        t = mp.matrix([mp.sqrt(w[i]) * (y[i] - level) for i in range(M)])
        e = mp.matrix([mp.mpf(x) for x in e])
        for _ in range(60):
            v = A.T * e
            x = [abs(a) / (lam * K) for a in v]
            alpha = mp.matrix([mp.sign(a) * b**r for a, b in zip(v, x, strict=True)])
            F = e + A * alpha - t
            if mp.norm(F) <= mp.mpf(10) ** -45 * mp.norm(t):
                break
            S = A * mp.diag([mp.sqrt(r * b ** (r - 1) / (lam * K)) for b in x])
            e -= mp.lu_solve(S * S.T + mp.eye(M), F)
        else:
            raise ArithmeticError("the reference did not converge")
        m = alpha[len(columns) - 1] if kind == "column" else level - mp.fdot(mean, alpha)
        alpha = list(alpha)[: Z.shape[1]]
        predicted = [
            mp.fdot([z[i] for z in columns], alpha + [m] * (kind == "column")) for i in range(M)
        ]
        shift = mp.mpf(0) if kind == "column" else m
        return (np.array(alpha, float), float(m), np.array([x + shift for x in predicted], float))
