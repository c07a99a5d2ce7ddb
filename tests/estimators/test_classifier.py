"""Classification is regression on plus and minus one."""

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_sample_weight

from skstretch import StretchyClassifier, StretchyRegressor
from tests.estimators.samples import (
    assert_close,
    new_rows,
    plain_fit,
    problem,
    quadrant_features,
)

shapes = pytest.mark.parametrize("shape", ["wide", "tall"])


def classifier(**params):
    """With the cut of the paper."""
    return StretchyClassifier(**{"k": 1.4, "c": 10.0, "threshold": "zero"} | params)


def regressor(**params):
    return StretchyRegressor(**{"k": 1.4, "c": 10.0} | params)


def classes(shape, n_classes):
    """X, and codes 0, 1, ... of about equal number that depend on X."""
    X, y = problem(shape)
    return X, np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))


@shapes
@pytest.mark.parametrize("fit_intercept", [True, "column", False])
@pytest.mark.parametrize("density", [1.0, 0.3])
def test_two_classes_are_one_regression(shape, fit_intercept, density):
    X, codes = classes(shape, 2)
    params = {"fit_intercept": fit_intercept, "density": density}
    model = classifier(**params).fit(X, codes)
    reference = regressor(**params).fit(X, np.where(codes == 1, 1.0, -1.0))
    T = new_rows(X)
    assert_close(model.alpha_, reference.alpha_, rtol=1e-12)
    assert_close(model.decision_function(T), reference.predict(T), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(T), (reference.predict(T) > 0).astype(int))
    assert {0, 1} == set(model.predict(T))
    assert model.decision_function(T).shape == (11,)
    assert model.coef_.shape == model.support_.shape == model.alpha_.shape == (X.shape[1],)
    assert np.shape(model.intercept_) == ()
    assert (model._state.space, model.solver_) == (reference._state.space, reference.solver_)
    assert model.dof_ == pytest.approx(reference.dof_, rel=1e-12)


@shapes
def test_two_classes_by_the_formula(shape):
    X, codes = classes(shape, 2)
    P = quadrant_features(X)
    coef, intercept = plain_fit(P, 2.0 * codes - 1.0, 1.4, 10.0)
    model = classifier().fit(X, codes)
    assert_close(model.decision_function(X), P @ coef + intercept)


@shapes
@pytest.mark.parametrize("fit_intercept", [True, "column", False])
@pytest.mark.parametrize("n_classes", [3, 5])
def test_more_classes_are_one_against_the_rest(shape, fit_intercept, n_classes):
    X, codes = classes(shape, n_classes)
    model = classifier(fit_intercept=fit_intercept).fit(X, codes)
    T = new_rows(X)
    scores = model.decision_function(T)
    assert scores.shape == (11, n_classes)
    assert model.coef_.shape == (n_classes, X.shape[1])
    assert model.intercept_.shape == (n_classes,)
    for code in range(n_classes):
        binary = classifier(fit_intercept=fit_intercept).fit(X, codes == code)
        assert_close(model.alpha_[code], binary.alpha_, rtol=1e-12)
        assert_close(scores[:, code], binary.decision_function(T), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(T), [int(np.argmax(row)) for row in scores])


@pytest.mark.parametrize(
    "names",
    [
        np.array(["no", "yes"]),
        np.array([False, True]),
        np.array([-1, 1]),
        np.array([7.0, 11.0]),
        np.array(["b", "c"], dtype=object),
    ],
)
def test_labels_of_two_classes(names):
    X, codes = classes("tall", 2)
    model = classifier().fit(X, names[codes])
    np.testing.assert_array_equal(model.classes_, names)
    assert model.classes_.dtype == names.dtype
    reference = classifier().fit(X, codes)
    np.testing.assert_array_equal(model.decision_function(X), reference.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), names[reference.predict(X)])
    assert model.score(X, names[codes]) == reference.score(X, codes) > 0.8


def test_labels_are_sorted_not_in_order_of_appearance():
    X, codes = classes("tall", 3)
    names = np.array(["pear", "apple", "fig"])
    model = classifier().fit(X, names[codes])
    assert model.classes_.tolist() == ["apple", "fig", "pear"]
    reference = classifier().fit(X, codes)
    scores = reference.decision_function(X)[:, [1, 2, 0]]
    assert_close(model.decision_function(X), scores, rtol=1e-12)


def test_exchanged_labels_exchange_the_sign():
    X, codes = classes("tall", 2)
    one, other = classifier().fit(X, codes), classifier().fit(X, 1 - codes)
    assert_close(one.decision_function(X), -other.decision_function(X), rtol=1e-12)


@shapes
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0}, {0: 0.5, 1: 4.0}])
def test_class_weights_are_sample_weights(shape, n_classes, class_weight):
    X, y = problem(shape)
    codes = np.digitize(y, np.quantile(y, [0.3, 0.7][: n_classes - 1]))
    model = classifier(class_weight=class_weight).fit(X, codes)
    by_sample = compute_sample_weight(class_weight, codes)
    assert len(set(by_sample)) > 1
    reference = classifier().fit(X, codes, sample_weight=by_sample)
    assert_close(model.decision_function(X), reference.decision_function(X), rtol=1e-12)
    assert_close(model.alpha_, reference.alpha_, rtol=1e-12)


@shapes
def test_class_weights_and_sample_weights_multiply(shape):
    X, codes = classes(shape, 2)
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(codes))
    model = classifier(class_weight={1: 5.0}).fit(X, codes, sample_weight=weights)
    product = weights * np.where(codes == 1, 5.0, 1.0)
    reference = classifier().fit(X, codes, sample_weight=product)
    assert_close(model.decision_function(X), reference.decision_function(X), rtol=1e-12)


def test_balanced_classes_have_the_same_total_weight():
    """With sample weights too: each class has the same share of their sum."""
    X, y = problem("tall")
    codes = (y > np.quantile(y, 0.8)).astype(int)
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(codes))
    model = classifier(class_weight="balanced").fit(X, codes, sample_weight=weights)
    totals = np.array([weights[codes == code].sum() for code in (0, 1)])
    balanced = weights * (weights.sum() / (2 * totals))[codes]
    reference = classifier().fit(X, codes, sample_weight=balanced)
    assert_close(model.decision_function(X), reference.decision_function(X), rtol=1e-12)


def test_a_class_of_weight_zero_is_no_class():
    X, codes = classes("tall", 3)
    weights = np.where(codes == 1, 0.0, 1.0)
    model = classifier().fit(X, codes, sample_weight=weights)
    assert model.classes_.tolist() == [0, 2]
    reference = classifier().fit(X[codes != 1], codes[codes != 1])
    assert_close(model.decision_function(X), reference.decision_function(X), rtol=1e-12)


def test_slope_points_to_the_second_class():
    X = np.linspace(-1, 1, 20)[:, None] ** 3
    model = classifier().fit(X, np.where(X[:, 0] > 0, "warm", "cold"))
    assert model.coef_[0] > 0
    assert model.alpha_[0] < 0
    assert model.predict([[-0.5], [0.5]]).tolist() == ["cold", "warm"]
