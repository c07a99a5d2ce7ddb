"""Small random problems, and the transform written out."""

import warnings

import numpy as np

from skstretch.exceptions import IllConditionedWarning
from tests.references import plain_dual, plain_primal

SHAPES = {"wide": (14, 30), "tall": (40, 7)}


def problem(shape, n_targets=None, seed=0):
    """X with columns of different location and scale, and y that depends on some of them."""
    M, D = SHAPES[shape] if isinstance(shape, str) else shape
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((M, D))
    X = Z * rng.uniform(0.5, 20.0, D) + rng.uniform(-30.0, 30.0, D)
    effects = rng.standard_normal((D, n_targets or 1)) * (rng.random((D, 1)) < 0.4)
    Y = Z @ effects + 0.3 * rng.standard_normal((M, n_targets or 1)) + 5.0
    return X, Y[:, 0] if n_targets is None else Y


def new_rows(X, n=11, seed=1):
    """Rows inside the range of X, so that no bound is active."""
    rng = np.random.default_rng(seed)
    return rng.uniform(X.min(axis=0), X.max(axis=0), (n, X.shape[1]))


def quadrant_features(X, a=-0.2, b=0.0, train=None, weights=None):
    """``exp(a z + b)`` with the mean and deviation (divisor n) of the training data."""
    train = X if train is None else train
    mean = np.average(train, axis=0, weights=weights)
    scale = np.sqrt(np.average((train - mean) ** 2, axis=0, weights=weights))
    return np.exp(a * (X - mean) / scale + b)


def plain_fit(P, y, k, c, intercept=True, weights=None):
    """``(coef, intercept)`` by the formula as it stands in a book."""
    plain = plain_dual if P.shape[0] < P.shape[1] else plain_primal
    return plain(P, y, k, c, intercept=intercept, weights=weights)


def mean_fit(y, k, c, fit_intercept):
    """What is left without features: the mean, shrunk by the penalty of the column, or zero."""
    shrink = {True: 1.0, "column": len(y) / (len(y) + 1 / (c * k)), False: 0.0}
    return shrink[fit_intercept] * np.mean(y)


def complaint(model, X, y):
    """What the model says of a system that rounding makes singular, or nearly so.

    An error or a warning: which of the two depends on how the last bits fall.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", IllConditionedWarning)
        try:
            model.fit(X, y)
        except np.linalg.LinAlgError as error:
            return str(error)
    assert model.rcond_ < 1e-13
    assert np.isfinite(model.alpha_).all()
    return " ".join(str(warning.message) for warning in caught)


def assert_close(found, expected, rtol=1e-10):
    """Equal to `rtol` of the largest expected number: a fit has one scale, not one per entry."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * np.abs(expected).max())


def survival_of(y, seed=0):
    """Times that fall with y, about a third of them censored, two of them tied."""
    rng = np.random.default_rng(seed)
    time = rng.exponential(np.exp(-(y - y.mean()) / y.std()))
    end = rng.exponential(2.0, len(y))
    out = np.empty(len(y), dtype=[("event", bool), ("time", float)])
    out["event"], out["time"] = time <= end, np.minimum(time, end).round(2)
    out["event"][:2], out["time"][:2] = True, out["time"].max() / 2
    return out
