"""Mixing: weights of the best cells of all families, from what they lose out of fold.

A family is one (a, k, density); its best c stands for it. Choosing one cell of many on few samples
is a gamble, and their mean is not.

Regression: with the residuals ``r_f`` of the families, sample weights ``v_i`` and
``A_fg = sum_i v_i r_fi r_gi / sum_i v_i`` the weights minimise

``w'Aw + pull min_f(A_ff) |w - p|^2`` over ``w >= 0``, ``sum w = 1``.

Few samples hardly tell one mixture from another: the second term pulls the weights to p, which are
equal but for families that are plainly worse, ``p_f ~ (A_ff / min A)^(-tau n / 2)``.

Classes: p alone, from the log losses, ``p_f ~ exp(-tau n (L_f - min L))``.

Residuals of the closed form at a != 0 flatter it on few samples: the transform to z-scores has seen
the samples that are left out, and the exponential enlarges what that is worth. Its errors count
``1 + handicap / n`` times.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from skstretch.core.types import Array, Index
from skstretch.search.cells import Cell, Outcome
from skstretch.search.rule import best_of
from skstretch.search.scoring import Scored

# rows of the table of cells, each with its weight for every target (t,)
Mix = dict[int, Array]

# settled by `make rules`: how hard weights are pulled, how soon a family that is worse loses its
# share (squared error, log loss), and what a != 0 is worth less on few samples
PULL = 3.0
TAU = 0.1
TAU_CLASSES = 0.3
HANDICAP = 16.0
# weights below this are left out, and the others share it
LEAST_WEIGHT = 0.01


def family_of(cell: Cell) -> tuple[Any, ...]:
    """What cells of one family share; a count of features is not a share of them."""
    return cell.a, cell.k, cell.density, isinstance(cell.density, int), cell.recipe


def best_of_families(
    cells: Sequence[Cell], outcomes: Sequence[Outcome], scores: Sequence[Scored]
) -> list[int]:
    """The best usable cell of every family, in the order of the grid."""
    families: dict[Any, list[int]] = {}
    for i, cell in enumerate(cells):
        if outcomes[i].usable and np.isfinite(scores[i].score):
            families.setdefault(family_of(cell), []).append(i)
    return [best_of(among, cells, scores) for among in families.values()]


def residual_moments(
    residuals: Array, weights: Array, bent: Array, n_samples: float | None = None
) -> Array:
    """``A`` (F, F) of residuals (F, n, t) of families, those `bent` (F,) at a != 0 with a handicap.

    Several targets are averaged. Samples that repeated folds test several times count once among
    the `n_samples`, by default the sum of the weights.
    """
    total = float(weights.sum())
    n = total if n_samples is None else n_samples
    # in units in which squares are numbers: weights do not depend on them
    size = float(np.abs(residuals).max(initial=0.0))
    flat = residuals.reshape(len(residuals), -1) / (size if 0.0 < size < np.inf else 1.0)
    each = np.repeat(weights, residuals.shape[2])
    A = (flat * each) @ flat.T / (total * residuals.shape[2])
    factor = np.sqrt(1.0 + HANDICAP * bent / n)
    return np.asarray(A * factor * factor[:, None])


def regression_weights(A: Array, n_samples: float) -> Array:
    """Weights (F,) from the second moments A (F, F) of the residuals of n samples."""
    errors = A.diagonal()
    least = float(errors.min())
    if least <= 0.0:  # families that predict without error share everything
        return np.asarray((errors <= 0.0) / np.sum(errors <= 0.0))
    towards = tempered(0.5 * TAU * n_samples * np.log(errors / least))
    Q = A / least
    Q.flat[:: len(Q) + 1] += PULL
    return trimmed(simplex_minimum(Q, PULL * towards))


def class_weights(losses: Array, n_samples: float) -> Array:
    """Weights (F,) from the log losses of families over n samples."""
    return trimmed(tempered(TAU_CLASSES * n_samples * losses))


def tempered(losses: Array) -> Array:
    """``p_f ~ exp(-L_f)`` (F,)."""
    shares = np.exp(losses.min() - losses)
    return np.asarray(shares / shares.sum())


def trimmed(weights: Array) -> Array:
    """Weights without those that are too small to matter."""
    kept = np.where(weights >= min(LEAST_WEIGHT, float(weights.max())), weights, 0.0)
    return np.asarray(kept / kept.sum())


def simplex_minimum(Q: Array, g: Array) -> Array:
    """The minimum of ``w'Qw / 2 - g'w`` over ``w >= 0``, ``sum w = 1``; Q positive definite.

    An active-set method. On the free set the minimum solves ``Q w = g + m 1`` with m such that the
    sum is one; where that leaves the simplex, go as far as the border and drop what becomes zero;
    at a minimum of the free set, free the weight whose gradient ``Qw - g - m`` is most negative.
    """
    w: Array = np.full(len(g), 1.0 / len(g))
    free = np.ones(len(g), dtype=bool)
    for _ in range(50 * len(g)):
        own: Index = np.flatnonzero(free)
        both = np.linalg.solve(Q[np.ix_(own, own)], np.column_stack([g[own], np.ones(own.size)]))
        m = (1.0 - both[:, 0].sum()) / both[:, 1].sum()
        aim = both[:, 0] + m * both[:, 1]
        if aim.min() < 0.0:
            falling = aim < 0.0
            steps = w[own][falling] / (w[own][falling] - aim[falling])
            step = float(steps.min())
            moved = w[own] + step * (aim - w[own])
            leaving = own[falling][steps <= step]
            w[own], w[leaving], free[leaving] = np.maximum(moved, 0.0), 0.0, False
            continue
        w[:], w[own] = 0.0, aim
        gradient = Q @ w - g - m
        gradient[free] = 0.0
        worst = int(np.argmin(gradient))
        if gradient[worst] >= -1e-12 * (1.0 + abs(m)):
            break
        free[worst] = True
    return np.asarray(w / w.sum())
