"""Is a sample like the training samples? Principal components of the z-scores, and conformal ranks.

With the first A principal components v_a of n training samples and their variances ``e_a``, a
sample of z-scores z has the scores ``t_a = v_a' z`` and

- the leverage ``(1 + sum_a t_a**2 / e_a) / n``: how far out it lies among the training samples;
- the distance ``||z - sum_a t_a v_a|| / sqrt(D)``: how much of it no training sample explains, in
  standard deviations of a feature.

Both are compared with those of training samples by means, deviations and components of samples
without them: the share that is no less is a conformal p-value.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from skstretch.core.types import Array, Index

# parts of the variance that are rounding
ROUNDING = 1e-11


@dataclass(frozen=True)
class Space:
    """The first principal components `basis` (A, D) of z-scores, with their `variances` (A,).

    The basis is kept in single precision, as files have it.
    """

    basis: Array
    variances: Array

    def scores(self, Z: Array, total: float) -> tuple[Array, Array]:
        """Leverage, for samples of the weight `total`, and distance (N,) of z-scores (N, D)."""
        T = Z @ self.basis.T
        inside = np.square(T) @ (1.0 / self.variances)
        outside = np.square(Z - T @ self.basis).sum(axis=1)
        outside[outside <= ROUNDING * np.square(Z).sum(axis=1)] = 0.0
        return np.asarray((1.0 + inside) / total), np.sqrt(outside / max(1, Z.shape[1]))


@dataclass(frozen=True)
class Reference:
    """The space of the training samples, and what some of these are without their own help.

    Attributes
    ----------
    space : Space
        Of M training samples.
    leverage, distance : array of shape (M,)
        Of each of them, by the space of the others.
    masses : array of shape (M,)
        How much each of them counts.
    total : float
        Their weight.
    """

    space: Space
    leverage: Array
    distance: Array
    masses: Array
    total: float

    def p_values(self, leverage: Array, distance: Array) -> tuple[Array, Array, Array]:
        """Shares (N,) of samples that are as strange: by leverage, by distance, by either.

        The last is the rank of the lesser of both among the lesser ones of all samples, the new one
        among them.
        """
        masses, whole = self.masses, 1.0 + self.masses.sum()
        pairs = (self.leverage, leverage), (self.distance, distance)
        first, second = ((1.0 + _mass_above(old, masses, new)) / whole for old, new in pairs)
        own = [_mass_above(old, masses, old) for old, _ in pairs]
        either = np.empty(leverage.size)
        for i, lesser in enumerate(np.minimum(first, second)):
            ranks = [of + (new[i] >= old) for of, (old, new) in zip(own, pairs, strict=True)]
            either[i] = 1.0 + masses[np.minimum(*ranks) <= lesser * whole * (1.0 + 1e-12)].sum()
        return first, second, either / whole

    def own_p_values(self) -> Array:
        """Shares (M,) of the training samples that are as strange as each of them, by either."""
        sides = (self.leverage, self.distance)
        lesser = np.minimum(*(_mass_above(side, self.masses, side) for side in sides))
        return np.asarray(_mass_above(-lesser, self.masses, -lesser) / self.masses.sum())


def _mass_above(values: Array, masses: Array, new: Array) -> Array:
    """The mass of the values that are no less than each new one."""
    order = np.argsort(values)
    above = np.append(np.cumsum(masses[order][::-1])[::-1], 0.0)
    return np.asarray(above[np.searchsorted(values[order], new, side="left")])


def dual_components(K: Array, weights: Array, count: int) -> tuple[Array, Array]:
    """Variances (A,) and dual vectors B (n, A) of the first components of centred z-scores Z.

    ``K = Z Z'``, and ``Z' B`` are the components, of length one.
    """
    root, n = np.sqrt(weights), weights.size
    S = root[:, None] * K * root
    found, U = eigh(S, subset_by_index=(max(0, n - count), n - 1))
    sound = found > ROUNDING * np.trace(S)
    values = found[sound][::-1]
    return values / weights.sum(), root[:, None] * U[:, sound][:, ::-1] / np.sqrt(values)


def moments_without(Z: Array, weights: Array, total: float) -> tuple[Array, Array]:
    """Means and variances (D,) of z-scores of the weight `total` without the rows Z of these."""
    left = total - weights.sum()
    mean = -(weights @ Z) / left
    variance = (total - weights @ np.square(Z)) / left - mean**2
    return mean, np.where(variance > ROUNDING, variance, 0.0)


def alike_order(norms: Array) -> Index:
    """Ranks of the norms (n,), the same for those that differ by rounding."""
    order = np.argsort(norms)
    steps = np.diff(norms[order], prepend=norms[order[:1]]) > 1e-9 * norms.max(initial=0.0)
    ranks = np.empty(norms.size, dtype=np.intp)
    ranks[order] = np.cumsum(steps)
    return ranks
