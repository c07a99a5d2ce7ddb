"""Contributions: Shapley values by enumeration, sums, storages, and what must not change them."""

import itertools
import math
import pickle

import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.exceptions import NotFittedError

from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
    load,
    save,
)
from skstretch.exceptions import RowsForgottenError
from tests.dask_arrays import as_dask
from tests.estimators.samples import assert_close, problem
from tests.zoo import CONTAINERS, contained, numbers, targets

pytestmark = pytest.mark.filterwarnings("ignore::skstretch.exceptions.GridEdgeWarning")
GRID = {
    "a_grid": (-0.3, 0.0),
    "k_grid": (1.5, 2.0),
    "c_grid": (0.05, 1.0),
    "n_features_to_select": 1.0,  # "auto" tries more of what is in memory
}
MODELS = {
    "exp": StretchyRegressor(1.5, 2.0),
    "exact minimiser": StretchyRegressor(1.5, 0.2, a=0.0),
    "shifted": StretchyRegressor(1.5, 2.0, b=3.0),
    "column": StretchyRegressor(1.5, 2.0, fit_intercept="column"),
    "no intercept": StretchyRegressor(1.5, 2.0, fit_intercept=False),
    "few features": StretchyRegressor(1.5, 2.0, density=2),
    "mixture": StretchyRegressorCV(**GRID),
    "curved mixture": StretchyRegressorCV(**{**GRID, "a_grid": (-0.3, 0.4)}),
    "one candidate": StretchyRegressorCV(**GRID, combine="best"),
    "classifier": StretchyClassifier(1.5, 2.0, threshold="balanced"),
    "mixed classes": StretchyClassifierCV(**GRID, threshold="balanced"),
}
models = pytest.mark.parametrize("name", MODELS)


def outputs_of(model, X):
    return (model.decision_function if hasattr(model, "classes_") else model.predict)(X)


def answers(name, y, several=False):
    """y as the model wants it: numbers or labels, one or several outputs."""
    if "class" in name:
        return np.digitize(y, np.quantile(y, [1 / 3, 2 / 3] if several else [0.4]))
    return np.column_stack([y, y**2, -y]) if several else y


def fitted(name, X, y, **how):
    return pickle.loads(pickle.dumps(MODELS[name])).fit(X, y, **how)


def enumerated(predict, x, background, weights):
    """Shapley values of one sample over all sets of features, unknown ones from the background."""
    D = x.size

    def value(known):
        mixed = background.copy()
        mixed[:, list(known)] = x[list(known)]
        return weights @ predict(mixed) / weights.sum()

    shares = []
    for j in range(D):
        rest, total = [i for i in range(D) if i != j], 0.0
        for size in range(D):
            share = math.factorial(size) * math.factorial(D - 1 - size) / math.factorial(D)
            for known in itertools.combinations(rest, size):
                total = total + share * (value((*known, j)) - value(known))
        shares.append(total)
    return np.array(shares), value(())


@models
@pytest.mark.parametrize("several", [False, True])
def test_they_are_shapley_values(name, several):
    X, y = problem((24, 4))
    Y, weights = answers(name, y, several), np.arange(24) % 3 + 0.5
    model = fitted(name, X, Y, sample_weight=weights)
    found, base = model.contributions(X[:3]), model.contributions_base_
    assert found.shape == ((3, 4, 3) if several else (3, 4))
    # means are those by the weights of the fit, where classes have theirs too
    weights = model._state.model.weights
    for row in range(3):
        true, mean = enumerated(lambda Z: outputs_of(model, Z), X[row], X, weights)
        assert_close(found[row], true, 1e-12)
        # the mean score of balanced classes is nothing but rounding
        assert_close(np.append(base, 1.0), np.append(mean, 1.0), 1e-12)


@models
@pytest.mark.parametrize("shape", ["wide", "tall"])
@pytest.mark.parametrize("several", [False, True])
def test_rows_add_up_to_the_prediction(name, shape, several):
    X, y = problem(shape)
    model = fitted(name, X, answers(name, y, several))
    far = np.vstack([X, 5.0 * X[:2] - 4.0 * X.mean(axis=0)])  # beyond the bounds of z-scores
    outputs = outputs_of(model, far)
    assert_close(model.contributions_base_ + model.contributions(far).sum(axis=1), outputs, 1e-12)


@pytest.mark.parametrize("intercept", [True, "column", False])
@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_features_as_they_are(shape, intercept):
    """Raw non-negative columns: contributions are ``coef (x - mean)``."""
    X = numbers(shape)
    how = {"quadrant": "identity", "fit_intercept": intercept}
    model = StretchyRegressor(1.5, 2.0, **how).fit(X, targets(X))
    found = model.contributions(X)
    assert_close(found, model.alpha_ * (X - X.mean(axis=0)), 1e-12)
    assert_close(model.contributions_base_ + found.sum(axis=1), model.predict(X), 1e-12)


def test_the_base_of_a_free_intercept_is_the_mean_target():
    X, y = problem("wide")
    w = np.arange(len(y)) + 1.0
    model = StretchyRegressor(1.5, 2.0).fit(X, y, sample_weight=w)
    assert_close(model.contributions_base_, w @ y / w.sum(), 1e-12)


def test_the_mean_score_of_balanced_classes_is_zero():
    X, y = problem("wide")
    model = StretchyClassifier(1.5, 2.0, class_weight="balanced", threshold="zero").fit(X, y > 5.3)
    assert model.contributions_base_ == 0.0


@models
def test_a_background_takes_the_place_of_the_training_data(name):
    X, y = problem("wide")
    model = fitted(name, X, answers(name, y))
    other = X[:5] + 0.3
    found = model.contributions(X, background=other)
    # about the background the mean prediction is that of the background
    outputs = outputs_of(model, X)
    assert_close(found.sum(axis=1) + outputs_of(model, other).mean(), outputs, 1e-12)
    shift = model.contributions(X) - found
    assert np.ptp(shift, axis=0).max() < 1e-12 * np.abs(shift).max()
    assert_close(shift[0], model.contributions(other).mean(axis=0), 1e-12)


@pytest.mark.parametrize(
    "name", [name for name, one in MODELS.items() if not hasattr(one, "combine")]
)
def test_repetitions_are_weights(name):
    """Of given candidates: leaving one of several repetitions out is another search."""
    X, y = problem((20, 6))
    y, times = answers(name, y), np.arange(20) % 3
    one = fitted(name, X, y, sample_weight=times.astype(float))
    two = fitted(name, np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_close(one.contributions(X), two.contributions(X), 1e-8)
    if "class" not in name:  # whose cut comes from leaving out single rows
        assert_close(one.contributions_base_, two.contributions_base_, 1e-8)


@models
def test_units_and_order_of_features_do_not_matter(name):
    X, y = problem("wide")
    y, order = answers(name, y), np.random.default_rng(0).permutation(X.shape[1])
    plain = fitted(name, X, y).contributions(X)
    assert_close(fitted(name, 1e3 * X - 7.0, y).contributions(1e3 * X - 7.0), plain, 1e-8)
    assert_close(fitted(name, X[:, order], y).contributions(X[:, order]), plain[:, order], 1e-8)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_storages(container, shape, tmp_path):
    """Whatever the training data and the new data are kept in."""
    X = numbers(shape)
    y = targets(X)
    for name in ("exp", "mixture", "mixed classes"):
        Y = answers(name, y, several=name == "mixed classes")
        dense = fitted(name, X, Y)
        true, base = dense.contributions(X), dense.contributions_base_
        held = contained(container, X, tmp_path)
        assert_close(dense.contributions(held), true, 1e-12)
        assert_close(
            dense.contributions(held, background=held), dense.contributions(X, background=X)
        )
        other = fitted(name, held, Y)
        assert_close(other.contributions(held), true, 1e-8)
        assert_close(np.append(other.contributions_base_, 1.0), np.append(base, 1.0), 1e-8)


@pytest.mark.parametrize(("rows", "columns"), [(60, 3), (20, 11), (7, 4)])
def test_dask_is_lazy_and_keeps_its_chunks(rows, columns):
    X = numbers("tall")
    for name in ("exp", "mixture", "mixed classes"):
        Y = answers(name, targets(X), several=name == "mixed classes")
        model = fitted(name, X, Y)
        for held in (X, sparse.csr_array(X)):
            lazy = model.contributions(as_dask(held, (rows, columns)))
            assert isinstance(lazy, da.Array)
            assert lazy.chunks[:2] == as_dask(X, (rows, columns)).chunks
            assert_close(lazy.compute(scheduler="sync"), model.contributions(X), 1e-12)


@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_models_of_dask_arrays(shape):
    X = numbers(shape)
    y, chunks = targets(X), (24, 20) if shape == "wide" else (20, 11)
    for name in ("exp", "few features"):
        true = fitted(name, X, y)
        model = fitted(name, as_dask(X, chunks), y)
        assert_close(model.contributions(X), true.contributions(X), 1e-8)
        assert_close(model.contributions_base_, true.contributions_base_, 1e-8)
        around = model.contributions(X, background=as_dask(X, chunks))
        assert_close(around, true.contributions(X, background=X), 1e-8)


def test_frames_and_single_precision():
    pd = pytest.importorskip("pandas", reason="pandas is in the group test")
    X, y = problem("tall")
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    true = StretchyRegressor().fit(X, y).contributions(X)
    assert_close(StretchyRegressor().fit(frame, y).contributions(frame), true, 1e-12)
    model = StretchyRegressor().fit(X.astype(np.float32), y)
    found = model.contributions(X.astype(np.float32))
    assert found.dtype == np.float64
    # predictions are rounded to float32, contributions are not
    total = (model.contributions_base_ + found.sum(axis=1)).astype(np.float32)
    np.testing.assert_allclose(total, model.predict(X.astype(np.float32)), rtol=3e-7)


def test_constant_columns_and_dropped_features_contribute_nothing():
    X, y = problem("wide")
    X[:, 3] = 1.0
    model = StretchyRegressor(1.5, 2.0, density=5).fit(X, y)
    found = model.contributions(X)
    assert not found[:, ~model.support_].any()
    assert found[:, model.support_].any(axis=0).all()


def test_rows_of_batches_are_not_needed():
    X, y = problem("tall")
    for a in (-0.2, 0.0):
        model = StretchyRegressor(2.0, 2.0, a=a)
        for rows in np.array_split(np.arange(len(y)), 3):
            model.partial_fit(X[rows], y[rows], moments=(X[:9].mean(axis=0), X[:9].std(axis=0)))
        found = model.contributions(X)
        assert_close(model.contributions_base_ + found.sum(axis=1), model.predict(X), 1e-12)
        assert_close(
            np.append(found.mean(axis=0), 1.0), np.append(np.zeros(X.shape[1]), 1.0), 1e-12
        )


@pytest.mark.parametrize("name", ["exp", "curved mixture", "exact minimiser"])
def test_a_loaded_model_explains_or_asks_for_a_background(name, tmp_path):
    X, y = problem("wide")
    model = fitted(name, X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.contributions(X), model.contributions(X))
    save(model, tmp_path / "model.stretchy")
    loaded = load(tmp_path / "model.stretchy")
    np.testing.assert_array_equal(
        loaded.contributions(X, background=X), model.contributions(X, background=X)
    )
    if name == "exact minimiser":  # z-scores have the mean zero, and need no training data
        assert_close(loaded.contributions(X), model.contributions(X), 1e-12)
        return
    with pytest.raises(RowsForgottenError, match="background=X"):
        loaded.contributions(X)


def test_memory_out_of_proportion_is_refused():
    X, y = problem("wide")
    model = StretchyRegressor().fit(X, y)
    many = sparse.csr_array((10_000, X.shape[1]))
    with config_context(working_memory=1):
        with pytest.raises(MemoryError, match="4,369 fit"):
            model.contributions(many)
        assert model.contributions(many[:4369]).shape == (4369, X.shape[1])


def test_unfitted_and_unknown_columns():
    X, y = problem("tall")
    with pytest.raises(NotFittedError):
        StretchyRegressor().contributions(X)
    assert not hasattr(StretchyRegressor(), "contributions_base_")
    with pytest.raises(ValueError, match="features"):
        StretchyRegressor().fit(X, y).contributions(X[:, 1:])


@pytest.mark.parametrize("name", ["exp", "mixture", "classifier", "mixed classes"])
@pytest.mark.parametrize("several", [False, True])
def test_shap_has_the_same_values(name, several):
    """Permutations of shap's exact explainer, its additive one, and the linear one on features."""
    shap = pytest.importorskip("shap", reason="pip install shap, or make test-clients")
    X, y = problem((24, 4))
    model = fitted(name, X, answers(name, y, several))
    found = model.explanation(X[:6])
    assert isinstance(found, shap.Explanation)
    np.testing.assert_array_equal(found.values, model.contributions(X[:6]))
    np.testing.assert_array_equal(found.data, X[:6])
    assert found.feature_names == ["x0", "x1", "x2", "x3"]
    # weights of classes count in the training means, and shap has none
    model_values = model.explanation(X[:6], background=X)
    masker = shap.maskers.Independent(X, max_samples=len(X))
    exact = shap.explainers.Exact(lambda Z: outputs_of(model, Z), masker)(X[:6])
    assert_close(model_values.values, exact.values, 1e-9)
    assert_close(model_values.base_values, exact.base_values, 1e-9)
    if not several:
        additive = shap.explainers.Additive(lambda Z: outputs_of(model, Z), masker)(X[:6])
        assert_close(model_values.values, additive.values, 1e-9)
    if name == "exp" and not several:
        features = np.exp(-0.2 * (X - X.mean(axis=0)) / X.std(axis=0))
        line = (model.alpha_, model.intercept_)
        masker = shap.maskers.Independent(features, max_samples=len(X))
        linear = shap.LinearExplainer(line, masker)(features[:6])
        assert_close(found.values, linear.values, 1e-9)


def test_shap_that_is_missing_is_named():
    try:
        import shap  # noqa: F401
    except ImportError:
        X, y = problem("tall")
        with pytest.raises(ImportError, match=r"skstretch\[shap\]"):
            StretchyRegressor().fit(X, y).explanation(X)
