"""Bad input: every error names the value that was seen and a way out."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from skstretch import (
    StabilitySelector,
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)
from skstretch.exceptions import PoorTargetsWarning
from tests.estimators.samples import complaint, problem

BOTH = pytest.mark.parametrize("Model", [StretchyRegressor, StretchyClassifier])


def data(Model, shape="tall"):
    X, y = problem(shape)
    return X, y if Model is StretchyRegressor else np.where(y > np.median(y), "up", "down")


def model(Model, **params):
    if Model is StretchyClassifier:
        params.setdefault("threshold", "zero")
    return Model(**params)


def refusal(error, call, *args, **kwargs):
    """The message of the error, in which line breaks do not count."""
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    return " ".join(str(caught.value).split())


@BOTH
@pytest.mark.parametrize(
    ("params", "error", "seen", "way_out"),
    [
        ({"k": 1.0}, ValueError, "k=1.0", "1 < k < inf"),
        ({"k": 0.5}, ValueError, "k=0.5", "1 < k < inf"),
        ({"k": -3}, ValueError, "k=-3", "1 < k < inf"),
        ({"k": np.inf}, ValueError, "k=inf", "1 < k < inf"),
        ({"k": np.nan}, ValueError, "k=nan", "1 < k < inf"),
        ({"k": None}, TypeError, "k=None", "1 < k < inf"),
        ({"k": "2"}, TypeError, "k='2'", "1 < k < inf"),
        ({"k": True}, TypeError, "k=True", "1 < k < inf"),
        ({"k": 1.5 + 0j}, TypeError, "k=(1.5+0j)", "1 < k < inf"),
        ({"c": 0.0}, ValueError, "c=0.0", "must be positive"),
        ({"c": -1}, ValueError, "c=-1", "must be positive"),
        ({"c": -np.inf}, ValueError, "c=-inf", "must be positive"),
        ({"c": np.nan}, ValueError, "c=nan", "positive number"),
        ({"c": None}, TypeError, "c=None", "np.inf for no regularisation"),
        ({"c": "large"}, TypeError, "c='large'", "positive number"),
        ({"a": np.nan}, ValueError, "a=nan", "0 is the linear limit"),
        ({"a": np.inf}, ValueError, "a=inf", "0 is the linear limit"),
        ({"a": "-0.2"}, TypeError, "a='-0.2'", "pass a finite number"),
        ({"b": np.nan}, ValueError, "nan", "pass a finite number"),
        ({"b": [1.0, 2.0]}, ValueError, "(2,)", "one for each of the 7 features"),
        ({"b": np.zeros((7, 1))}, ValueError, "(7, 1)", "one for each of the 7 features"),
        ({"b": [0.0] * 6 + [np.inf]}, ValueError, "inf", "finite"),
        ({"b": "0"}, TypeError, "b='0'", "finite number"),
        ({"density": 0.0}, ValueError, "density=0.0", "(0, 1]"),
        ({"density": 1.5}, ValueError, "density=1.5", "(0, 1]"),
        ({"density": -0.5}, ValueError, "density=-0.5", "(0, 1]"),
        ({"density": np.nan}, ValueError, "density=nan", "(0, 1]"),
        ({"density": 0}, ValueError, "density=0", "1..7"),
        ({"density": -1}, ValueError, "density=-1", "1..7"),
        ({"density": 8}, ValueError, "density=8", "1..7"),
        ({"density": True}, ValueError, "density=True", "an int for their number"),
        ({"density": "half"}, ValueError, "density='half'", "an int for their number"),
        ({"density": None}, ValueError, "density=None", "an int for their number"),
        ({"quadrant": "log"}, ValueError, "quadrant='log'", '"identity"'),
        ({"quadrant": None}, ValueError, "quadrant=None", '"exp"'),
        ({"fit_intercept": "free"}, ValueError, "fit_intercept='free'", '"column"'),
        ({"fit_intercept": None}, ValueError, "fit_intercept=None", "True"),
        ({"fit_intercept": 2}, ValueError, "fit_intercept=2", "False"),
        ({"solver": "cholesky"}, ValueError, "solver='cholesky'", "auto, dual, primal, qr"),
        ({"solver": None}, ValueError, "solver=None", "auto, dual, primal, qr"),
        ({"a": 500.0}, ValueError, "a=500", "smaller |a|"),
        ({"b": 1e5}, ValueError, "exp(100", "smaller"),
    ],
)
def test_parameters(Model, params, error, seen, way_out):
    message = refusal(error, model(Model, **params).fit, *data(Model))
    assert seen in message
    assert way_out in message


@pytest.mark.parametrize(
    ("params", "seen", "way_out"),
    [
        ({"threshold": "half"}, "'half'", "zero"),
        ({"class_weight": "even"}, "'even'", '"balanced"'),
        ({"class_weight": {"sideways": 2.0}}, "'sideways'", "['down', 'up']"),
        ({"class_weight": {"up": -1.0}}, "{'up': -1.0}", "not negative"),
        ({"class_weight": {"up": np.nan}}, "{'up': nan}", "finite numbers"),
        ({"class_weight": {"up": 0, "down": 0}}, "{'up': 0, 'down': 0}", "not zero"),
    ],
)
def test_parameters_of_the_classifier(params, seen, way_out):
    message = refusal(
        ValueError, model(StretchyClassifier, **params).fit, *data(StretchyClassifier)
    )
    assert seen in message
    assert way_out in message


@BOTH
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(Model, bad):
    X, y = data(Model)
    broken = X.copy()
    broken[3, 2] = bad
    word = "NaN" if np.isnan(bad) else "infinity"
    assert word in refusal(ValueError, model(Model).fit, broken, y)
    fitted = model(Model).fit(X, y)
    assert word in refusal(ValueError, fitted.predict, broken)
    if Model is StretchyRegressor:
        target = y.copy()
        target[0] = bad
        assert f"y contains {word}" in refusal(ValueError, Model().fit, X, target)


@BOTH
def test_shapes(Model):
    X, y = data(Model)
    assert "Reshape your data" in refusal(ValueError, model(Model).fit, X[:, 0], y)
    assert "[40, 39]" in refusal(ValueError, model(Model).fit, X, y[:-1])
    assert "0 sample" in refusal(ValueError, model(Model).fit, X[:0], y[:0])
    assert "0 feature" in refusal(ValueError, model(Model).fit, X[:, :0], y)
    assert "Complex data" in refusal(ValueError, model(Model).fit, X + 1j, y)
    words = np.full(X.shape, "much")
    assert "to numeric values" in refusal(ValueError, model(Model).fit, words, y)


def test_y_is_needed():
    X, _ = problem("tall")
    assert "requires y" in refusal(ValueError, StretchyRegressor().fit, X, None)


@BOTH
def test_negative_data_for_identity(Model):
    X, y = data(Model)
    X = np.abs(X)
    X[5, 2] = -0.25
    broken = model(Model, quadrant="identity")
    message = refusal(ValueError, broken.fit, X, y)
    assert "column 2 " in message
    assert "-0.25" in message
    assert 'quadrant="exp"' in message
    frame = pd.DataFrame(X, columns=[f"pixel {j}" for j in range(7)])
    assert "'pixel 2'" in refusal(ValueError, broken.fit, frame, y)
    # where it carries no weight, and at prediction, the sign does not matter
    weights = np.ones(len(y))
    weights[5] = 0
    assert len(broken.fit(X, y, sample_weight=weights).predict(X)) == len(y)


@BOTH
@pytest.mark.parametrize(
    ("sample_weight", "seen", "way_out"),
    [
        (-np.ones(40), "-1", "use 0 to leave a sample out"),
        (np.zeros(40), "zero for every sample", "nothing to fit"),
        (np.ones(39), "39", "40"),
        (np.ones((40, 1)), "(40, 1)", "1D"),
        (np.full(40, np.nan), "NaN", "sample_weight"),
        (np.full(40, np.inf), "infinity", "sample_weight"),
        (["a"] * 40, "'a'", "float"),
        (-2.0, "-2", "use 0 to leave a sample out"),
    ],
)
def test_sample_weights(Model, sample_weight, seen, way_out):
    message = refusal(ValueError, model(Model).fit, *data(Model), sample_weight=sample_weight)
    assert seen in message
    assert way_out in message


@BOTH
def test_features_at_prediction(Model):
    X, y = data(Model)
    fitted = model(Model).fit(X, y)
    message = refusal(ValueError, fitted.predict, X[:, :5])
    assert "X has 5 features" in message
    assert "expecting 7" in message
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    fitted = model(Model).fit(frame, y)
    swapped = refusal(ValueError, fitted.predict, frame[list("bacdefg")])
    assert "must be in the same order" in swapped
    missing = refusal(ValueError, fitted.predict, frame.drop(columns="c"))
    assert "- c" in missing
    unseen = refusal(ValueError, fitted.predict, frame.rename(columns={"c": "z"}))
    assert "- z" in unseen


def test_one_class():
    X, _ = problem("tall")
    message = refusal(ValueError, StretchyClassifier().fit, X, np.full(40, "up"))
    assert "one class ('up')" in message.replace("np.str_('up')", "'up'")
    assert "at least two classes" in message
    weights, y = np.ones(40), np.arange(40) % 2
    weights[y == 0] = 0
    message = refusal(ValueError, StretchyClassifier().fit, X, y, sample_weight=weights)
    assert "one class" in message


def test_continuous_labels():
    X, y = problem("tall")
    assert "continuous" in refusal(ValueError, StretchyClassifier().fit, X, y)


@BOTH
@pytest.mark.parametrize("method", ["predict", "effect_", "alpha_", "dual_coef_"])
def test_not_fitted(Model, method):
    X, _ = data(Model)
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        getattr(model(Model), method)(X)


@pytest.mark.parametrize("method", ["coef_std", "coef_covariance"])
def test_spread_before_the_fit(method):
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        getattr(StretchyRegressor(), method)()


@pytest.mark.parametrize("noise", [-1.0, np.nan, [1.0, 2.0]])
def test_noise_variance(noise):
    fitted = StretchyRegressor().fit(*problem("tall"))
    message = refusal(ValueError, fitted.coef_std, noise)
    assert f"noise_variance={noise!r}" in message
    assert "non-negative number" in message


def test_noise_of_an_interpolating_fit():
    fitted = StretchyRegressor(c=np.inf).fit(*problem("wide"))
    assert np.isfinite(fitted.coef_std()).all()


def test_a_covariance_that_does_not_fit():
    X, y = problem((8, 12_000))
    fitted = StretchyRegressor().fit(X, y)
    message = refusal(MemoryError, fitted.coef_covariance, 1.0)
    assert "12000 coefficients would take 1,099 MiB" in message
    assert "coef_std()" in message


@pytest.mark.parametrize("solver", ["auto", "dual", "qr"])
def test_a_singular_system_is_refused_or_reported(solver):
    """Two equal samples with different targets, which no penalty reconciles at c = inf."""
    X, y = problem("wide")
    X, y = np.round(np.abs(np.vstack([X, X[:1]]))), np.append(y, 3.0)
    model = StretchyRegressor(k=2.0, c=np.inf, quadrant="identity", solver=solver)
    assert re.search("smaller c|finite c", complaint(model, X, y))


def test_predictions_beyond_float64():
    X, y = problem("tall")
    fitted = StretchyRegressor(quadrant="identity").fit(np.abs(X), 1e6 * y)
    assert np.abs(fitted.alpha_).max() > 1e3
    message = refusal(ValueError, fitted.predict, np.full((2, 7), 1.7e308))
    assert "row 0" in message
    assert "look at that row" in message


FRAME = pd.DataFrame(np.arange(20.0).reshape(5, 4) ** 2, columns=list("abcd"))
ODD = {
    "text": FRAME.assign(site=["A", "B", "A", "B", "A"]),
    "categories": FRAME.assign(site=pd.Categorical(["A", "B", "A", "B", "A"])),
    "dates": FRAME.assign(site=pd.date_range("2020", periods=5)),
}


@pytest.mark.parametrize("kind", ODD)
def test_a_column_without_numbers_is_named(kind):
    with pytest.raises(ValueError, match=r"the column 'site' of X holds no numbers .* OneHotEnc"):
        StretchyRegressor().fit(ODD[kind], np.arange(5.0))
    model = StretchyRegressor().fit(FRAME.assign(site=1.0), np.arange(5.0))
    with pytest.raises(ValueError, match="the column 'site' of X holds no numbers"):
        model.predict(ODD[kind])


def test_a_name_that_occurs_twice_is_named():
    """With text beside it, which every version of scikit-learn refuses."""
    twice = ODD["text"].set_axis(["a", "b", "a", "c", "d"], axis=1)
    with pytest.raises(ValueError, match="the name 'a' occurs 2 times among the columns of X"):
        StretchyRegressor().fit(twice, np.arange(5.0))


def test_other_faults_of_frames_are_told_as_they_are():
    missing = FRAME.astype("Int64")
    missing.loc[0, "b"] = pd.NA
    for frame in (missing, FRAME.assign(b=np.nan)):
        with pytest.raises(ValueError, match="NaN"):
            StretchyRegressor().fit(frame, np.arange(5.0))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        StretchyRegressor().fit(FRAME, np.arange(4.0))


def test_text_is_no_target_of_a_regression():
    expected = r"y holds what is no number \('hi'\).*use StretchyClassifier or StretchyClassifierCV"
    for y in (["hi", "lo", "hi", "lo", "hi"], np.array(["hi", "lo", "hi", "lo", "hi"])):
        with pytest.raises(ValueError, match=expected):
            StretchyRegressorCV().fit(FRAME, y)


def test_one_class_is_named_plainly():
    with pytest.raises(ValueError, match=r"y has one class \('a'\)"):
        StretchyClassifier().fit(FRAME, ["a"] * 5)


def test_categories_that_are_numbers_are_numbers():
    counts = [3, 1, 2, 3, 1]
    y = np.array([1.0, 4.0, 2.0, 3.0, 5.0])
    model = StretchyRegressor().fit(FRAME.assign(n=pd.Categorical(counts)), y)
    other = StretchyRegressor().fit(FRAME.assign(n=counts), y)
    np.testing.assert_array_equal(model.alpha_, other.alpha_)
    found = model.predict(FRAME.assign(n=pd.Categorical(counts)))
    np.testing.assert_array_equal(found, other.predict(FRAME.assign(n=counts)))


SPOILT = np.random.default_rng(3).standard_normal((20, 9))
GOOD = SPOILT.copy()
SPOILT[3:5, 1] = SPOILT[5, 3] = np.nan
SPOILT[7, 2] = np.inf
ALL = (StretchyRegressor, StretchyRegressorCV, StretchyClassifier, StretchyClassifierCV)


def made(estimator, X):
    """Targets that suit the estimator."""
    return X[:, 0] if "Regressor" in estimator.__name__ else X[:, 0] > 0


@pytest.mark.parametrize("estimator", ALL)
def test_columns_that_hold_nan_are_named(estimator):
    y, names = made(estimator, GOOD), [*"abcdefghi"]
    model = estimator().fit(GOOD, y)
    cases = {
        r"NaN in columns 1, 3 \(3 values, the first in row 3\)": [SPOILT, sparse.csr_array(SPOILT)],
        r"NaN in columns 'b', 'd' \(3 values": [pd.DataFrame(SPOILT, columns=names)],
        r"infinity in column 2 \(1 value, the first in row 7\)": [
            np.nan_to_num(SPOILT, posinf=np.inf)
        ],
        r"NaN in columns 0, 1, 2, 3, 4 and 4 more \(180 values": [np.full((20, 9), np.nan)],
    }
    for message, stored in cases.items():
        for X in stored:
            with pytest.raises(ValueError, match=message + ".*SimpleImputer"):
                estimator().fit(X, y)
            if not hasattr(X, "columns"):
                with pytest.raises(ValueError, match=message):
                    model.predict(X)


@pytest.mark.parametrize("estimator", ALL)
def test_dates_and_sparse_targets_are_refused(estimator):
    y = made(estimator, GOOD)
    with pytest.raises(ValueError, match=r"dtype datetime64\[D\].*into days by"):
        estimator().fit(np.full((20, 2), np.datetime64("2020-01-01")), y)
    with pytest.raises(TypeError, match=r"y is a sparse csr_array of shape \(20, 1\).*toarray"):
        estimator().fit(GOOD, sparse.csr_array(y[:, None].astype(float)))


@pytest.mark.parametrize(
    "estimator", [StretchyRegressorCV, StretchyClassifierCV, StretchyClassifier, StabilitySelector]
)
def test_events_with_times_are_no_classes(estimator):
    y = np.zeros(len(GOOD), dtype=[("event", bool), ("time", float)])
    y["event"][::2], y["time"] = True, np.arange(len(y))
    with pytest.raises(ValueError, match="y is a structured array of event, time"):
        estimator().fit(GOOD, y)


@pytest.mark.parametrize("name", ["solver", "a", "quadrant", "fit_intercept"])
def test_arrays_where_one_value_is_meant(name):
    with pytest.raises(TypeError, match=f"{name}=array.* is an array: pass one value"):
        StretchyRegressor(**{name: np.array(["auto", "qr"])}).fit(GOOD, GOOD[:, 0])


@pytest.mark.parametrize("search", [StretchyClassifier, StretchyClassifierCV])
@pytest.mark.parametrize("nothing", [None, np.nan])
def test_samples_without_a_class_are_named(search, nothing):
    labels = np.array(["a", "b"] * 9 + [nothing, "a"], dtype=object)
    for y in (labels, pd.Series(labels, dtype=object)):
        with pytest.raises(ValueError, match=rf"y has {nothing} for sample 18 \(1 of 20\).*known"):
            search().fit(GOOD, y)
    with pytest.raises(ValueError, match="y has None for sample 18"):
        search().fit(GOOD, ["a", "b"] * 9 + [None, "a"])


@pytest.mark.parametrize("search", [StretchyClassifier, StretchyClassifierCV])
def test_a_class_of_one_sample_is_told(search):
    y = np.array(["a", "b"] * 9 + ["rare", "a"])
    with pytest.warns(PoorTargetsWarning, match="y has one sample of class 'rare'") as told:
        search().fit(GOOD, y)
    assert told[0].filename == __file__
    weights = np.where(y == "rare", 0.0, 1.0)
    search().fit(GOOD, y, sample_weight=weights)  # it takes no part


@pytest.mark.parametrize("search", [StretchyRegressor, StretchyRegressorCV])
def test_targets_that_do_not_vary_are_told(search):
    with pytest.warns(PoorTargetsWarning, match="y is 2 for every sample") as told:
        model = search().fit(GOOD, np.full(20, 2.0))
    assert told[0].filename == __file__
    np.testing.assert_allclose(model.predict(GOOD), 2.0)
    with pytest.warns(PoorTargetsWarning, match="target 1 of y is 2 for every sample"):
        search().fit(GOOD, np.column_stack([GOOD[:, 0], np.full(20, 2.0)]))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([0, 1], r"groups has the shape \(2,\), and there are 12 samples"),
        ([[g] for g in range(12)], r"groups has the shape \(12, 1\)"),
        (["a", None] * 6, "groups misses labels"),
        ([1.0, np.nan] * 6, "groups misses labels"),
    ],
)
def test_groups_without_a_label_for_each_sample_are_refused(groups, message):
    X = np.random.default_rng(0).standard_normal((12, 3))
    model = StretchyRegressorCV(1.0, a_grid=(0,), k_grid=(2,))
    with pytest.raises(ValueError, match=message):
        model.fit(X, X[:, 0], groups=groups)
    model.fit(X, X[:, 0])
    with pytest.raises(ValueError, match=message):
        model.effects(groups=groups)
    with pytest.raises(ValueError, match=message):
        model.permutation_test(9, groups=groups)
