"""Penalty factors on the other ways to a fit: Dask, QR, Krylov, batches, data taken as it is.

Each must find what the direct solution of a dense matrix finds, and that is compared with the
formulas themselves in `test_penalty_factor`.
"""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import skstretch
from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from skstretch.exceptions import IllConditionedWarning
from tests.estimators.test_penalty_factor import FACTORS, MODELS, SHAPES, assert_close, of, problem
from tests.estimators.test_penalty_factor import factors as factors_of
from tests.factors import features, fitted, least_squares, shares

CLOSED = [name for name in MODELS if name != "bridge"]


def cut(X, shape):
    """A Dask array in several blocks, of features or of rows."""
    da = pytest.importorskip("dask.array", reason="install skstretch[dask] to run")
    return da.from_array(X, chunks=(len(X), 17) if shape == "wide" else (13, X.shape[1]))


def weights_of(y):
    return np.random.default_rng(2).uniform(0.3, 3.0, len(y))


@pytest.mark.parametrize("kind", FACTORS)
@pytest.mark.parametrize("solver", ["qr", "krylov"])
@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("shape", SHAPES)
class TestSolvers:
    def test_formulas(self, shape, name, solver, kind):
        X, y = problem(shape)
        p, w, (a, k) = factors_of(kind, X.shape[1]), weights_of(y), MODELS[name]
        model = of(name, p, solver=solver).fit(X, y, sample_weight=w)
        coef, constant = fitted(features(X, a, w), y, a, k, 3.0, p, w)
        rtol = 1e-9 if solver == "qr" else 1e-7  # iteration stops at a residual of 1e-10
        assert model.solver_ == solver
        assert_close(model.alpha_, coef, rtol)
        assert abs(model._state.intercept[0] - constant) <= rtol * np.abs(y).max()
        assert (model.alpha_[np.isinf(p)] == 0).all()
        sparse_too = of(name, p, solver=solver).fit(sparse.csr_array(X), y, sample_weight=w)
        assert_close(sparse_too.alpha_, coef, rtol)

    def test_direct(self, shape, name, solver, kind):
        """Predictions, dual coefficients, several targets; and of QR what only a factor tells."""
        X, y = problem(shape)
        Y, p = np.column_stack([y, X[:, 7] ** 2]), factors_of(kind, X.shape[1])
        model, direct = (of(name, p, solver=s).fit(X, Y) for s in (solver, "auto"))
        rtol = 1e-8 if solver == "qr" else 1e-6
        assert_close(model.predict(X[:9] + 0.1), direct.predict(X[:9] + 0.1), rtol)
        assert_close(model.dual_coef_, direct.dual_coef_, rtol)
        if solver == "qr":
            assert abs(model.dof_ - direct.dof_) <= 1e-8
            assert_close(model.coef_std(), direct.coef_std(), 1e-8)
            assert_close(model.coef_covariance(1.0), direct.coef_covariance(1.0), 1e-8)

    def test_repetition_and_units(self, shape, name, solver, kind):
        X, y = problem(shape)
        p, w = factors_of(kind, X.shape[1]), np.random.default_rng(5).integers(0, 4, len(y))
        units = np.logspace(-4, 4, X.shape[1])
        rtol = 1e-8 if solver == "qr" else 1e-6
        weighed = of(name, p, solver=solver).fit(X * units + 5 * units, y, sample_weight=w)
        repeated = of(name, p).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        assert_close(weighed.alpha_, repeated.alpha_, rtol)
        assert_close(weighed.coef_ * units, repeated.coef_, rtol)


@pytest.mark.parametrize("solver", ["qr", "krylov"])
@pytest.mark.parametrize("shape", SHAPES)
def test_solvers_without_a_free_intercept(shape, solver):
    X, y = problem(shape)
    p = factors_of("finite", X.shape[1])
    for fit_intercept in (False, "column"):
        shared = {"k": 1.5, "c": 2.0, "fit_intercept": fit_intercept, "penalty_factor": p}
        model, direct = (StretchyRegressor(solver=s, **shared).fit(X, y) for s in (solver, "auto"))
        assert_close(model.alpha_, direct.alpha_, 1e-6)
        assert_close(model.predict(X), direct.predict(X), 1e-7)


@pytest.mark.parametrize("solver", ["qr", "krylov"])
def test_solvers_with_nothing_to_penalise(solver):
    X, y = problem("tall")
    model = of("stretched", np.zeros(X.shape[1]), solver=solver).fit(X, y)
    F = np.column_stack([np.ones(len(y)), features(X, -0.2)])
    assert_close(model.predict(X), F @ least_squares(F, y[:, None], np.ones(len(y)))[:, 0])


@pytest.mark.parametrize("kind", FACTORS)
def test_qr_keeps_digits(kind):
    """k near 1: K is ill-conditioned because Q is. In long numbers the formula tells the truth."""
    X, y = problem("wide")
    p, a, k, c = factors_of(kind, X.shape[1]), -0.6, 1.1, 1e3
    coef, _ = fitted(features(X.astype(np.longdouble), a), y, a, k, c, p)
    shared = {"k": k, "c": c, "a": a, "penalty_factor": p}
    for solver in ("qr", "auto"):
        model = StretchyRegressor(solver=solver, **shared).fit(X, y)
        assert model.solver_ == "qr"
        assert_close(model.alpha_, coef, 1e-10)
    if kind != "zeros":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IllConditionedWarning)
            plain = StretchyRegressor(solver="dual", **shared).fit(X, y)
        assert np.abs(plain.alpha_ - coef).max() > 1e-8 * np.abs(coef).max()


@pytest.mark.parametrize("kind", FACTORS)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", SHAPES)
class TestDask:
    def test_dense(self, shape, name, kind):
        X, y = problem(shape)
        p, w = factors_of(kind, X.shape[1]), weights_of(y)
        w[3] = 0.0
        model = of(name, p).fit(X, y, sample_weight=w)
        blocks = of(name, p).fit(cut(X, shape), y, sample_weight=w)
        assert_close(blocks.alpha_, model.alpha_)
        assert abs(blocks.intercept_ - model.intercept_) <= 1e-9 * np.abs(y).max()
        assert_close(blocks.predict(X[:5] + 0.1), model.predict(X[:5] + 0.1))
        assert_close(blocks.coef_std(1.0), model.coef_std(1.0), 1e-8)
        for method in ("plus", "residual"):
            found, told = (m.predict_interval(X[:3], method=method) for m in (blocks, model))
            assert_close(np.array(found), np.array(told), 1e-8)

    def test_selection(self, shape, name, kind):
        X, y = problem(shape)
        p = factors_of(kind, X.shape[1])
        model = of(name, p, density=5).fit(X, y)
        blocks = of(name, p, density=5).fit(cut(X, shape), y)
        np.testing.assert_array_equal(blocks.support_, model.support_)
        assert_close(blocks.alpha_, model.alpha_, 1e-8)


@pytest.mark.parametrize("shape", SHAPES)
def test_dask_search(shape):
    X, y = problem(shape)
    p = factors_of("mixed", X.shape[1])
    grids = {"a_grid": (-0.2, 0.0), "k_grid": (1.3, 2.0), "c_grid": (0.1, 3.0)}
    for more in ({"n_features_to_select": 1.0}, {"cv": 5, "n_features_to_select": [0.3, 1.0]}):
        model, blocks = (
            StretchyRegressorCV(**grids, penalty_factor=p, **more).fit(data, y)
            for data in (X, cut(X, shape))
        )
        found, told = blocks.cv_results_, model.cv_results_
        exact = np.asarray(told["loo"]) == "exact"
        scores = found["mean_test_score"], told["mean_test_score"]
        assert_close(*(score[exact] for score in scores), 1e-7)
        # on the way of a path, minimisers are only as near as their comparison needs
        assert_close(*scores, 1e-5)
        assert_close(blocks.predict(X), model.predict(X), 1e-7)
    labels = y > np.median(y)
    model, blocks = (
        StretchyClassifierCV(**grids, n_features_to_select=1.0, penalty_factor=p).fit(data, labels)
        for data in (X, cut(X, shape))
    )
    assert_close(blocks.predict_proba(X), model.predict_proba(X), 1e-6)


@pytest.mark.parametrize("solver", ["krylov", "qr", "dual", "primal"])
@pytest.mark.parametrize("shape", SHAPES)
def test_dask_solvers(shape, solver):
    X, y = problem(shape)
    p = factors_of("mixed", X.shape[1])
    if (shape, solver) == ("wide", "primal"):
        with pytest.raises(ValueError, match="whole X in memory"):
            of("stretched", p, solver=solver).fit(cut(X, shape), y)
        return
    model, blocks = (of("stretched", p, solver=solver).fit(d, y) for d in (X, cut(X, shape)))
    assert_close(blocks.alpha_, model.alpha_, 1e-6 if solver == "krylov" else 1e-9)


def batches(model, X, y, w=None, sizes=(16, 3, 20)):
    ends = np.cumsum(sizes)
    for part in np.split(np.arange(len(y)), ends[ends < len(y)]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IllConditionedWarning)
            model.partial_fit(X[part], y[part], sample_weight=None if w is None else w[part],
                              moments=(X.mean(axis=0), X.std(axis=0)))  # fmt: skip
    return model


@pytest.mark.parametrize("kind", FACTORS)
@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("shape", SHAPES)
class TestBatches:
    def test_are_one_fit(self, shape, name, kind):
        X, y = problem(shape)
        p = factors_of(kind, X.shape[1])
        whole = of(name, p).fit(X, y)
        for data in (X, sparse.csr_array(X)):
            model = batches(of(name, p), data_with_moments(data, X), y)
            assert_close(model.alpha_, whole.alpha_, 1e-8)
            assert abs(model.intercept_ - whole.intercept_) <= 1e-8 * np.abs(y).max()
            assert abs(model.dof_ - whole.dof_) <= 1e-7

    def test_repetition_is_weight(self, shape, name, kind):
        X, y = problem(shape)
        p, w = factors_of(kind, X.shape[1]), np.random.default_rng(5).integers(1, 4, len(y))
        weighed = batches(of(name, p), data_with_moments(X, X), y, w)
        where = np.repeat(np.arange(len(y)), w)
        given = X.mean(axis=0), X.std(axis=0)
        repeated = of(name, p).partial_fit(X[where], y[where], moments=given)
        assert_close(weighed.alpha_, repeated.alpha_, 1e-8)

    def test_go_on_after_fit(self, shape, name, kind):
        X, y = problem(shape)
        p = factors_of(kind, X.shape[1])
        half = 2 * len(y) // 3
        model = of(name, p).fit(X[:half], y[:half]).partial_fit(X[half:], y[half:])
        mean, scale = X[:half].mean(axis=0), X[:half].std(axis=0)
        again = of(name, p).partial_fit(X, y, moments=(mean, scale))
        assert_close(model.alpha_, again.alpha_, 1e-8)


def data_with_moments(data, X):
    """Rows of any storage that know the means and deviations of all of them."""

    class Rows:
        def __getitem__(self, part):
            return data[part]

        def mean(self, axis):
            return X.mean(axis=axis)

        def std(self, axis):
            return X.std(axis=axis)

    return Rows()


def test_batches_in_scales_of_their_own():
    """Powers out of the range of float64: columns of Q are scaled, the free ones are not."""
    X, y = problem("tall")
    X[40, 4], p = -1e3, factors_of("mixed", X.shape[1])
    shared = {"k": 1.1, "a": -7.0, "c": 1e-120, "penalty_factor": p}
    whole = StretchyRegressor(**shared).fit(X, y)
    model = batches(StretchyRegressor(**shared), data_with_moments(X, X), y)
    assert_close(model.predict(X), whole.predict(X), 1e-9)


def test_batches_wait_until_free_columns_are_known():
    X, y = problem("tall")
    p = factors_of("mixed", X.shape[1])
    X[:10, 3] = 2.0 * X[:10, 1] + 1.0
    model = of("ridge", p)
    with pytest.warns(IllConditionedWarning, match="do not determine"):
        model.partial_fit(X[:10], y[:10], moments=(X.mean(axis=0), X.std(axis=0)))
    assert not hasattr(model, "coef_")
    model.partial_fit(X[10:], y[10:])
    assert_close(model.alpha_, of("ridge", p).fit(X, y).alpha_, 1e-8)


def test_batches_keep_their_factors():
    X, y = problem("tall")
    for p in (factors_of("mixed", X.shape[1]), factors_of("finite", X.shape[1])):
        for begun in (of("ridge", p).partial_fit(X, y), of("ridge", p).fit(X, y)):
            with pytest.raises(ValueError, match="penalty_factor differs"):
                begun.set_params(penalty_factor=None).partial_fit(X, y)
            with pytest.raises(ValueError, match="penalty_factor differs"):
                begun.set_params(penalty_factor=p[::-1]).partial_fit(X, y)
            begun.set_params(penalty_factor=3.0 * p).partial_fit(X, y)
    plain = of("ridge", None).partial_fit(X, y).set_params(penalty_factor=np.full(12, 4.0))
    assert_close(plain.partial_fit(X, y).alpha_, of("ridge", None, 6.0).fit(X, y).alpha_)


def test_batches_of_classes(tmp_path):
    X, y = problem("tall")
    labels, p = np.where(y > np.median(y), "ill", "well"), factors_of("mixed", X.shape[1])
    model = StretchyClassifier(k=1.5, penalty_factor=p)
    model.partial_fit(X, labels, classes=["ill", "well"])
    whole = StretchyClassifier(k=1.5, penalty_factor=p).fit(X, labels)
    assert_close(model.alpha_, whole.alpha_, 1e-8)
    skstretch.save(model, tmp_path / "m.stretchy")
    again = skstretch.load(tmp_path / "m.stretchy")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.penalty_factor, p)


@pytest.mark.parametrize("kind", FACTORS)
@pytest.mark.parametrize("shape", SHAPES)
class TestIdentity:
    """Data that is taken as it is: a factor scales the column all the same."""

    def fit(self, p, X, y, **more):
        return StretchyRegressor(k=1.5, c=2.0, quadrant="identity", penalty_factor=p, **more).fit(
            X, y
        )

    def data(self, shape):
        X, y = problem(shape)
        X = np.abs(X) / X.std(axis=0)
        X[X < 0.5] = 0.0
        return X, y

    def test_formula_in_every_storage(self, shape, kind, tmp_path):
        X, y = self.data(shape)
        p = factors_of(kind, X.shape[1])
        coef, constant = fitted(X, y, 1.0, 1.5, 2.0, p)
        np.save(tmp_path / "X.npy", X)
        storages = [X, sparse.csr_array(X), np.load(tmp_path / "X.npy", "r"), cut(X, shape)]
        for data in storages:
            model = self.fit(p, data, y)
            assert_close(model.alpha_, coef, 1e-8)
            assert_close(model.predict(X), X @ coef + constant, 1e-8)
        for solver in ("dual", "primal", "qr", "krylov"):
            rtol = 1e-6 if solver == "krylov" else 1e-8
            assert_close(self.fit(p, X, y, solver=solver).alpha_, coef, rtol)

    def test_files_and_intervals(self, shape, kind, tmp_path):
        X, y = self.data(shape)
        model = self.fit(factors_of(kind, X.shape[1]), X, y)
        skstretch.save(model, tmp_path / "m.stretchy", intervals=True)
        again = skstretch.load(tmp_path / "m.stretchy")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        found, told = (np.array(m.predict_interval(X[:4])) for m in (again, model))
        assert_close(found, told, 1e-9)

    def test_search(self, shape, kind):
        """Exact leave-one-out scores are those of literal refits."""
        X, y = self.data(shape)
        p = factors_of(kind, X.shape[1])
        model = StretchyRegressorCV(
            a_grid=[1.0],
            k_grid=[1.5],
            c_grid=[2.0],
            n_features_to_select=1.0,
            quadrant="identity",
            penalty_factor=p,
            combine="best",
        ).fit(X, y)
        for i in (0, 7):
            rest = np.delete(np.arange(len(y)), i)
            coef, constant = fitted(X[rest], y[rest], 1.0, 1.5, 2.0, p)
            assert abs(model.cv_predictions_[i] - X[i] @ coef - constant) <= 1e-8 * np.ptp(y)


@pytest.mark.parametrize("fit_intercept", [True, False, "column"])
def test_identity_without_a_free_intercept(fit_intercept):
    X, y = problem("tall")
    X, p = np.abs(X), factors_of("finite", X.shape[1])
    p[5] = np.inf
    kept, _, relative = shares(p)
    shared = {"k": 1.5, "c": 2.0, "quadrant": "identity", "fit_intercept": fit_intercept}
    model = StretchyRegressor(penalty_factor=p, **shared).fit(X, y)
    s = relative.astype(float) ** (-1 / 1.5)
    scaled = StretchyRegressor(**shared).fit(X[:, kept] * s, y)
    assert_close(model.alpha_[kept], scaled.alpha_ * s, 1e-8)
    assert model.alpha_[5] == 0
    equal = StretchyRegressor(penalty_factor=np.full(12, 5.0), **shared).fit(X, y)
    np.testing.assert_array_equal(equal.alpha_, StretchyRegressor(**shared).fit(X, y).alpha_)


def test_equal_factors_change_nothing_on_any_way():
    X, y = problem("wide")
    seven = np.full(X.shape[1], 7.0)
    for solver in ("qr", "krylov"):
        plain, equal = (of("stretched", p, solver=solver).fit(X, y) for p in (None, seven))
        np.testing.assert_array_equal(plain.alpha_, equal.alpha_)
    plain, equal = (of("stretched", p).fit(cut(X, "wide"), y) for p in (None, seven))
    np.testing.assert_array_equal(plain.alpha_, equal.alpha_)
    plain, equal = (clone(of("ridge", p)).partial_fit(X, y) for p in (None, seven))
    np.testing.assert_array_equal(plain.alpha_, equal.alpha_)
