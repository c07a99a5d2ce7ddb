"""Checks of what users pass: every error names the value and the way out."""

import numbers
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from skstretch.core.moments import Kind, Moments
from skstretch.core.quadrant import Quadrant
from skstretch.core.stretch import Intercept, penalty, stretch_exponent
from skstretch.core.types import Array, Index
from skstretch.solve import SOLVERS, Spec


def checked_number(name: str, value: Any, hint: str) -> float:
    """A real number, not NaN."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}={value!r} is not a number: {hint}")
    if np.isnan(float(value)):
        raise ValueError(f"{name}=nan is not a number: {hint}")
    return float(value)


def checked_spec(k: Any, c: Any, a: float, fit_intercept: Any, solver: Any) -> Spec:
    """The model that the parameters stand for; ``a = 0`` is the linear limit with ``k = 2``."""
    k = checked_number("k", k, "pass the stretching power, 1 < k < inf; (1, 2] compresses.")
    c = checked_number("c", c, "pass a positive number, or np.inf for no regularisation.")
    stretch_exponent(k)
    penalty(c, k)
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is not known: use one of {', '.join(SOLVERS)}.")
    return Spec(2.0 if a == 0 else k, c, Intercept.of(fit_intercept), solver)


def checked_quadrant(quadrant: Any, a: Any, b: Any, moments: Moments) -> Quadrant:
    """The transform that the parameters stand for."""
    n_features = moments.mean.size
    if quadrant not in ("exp", "identity"):
        raise ValueError(
            f'quadrant={quadrant!r} is not known: use "exp" (z-score, then exp(a z + b)) or '
            '"identity" for data that is already non-negative.'
        )
    a = checked_number("a", a, "pass a finite number; the paper's is -0.2, 0 is the linear limit.")
    if not np.isfinite(a):
        raise ValueError(f"a={a!r} must be finite; the paper's is -0.2, 0 is the linear limit.")
    offsets = checked_offsets(b, n_features)
    kind: Kind = "identity" if quadrant == "identity" else "linear" if a == 0 else "exp"
    return Quadrant(kind, moments, a, np.broadcast_to(offsets, (n_features,)).copy())


def checked_offsets(b: Any, n_features: int) -> Array:
    """A finite number, or one for each feature."""
    hint = f"pass a finite number, or one for each of the {n_features} features."
    offsets = np.asarray(b)
    if offsets.dtype.kind not in "iuf":
        raise TypeError(f"b={b!r} is not a number: {hint}")
    if offsets.shape not in ((), (n_features,)):
        raise ValueError(f"b has shape {offsets.shape}: {hint}")
    if not np.isfinite(offsets).all():
        raise ValueError(f"b has an entry {offsets[~np.isfinite(offsets)].flat[0]}: {hint}")
    return offsets.astype(np.float64)


def checked_weights(sample_weight: Any, X: Any) -> Array:
    """Weights as float64: one number per sample, not negative, not all zero."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(X.shape[0], float(sample_weight))
    weights = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.ndim != 1:
        raise ValueError(f"sample_weight has shape {weights.shape}; it must be 1D.")
    check_consistent_length(X, weights)
    if weights.min() < 0:
        raise ValueError(
            f"sample_weight has a negative entry ({weights.min():g}): weights count repetitions; "
            "use 0 to leave a sample out."
        )
    if not weights.any():
        raise ValueError("sample_weight is zero for every sample: there is nothing to fit.")
    return weights


def active_columns(quadrant: Quadrant, intercept: Intercept) -> Index:
    """The columns that take part: those that vary.

    Without intercept, raw non-negative columns may be constant: one of them may be the
    intercept.
    """
    if quadrant.kind == "identity" and intercept is Intercept.NONE:
        return np.arange(quadrant.b.size)
    return np.flatnonzero(~quadrant.moments.constant)


def check_range(quadrant: Quadrant, names: Any, first: int = 0) -> None:
    """Refuse negative data for ``quadrant="identity"``, and transforms that overflow.

    `first` is the number of the first column that the quadrant transforms.
    """
    smallest = quadrant.moments.smallest
    if quadrant.kind == "identity" and smallest.min(initial=0.0) < 0:
        column = int(np.argmin(smallest))
        raise ValueError(
            f"column {_name(names, first + column)} has a negative value ({smallest[column]:g}), "
            'and quadrant="identity" needs non-negative data. Use quadrant="exp", or shift the '
            "column."
        )
    overflowing = quadrant.overflowing()
    if overflowing is not None:
        column, peak = overflowing
        raise ValueError(
            f"exp(a z + b) reaches exp({peak:.0f}) in column {_name(names, first + column)} at "
            f"a={quadrant.a:g}, beyond the range of float64. Use a smaller |a|, or look at the "
            "outlying values of that column."
        )


def check_outputs(outputs: Array, first_row: int = 0) -> None:
    """Refuse to hand out predictions that are not finite; their rows count from `first_row`."""
    finite = np.isfinite(outputs).all(axis=1)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0]) + first_row
        raise ValueError(
            f"the prediction for row {row} is beyond the range of float64: its features lie far "
            "outside the training data. Use a smaller |a|, or look at that row."
        )


def checked_noise(noise_variance: Any, n_targets: int) -> Array | None:
    """The variance of the noise of every target, or None to estimate it."""
    if noise_variance is None:
        return None
    noise = np.asarray(noise_variance, dtype=np.float64)
    if noise.shape not in ((), (n_targets,)) or not (noise >= 0).all():
        raise ValueError(
            f"noise_variance={noise_variance!r} must be a non-negative number, or one for each of "
            f"the {n_targets} targets."
        )
    return np.broadcast_to(noise, (n_targets,))


def _name(names: Any, column: int) -> str:
    return str(column) if names is None else f"{column} ({names[column]!r})"
