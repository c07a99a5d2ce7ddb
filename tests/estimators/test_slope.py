"""The slope: the effect of one unit of a raw feature at the mean."""

import numpy as np
import pytest

from skstretch import StretchyClassifier, StretchyRegressor
from tests.estimators.samples import assert_close, problem

shapes = pytest.mark.parametrize("shape", ["wide", "tall"])


@shapes
@pytest.mark.parametrize("params", [{}, {"a": 0.5, "b": 0.3}, {"a": 0.0}, {"density": 0.5}])
@pytest.mark.parametrize("Model", [StretchyRegressor, StretchyClassifier])
def test_slope_is_the_derivative_at_the_mean(shape, params, Model):
    X, y = problem(shape)
    if Model is StretchyRegressor:
        model = Model(**params).fit(X, y)
        output = model.predict
    else:
        model = Model(threshold="zero", **params).fit(X, y > np.median(y))
        output = model.decision_function
    mean, step = X.mean(axis=0), 1e-5 * X.std(axis=0)
    slopes = [
        (output((mean + move)[None])[0] - output((mean - move)[None])[0]) / (2 * size)
        for move, size in zip(np.diag(step), step, strict=True)
    ]
    assert_close(model.slope_, slopes, rtol=1e-8)


@shapes
def test_slope_has_the_sign_of_the_effect(shape):
    X, _ = problem(shape)
    y = (X[:, 2] - X[:, 2].mean()) / X[:, 2].std()
    for a in (-0.2, 0.0, 0.2):
        model = StretchyRegressor(a=a, c=1e4).fit(X, y)
        assert model.slope_[2] > 0
        assert StretchyRegressor(a=a, c=1e4).fit(X, -y).slope_[2] < 0


def test_slope_of_raw_data_is_the_coefficient():
    X, y = problem("tall")
    model = StretchyRegressor(quadrant="identity").fit(np.abs(X), y)
    np.testing.assert_array_equal(model.slope_, model.coef_)
