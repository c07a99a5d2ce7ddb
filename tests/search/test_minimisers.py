"""Candidates at a = 0 and k < 2: which residuals are exact, and that these are those of refits."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, LeaveOneGroupOut

from skstretch import StretchyClassifierCV, StretchyRegressor, StretchyRegressorCV
from skstretch.core.bridge_path import finish, solve, space
from skstretch.solve.choose import PATH, SCORING
from tests.literal import lasso_support
from tests.search.grids import data

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
KINDS = {True: "free", "column": "column", False: "none"}
GRID = {"a_grid": (0.0,), "k_grid": (1.2, 1.5, 2.0)}


def zscores(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def refit(Z, y, k, c, kind="free"):
    where, point = solve(space(Z, np.ones(len(y)), kind), k, c, y)
    found = finish(where, point, y)
    return found.alpha, found.m


def literal(X, Y, k, c, splits, kind="free", count=None):
    """Out-of-fold outputs by cold fits of every fold on the z-scores of all samples."""
    Z, outputs = zscores(X), np.full(Y.shape, np.nan)
    for train, test in splits:
        for t, y in enumerate(Y.T):
            columns = np.arange(Z.shape[1])
            if count is not None:
                columns = np.array(lasso_support(Z[train], y[train, None], count))
            alpha, m = refit(Z[np.ix_(train, columns)], y[train], k, c, kind)
            outputs[test, t] = Z[np.ix_(test, columns)] @ alpha + m
    return outputs


def loo_splits(n):
    return [(np.delete(np.arange(n), i), np.array([i])) for i in range(n)]


@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("fit_intercept", KINDS)
def test_leave_one_out_of_what_is_told(shape, fit_intercept):
    X, Y = data(shape, n_targets=2, seed=1)
    search = StretchyRegressorCV(**GRID, fit_intercept=fit_intercept, combine="best").fit(X, Y)
    table = search.cv_results_
    exact = table["loo"] == "exact"
    assert exact[table["param_k"] == 2.0].all()
    assert exact[search.best_index_]
    assert (~exact).any()
    for k in GRID["k_grid"]:
        family = np.flatnonzero((table["param_k"] == k) & table["usable"])
        best = family[np.argmax(table["mean_test_score"][family])]
        assert exact[best]
    splits = loo_splits(len(Y))
    for row in np.flatnonzero(exact & (table["param_k"] < 2)):
        k, c = table["param_k"][row], table["param_c"][row]
        outputs = literal(X, Y, k, c, splits, KINDS[fit_intercept])
        served = (
            np.s_[:] if "target" not in table or table["target"][row] < 0 else table["target"][row]
        )
        score = -np.mean((Y - outputs)[:, served] ** 2)
        assert abs(table["mean_test_score"][row] - score) <= 1e-8 * abs(score)
        # every target has a candidate of its own
        chosen = search.weights_[search.weights_["row"] == row]
        own = np.array([chosen.get(f"weight_{j}", chosen["weight"]).any() for j in range(2)])
        predicted = search.cv_predictions_[:, own]
        np.testing.assert_allclose(predicted, outputs[:, own], atol=1e-8 * Y.std())


@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_approximate_is_near(shape):
    X, Y = data(shape, seed=2)
    search = StretchyRegressorCV(**GRID, combine="best").fit(X, Y[:, 0])
    table = search.cv_results_
    rows = np.flatnonzero((table["loo"] == "approximate") & table["usable"])
    middle = rows[len(rows) // 2]
    outputs = literal(X, Y, table["param_k"][middle], table["param_c"][middle], loo_splits(len(Y)))
    score = -np.mean((Y - outputs) ** 2)
    np.testing.assert_allclose(table["mean_test_score"][middle], score, rtol=0.5)


@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("densities", [(1.0,), (1.0, 3)], ids=str)
def test_folds_are_literal_refits(shape, densities):
    X, Y = data(shape, seed=3)
    cv = KFold(3, shuffle=True, random_state=0)
    grid = {
        "a_grid": (0.0,),
        "k_grid": (1.3,),
        "c_grid": (0.3, 0.02),
        "n_features_to_select": densities,
    }
    search = StretchyRegressorCV(**grid, cv=cv, combine="best").fit(X, Y[:, 0])
    table = search.cv_results_
    assert table["loo"][search.best_index_] == "exact"
    assert table["param_c"].tolist() == [0.3, 0.02] * len(densities)
    for row, candidate in enumerate(table["params"]):
        count = None if candidate["density"] == 1.0 else candidate["density"]
        outputs = literal(X, Y, candidate["k"], candidate["c"], [*cv.split(X)], count=count)
        score = -np.mean((Y - outputs) ** 2)
        # large folds are solved on the way too, to a coarse tolerance
        near = 1e-8 if table["loo"][row] == "exact" else SCORING.step
        assert abs(table["mean_test_score"][row] - score) <= near * abs(score)
        own = {f"{name}_grid": [candidate[name]] for name in "akc"}
        one = StretchyRegressorCV(candidate["density"], **own, cv=cv)
        found = one.fit(X, Y[:, 0]).cv_predictions_
        np.testing.assert_allclose(found, outputs[:, 0], atol=1e-8 * Y.std())


@pytest.mark.parametrize(
    ("Search", "scoring"),
    [
        (StretchyRegressorCV, None),
        (StretchyRegressorCV, "neg_mean_absolute_error"),
        (StretchyClassifierCV, None),
        (StretchyClassifierCV, "accuracy"),
    ],
)
@pytest.mark.parametrize("combine", ["best", "1se"])
def test_what_is_told_is_exact(Search, scoring, combine):
    classes = Search is StretchyClassifierCV
    X, Y = data("wide", seed=10)
    search = Search(k_grid=(1.25, 2.0), combine=combine, scoring=scoring)
    table = search.fit(X, Y[:, 0] > np.median(Y) if classes else Y[:, 0]).cv_results_
    exact = table["loo"] == "exact"
    assert {*table["loo"]} == {"exact", "approximate"}
    assert exact[search.best_index_]
    for a, k in {*zip(table["param_a"], table["param_k"], strict=True)}:
        family = (table["param_a"] == a) & (table["param_k"] == k) & table["usable"]
        scores = np.where(family, table["mean_test_score"], -np.inf)
        assert exact[np.flatnonzero(scores == scores.max())].any()
        assert exact[family].all() == (a != 0 or k == 2)


def test_automatic_powers():
    X, _ = data("tall", seed=4)
    y = X @ np.arange(X.shape[1])  # without noise: errors fall all the way
    table = StretchyRegressorCV(a_grid=(-0.2, 0.0)).fit(X, y).cv_results_
    linear = table["param_a"] == 0
    assert sorted({*table["param_k"][linear]}) == [1.02, 1.05, 1.1, 1.25, 1.5, 2.0]
    assert sorted({*table["param_k"][~linear]}) == [1.25, 1.5, 2.0]
    for k in (1.05, 1.5):
        family = linear & (table["param_k"] == k)
        assert 5 <= family.sum() <= 20
        dof = table["dof"][family]
        assert dof[0] < 3
        assert dof[-1] > 0.8 * X.shape[1]


def test_paths_end_where_errors_only_grow():
    """The least error lies behind the last candidates, and well before saturation."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 120))
    y = X[:, 0] + rng.standard_normal(60)
    table = StretchyRegressorCV(a_grid=(0.0,), n_features_to_select=1.0).fit(X, y).cv_results_
    for k in (1.05, 1.25):
        family = table["param_k"] == k
        error, dof = -table["mean_test_score"][family], table["dof"][family]
        assert (error[-PATH.patience :] > PATH.worse * error.min()).all()
        assert dof[-1] < 0.95 * len(X)


def test_given_powers_and_penalties():
    X, Y = data("tall", seed=5)
    grid = {"a_grid": (0.0, 0.3), "k_grid": (1.5, 3.0), "c_grid": (0.1, np.inf)}
    table = StretchyRegressorCV(**grid).fit(X, Y[:, 0]).cv_results_
    candidates = {(candidate["a"], candidate["k"], candidate["c"]) for candidate in table["params"]}
    assert candidates == {(a, k, c) for a, k in ((0.0, 1.5), (0.3, 1.5), (0.3, 3.0))
                     for c in (0.1, np.inf)}  # fmt: skip
    endless = (table["param_a"] == 0) & np.isinf(table["param_c"])
    assert not table["usable"][endless].any()
    with pytest.raises(ValueError, match=r"no power for a=0"):
        StretchyRegressorCV(a_grid=(0.0,), k_grid=(3.0,)).fit(X, Y[:, 0])


def test_interpolating_candidates_never_win():
    X, Y = data("wide", seed=6)
    grid = {"a_grid": (0.0,), "k_grid": (1.5,), "c_grid": (0.01, 1e9)}
    search = StretchyRegressorCV(**grid, combine="best").fit(X, Y[:, 0])
    assert search.cv_results_["usable"].tolist() == [True, False]
    assert search.c_ == 0.01


@pytest.mark.parametrize("combine", ["best", "1se"])
def test_the_chosen_model_is_the_minimiser(combine):
    X, Y = data("wide", seed=7)
    search = StretchyRegressorCV(a_grid=(0.0,), k_grid=(1.2, 1.5), combine=combine).fit(X, Y[:, 0])
    assert search.solver_ == "newton"
    assert search.dual_gap_ <= 1e-10
    alpha, _ = refit(zscores(X), Y[:, 0], search.k_, search.c_)
    np.testing.assert_allclose(search.coef_ * X.std(axis=0), alpha, atol=1e-8)
    lower, upper = search.predict_interval(X)
    assert (lower < upper).all()


def test_classes():
    X, Y = data("wide", seed=8)
    labels = Y[:, 0] > np.median(Y)
    search = StretchyClassifierCV(**GRID).fit(X, labels)
    assert search.cv_results_["loo"][search.best_index_] == "exact"
    proba = search.predict_proba(X)
    np.testing.assert_array_equal(search.classes_[proba.argmax(axis=1)], search.predict(X))


def changed(how, X, y):
    """The same problem told differently: the data, the rows of the new problem, the unit of y."""
    rng = np.random.default_rng(0)
    if how == "order":
        rows = rng.permutation(len(y))
        return X[np.ix_(rows, rng.permutation(X.shape[1]))], y[rows], rows, 1.0
    if how == "units of X":
        return 7.0 - X * 10.0 ** rng.uniform(-3, 3, X.shape[1]), y, slice(None), 1.0
    return X, 1e3 * y, slice(None), 1e3


@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("cv", [None, 4])
@pytest.mark.parametrize("how", ["order", "units of X", "units of y"])
def test_what_changes_nothing(how, cv, shape):
    X, Y = data(shape, seed=9)
    X2, y2, rows, unit = changed(how, X, Y[:, 0])
    if cv is not None:  # the same folds of the same samples
        labels = np.arange(len(X)) % cv
        cv, cv2 = ([(np.flatnonzero(f != i), np.flatnonzero(f == i)) for i in range(cv)]
                   for f in (labels, labels[rows]))  # fmt: skip
    else:
        cv2 = None
    k, cs = 1.25, np.array([1e-3, 1e-2, 0.1])
    grid = {"a_grid": (0.0,), "k_grid": (k,), "combine": "best"}
    one = StretchyRegressorCV(**grid, c_grid=cs, cv=cv).fit(X, Y[:, 0])
    two = StretchyRegressorCV(**grid, c_grid=cs * unit ** (k - 2), cv=cv2).fit(X2, y2)
    assert one.best_index_ == two.best_index_
    size = 1e-8 * Y.std()
    np.testing.assert_allclose(two.predict(X2) / unit, one.predict(X)[rows], atol=size)
    np.testing.assert_allclose(two.cv_predictions_ / unit, one.cv_predictions_[rows], atol=size)
    exact = one.cv_results_["loo"] == "exact"
    scores = two.cv_results_["mean_test_score"] / unit**2, one.cv_results_["mean_test_score"]
    np.testing.assert_allclose(*(score[exact] for score in scores), rtol=1e-8)
    np.testing.assert_allclose(*scores, rtol=SCORING.step**2)


@pytest.mark.parametrize("how", ["order", "units of X", "units of y"])
def test_automatic_paths_follow(how):
    """Paths are laid by points that are solved as closely as choosing needs, and so is c."""
    X, Y = data("wide", seed=9)
    X2, y2, _, unit = changed(how, X, Y[:, 0])
    one, two = (StretchyRegressorCV(a_grid=(0.0,), combine="best").fit(*d)
                for d in ((X, Y[:, 0]), (X2, y2)))  # fmt: skip
    assert one.best_index_ == two.best_index_
    powers = one.cv_results_["param_k"]
    np.testing.assert_array_equal(two.cv_results_["param_k"], powers)
    c = two.cv_results_["param_c"] * unit ** np.where(powers < 2, 2 - powers, 0.0)
    np.testing.assert_allclose(c, one.cv_results_["param_c"], rtol=SCORING.step**2)
    s = two.cv_results_["param_s"], one.cv_results_["param_s"]
    np.testing.assert_allclose(*s, rtol=SCORING.step**2)


@pytest.mark.parametrize("cs", [(0.3, 0.02), (0.02, 0.3)], ids=str)
def test_the_stronger_of_equal_penalties_wins(cs):
    """Of a target that does not vary nothing is left to explain, whatever the penalty."""
    X, Y = data("wide", seed=11)
    grid = {"a_grid": (0.0,), "k_grid": (1.5,), "c_grid": cs, "combine": "best"}
    search = StretchyRegressorCV(**grid).fit(X, np.full(len(Y), 3.0))
    assert (search.cv_results_["mean_test_score"] == 0).all()
    assert search.c_ == 0.02


@pytest.mark.parametrize("unit", [1e-60, 1e-12, 1e9, 1e60])
def test_paths_follow_the_units_of_y(unit):
    """Errors scale as y**2 and c as y**(k-2), at powers of 50 too, which vanish or overflow."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 60))
    y = X[:, :3].sum(axis=1) + 0.3 * rng.standard_normal(30)
    grid = {"a_grid": (0,), "k_grid": (1.02, 1.1), "combine": "best"}
    one, other = (StretchyRegressorCV(**grid).fit(X, y * u).cv_results_ for u in (1.0, unit))
    for k in (1.02, 1.1):
        a, b = (found["param_k"] == k for found in (one, other))
        np.testing.assert_allclose(
            other["param_c"][b], one["param_c"][a] * unit ** (k - 2.0), rtol=1e-6
        )
        np.testing.assert_allclose(
            other["mean_test_score"][b] / unit**2, one["mean_test_score"][a], rtol=1e-3
        )


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(18, 40), (40, 12)])
def test_slopes_of_any_candidate_are_those_of_fits_alone(shape, intercept):
    """Candidates of one power are solved on together; weights, targets and both spaces."""
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal(shape), rng.standard_normal((shape[0], 2))
    weights = rng.uniform(0.5, 2.0, shape[0])
    options = {"fit_intercept": intercept}
    model = StretchyRegressorCV(
        a_grid=[0.0],
        k_grid=[1.1, 1.5],
        c_grid=[0.1, 1.0, 10.0],
        n_features_to_select=1.0,
        **options,
    ).fit(X, Y, sample_weight=weights)
    kept = model._outcomes
    found = dict(kept.slopes(range(len(kept.candidates)), shape[1]))
    assert sorted(found) == [*range(6)]
    for row, candidate in enumerate(kept.candidates):
        one = StretchyRegressor(k=candidate.k, c=candidate.c, a=0.0, **options)
        one.fit(X, Y, sample_weight=weights)
        error = np.abs(found[row] - one.coef_).max()
        assert error <= 1e-7 * np.abs(one.coef_).max()


@pytest.mark.parametrize("size", [1, 2, 6])
def test_groups_on_the_way_are_approximate_and_at_the_end_exact(size):
    """What the search tells of groups is that of literal refits."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 300))
    y = X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(60)
    groups = np.arange(60) // size
    search = StretchyRegressorCV(a_grid=(0.0,), k_grid=(1.1, 1.25, 1.5)).fit(X, y, groups=groups)
    assert (search.cv_results_["loo"] == "approximate").any()
    assert (search.cv_results_["loo"][search.cv_results_["weight"] > 0] == "exact").all()
    heaviest = search.cv_results_["params"][int(np.argmax(search.cv_results_["weight"]))]
    own = {f"{name}_grid": [heaviest[name]] for name in "akc"}
    alone = StretchyRegressorCV(**own, combine="best").fit(X, y, groups=groups)
    splits = [*LeaveOneGroupOut().split(X, y, groups)]
    outputs = literal(X, y[:, None], heaviest["k"], heaviest["c"], splits)
    np.testing.assert_allclose(alone.cv_predictions_, outputs[:, 0], atol=1e-8 * y.std())


@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("count", [None, 3])
def test_samples_that_a_split_repeats(shape, count):
    """Rows drawn with replacement count as often as they are drawn."""
    X, Y = data(shape, seed=4)
    rng = np.random.default_rng(0)
    drawn = [rng.integers(0, len(X), len(X)) for _ in range(3)]
    splits = [(train, np.setdiff1d(np.arange(len(X)), train)) for train in drawn]
    own = {"a_grid": [0.0], "k_grid": [1.25], "c_grid": [0.05], "combine": "best"}
    search = StretchyRegressorCV(count, **own, cv=splits).fit(X, Y[:, 0])
    squares = []
    for train, test in splits:
        outputs = literal(X, Y[:, :1], 1.25, 0.05, [(train, test)], count=count)
        squares.append(np.square(Y[test, 0] - outputs[test, 0]))
    np.testing.assert_allclose(-search.best_score_, np.mean(np.concatenate(squares)), rtol=1e-8)
