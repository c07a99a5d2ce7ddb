"""The matrix-free solver: against the direct ones, and its residual against the literal system."""

import tracemalloc
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn import clone, config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from skstretch import StretchyClassifier, StretchyRegressor
from skstretch.core import krylov as core_krylov
from skstretch.core.features import TILE_BYTES
from skstretch.core.krylov import BLOCK, GROUP, gmres, sketch
from skstretch.estimators import inputs
from skstretch.exceptions import SingularSystemError
from skstretch.solve import Spec
from skstretch.solve import choose as fit_module
from skstretch.solve import krylov as iteration
from skstretch.solve.krylov import CentredProducts
from tests.dask_arrays import as_dask
from tests.references import INTERCEPTS, exponential_features
from tests.solve.samples import plain, raw_design, system

TOLERANCE = Spec.tolerance

intercepts = pytest.mark.parametrize("intercept", INTERCEPTS)
shapes = pytest.mark.parametrize("shape", [(60, 200), (150, 30), (40, 60)])


def close(found, expected, share):
    size = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=share * size)


def literal_residual(P, y, k, c, intercept, weights, model):
    """What a solution leaves of the system ``P Q' + lam W^-1`` or ``Q'WP + lam I``, relative."""
    r, lam = 1.0 / (k - 1.0), 1.0 / (c * k)
    error = y - P @ model.alpha_ - model.intercept_
    root = np.sqrt(weights)
    mean = weights @ y / weights.sum() if intercept is True else 0.0
    if model._state.space == "dual":
        left = root * error - lam * model.dual_coef_ / root
        return np.linalg.norm(left) / np.linalg.norm(root * (y - mean))
    Q = P**r
    q, total = weights @ Q / weights.sum(), weights.sum()
    if intercept == "column":  # with the equation of its weight taken in
        mean = total / (total + lam) * (weights @ y) / total
    left = Q.T @ (weights * error) - lam * model.alpha_
    whole = Q.T @ (weights * (y - mean))
    assert np.abs(q).min() > 0
    return np.linalg.norm(left) / np.linalg.norm(whole)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1.1, 1.25, 1.5, 2.0])
@shapes
@intercepts
def test_equals_the_formula(shape, k, intercept, weighted):
    """A residual of 1e-10 is an error of at most 1e-10 times a condition number of 1e3."""
    P, y = exponential_features(*shape, a=0.3)
    Y = np.column_stack([y, np.cos(5 * y), y + 100.0])
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(y)) if weighted else None
    coef, constant = plain(P, Y, k, 3.0, intercept, weights)
    fit = system(P, k, 3.0, intercept, "krylov", weights).fit(Y)
    close(fit.coef, coef, 1e-7)
    np.testing.assert_allclose(fit.intercept, constant, rtol=1e-7, atol=1e-7)
    close(P @ fit.coef + fit.intercept, P @ coef + constant, 1e-8)
    assert fit.n_iter >= 1
    assert fit.residual <= TOLERANCE


@pytest.mark.parametrize("k", [1.25, 2.0])
@shapes
@intercepts
def test_residual_is_that_of_the_literal_system(shape, k, intercept):
    P, y = exponential_features(*shape, a=0.3)
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
    params = {"quadrant": "identity", "fit_intercept": intercept, "solver": "krylov"}
    model = StretchyRegressor(k, 3.0, **params).fit(P, y, sample_weight=weights)
    found = literal_residual(P, y, k, 3.0, intercept, weights, model)
    assert found <= TOLERANCE
    assert model.plan_.residual <= TOLERANCE
    # a literal product rounds too: at a large residual the two are the same number
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(iteration, "MAX_ITER", 2)
        patch.setattr(iteration, "SKETCH_SIZE", 1)
        with pytest.warns(ConvergenceWarning, match="after 2 iterations"):
            model.fit(P, y, sample_weight=weights)
    assert model.n_iter_ == 2
    assert model.plan_.residual > 1e-6
    found = literal_residual(P, y, k, 3.0, intercept, weights, model)
    assert model.plan_.residual == pytest.approx(found, rel=1e-4)


def sparse_sample(M, D):
    rng = np.random.default_rng(0)
    X = sparse.random_array((M, D), density=0.1, format="csr", random_state=rng)
    return X, X @ rng.standard_normal(D) + 0.1 * rng.standard_normal(M)


@pytest.mark.parametrize("kind", ["dense", "sparse", "file"])
@pytest.mark.parametrize("shape", [(80, 300), (300, 60)])
@intercepts
def test_equals_the_direct_estimator(kind, shape, intercept, tmp_path):
    """Through the transform, from any storage, with several targets and weights of zero."""
    X, y = sparse_sample(*shape)
    if kind != "sparse":
        X = X.toarray()
    if kind == "file":
        np.save(tmp_path / "X.npy", X)
        X = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert sparse.issparse(X) == (kind == "sparse")
    Y = np.column_stack([y, y**2])
    weights = np.random.default_rng(1).uniform(0.0, 2.0, len(y)).round(1)
    direct = StretchyRegressor(1.5, 1.0, fit_intercept=intercept).fit(X, Y, weights)
    model = StretchyRegressor(1.5, 1.0, fit_intercept=intercept, solver="krylov")
    model.fit(X, Y, weights)
    assert (model.solver_, model._state.space) == ("krylov", direct._state.space)
    assert direct.n_iter_ is None
    assert direct.plan_.residual is None
    close(model.alpha_, direct.alpha_, 1e-8)
    close(model.intercept_, direct.intercept_, 1e-8)
    close(model.predict(X), direct.predict(X), 1e-9)
    close(model.dual_coef_, direct.dual_coef_, 1e-7)
    assert np.isnan([model.rcond_, model.dof_]).all()


def test_linear_limit():
    X, y = sparse_sample(50, 120)
    direct = StretchyRegressor(k=2.0, c=2.0, a=0).fit(X, y)
    model = StretchyRegressor(k=2.0, c=2.0, a=0, solver="krylov").fit(X, y)
    close(model.alpha_, direct.alpha_, 1e-8)


def test_second_pass():
    X, y = sparse_sample(60, 200)
    Y = np.column_stack([y, -(y**2)])
    direct = StretchyRegressor(1.5, 1.0, density=90).fit(X, Y)
    model = StretchyRegressor(1.5, 1.0, density=90, solver="krylov").fit(X, Y)
    np.testing.assert_array_equal(model.support_, direct.support_)
    close(model.alpha_, direct.alpha_, 1e-8)
    assert np.shape(model.n_iter_) in [(), (2,)]


def test_constant_targets_take_no_iteration():
    X, _ = sparse_sample(40, 90)
    model = StretchyRegressor(solver="krylov").fit(X, np.full(40, 3.0))
    assert (model.n_iter_, model.plan_.residual) == (0, 0.0)
    np.testing.assert_array_equal(model.alpha_, 0.0)
    np.testing.assert_allclose(model.predict(X), 3.0, rtol=1e-15)


def test_small_memory_gives_the_same():
    """Passes of a few columns at a time, short bases, few directions."""
    X, y = sparse_sample(60, 200)
    Y = np.column_stack([y, y**2])
    whole = StretchyRegressor(1.5, 1.0, solver="krylov").fit(X, Y)
    with config_context(working_memory=0.03):
        small = StretchyRegressor(1.5, 1.0, solver="krylov").fit(X, Y)
    close(small.alpha_, whole.alpha_, 1e-8)
    assert small.plan_.residual <= TOLERANCE


class Elsewhere:
    """Numbers that are made when they are read."""

    def __init__(self, n_rows, n_columns):
        self.shape, self.dtype = (n_rows, n_columns), np.dtype(np.float64)

    def __getitem__(self, key):
        rows, columns = (np.arange(part.start, part.stop) for part in key)
        return np.sin(np.outer(rows + 1.0, columns + 1.0))


@pytest.mark.parametrize("shape", [(40, 30_000), (30_000, 40)])
def test_working_memory_bounds_what_is_held(shape):
    """Ten numbers for each of the many, and twice the budget: not twenty directions at once."""
    X, y = Elsewhere(*shape), np.sin(np.arange(shape[0]))
    model = StretchyRegressor(1.5, 0.01, solver="krylov")
    with config_context(working_memory=1):
        tracemalloc.start()
        try:
            model.fit(X, y)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert model.solver_ == "krylov"
    assert peak < 10 * 8 * max(shape) + 2 * 2**20


@pytest.mark.parametrize("width", [1, 3, 7, 100])
def test_products_by_width(width, monkeypatch):
    """The same products, whatever number of columns a pass takes."""
    P, _ = exponential_features(9, 14)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 9)
    V = np.random.default_rng(2).standard_normal((9, 7))
    products = CentredProducts(raw_design(P), weights, 4.0)
    monkeypatch.setattr(iteration, "working_bytes", lambda: width * 2 * 8 * 2 * (9 + 14))
    Pc, Qc = (F - weights @ F / weights.sum() for F in (P, P**4.0))
    np.testing.assert_allclose(products.back(V), Qc.T @ V, rtol=0, atol=1e-12)
    np.testing.assert_allclose(products.forward(Qc.T @ V), Pc @ (Qc.T @ V), rtol=0, atol=1e-11)
    np.testing.assert_allclose(products.dual_product(V), Pc @ (Qc.T @ V), rtol=0, atol=1e-11)
    A = Qc.T @ V
    expected = Qc.T @ (weights[:, None] * (Pc @ A))
    np.testing.assert_allclose(products.primal_product(A), expected, rtol=1e-12)
    np.testing.assert_allclose(products.q[:, 0], weights @ P**4.0 / weights.sum(), rtol=1e-14)


def test_sketch_saves_iterations(monkeypatch):
    """Twenty strong directions above a flat rest, as in spectra and images."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((200, 20)) * np.logspace(0, 3, 20)
    X = scores @ rng.standard_normal((20, 400)) + rng.standard_normal((200, 400))
    y = scores[:, 0] + rng.standard_normal(200)
    with_sketch = StretchyRegressor(1.5, solver="krylov").fit(X, y)
    monkeypatch.setattr(iteration, "SKETCH_SIZE", 1)
    without = StretchyRegressor(1.5, solver="krylov").fit(X, y)
    close(without.alpha_, with_sketch.alpha_, 1e-6)
    assert with_sketch.n_iter_ < 0.6 * without.n_iter_


def ill_conditioned():
    """Samples that differ in the eighth digit, and hardly a penalty."""
    P, y = exponential_features(20, 60, a=0.3)
    return np.vstack([P, P * (1 + 1e-8 * np.arange(1, 21)[:, None])]), np.concatenate([y, -y])


def test_warns_where_it_does_not_converge():
    P, y = ill_conditioned()
    expected = r"k=1.5, c=1e\+20.*relative residual of \S+, above 1e-10.*smaller c.*\"dual\""
    with pytest.warns(ConvergenceWarning, match=expected):
        model = StretchyRegressor(1.5, 1e20, quadrant="identity", solver="krylov").fit(P, y)
    assert TOLERANCE < model.plan_.residual <= 1.0
    literal = literal_residual(P, y, 1.5, 1e20, True, np.ones(40), model)
    assert model.plan_.residual == pytest.approx(literal, rel=1e-2)


def test_powers_that_need_scaled_rows_are_refused():
    P, y = exponential_features(6, 15)
    for scale, c in product((2.0**120, 2.0**-120), (1.0, "auto")):
        with pytest.raises(FloatingPointError, match=r'k=1.1.*scaled rows.*solver="dual"'):
            StretchyRegressor(1.1, c, quadrant="identity", solver="krylov").fit(P * scale, y)


def test_no_constant_part_and_no_penalty_is_singular():
    """Centred features without an intercept cannot fit a mean, but for rounding."""
    X, y = sparse_sample(30, 90)
    params = {"k": 2.0, "a": 0, "c": np.inf, "fit_intercept": False, "solver": "krylov"}
    with pytest.raises((SingularSystemError, ConvergenceWarning)):
        StretchyRegressor(**params).fit(X, y + 1.0)


def test_what_needs_an_inverse_says_so():
    P, y = exponential_features(30, 60)
    model = StretchyRegressor(solver="krylov").fit(P, y)
    for call in (
        lambda: model.predict_interval(P),
        lambda: model.predict_interval(P, method="residual"),
        model.coef_std,
        lambda: model.coef_std(1.0),
        model.coef_covariance,
    ):
        with pytest.raises(ValueError, match=r'needs the inverse.*solver="krylov".*solver="dual"'):
            call()


def quick_up_to(monkeypatch, side):
    """Factorising a larger system takes longer than the budget allows."""
    monkeypatch.setattr(fit_module, "RATE", 2.0 * side**3 / fit_module.BUDGET.seconds)


def room_for(monkeypatch, n_bytes):
    """The memory for square matrices."""
    monkeypatch.setattr(fit_module.Budget, "available_bytes", n_bytes)


@pytest.mark.parametrize("solver", ["auto", "dual", "krylov"])
@pytest.mark.parametrize("large", [False, True])
def test_auto_turns_to_krylov_where_k_is_too_large(solver, large, monkeypatch):
    room_for(monkeypatch, 3 * 8 * 30**2 - large)
    P, y = exponential_features(30, 60)
    model = StretchyRegressor(solver=solver).fit(P, y)
    expected = "krylov" if solver == "krylov" or (solver == "auto" and large) else "dual"
    assert model.solver_ == expected
    assert (model.n_iter_ is None) == (expected == "dual")
    if expected == "krylov":
        with pytest.raises(ValueError, match="needs the inverse"):
            model.predict_interval(P)
    else:
        model.predict_interval(P)


def test_auto_turns_to_krylov_where_lu_takes_too_long(monkeypatch):
    quick_up_to(monkeypatch, 29)
    P, y = exponential_features(30, 60)
    assert StretchyRegressor().fit(P, y).solver_ == "krylov"
    assert StretchyRegressor().fit(P[:29], y[:29]).solver_ == "dual"
    # powers that need scaled rows stay with LU
    big = StretchyRegressor(1.1, 1.0, quadrant="identity", fit_intercept=False)
    assert big.fit(P * 2.0**120, y).solver_ in ("dual", "qr")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifier_fits_folds_in_place_of_leave_one_out(n_classes):
    """Krylov has no inverse to leave single samples out with: ten folds where samples are few."""
    X, y = sparse_sample(90, 200)
    labels = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    direct = StretchyClassifier(threshold="zero").fit(X, labels)
    model = StretchyClassifier(solver="krylov", threshold="zero").fit(X, labels)
    close(model.alpha_, direct.alpha_, 1e-7)
    np.testing.assert_array_equal(model.threshold_, direct.threshold_)
    np.testing.assert_array_equal(model.predict(X), direct.predict(X))
    assert (model.plan_.held_out, direct.plan_.held_out) == ("folds", "leave one out")
    given = StratifiedKFold(10, shuffle=True, random_state=0)
    by_hand = StretchyClassifier(threshold="zero", cv=given).fit(X, labels)
    assert by_hand.plan_.held_out == "folds"
    np.testing.assert_allclose(model.predict_proba(X), by_hand.predict_proba(X), atol=1e-7)


def test_costly_systems_hold_out_once_and_iterate(monkeypatch):
    """Above the stated size: Krylov, one fold, and the inverse only where it is asked for."""
    X, y = sparse_sample(90, 200)
    labels = y > np.median(y)
    exact = StretchyClassifier().fit(X, labels)
    assert (exact.solver_, exact.plan_.held_out) == ("dual", "leave one out")
    quick_up_to(monkeypatch, 89)
    monkeypatch.setattr(inputs, "ENOUGH", 8)
    model = StretchyClassifier().fit(X, labels)
    assert (model.solver_, model.plan_.held_out) == ("krylov", "one fold")
    assert model.c_ == pytest.approx(exact.c_, rel=1e-12)
    close(model.alpha_, exact.alpha_, 1e-7)
    direct = StretchyClassifier(solver="dual").fit(X, labels)
    assert (direct.solver_, direct.plan_.held_out) == ("dual", "one fold")
    np.testing.assert_allclose(model.predict_proba(X), direct.predict_proba(X), atol=1e-3)
    given = [next(StratifiedKFold(10, shuffle=True, random_state=0).split(X, labels))]
    by_hand = StretchyClassifier(solver="dual", cv=given).fit(X, labels)
    np.testing.assert_allclose(direct.predict_proba(X), by_hand.predict_proba(X), atol=1e-12)
    number = StretchyRegressor(c="auto").fit(X, y)
    assert number.solver_ == "krylov"
    monkeypatch.undo()
    bounds = number.predict_interval(X)
    np.testing.assert_allclose(
        bounds, StretchyRegressor(c="auto").fit(X, y).predict_interval(X), rtol=1e-6, atol=1e-7
    )


def test_intervals_of_costly_systems_have_their_inverse(monkeypatch):
    quick_up_to(monkeypatch, 29)
    P, y = exponential_features(30, 60)
    model = StretchyRegressor(c="auto").fit(P, y)
    assert model.solver_ == "krylov"
    found = model.predict_interval(P)
    monkeypatch.undo()
    np.testing.assert_allclose(found, StretchyRegressor(c=model.c_).fit(P, y).predict_interval(P))
    room_for(monkeypatch, 3 * 8 * 29**2)
    with pytest.raises(ValueError, match="needs the inverse"):
        StretchyRegressor(c="auto").fit(P, y).predict_interval(P)


def test_weak_penalties_of_costly_systems_go_back_to_lu(monkeypatch):
    """Steps that do not suffice are no answer where LU has one; without LU they warn."""
    quick_up_to(monkeypatch, 29)
    monkeypatch.setattr(iteration, "CYCLE", 2)
    P, y = exponential_features(30, 60)
    model = StretchyRegressor(c=1e6).fit(P, y)
    assert model.solver_ in ("dual", "qr")
    assert model.n_iter_ is None
    monkeypatch.undo()
    np.testing.assert_allclose(model.alpha_, StretchyRegressor(c=1e6).fit(P, y).alpha_)


@pytest.mark.parametrize("density", [1.0, 0.5])
def test_classifier_folds_are_fitted_one_by_one(density):
    """The same cut and probabilities as from the exact folds of one inverse."""
    X, y = sparse_sample(90, 200)
    labels = y > np.quantile(y, 0.7)
    params = {"cv": 4, "threshold": "balanced", "density": density}
    direct = StretchyClassifier(**params).fit(X, labels)
    model = StretchyClassifier(solver="krylov", **params).fit(X, labels)
    assert model.threshold_ == pytest.approx(direct.threshold_, rel=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), direct.predict_proba(X), atol=1e-7)


def test_gmres_solves_all_columns_in_one_space():
    """One column spans a space of dimension two, another is zero, the third needs them all.

    Two directions a step fill the twelve dimensions in half the steps that one column takes.
    """
    rng = np.random.default_rng(0)
    A = np.eye(12) + 0.3 * rng.standard_normal((12, 12))
    vectors = np.linalg.eigh(A + A.T)[1]
    B = np.column_stack([vectors[:, 0] + vectors[:, 5], np.zeros(12), rng.standard_normal(12)])
    calls = []

    def product(V):
        calls.append(V.shape[1])
        return (A + A.T) @ V

    found = gmres(product, lambda V: V, B, np.full(3, 1e-11), 30, 100)
    np.testing.assert_allclose(found.X, np.linalg.solve(A + A.T, B), rtol=0, atol=1e-8)
    assert found.n_iter <= 12
    # no direction twice, none of a column without anything to solve, and one product to check
    assert calls[0] == 2
    assert sum(calls[:-1]) <= 12
    assert calls[-1] == 3


def test_gmres_takes_columns_that_depend_on_each_other_as_fewer():
    """Targets of classes add up to a constant: centred, one of them is known from the others."""
    rng = np.random.default_rng(1)
    A = 3 * np.eye(40) + 0.2 * rng.standard_normal((40, 40))
    B = rng.standard_normal((40, 4))
    B = np.column_stack([B, -B.sum(axis=1), B[:, 0]])
    widths = []

    def product(V):
        widths.append(V.shape[1])
        return A @ V

    found = gmres(product, lambda V: V, B, np.full(6, 1e-11), 30, 100)
    close(found.X, np.linalg.solve(A, B), 1e-10)
    assert max(widths[:-1]) == 4


def test_gmres_shares_spaces_among_some_columns_at_a_time(monkeypatch):
    """More columns than one space takes: every group its own, and one product a step for all."""
    rng = np.random.default_rng(2)
    A = 3 * np.eye(90) + 0.1 * rng.standard_normal((90, 90))
    B = rng.standard_normal((90, 2 * GROUP + 3))
    whole = gmres(lambda V: A @ V, lambda V: V, B, np.full(B.shape[1], 1e-11), 50, 100)
    close(whole.X, np.linalg.solve(A, B), 1e-10)
    monkeypatch.setattr(core_krylov, "GROUP", 1)
    alone = gmres(lambda V: A @ V, lambda V: V, B, np.full(B.shape[1], 1e-11), 50, 100)
    close(alone.X, whole.X, 1e-9)
    assert whole.n_iter < alone.n_iter


def test_gmres_restarts_with_what_is_left():
    rng = np.random.default_rng(3)
    A = 3 * np.eye(60) + 0.15 * rng.standard_normal((60, 60))
    B = rng.standard_normal((60, 3))
    found = gmres(lambda V: A @ V, lambda V: V, B, np.full(3, 1e-11), 4, 100)
    close(found.X, np.linalg.solve(A, B), 1e-10)
    close(found.R, B - A @ found.X, 1e-3)
    assert found.n_iter > 4


def test_sketch_is_exact_on_its_span_and_grows_as_needed():
    rng = np.random.default_rng(0)
    n = 200
    flat = np.diag(rng.uniform(1.0, 2.0, n))
    assert sketch(lambda V: flat @ V, n, 100, 0.1).U.shape[1] == BLOCK
    U = np.linalg.qr(rng.standard_normal((n, 50)))[0]
    K = flat + (U * np.logspace(6, 3, 50)) @ (U.T + 1e-3 * rng.standard_normal((50, n)))
    rough = sketch(lambda V: K @ V, n, 160, 0.1)
    assert 3 * BLOCK <= rough.U.shape[1] <= 5 * BLOCK
    V = (K + 0.1 * np.eye(n)) @ rough.U
    np.testing.assert_allclose(rough.solve(V), rough.U, atol=1e-7)


@cache
def large_block():
    """Data that fit into no cache, targets and weights."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 1500)).astype(np.float32).astype(np.float64)
    assert X.nbytes > TILE_BYTES
    return X, X[:, 0] + rng.standard_normal(400) + 3.0, rng.uniform(0.5, 2.0, 400)


@cache
def directly(k, intercept):
    X, y, weights = large_block()
    direct = StretchyRegressor(k=k, c=0.01, fit_intercept=intercept)
    direct.fit(X, y, sample_weight=weights)
    assert direct.solver_ != "krylov"
    return direct


@pytest.mark.parametrize("storage", ["dense", "float32", "column order", "file", "sparse", "dask"])
@pytest.mark.parametrize("k", [1.25, 2.0])
@intercepts
def test_large_blocks(storage, k, intercept, tmp_path):
    """Blocks that are passed over in tiles give what the direct solver gives, whatever holds X."""
    X, y, weights = large_block()
    direct = directly(k, intercept)
    np.save(tmp_path / "X.npy", X)
    held = {
        "dense": lambda: X,
        "float32": lambda: X.astype(np.float32),
        "column order": lambda: np.asfortranarray(X),
        "file": lambda: np.load(tmp_path / "X.npy", mmap_mode="r"),
        "sparse": lambda: sparse.csr_array(X),
        "dask": lambda: as_dask(X, (400, 700)),
    }[storage]()
    iterated = clone(direct).set_params(solver="krylov").fit(held, y, sample_weight=weights)
    assert iterated.solver_ == "krylov"
    # what is fitted to float32 answers in float32
    own = max(1e-8, 4.0 * np.finfo(iterated.coef_.dtype).eps)
    close(iterated.predict(X), direct.predict(X), own)
    close(iterated.alpha_, direct.alpha_, 10 * own)
