"""X and y as users pass them: checked once, never copied without need."""

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import validate_data

from skstretch.designs import check_known, is_dask, is_source, tidy

SPARSE_FORMATS = ("csc", "csr")


def checked_X_y(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    multi_output: bool = False,
    y_numeric: bool = False,
    reset: bool = True,
) -> tuple[Any, Any]:
    """Training data: dense, sparse by columns, or read in blocks.

    With ``reset=False`` it must have the columns of earlier data.
    """
    if is_dask(X):
        check_known(X)
        y = y.compute() if is_dask(y) else y
    if is_source(X) or is_dask(X):
        return _source(estimator, X, reset=reset), _targets(X, y, multi_output, y_numeric)
    if is_dask(y):
        y = y.compute()
    X, y = validate_data(
        estimator,
        X,
        y,
        reset=reset,
        dtype="numeric",
        accept_sparse=SPARSE_FORMATS,
        multi_output=multi_output,
        y_numeric=y_numeric,
    )
    return tidy(X), y


def checked_X(estimator: Any, X: Any) -> Any:
    """New data with the columns of the training data; a Dask array stays as it is."""
    if is_dask(X):
        check_known(X)
        _check_blocks(estimator, X, reset=False)
        return X
    if is_source(X):
        return _source(estimator, X, reset=False)
    X = validate_data(estimator, X, reset=False, dtype="numeric", accept_sparse=SPARSE_FORMATS)
    return tidy(X)


def _source(estimator: Any, X: Any, reset: bool) -> Any:
    """Data that is read in blocks: shape and dtype are checked now, numbers as they come."""
    _check_blocks(estimator, X, reset)
    return tidy(X, getattr(estimator, "feature_names_in_", None))


def _check_blocks(estimator: Any, X: Any, reset: bool) -> None:
    if len(X.shape) != 2:
        raise ValueError(
            f"Expected 2D array, got one of shape {X.shape}: X needs rows and columns."
        )
    if X.dtype.kind not in "iufb":
        raise ValueError(f"X has dtype {X.dtype}: real numbers are needed; convert it first.")
    if 0 in X.shape:
        raise ValueError(f"X has shape {X.shape}: at least one row and one column are required.")
    validate_data(estimator, X, reset=reset, skip_check_array=True)


def _targets(X: Any, y: Any, multi_output: bool, y_numeric: bool) -> Any:
    """y as scikit-learn checks it beside an X in memory."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if multi_output:
        dtype = "numeric" if y_numeric else None
        y = check_array(y, ensure_2d=False, dtype=dtype, input_name="y")
    else:
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity.")
    check_consistent_length(X, y)
    return y
