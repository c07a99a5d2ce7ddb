"""A coordinate descent that stops as MATLAB's ``lasso`` does, for comparison with glmnet.

The problem is that of `lasso`: with columns z_j of mean 0 and deviation 1 (divisor n) and y of
mean 0 ::

    minimise  ‖y − Z b‖² / (2 n) + λ (α ‖b‖₁ + (1 − α)/2 ‖b‖²)

One step takes the coordinate j to its own minimum, the others held, with r = y − Z b ::

    b_j  ←  S(z_j'r / n + b_j, λ α) / (1 + λ (1 − α)),    S(x, t) = sign(x) max(|x| − t, 0)

Cycles run over the coordinates in use until a cycle changes none of them by more than the
tolerance, relative to one plus its size ::

    max_j |Δb_j| / (1 + |b_j|) < 1e-4

then one cycle runs over all. The penalty is done when that cycle brings no coordinate into use,
or changes none by more than the tolerance. This measures the length of a step, not the distance
that is left: where columns are nearly alike, steps are short long before the minimum is near.
Each penalty starts at the solution of the one before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.lasso import EXPLAINED, REL_TOL, LinearPath, fit_lasso

CYCLES = 10**5  # MATLAB's limit for one penalty


@dataclass
class _State:
    """Standardised columns, the residual y − Z b, and b itself, changed in place."""

    columns: list[NDArray[np.float64]]
    residual: NDArray[np.float64]
    coef: list[float]

    def cycle(self, which: Iterable[int], first: float, second: float) -> float:
        """Each of these coordinates to its minimum, one after the other; the largest change.

        `first` is λ α and `second` is 1 + λ (1 − α).
        """
        largest, n = 0.0, len(self.residual)
        for j in which:
            z, old = self.columns[j], self.coef[j]
            pull = float(z.dot(self.residual)) / n + old
            size = abs(pull) - first
            new = 0.0 if size <= 0 else (size if pull > 0 else -size) / second
            if new != old:
                self.residual += z * (old - new)
                self.coef[j] = new
                largest = max(largest, abs(new - old) / (1 + abs(old)))
        return largest


def descend(
    X: Any,
    y: NDArray[Any],
    mixing: float,
    penalties: NDArray[np.float64],
    *,
    tolerance: float = REL_TOL,
    least: float = 0.0,
) -> LinearPath:
    """The path at falling `penalties`; constant columns have the coefficient zero.

    It ends at the first model that leaves less than the share `least` of the variance of y.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    varies = np.flatnonzero(deviation > 0)
    Z = (X[:, varies] - mean[varies]) / deviation[varies]
    state = _State(list(np.ascontiguousarray(Z.T)), y - y.mean(), [0.0] * len(varies))
    found = []
    for penalty in penalties:
        _solve(state, penalty * mixing, 1 + penalty * (1 - mixing), tolerance)
        found.append(np.array(state.coef))
        if np.mean(state.residual**2) < least * np.var(y):
            break
    coef = np.zeros((X.shape[1], len(found)))
    coef[varies] = np.transpose(found) / deviation[varies, None]
    return LinearPath(penalties[: len(found)], coef, y.mean() - mean @ coef)


def _solve(state: _State, first: float, second: float, tolerance: float) -> None:
    """One penalty, from where the state is."""
    active = [j for j, value in enumerate(state.coef) if value]
    for _ in range(CYCLES):
        if state.cycle(active, first, second) >= tolerance:
            continue
        change = state.cycle(range(len(state.coef)), first, second)
        before, active = active, [j for j, value in enumerate(state.coef) if value]
        if set(active) <= set(before) or change < tolerance:
            return
    raise RuntimeError(
        f"coordinate descent did not settle within {CYCLES} cycles at the l1 weight {first:.3g}; "
        "a larger tolerance ends sooner."
    )


def fit_descent(X: Any, y: NDArray[Any], mixing: float, count: int) -> LinearPath:
    """What `reproduction.lasso.fit_lasso` returns, by this descent instead of glmnet."""
    return fit_lasso(X, y, mixing, count, partial(descend, least=EXPLAINED))
