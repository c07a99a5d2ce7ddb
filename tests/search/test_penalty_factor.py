"""Penalty factors in searches: exact leave-one-out and folds, intervals, mixtures."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold, ShuffleSplit

import skstretch
from skstretch import StretchyClassifierCV, StretchyRegressor, StretchyRegressorCV
from tests.factors import features, fitted, out_of_fold
from tests.literal import lasso_support, leave_one_out

SHAPES = {"wide": (24, 40), "tall": (40, 12)}
CANDIDATES = [(-0.2, 1.5), (-0.2, 2.0), (0.0, 2.0), (0.0, 1.3)]
KINDS = ["finite", "zeros", "mixed"]


def problem(shape, kind="mixed"):
    rng = np.random.default_rng(0)
    n, D = SHAPES[shape]
    X = rng.standard_normal((n, D)) * rng.uniform(0.1, 10, D)
    y = X[:, 0] / X[:, 0].std() + 2 * X[:, 1] / X[:, 1].std() + rng.standard_normal(n) + 10
    p = rng.uniform(0.2, 3.0, D)
    if kind == "zeros":
        p[:] = 1.0
    if kind != "finite":
        p[[1, 3]], p[5] = 0.0, np.inf
    return X, y, p


def one_candidate(a, k, p, c=2.0, **more):
    return StretchyRegressorCV(
        a_grid=[a],
        k_grid=[k],
        c_grid=[c],
        n_features_to_select=1.0,
        penalty_factor=p,
        combine="best",
        **more,
    )


def assert_close(found, expected, rtol=1e-8):
    assert np.abs(found - expected).max() <= rtol * np.abs(expected).max()


def selected(Z, y, count, p):
    """Columns of the lasso path, which has what is never penalised for nothing, and these."""
    open_, free = np.flatnonzero(np.isfinite(p) & (p > 0)), np.flatnonzero(p == 0)
    F = np.column_stack([np.ones(len(y)), Z[:, free]])
    rest = [v - F @ np.linalg.lstsq(F, v, rcond=None)[0] for v in (Z[:, open_], y[:, None])]
    found = lasso_support(rest[0] / p[open_], rest[1], count)
    return np.union1d(open_[found], free)


def on_columns(kept, a, k, c, p):
    """The c that keeps factors over the mean of all; those of some columns are taken anew."""
    penalised = np.isfinite(p) & (p > 0)
    own = p[kept][penalised[kept]].mean() / p[penalised].mean()
    return c / own ** (1 if a == 0 and k < 2 else 1 / (k - 1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("a", "k"), CANDIDATES)
@pytest.mark.parametrize("shape", SHAPES)
def test_leave_one_out_is_literal(shape, a, k, kind):
    X, y, p = problem(shape, kind)
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model = one_candidate(a, k, p).fit(X, y, sample_weight=w)
    P = features(X, a, w)
    residuals = out_of_fold(P, y, a, k, 2.0, p, leave_one_out(len(y)), w)
    assert_close(y - model.cv_predictions_, residuals)
    assert (model.cv_results_["loo"] == "exact").all()
    assert model.best_score_ == pytest.approx(-(w @ residuals**2) / w.sum(), rel=1e-8)
    coef, _ = fitted(P, y, a, k, 2.0, p, w)
    assert_close(model.alpha_, coef)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("a", "k"), CANDIDATES)
@pytest.mark.parametrize("shape", SHAPES)
def test_folds_are_literal(shape, a, k, kind):
    X, y, p = problem(shape, kind)
    cv = KFold(4, shuffle=True, random_state=0)
    model = one_candidate(a, k, p, cv=cv).fit(X, y)
    splits = list(cv.split(X))
    residuals = np.empty_like(y)
    residuals[np.concatenate([test for _, test in splits])] = out_of_fold(
        features(X, a), y, a, k, 2.0, p, splits
    )
    assert_close(y - model.cv_predictions_, residuals)


@pytest.mark.parametrize(("a", "k"), CANDIDATES)
@pytest.mark.parametrize("shape", SHAPES)
def test_overlapping_folds(shape, a, k):
    X, y, p = problem(shape)
    cv = ShuffleSplit(5, test_size=0.25, random_state=1)
    model = one_candidate(a, k, p, cv=cv).fit(X, y)
    residuals = out_of_fold(features(X, a), y, a, k, 2.0, p, list(cv.split(X)))
    assert model.best_score_ == pytest.approx(-np.mean(residuals**2), rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("a", "k"), CANDIDATES)
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_are_those_of_refits(shape, a, k, kind):
    """Jackknife+ from the predictions of every literal refit at new points."""
    X, y, p = problem(shape, kind)
    model = StretchyRegressor(k=k, c=2.0, a=a, penalty_factor=p).fit(X, y)
    new = X[:3] + 0.2 * X.std(axis=0)
    mean, sd = X.mean(axis=0), X.std(axis=0)
    P = features(X, a)
    Z = (new - mean) / sd
    at_new = Z if a == 0 else np.exp(a * Z)
    below, above = [], []
    for train, test in leave_one_out(len(y)):
        coef, constant = fitted(P[train], y[train], a, k, 2.0, p)
        size = np.abs(y[test] - P[test] @ coef - constant)
        below.append(at_new @ coef + constant - size)
        above.append(at_new @ coef + constant + size)
    n = len(y)
    low, high = int(np.floor(0.2 * (n + 1))), int(np.ceil(0.8 * (n + 1)))
    lower, upper = model.predict_interval(new, coverage=0.8)
    assert_close(lower, np.sort(below, axis=0)[low - 1])
    assert_close(upper, np.sort(above, axis=0)[high - 1])


@pytest.mark.parametrize("shape", SHAPES)
def test_equal_factors_change_nothing(shape):
    X, y, _ = problem(shape)
    plain = StretchyRegressorCV().fit(X, y)
    equal = StretchyRegressorCV(penalty_factor=np.full(X.shape[1], 3.0)).fit(X, y)
    np.testing.assert_array_equal(equal.coef_, plain.coef_)
    np.testing.assert_array_equal(
        equal.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_default_search(shape, kind):
    """A mixture of all families: what it predicts is what its candidates predict, refitted
    alone."""
    X, y, p = problem(shape, kind)
    model = StretchyRegressorCV(penalty_factor=p).fit(X, y)
    total = np.zeros(len(y))
    table = model.weights_
    for a, k, c, d, w in zip(
        *(table[x] for x in ("a", "k", "c", "density", "weight")), strict=True
    ):
        kept = np.arange(X.shape[1]) if d == 1.0 else selected(features(X, 0.0), y, d, p)
        c = c if d == 1.0 else on_columns(kept, a, k, c, p)
        one = StretchyRegressor(k=k, c=c, a=a, penalty_factor=p[kept]).fit(X[:, kept], y)
        total += w * one.predict(X[:, kept])
    assert_close(model.predict(X), total, 1e-7)
    assert np.isfinite(model.predict_interval(X[:3])[0]).all()
    assert (model.coef_[np.isinf(p)] == 0).all()


def test_useful_on_confounded_data():
    """A batch effect far larger than the signal costs nothing once the batch is not penalised."""
    rng = np.random.default_rng(0)
    batch = rng.integers(0, 2, 60).astype(float)
    X = np.column_stack([batch, rng.standard_normal((60, 200))])
    y = 50 * batch + X[:, 1] + 0.5 * rng.standard_normal(60)
    p = np.ones(201)
    p[0] = 0.0
    free = StretchyRegressorCV(penalty_factor=p, n_features_to_select=1.0).fit(X, y)
    plain = StretchyRegressorCV(n_features_to_select=1.0).fit(X, y)
    assert free.best_score_ > plain.best_score_
    assert free.best_score_ > -1.5
    # few features are found beside it: the noise is left
    assert StretchyRegressorCV(penalty_factor=p).fit(X, y).best_score_ > -0.3


@pytest.mark.parametrize(("a", "k"), CANDIDATES)
@pytest.mark.parametrize("shape", SHAPES)
def test_influence_and_contributions(shape, a, k):
    """What changes at new points without each sample, by literal refits; shares add up."""
    X, y, p = problem(shape)
    model = one_candidate(a, k, p).fit(X, y)
    new, P, everything = X[:3] + 0.1, features(X, a), np.arange(len(y))
    Z = (new - X.mean(axis=0)) / X.std(axis=0)
    at_new = Z if a == 0 else np.exp(a * Z)
    changes = np.empty((3, len(y)))
    for i in everything:
        coef, constant = fitted(*(v[np.delete(everything, i)] for v in (P, y)), a, k, 2.0, p)
        changes[:, i] = model.predict(new) - at_new @ coef - constant
    found = model.influence(new)
    assert np.abs(found.changes - changes).max() <= 1e-8 * np.abs(y).max()
    total = model.contributions(new).sum(axis=1) + model.contributions_base_
    assert_close(total, model.predict(new), 1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_search_keeps_for_reports(shape):
    """Slopes of any candidate, and bounds of folds by leave-one-out models of the other samples."""
    X, y, p = problem(shape)
    grid = StretchyRegressorCV(
        a_grid=[-0.2, 0.0],
        k_grid=[1.3, 2.0],
        c_grid=[0.5, 2.0],
        n_features_to_select=1.0,
        penalty_factor=p,
    )
    model = grid.fit(X, y)
    kept, table = model._outcomes, model.cv_results_
    for row, slope in kept.slopes(range(len(table["loo"])), X.shape[1]):
        a, k, c = (table[f"param_{name}"][row] for name in ("a", "k", "c"))
        one = StretchyRegressor(k=k, c=c, a=a, penalty_factor=p).fit(X, y)
        assert_close(slope[0], one.coef_, 1e-7)
        if c == 2.0:
            held = np.arange(5)
            bounds = kept.held_out_bounds(row, [held], [0.8])[:, 0, held, 0]
            assert_close(bounds, literal_bounds(features(X, a), y, a, k, c, p, held), 1e-7)


def literal_bounds(P, y, a, k, c, p, held):
    """Jackknife+ of coverage 0.8 at some rows, by refits of the others without one each."""
    rest = np.setdiff1d(np.arange(len(y)), held)
    sides = []
    for train, test in leave_one_out(rest.size):
        coef, constant = fitted(P[rest[train]], y[rest[train]], a, k, c, p)
        size, at = (
            np.abs(y[rest[test]] - P[rest[test]] @ coef - constant),
            P[held] @ coef + constant,
        )
        sides.append([at - size, at + size])
    below, above = np.sort(np.array(sides), axis=0).transpose(1, 0, 2)
    n = rest.size
    low, high = int(np.floor(round(0.2 * (n + 1), 9))), int(np.ceil(round(0.8 * (n + 1), 9)))
    return np.array([below[low - 1], above[high - 1]])


@pytest.mark.parametrize(("a", "k"), CANDIDATES)
@pytest.mark.parametrize("shape", SHAPES)
def test_densities(shape, a, k):
    """Every fold selects its own features beyond those that are never penalised."""
    X, y, p = problem(shape)
    cv = KFold(4, shuffle=True, random_state=0)
    grid = StretchyRegressorCV(
        a_grid=[a],
        k_grid=[k],
        c_grid=[2.0],
        n_features_to_select=4,
        penalty_factor=p,
        combine="best",
        cv=cv,
    )
    model = grid.fit(X, y)
    P, Z, residuals = features(X, a), features(X, 0.0), np.empty_like(y)
    for train, test in cv.split(X):
        kept = selected(Z[train], y[train], 4, p)
        c = on_columns(kept, a, k, 2.0, p)
        coef, constant = fitted(P[train][:, kept], y[train], a, k, c, p[kept])
        residuals[test] = y[test] - P[test][:, kept] @ coef - constant
    assert_close(y - model.cv_predictions_, residuals)
    assert np.flatnonzero(model.support_).tolist() == selected(Z, y, 4, p).tolist()


def test_sparse_is_dense():
    X, y, p = problem("wide")
    X[np.abs(X) < X.std(axis=0)] = 0.0
    dense = StretchyRegressorCV(penalty_factor=p).fit(X, y)
    other = StretchyRegressorCV(penalty_factor=p).fit(sparse.csr_array(X), y)
    assert_close(other.cv_predictions_, dense.cv_predictions_, 1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_classes(shape):
    X, y, p = problem(shape)
    labels = (y > np.median(y)).astype(int)
    model = StretchyClassifierCV(penalty_factor=p).fit(X, labels)
    assert model.predict_proba(X).shape == (len(y), 2)
    a, k, c = -0.2, 1.5, 2.0
    one = StretchyClassifierCV(
        a_grid=[a],
        k_grid=[k],
        c_grid=[c],
        n_features_to_select=1.0,
        penalty_factor=p,
        combine="best",
    )
    one.fit(X, labels)
    signs = 2.0 * labels - 1
    residuals = out_of_fold(features(X, a), signs, a, k, c, p, leave_one_out(len(y)))
    assert_close(signs - one.cv_predictions_, residuals)


def test_permutation_test():
    """The statistic is the search's own on the closed forms; one candidate is its score."""
    X, y, p = problem("wide")
    model = one_candidate(-0.2, 1.5, p).fit(X, y)
    found = model.permutation_test(n_permutations=9)
    assert found.statistic == pytest.approx(model.best_score_, rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("intervals", [False, True])
def test_mixtures_in_files(kind, intervals, tmp_path):
    X, y, p = problem("wide", kind)
    model = StretchyRegressorCV(penalty_factor=p).fit(X, y)
    skstretch.save(model, tmp_path / "model.stretchy", intervals=intervals)
    again = skstretch.load(tmp_path / "model.stretchy")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.penalty_factor, p)
    method = "plus" if intervals else "residual"
    both = (m.predict_interval(X[:4], method=method) for m in (again, model))
    for found, told in zip(*both, strict=True):
        assert_close(found, told, 1e-8)


def test_samples_that_cannot_be_left_out():
    X, y, p = problem("wide")
    X[:, 1] = 0.0
    X[7, 1] = 1.0
    with pytest.raises(ValueError, match=r"row 7 .* alone determines"):
        one_candidate(-0.2, 1.5, p).fit(X, y)
    model = StretchyRegressor(penalty_factor=p).fit(X, y)
    with pytest.raises(ValueError, match=r"row 7 .* alone determines"):
        model.predict_interval(X)
    with pytest.raises(ValueError, match="samples of fold 1 columns of penalty_factor 0"):
        one_candidate(0.0, 1.3, p, cv=KFold(4)).fit(X, y)
    labels = np.arange(24) % 2
    with pytest.raises(ValueError, match=r"row 7 .* alone"):
        StretchyClassifierCV(a_grid=[0.0], k_grid=[1.3], penalty_factor=p).fit(X, labels)
