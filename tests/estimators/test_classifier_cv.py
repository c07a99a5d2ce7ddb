"""The classifier that searches: what it reports, chooses, refuses and leaves behind."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    make_scorer,
    roc_auc_score,
    zero_one_loss,
)
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstretch import StretchyClassifier, StretchyClassifierCV
from tests import literal
from tests.estimators.samples import assert_close, problem

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
classes = pytest.mark.parametrize("n_classes", [2, 3])
shapes = pytest.mark.parametrize("shape", [(30, 50), (70, 7)])
FEW = {"k_grid": (1.25, 2.0), "c_grid": (0.1, 10.0, 1e3)}
# the rows of FEW that have a closed form: exact minimisers have tests of their own
CLOSED = [{**FEW, "a_grid": (-0.2,)}, {**FEW, "a_grid": (0.0,), "k_grid": (2.0,)}]


def labelled(shape=(70, 7), n_classes=2, seed=0, names=None):
    """Classes by the size of a noisy signal, of unequal numbers."""
    X, y = problem(shape, seed=seed)
    y = y + np.random.default_rng(seed).standard_normal(len(y)) * y.std()
    codes = np.digitize(y, np.quantile(y, [0.6] if n_classes == 2 else [0.3, 0.8]))
    return X, codes if names is None else np.array(names)[codes]


def decided(scores, classes):
    """The labels of scores."""
    codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    return classes[codes]


def labels_agree(estimator, X, y, sample_weight=None):
    return np.average(estimator.predict(X) == y, weights=sample_weight)


# name: scoring, and the same from labels y, decisions d, scores f, weights w
SCORINGS = {
    "default": (
        None,
        lambda y, d, f, w: balanced_accuracy_score(y, d, sample_weight=w),
    ),
    "accuracy": ("accuracy", lambda y, d, f, w: accuracy_score(y, d, sample_weight=w)),
    "balanced": (
        "balanced_accuracy",
        lambda y, d, f, w: balanced_accuracy_score(y, d, sample_weight=w),
    ),
    "f1": ("f1_macro", lambda y, d, f, w: f1_score(y, d, average="macro", sample_weight=w)),
    "callable": (labels_agree, lambda y, d, f, w: np.average(d == y, weights=w)),
    "made": (
        make_scorer(zero_one_loss, greater_is_better=False, normalize=False),
        lambda y, d, f, w: -zero_one_loss(y, d, sample_weight=w, normalize=False),
    ),
}


@classes
@pytest.mark.parametrize("name", SCORINGS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cv", [None, 5])
def test_best_score_is_that_of_the_scores(n_classes, name, weighted, cv):
    X, y = labelled(n_classes=n_classes, names=["low", "mid", "up"])
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(y)) if weighted else None
    scoring, metric = SCORINGS[name]
    model = StretchyClassifierCV(cv=cv, scoring=scoring, **FEW).fit(X, y, sample_weight=weights)
    scores = model.cv_predictions_
    assert scores.shape == ((len(y),) if n_classes == 2 else (len(y), 3))
    expected = metric(y, decided(scores, model.classes_), scores, weights)
    assert model.best_score_ == pytest.approx(expected, rel=1e-12)
    assert model.best_score_ < 1


@pytest.mark.parametrize("weighted", [False, True])
def test_scorer_of_scores(weighted):
    X, y = labelled(names=["no", "yes"])
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(y)) if weighted else None
    model = StretchyClassifierCV(scoring="roc_auc", **FEW).fit(X, y, sample_weight=weights)
    expected = roc_auc_score(y == "yes", model.cv_predictions_, sample_weight=weights)
    assert model.best_score_ == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score", "roc_auc_ovr"])
def test_scorers_of_probabilities_are_refused(scoring):
    X, y = labelled(n_classes=2 if scoring == "neg_brier_score" else 3)
    asks = rf"scoring='{scoring}' asks for more than predict and decision_function"
    way = r"Use a scorer of those, or loss=\"log\" and calibration=\"auto\""
    with pytest.raises(ValueError, match=rf"{asks}.*{way}"):
        StretchyClassifierCV(scoring=scoring, **FEW).fit(X, y)
    fitted = StretchyClassifierCV(loss="log", calibration="sigmoid", scoring=scoring, cv=3)
    with pytest.raises(ValueError, match=rf"{asks}.*{way}"):
        fitted.fit(X, y)


@shapes
@classes
@pytest.mark.parametrize("grid", CLOSED)
def test_scores_decide(shape, n_classes, grid):
    """Balanced accuracies of all candidates are those of literal leave one out."""
    X, codes = labelled(shape, n_classes)
    model = StretchyClassifierCV(combine="best", class_weight=None, **grid).fit(X, codes)
    signed = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    signed = signed[:, 1:] if n_classes == 2 else signed
    results, expected = model.cv_results_, []
    for a, k, c in zip(*(results[f"param_{p}"] for p in "akc"), strict=True):
        splits = literal.leave_one_out(len(codes))
        scores = literal.out_of_fold(literal.features(X, a), signed, splits, k, c)
        squared = np.mean((signed - scores) ** 2, axis=1)
        wrong = decided(scores[:, 0] if n_classes == 2 else scores, model.classes_) != codes
        every = range(n_classes)
        rates = [np.mean([v[codes == label].mean() for label in every]) for v in (wrong, squared)]
        expected.append((1.0 - rates[0], -rates[1]))
    np.testing.assert_allclose(results["mean_test_score"], [rate for rate, _ in expected])
    assert model.best_index_ == max(range(len(expected)), key=lambda i: expected[i])


@shapes
@classes
@pytest.mark.parametrize("density", [1.0, 0.5])
@pytest.mark.parametrize("cv", [None, 4])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_chosen_model_is_the_classifier(shape, n_classes, density, cv, class_weight):
    X, y = labelled(shape, n_classes)
    shared = {"cv": cv, "class_weight": class_weight, "threshold": "balanced"}
    one = {"n_features_to_select": density, "combine": "best"}
    searched = StretchyClassifierCV(**one, **shared, **FEW).fit(X, y)
    found = {"k": searched.k_, "c": searched.c_, "a": searched.a_}
    kept = np.atleast_2d(searched.support_).any(axis=0)
    assert kept.all() if density == 1.0 else 0 < kept.sum() <= np.ceil(0.5 * kept.size)
    alone = StretchyClassifier(**found, **shared).fit(X[:, kept], y)
    assert_close(searched.alpha_[..., kept], alone.alpha_)
    # scores of classes are about one
    both = [one.intercept_ + one.threshold_ for one in (searched, alone)]
    np.testing.assert_allclose(*both, rtol=0, atol=1e-9)
    assert (searched._state.space, searched.solver_) == (alone._state.space, alone.solver_)
    if density == 1.0:  # else every fold has features of its own, and left-out scores with them
        np.testing.assert_allclose(searched.threshold_, alone.threshold_, rtol=0, atol=1e-10)
        np.testing.assert_allclose(searched.predict_proba(X), alone.predict_proba(X), atol=1e-8)
        np.testing.assert_array_equal(searched.predict(X), alone.predict(X))


def weights_of_classes(codes, weights):
    """For every sample a factor by which both classes have the same total weight."""
    total = np.array([weights[codes == label].sum() for label in (0, 1)])
    return (weights.sum() / (2 * total))[codes]


def literal_losses(model, X, codes, weights):
    """Balanced 0/1 losses of every candidate (n_candidates, n), by refits with class weights."""
    results, losses = model.cv_results_, []
    share = weights_of_classes(codes, weights)
    signed = np.where(codes == 1, 1.0, -1.0)[:, None]
    for a, k, c in zip(*(results[f"param_{p}"] for p in "akc"), strict=True):
        P = literal.features(X, a, weights * share)
        splits = literal.leave_one_out(len(codes))
        scores = literal.out_of_fold(P, signed, splits, k, c, weights=weights * share)
        losses.append(((scores[:, 0] > 0) != (codes == 1)) * share)
    return np.array(losses)


def within_one_se(losses, best, weights):
    # samples count as many as they are effectively
    difference, weights = losses - losses[best], weights * weights.sum() / np.sum(weights**2)
    mean = difference @ weights / weights.sum()
    return mean <= np.sqrt((difference - mean[:, None]) ** 2 @ weights) / weights.sum()


def test_paired_losses_are_not_weighted_by_class_twice():
    rng = np.random.default_rng(4)
    X, codes = labelled((60, 5), seed=4)
    codes[rng.permutation(np.flatnonzero(codes == 1))[8:]] = 0
    weights = rng.uniform(0.5, 2.0, 60)
    model = StretchyClassifierCV(class_weight="balanced", combine="1se", **CLOSED[0])
    model.fit(X, codes, sample_weight=weights)
    losses = literal_losses(model, X, codes, weights)
    best = model.cv_results_["rank_test_score"].argmin()
    expected = within_one_se(losses, best, weights)
    twice = within_one_se(losses, best, weights * weights_of_classes(codes, weights))
    assert (expected != twice).any()
    np.testing.assert_array_equal(model.cv_results_["within_1se"], expected)


@classes
def test_results_open_as_a_frame(n_classes):
    X, y = labelled(n_classes=n_classes)
    model = StretchyClassifierCV(n_features_to_select=[1.0, 0.5], cv=4, combine="best", **FEW).fit(
        X, y
    )
    frame = pd.DataFrame(model.cv_results_)
    assert len(frame) == 4 * 3 * 2
    row = frame.loc[model.best_index_]
    place = (row["param_a"], row["param_k"], row["param_c"], row["param_density"])
    assert place == (model.a_, model.k_, model.c_, model.density_)
    assert row["mean_test_score"] == model.best_score_
    ranks = frame["mean_test_score"].rank(ascending=False, method="min")
    np.testing.assert_array_equal(frame["rank_test_score"], ranks)


@classes
def test_repeats_and_untested_samples(n_classes):
    X, y = labelled(n_classes=n_classes)
    one = {"a_grid": (-0.2,), "k_grid": (1.5,), "c_grid": (10.0,)}
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    model = StretchyClassifierCV(cv=cv, **one).fit(X, y)
    splits = list(cv.split(X, y))
    halves = [StretchyClassifierCV(cv=splits[i : i + 3], **one).fit(X, y) for i in (0, 3)]
    mean = (halves[0].cv_predictions_ + halves[1].cv_predictions_) / 2
    np.testing.assert_allclose(model.cv_predictions_, mean, rtol=1e-13, atol=1e-14)
    cv = ShuffleSplit(1, test_size=0.4, random_state=0)
    model = StretchyClassifierCV(cv=cv, **one).fit(X, y)
    [(_, test)] = cv.split(X)
    tested = np.isin(np.arange(len(y)), test)
    finite = np.isfinite(model.cv_predictions_).reshape(len(y), -1)
    np.testing.assert_array_equal(finite, np.repeat(tested[:, None], finite.shape[1], axis=1))


def test_weight_zero():
    X, y = labelled(n_classes=3)
    weights = np.where(y == 1, 0.0, 1.0)
    model = StretchyClassifierCV(**FEW).fit(X, y, sample_weight=weights)
    assert model.classes_.tolist() == [0, 2]
    raw = model.decision_function(X[y == 1]) + model.threshold_
    np.testing.assert_allclose(model.cv_predictions_[y == 1], raw, rtol=1e-13)
    without = StretchyClassifierCV(**FEW).fit(X[y != 1], y[y != 1])
    assert_close(model.coef_, without.coef_, rtol=1e-11)
    assert_close(model.cv_predictions_[y != 1], without.cv_predictions_, rtol=1e-11)
    assert model.best_score_ == pytest.approx(without.best_score_, rel=1e-12)


@classes
def test_default_folds(n_classes):
    X, y = labelled(n_classes=n_classes)
    one = {"a_grid": (-0.2,), "k_grid": (1.5,), "c_grid": (10.0,), "n_features_to_select": 0.5}
    model = StretchyClassifierCV(**one).fit(X, y)
    cv = StratifiedKFold(10, shuffle=True, random_state=0)
    folded = StretchyClassifierCV(cv=cv, **one).fit(X, y)
    np.testing.assert_array_equal(model.cv_predictions_, folded.cv_predictions_)
    by_number = StretchyClassifierCV(cv=4, **one).fit(X, y)
    stratified = StretchyClassifierCV(cv=StratifiedKFold(4), **one).fit(X, y)
    np.testing.assert_array_equal(by_number.cv_predictions_, stratified.cv_predictions_)


def test_labels_of_any_kind():
    X, codes = labelled()
    model = StretchyClassifierCV(**FEW).fit(X, codes)
    for names in (["a", "b"], [False, True], [-7, 3]):
        named = np.array(names)[codes]
        other = StretchyClassifierCV(**FEW).fit(X, named)
        np.testing.assert_array_equal(other.cv_predictions_, model.cv_predictions_)
        np.testing.assert_array_equal(other.predict(X), np.array(names)[model.predict(X)])
        assert other.best_score_ == model.best_score_


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"threshold": "half"}, r"threshold='half' is not known: use one of zero, balanced, auto"),
        ({"class_weight": "even"}, r"class_weight='even' is not known"),
        ({"class_weight": {0: 1.0, 9: 2.0}}, r"class_weight names 9, which is not a class of y"),
        ({"k_grid": ()}, "k_grid is empty"),
        ({"combine": "2se"}, "combine='2se' is not known"),
        ({"c_grid": (0.0,)}, "c=0.0 is out of range"),
    ],
)
def test_what_is_refused(params, message):
    X, y = labelled()
    with pytest.raises(ValueError, match=message):
        StretchyClassifierCV(**params).fit(X, y)


@pytest.mark.parametrize("y", [[0], [1, 1, 1]])
def test_one_class(y):
    X, _ = labelled()
    with pytest.raises(ValueError, match=r"y has one class.*at least two classes"):
        StretchyClassifierCV().fit(X[: len(y)], y)


@pytest.mark.parametrize("y", [[0, 1], [0, 1, 1], [0, 1, 2], list("aabb")])
@pytest.mark.parametrize("density", [1.0, 0.5])
def test_few_samples(y, density):
    X, _ = labelled((70, 9))
    X = X[: len(y)]
    model = StretchyClassifierCV(n_features_to_select=density).fit(X, y)
    assert np.isfinite(model.cv_predictions_).all()
    assert set(model.predict(X).tolist()) <= set(y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_clone_and_pickle():
    X, y = labelled(n_classes=3)
    model = StretchyClassifierCV(**FEW).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    again = clone(model)
    with pytest.raises(NotFittedError):
        again.predict(X)
    np.testing.assert_array_equal(again.fit(X, y).coef_, model.coef_)


def test_inside_other_estimators():
    X, y = labelled(names=["no", "yes"])
    outer = GridSearchCV(
        StretchyClassifierCV(**FEW),
        {"class_weight": [None, "balanced"]},
        cv=3,
        scoring="neg_log_loss",
    ).fit(X, y)
    assert np.isfinite(outer.cv_results_["mean_test_score"]).all()
    piped = make_pipeline(StandardScaler(), StretchyClassifierCV(**FEW)).fit(X, y)
    alone = StretchyClassifierCV(**FEW).fit(X, y)
    np.testing.assert_array_equal(piped.predict(X), alone.predict(X))
    assert_close(piped.decision_function(X), alone.decision_function(X))


@pytest.mark.parametrize("fitted_before", [False, True])
def test_interrupt(fitted_before):
    def interrupted(estimator, X, y):
        raise KeyboardInterrupt

    X, y = labelled()
    model = StretchyClassifierCV(**FEW)
    if fitted_before:
        model.fit(X, y)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(scoring=interrupted).fit(X, y)
    for method in ("predict", "decision_function", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(X)
