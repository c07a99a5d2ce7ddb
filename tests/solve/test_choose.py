"""Which system is solved: the named choices, what is recorded, and that all choices agree."""

import contextlib
import warnings

import numpy as np
import pytest
from sklearn import config_context

from skstretch import StretchyRegressor
from skstretch.core.stretch import Intercept
from skstretch.exceptions import IllConditionedWarning, SingularSystemError
from skstretch.solve import choose_space, loses_digits
from skstretch.solve import model as model_module
from tests.references import (
    INTERCEPTS,
    exact_solution,
    exponential_features,
    five_points,
    relative_error,
)
from tests.solve.samples import plain, system

intercepts = pytest.mark.parametrize("intercept", INTERCEPTS)


@pytest.mark.parametrize(
    ("M", "D", "none", "one"),
    [
        (4, 9, "dual", "dual"),
        (9, 4, "primal", "primal"),
        (5, 6, "dual", "dual"),
        (5, 5, "primal", "dual"),
        (6, 5, "primal", "primal"),
        (1, 1, "primal", "dual"),
    ],
)
def test_space_by_shape(M, D, none, one):
    """Dual for fewer samples than coefficients; an intercept is one coefficient more."""
    assert choose_space(M, D, Intercept.NONE) == none
    assert choose_space(M, D, Intercept.FREE) == one
    assert choose_space(M, D, Intercept.COLUMN) == one


@pytest.mark.parametrize("M", [4, 5, 6])
@intercepts
def test_chosen_space_is_regular_without_penalty_whenever_one_is(M, intercept):
    """Five features and M samples, c = inf: exactly one of the spaces has a solution, or both."""
    P, y = exponential_features(M, 5, a=0.8, seed=2)
    model = StretchyRegressor(1.5, np.inf, quadrant="identity", fit_intercept=intercept).fit(P, y)
    reference = exact_solution(P, y, 1.5, np.inf, intercept)
    assert relative_error(model.coef_, model.intercept_, reference) < 1e-10


def test_digits_that_lu_may_lose():
    eps = np.finfo(np.float64).eps
    assert loses_digits(0.0)
    assert loses_digits(0.99 * eps / 1e-11)
    assert not loses_digits(1.01 * eps / 1e-11)
    assert not loses_digits(1.0)


@pytest.mark.parametrize(
    ("P", "k", "c", "solver", "found"),
    [
        ("wide", 1.5, 10.0, "auto", ("dual", "dual")),
        ("tall", 1.5, 10.0, "auto", ("primal", "primal")),
        ("powers", 1.1, 1e15, "auto", ("dual", "qr")),
        ("powers", 1.1, 1e-2, "auto", ("dual", "dual")),
        ("tall powers", 1.1, np.inf, "auto", ("primal", "qr")),
        ("wide", 1.5, 10.0, "primal", ("primal", "primal")),
        ("tall", 1.5, 10.0, "dual", ("dual", "dual")),
        ("wide", 1.5, 10.0, "qr", ("dual", "qr")),
        ("tall", 1.5, 10.0, "qr", ("primal", "qr")),
    ],
)
def test_choice_is_recorded(P, k, c, solver, found):
    P, y = {
        "wide": exponential_features(6, 15),
        "tall": exponential_features(20, 4),
        "powers": five_points(),
        "tall powers": (np.vander(np.linspace(0.1, 1, 20), 5)[:, :4], np.ones(20)),
    }[P]
    y = y + np.arange(len(y))
    chosen = system(P, k, c, True, solver)
    assert (chosen.space, chosen.solver) == found
    model = StretchyRegressor(k, c, quadrant="identity", solver=solver).fit(P, y)
    assert (model.space_, model.solver_) == found
    assert model.rcond_ > 0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1.2, 2.0])
@pytest.mark.parametrize("shape", [(6, 15), (20, 4), (8, 8)])
@intercepts
def test_all_solvers_agree(shape, k, intercept, weighted):
    P, y = exponential_features(*shape, a=0.5)
    Y = np.column_stack([y, np.cos(5 * y)])
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(y)) if weighted else None
    coef, constant = plain(P, Y, k, 3.0, intercept, weights)
    for solver in ("auto", "dual", "primal", "qr"):
        fit = system(P, k, 3.0, intercept, solver, weights).fit(Y)
        # the larger of the two systems has a condition number of about 1e4 at c = 3
        np.testing.assert_allclose(fit.coef, coef, rtol=0, atol=1e-10 * np.abs(coef).max())
        np.testing.assert_allclose(fit.intercept, constant, rtol=1e-9, atol=1e-10)
        fitted = P @ fit.coef + fit.intercept
        np.testing.assert_allclose(fitted, P @ coef + constant, rtol=0, atol=1e-10)
        # P has no offset here, so that the level is the intercept
        np.testing.assert_allclose(fit.level, fit.intercept, rtol=1e-14)


@pytest.mark.parametrize("shape", [(6, 15), (20, 4)])
@intercepts
def test_dual_coefficients(shape, intercept):
    """``alpha = Q' beta`` and ``beta = W (y - fitted) / lam``, whatever was solved."""
    P, y = exponential_features(*shape, a=0.5)
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
    coef, constant = plain(P, y, 1.5, 3.0, intercept, weights)
    expected = weights * (y - P @ coef - constant) * (3.0 * 1.5)
    for solver in ("auto", "dual", "primal", "qr"):
        params = {"quadrant": "identity", "fit_intercept": intercept, "solver": solver}
        model = StretchyRegressor(1.5, 3.0, **params).fit(P, y, sample_weight=weights)
        size = np.abs(expected).max()
        np.testing.assert_allclose(model.dual_coef_, expected, rtol=0, atol=1e-10 * size)
        np.testing.assert_allclose((P**2).T @ model.dual_coef_, coef, rtol=0, atol=1e-9)


def test_qr_is_refused_where_it_does_not_fit():
    """Four copies of 6 x 15 numbers take 2,880 bytes."""
    P, y = exponential_features(6, 15)
    with config_context(working_memory=2879 / 2**20):
        with pytest.raises(MemoryError, match=r'solver="qr".*\(6, 15\).*working_memory'):
            system(P, 1.5, 10.0, True, "qr")
        with pytest.raises(MemoryError, match=r'solver="qr"'):
            StretchyRegressor(solver="qr").fit(P, y)
    with config_context(working_memory=2880 / 2**20):
        assert system(P, 1.5, 10.0, True, "qr").solver == "qr"


def test_auto_stays_with_lu_where_qr_does_not_fit():
    P, y = five_points()
    with config_context(working_memory=1e-4):
        model = StretchyRegressor(1.5, 1e8, quadrant="identity").fit(P, y)
        assert model.solver_ == "dual"
        assert loses_digits(model.rcond_)
        with pytest.warns(IllConditionedWarning, match=r"k=1.05, c=inf.*rcond="):
            StretchyRegressor(1.05, np.inf, quadrant="identity").fit(P, y)
    assert StretchyRegressor(1.5, 1e8, quadrant="identity").fit(P, y).solver_ == "qr"


def powers(seed):
    """Powers of points between 0 and 1, more powers than points."""
    rng = np.random.default_rng(seed)
    M, D = ((5, 10), (6, 7), (8, 20))[seed % 3]
    x = np.sort(rng.uniform(0.02, 1.0, M))
    return np.vander(x, D + 1, increasing=True)[:, 1:], rng.standard_normal(M)


@pytest.mark.parametrize("c", [1e8, 1e12])
@pytest.mark.parametrize("k", [1.02, 1.05, 1.1])
@pytest.mark.parametrize("seed", ["five points", 0, 1, 2, 3, 4, 5])
def test_auto_is_as_good_as_the_better_of_both(seed, k, c):
    """Against 150 digits: QR is taken only where it keeps more digits than LU."""
    P, y = five_points() if seed == "five points" else powers(seed)
    exact = np.array([float(value) for value in exact_solution(P, y, k, c, True).coef])
    errors = dict.fromkeys(("dual", "qr", "auto"), np.inf)
    for solver in errors:
        model = StretchyRegressor(k, c, quadrant="identity", solver=solver)
        singular = contextlib.suppress(() if solver == "auto" else SingularSystemError)
        with singular, warnings.catch_warnings():
            warnings.simplefilter("ignore", IllConditionedWarning)
            coef = model.fit(P, y).coef_
            errors[solver] = np.abs(coef - exact).max() / np.abs(exact).max()
    # estimates are good to three digits
    assert errors["auto"] <= 1000 * min(errors["dual"], errors["qr"]) + 1e-12


@pytest.mark.parametrize(
    ("seed", "k", "c"), [(5, 1.1, 1e-120), (3, 1.1, 1e-120), (0, 1.05, 1e-160)]
)
def test_a_condition_of_scales_alone_is_no_reason_for_qr(seed, k, c):
    """One sample far away: rows are scaled, and LU keeps digits that its condition denies."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((20, 30)), rng.standard_normal(20)
    X[0, 4] = -1e3
    P = np.exp(-7.0 * (X - X.mean(axis=0)) / X.std(axis=0))
    exact = np.array([float(value) for value in exact_solution(P, y, k, c, True).coef])
    errors = {}
    for solver in ("dual", "qr", "auto"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IllConditionedWarning)
            model = StretchyRegressor(k, c, a=-7.0, solver=solver).fit(X, y)
        errors[solver] = np.abs(model.coef_ - exact).max() / np.abs(exact).max()
    assert model.solver_ == "dual"
    assert model.rcond_ < 1e-40
    assert errors["auto"] <= 1e-12
    assert errors["qr"] > 1e-9  # or there were nothing to choose


def test_lu_stays_where_qr_leaves_the_range(monkeypatch):
    """Rare words have features of very different size: what QR divides by may be beyond float64."""

    class Beyond:
        @property
        def rcond(self):
            raise FloatingPointError("the system has entries beyond the range of float64")

    P, y = five_points()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IllConditionedWarning)
        assert StretchyRegressor(1.1, 1e15, quadrant="identity").fit(P, y).solver_ == "qr"
        monkeypatch.setattr(model_module, "accurate_system", lambda *args: Beyond())
        found = StretchyRegressor(1.1, 1e15, quadrant="identity").fit(P, y)
    assert found.solver_ == "dual"
