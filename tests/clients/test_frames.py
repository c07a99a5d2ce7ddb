"""Frames of other libraries, and the searches and ensembles of scikit-learn around ours."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import StackingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import Ridge
from sklearn.model_selection import HalvingGridSearchCV, TunedThresholdClassifierCV

from skstretch import StretchyClassifier, StretchyRegressor, StretchyRegressorCV

pytestmark = pytest.mark.filterwarnings("ignore")


def data():
    return load_diabetes(return_X_y=True, as_frame=True)


def frames(X):
    """The same numbers as pandas, pandas on pyarrow, and polars have them."""
    yield X
    pytest.importorskip("pyarrow", reason="needs pyarrow: make test-clients installs it")
    yield X.convert_dtypes(dtype_backend="pyarrow")
    polars = pytest.importorskip("polars", reason="needs polars: make test-clients installs it")
    yield polars.from_pandas(X)


def test_frames():
    X, y = data()
    expected = StretchyRegressor().fit(X.to_numpy(), y.to_numpy()).predict(X.to_numpy())
    seen = 0
    for frame in frames(X):
        model = StretchyRegressor().fit(frame, y.to_numpy())
        assert list(model.feature_names_in_) == list(X.columns)
        # columns in memory one by one, or rows: sums round in another order
        np.testing.assert_allclose(model.predict(frame), expected, rtol=1e-12)
        seen += 1
    assert seen == 3


def test_halving():
    X, y = data()
    grid = {"k": [1.25, 2.0], "c": [0.01, 1.0, 100.0]}
    found = HalvingGridSearchCV(StretchyRegressor(), grid, cv=3, random_state=0).fit(X, y)
    assert found.best_score_ > 0.3


def test_stacking():
    X, y = data()
    parts = [("ours", StretchyRegressorCV(a_grid=(-0.2,))), ("ridge", Ridge())]
    model = StackingRegressor(parts, cv=3).fit(X.iloc[:200], y[:200])
    assert model.score(X.iloc[200:], y[200:]) > 0.3


def test_thresholds():
    X, y = data()
    high = (y > y.quantile(0.8)).to_numpy()
    model = TunedThresholdClassifierCV(StretchyClassifier(threshold="zero"), cv=3).fit(X, high)
    shares = np.mean(model.predict(X)[high]), np.mean(model.predict(X)[~high])
    assert shares[0] > shares[1] + 0.3
