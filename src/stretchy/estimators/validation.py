"""X and y as users pass them: checked once, never copied without need."""

from typing import Any

from sklearn.utils.validation import validate_data

from stretchy.designs import tidy

SPARSE_FORMATS = ("csc", "csr")


def checked_X_y(estimator: Any, X: Any, y: Any, **options: Any) -> tuple[Any, Any]:
    """Training data: dense, or sparse by columns."""
    X, y = validate_data(estimator, X, y, dtype="numeric", accept_sparse=SPARSE_FORMATS, **options)
    return tidy(X), y


def checked_X(estimator: Any, X: Any) -> Any:
    """New data with the columns of the training data."""
    X = validate_data(estimator, X, reset=False, dtype="numeric", accept_sparse=SPARSE_FORMATS)
    return tidy(X)
