"""Few features: supports from the lasso path, chosen without every fold, against literal refits."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge, lars_path
from sklearn.model_selection import KFold

from skstretch import StretchyClassifierCV, StretchyRegressor, StretchyRegressorCV
from skstretch.core.stretch import Intercept
from skstretch.datasets import make_spectra
from skstretch.search import Problem, folds_from_splits
from skstretch.search.selection import lasso_supports
from tests.search.grids import prepared_data

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
FOLDS = KFold(4, shuffle=True, random_state=0)


def data(n=40, d=70, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, 3] = X[:, 2] + 0.01 * X[:, 3]
    return X, 2.0 * X[:, 2] - X[:, 8] + X[:, 20] + 0.3 * rng.standard_normal(n)


def zscores(X, weights=None):
    w = np.ones(len(X)) if weights is None else weights
    mean = w @ X / w.sum()
    return (X - mean) / np.sqrt(w @ (X - mean) ** 2 / w.sum())


def literal_support(Z, y, count, weights=None):
    """The largest active set of the lasso path with at most `count` columns, before it has more."""
    w = np.ones(len(Z)) if weights is None else weights
    Zc, yc = Z - w @ Z / w.sum(), y - w @ y / w.sum()
    root = np.sqrt(w)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        coefs = lars_path(root[:, None] * Zc, root * yc, method="lasso", max_iter=5_000)[2]
    kept = np.zeros(0, dtype=int)
    for coef in coefs.T[1:]:
        active = np.flatnonzero(coef)
        if active.size > count:
            break
        kept = active
    return kept


@pytest.mark.parametrize("count", [1, 3, 10])
@pytest.mark.parametrize("weighted", [False, True])
def test_folds_choose_for_themselves_and_are_fitted_again(count, weighted):
    X, y = data()
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else np.ones(len(y))
    grid = {"a_grid": (0.0,), "k_grid": (2.0,), "c_grid": (0.01,), "combine": "best", "cv": FOLDS}
    model = StretchyRegressorCV(**grid, n_features_to_select=count).fit(X, y, sample_weight=w)
    Z, predicted = zscores(X, w), np.empty_like(y)
    for train, test in FOLDS.split(X):
        own = literal_support(Z[train], y[train], count, w[train])
        ridge = Ridge(alpha=1 / (0.01 * 2.0)).fit(Z[train][:, own], y[train], w[train])
        predicted[test] = ridge.predict(Z[test][:, own])
    np.testing.assert_allclose(model.cv_predictions_, predicted, rtol=1e-8, atol=1e-9)
    kept = literal_support(Z, y, count, w)
    assert np.flatnonzero(model.support_).tolist() == kept.tolist()


@pytest.mark.parametrize("shape", [(40, 70), (90, 12)])
@pytest.mark.parametrize(("a", "k"), [(-0.2, 1.5), (0.0, 1.3), (0.0, 2.0)])
def test_every_power_is_fitted_on_the_support(shape, a, k):
    X, y = data(*shape) if shape[1] > 20 else (data(90, 70)[0][:, :12], data(90, 70)[1])
    grid = {"a_grid": (a,), "k_grid": (k,), "c_grid": (0.5,), "combine": "best", "cv": FOLDS}
    model = StretchyRegressorCV(**grid, n_features_to_select=4).fit(X, y)
    kept = np.flatnonzero(model.support_)
    assert kept.size <= 4
    alone = StretchyRegressor(k=k, c=0.5, a=a).fit(X[:, kept], y)
    np.testing.assert_allclose(model.predict(X), alone.predict(X[:, kept]), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "count"),
    [("one", 2), ("one", 5), ("one", 10), ("two", 2), ("two", 10), ("classes", 5)],
)
def test_an_average_reads_no_more_columns(kind, count):
    """All members of a target share one support: a column that is not in it changes nothing."""
    X, y = data()
    targets = {
        "one": y,
        "two": np.column_stack([y, X[:, 40] - X[:, 41]]),
        "classes": np.digitize(y, np.quantile(y, [0.3, 0.7])),
    }
    search = StretchyClassifierCV if kind == "classes" else StretchyRegressorCV
    model = search(n_features_to_select=count).fit(X, targets[kind])
    support = np.atleast_2d(model.support_)
    read = support.any(axis=0)
    # the scores of classes share theirs
    each = read if kind == "classes" else support
    assert 0 < each.sum(axis=-1).min() <= each.sum(axis=-1).max() <= count
    moved = X.copy()
    moved[:, ~read] = 1e3
    np.testing.assert_array_equal(model.predict(moved), model.predict(X))


@pytest.mark.slow
def test_storage_order_and_units_do_not_matter():
    X, y = data()
    true = StretchyRegressorCV(n_features_to_select=6).fit(X, y)
    order = np.random.default_rng(3).permutation(X.shape[1])
    for other, back in (
        (csr_array(X), slice(None)),
        (X * np.geomspace(1e-6, 1e6, X.shape[1]), slice(None)),
        (X[:, order], np.argsort(order)),
    ):
        model = StretchyRegressorCV(n_features_to_select=6).fit(other, y)
        assert model.support_[back].tolist() == true.support_.tolist()
        np.testing.assert_allclose(model.predict(other), true.predict(X), rtol=1e-6, atol=1e-8)


def test_penalty_factors():
    """What is never penalised is kept beside the support, what is left out is never kept."""
    X, y = data()
    factors = np.ones(X.shape[1])
    factors[50], factors[2] = 0.0, np.inf
    model = StretchyRegressorCV(n_features_to_select=3, penalty_factor=factors).fit(X, y)
    kept = np.flatnonzero(model.support_)
    assert 50 in kept
    assert 2 not in kept
    assert kept.size <= 4


@pytest.mark.parametrize("seed", [2, 3, 9])
def test_what_else_is_tried_does_not_matter(seed):
    """Columns leave the lasso path as well: a path that is longer has the same beginning."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 60)) @ (np.eye(60) + 0.5 * rng.standard_normal((60, 60)))
    X += 3.0 * rng.standard_normal((40, 1))
    y = X[:, :6] @ rng.uniform(-1.0, 1.0, (6, 1)) + 0.1 * rng.standard_normal((40, 1))
    splits = folds_from_splits(FOLDS.split(X), np.arange(40), 40)
    problem = Problem(y, np.ones(40), Intercept.FREE, splits)
    design = prepared_data(X).at(0.0).design
    alone, beside = (lasso_supports(design, problem, counts) for counts in ([12], [12, 30]))
    assert alone.whole[12].tolist() == beside.whole[12].tolist()
    assert [s[12].tolist() for s in alone.by_fold] == [s[12].tolist() for s in beside.by_fold]


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_units_of_features_and_weights_do_not_matter(unit):
    X, y = data()
    X = np.exp(0.2 * X)
    grid = {"c_grid": (np.inf,), "k_grid": (2.0,), "n_features_to_select": 6, "cv": FOLDS}
    one, other = (
        StretchyRegressorCV(quadrant="identity", **grid).fit(u * X, y) for u in (1.0, unit)
    )
    assert one.support_.sum() == 6
    assert other.support_.tolist() == one.support_.tolist()
    heavy = StretchyRegressorCV(quadrant="identity", **grid)
    heavy.fit(X, y, sample_weight=np.full(len(y), unit))
    assert heavy.support_.tolist() == one.support_.tolist()


def test_fewer_features_than_targets():
    """Each has a column of its own."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 30))
    Y = X[:, [20, 11, 7]] + np.array([0.5, 0.05, 0.5]) * rng.standard_normal((40, 3))
    grid = {"a_grid": (0.0,), "k_grid": (2.0,), "c_grid": (1.0,), "cv": FOLDS}
    for order in ([0, 1, 2], [2, 0, 1]):
        model = StretchyRegressorCV(**grid, n_features_to_select=1).fit(X, Y[:, order])
        kept = [np.flatnonzero(own).tolist() for own in model.support_]
        assert kept == [[[20], [11], [7]][j] for j in order]


def test_memory_does_not_matter():
    X, y = data()
    true = StretchyRegressorCV(n_features_to_select=6).fit(X, y)
    with config_context(working_memory=0.01):
        model = StretchyRegressorCV(n_features_to_select=6).fit(X, y)
    assert model.support_.tolist() == true.support_.tolist()


def test_what_is_never_penalised_explains_first():
    """A batch effect that is known leaves the path to what else there is."""
    rng = np.random.default_rng(0)
    batch = rng.integers(0, 2, 60).astype(float)
    X = np.column_stack([batch, rng.standard_normal((60, 50))])
    X[:, 5] += 2.0 * batch  # follows the batch, and tells nothing beside it
    y = 50 * batch + X[:, 1] + 0.1 * rng.standard_normal(60)
    factors = np.ones(51)
    factors[0] = 0.0
    model = StretchyRegressorCV(n_features_to_select=1, penalty_factor=factors).fit(X, y)
    assert np.flatnonzero(model.support_).tolist() == [0, 1]


@pytest.mark.parametrize("count", [4, 6, 12])
def test_neighbours_take_turns(count):
    """Wavelengths are much alike, and the path has many knots before it has six of them."""
    X, y = make_spectra(return_X_y=True)
    grid = {"a_grid": (0.0,), "k_grid": (2.0,), "c_grid": (1.0,), "cv": FOLDS}
    model = StretchyRegressorCV(**grid, n_features_to_select=count).fit(X, y)
    assert model.support_.sum() == count


def test_of_a_list_one_number_is_chosen():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((50, 60))
    y = X[:, :4] @ [2.0, -1.5, 1.0, 1.0] + rng.standard_normal(50)
    cases = {"squared": (y, "auto"), "poisson": (rng.poisson(np.exp(y / 4)), (1.5, 2.0))}
    for loss, (targets, powers) in cases.items():
        model = StretchyRegressorCV([2, 5, 10], loss=loss, k_grid=powers).fit(X, targets)
        used = model.cv_results_["weight"] > 0
        sizes = {*model.cv_results_["param_density"][used].tolist()}
        assert sizes == {model.support_.sum()}


def test_one_feature_is_not_all_of_them():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 10))
    y = X[:, 0] + 0.1 * rng.standard_normal(40)
    assert StretchyRegressorCV([1, 1.0]).fit(X, y).support_.sum() in (1, 10)
    model = StretchyRegressorCV([1, 1.0], k_grid=(2.0,), a_grid=(0,)).fit(X, y)
    assert model.support_.sum() == 1
