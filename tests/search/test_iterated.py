"""Searches where the matrix is too costly: a few closed forms, fitted without it, samples held out.

The size from which that is so is set to a few samples here.
"""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from skstretch import StretchyClassifierCV, StretchyRegressorCV
from skstretch.core.factors import SingularMatrixError
from skstretch.estimators import inputs
from skstretch.exceptions import LongSearchWarning
from skstretch.search import grid
from tests.budgets import quick_up_to

FEW = {"c_grid": (0.02, 0.2)}


@pytest.fixture(autouse=True)
def _soon_costly(monkeypatch):
    quick_up_to(monkeypatch, 30)
    monkeypatch.setattr(inputs, "ENOUGH", 10)  # two of ten folds


def problem(n=50, p=70, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, :10].sum(axis=1) + rng.standard_normal(n)


@pytest.mark.parametrize("shape", [(50, 70), (70, 40)])
def test_scores_are_those_of_exact_searches_on_the_same_folds(shape, monkeypatch):
    X, y = problem(*shape)
    splits = list(KFold(2).split(X))
    model = StretchyRegressorCV(cv=splits).fit(X, y)
    found = model.cv_results_
    assert set(found["loo"]) == {"held out"}
    assert found["usable"].all()
    pairs = set(zip(found["param_a"].tolist(), found["param_k"].tolist(), strict=True))
    assert pairs == {(-0.2, 1.25), (-0.2, 2.0), (0.0, 2.0)}
    quick_up_to(monkeypatch, 10_000)
    for row in range(len(found["params"])):
        a, k, c, _ = found["params"][row].values()
        grid = {"a_grid": (a,), "k_grid": (k,), "c_grid": (c,), "n_features_to_select": 1.0}
        exact = StretchyRegressorCV(**grid, cv=splits).fit(X, y).cv_results_
        assert exact["loo"][0] == "exact"
        np.testing.assert_allclose(found["param_s"][row], exact["param_s"][0], rtol=1e-10)
        error = abs(found["mean_test_score"][row] - exact["mean_test_score"][0])
        assert error <= found["score_error"][row]


def test_the_model_is_the_mixture_of_its_candidates():
    X, y = problem()
    model = StretchyRegressorCV().fit(X, y)
    outputs = 0.0
    for a, k, c, weight in zip(
        *(model.weights_[n] for n in ("a", "k", "c", "weight")), strict=True
    ):
        grid = {"a_grid": (a,), "k_grid": (k,), "c_grid": (c,), "n_features_to_select": 1.0}
        one = StretchyRegressorCV(**grid, combine="best").fit(X, y)
        outputs = outputs + weight * one.predict(X)
    assert model.weights_["weight"].sum() == pytest.approx(1.0)
    np.testing.assert_allclose(model.predict(X), outputs, rtol=1e-7, atol=1e-7)


def test_one_part_is_held_out_where_that_is_enough(monkeypatch):
    monkeypatch.setattr(inputs, "ENOUGH", 5)
    X, y = problem()
    model = StretchyRegressorCV().fit(X, y)
    assert np.isfinite(model.cv_predictions_).sum() == 5  # a tenth
    labels = np.where(y > 0, "high", "low")
    classifier = StretchyClassifierCV().fit(X, labels)
    assert classifier.plan_.held_out == "one fold"
    assert 4 <= np.isfinite(classifier.cv_predictions_).sum() <= 6
    assert classifier.predict_proba(X).shape == (50, 2)


def test_classes_groups_and_weights():
    X, y = problem()
    codes = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    groups = np.arange(50) // 13
    model = StretchyClassifierCV(**FEW).fit(X, codes, groups=groups)
    assert model.cv_predictions_.shape == (50, 3)
    assert np.isfinite(model.cv_predictions_).all()
    weight = np.where(np.arange(50) < 40, 1.0, 0.0)
    splits = list(KFold(2).split(X[:40]))
    left_out = StretchyRegressorCV(**FEW, cv=splits).fit(X, y, sample_weight=weight)
    without = StretchyRegressorCV(**FEW, cv=splits).fit(X[:40], y[:40])
    np.testing.assert_allclose(left_out.coef_, without.coef_, rtol=1e-7, atol=1e-9)


def test_storage_does_not_matter():
    X, y = problem()
    X = np.where(np.abs(X) > 1.0, X, 0.0)
    stored = sparse.csr_array(X)
    dense = StretchyRegressorCV(**FEW).fit(X, y)
    found = StretchyRegressorCV(**FEW).fit(stored, y)
    np.testing.assert_array_equal(found.weights_["row"], dense.weights_["row"])
    # candidates are compared by fits to a relative residual of 1e-6
    np.testing.assert_allclose(found.weights_["weight"], dense.weights_["weight"], rtol=1e-4)


def test_strengths_may_be_given():
    model = StretchyRegressorCV(c_grid=(0.01, 1.0)).fit(*problem())
    assert set(model.cv_results_["param_c"]) == {0.01, 1.0}
    assert set(model.cv_results_["loo"]) == {"held out"}


GIVEN = {
    "powers": ({"k_grid": (1.5, 2.0)}, {(-0.2, 1.5), (-0.2, 2.0)}),
    "powers and strengths": ({"k_grid": (3.0,), "c_grid": (0.1, 1.0)}, {(-0.2, 3.0)}),
    "all features": ({"n_features_to_select": 1.0}, {(-0.2, 1.25), (-0.2, 2.0)}),
    "ridge": ({"a_grid": (0.0,), "k_grid": (2.0,)}, {(0.0, 2.0)}),
    "as they are": ({"quadrant": "identity", "k_grid": (1.5,)}, {(1.0, 1.5)}),
}


@pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
@pytest.mark.parametrize("case", GIVEN)
def test_closed_forms_that_are_asked_for_do_without_the_matrix(case, monkeypatch):
    given, expected = GIVEN[case]
    X, y = problem()
    X = np.exp(X) if "quadrant" in given else X
    splits = list(KFold(2).split(X))
    how = {"a_grid": (-0.2,), **given, "cv": splits}
    found = StretchyRegressorCV(**how).fit(X, y).cv_results_
    assert set(found["loo"]) == {"held out"}
    assert set(zip(found["param_a"].tolist(), found["param_k"].tolist(), strict=True)) == expected
    if "c_grid" in given:
        assert set(found["param_c"]) == {0.1, 1.0}
    quick_up_to(monkeypatch, 10_000)
    cs = {"c_grid": sorted({*found["param_c"].tolist()})}
    how |= {"k_grid": sorted({*found["param_k"]}), "n_features_to_select": 1.0}
    table = StretchyRegressorCV(**how | cs).fit(X, y).cv_results_
    told = zip(table["params"], table["mean_test_score"], strict=True)
    scores = {(p["k"], p["c"]): score for p, score in told}
    columns = (found[name] for name in ("params", "mean_test_score", "score_error"))
    for p, score, error in zip(*columns, strict=True):
        assert abs(score - scores[p["k"], p["c"]]) <= error


@pytest.mark.parametrize("given", [{"k_grid": (1.5, 2.0)}, {"n_features_to_select": [1.0, 20]}])
def test_what_takes_hours_says_so_before_it_begins(given):
    """Exact minimisers and selected features are searched as ever."""
    how = {"c_grid": (0.02, 0.2), **given}
    with pytest.warns(LongSearchWarning, match=r"systems of 50 rows: about \S+ hours") as told:
        model = StretchyRegressorCV(**how).fit(*problem())
    assert told[0].filename == __file__
    assert "held out" not in set(model.cv_results_["loo"])
    assert f"{model.cv_results_['loo'].size} candidates" in str(told[0].message)


def test_what_needs_inverses_says_so():
    model = StretchyRegressorCV(**FEW).fit(*problem())
    with pytest.raises(ValueError, match="very large data"):
        model.permutation_test(10)


def test_the_plan_says_that_the_matrix_is_not_formed(capsys):
    model = StretchyRegressorCV(**FEW, verbose=1).fit(*problem())
    assert model.plan_.matrix_free
    assert "Krylov on a dual system of 50 x 50; tries " in capsys.readouterr().err


@pytest.mark.parametrize(
    "error", [ConvergenceWarning("not solved after 1,000 steps"), SingularMatrixError("singular")]
)
def test_a_candidate_that_is_not_solved_is_left_out(error, monkeypatch):
    """The search goes on with the others."""
    refitted = grid._refitted

    def fails(design, Y, weights, spec, *rest):
        if spec.c == 0.2 and spec.k == 2.0:
            raise error
        return refitted(design, Y, weights, spec, *rest)

    monkeypatch.setattr(grid, "_refitted", fails)
    table = StretchyRegressorCV(**FEW).fit(*problem()).cv_results_
    lost = (table["param_c"] == 0.2) & (table["param_k"] == 2.0)
    np.testing.assert_array_equal(table["usable"], ~lost)
    assert set(table["reason"][lost]) == {str(error)}
    assert not table["weight"][lost].any()
