"""Moments that the user gives: a fitted transformer, or a pair of arrays."""

from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from skstretch.core.merged import fixed_moments
from skstretch.core.quadrant import Moments
from skstretch.core.types import Array
from skstretch.features import FirstQuadrant

HINT = (
    "pass a fitted sklearn.preprocessing.StandardScaler, a fitted skstretch.FirstQuadrant, or a "
    "pair (mean, scale) with one number for each feature; a scale of 0 marks a constant column"
)


def given_moments(moments: Any, n_features: int) -> Moments:
    """Means and scales to use for all rows."""
    if isinstance(moments, StandardScaler):
        mean, scale = _of_scaler(moments)
    elif isinstance(moments, FirstQuadrant):
        check_is_fitted(moments)
        known = moments._quadrant.moments
        mean, scale = known.mean, np.where(known.constant, 0.0, known.scale)
    else:
        mean, scale = _of_pair(moments)
    for name, values in (("mean", mean), ("scale", scale)):
        if values.shape != (n_features,):
            raise ValueError(
                f"the {name} in moments has shape {values.shape}, and X has {n_features} "
                f"features: {HINT}."
            )
        if not np.isfinite(values).all():
            raise ValueError(f"the {name} in moments has an entry that is not finite: {HINT}.")
    if (scale < 0).any():
        raise ValueError(f"the scale in moments has a negative entry ({scale.min():g}): {HINT}.")
    return fixed_moments(mean, scale)


def check_same(given: Moments, fixed: Moments) -> None:
    """Moments may be given again, not changed."""
    same = np.array_equal(given.mean, fixed.mean) and np.array_equal(given.scale, fixed.scale)
    if not same or not np.array_equal(given.constant, fixed.constant):
        raise ValueError(
            "moments differ from those that the rows seen so far were standardised by: leave them "
            "out, or begin anew with sklearn.base.clone(model)."
        )


def _of_scaler(scaler: StandardScaler) -> tuple[Array, Array]:
    check_is_fitted(scaler)
    if scaler.mean_ is None or scaler.scale_ is None:
        raise ValueError(
            f"{scaler!r} has learned no mean or no scale: {HINT}. StandardScaler needs "
            "with_std=True, and for sparse X with_mean=False."
        )
    mean, scale = np.asarray(scaler.mean_, float), np.asarray(scaler.scale_, float)
    # constant columns have a scale of 1 in place of their deviation
    constant = (scale == 1.0) & (np.sqrt(scaler.var_) != 1.0)
    return mean, np.where(constant, 0.0, scale)


def _of_pair(moments: Any) -> tuple[Array, Array]:
    try:
        mean, scale = moments
        return np.asarray(mean, dtype=np.float64), np.asarray(scale, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"moments of type {type(moments).__name__} are not known: {HINT}."
        ) from None
