"""The exact minimiser against 60 digits, independent solvers, literal refits and invariances."""

from dataclasses import replace

import numpy as np
import pytest

from skstretch.core.bridge import REPORTED, newton, rescale, start
from skstretch.core.bridge_left_out import (
    Start,
    leave_one_out,
    refits,
    solved_without_each,
)
from skstretch.core.bridge_path import (
    Path,
    approximate_loo,
    derivative,
    finish,
    paths,
    solve,
    space,
    split,
)  # fmt: skip
from skstretch.core.bridge_products import DenseProducts, Trial, TrialResult, phi, power
from skstretch.solve.choose import PATH, SCORING
from tests.references import minimiser_in_60_digits

pytestmark = pytest.mark.filterwarnings("error")

KS = (1.02, 1.05, 1.1, 1.25, 1.5, 1.75, 2.0)
# Some powers and all strengths run always, the rest with the slow tests.
SOME = [k if k in (1.05, 1.5) else pytest.param(k, marks=pytest.mark.slow) for k in KS]
CS = (1e-4, 1e-2, 1.0, 1e2, 1e4, 1e6, 1e8)
KINDS = ("free", "column", "none")


def make(M, D, seed=0, weighted=False, centred=True):
    """Z-scores by weighted mean and deviation, a target with an offset, weights."""
    rng = np.random.default_rng(seed)
    Z, y = rng.standard_normal((M, D)), rng.standard_normal(M) + 1.5
    w = 0.7 * rng.integers(1, 4, M) if weighted else np.ones(M)
    if centred:
        Z = Z - w @ Z / w.sum()
    return Z / np.sqrt(w @ Z**2 / w.sum()), y, w


def fitted(Z, y, w, k, c, kind="free"):
    s, point = solve(space(Z, np.sqrt(w), kind), k, c, y)
    return s, point, finish(s, point, y)


def objective(Z, y, w, k, c, alpha, m):
    return np.sum(np.abs(alpha) ** k) + 2 * c * w @ (y - Z @ alpha - m) ** 2


@pytest.mark.parametrize("k", SOME)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(8, 14), (12, 4)], ids=["wide", "tall"])
@pytest.mark.parametrize(
    "weighted", [pytest.param(False, marks=pytest.mark.slow), True], ids=["plain", "weighted"]
)
def test_sixty_digits(shape, weighted, kind, k):
    # Without an intercept z-scores miss one direction only up to rounding, which at c = 1e8 is
    # part of the problem: see test_unreached for exact centring.
    Z, y, w = make(*shape, weighted=weighted, centred=kind != "none")
    for c in CS if not weighted else CS[::3]:
        _, _, fit = fitted(Z, y, w, k, c, kind)
        alpha, m, predicted = minimiser_in_60_digits(Z, y, w, k, c, kind, fit.e)
        assert fit.gap <= REPORTED.gap
        assert fit.gap <= 1e-10
        assert np.abs(fit.alpha - alpha).max() <= 1e-8 * np.abs(alpha).max()
        top = np.abs(predicted).max()
        assert np.abs(Z @ fit.alpha + fit.m - predicted).max() <= 1e-10 * top
        assert abs(fit.m - m) <= 1e-10 * top
        assert np.abs(y - fit.residual - predicted).max() <= 1e-10 * np.abs(y).max()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [1.05, 1.25, 1.5])
def test_every_coefficient_of_columns_of_any_length(k, seed):
    """Fewer features than samples, in scales as penalty factors from 1e-6 to 1e6 make them."""
    Z, y, w = make(14, 6, seed, weighted=True)
    Z *= 10.0 ** np.random.default_rng(seed).uniform(-6, 6, 6)
    for c in (0.1, 10.0, 1e3):
        _, _, fit = fitted(Z, y, w, k, c)
        alpha, _, predicted = minimiser_in_60_digits(Z, y, w, k, c, "free", fit.e)
        assert fit.gap <= REPORTED.gap
        np.testing.assert_allclose(fit.alpha, np.array(alpha, dtype=float), rtol=1e-6)
        assert np.abs(Z @ fit.alpha + fit.m - predicted).max() <= 1e-7 * np.abs(predicted).max()


@pytest.mark.parametrize("seed", range(12))
def test_tall_problems_of_uneven_scales_converge(seed):
    Z, y, w = make(40, 20, seed)
    Z *= 10.0 ** np.random.default_rng(seed).uniform(-6, 6, 20)
    for k in (1.05, 1.1, 1.25, 1.5):
        for c in (0.1, 10.0, 1e3):
            assert fitted(Z, y, w, k, c)[2].gap <= 1e-10


@pytest.mark.parametrize("k", [1.02, 1.1, 1.5, 2.0])
def test_unreached(k):
    """Columns that sum to zero exactly, a target that does not, no intercept, duplicated rows."""
    rng = np.random.default_rng(5)
    Z = rng.integers(-8, 9, (9, 16)).astype(float)
    Z[8] = Z[7]
    Z[0] = -Z[1:].sum(0)
    y = rng.standard_normal(9) + 2.0
    for c in (1.0, 1e4, 1e8):
        s, _, fit = fitted(Z, y, np.ones(9), k, c, "none")
        alpha, _, predicted = minimiser_in_60_digits(Z, y, np.ones(9), k, c, "none", fit.e)
        assert fit.gap <= REPORTED.gap
        assert np.abs(fit.alpha - alpha).max() <= 1e-8 * np.abs(alpha).max()
        assert np.abs(Z @ fit.alpha - predicted).max() <= 1e-10 * np.abs(predicted).max()
    assert split(s).null.shape == (9, 2)


# Independent solvers


@pytest.mark.parametrize("shape", [(20, 40), (40, 12)], ids=["wide", "tall"])
@pytest.mark.parametrize("k", [1.25, 1.5, 1.75])
def test_against_lbfgs_on_the_primal(shape, k):
    from scipy.optimize import minimize

    Z, y, w = make(*shape, seed=1, weighted=True)
    c, D = 0.3, shape[1]
    _, _, fit = fitted(Z, y, w, k, c)

    def primal(x):
        rest = y - Z @ x[:-1] - x[-1]
        slope = k * np.sign(x[:-1]) * np.abs(x[:-1]) ** (k - 1)
        return objective(Z, y, w, k, c, x[:-1], x[-1]), np.append(
            slope - 4 * c * Z.T @ (w * rest), -4 * c * w @ rest
        )

    options = {"maxiter": 20000, "maxfun": 50000, "ftol": 1e-16, "gtol": 1e-11}
    found = minimize(primal, np.zeros(D + 1), jac=True, method="L-BFGS-B", options=options)
    ours = objective(Z, y, w, k, c, fit.alpha, fit.m)
    assert ours <= found.fun * (1 + 1e-13)
    assert found.fun <= ours * (1 + 1e-7)


def test_towards_lasso():
    """The objective at k tends to the lasso's as k → 1."""
    from sklearn.linear_model import Lasso

    Z, y, w = make(30, 60, seed=2)
    c = 0.05
    lasso = Lasso(alpha=1 / (4 * c * len(y)), tol=1e-12, max_iter=100000).fit(Z, y)
    best = objective(Z, y, w, 1.0, c, lasso.coef_, lasso.intercept_)
    off = []
    for k in (1.1, 1.03, 1.01):
        _, _, fit = fitted(Z, y, w, k, c)
        off.append(objective(Z, y, w, 1.0, c, fit.alpha, fit.m) / best - 1)
    assert 0 <= off[2] < off[1] < off[0]
    assert off[2] < 1e-2


@pytest.mark.parametrize("shape", [(20, 40), (40, 12)])
def test_k_two_is_ridge(shape):
    from sklearn.linear_model import Ridge

    Z, y, w = make(*shape, seed=3, weighted=True)
    for c in (1e-3, 1.0, 1e3):
        _, _, fit = fitted(Z, y, w, 2.0, c)
        ridge = Ridge(alpha=1 / (2 * c)).fit(Z, y, sample_weight=w)
        np.testing.assert_allclose(fit.alpha, ridge.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(fit.m, ridge.intercept_, rtol=1e-10)


# Invariances


@pytest.mark.parametrize("k", [1.05, 1.5])
@pytest.mark.parametrize("shape", [(12, 30), (30, 6)])
def test_permutations_signs_and_duplicates(k, shape):
    Z, y, w = make(*shape, seed=4)
    rng = np.random.default_rng(0)
    rows, cols = rng.permutation(shape[0]), rng.permutation(shape[1])
    _, _, a = fitted(Z, y, w, k, 0.4)
    _, _, b = fitted(-Z[np.ix_(rows, cols)], y[rows], w, k, 0.4)
    np.testing.assert_allclose(-b.alpha, a.alpha[cols], atol=1e-10 * np.abs(a.alpha).max())
    _, _, d = fitted(np.hstack([Z, Z[:, :1]]), y, w, k, 0.4)
    assert abs(d.alpha[0] - d.alpha[-1]) <= 1e-12
    assert np.sign(d.alpha[0]) == np.sign(a.alpha[0])


@pytest.mark.parametrize("k", [1.05, 1.25, 2.0])
def test_units_of_y(k):
    """y → s·y with c → c·s^(k−2) gives α → s·α, and the automatic path follows."""
    Z, y, w = make(15, 40, seed=5)
    _, _, a = fitted(Z, y, w, k, 0.4)
    _, _, b = fitted(Z, 1e4 * y, w, k, 0.4 * 1e4 ** (k - 2))
    np.testing.assert_allclose(b.alpha, 1e4 * a.alpha, atol=1e-9 * np.abs(b.alpha).max())
    s = space(Z, np.sqrt(w))
    one, two = (paths(s, [Path(k, (0,))], f * y[:, None], PATH, SCORING)[0] for f in (1.0, 1e4))
    assert len(one) == len(two)
    for p, q in zip(one, two, strict=True):
        np.testing.assert_allclose(q.c, p.c * 1e4 ** (k - 2), rtol=1e-3)
        np.testing.assert_allclose(q.dof, p.dof, rtol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(12, 30), (30, 6)])
def test_weights_are_repetition_and_zero_drops(shape, kind):
    Z, y, _ = make(*shape, seed=6)
    times = np.random.default_rng(1).integers(0, 4, shape[0])
    again = np.repeat(np.arange(shape[0]), times)
    _, _, a = fitted(Z, y, times.astype(float), 1.1, 0.5, kind)
    _, _, b = fitted(Z[again], y[again], np.ones(len(again)), 1.1, 0.5, kind)
    np.testing.assert_allclose(a.alpha, b.alpha, atol=1e-9 * np.abs(b.alpha).max())
    assert abs(a.m - b.m) <= 1e-9 * np.abs(y).max()
    np.testing.assert_allclose(a.residual, y - Z @ a.alpha - a.m, atol=1e-9)
    np.testing.assert_allclose(a.dof, b.dof, rtol=1e-6)


def test_extremes_leak_no_warning():
    for scale in (1e-6, 1.0, 1e6):
        for k in (1.02, 1.05, 1.3, 2.0):
            for c in (1e-12, 1e12, 1e100):
                for shape in ((10, 25), (25, 10)):
                    Z, y, w = make(*shape, seed=7)
                    _, _, fit = fitted(Z, scale * y, w, k, c)
                    assert np.isfinite(fit.alpha).all()
                    assert np.isfinite(fit.residual).all()


def test_constant_target_and_bad_values():
    Z, _, w = make(10, 20)
    _, _, fit = fitted(Z, np.full(10, 3.0), w, 1.1, 1.0)
    assert not fit.alpha.any()
    assert fit.m == 3.0
    assert fit.gap == 0.0
    with pytest.raises(ValueError, match=r"k = 2\.5"):
        fitted(Z, w, w, 2.5, 1.0)
    with pytest.raises(ValueError, match="c = 0"):
        fitted(Z, w, w, 1.5, 0.0)


# Pieces


def test_power_and_phi():
    x = np.array([0.0, 1e-20, 0.3, 1.0, 7.0, 1e30])
    for n in (0.0, 1 / 3, 1.0, 2.5, 19.000000000000018, 49.0):
        with np.errstate(over="ignore", under="ignore"):
            want = x**n
        want[want < 1e-150] = 0.0
        np.testing.assert_allclose(power(x, n), want, rtol=1e-12)
    v = np.array([-2.0, 0.0, 0.5])
    alpha, slope, energy = phi(v, 1.5, 0.25)
    size = np.abs(v) / 0.375
    np.testing.assert_allclose(alpha, np.sign(v) * size**2)
    np.testing.assert_allclose(slope, 2 * size / 0.375)
    np.testing.assert_allclose(energy, size**3)


@pytest.mark.parametrize("kind", KINDS)
def test_gap_is_primal_minus_dual(kind):
    """Away from the optimum the certificate equals the difference of the two objectives."""
    Z, y, w = make(10, 25, seed=8, weighted=True)
    s = space(Z, np.sqrt(w), kind)
    point = start(s.products, [s.problem(1.4, 0.3, y)])[0]
    p = point.problem
    rest = p.target - point.f
    primal = 0.5 * rest @ rest + p.lam * point.energy
    np.testing.assert_allclose(point.gap, (primal + point.dual) / primal, rtol=1e-10)


def test_rescaled_start_is_the_walk_at_the_new_point():
    Z, y, w = make(10, 25, seed=9)
    s = space(Z, np.sqrt(w))
    a = start(s.products, [s.problem(1.2, 0.3, y)])[0]
    b = rescale(a, 0.9)
    p = b.problem
    result = s.products.step([Trial(p.k, p.lam, b.e, gram=True)])[0]
    np.testing.assert_allclose(result.fitted, b.fitted, rtol=1e-9)
    np.testing.assert_allclose(result.energy, b.energy, rtol=1e-9)
    np.testing.assert_allclose(result.v, b.v, rtol=1e-9)
    A = p.project(p.project(result.gram).T)
    np.testing.assert_allclose(A, b.A, rtol=1e-9, atol=1e-9 * b.A.max())
    assert abs(b.F @ b.e) <= 1e-10 * (b.e @ b.e)


class Counted:
    """Passes that count themselves, and may refuse to keep v, as a design from disk would."""

    def __init__(self, products, keep=True):
        self.products, self.keep, self.steps = products, keep, 0

    def step(self, trials):
        self.steps += 1
        got = self.products.step(trials)
        return got if self.keep else [TrialResult(g.fitted, g.energy, None, g.gram) for g in got]

    def coef(self, trial, v):
        return self.products.coef(trial, v)

    def transposed(self, X):
        return self.products.transposed(X)


@pytest.mark.parametrize("keep", [True, False])
def test_one_walk_a_step_serves_all_problems(keep):
    Z, y, w = make(20, 50, seed=10)
    s = space(Z, np.sqrt(w))
    problems = [s.problem(k, 0.2, t) for k in (1.05, 1.3, 2.0) for t in (y, y**2)]
    products = Counted(DenseProducts(Z, block=64), keep)
    points = newton(products, start(products, problems))
    assert products.steps == max(p.n_iter for p in points)
    for point, problem in zip(points, problems, strict=True):
        alone = newton(s.products, start(s.products, [problem]))[0]
        assert point.gap <= 1e-10
        np.testing.assert_allclose(point.e, alone.e, atol=1e-11 * np.abs(alone.e).max())


@pytest.mark.slow
def test_tall_forms_nothing_square_in_the_samples():
    import tracemalloc

    Z, y, w = make(5000, 50, seed=11)
    tracemalloc.start()
    s, point, fit = fitted(Z, y, w, 1.25, 1.0)
    leave_one_out(s, point, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert fit.gap <= REPORTED.gap
    assert peak < 5000 * 5000 * 8 / 2


def test_single_precision_data():
    Z, y, w = make(20, 50, seed=12)
    Z = Z.astype(np.float32)
    _, _, a = fitted(Z, y, w, 1.2, 0.5)
    _, _, b = fitted(Z.astype(float), y, w, 1.2, 0.5)
    np.testing.assert_allclose(a.alpha, b.alpha, atol=1e-9 * np.abs(b.alpha).max())


# Leave-one-out, folds


def literal(Z, y, w, k, c, kind, S):
    """Cold fit on the other rows with weight, residual on S."""
    keep = np.setdiff1d(np.flatnonzero(w > 0), S)
    _, _, fit = fitted(Z[keep], y[keep], w[keep], k, c, kind)
    return y[S] - Z[S] @ fit.alpha - fit.m


@pytest.mark.parametrize(
    "k",
    [
        pytest.param(1.05, marks=pytest.mark.slow),
        1.25,
        pytest.param(1.75, marks=pytest.mark.slow),
        2.0,
    ],
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(14, 40), (30, 6)], ids=["wide", "tall"])
def test_exact_leave_one_out(shape, kind, k):
    Z, y, w = make(*shape, seed=13, weighted=True)
    w[3] = 0.0
    for c in (0.02, 0.5):
        s, point, _fit = fitted(Z, y, w, k, c, kind)
        got = leave_one_out(s, point, y)
        want = np.array([literal(Z, y, w, k, c, kind, [i])[0] for i in range(len(y))])
        assert np.abs(got.residual - want).max() <= 1e-8 * np.abs(want).max()
        if k == 2.0:
            near = approximate_loo(s, point, y)
            assert np.abs(near - want).max() <= 1e-9 * np.abs(want).max()


@pytest.mark.parametrize("shape", [(15, 40), (30, 6)], ids=["wide", "tall"])
@pytest.mark.parametrize("room", [2**28, 1], ids=["together", "one at a time"])
def test_several_problems_left_out_together(shape, room, monkeypatch):
    """Candidates of several k, c and targets: each as if it were alone, whatever fits in memory."""
    monkeypatch.setattr("skstretch.core.bridge_path.BATCH", room)
    Z, y, w = make(*shape, seed=21, weighted=True)
    w[2], other = 0.0, np.random.default_rng(5).standard_normal(len(y))
    wanted = [(1.05, 0.3, y), (1.5, 0.1, other), (1.25, 0.02, y)]
    s = split(fitted(Z, y, w, 1.5, 0.1)[0])
    starts = [Start(k, c, t, s.problem(k, c, t).target) for k, c, t in wanted]
    for (k, c, t), got in zip(wanted, solved_without_each(s, starts), strict=True):
        want = np.array([literal(Z, t, w, k, c, "free", [i])[0] for i in range(len(t))])
        assert np.abs(got.residual - want).max() <= 1e-8 * np.abs(want).max()
        fit = finish(*solve(s, k, c, t), t)
        assert got.dof == pytest.approx(fit.dof, rel=1e-7)
        assert got.rcond == pytest.approx(fit.rcond, rel=0.1)


@pytest.mark.parametrize("n_rows", [2, 20, 150])
def test_a_newton_matrix_is_solved_and_inverted(n_rows):
    Z, y, w = make(n_rows, 40, seed=4)
    s = space(Z, np.sqrt(w), "none")
    point = start(s.products, [s.problem(1.5, 0.3, y)])[0]
    H, X = np.eye(len(point.A)) + point.A, np.random.default_rng(0).random((len(point.A), 3))
    np.testing.assert_allclose(H @ point.B, np.eye(len(H)), rtol=0, atol=1e-11)
    np.testing.assert_array_equal(point.B, point.B.T)
    for x in (X, X[:, 1]):
        np.testing.assert_allclose(H @ point.solve(x), x, rtol=0, atol=1e-11)
    true = 1.0 / (np.linalg.norm(H, 1) * np.linalg.norm(np.linalg.inv(H), 1))
    assert true * (1.0 - 1e-9) <= point.rcond <= 10.0 * true


def test_a_matrix_that_rounding_made_indefinite_still_leads_down():
    Z, y, w = make(10, 30, seed=5)
    s = space(Z, np.sqrt(w))
    point = start(s.products, [s.problem(1.5, 0.3, y)])[0]
    bad = replace(point, A=point.A - 3.0 * np.eye(10), cache={})
    assert np.isfinite(bad.step).all()
    assert bad.step @ bad.F < 0.0


def residuals(s, point, y, folds):
    """Of every fold by a refit without it, solved to the promised gap."""
    found = refits(s, point, y, folds)
    assert all(one.gap <= REPORTED.gap for one in found)
    return [one.residual for one in found]


@pytest.mark.parametrize("shape", [(15, 40), (30, 6)], ids=["wide", "tall"])
@pytest.mark.parametrize("kind", KINDS)
def test_exact_folds(shape, kind):
    Z, y, w = make(*shape, seed=14, weighted=True)
    folds = [np.arange(i, len(y), 4) for i in range(4)] + [np.array([0, 1])]
    for k, c in ((1.05, 0.1), (1.5, 1.0), (2.0, 0.1)):
        s, point, _ = fitted(Z, y, w, k, c, kind)
        for S, got in zip(folds, residuals(s, point, y, folds), strict=True):
            want = literal(Z, y, w, k, c, kind, S)
            assert np.abs(got - want).max() <= 1e-8 * np.abs(want).max()


@pytest.mark.parametrize("n_free", [0, 2])
def test_tall_folds_beside_free_columns_and_samples_without_weight(n_free):
    """A sample of weight zero is predicted like any other sample of its fold."""
    Z, y, w = make(40, 6, seed=3)
    w[[1, 7]] = 0.0
    U = np.random.default_rng(2).standard_normal((40, n_free)) if n_free else None
    s, point = solve(space(Z, np.sqrt(w), "free", U), 1.3, 0.2, y)
    folds = [np.arange(i, 40, 5) for i in range(5)]
    for S, found in zip(folds, residuals(s, point, y, folds), strict=True):
        rest = np.setdiff1d(np.arange(40), S)
        part = space(Z[rest], np.sqrt(w[rest]), "free", None if U is None else U[rest])
        fit = finish(*solve(part, 1.3, 0.2, y[rest]), y[rest])
        want = y[S] - Z[S] @ fit.alpha - fit.m - (0.0 if U is None else U[S] @ fit.gamma)
        np.testing.assert_allclose(found, want, rtol=0, atol=1e-8 * np.abs(y).max())


def test_folds_that_take_a_feature_with_them():
    """Leverage 1: only the first row has the last feature."""
    Z, y, w = make(25, 6, seed=21)
    Z[:, -1] = 0.0
    Z[0, -1] = 5.0
    for kind in KINDS:
        s, point, _ = fitted(Z, y, w, 1.1, 1.0, kind)
        folds = [np.array([0]), np.array([0, 7])]
        for S, got in zip(folds, residuals(s, point, y, folds), strict=True):
            # The literal refit sees a column of zeros, whose coefficient is zero.
            want = literal(Z, y, w, 1.1, 1.0, kind, S)
            assert np.abs(got - want).max() <= 1e-8 * np.abs(want).max()


def test_leave_one_out_with_duplicated_rows_near_interpolation():
    Z, y, w = make(12, 40, seed=15)
    Z[5] = Z[4]
    for k, c in ((1.1, 1e3), (1.5, 1e5)):
        s, point, _ = fitted(Z, y, w, k, c)
        s = split(s)
        assert s.null.shape == (12, 1)
        s, point = solve(s, k, c, y)
        got = leave_one_out(s, point, y)
        want = np.array([literal(Z, y, w, k, c, "free", [i])[0] for i in range(12)])
        assert np.abs(got.residual - want).max() <= 1e-8 * np.abs(want).max()


@pytest.mark.parametrize("shape", [(14, 40), (30, 6)], ids=["wide", "tall"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "k", [pytest.param(1.1, marks=pytest.mark.slow), 1.5, pytest.param(2.0, marks=pytest.mark.slow)]
)
def test_derivative_and_dof(shape, kind, k):
    Z, y, w = make(*shape, seed=16, weighted=True)
    s, point, fit = fitted(Z, y, w, k, 0.1, kind)
    J, h = derivative(s, point), 1e-5
    assert J.shape == shape[::-1]
    change, trace = np.empty_like(J), 0.0
    for i in range(len(y)):
        up, down = (fitted(Z, y + t * np.eye(len(y))[i], w, k, 0.1, kind)[2] for t in (h, -h))
        change[:, i] = (up.alpha - down.alpha) / (2 * h)
        trace += 1 - (up.residual[i] - down.residual[i]) / (2 * h)
    assert np.abs(J - change).max() <= 1e-5 * np.abs(change).max()
    np.testing.assert_allclose(fit.dof, trace, rtol=1e-5)


# Paths


@pytest.mark.parametrize("shape", [(20, 60), (60, 10)], ids=["wide", "tall"])
def test_automatic_path(shape):
    Z, y, w = make(*shape, seed=17)
    y = y + Z[:, 0]
    asked = [Path(k, (0, 1)) for k in KS[1:]]
    got = paths(space(Z, np.sqrt(w)), asked, np.column_stack([y, y[::-1]]), PATH, SCORING)
    assert len(got) == len(KS) - 1
    for k, candidates in zip(KS[1:], got, strict=True):
        assert {x.k for x in candidates} == {k}
        assert {x.target for x in candidates} == {0, 1}
        first, last = candidates[0], candidates[-1]
        assert first.dof < 3.0
        assert max(last.dof, candidates[-2].dof) > 0.9 * min(shape)
        assert len(candidates) <= 40
        assert all(x.gap <= 1e-6 for x in candidates)
        c = [x.c for x in candidates[::2]]
        assert c == sorted(c)


def test_path_candidates_are_the_fits():
    Z, y, w = make(20, 60, seed=18)
    s = split(space(Z, np.sqrt(w)))
    asked = [Path(1.1, (0,), [0.01, 0.1, 1.0]), Path(1.5, (0,), [0.02, 0.3])]
    for candidates in paths(s, asked, y[:, None], PATH, SCORING):
        for x in candidates:
            _, point = solve(s, x.k, x.c, y)
            want = approximate_loo(s, point, y)
            assert np.abs(x.loo - want).max() <= 0.03 * np.abs(want).max()
            assert abs(x.dof - s.dof(point)) <= 0.02 * x.dof


def test_interpolating_candidates_are_not_usable():
    Z, y, w = make(12, 60, seed=19)
    path = Path(1.5, (0,), [0.1, 1e3, 1e9])
    candidates = paths(space(Z, np.sqrt(w)), [path], y[:, None], PATH, SCORING)[0]
    assert candidates[0].usable
    assert not candidates[-1].usable


def test_warm_start_along_k():
    Z, y, w = make(20, 60, seed=20)
    s, point, _ = fitted(Z, y, w, 1.25, 1.0)
    _, cold, want = fitted(Z, y, w, 1.1, 1.0)
    _, warm = solve(s, 1.1, 1.0, y, point.e)
    got = finish(s, warm, y)
    assert warm.n_iter <= cold.n_iter
    np.testing.assert_allclose(got.alpha, want.alpha, atol=1e-9 * np.abs(want.alpha).max())
