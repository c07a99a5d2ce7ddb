"""Units of the study on the diabetes data, which scikit-learn brings."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from reproduction import study
from reproduction.settings import FULL, QUICK, cells_of, units_of
from reproduction.study import balanced_error_rate, fit_projection, fit_stretchy, relevant_features
from skstretch import StretchyClassifier, StretchyRegressor

SMALL = replace(QUICK, powers=(1.25, 2.0), strengths=(1e2, 1e100), densities=(1.0, 0.5))


def test_halves_part_the_rows_and_depend_on_the_trial():
    first, second = (study.halves("diabetes", 0, fold, FULL, sparse=True) for fold in (0, 1))
    assert len(first.y) + len(first.y_test) == 442
    np.testing.assert_array_equal(first.X, second.X_test)
    other = study.halves("diabetes", 1, 0, FULL, sparse=True)
    assert not np.array_equal(first.y, other.y)


def test_stretchy_rows_against_a_literal_fit():
    unit = units_of("diabetes", "SR", SMALL, large=False)[1]
    rows = study.run_unit(unit, SMALL)
    data = study.halves("diabetes", 0, 1, SMALL, sparse=True)
    assert len(rows) == len(unit.cells) == 8
    for row in rows:
        model = StretchyRegressor(
            row["k"], row["c"], a=-0.2, density=row["density"], fit_intercept="column"
        ).fit(data.X, data.y)
        error = np.mean((data.y_test - model.predict(data.X_test)) ** 2)
        assert row["error"] == pytest.approx(error, rel=1e-12)
        assert row["nonzero"] == (10 if row["density"] == 1 else 5)
        assert 0 < row["cpu"] < 5
        assert row["wall"] > 0
        assert (row["trial"], row["fold"], row["measure"]) == (0, 1, "mse")


def test_lasso_rows_choose_by_training_error_and_the_oracle_by_test_error():
    pytest.importorskip("glmnet", reason="needs python-glmnet: pip install python-glmnet")
    unit = units_of("diabetes", "LASSO", SMALL, large=False)[0]
    rows = {
        (row["piece"], row["method"], row["mixing"]): row for row in study.run_unit(unit, SMALL)
    }
    data = study.halves("diabetes", 0, 0, SMALL, sparse=True)
    mean = np.mean((data.y_test - data.y.mean()) ** 2)
    for mixing in SMALL.mixings:
        assert rows["study", "LASSO1", mixing]["error"] == pytest.approx(mean)
        assert rows["study", "LASSO1", mixing]["nonzero"] == 0
        best = rows["oracle", "LASSO100", mixing]["error"]
        assert best <= rows["study", "LASSO100", mixing]["error"]
    # the least training error is at the least penalty, the last of both sequences
    two, hundred = (rows["study", name, 1.0]["error"] for name in ("LASSO2", "LASSO100"))
    assert two == pytest.approx(hundred, rel=1e-3)


def test_large_sets_run_what_the_paper_shows():
    shown = cells_of("SR", FULL, large=True)
    assert len(cells_of("SR", FULL, large=False)) == 5 * 6 * 4
    assert set(shown) < set(cells_of("SR", FULL, large=False))
    by_strength = {c: [cell for cell in shown if cell.c == c] for c in FULL.strengths}
    assert len(by_strength[1e2]) == 20
    assert {cell.k for cell in by_strength[1e100]} == set(FULL.powers)
    assert {cell.density for cell in by_strength[1e100]} == {1.0}
    assert [(cell.k, cell.density) for cell in by_strength[1e8]] == [(1.25, 1.0)]


def test_searched_trials_are_cut_by_the_settings_alone():
    few = replace(FULL, searched_trials=(("diabetes", 2),))
    assert len(units_of("diabetes", "LASSOCV", few, large=False)) == 4
    assert len(units_of("diabetes", "LASSO", few, large=False)) == 20


@pytest.mark.parametrize("density", [1.0, 0.2])
def test_regression_on_signs_is_the_paper_s_classifier(density):
    X, labels = load_breast_cancer(return_X_y=True)
    y = np.where(labels == 1, 1.0, -1.0)
    ours = fit_stretchy(X[::3], y[::3], 1.5, 1e2, density, a=-0.2, quadrant="exp")
    classifier = StretchyClassifier(
        1.5, 1e2, density=density, fit_intercept="column", threshold="zero"
    ).fit(X[::3], y[::3])
    np.testing.assert_array_equal(np.sign(ours.predict(X)), classifier.predict(X))


def test_balanced_error_rate():
    y = np.array([1, 1, 1, 1, -1, -1])
    outputs = np.array([0.5, 0.1, -0.2, 3.0, 0.0, 0.4])
    assert balanced_error_rate(y, outputs) == pytest.approx((1 / 4 + 1 / 2) / 2)


def test_features_are_chosen_on_the_training_half_alone():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(80) % 2, 1.0, -1.0)
    X = rng.normal(10, 1, (80, 12))
    X[:, 7] += 3 * y
    X[:, 3] -= 2 * y
    assert relevant_features(X, y, 2).tolist() == [7, 3]
    network = fit_projection(X, y, 200, 2, k=2.0, c=1e2, seed=1)
    again = fit_projection(X, y, 200, 2, k=2.0, c=1e2, seed=1)
    assert network.coef.shape == (200,)
    np.testing.assert_array_equal(network.predict(X), again.predict(X))
    assert balanced_error_rate(y, network.predict(X)) < 0.1


def test_sparse_and_dense_features_give_the_same_error(data_dir, monkeypatch):
    unit = units_of("dexter", "SR", replace(SMALL, powers=(1.25,)), large=True)[0]
    found = {}
    for sparse in (True, False):
        monkeypatch.setattr(study, "SPARSE", sparse)
        rows = study.run_unit(unit, SMALL)
        found[sparse] = [(row["error"], row["nonzero"]) for row in rows]
    assert len(found[True]) == 3
    np.testing.assert_allclose(found[True], found[False], rtol=1e-12)
