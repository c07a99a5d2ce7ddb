"""The regressor that searches: what it reports, chooses, refuses and leaves behind."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import (
    make_scorer,
    mean_absolute_error,
    mean_pinball_loss,
    mean_squared_error,
    r2_score,
)
from sklearn.model_selection import GridSearchCV, KFold, RepeatedKFold, ShuffleSplit, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstretch import StretchyRegressor, StretchyRegressorCV
from skstretch.exceptions import PoorTargetsWarning
from tests import literal
from tests.estimators.samples import assert_close, new_rows, problem
from tests.references import INTERCEPTS

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
shapes = pytest.mark.parametrize("shape", ["wide", "tall"])
FEW = {"k_grid": (1.25, 2.0), "c_grid": (0.1, 10.0, 1e3)}
# the rows of FEW that have a closed form: exact minimisers have tests of their own
CLOSED = [{**FEW, "a_grid": (-0.2,)}, {**FEW, "a_grid": (0.0,), "k_grid": (2.0,)}]
COLUMNS = {
    *("param_a", "param_k", "param_c", "param_s", "param_density", "params"),
    *("mean_test_score", "rank_test_score", "dof", "n_features", "rcond", "usable", "reason"),
    *("within_1se", "loo"),
}


@shapes
def test_results_open_as_a_frame(shape):
    X, y = problem(shape)
    model = StretchyRegressorCV(n_features_to_select=[1.0, 0.5], cv=4, combine="best", **FEW).fit(
        X, y
    )
    frame = pd.DataFrame(model.cv_results_)
    assert set(frame.columns) >= COLUMNS
    assert len(frame) == 4 * 3 * 2  # (a, k), c, density
    closed = (frame["param_a"] != 0) | (frame["param_k"] == 2)
    assert (frame["loo"][closed | (frame["param_density"] < 1)] == "exact").all()
    assert frame["loo"][model.best_index_] == "exact"
    assert frame["usable"][closed].all()
    row = frame.loc[model.best_index_]
    place = (row["param_a"], row["param_k"], row["param_c"], row["param_density"])
    assert place == (model.a_, model.k_, model.c_, model.density_)
    assert row["params"] == dict(zip(("a", "k", "c", "density"), place, strict=True))
    assert row["mean_test_score"] == model.best_score_
    assert row["n_features"] == model.support_.sum()
    # exact minimisers of selected features are fitted again, more closely than in the search
    assert row["dof"] == pytest.approx(model.dof_, rel=1e-9 if closed[model.best_index_] else 1e-8)
    ranks = frame["mean_test_score"].rank(ascending=False, method="min")
    usable = frame["usable"]
    np.testing.assert_array_equal(frame["rank_test_score"][usable], ranks[usable])
    assert frame["within_1se"][frame["rank_test_score"] == 1].all()


def test_equal_scores_share_a_rank():
    X, y = problem("tall")
    model = StretchyRegressorCV(scoring=lambda estimator, X, y: 1.0, **FEW).fit(X, y)
    np.testing.assert_array_equal(model.cv_results_["rank_test_score"], 1)


def weighted_error(estimator, X, y, sample_weight=None):
    return -(mean_squared_error(y, estimator.predict(X), sample_weight=sample_weight) ** 0.5)


SCORINGS = {
    "default": (None, lambda y, f, w: -mean_squared_error(y, f, sample_weight=w)),
    "r2": ("r2", lambda y, f, w: r2_score(y, f, sample_weight=w)),
    "name": (
        "neg_mean_absolute_error",
        lambda y, f, w: -mean_absolute_error(y, f, sample_weight=w),
    ),
    "callable": (
        weighted_error,
        lambda y, f, w: -(mean_squared_error(y, f, sample_weight=w) ** 0.5),
    ),
    "made": (
        make_scorer(mean_pinball_loss, alpha=0.8, greater_is_better=False),
        lambda y, f, w: -mean_pinball_loss(y, f, sample_weight=w, alpha=0.8),
    ),
}


@shapes
@pytest.mark.parametrize("name", SCORINGS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cv", [None, 5])
def test_best_score_is_that_of_the_predictions(shape, name, weighted, cv):
    X, y = problem(shape)
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(y)) if weighted else None
    scoring, metric = SCORINGS[name]
    model = StretchyRegressorCV(cv=cv, scoring=scoring, **FEW).fit(X, y, sample_weight=weights)
    assert model.best_score_ == pytest.approx(metric(y, model.cv_predictions_, weights), rel=1e-12)


@shapes
@pytest.mark.parametrize("grid", CLOSED)
def test_scores_decide(shape, grid):
    """The best candidate by each score is that of literal leave one out."""
    X, y = problem(shape)
    for name in ("default", "name"):
        scoring, metric = SCORINGS[name]
        model = StretchyRegressorCV(scoring=scoring, combine="best", **grid).fit(X, y)
        results, expected = model.cv_results_, []
        for a, k, c in zip(*(results[f"param_{p}"] for p in "akc"), strict=True):
            P = literal.features(X, a)
            splits = literal.leave_one_out(len(y))
            predictions = literal.out_of_fold(P, y[:, None], splits, k, c)
            expected.append(metric(y, predictions[:, 0], None))
        np.testing.assert_allclose(results["mean_test_score"], expected, rtol=1e-8)
        assert model.best_index_ == np.argmax(expected)


def test_several_targets_are_averaged():
    X, Y = problem("tall", n_targets=3)
    model = StretchyRegressorCV(**FEW).fit(X, Y)
    assert model.cv_predictions_.shape == Y.shape
    assert model.coef_.shape == (3, X.shape[1])
    errors = ((Y - model.cv_predictions_) ** 2).mean(axis=0)
    assert model.best_score_ == pytest.approx(-errors.mean(), rel=1e-12)
    scored = StretchyRegressorCV(scoring="r2", **FEW).fit(X, Y)
    assert scored.best_score_ == pytest.approx(r2_score(Y, scored.cv_predictions_), rel=1e-12)


def test_scores_are_pooled_over_repeats():
    X, y = problem("tall")
    cv = RepeatedKFold(n_splits=4, n_repeats=3, random_state=0)
    model = StretchyRegressorCV(a_grid=(-0.2,), k_grid=(1.5,), c_grid=(10.0,), cv=cv).fit(X, y)
    splits = list(cv.split(X))
    P = literal.features(X, -0.2)
    predictions = literal.out_of_fold(P, y[:, None], splits, 1.5, 10.0)[:, 0]
    tested = np.concatenate([test for _, test in splits])
    expected = -np.mean((y[tested] - predictions) ** 2)
    assert model.best_score_ == pytest.approx(expected, rel=1e-9)
    means = np.bincount(tested, weights=predictions) / 3
    np.testing.assert_allclose(model.cv_predictions_, means, rtol=1e-9)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc"])
def test_scorers_of_classes_are_refused(scoring):
    X, y = problem("tall")
    with pytest.raises(
        ValueError, match=rf"scoring='{scoring}' asks for more than predict,.*scorer of those\.$"
    ):
        StretchyRegressorCV(scoring=scoring, **FEW).fit(X, y)


def test_scorer_without_weights():
    X, y = problem("tall")

    def unweighted(estimator, X, y):
        return -mean_squared_error(y, estimator.predict(X))

    model = StretchyRegressorCV(scoring=unweighted, **FEW).fit(X, y)
    assert model.best_score_ == -mean_squared_error(y, model.cv_predictions_)
    with pytest.raises(TypeError, match=r"scoring='unweighted' takes no sample_weight"):
        StretchyRegressorCV(scoring=unweighted, **FEW).fit(X, y, sample_weight=np.ones(len(y)))


@pytest.mark.parametrize("shape", ["wide", "tall", (8, 8), (9, 8), (10, 8)])
@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
@pytest.mark.parametrize("density", [1.0, 0.5, 3])
@pytest.mark.parametrize(("a", "k"), [(-0.2, 1.25), (0.3, 2.0), (0.0, 1.5)])
def test_chosen_model_is_the_regressor(shape, fit_intercept, density, a, k):
    X, y = problem(shape)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    searched = StretchyRegressorCV(
        a_grid=(a,),
        k_grid=(k,),
        c_grid=(0.1, 10.0),
        n_features_to_select=density,
        fit_intercept=fit_intercept,
        cv=4,
    ).fit(X, y, sample_weight=weights)
    kept = np.arange(X.shape[1])
    if density != 1.0:
        Z = literal.features(X, 0.0, weights)
        count = density if density == 3 else literal.count_of(density, X.shape[1])
        kept = np.array(literal.lasso_support(Z, y[:, None], count, weights))
    alone = StretchyRegressor(
        searched.k_, searched.c_, a=searched.a_, fit_intercept=fit_intercept
    ).fit(X[:, kept], y, sample_weight=weights)
    assert searched.k_ == k
    assert np.flatnonzero(searched.support_).tolist() == kept.tolist()
    assert_close(searched.alpha_[kept], alone.alpha_)
    assert_close(searched.coef_[kept], alone.coef_)
    assert_close(searched.intercept_, alone.intercept_, rtol=1e-9)
    assert_close(searched.dual_coef_, alone.dual_coef_, rtol=1e-9)
    assert_close(searched.predict(new_rows(X)), alone.predict(new_rows(X)[:, kept]))
    assert (searched._state.space, searched.solver_) == (alone._state.space, alone.solver_)
    assert searched.dof_ == pytest.approx(alone.dof_, rel=1e-9)


@shapes
def test_identity(shape):
    X, y = problem(shape)
    X = np.abs(X) / np.abs(X).mean(axis=0)
    model = StretchyRegressorCV(quadrant="identity", a_grid="not used", combine="best", **FEW).fit(
        X, y
    )
    assert len(model.cv_results_["param_k"]) == 6
    alone = StretchyRegressor(model.k_, model.c_, quadrant="identity").fit(X, y)
    assert_close(model.alpha_, alone.alpha_)
    P = literal.features(X, 1.0, quadrant="identity")
    splits = literal.leave_one_out(len(y))
    expected = literal.out_of_fold(P, y[:, None], splits, model.k_, model.c_)[:, 0]
    assert_close(model.cv_predictions_, expected, rtol=1e-9)


def test_samples_in_no_test_set():
    X, y = problem("tall")
    cv = ShuffleSplit(2, test_size=0.3, random_state=0)
    model = StretchyRegressorCV(cv=cv, **FEW).fit(X, y)
    tested = np.zeros(len(y), dtype=bool)
    for _, test in cv.split(X):
        tested[test] = True
    assert not tested.all()
    np.testing.assert_array_equal(np.isfinite(model.cv_predictions_), tested)


@shapes
@pytest.mark.parametrize("cv", [None, 4])
def test_weight_zero(shape, cv):
    """Such samples leave no trace, and get the prediction of the model."""
    X, y = problem(shape)
    weights = np.ones(len(y))
    weights[[0, 3, 7]] = 0.0
    kept = weights > 0
    spoiled = X.copy()
    spoiled[~kept] += 1e3
    model = StretchyRegressorCV(cv=cv, **FEW).fit(X, y, sample_weight=weights)
    other = StretchyRegressorCV(cv=cv, **FEW).fit(spoiled, y * kept, sample_weight=weights)
    assert_close(model.coef_, other.coef_, rtol=1e-12)
    np.testing.assert_array_equal(model.cv_predictions_[~kept], model.predict(X[~kept]))
    assert_close(other.cv_predictions_[kept], model.cv_predictions_[kept], rtol=1e-12)
    if cv is None:
        without = StretchyRegressorCV(cv=cv, **FEW).fit(X[kept], y[kept])
        assert_close(model.coef_, without.coef_, rtol=1e-12)
        assert_close(model.cv_predictions_[kept], without.cv_predictions_, rtol=1e-12)
        assert model.best_score_ == pytest.approx(without.best_score_, rel=1e-12)


@pytest.mark.parametrize("combine", ["best", "1se"])
def test_integer_weights_repeat(combine):
    """Where a row leaves with all its weight, weights are repetitions: scores and rule alike."""
    X, y = problem("tall")
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    groups = rows
    splits = [(np.delete(np.arange(len(y)), i), [i]) for i in range(len(y))]
    repeated = [(np.flatnonzero(groups != i), np.flatnonzero(groups == i)) for i in range(len(y))]
    one = StretchyRegressorCV(cv=splits, combine=combine, **FEW).fit(X, y, sample_weight=weights)
    two = StretchyRegressorCV(cv=repeated, combine=combine, **FEW).fit(X[rows], y[rows])
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"], rtol=1e-9
    )
    np.testing.assert_array_equal(one.cv_results_["within_1se"], two.cv_results_["within_1se"])
    assert (one.a_, one.k_, one.c_) == (two.a_, two.k_, two.c_)


def test_ten_folds_where_features_are_selected():
    X, y = problem("tall")
    model = StretchyRegressorCV(n_features_to_select=[0.5, 1.0], **FEW).fit(X, y)
    cv = KFold(10, shuffle=True, random_state=0)
    folded = StretchyRegressorCV(n_features_to_select=[0.5, 1.0], cv=cv, **FEW).fit(X, y)
    np.testing.assert_array_equal(model.cv_predictions_, folded.cv_predictions_)
    alone = StretchyRegressorCV(**CLOSED[1]).fit(X, y)
    splits = literal.leave_one_out(len(y))
    left_out = literal.out_of_fold(
        literal.features(X, alone.a_), y[:, None], splits, alone.k_, alone.c_
    )
    assert_close(alone.cv_predictions_, left_out[:, 0], rtol=1e-9)


def test_a_count_and_a_share_of_one():
    X, y = problem("tall")
    model = StretchyRegressorCV(
        a_grid=(-0.2,), k_grid=(1.5,), c_grid=(10.0,), n_features_to_select=[1.0, 1, 1.0], cv=4
    ).fit(X, y)
    assert model.cv_results_["n_features"].tolist() == [7, 1]
    assert [type(p["density"]) for p in model.cv_results_["params"]] == [float, int]


@pytest.mark.parametrize(
    ("grid", "error", "message"),
    [
        ({"a_grid": ()}, ValueError, "a_grid is empty: pass at least one"),
        ({"k_grid": []}, ValueError, "k_grid is empty"),
        ({"c_grid": np.array([])}, ValueError, "c_grid is empty"),
        ({"n_features_to_select": ()}, ValueError, "n_features_to_select is empty"),
        ({"a_grid": -0.2}, TypeError, r"a_grid=-0.2 is not a grid: pass a list"),
        ({"k_grid": "Auto"}, TypeError, r"k_grid='Auto' is not a grid.*or \"auto\""),
        ({"c_grid": "Auto"}, TypeError, r"c_grid='Auto' is not a grid.*or \"auto\""),
        ({"c_grid": None}, TypeError, "c_grid=None is not a grid"),
        ({"k_grid": [[1.5, 2.0]]}, TypeError, r"k_grid=\[\[1.5, 2.0\]\] is not a grid"),
        ({"a_grid": (np.nan,)}, ValueError, "a=nan"),
        ({"a_grid": (np.inf,)}, ValueError, "a=inf must be finite"),
        ({"a_grid": (-0.2, "0")}, TypeError, "a='0' is not a number"),
        ({"a_grid": (1e4,)}, ValueError, r"reaches exp\(\d+\) in column \d+ at a=10000"),
        ({"k_grid": (1.5, 1.0)}, ValueError, r"k=1.0 is out of range.*1 < k < inf"),
        ({"k_grid": (0.5,)}, ValueError, "k=0.5 is out of range"),
        ({"k_grid": (np.inf,)}, ValueError, "k=inf is out of range"),
        ({"c_grid": (1.0, 0.0)}, ValueError, r"c=0.0 is out of range: it must be positive"),
        ({"c_grid": (-1.0,)}, ValueError, "c=-1.0 is out of range"),
        (
            {"n_features_to_select": 0.0},
            ValueError,
            r"n_features_to_select=0.0 is out of range.*float in \(0, 1\]",
        ),
        ({"n_features_to_select": 1.5}, ValueError, "n_features_to_select=1.5 is out of range"),
        ({"n_features_to_select": 8}, ValueError, r"n_features_to_select=8 is a count .* 1..7"),
        ({"combine": "2se"}, ValueError, r"combine='2se' is not known: use one of"),
        ({"scoring": "mse"}, ValueError, "'mse' is not a valid scoring value"),
        ({"cv": []}, ValueError, "cv gives no split"),
        ({"cv": [([0, 1, 2], [2, 3])]}, ValueError, "sample 2 is in the training and the test"),
        ({"fit_intercept": "no"}, ValueError, "fit_intercept='no' is not known"),
        ({"quadrant": "second"}, ValueError, "quadrant='second' is not known"),
    ],
)
def test_what_is_refused(grid, error, message):
    X, y = problem("tall")
    with pytest.raises(error, match=message):
        StretchyRegressorCV(**grid).fit(X, y)


def test_nothing_varies():
    with pytest.raises(ValueError, match="no column of X varies"):
        StretchyRegressorCV().fit(np.ones((5, 3)), np.arange(5.0))


# left-out samples of exact minimisers are solved by steps, which end where 2e-11 is left
@pytest.mark.parametrize(("grid", "rtol"), [*((grid, 1e-13) for grid in CLOSED), (FEW, 4e-11)])
def test_constant_columns_take_no_part(grid, rtol):
    X, y = problem("tall")
    model = StretchyRegressorCV(**grid).fit(np.insert(X, 2, 7.0, axis=1), y)
    alone = StretchyRegressorCV(**grid).fit(X, y)
    assert model.coef_[2] == 0.0
    assert_close(np.delete(model.coef_, 2), alone.coef_, rtol=1e-13)
    assert_close(model.cv_predictions_, alone.cv_predictions_, rtol=rtol)


def test_one_sample():
    with pytest.raises(ValueError, match=r"n_samples=1 of positive weight.*at least two"):
        StretchyRegressorCV().fit([[1.0, 2.0]], [1.0])
    X, y = problem("tall")
    with pytest.raises(ValueError, match=r"n_samples=1 of positive weight"):
        StretchyRegressorCV().fit(X, y, sample_weight=np.eye(len(y))[0])


@pytest.mark.parametrize("n_samples", [2, 3])
@pytest.mark.parametrize("densities", [(1.0,), (1.0, 0.5)])
@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
def test_few_samples(n_samples, densities, fit_intercept):
    X, y = problem("wide")
    X, y = X[:n_samples], y[:n_samples]
    settings = {"n_features_to_select": densities, "fit_intercept": fit_intercept}
    model = StretchyRegressorCV(a_grid=(-0.2,), combine="best", **settings).fit(X, y)
    P = literal.features(X, model.a_)
    count = literal.count_of(model.density_, X.shape[1])
    splits = literal.leave_one_out(n_samples)
    expected = literal.out_of_fold(
        P, y[:, None], splits, model.k_, model.c_, fit_intercept,
        count=count, Z=literal.features(X, 0.0),
    )  # fmt: skip
    assert_close(model.cv_predictions_, expected[:, 0], rtol=1e-8)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("y_shape", [(-1,), (-1, 1)])
def test_shapes_follow_y(y_shape):
    X, y = problem("tall")
    y = y.reshape(y_shape)
    model = StretchyRegressorCV(**FEW).fit(X, y)
    assert model.cv_predictions_.shape == model.predict(X).shape == y.shape
    assert model.coef_.ndim == y.ndim


def test_inputs_are_left_alone():
    X, y = problem("tall")
    weights = np.ones(len(y))
    before = [array.copy() for array in (X, y, weights)]
    grids = {"k_grid": np.array([1.25, 2.0]), "c_grid": np.array([1.0, 10.0])}
    model = StretchyRegressorCV(**grids, combine="best").fit(X, y, sample_weight=weights)
    for array, copy in zip((X, y, weights), before, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert model.get_params()["k_grid"] is grids["k_grid"]
    assert type(model.k_) is float


def test_clone_and_pickle():
    X, y = problem("wide")
    model = StretchyRegressorCV(n_features_to_select=[1.0, 0.5], cv=4, **FEW).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    assert pd.DataFrame(copy.cv_results_).equals(pd.DataFrame(model.cv_results_))
    again = clone(model)
    assert not hasattr(again, "cv_results_")
    with pytest.raises(NotFittedError):
        again.predict(X)
    np.testing.assert_array_equal(again.fit(X, y).coef_, model.coef_)


def test_inside_other_estimators():
    X, y = problem("tall")
    outer = GridSearchCV(StretchyRegressorCV(**FEW), {"fit_intercept": [True, False]}, cv=3)
    outer.fit(X, y)
    assert np.isfinite(outer.cv_results_["mean_test_score"]).all()
    assert outer.best_estimator_.cv_results_["usable"].all()
    piped = make_pipeline(StandardScaler(), StretchyRegressorCV(**FEW)).fit(X, y)
    alone = StretchyRegressorCV(**FEW).fit(X, y)
    assert_close(piped.predict(X), alone.predict(X))
    scores = cross_validate(StretchyRegressorCV(**FEW), X, y, cv=3)["test_score"]
    parts = KFold(3).split(X)
    expected = [StretchyRegressorCV(**FEW).fit(X[a], y[a]).score(X[b], y[b]) for a, b in parts]
    np.testing.assert_array_equal(scores, expected)


class Interrupted:
    """A scorer that is interrupted at its third candidate."""

    def __init__(self):
        self.calls = 0

    def __call__(self, estimator, X, y):
        self.calls += 1
        if self.calls == 3:
            raise KeyboardInterrupt
        return 0.0


@pytest.mark.parametrize("fitted_before", [False, True])
def test_interrupt_in_a_search(fitted_before):
    X, y = problem("tall")
    model = StretchyRegressorCV(**FEW)
    if fitted_before:
        model.fit(X, y)
    model.set_params(scoring=Interrupted())
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(NotFittedError):
        model.predict_interval(X)
    model.set_params(scoring=None).fit(X, y)
    np.testing.assert_array_equal(model.coef_, StretchyRegressorCV(**FEW).fit(X, y).coef_)


@pytest.mark.parametrize("params", [{"k_grid": (1.0,)}, {"combine": "x"}, {"cv": []}])
def test_refused_after_a_fit(params):
    X, y = problem("tall")
    model = StretchyRegressorCV(**FEW).fit(X, y)
    with pytest.raises(ValueError, match=r"k=1.0|combine='x'|no split"):
        model.set_params(**params).fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_no_edge_warning_where_all_candidates_are_alike():
    X = np.random.default_rng(0).standard_normal((12, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PoorTargetsWarning)
        StretchyRegressorCV(a_grid=(0.0,)).fit(X, np.zeros(12))
