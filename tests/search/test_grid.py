"""The candidates of the grid: their penalties, their cost, what is said of them."""

import re

import numpy as np
import pytest
from sklearn.model_selection import KFold

from skstretch import StretchyRegressorCV
from skstretch.exceptions import GridEdgeWarning
from skstretch.search import Grid, Problem, evaluate_grid, leave_one_out
from skstretch.solve.choose import STRENGTHS
from tests import literal
from tests.references import INTERCEPTS
from tests.search.grids import data, evaluated, prepared_data

two_shapes = pytest.mark.parametrize("shape", ["wide", "tall"])
no_edge = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")


def centred_scale(P, k, w):
    """``|sum w K_ii - w'Kw / sum w| / sum w``."""
    K = P @ (P if k == 2 else P ** (1 / (literal.LONG(k) - 1))).T
    return float(abs(w @ K.diagonal() - w @ K @ w / w.sum()) / w.sum())


@two_shapes
@pytest.mark.parametrize("weighted", [False, True])
def test_automatic_penalties(shape, weighted):
    X, Y = data(shape)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X)) if weighted else np.ones(len(X))
    found = list(evaluated(X, Y, a=(-0.2, 0.0, 1.0), c=None, weights=weights))
    for k in {candidate.k for candidate, _, _ in found}:
        own = [candidate.strength for candidate, _, _ in found if candidate.k == k]
        n_transforms = len({candidate.a for candidate, _, _ in found if candidate.k == k})
        assert len(own) == n_transforms * len(STRENGTHS if k == 2 else STRENGTHS[::2])
        assert len(set(own)) == len(own) / n_transforms
    for candidate, _, _ in found:
        P = literal.features(X, candidate.a, weights)
        scale = centred_scale(P, candidate.k, weights.astype(literal.LONG))
        assert 1 / (candidate.c * candidate.k) == pytest.approx(
            candidate.strength * scale, rel=1e-10
        )


@two_shapes
def test_strength_of_given_c(shape):
    X, Y = data(shape)
    for candidate, _, _ in evaluated(X, Y, c=(0.5, 20.0, np.inf)):
        scale = centred_scale(literal.features(X, candidate.a), candidate.k, np.ones(len(X)))
        assert candidate.strength == pytest.approx(
            1 / (candidate.c * candidate.k) / scale, rel=1e-10
        )


@pytest.mark.parametrize("shape", [(30, 45), (60, 5)])
def test_automatic_penalties_of_scaled_features(shape):
    X, Y = data(shape)
    X[np.arange(shape[1]) % shape[0], np.arange(shape[1])] = 400.0
    P = literal.features(X, 3.0)
    assert 20 * np.log(P).max() > 300
    scale = centred_scale(P, 1.05, np.ones(len(X)))
    for candidate, _, _ in evaluated(X, Y, a=(3.0,), k=(1.05,), c=None):
        # rows that are scaled are not centred: their common part is small beside the peaks
        assert 1 / (candidate.c * candidate.k) == pytest.approx(candidate.strength * scale, rel=0.1)


@two_shapes
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_degrees_of_freedom(shape, intercept):
    X, Y = data(shape)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    settings = {"c": (0.1, 10.0, 1e4), "weights": weights, "intercept": intercept}
    for candidate, outcome, _ in evaluated(X, Y, **settings):
        P = literal.features(X, candidate.a, weights)
        expected = literal.degrees(P, candidate.k, candidate.c, intercept, weights)
        assert outcome.dof == pytest.approx(expected, rel=1e-9)
        assert outcome.n_features == X.shape[1]


@two_shapes
def test_degrees_of_freedom_of_a_selection(shape):
    """Every target has the features of its own path."""
    X, Y = data(shape, n_targets=2)
    splits, Z = list(KFold(4).split(X)), literal.features(X, 0.0)
    for candidate, outcome, _ in evaluated(X, Y, splits, c=(10.0,), densities=(0.5, 0.2)):
        P = literal.features(X, candidate.a)
        count = literal.count_of(candidate.density, X.shape[1])
        kept = literal.lasso_support(Z, Y[:, [candidate.target]], count)
        expected = literal.degrees(P[:, kept], candidate.k, candidate.c)
        assert outcome.dof == pytest.approx(expected, rel=1e-9)
        assert outcome.columns.tolist() == kept
        assert outcome.n_features == len(kept)


def test_candidates_of_the_grid():
    X, Y = data("tall")
    splits = list(KFold(3).split(X))
    settings = {"a": (0.0, -0.2), "k": (1.5, 1.1), "c": (3.0, 0.3), "densities": (0.5, 1.0)}
    candidates = [candidate for candidate, _, _ in evaluated(X, Y, splits, **settings)]
    places = [
        (candidate.a, candidate.k, candidate.c, candidate.density) for candidate in candidates
    ]
    wanted = [(a, k) for a in (0.0, -0.2) for k in ((2.0,) if a == 0 else (1.5, 1.1))]
    wanted = [(a, k, c, d) for a, k in wanted for c in (3.0, 0.3) for d in (0.5, 1.0)]
    assert sorted(places) == sorted(wanted)
    grid = Grid((0.0, -0.2), (1.5, 1.1), (3.0, 0.3), (0.5, 1.0), (3, 6))
    assert grid.n_candidates == len(wanted)
    assert (
        Grid((0.0, -0.2), (1.5, 1.1), None, (1.0,), (6,), strengths=(1.0,) * 7).n_candidates == 21
    )


class Counted:
    """A design that writes down how many columns every call of `gram` reads, and for how many k."""

    def __init__(self, design, log):
        self.design, self.log = design, log

    def __getattr__(self, name):
        return getattr(self.design, name)

    def take(self, columns):
        return Counted(self.design.take(columns), self.log)

    def gram(self, exponents, weights, log_rows, borders=True):
        self.log.append((self.design.shape[1], len(exponents)))
        return self.design.gram(exponents, weights, log_rows, borders)


def counted_grams(X, Y, grid, folds):
    """The calls of `gram` while all candidates are evaluated."""
    prepared, log = prepared_data(X), []
    problem = Problem(Y, prepared.weights, prepared.intercept, folds)
    candidates = list(evaluate_grid(grid, lambda a: Counted(prepared.at(a).design, log), problem))
    assert all(outcome.usable for _, outcome in candidates)
    return log


def test_one_pass_for_all_k():
    X, Y = data("wide")
    grid = Grid((-0.2, 0.0), (1.1, 1.25, 1.5, 2.0), (1.0, 10.0), (1.0,), (40,))
    assert counted_grams(X, Y, grid, leave_one_out(len(X))) == [(40, 4), (40, 1)]


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("densities", [(1.0,), (1.0, 0.5)])
def test_duplicate_rows_without_penalty(intercept, densities):
    X, Y = data("wide")
    X[1] = X[0]
    splits = list(KFold(5, shuffle=True, random_state=1).split(X))
    settings = {"intercept": intercept, "densities": densities, "c": (10.0, np.inf)}
    for candidate, outcome, predictions in evaluated(X, Y, splits, **settings):
        if candidate.c == 10.0 or candidate.density == 1.0:  # few features may need no penalty
            assert outcome.usable == (candidate.c == 10.0)
        if outcome.usable:
            assert np.isfinite(predictions).all()
        else:
            assert outcome.trouble == "singular" or "ill-conditioned: rcond" in outcome.trouble
            assert outcome.rcond < 1e-13


@no_edge
def test_unusable_candidates_in_the_results():
    X, Y = data("wide")
    X[1] = X[0]
    grid = {"a_grid": (-0.2, 0.0), "k_grid": (1.25, 2.0), "c_grid": (np.inf, 10.0, 0.1)}
    model = StretchyRegressorCV(1.0, **grid).fit(X, Y[:, 0])
    results = model.cv_results_
    lost = np.isinf(results["param_c"])
    assert lost.sum() == 4
    np.testing.assert_array_equal(results["usable"], ~lost)
    np.testing.assert_array_equal(np.isnan(results["mean_test_score"]), lost)
    np.testing.assert_array_equal(results["reason"] == "", ~lost)
    assert not results["within_1se"][lost].any()
    assert results["rank_test_score"][lost].min() > results["rank_test_score"][~lost].max()
    assert np.isfinite(model.weights_["c"]).all()


@pytest.mark.parametrize("scoring", [None, "r2", "neg_median_absolute_error"])
@no_edge
def test_scores_are_not_asked_of_unusable_candidates(scoring):
    X, Y = data("wide")
    X[1] = X[0]
    grids = {"a_grid": (-0.2,), "k_grid": (1.25,), "c_grid": (np.inf, 10.0)}
    model = StretchyRegressorCV(**grids, scoring=scoring).fit(X, Y[:, 0])
    assert model.c_ == 10.0
    assert np.isnan(model.cv_results_["mean_test_score"][0])


def test_no_usable_candidate():
    X, Y = data("wide")
    X[1] = X[0]
    model = StretchyRegressorCV(a_grid=(-0.2,), k_grid=(1.25, 2.0), c_grid=(np.inf,))
    with pytest.raises(
        ValueError, match=r"no candidate of the grid is usable.*smaller values of c"
    ):
        model.fit(X, Y[:, 0])


def nearly_linear(noise):
    """A signal in two of eight features, and so much noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    return X, X[:, 0] + X[:, 1] + noise * rng.standard_normal(60)


FALLS = "and the loss still falls towards it by more than its standard error: extend c_grid with"


@pytest.mark.parametrize(
    ("noise", "grid", "message"),
    [
        (0.01, (1e-4, 1e-3), f"c=0.001 is the largest that was tried, {FALLS} larger"),
        (30.0, (1e3, 1e6), f"c=1e+03 is the smallest that was tried, {FALLS} smaller"),
    ],
)
def test_edge_says_which_way(noise, grid, message):
    X, y = nearly_linear(noise)
    with pytest.warns(GridEdgeWarning, match=re.escape(message)) as caught:
        StretchyRegressorCV(a_grid=(0.0,), c_grid=grid, combine="best").fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]


def test_strongest_automatic_penalty():
    """An intercept is all there is to find, and left-out means lie on its other side."""
    X = np.random.default_rng(0).standard_normal((30, 4))
    y = np.repeat([1.0, -1.0], 15)
    y = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    with pytest.warns(
        GridEdgeWarning, match=r"c=0\.0013 is the smallest.*pass c_grid with smaller values"
    ):
        StretchyRegressorCV(a_grid=(0.0,), combine="best").fit(X, y)


def test_no_edge_where_all_coefficients_are_free():
    """The weakest penalty is clearly the best, and weaker ones are the same model."""
    X, y = nearly_linear(0.0)
    model = StretchyRegressorCV(
        a_grid=(0.0,), k_grid=(2.0,), c_grid=(1.0, 1e2, 1e4), combine="best"
    ).fit(X, y)
    assert model.c_ == 1e4
    assert model.dof_ > 8.99
    worse, error = (model.cv_results_[f"loss_above_chosen{end}"] for end in ("", "_se"))
    assert worse[1] > error[1] > 0


def test_no_edge_where_the_loss_does_not_fall_towards_it():
    X, y = nearly_linear(1.0)
    grid, powers = 10.0 ** np.arange(0.0, 6.0), (1.05, 1.1, 1.25, 1.5, 2.0)
    model = StretchyRegressorCV(a_grid=(0.0,), k_grid=powers, c_grid=grid, combine="best").fit(X, y)
    assert model.c_ in (grid[0], grid[-1])
    worse, error = (model.cv_results_[f"loss_above_chosen{end}"] for end in ("", "_se"))
    assert (worse <= error).all()


def test_loss_above_the_chosen_candidate_is_paired():
    X, y = nearly_linear(1.0)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 60)
    grids = {"a_grid": (-0.2, 0.0), "k_grid": (1.5, 2.0), "c_grid": (1e-3, 0.1, 10.0)}
    model = StretchyRegressorCV(**grids).fit(X, y, sample_weight=weights)
    results = model.cv_results_
    own = (y - model.cv_predictions_) ** 2
    exact = np.flatnonzero(results["loo"] == "exact")
    assert exact.size == 3 * 3 + 1 + 3  # closed forms, a minimiser, ridge on two features
    n = weights.sum() ** 2 / np.sum(weights**2)  # samples, effectively
    for row in exact:
        candidate = results["params"][row]
        own_grid = {f"{name}_grid": [candidate[name]] for name in "akc"}
        one = StretchyRegressorCV(candidate["density"], **own_grid)
        other = (y - one.fit(X, y, sample_weight=weights).cv_predictions_) ** 2
        mean = np.average(other - own, weights=weights)
        error = np.sqrt(weights @ (other - own - mean) ** 2 / weights.sum() / n)
        np.testing.assert_allclose(results["loss_above_chosen"][row], mean, atol=1e-12)
        np.testing.assert_allclose(results["loss_above_chosen_se"][row], error, atol=1e-12)


def test_no_edge():
    X, y = nearly_linear(1.0)
    StretchyRegressorCV(a_grid=(0.0,), c_grid=(1e-6, 1.0, 1e9), combine="best").fit(X, y)
    StretchyRegressorCV(a_grid=(0.0,), c_grid=(1e-4,), combine="best").fit(X, y)
    StretchyRegressorCV(a_grid=(0.0,), combine="best").fit(X, y)


def test_no_way_beyond_infinity():
    X, y = nearly_linear(0.0)
    model = StretchyRegressorCV(a_grid=(0.0,), c_grid=(1.0, np.inf), combine="best").fit(X, y)
    assert model.c_ == np.inf
