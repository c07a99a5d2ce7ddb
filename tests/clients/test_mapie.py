"""Jackknife+ intervals beside those that MAPIE makes with one refit a sample."""

import numpy as np
import pytest
from sklearn.model_selection import LeaveOneOut

from skstretch import StretchyRegressor

pytest.importorskip("mapie", reason="needs MAPIE: make test-clients installs it")

from mapie.regression import CrossConformalRegressor

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


@pytest.mark.parametrize(
    "parameters",
    [{"a": 0.0, "k": 2.0}, {"a": 0.0, "k": 1.25}, {"quadrant": "identity", "k": 1.5}],
    ids=["ridge", "exact", "identity"],
)
def test_equal_bounds(parameters):
    """Refits see z-scores of their own: rows are standardised as a whole by nothing else here."""
    rng = np.random.default_rng(0)
    X, new = rng.uniform(0.5, 1.5, (30, 12)), rng.uniform(0.5, 1.5, (7, 12))
    y = X[:, :3].sum(axis=1) + 0.1 * rng.standard_normal(30)
    model = StretchyRegressor(c=1.0, **parameters)
    around = CrossConformalRegressor(model, confidence_level=0.9, method="plus", cv=LeaveOneOut())
    _, bounds = around.fit_conformalize(X, y).predict_interval(new)
    lower, upper = model.fit(X, y).predict_interval(new, coverage=0.9)
    if parameters.get("quadrant") == "identity":
        np.testing.assert_allclose(np.column_stack([lower, upper]), bounds[:, :, 0], rtol=1e-8)
    else:
        # one z-score for all samples, or one for every refit: a difference of order 1/n
        width = np.mean(bounds[:, 1, 0] - bounds[:, 0, 0])
        np.testing.assert_allclose(
            np.column_stack([lower, upper]), bounds[:, :, 0], atol=0.15 * width
        )


def test_around_a_search():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 60))
    y = X[:, 0] + 0.3 * rng.standard_normal(40)
    from skstretch import StretchyRegressorCV

    model = StretchyRegressorCV(a_grid=(0.0,), k_grid=(2.0,), n_features_to_select=1.0)
    around = CrossConformalRegressor(model, confidence_level=0.8, cv=5).fit_conformalize(X, y)
    predicted, bounds = around.predict_interval(X)
    assert (bounds[:, 0, 0] <= predicted).all()
    assert (predicted <= bounds[:, 1, 0]).all()
