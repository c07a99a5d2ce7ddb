"""Which system is solved: the named choices, what is recorded, and that all choices agree."""

import contextlib
import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn import config_context

from skstretch import StretchyRegressor
from skstretch.core.stretch import Intercept
from skstretch.designs.as_design import Storage
from skstretch.exceptions import IllConditionedWarning, SingularSystemError
from skstretch.solve import choose_space, loses_digits
from skstretch.solve import model as model_module
from skstretch.solve.choose import (
    BUDGET,
    POOR_RCOND,
    RATE,
    SEARCHES,
    Budget,
    Plan,
    choose_families,
    comes_into_memory,
    crossfit_space,
    direct_bytes,
    is_costly,
    is_large,
    may_be_matrix_free,
    unusable,
)
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
    assert relative_error(model.alpha_, model.intercept_, reference) < 1e-10


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
    assert (model._state.space, model.solver_) == found
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
            coef = model.fit(P, y).alpha_
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
        errors[solver] = np.abs(model.alpha_ - exact).max() / np.abs(exact).max()
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


ROOMY = Budget(n_bytes=2**60)
KINDS = ["in memory", "sparse", "read in blocks", "70 blocks of Dask"]
# samples, features, the place of what is searched with one target
SIZES = {
    "tiny": (3, 2, 0),
    "wide": (60, 10_000, 0),
    "very wide": (100, 1_000_000, 0),
    "tall": (100_000, 20, 0),
    "square": (300, 300, 0),
    "some thousands": (1_800, 7_000, 1),
    "many": (5_000, 20_000, 2),
    "huge": (30_000, 50_000, 3),
    "huge and tall": (10**9, 20_000, 3),
}


def stored(n, D, kind="in memory"):
    return Storage(kind, (n, D), "float64", 8 * n * D)


def families(n, D, n_targets=1, again=False, budget=ROOMY, kind="in memory"):
    """`again`: the data are read in blocks and do not fit the working memory."""
    kind = "read in blocks" if again else kind
    with config_context(working_memory=0 if again else 10**12):
        return choose_families(stored(n, D, kind), n, n_targets, budget)


@pytest.mark.parametrize("size", SIZES)
def test_families_follow_the_cost(size):
    n, D, place = SIZES[size]
    assert families(n, D) == SEARCHES[place]
    assert bool(SEARCHES[place].left_out) == (place > 0)
    assert SEARCHES[-1].iterated == is_costly(30_000, 50_000, ROOMY)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("again", [False, True])
def test_more_targets_make_families_fewer_never_more(size, kind, again):
    n, D, _ = SIZES[size]
    found = [families(n, D, t, again, kind=kind) for t in (1, 2, 5, 30, 1_000, 10**6)]
    for before, after in pairwise(found):
        for name in ("linear_k", "k", "counts"):
            assert set(getattr(after, name)) <= set(getattr(before, name))
        assert after.iterated == before.iterated  # that is a matter of the matrix


@pytest.mark.parametrize("size", SIZES)
def test_what_is_read_again_has_no_newton_steps(size):
    n, D, _ = SIZES[size]
    found = families(n, D, again=True)
    assert found.linear_k == (2.0,)
    assert found.counts == ()
    assert "sparse linear models" in found.left_out


@pytest.mark.parametrize("kind", KINDS)
def test_what_fits_the_memory_is_searched_alike(kind):
    half = 8 * 60 * 1_000
    for spare, same in ((0, True), (-1, kind in ("in memory", "sparse"))):
        with config_context(working_memory=2 * (half + spare) / 2**20):
            found = choose_families(stored(60, 1_000, kind), 60, 1, ROOMY)
            assert (found == SEARCHES[0]) == same
            assert comes_into_memory(stored(60, 1_000, kind), False) == (same and "blocks" in kind)
            # closed forms of all features take one pass wherever they are
            assert not comes_into_memory(stored(60, 1_000, kind), True)


def test_the_budget_of_seconds_and_bytes():
    whole = SEARCHES[0].seconds(60, 1_000, 1)
    assert families(60, 1_000, budget=Budget(search_seconds=1.01 * whole)) == SEARCHES[0]
    assert families(60, 1_000, budget=Budget(search_seconds=0.99 * whole)) == SEARCHES[1]
    assert families(60, 1_000, budget=Budget(search_seconds=0.0)) == SEARCHES[2]
    # one factorisation, and the three matrices of a direct fit
    lu = 2.0 * 60.0**3 / RATE
    for budget, costly in (
        (Budget(seconds=1.01 * lu), False),
        (Budget(seconds=0.99 * lu), True),
        (Budget(n_bytes=direct_bytes(60)), False),
        (Budget(n_bytes=direct_bytes(60) - 1), True),
    ):
        for shape in ((60, 1_000), (1_000, 60)):
            assert is_costly(*shape, budget) == costly
            assert may_be_matrix_free("auto", *shape, budget) == costly
            assert families(*shape, budget=budget).iterated == costly
            assert not may_be_matrix_free(None, *shape, budget)
            assert not may_be_matrix_free("dual", *shape, budget)
            assert may_be_matrix_free("krylov", *shape, budget)
    assert is_large(60, 1_000, Budget(n_bytes=direct_bytes(60) - 1))
    assert not is_large(60, 1_000, Budget(seconds=0.0))


def test_half_of_the_memory_unless_more_is_allowed():
    assert Budget(n_bytes=5).available_bytes == 5
    assert BUDGET.n_bytes is None
    assert BUDGET.available_bytes >= 2**30  # scikit-learn's working_memory as it comes
    with config_context(working_memory=10**9):
        assert Budget().available_bytes == 10**9 * 2**20


@pytest.mark.parametrize("place", range(len(SEARCHES)))
def test_seconds_grow_with_the_problem(place):
    seconds = SEARCHES[place].seconds
    assert 0 < seconds(60, 1_000, 1) < seconds(120, 1_000, 1) < seconds(120, 2_000, 1)
    assert seconds(60, 1_000, 1) <= seconds(60, 1_000, 7)
    direct = [one.seconds(500, 2_000, 3) for one in SEARCHES[:-1]]
    assert direct == sorted(direct, reverse=True)


def planned(n, D, solver=None, n_used=None, **more):
    return Plan(stored(n, D), n_used or n, Intercept.FREE, solver, budget=ROOMY, **more)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("solver", [None, "auto", "dual", "primal", "qr", "krylov"])
def test_a_plan_of_any_size(size, solver):
    n, D, _ = SIZES[size]
    plan = planned(n, D, solver)
    assert plan.space == choose_space(n, D, Intercept.FREE, solver)
    assert plan.side == (n if plan.space == "dual" else D)
    free = solver == "krylov" or (solver == "auto" and is_costly(n, D, ROOMY))
    assert plan.matrix_free == free
    expected = {None: "LU or QR", "auto": "LU or QR", "qr": "QR", "krylov": "Krylov"}
    assert plan.method == ("Krylov" if free else expected.get(solver, "LU"))
    text = str(plan)
    assert text.startswith(f"{n:,} samples × {D:,} features; float64 in memory, ")
    assert (
        text.endswith(f"{plan.method} on a {plan.space} system of {plan.side:,} x {plan.side:,}")
        == free
    )
    assert "left out" not in text


def test_what_a_plan_says():
    plan = planned(
        100, 50, None, 80, selects=True, n_candidates=1_234, searched="everything",
        left_out=("this", "that"), seconds=300.0, traffic=", 3 tasks",
    )  # fmt: skip
    assert str(plan) == (
        "100 samples × 50 features (80 of positive weight), up to 1,234 models to try, "
        "about 5 min; float64 in memory, 40 kB, 3 tasks; LU or QR on a primal system of 50 x 50 "
        "of 60 kB, then again on selected features; tries everything; left out: this; "
        "left out: that"
    )
    for seconds, said in ((0.01, "1 s"), (119.0, "119 s"), (121.0, "2 min"), (7_300.0, "2 h")):
        assert f", about {said}; " in str(planned(9, 9, seconds=seconds))
    newton = planned(100, 50, "auto", exact=True)
    assert (newton.method, newton.matrix_free) == ("Newton", False)
    assert not planned(50_000, 50_000, "auto", exact=True).matrix_free


def test_samples_are_left_out_in_the_space_of_one_less():
    assert crossfit_space(6, 5, Intercept.FREE) == "dual"
    assert choose_space(6, 5, Intercept.FREE) == "primal"
    assert crossfit_space(7, 5, Intercept.FREE) == "primal"
    assert crossfit_space(6, 5, Intercept.FREE, "primal") == "primal"


def test_what_is_sound_is_usable():
    assert unusable() == ""
    assert unusable(POOR_RCOND, [np.zeros(3), np.ones((2, 2))], 1e-9, 1e-8, 2.0, 50) == ""


def test_a_condition_without_a_digit():
    assert unusable(0.99e-13) == "ill-conditioned: rcond 1e-13 is below 1e-13"
    assert unusable(3e-17).startswith("ill-conditioned: rcond 3e-17")
    assert unusable(0.0)
    assert unusable(np.nan) == ""  # one that is not known says nothing


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(bad):
    assert unusable(values=[np.ones(3), np.array([[1.0, bad]])]) == "predictions are not finite"
    assert unusable(np.nan, [np.array([bad])]) == "predictions are not finite"


@pytest.mark.parametrize("gap", [2e-8, 1.0, np.inf, np.nan])
def test_a_gap_above_the_promise(gap):
    assert unusable(gap=gap, promised_gap=1e-8).startswith("not converged: its duality gap is ")
    assert unusable(gap=1e-8, promised_gap=1e-8) == ""


@pytest.mark.parametrize(
    ("rank", "n", "most"),
    [(1.9, 50, "2"), (2.0, 50, None), (1.9, 5, "2"), (1.4, 4, "1.5"), (1.5, 4, None),
     (1.0, 3, None), (0.9, 3, "1"), (np.inf, 50, None), (1.0, 1, None)],
)  # fmt: skip
def test_residuals_of_hardly_any_number(rank, n, most):
    """Few samples have few numbers to make residuals of: half of what is left without one."""
    found = unusable(rank=rank, n_samples=n)
    said = f"all errors of left-out samples rest on fewer than {most} independent numbers"
    assert found == (said if most else "")


def test_the_gravest_reason_is_named():
    values = [np.array([np.nan])]
    assert "ill-conditioned" in unusable(1e-20, values, np.inf, 1e-8, 1.0, 50)
    assert "not finite" in unusable(1.0, values, np.inf, 1e-8, 1.0, 50)
    assert "not converged" in unusable(1.0, (), 1.0, 1e-8, 1.0, 50)
