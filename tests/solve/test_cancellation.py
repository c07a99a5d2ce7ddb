"""Predictions that are nothing but rounding: seen, though the system is well conditioned."""

import numpy as np
import pytest

from skstretch import StretchyClassifier, StretchyRegressor, StretchyRegressorCV
from skstretch.exceptions import IllConditionedWarning
from tests import literal


def tiny_weight(seed):
    """Three samples, one of weight 7e-7: its z-scores reach hundreds."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((3, 20)), rng.standard_normal(3)
    return X, y, np.array([7e-7, 1.0, 1.0])


@pytest.mark.parametrize("c", [1.0, 1e4])
@pytest.mark.parametrize("seed", [68, 134, 231])
def test_rounding_is_seen(seed, c):
    X, y, weights = tiny_weight(seed)
    model = StretchyRegressor(1.1, c, a=1.0)
    with pytest.warns(IllConditionedWarning, match=r"features reach exp\(\d+\).*rounding errors"):
        model.fit(X, y, sample_weight=weights)
    assert model.rcond_ > 0.1
    assert np.abs(model.predict(X)).max() > 1e100


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_said_of_sound_predictions(seed):
    """Warnings are errors here; features are large, and predictions right."""
    X, y, weights = tiny_weight(seed)
    model = StretchyRegressor(1.1, 100.0, a=0.1).fit(X, y, sample_weight=weights)
    P = literal.features(X, 0.1, weights)
    coef, constant = literal.fit(P, y[:, None], 1.1, 100.0, True, weights)
    expected = (P @ coef + constant)[:, 0]
    np.testing.assert_allclose(model.predict(X), expected.astype(float), rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
def test_searches_and_classifiers_tell():
    rng = np.random.default_rng(0)
    X, y, weights = rng.standard_normal((8, 20)), rng.standard_normal(8), np.ones(8)
    X[0], weights[0] = 100.0 * X[0], 1e-9
    with pytest.warns(IllConditionedWarning, match="features reach"):
        StretchyClassifier(1.1, 100.0, a=1.0).fit(X, y > np.median(y), sample_weight=weights)
    search = StretchyRegressorCV(a_grid=(1.0,), k_grid=(1.1,), c_grid=(1.0, 10.0))
    with pytest.warns(IllConditionedWarning, match="features reach"):
        search.fit(X, y, sample_weight=weights)
