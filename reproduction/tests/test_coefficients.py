"""Fig. 7 and 8: sorted coefficients of SR and of LASSO."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from reproduction.curves import coefficient_curves, stretchy_coefficients
from skstretch import FirstQuadrant
from tests.references import exact_solution


def wide(n_samples=24, n_features=60):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n_features))
    return X, np.sign(X[:, 0] + 0.3 * rng.standard_normal(n_samples))


def test_stretchy_coefficients_are_exact():
    X, y = wide(12, 30)
    P = FirstQuadrant(a=-0.2).fit_transform(X)
    truth = exact_solution(P, y, 1.25, 1e100, "column").vector[:-1]
    found = stretchy_coefficients(X, y, 1.25)
    np.testing.assert_allclose(found, truth, rtol=0, atol=1e-9 * np.abs(truth).max())


def test_panels_are_sorted_and_complete():
    X, y = wide()
    curves = coefficient_curves("arcene", X, y, methods=("SR",))
    assert set(curves["figure"]) == {"fig8"}
    assert set(curves["panel"]) == {"arcene: SR"}
    assert set(curves["series"]) == {"k=1.1"}
    assert curves["y"].is_monotonic_increasing
    assert curves["x"].tolist() == list(range(1, 61))
    half = np.array_split(np.random.default_rng(0).permutation(len(y)), 2)[0]
    expected = np.sort(stretchy_coefficients(X[half], y[half], 1.1))
    np.testing.assert_array_equal(curves["y"], expected)


def test_sparse_features_give_the_same():
    X, y = wide()
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    dense = coefficient_curves("dexter", X, y, methods=("SR",))
    sparse = coefficient_curves("dexter", csr_array(X), y, methods=("SR",))
    np.testing.assert_allclose(sparse["y"], dense["y"], atol=1e-9 * dense["y"].abs().max())


def test_lasso_is_sparse_and_every_mixing_value_is_shown():
    pytest.importorskip("glmnet", reason="needs python-glmnet: pip install python-glmnet")
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 8))
    curves = coefficient_curves("prostate", X, 2 * X[:, 3] + 0.1 * rng.standard_normal(60))
    lasso = curves[curves["panel"] == "prostate: LASSO"]
    names = [f"mixing={m:g}" for m in (1, 0.75, 0.5, 0.25, 0.0001)]
    assert list(lasso["series"].unique()) == names
    assert curves[curves["panel"] == "prostate: SR"]["series"].nunique() == 5
    ones = lasso[lasso["series"] == "mixing=1"]["y"]
    # per standard deviation of a column that varies with deviation near 1
    assert ones.max() == pytest.approx(2, rel=0.3)
    assert (ones == 0).any()


def test_unknown_data_set():
    with pytest.raises(ValueError, match="dataset='iris' is unknown"):
        coefficient_curves("iris", np.ones((4, 2)), np.ones(4))
