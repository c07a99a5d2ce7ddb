"""Gram matrices of rare columns: sparse products and the corrections of their rank-one parts."""

from collections.abc import Sequence

import numpy as np

from skstretch.core.gram import DualGram, Frame, PrimalGram
from skstretch.core.types import Array
from skstretch.designs.sparse_block import SparseBlock, add_product, add_two_products


def sparse_dual_grams(
    block: SparseBlock, exponents: Sequence[float], weights: Array, borders: bool
) -> list[DualGram]:
    """K about the weighted means, for every exponent.

    With ``Pc = S - 1 s'`` and ``Qc = T - 1 t'`` (s, t the means of S and T),
    ``Pc Qc' = S T' - (S t) 1' - 1 (T s)' + (s.t) 11'``.
    """
    M, share = weights.size, weights / weights.sum()
    S, u = block.excess(1.0)
    s = S.T @ share
    rows = S.tocsr()
    powers = [(S, u) if r == 1.0 else block.excess(r) for r in exponents]
    sums = [np.zeros((M, M)) for _ in exponents]
    for i in range(0, len(powers) - 1, 2):
        right, second = powers[i][0].T, powers[i + 1][0].T
        add_two_products(sums[i], sums[i + 1], rows, right, second)
    if len(powers) % 2:
        add_product(sums[-1], rows, powers[-1][0].T)
    grams = []
    for r, K, (T, v) in zip(exponents, sums, powers, strict=True):
        t = T.T @ share
        K -= (S @ t)[:, None]
        K += float(s @ t) - T @ s
        Pq, Qp, pq = np.zeros(M), np.zeros(M), 0.0
        if borders:
            p, q = u + s + block.offset, v + t + block.offset
            Pq, Qp, pq = S @ q - s @ q, T @ p - t @ p, float(p @ q)
        grams.append(DualGram(r, K, Pq, Qp, pq, u + s, None))
    return grams


def scaled_dual_gram(block: SparseBlock, r: float, log_rows: Array, log_blank: float) -> DualGram:
    """K of scaled rows: ``(u.v) g h' + g (T u)' + (S v) h' + S T'``, ``h = g**r``."""
    g = np.exp(log_blank - log_rows)
    h = np.exp(r * (log_blank - log_rows))
    S, u = block.power(1.0, log_rows, log_blank)
    T, v = block.power(r, log_rows, log_blank)
    K = np.outer(S @ v + float(u @ v) * g, h)
    K += np.outer(g, T @ u)
    add_product(K, S.tocsr(), T.T)
    zeros = np.zeros(log_rows.size)
    return DualGram(r, K, zeros, zeros, 0.0, np.zeros(u.size), log_rows)


def sparse_coefficients(
    block: SparseBlock,
    frame: Frame,
    log_blank: float,
    beta: Array,
    total: Array,
    weights: Array,
) -> Array:
    """``alpha = Q' beta`` of one block, shape (block, t); ``total = 1' beta``."""
    if frame.log_rows is not None:
        T, v = block.power(frame.r, frame.log_rows, log_blank)
        h = np.exp(frame.r * (log_blank - frame.log_rows))
        return np.asarray(T.T @ beta + np.outer(v, h @ beta))
    T, v = block.excess(frame.r)
    t = T.T @ (weights / weights.sum())
    alpha = T.T @ beta - np.outer(t, beta.sum(axis=0))
    return np.asarray(alpha + np.outer(v + t + block.offset, total))


def sparse_cross(
    block: SparseBlock,
    new: SparseBlock,
    frame: Frame,
    centre: Array,
    log_blank: float,
    weights: Array,
    K: Array,
    Pq: Array,
) -> None:
    """Add one block to ``(P_new - p) Qc'`` and ``(P_new - p) q``, in place.

    With ``P_new - p = N + 1 d'``: ``N T' - (N t) 1' + 1 (T d)' - (d.t) 11'``.
    """
    N, d = new.excess(1.0)
    rows = N.tocsr()
    if frame.log_rows is not None:
        d = d + new.offset
        T, v = block.power(frame.r, frame.log_rows, log_blank)
        h = np.exp(frame.r * (log_blank - frame.log_rows))
        K += np.outer(N @ v + float(d @ v), h) + T @ d
        add_product(K, rows, T.T)
        return
    d = d - centre
    T, v = block.excess(frame.r)
    t = T.T @ (weights / weights.sum())
    K -= (N @ t)[:, None]
    K += T @ d - float(d @ t)
    add_product(K, rows, T.T)
    q = v + t + block.offset
    Pq += N @ q + float(d @ q)


def sparse_primal_grams(
    block: SparseBlock,
    exponents: Sequence[float],
    weights: Array,
    log_columns: Sequence[Array | None],
) -> list[PrimalGram]:
    """C about the weighted means, for every exponent: ``T'W S - (sum w) t s'``."""
    total = float(weights.sum())
    S, u = block.excess(1.0)
    s = S.T @ (weights / total)
    right = weighted_rows(S, weights)
    grams = []
    for r, logs in zip(exponents, log_columns, strict=True):
        T, v = block.column_scaled(r, logs)
        t = T.T @ (weights / total)
        C = -total * np.outer(t, s)
        add_product(C, T.T, right)
        grams.append(PrimalGram(r, C, u + s, block.offset, v + t, logs, total))
    return grams


def weighted_rows(S: object, weights: Array) -> object:
    """``W S`` as a CSR matrix."""
    rows = S.tocsr()  # type: ignore[attr-defined]
    rows.data *= np.repeat(weights, np.diff(rows.indptr))
    return rows
