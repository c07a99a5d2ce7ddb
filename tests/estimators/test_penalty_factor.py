"""Penalty factors: 0 never penalised, inf left out, else the penalty times the factor."""

import io
import pickle
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.linear_model import Ridge

import skstretch
from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from skstretch.exceptions import IllConditionedWarning
from tests.factors import features, fitted, least_squares, shares

SHAPES = {"wide": (24, 50), "tall": (50, 12)}
# closed forms, ridge, exact minimisers
MODELS = {
    "stretched": (-0.2, 1.5),
    "a, k=2": (-0.2, 2.0),
    "ridge": (0.0, 2.0),
    "bridge": (0.0, 1.2),
}
FACTORS = ["finite", "zeros", "mixed"]


def problem(shape, seed=0):
    rng = np.random.default_rng(seed)
    n, D = SHAPES[shape]
    X = rng.standard_normal((n, D)) * rng.uniform(0.1, 10, D) + rng.normal(size=D)
    y = X[:, 0] / X[:, 0].std() + 2 * X[:, 1] / X[:, 1].std() + rng.standard_normal(n) + 10
    return X, y


def factors(kind, D, seed=1):
    p = np.random.default_rng(seed).uniform(0.2, 3.0, D)
    if kind == "zeros":
        p[:] = 1.0
    if kind != "finite":
        p[[1, 3]], p[5] = 0.0, np.inf
    return p


def of(name, p, c=3.0, **more):
    a, k = MODELS[name]
    return StretchyRegressor(k=k, c=c, a=a, penalty_factor=p, **more)


def assert_close(found, expected, rtol=1e-9):
    assert np.abs(found - expected).max() <= rtol * np.abs(expected).max()


@pytest.mark.parametrize("kind", FACTORS)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_literal_reference(shape, name, kind, weighted):
    X, y = problem(shape)
    w = np.random.default_rng(2).uniform(0.3, 3.0, len(y)) if weighted else None
    p, (a, k) = factors(kind, X.shape[1]), MODELS[name]
    for c in (1e-2, 3.0, 1e3):
        model = of(name, p, c).fit(X, y, sample_weight=w)
        coef, constant = fitted(features(X, a, w), y, a, k, c, p, w)
        assert_close(model.alpha_, coef)
        assert abs(model._state.intercept[0] - constant) <= 1e-9 * np.abs(y).max()
        assert (model.alpha_[np.isinf(p)] == 0).all()
        assert (model.alpha_[p == 0] != 0).all()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", SHAPES)
def test_zero_is_regressing_the_column_out(shape, name):
    """y and all other features, stretched or not, without their part in [1, U]."""
    X, y = problem(shape)
    a, k = MODELS[name]
    p, c, one = factors("zeros", X.shape[1]), 3.0, np.ones(len(y))
    penalised, free, _ = shares(p)
    model, P = of(name, p, c).fit(X, y), features(X, a)
    F = np.column_stack([one, P[:, free]])
    if name == "bridge":
        rest = y - P[:, penalised] @ model.alpha_[penalised]
    else:
        A = P[:, penalised]
        Q = A ** (1 / (k - 1))
        Pr, Qr = A - F @ least_squares(F, A, one), Q - F @ least_squares(F, Q, one)
        left = y - F @ least_squares(F, y[:, None], one)[:, 0]
        beta = np.linalg.solve(Pr @ Qr.T + np.eye(len(y)) / (c * k), left)
        assert_close(model.alpha_[penalised], Qr.T @ beta)
        rest = y - A @ model.alpha_[penalised]
    gamma = least_squares(F, rest[:, None], one)[:, 0]
    assert_close(np.append(model._state.intercept[0], model.alpha_[free]), gamma)
    # nothing of what is left is explained by U
    residuals = y - model.predict(X)
    assert np.abs(F.T @ residuals).max() <= 1e-9 * np.abs(F).T.sum(axis=1).max() * np.abs(y).max()


@pytest.mark.parametrize("k", [1.1, 1.5])
@pytest.mark.parametrize("shape", SHAPES)
def test_stated_objective(shape, k):
    """The gradient of the convex objective is zero, and no descent method finds less."""
    X, y = problem(shape)
    p, c = factors("mixed", X.shape[1]), 0.5
    penalised, free, relative = shares(p)
    relative = relative.astype(float)
    model = StretchyRegressor(k=k, c=c, a=0.0, penalty_factor=p).fit(X, y)
    Z = features(X, 0)
    assert model.solver_ == "newton"
    assert model.dual_gap_ <= 1e-10

    def objective(x):
        alpha, gamma, m = np.split(x, [penalised.sum(), penalised.sum() + free.sum()])
        e = y - Z[:, penalised] @ alpha - Z[:, free] @ gamma - m
        size = np.abs(alpha)
        value = relative @ size**k + 2 * c * e @ e
        slope = k * relative * np.sign(alpha) * size ** (k - 1) - 4 * c * Z[:, penalised].T @ e
        return value, np.concatenate([slope, -4 * c * Z[:, free].T @ e, [-4 * c * e.sum()]])

    x = np.concatenate([model.alpha_[penalised], model.alpha_[free], [model._state.intercept[0]]])
    value, slope = objective(x)
    assert np.abs(slope).max() <= 1e-7 * 4 * c * np.abs(Z).sum(axis=0).max()
    less = minimize(objective, x * 0.9, jac=True, method="L-BFGS-B", options={"maxiter": 5000})
    assert value <= less.fun * (1 + 1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_generalised_ridge(shape):
    """k = 2 at a = 0: Ridge on columns divided by sqrt(p), a U without penalty by hand."""
    X, y = problem(shape)
    p, Z = factors("finite", X.shape[1]), features(X, 0)
    model = of("ridge", p).fit(X, y)
    scale = np.sqrt(p / p.mean())
    ridge = Ridge(alpha=1 / 6.0, solver="svd").fit(Z / scale, y)
    assert_close(model.alpha_, ridge.coef_ / scale)
    p = factors("mixed", X.shape[1])
    penalised, free, relative = shares(p)
    A = np.column_stack([Z[:, penalised | free], np.ones(len(y))])
    penalty = np.zeros(X.shape[1] + 1)
    penalty[:-1][penalised] = relative.astype(float) / 6.0
    kept = np.append(penalised | free, True)
    coef = np.linalg.solve(A.T @ A + np.diag(penalty[kept]), A.T @ y)
    assert_close(of("ridge", p).fit(X, y).alpha_[penalised | free], coef[:-1])


@pytest.mark.parametrize("estimator", [StretchyRegressor, StretchyClassifier])
@pytest.mark.parametrize("a", [-0.2, 0.0])
def test_equal_factors_change_nothing(estimator, a):
    X, y = problem("wide")
    y = y > y.mean() if estimator is StretchyClassifier else y
    plain = estimator(a=a).fit(X, y)
    for value in (1, 0.3, 7.0, 1e300):
        model = estimator(a=a, penalty_factor=np.full(X.shape[1], value)).fit(X, y)
        np.testing.assert_array_equal(model.alpha_, plain.alpha_)
        np.testing.assert_array_equal(model.intercept_, plain.intercept_)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", SHAPES)
def test_only_ratios_count(shape, name):
    X, y = problem(shape)
    p = factors("mixed", X.shape[1])
    model = of(name, p).fit(X, y)
    assert_close(of(name, 17.0 * p).fit(X, y).alpha_, model.alpha_, 1e-10)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", SHAPES)
def test_inf_is_leaving_the_column_out(shape, name):
    X, y = problem(shape)
    p = factors("mixed", X.shape[1])
    kept = np.isfinite(p)
    model, less = of(name, p).fit(X, y), of(name, p[kept]).fit(X[:, kept], y)
    assert_close(model.alpha_[kept], less.alpha_, 1e-11)
    assert not model.support_[~kept].any()
    assert_close(model.predict(X + 1.0), less.predict(X[:, kept] + 1.0), 1e-11)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", SHAPES)
class TestInvariances:
    def test_permutation(self, shape, name):
        X, y = problem(shape)
        p = factors("mixed", X.shape[1])
        columns = np.random.default_rng(3).permutation(X.shape[1])
        rows = np.random.default_rng(4).permutation(len(y))
        model = of(name, p).fit(X, y)
        moved = of(name, p[columns]).fit(X[rows][:, columns], y[rows])
        assert_close(moved.alpha_, model.alpha_[columns])

    def test_units(self, shape, name):
        X, y = problem(shape)
        p, units = factors("mixed", X.shape[1]), np.logspace(-6, 6, X.shape[1])
        model, other = of(name, p).fit(X, y), of(name, p).fit(X * units + 5 * units, y)
        assert_close(other.alpha_, model.alpha_, 1e-8)
        assert_close(other.coef_ * units, model.coef_, 1e-8)

    def test_repetition_is_weight(self, shape, name):
        X, y = problem(shape)
        p, w = factors("mixed", X.shape[1]), np.random.default_rng(5).integers(0, 4, len(y))
        weighed = of(name, p).fit(X, y, sample_weight=w)
        repeated = of(name, p).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        assert_close(weighed.alpha_, repeated.alpha_)
        assert abs(weighed.dof_ - repeated.dof_) <= 1e-7

    def test_solvers(self, shape, name):
        X, y = problem(shape)
        if name == "bridge":
            pytest.skip("the exact minimiser has one solver; a closed form would lift this")
        p = factors("mixed", X.shape[1])
        dual, primal = (of(name, p, solver=s).fit(X, y) for s in ("dual", "primal"))
        assert_close(dual.alpha_, primal.alpha_)
        assert_close(dual.dual_coef_, primal.dual_coef_, 1e-8)
        assert abs(dual.dof_ - primal.dof_) <= 1e-9
        assert_close(dual.coef_std(1.0), primal.coef_std(1.0), 1e-8)
        assert_close(dual.coef_std(), primal.coef_std(), 1e-8)

    def test_storages(self, shape, name, tmp_path):
        X, y = problem(shape)
        X[np.abs(X - X.mean(axis=0)) < X.std(axis=0)] = 0.0
        p = factors("mixed", X.shape[1])
        model, new = of(name, p).fit(X, y), X[:5] + 0.1
        np.save(tmp_path / "X.npy", X)
        frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
        others = [sparse.csr_array(X), sparse.csc_matrix(X), np.load(tmp_path / "X.npy", "r")]
        for other in [*others, frame, np.asfortranarray(X)]:
            found = of(name, p).fit(other, y)
            assert_close(found.alpha_, model.alpha_, 1e-10)
            told = pd.DataFrame(new, columns=frame.columns) if other is frame else new
            assert_close(found.predict(told), model.predict(new), 1e-10)

    def test_spread(self, shape, name):
        """coef_std from the derivative of the coefficients by every y."""
        X, y = (part[:24] for part in problem(shape))
        p, step = factors("mixed", X.shape[1]), 1e-4
        model = of(name, p, c=0.3).fit(X, y)
        A = np.empty((X.shape[1], len(y)))
        for i in range(len(y)):
            up, down = y.copy(), y.copy()
            up[i] += step
            down[i] -= step
            both = [of(name, p, c=0.3).fit(X, v).coef_ for v in (up, down)]
            A[:, i] = (both[0] - both[1]) / (2 * step)
        assert_close(model.coef_std(4.0), 2 * np.sqrt((A**2).sum(axis=1)), 1e-5)
        assert_close(model.coef_covariance(4.0), 4 * A @ A.T, 1e-5)
        assert of(name, factors("finite", X.shape[1]), c=0.3).fit(X, y).coef_std(1.0).all()


@pytest.mark.parametrize("kind", FACTORS)
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_in_scales_of_their_own(shape, kind):
    """Powers that leave the range of float64 are taken of scaled rows and columns."""
    X, y = problem(shape)
    X[0, 4], p, a, k = -1e3, factors(kind, X.shape[1]), -7.0, 1.1
    P = features(X.astype(np.longdouble), a)
    assert 10 * np.log(P.astype(float)).max() > 300
    # samples of such different sizes are a system of poor condition, and the model says so
    trouble = pytest.warns(IllConditionedWarning) if shape == "wide" else nullcontext()
    for c in (1e-160, 1e-120):
        with trouble:
            model = StretchyRegressor(k=k, c=c, a=a, penalty_factor=p).fit(X, y)
        coef, constant = fitted(P, y, a, k, c, p)
        assert_close(model.predict(X), (P @ coef + constant).astype(float), 1e-11)
        assert_close(model.alpha_, coef, 1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_only_free_columns_are_least_squares(name):
    X, y = problem("tall")
    model = of(name, np.zeros(X.shape[1])).fit(X, y)
    F = np.column_stack([np.ones(len(y)), features(X, MODELS[name][0])])
    assert_close(model.predict(X), F @ least_squares(F, y[:, None], np.ones(len(y)))[:, 0])
    assert model.dof_ == pytest.approx(X.shape[1] + 1)


def test_strong_and_weak_penalties():
    """A large factor presses a coefficient to zero, a small one leaves it at least squares."""
    X, y = problem("tall")
    p = np.ones(X.shape[1])
    p[0], p[1] = 1e-8, 1e8
    # the mean is 1e8 / 12, so that all but column 1 are hardly penalised
    model = StretchyRegressor(k=2.0, c=1.0, a=0.0, penalty_factor=p).fit(X, y)
    least = StretchyRegressor(k=2.0, c=1.0, a=0.0, penalty_factor=np.where(p > 1, np.inf, 0.0))
    assert abs(model.alpha_[0] - least.fit(X, y).alpha_[0]) < 0.3
    assert np.abs(model.alpha_[1]) < np.abs(
        least.set_params(penalty_factor=None).fit(X, y).alpha_[1]
    )


def test_several_targets():
    X, y = problem("wide")
    Y = np.column_stack([y, y**2, X[:, 7]])
    p = factors("mixed", X.shape[1])
    for name in MODELS:
        model = of(name, p).fit(X, Y)
        for t in range(3):
            assert_close(model.alpha_[t], of(name, p).fit(X, Y[:, t]).alpha_, 1e-8)


def test_density_keeps_what_is_never_penalised():
    X, y = problem("wide")
    p = factors("mixed", X.shape[1])
    for name in MODELS:
        whole = of(name, p).fit(X, y)
        model = of(name, p, density=6).fit(X, y)
        penalised, free, _ = shares(p)
        strong = np.argsort(-np.abs(np.where(penalised, whole.alpha_, 0.0)))[:6]
        np.testing.assert_array_equal(np.flatnonzero(model.support_), np.union1d(
            strong, np.flatnonzero(free)))  # fmt: skip
        kept, relative = model.support_, np.full(X.shape[1], np.inf)
        # factors stay over the mean of all: a common multiple of those that are kept is in c
        relative[kept] = p[kept]
        mean, own = p[penalised].mean(), p[kept & penalised].mean()
        k = MODELS[name][1]
        # sum p |alpha|^k + c e^2 with p smaller by a factor f is c larger by 1/f
        factor = (own / mean) ** (1 / (k - 1)) if name != "bridge" else own / mean
        again = of(name, relative, 3.0 / factor).fit(X, y)
        assert_close(model.alpha_, again.alpha_, 1e-8)


@pytest.mark.parametrize(("a", "k"), [(-0.2, 1.25), (0.0, 1.25), (0.0, 2.0)])
def test_classifier(a, k):
    X, y = problem("tall")
    labels = np.where(y > np.median(y), "ill", "well")
    p = factors("mixed", X.shape[1])
    model = StretchyClassifier(k=k, a=a, c=1.0, penalty_factor=p).fit(X, labels)
    signs = np.where(labels == model.classes_[1], 1.0, -1.0)
    coef, _ = fitted(features(X, a), signs, a, k, 1.0, p)
    assert_close(model.alpha_, coef)
    assert model.predict_proba(X).shape == (50, 2)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("intervals", [False, True])
def test_save_and_load(name, intervals, tmp_path):
    X, y = problem("wide")
    p = factors("mixed", X.shape[1])
    for given in (p, p.tolist()):
        model = of(name, given).fit(X, y)
        skstretch.save(model, tmp_path / "model.stretchy", intervals=intervals)
        again = skstretch.load(tmp_path / "model.stretchy")
        np.testing.assert_array_equal(again.penalty_factor, p)
        np.testing.assert_array_equal(again.alpha_, model.alpha_)
        np.testing.assert_array_equal(again.predict(X + 0.1), model.predict(X + 0.1))
        method = "plus" if intervals else "residual"
        for found, told in zip(*(m.predict_interval(X[:4], method=method) for m in (again, model)),
                               strict=True):  # fmt: skip
            assert_close(found, told, 1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_onnx(name):
    runtime = pytest.importorskip("onnxruntime", reason="install skstretch[onnx] to run")
    X, y = problem("wide")
    model = of(name, factors("mixed", X.shape[1])).fit(X, y)
    graph = skstretch.to_onnx(model)
    session = runtime.InferenceSession(graph.SerializeToString())
    given = {session.get_inputs()[0].name: X}
    found = session.run(None, given)[0].ravel()
    assert_close(found, model.predict(X), 1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_effect_path(name):
    X, y = problem("wide")
    p, k = factors("mixed", X.shape[1]), MODELS[name][1]
    model = of(name, p).fit(X, y)
    for along, values in (("c", [0.1, 10.0]), ("k", [k, 2.0])):
        _, effects = model.effect_path(along=along, values=values)
        for value, effect in zip(values, effects, strict=True):
            one = of(name, p).set_params(**{along: value}).fit(X, y)
            assert_close(effect, one.coef_ * X.std(axis=0), 1e-8)


def test_clone_and_pickle():
    X, y = problem("wide")
    model = of("stretched", factors("mixed", X.shape[1])).fit(X, y)
    again = pickle.load(io.BytesIO(pickle.dumps(model)))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert_close(clone(model).fit(X, y).alpha_, model.alpha_, 1e-15)


BAD = [
    (np.ones(3), ValueError, r"shape \(3,\)"),
    (1.0, ValueError, r"shape \(\)"),
    (["a"] * 12, TypeError, "no array of numbers"),
    (np.r_[-2.0, np.ones(11)], ValueError, r"penalty_factor\[0\]=-2"),
    (np.r_[1.0, np.nan, np.ones(10)], ValueError, r"penalty_factor\[1\]=nan"),
    (np.full(12, np.inf), ValueError, "inf for every feature"),
    (np.r_[1e-40, np.ones(11)], ValueError, r"penalty_factor\[0\]=1e-40"),
]


@pytest.mark.parametrize(("value", "kind", "words"), BAD)
@pytest.mark.parametrize(
    "estimator",
    [StretchyRegressor, StretchyRegressorCV, StretchyClassifier, StretchyClassifierCV],
)
def test_bad_values(estimator, value, kind, words):
    X, y = problem("tall")
    with pytest.raises(kind, match=words):
        estimator(penalty_factor=value).fit(X, y > y.mean())


def test_what_cannot_be():
    X, y = problem("wide")
    p = np.ones(50)
    p[0] = 0.0
    with pytest.raises(ValueError, match="with 24 samples at most 23"):
        StretchyRegressor(penalty_factor=np.zeros(50)).fit(X, y)
    twice = np.column_stack([X, X[:, 0]])
    with pytest.raises(ValueError, match="0 for column 0, column 50, which determine"):
        StretchyRegressor(penalty_factor=np.append(p, 0.0)).fit(twice, y)
    for fit_intercept in (False, "column"):
        with pytest.raises(ValueError, match="joins the free intercept"):
            StretchyRegressor(penalty_factor=p, fit_intercept=fit_intercept).fit(X, y)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fit_intercept", [False, "column"])
def test_finite_factors_with_other_intercepts(shape, fit_intercept):
    """As columns in another scale, s = p^(-1/k), which b = log s gives to exp(a z + b)."""
    X, y = problem(shape)
    p = factors("finite", X.shape[1])
    for k in (1.3, 2.0):
        b = -np.log(p / p.mean()) / k
        shared = {"k": k, "c": 2.0, "fit_intercept": fit_intercept}
        model = StretchyRegressor(penalty_factor=p, **shared).fit(X, y)
        scaled = StretchyRegressor(b=b, **shared).fit(X, y)
        assert_close(model.alpha_, scaled.alpha_ * np.exp(b), 1e-8)
        assert_close(model.predict(X), scaled.predict(X))


@pytest.mark.parametrize("shape", SHAPES)
def test_identity(shape):
    """Zero and inf for data that is taken as it is."""
    X, y = problem(shape)
    X, p = np.abs(X), factors("zeros", X.shape[1])
    model = StretchyRegressor(k=1.5, c=2.0, quadrant="identity", penalty_factor=p).fit(X, y)
    coef, constant = fitted(X, y, 1.0, 1.5, 2.0, p)
    assert_close(model.alpha_, coef, 1e-8)
    assert_close(model.predict(X), X @ coef + constant, 1e-8)
