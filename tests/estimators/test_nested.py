"""``nested_cv``: the whole search repeated without each fold, equal to scikit-learn's own words."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.dummy import DummyRegressor
from sklearn.metrics import balanced_accuracy_score, get_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)

from skstretch import StretchyClassifierCV, StretchyRegressorCV

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")

FOLDS = KFold(4, shuffle=True, random_state=3)
QUICK = {"a_grid": (-0.2, 0.0), "k_grid": (1.5, 2.0), "c_grid": (0.01, 0.1, 1.0)}


def data(n=30, d=45, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(n)


@pytest.mark.parametrize("combine", ["average", "best", "1se"])
@pytest.mark.parametrize("cv", [None, 3])
def test_predictions_are_those_of_cross_val_predict(combine, cv):
    X, y = data()
    model = StretchyRegressorCV(**QUICK, combine=combine, cv=cv, nested_cv=FOLDS)
    literal = cross_val_predict(clone(model).set_params(nested_cv=None), X, y, cv=FOLDS)
    model.fit(X, y)
    np.testing.assert_allclose(model.nested_predictions_, literal, rtol=1e-12)
    losses = (y - literal) ** 2
    assert model.nested_score_ == pytest.approx(-losses.mean(), rel=1e-12)
    error = np.sqrt(np.sum((losses - losses.mean()) ** 2)) / len(y)
    assert model.nested_score_se_ == pytest.approx(error, rel=1e-12)


@pytest.mark.parametrize("random_state", [None, 7])
def test_numbers_make_shuffled_folds(random_state):
    X, y = data()
    model = StretchyRegressorCV(**QUICK, nested_cv=5, random_state=random_state).fit(X, y)
    folds = KFold(5, shuffle=True, random_state=random_state or 0)
    own = StretchyRegressorCV(**QUICK, random_state=random_state)
    literal = cross_val_predict(own, X, y, cv=folds)
    np.testing.assert_allclose(model.nested_predictions_, literal, rtol=1e-12)


def test_ridge_and_the_mean_are_those_of_scikit_learn():
    X, y = data()
    automatic = QUICK | {"c_grid": "auto"}
    model = StretchyRegressorCV(**automatic, nested_cv=FOLDS).fit(X, y)
    (found,) = model.nested_results_
    ridge = StretchyRegressorCV(1.0, a_grid=(0.0,), k_grid=(2.0,), combine="best")
    for name, rival in (("mean", DummyRegressor()), ("ridge", ridge)):
        literal = (y - cross_val_predict(rival, X, y, cv=FOLDS)) ** 2
        differences = literal - (y - model.nested_predictions_) ** 2
        assert found[name]["loss"] == pytest.approx(literal.mean(), rel=1e-12)
        assert found[name]["above"] == pytest.approx(differences.mean(), rel=1e-9)
        error = differences.std() / np.sqrt(len(y))
        assert found[name]["above_se"] == pytest.approx(error, rel=1e-9)
    assert found["loss"] == -model.nested_score_


@pytest.mark.parametrize("weighted", [False, True])
def test_guessing_a_class_is_wrong_as_often_as_it_must_be(weighted):
    """Where folds differ in their shares, the largest class of the others is the worse guess."""
    rng = np.random.default_rng(2)
    patients, labels = np.repeat(np.arange(20), 3), rng.permutation(np.repeat(["a", "b"], 10))
    X, y = rng.standard_normal((60, 40)), labels[patients]  # noise: there is nothing to find
    weights = rng.integers(1, 5, 60).astype(float) if weighted else None
    model = StretchyClassifierCV(1.0, a_grid=(0.0,), k_grid=(2.0,), nested_cv=10)
    model.fit(X, y, sample_weight=weights, groups=patients)
    (found,) = model.nested_results_
    assert found["mean"]["loss"] == pytest.approx(0.5, rel=1e-12)
    assert "Tells" not in str(model.summary())


def test_an_interrupt_leaves_nothing_behind(monkeypatch):
    X, y = data()
    model = StretchyRegressorCV(**QUICK, nested_cv=FOLDS)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("skstretch.estimators.nested._without", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


def test_classes():
    X, y = data(40)
    labels = np.where(y > 0.3, "high", "low")
    model = StretchyClassifierCV(**QUICK, nested_cv=4).fit(X, labels)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    literal = cross_val_predict(StretchyClassifierCV(**QUICK), X, labels, cv=folds)
    assert model.nested_predictions_.tolist() == literal.tolist()
    assert model.nested_score_ == pytest.approx(balanced_accuracy_score(labels, literal))
    assert model.nested_score_se_ > 0


def test_the_order_of_rows_does_not_matter_where_folds_do_not():
    X, y = data()
    order = np.random.default_rng(1).permutation(len(y))
    place = np.argsort(order)
    moved = [(place[train], place[test]) for train, test in FOLDS.split(X)]
    one = StretchyRegressorCV(**QUICK, nested_cv=FOLDS).fit(X, y)
    other = StretchyRegressorCV(**QUICK, nested_cv=moved).fit(X[order], y[order])
    np.testing.assert_allclose(other.nested_predictions_, one.nested_predictions_[order], rtol=1e-9)
    assert other.nested_score_ == pytest.approx(one.nested_score_, rel=1e-9)


def test_groups_stay_whole():
    X, y = data()
    groups = np.repeat(np.arange(10), 3)
    model = StretchyRegressorCV(**QUICK, nested_cv=5).fit(X, y, groups=groups)
    seen = []
    for train, test in GroupKFold(5).split(X, y, groups):
        own = StretchyRegressorCV(**QUICK).fit(X[train], y[train], groups=groups[train])
        seen.append((test, own.predict(X[test])))
    for test, predicted in seen:
        np.testing.assert_allclose(model.nested_predictions_[test], predicted, rtol=1e-12)


@pytest.mark.parametrize("loss", ["squared", "poisson", "log"])
def test_the_unit_of_weights_says_nothing(loss):
    """Weights that sum to one, or to millions, are no fewer or more samples."""
    X, y = data()
    y = {"squared": y, "poisson": np.exp(y / 4), "log": y > 0}[loss]
    search = StretchyClassifierCV if loss == "log" else StretchyRegressorCV
    found = []
    for unit in (1.0, 1e-3, 1e3):
        model = search(k_grid=(2.0,), a_grid=(0.0,), loss=loss, cv=3, nested_cv=3)
        found.append(model.fit(X, y, sample_weight=np.full(len(y), unit)))
    one = found[0]
    for other in found[1:]:
        assert other.nested_score_se_ == pytest.approx(one.nested_score_se_, rel=1e-6)
        assert other.summary().error == one.summary().error
    plain = search(k_grid=(2.0,), a_grid=(0.0,), loss=loss, cv=3, nested_cv=3).fit(X, y)
    assert one.nested_score_se_ == pytest.approx(plain.nested_score_se_, rel=1e-6)


def test_weights_count_as_repetitions_in_the_score():
    X, y = data()
    weights = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    model = StretchyRegressorCV(**QUICK, nested_cv=FOLDS).fit(X, y, sample_weight=weights)
    losses = (y - model.nested_predictions_) ** 2
    assert model.nested_score_ == pytest.approx(-weights @ losses / weights.sum(), rel=1e-12)


@pytest.mark.slow
def test_scorers_of_the_user_and_several_targets():
    X, y = data()
    model = StretchyRegressorCV(**QUICK, scoring="r2", nested_cv=FOLDS).fit(X, y)
    own = clone(model).set_params(nested_cv=None)
    literal = cross_val_score(own, X, y, cv=FOLDS, scoring=get_scorer("r2"))
    assert model.nested_score_ == pytest.approx(literal.mean(), rel=1e-10)
    assert model.nested_score_se_ == pytest.approx(literal.std(ddof=1) / 2.0, rel=1e-9)
    Y = np.column_stack([y, -2.0 * y])
    both = StretchyRegressorCV(**QUICK, nested_cv=FOLDS).fit(X, Y)
    assert both.nested_predictions_.shape == Y.shape
    assert both.nested_score_ == pytest.approx(-np.mean((Y - both.nested_predictions_) ** 2))


def test_frames_and_sparse_data():
    pd = pytest.importorskip("pandas", reason="frames need pandas: pip install pandas")
    from scipy.sparse import csr_array

    X, y = data()
    plain = StretchyRegressorCV(**QUICK, nested_cv=FOLDS).fit(X, y)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    for other in (frame, csr_array(X)):
        model = StretchyRegressorCV(**QUICK, nested_cv=FOLDS).fit(other, y)
        np.testing.assert_allclose(model.nested_predictions_, plain.nested_predictions_, rtol=1e-7)


def test_jobs_and_progress(capsys):
    X, y = data()
    plain = StretchyRegressorCV(**QUICK, nested_cv=FOLDS).fit(X, y)
    model = StretchyRegressorCV(**QUICK, nested_cv=FOLDS, n_jobs=2, verbose=1).fit(X, y)
    np.testing.assert_array_equal(model.nested_predictions_, plain.nested_predictions_)
    assert "repeats of the search" in capsys.readouterr().err


@pytest.mark.parametrize("cv", [RepeatedKFold(n_splits=3, n_repeats=2), ShuffleSplit(3)])
def test_folds_that_do_not_test_every_sample_once_are_refused(cv):
    X, y = data()
    with pytest.raises(ValueError, match="does not test every sample once"):
        StretchyRegressorCV(**QUICK, nested_cv=cv).fit(X, y)


@pytest.mark.parametrize("name", ["cv", "nested_cv"])
@pytest.mark.parametrize(("n_folds", "grouped"), [(1, False), (31, False), (7, True)])
def test_numbers_that_make_no_folds_are_refused_at_once(name, n_folds, grouped, monkeypatch):
    X, y = np.random.default_rng(0).standard_normal((2, 30, 4))
    groups = np.arange(30) % 6 if grouped else None
    most = "6 groups" if grouped else "30 samples"
    monkeypatch.setattr(StretchyRegressorCV, "_conclude", None)  # no search may come so far
    with pytest.raises(ValueError, match=f"^{name}={n_folds} makes no folds of {most}: pass a num"):
        StretchyRegressorCV(**{name: n_folds}).fit(X, y[:, 0], groups=groups)


def test_lists_of_splits_and_failing_folds_say_so(tmp_path):
    X, y = data()
    splits = [*KFold(3).split(X)]
    with pytest.raises(ValueError, match="cv is a list of splits"):
        StretchyRegressorCV(**QUICK, cv=splits, nested_cv=3).fit(X, y)
    X[:, 1:] = 0.0
    X[5:, 0] = 1.0
    with pytest.raises(ValueError, match=r"the search without samples .* fails: no column"):
        StretchyRegressorCV(
            **QUICK, nested_cv=[(np.arange(5, 30), np.arange(5)), (np.arange(5), np.arange(5, 30))]
        ).fit(X, y)


def test_nothing_is_repeated_by_default():
    X, y = load_diabetes(return_X_y=True)
    model = StretchyRegressorCV(**QUICK).fit(X[:40], y[:40])
    assert not hasattr(model, "nested_score_")
