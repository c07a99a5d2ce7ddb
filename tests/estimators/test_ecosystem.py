"""The estimators among the tools of scikit-learn."""

import io
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import BaggingRegressor
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_validate,
    train_test_split,
)
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skstretch import (
    FirstQuadrant,
    GaussianBasis,
    RandomNetwork,
    StretchyClassifier,
    StretchyRegressor,
)
from tests.estimators.samples import assert_close, new_rows, problem

shapes = pytest.mark.parametrize("shape", ["wide", "tall"])


def fitted(Model, shape="wide", **params):
    X, y = problem(shape)
    if Model is StretchyClassifier:
        return Model(threshold="zero", **params).fit(X, y > np.median(y)), X
    return Model(**params).fit(X, y), X


@shapes
def test_pipeline(shape):
    X, y = problem(shape)
    pipe = make_pipeline(FirstQuadrant(a=-0.3), StretchyRegressor(k=1.4, quadrant="identity"))
    # the pipeline bounds z, and its second step sees a linear model
    expected = StretchyRegressor(k=1.4, a=-0.3).fit(X, y)
    T = new_rows(X)
    assert_close(pipe.fit(X, y).predict(T), expected.predict(T))
    assert_close(pipe[-1].alpha_, expected.alpha_)


@pytest.mark.parametrize(
    "features",
    [
        RandomNetwork(50, random_state=0),
        GaussianBasis(20, random_state=0),
        PolynomialFeatures(2, include_bias=False),
    ],
)
def test_positive_features_and_identity(features):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.1, 2.0, (60, 3))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    pipe = make_pipeline(features, StretchyRegressor(c=1e4, quadrant="identity"))
    T, truth = X[40:], y[40:]
    model = pipe.fit(X[:40], y[:40])
    assert mean_squared_error(truth, model.predict(T)) < 0.2 * truth.var()


def test_grid_search_in_processes():
    X, y = problem("tall")
    grid = {"k": [1.1, 2.0], "density": [0.5, 1.0], "fit_intercept": [True, "column"]}
    folds = KFold(3)
    search = GridSearchCV(StretchyRegressor(), grid, cv=folds, n_jobs=2).fit(X, y)
    for params, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        by_hand = [
            StretchyRegressor(**params).fit(X[train], y[train]).score(X[test], y[test])
            for train, test in folds.split(X)
        ]
        assert score == pytest.approx(np.mean(by_hand), rel=1e-12)
    assert search.best_estimator_.coef_.shape == (7,)


def test_cross_val_predict_and_validate():
    X, y = problem("wide")
    folds = KFold(7)
    out = cross_val_predict(StretchyRegressor(), X, y, cv=folds)
    for train, test in folds.split(X):
        model = StretchyRegressor().fit(X[train], y[train])
        np.testing.assert_array_equal(out[test], model.predict(X[test]))
    scores = cross_validate(StretchyRegressor(), X, y, cv=folds, n_jobs=2, return_estimator=True)
    assert len(scores["estimator"]) == 7
    assert np.isfinite(scores["test_score"]).all()


@pytest.mark.parametrize("Model", [StretchyRegressor, StretchyClassifier])
def test_clone_and_parameters(Model):
    b = [0.1] * 30
    model, _ = fitted(Model, k=1.7, c=3.0, a=0.4, b=b, density=0.5, solver="qr", n_jobs=2)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "coef_")
    assert model.b is b
    assert model.set_params(k=1.2).k == 1.2


@shapes
@pytest.mark.parametrize("Model", [StretchyRegressor, StretchyClassifier])
@pytest.mark.parametrize("density", [1.0, 0.4])
@pytest.mark.parametrize("solver", ["auto", "qr"])
def test_pickle(shape, Model, density, solver):
    model, X = fitted(Model, shape, density=density, solver=solver)
    T = new_rows(X)
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(buffer)):
        np.testing.assert_array_equal(copy.predict(T), model.predict(T))
        np.testing.assert_array_equal(copy.coef_, model.coef_)
        np.testing.assert_array_equal(copy.dual_coef_, model.dual_coef_)
        assert (copy._state.space, copy.rcond_, copy.dof_) == (
            model._state.space,
            model.rcond_,
            model.dof_,
        )
        if Model is StretchyRegressor:
            assert_close(copy.coef_std(), model.coef_std(), rtol=1e-13)
            assert_close(copy.coef_covariance(2.0), model.coef_covariance(2.0), rtol=1e-13)


@pytest.mark.parametrize("Model", [StretchyRegressor, StretchyClassifier])
def test_select_from_model(Model):
    model, X = fitted(Model, "tall", density=3)
    names = [f"x{j}" for j in range(7)]
    frame = pd.DataFrame(X, columns=names)
    target = problem("tall")[1]
    target = target > np.median(target) if Model is StretchyClassifier else target
    params = {"threshold": "zero"} if Model is StretchyClassifier else {}
    selector = SelectFromModel(Model(density=3, **params), threshold=1e-12).fit(frame, target)
    np.testing.assert_array_equal(selector.get_support(), model.support_)
    kept = [name for name, keep in zip(names, model.support_, strict=True) if keep]
    assert selector.get_feature_names_out().tolist() == kept
    assert selector.transform(frame).shape == (40, 3)
    pipe = make_pipeline(selector, StandardScaler(), Model(**params)).fit(frame, target)
    assert pipe.score(frame, target) > 0.5


def test_select_from_model_ranks_several_classes():
    X, y = problem("tall")
    codes = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))
    selector = SelectFromModel(
        StretchyClassifier(threshold="zero"), max_features=2, threshold=-np.inf
    )
    selector.fit(X, codes)
    strength = np.abs(selector.estimator_.alpha_).sum(axis=0)
    assert np.flatnonzero(selector.get_support()).tolist() == sorted(np.argsort(-strength)[:2])


@pytest.mark.parametrize("container", ["pandas", "polars"])
@pytest.mark.parametrize(
    "transformer",
    [FirstQuadrant(), RandomNetwork(5, random_state=0), GaussianBasis(5, random_state=0)],
)
def test_set_output(container, transformer):
    X, _ = problem("tall")
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    plain = clone(transformer).fit(frame).transform(frame)
    out = clone(transformer).set_output(transform=container).fit(frame).transform(frame)
    assert type(out).__module__.split(".")[0] == container
    np.testing.assert_array_equal(out.to_numpy(), plain)
    assert list(out.columns) == list(transformer.fit(frame).get_feature_names_out())


def test_feature_names_out():
    X, _ = problem("tall")
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    assert FirstQuadrant().fit(frame).get_feature_names_out().tolist() == list("abcdefg")
    assert FirstQuadrant().fit(X).get_feature_names_out()[2] == "x2"
    network = RandomNetwork(3, random_state=0).fit(frame)
    assert network.get_feature_names_out().tolist() == [f"randomnetwork{j}" for j in range(3)]
    basis = GaussianBasis(2, random_state=0).fit(frame)
    assert basis.get_feature_names_out().tolist() == ["gaussianbasis0", "gaussianbasis1"]


def test_column_transformer():
    X, y = problem("tall")
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    split = ColumnTransformer(
        [("q", FirstQuadrant(), list("abc")), ("n", RandomNetwork(4, random_state=0), list("defg"))]
    )
    out = split.fit_transform(frame)
    np.testing.assert_array_equal(out[:, :3], FirstQuadrant().fit_transform(frame[list("abc")]))
    names = [f"q__{name}" for name in "abc"] + [f"n__randomnetwork{j}" for j in range(4)]
    assert split.get_feature_names_out().tolist() == names
    whole = make_column_transformer((FirstQuadrant(), slice(0, 7)))
    model = make_pipeline(whole, StretchyRegressor(quadrant="identity")).fit(frame, y)
    assert_close(model.predict(frame), StretchyRegressor().fit(X, y).predict(X))


def test_routing_of_weights():
    X, y = problem("tall")
    weights = np.random.default_rng(0).uniform(0.1, 5.0, len(y))
    expected = StretchyRegressor().fit(X, y, sample_weight=weights)
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(
            FirstQuadrant().set_fit_request(sample_weight=True),
            StretchyRegressor(quadrant="identity").set_fit_request(sample_weight=True),
        )
        assert_close(pipe.fit(X, y, sample_weight=weights).predict(X), expected.predict(X))
        search = GridSearchCV(
            StretchyRegressor()
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=False),
            {"k": [1.5]},
            cv=KFold(2),
        )
        search.fit(X, y, sample_weight=weights)
        np.testing.assert_array_equal(search.best_estimator_.alpha_, expected.alpha_)


def test_meta_estimators():
    X, Y = problem("tall", n_targets=2)
    together = StretchyRegressor().fit(X, Y).predict(X)
    apart = MultiOutputRegressor(StretchyRegressor()).fit(X, Y).predict(X)
    assert_close(together, apart, rtol=1e-12)
    logged = TransformedTargetRegressor(StretchyRegressor(), func=np.log, inverse_func=np.exp)
    positive = np.exp(0.1 * Y[:, 0])
    expected = np.exp(StretchyRegressor().fit(X, 0.1 * Y[:, 0]).predict(X))
    assert_close(logged.fit(X, positive).predict(X), expected)
    bagged = BaggingRegressor(StretchyRegressor(), 5, random_state=0).fit(X, Y[:, 0])
    assert bagged.score(X, Y[:, 0]) > 0.5


def test_train_test_split_of_a_frame():
    X, y = problem("tall")
    frame = pd.DataFrame(X, columns=list("abcdefg"), index=np.arange(100, 140))
    train, test, y_train, _ = train_test_split(frame, pd.Series(y, frame.index), random_state=0)
    model = StretchyRegressor().fit(train, y_train)
    expected = StretchyRegressor().fit(train.to_numpy(), y_train.to_numpy())
    assert_close(model.predict(test), expected.predict(test.to_numpy()), rtol=1e-13)
