"""Rows that come in batches: equal to one fit, whatever the batches; nothing is kept of them."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

import skstretch
from skstretch import FirstQuadrant, StretchyClassifier, StretchyRegressor
from skstretch.exceptions import IllConditionedWarning, ModelFileError
from tests.estimators.samples import assert_close, problem
from tests.io.samples import saved_bytes, with_header

M, D = 90, 7
SPLITS = {
    "one": [np.arange(M)],
    "even": np.array_split(np.arange(M), 4),
    "uneven": np.split(np.arange(M), [2, 3, 4, 60, 61]),
    "rows": [np.array([i]) for i in range(M)],
}


def data(n_targets=None):
    return problem((M, D), n_targets)


def moments_of(X, weights=None):
    mean = np.average(X, axis=0, weights=weights)
    return mean, np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))


def in_batches(model, X, y, batches, weights=None, **keywords):
    for rows in batches:
        model.partial_fit(X[rows], y[rows], None if weights is None else weights[rows], **keywords)
    return model


def assert_same_model(found, expected, X, rtol=1e-10):
    for name in ("alpha_", "intercept_", "coef_", "dof_"):
        assert_close(getattr(found, name), getattr(expected, name), rtol)
    np.testing.assert_array_equal(found.support_, expected.support_)
    # far outside the range of the training data too: the bounds are the same
    for new in (X, 5.0 * X, -3.0 * X):
        assert_close(found.predict(new), expected.predict(new), rtol)


# two rows say little of seven features; the last word is that of all rows
@pytest.mark.filterwarnings("ignore::skstretch.exceptions.IllConditionedWarning")
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("intercept", [True, "column", False])
@pytest.mark.parametrize(
    ("k", "a"), [(1.05, -0.2), (1.05, -3.0), (1.5, -0.2), (2.0, -0.2), (2.0, 0.0)]
)
def test_batches_equal_one_fit(split, intercept, k, a):
    X, y = data()
    params = {"k": k, "a": a, "c": 10.0, "fit_intercept": intercept}
    expected = StretchyRegressor(**params).fit(X, y)
    assert expected._state.space == "primal"
    found = in_batches(StretchyRegressor(**params), X, y, SPLITS[split], moments=moments_of(X))
    assert_same_model(found, expected, X)
    assert (found._state.space, found.solver_, found.n_samples_seen_) == ("primal", "primal", M)


@pytest.mark.parametrize("split", SPLITS)
def test_weights_and_several_targets(split):
    X, Y = data(3)
    weights = np.arange(M) % 4 * 0.7
    expected = StretchyRegressor(b=np.linspace(-0.3, 0.2, D)).fit(X, Y, weights)
    model = StretchyRegressor(b=np.linspace(-0.3, 0.2, D))
    batches = [rows for rows in SPLITS[split] if weights[rows].any()]
    in_batches(model, X, Y, batches, weights, moments=moments_of(X, weights))
    assert_same_model(model, expected, X)
    assert model.n_samples_seen_ == np.count_nonzero(weights)


def test_identity_quadrant():
    X, y = data()
    X = np.abs(X)
    expected = StretchyRegressor(quadrant="identity", c=1.0).fit(X, y)
    model = StretchyRegressor(quadrant="identity", c=1.0)
    assert_same_model(in_batches(model, X, y, SPLITS["even"]), expected, X)


def test_scales_of_large_powers_follow_the_rows():
    """Where powers are unsafe columns of Q are scaled by their peaks, which later rows raise."""
    X, y = data()
    late = np.arange(D)
    X[M - D + late, late] = X.mean(axis=0) - 7 * X.std(axis=0)
    params = {"k": 1.05, "a": -3.0, "c": 1.0}
    moments, sums = moments_of(X), []
    model = StretchyRegressor(**params)
    for rows in np.split(np.arange(M), [60, M - 4]):
        sums.append(model.partial_fit(X[rows], y[rows], moments=moments)._seen.totals.gram)
    assert sums[0].log_columns is None
    assert np.any(sums[1].log_columns < sums[2].log_columns)
    assert_same_model(model, StretchyRegressor(**params).fit(X, y), X)


@pytest.mark.parametrize("split", ["even", "uneven"])
def test_moments_of_the_first_batch_stay(split):
    X, y = data()
    first = SPLITS[split][0]
    found = in_batches(StretchyRegressor(), X, y, SPLITS[split])
    whole = StretchyRegressor().partial_fit(X, y, moments=moments_of(X[first]))
    assert_same_model(found, whole, X)


@pytest.mark.parametrize("batch", ["csr", "csc", "memmap", "h5py", "zarr", "frame"])
def test_batches_of_any_kind(batch, tmp_path):
    rng = np.random.default_rng(3)
    X = rng.gamma(2.0, size=(M, D)) * (rng.random((M, D)) < 0.4)
    y = X @ rng.standard_normal(D) + 0.1 * rng.standard_normal(M)
    expected = StretchyRegressor(k=1.25, c=5.0).fit(X, y)
    model = StretchyRegressor(k=1.25, c=5.0)
    for number, rows in enumerate(SPLITS["even"]):
        held = contained(batch, X[rows], tmp_path / str(number))
        model.partial_fit(held, y[rows], moments=moments_of(X))
    if batch == "frame":
        assert list(model.feature_names_in_) == list("abcdefg")
        X = contained("frame", X, None)
    assert_close(model.predict(X), expected.predict(np.asarray(X)))


def contained(kind, X, path):
    if kind in ("csr", "csc"):
        return sparse.csr_array(X).asformat(kind)
    if kind == "memmap":
        np.save(f"{path}.npy", X)
        return np.load(f"{path}.npy", mmap_mode="r")
    if kind == "h5py":
        import h5py

        return h5py.File(f"{path}.h5", "w").create_dataset("X", data=X)
    if kind == "zarr":
        import zarr

        array = zarr.create_array(f"{path}.zarr", shape=X.shape, chunks=(5, 3), dtype=X.dtype)
        array[:] = X
        return array
    import pandas as pd

    return pd.DataFrame(X, columns=list("abcdefg"))


def test_float32_while_all_batches_are():
    X, y = data()
    small = X.astype(np.float32)
    model = StretchyRegressor().partial_fit(small, y)
    assert model.coef_.dtype == model.predict(small).dtype == np.float32
    assert model.partial_fit(small, y).coef_.dtype == np.float32
    assert model.partial_fit(X, y).coef_.dtype == np.float64


@pytest.mark.parametrize("sparse_X", [False, True])
def test_moments_may_come_from_a_transformer(sparse_X):
    X, y = data()
    X[:, 2] = 4.5
    weights = 0.5 + np.arange(M) % 3
    expected = StretchyRegressor().fit(X, y, weights)
    scaler = StandardScaler(with_mean=not sparse_X)
    scaler.fit(sparse.csr_array(X) if sparse_X else X, sample_weight=weights)
    for moments in (scaler, FirstQuadrant(a=1.0).fit(X, sample_weight=weights)):
        found = in_batches(StretchyRegressor(), X, y, SPLITS["even"], weights, moments=moments)
        assert_same_model(found, expected, X)
        assert not found.support_[2]


@pytest.mark.parametrize(
    ("moments", "words"),
    [
        ((np.zeros(D), np.ones(3)), r"scale in moments has shape \(3,\), and X has 7"),
        ((np.zeros(D), -np.ones(D)), "negative entry"),
        ((np.full(D, np.nan), np.ones(D)), "not finite"),
        (StandardScaler(with_std=False).fit(np.eye(D)), "no mean or no scale"),
    ],
)
def test_bad_moments(moments, words):
    X, y = data()
    model = StretchyRegressor()
    with pytest.raises(ValueError, match=words):
        model.partial_fit(X, y, moments=moments)
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize("moments", ["standard", 3, (1, 2, 3), object()])
def test_moments_of_unknown_kind(moments):
    X, y = data()
    with pytest.raises(TypeError, match="StandardScaler"):
        StretchyRegressor().partial_fit(X, y, moments=moments)


def test_moments_that_are_not_fitted():
    X, y = data()
    for moments in (StandardScaler(), FirstQuadrant()):
        with pytest.raises(NotFittedError):
            StretchyRegressor().partial_fit(X, y, moments=moments)


def test_moments_may_be_repeated_but_not_changed():
    X, y = data()
    model = StretchyRegressor().partial_fit(X[:50], y[:50], moments=moments_of(X))
    model.partial_fit(X[50:], y[50:], moments=moments_of(X))
    with pytest.raises(ValueError, match="moments differ"):
        model.partial_fit(X, y, moments=moments_of(X[:20]))
    assert model.n_samples_seen_ == M


def test_fewer_rows_than_features_are_solved_with_a_penalty():
    X, y = data()
    model = StretchyRegressor(k=1.5, c=2.0).partial_fit(X[:4], y[:4], moments=moments_of(X[:4]))
    expected = StretchyRegressor(k=1.5, c=2.0).fit(X[:4], y[:4])
    assert expected._state.space == "dual"
    assert_close(model.predict(X), expected.predict(X))


def test_without_a_penalty_there_is_no_model_before_there_are_enough_rows():
    X, y = data()
    model = StretchyRegressor(c=np.inf)
    with pytest.warns(IllConditionedWarning, match="5 rows seen so far do not determine the 7"):
        model.partial_fit(X[:5], y[:5], moments=moments_of(X))
    assert model.n_samples_seen_ == 5
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.partial_fit(X[5:], y[5:])
    assert_close(model.predict(X), StretchyRegressor(c=np.inf).fit(X, y).predict(X), 1e-9)


def test_a_model_that_becomes_singular_is_no_model():
    X, y = data()
    model = StretchyRegressor().partial_fit(X[:5], y[:5])
    model.set_params(c=np.inf)
    with pytest.warns(IllConditionedWarning, match="6 rows"):
        model.partial_fit(X[5:6], y[5:6])
    assert not hasattr(model, "coef_")
    model.set_params(c=1.0).partial_fit(X[6:], y[6:])
    whole = StretchyRegressor(c=1.0).partial_fit(X, y, moments=moments_of(X[:5]))
    assert_close(model.predict(X), whole.predict(X))


def test_c_may_change_between_batches():
    X, y = data()
    model = StretchyRegressor(c=1e-3).partial_fit(X[:50], y[:50], moments=moments_of(X))
    model.set_params(c=30.0).partial_fit(X[50:], y[50:])
    assert_same_model(model, StretchyRegressor(c=30.0).fit(X, y), X)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"k": 1.2}, "k was 1.5 .* is 1.2 now"),
        ({"a": -0.1}, "a was -0.2"),
        ({"b": 1.0}, "b was"),
        ({"quadrant": "identity"}, "quadrant was 'exp'"),
        ({"fit_intercept": False}, "fit_intercept was free .* is none"),
        ({"density": 0.5}, "density=0.5"),
        ({"density": 3}, "density=3"),
        ({"solver": "qr"}, "solver='qr'"),
        ({"solver": "dual"}, "solver='dual'"),
        ({"solver": "krylov"}, "solver='krylov'"),
        ({"k": 0.5}, "k=0.5"),
    ],
)
def test_changed_parameters_are_refused_and_change_nothing(change, words):
    X, y = data()
    X = np.abs(X)
    model = StretchyRegressor().partial_fit(X, y)
    before, state = model.predict(X), set(vars(model))
    with pytest.raises(ValueError, match=words):
        model.set_params(**change).partial_fit(X, y)
    assert set(vars(model)) == state
    assert model.n_samples_seen_ == M
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("params", [{"density": 0.5}, {"solver": "qr"}, {"solver": "dual"}])
def test_what_needs_all_rows_is_refused_at_once(params):
    X, y = data()
    model = StretchyRegressor(**params)
    with pytest.raises(ValueError, match="or fit"):
        model.partial_fit(X, y)
    assert set(vars(model)) == set(model.get_params())


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda X, y: (np.where(X[7, 3] == X, np.nan, X), y), "NaN"),
        (lambda X, y: (X[:, :-1], y), "6 features"),
        (lambda X, y: (X, np.column_stack([y, y])), r"shape \(90, 2\).*\(n_samples,\)"),
        (lambda X, y: (X, y[:, None]), "same targets"),
        (lambda X, y: (X, y[:-1]), "inconsistent"),
        (lambda X, y: (np.where(X[7, 3] == X, -1e9, X), y), "column 3"),
    ],
)
def test_a_bad_batch_leaves_the_model_as_it_was(spoil, words):
    X, y = data()
    model = StretchyRegressor(a=-1.0).partial_fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match=words):
        model.partial_fit(*spoil(X, y))
    np.testing.assert_array_equal(model.predict(X), before)
    model.partial_fit(X[:30], y[:30])
    again = StretchyRegressor(a=-1.0).partial_fit(X, y).partial_fit(X[:30], y[:30])
    np.testing.assert_array_equal(model.alpha_, again.alpha_)


def test_an_interrupt_in_the_middle_of_a_batch_changes_nothing(monkeypatch):
    X, y = data()
    model = StretchyRegressor().partial_fit(X, y)
    before = dict(vars(model))

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("skstretch.designs.dense.DenseDesign.project", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    assert vars(model) == before


def test_constant_columns_take_no_part_for_good():
    X, y = data()
    X[:30, 4] = 1.25
    model = StretchyRegressor().partial_fit(X[:30], y[:30])
    with pytest.warns(UserWarning, match=r"1 columns \(the first is column 4\) were constant"):
        model.partial_fit(X[30:60], y[30:60])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X[60:], y[60:])  # told once
    assert model.alpha_[4] == 0
    assert not model.support_[4]
    others = np.delete(np.arange(D), 4)
    expected = in_batches(StretchyRegressor(), X[:, others], y, np.split(np.arange(M), [30, 60]))
    assert_close(model.predict(X), expected.predict(X[:, others]))


def test_a_column_that_moves_from_one_constant_to_another_is_told_of():
    X, y = data()
    X[:30, 4], X[30:, 4] = 1.0, 2.0
    model = StretchyRegressor().partial_fit(X[:30], y[:30])
    with pytest.warns(UserWarning, match="column 4"):
        model.partial_fit(X[30:], y[30:])


def test_nothing_varies_in_the_first_batch():
    y = np.arange(6.0)
    model = StretchyRegressor().partial_fit(np.ones((6, 3)), y)
    np.testing.assert_allclose(model.predict(np.ones((2, 3))), y.mean())
    model.partial_fit(np.ones((2, 3)), np.array([10.0, 20.0]))
    np.testing.assert_allclose(model.predict(np.ones((2, 3))), 45 / 8)


def test_one_row_has_no_moments():
    X, y = data()
    with pytest.raises(ValueError, match="one sample of positive weight"):
        StretchyRegressor().partial_fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="one sample of positive weight"):
        StretchyRegressor().partial_fit(X[:3], y[:3], [0, 0, 2.0])


def test_the_range_of_z_grows_with_the_rows():
    X, y = data()
    order = np.argsort(X[:, 0])  # the largest values come last
    model = StretchyRegressor()
    far = np.repeat(X.mean(axis=0)[None], 2, axis=0)
    far[:, 0] = X[:, 0].max() + np.array([0.2, 0.4]) * np.ptp(X[:, 0])
    model.partial_fit(X[order[:20]], y[order[:20]], moments=moments_of(X))
    assert np.ptp(model.predict(far)) == 0  # both beyond the range of the first rows
    model.partial_fit(X[order[20:]], y[order[20:]])
    assert np.ptp(model.predict(far)) > 0


def test_what_needs_rows_is_a_clear_error(tmp_path):
    X, y = data()
    model = StretchyRegressor().partial_fit(X, y)
    for ask in (
        lambda: model.predict_interval(X),
        lambda: model.predict_interval(X, method="residual"),
        model.coef_std,
        lambda: model.coef_std(1.0),
        model.coef_covariance,
        model.effect_path,
        lambda: model.dual_coef_,
        lambda: skstretch.save(model, tmp_path / "m.stretchy", intervals=True),
    ):
        with pytest.raises(ValueError, match="partial_fit keeps none of them"):
            ask()
    assert not hasattr(model, "dual_coef_")
    assert not list(tmp_path.iterdir())


def test_fit_begins_anew():
    X, y = data()
    model = StretchyRegressor().partial_fit(X[:40], y[:40])
    model.fit(X[40:], y[40:])
    assert not hasattr(model, "n_samples_seen_")
    np.testing.assert_array_equal(model.alpha_, StretchyRegressor().fit(X[40:], y[40:]).alpha_)
    assert model.predict_interval(X)[0].shape == (M,)


@pytest.mark.parametrize("to", [np.asarray, sparse.csr_array])
def test_partial_fit_goes_on_from_a_fit(to):
    X, y = data()
    weights = np.arange(M) % 3 + 0.0
    model = StretchyRegressor().fit(to(X[:40]), y[:40], weights[:40])
    model.partial_fit(to(X[40:]), y[40:], weights[40:])
    moments = moments_of(X[:40], weights[:40])
    expected = StretchyRegressor().partial_fit(X, y, weights, moments=moments)
    assert_same_model(model, expected, X)
    assert model.n_samples_seen_ == np.count_nonzero(weights)


def test_pickles_go_on_and_clones_begin_anew():
    X, y = data()
    model = StretchyRegressor().partial_fit(X[:40], y[:40])
    again = pickle.loads(pickle.dumps(model)).partial_fit(X[40:], y[40:])
    model.partial_fit(X[40:], y[40:])
    np.testing.assert_array_equal(again.alpha_, model.alpha_)
    assert not hasattr(clone(model), "n_samples_seen_")


def test_file_of_a_model_of_batches(tmp_path):
    X, Y = data(2)
    model = in_batches(StretchyRegressor(k=1.25), X, Y, SPLITS["even"])
    skstretch.save(model, tmp_path / "model.stretchy")
    loaded = skstretch.load(tmp_path / "model.stretchy")
    for new in (X, 4 * X):
        np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    assert loaded.n_samples_seen_ == M
    assert (loaded.rcond_, loaded.dof_, loaded.solver_) == (model.rcond_, model.dof_, "primal")
    with pytest.raises(ValueError, match="training features"):
        loaded.predict_interval(X)
    with pytest.raises(ValueError, match="new fit"):
        loaded.partial_fit(X, Y)
    skstretch.save(loaded, tmp_path / "again.stretchy")
    twice = skstretch.load(tmp_path / "again.stretchy")
    np.testing.assert_array_equal(twice.predict(X), model.predict(X))


@pytest.mark.parametrize("count", [0, -3, True, 2.0, "90", None, 10**30])
def test_file_with_an_odd_number_of_rows_is_refused(count, tmp_path):
    X, y = data()
    model = StretchyRegressor().partial_fit(X, y)
    path = tmp_path / "odd.stretchy"
    path.write_bytes(with_header(saved_bytes(model, tmp_path), n_samples_seen=count))
    with pytest.raises(ModelFileError):
        skstretch.load(path)
    fitted = StretchyRegressor().fit(X, y)  # this one has rows to show for
    path.write_bytes(with_header(saved_bytes(fitted, tmp_path), n_samples_seen=90))
    with pytest.raises(ModelFileError):
        skstretch.load(path)


def test_file_of_a_classifier_of_batches(tmp_path):
    X, y = data()
    labels = np.array(["low", "mid", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    model = StretchyClassifier().partial_fit(X, labels, classes=["low", "mid", "high"])
    skstretch.save(model, tmp_path / "model.stretchy")
    loaded = skstretch.load(tmp_path / "model.stretchy")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="partial_fit"):
        loaded.predict_proba(X)


CLASSES = {"two": [0.5], "three": [0.3, 0.6]}


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("split", ["one", "uneven", "rows"])
@pytest.mark.parametrize("class_weight", [None, {"c0": 2.5}])
def test_classifier_equals_one_fit(n_classes, split, class_weight):
    X, y = data()
    labels = np.array(["c0", "c1", "c2"])[np.digitize(y, np.quantile(y, CLASSES[n_classes]))]
    params = {"threshold": "zero", "class_weight": class_weight}
    expected = StretchyClassifier(**params).fit(X, labels)
    model = StretchyClassifier(**params)
    keywords = {"moments": moments_of_classes(X, labels, class_weight)}
    for number, rows in enumerate(SPLITS[split]):
        first = {"classes": np.unique(labels)} if number == 0 else {}
        model.partial_fit(X[rows], labels[rows], **keywords, **first)
    assert_close(model.decision_function(X), expected.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    np.testing.assert_array_equal(model.classes_, expected.classes_)
    assert np.all(model.threshold_ == 0)
    with pytest.raises(ValueError, match="fit in place of partial_fit"):
        model.predict_proba(X)


def moments_of_classes(X, labels, class_weight):
    if class_weight is None:
        return moments_of(X)
    return moments_of(X, [class_weight.get(label, 1.0) for label in labels])


def test_classifier_needs_classes_at_first():
    X, y = data()
    labels = y > np.median(y)
    model = StretchyClassifier()
    with pytest.raises(ValueError, match="classes is missing"):
        model.partial_fit(X, labels)
    with pytest.raises(ValueError, match="at least two"):
        model.partial_fit(X, labels, classes=[True])
    with pytest.raises(ValueError, match="the label True, which is not among the classes"):
        model.partial_fit(X, labels, classes=[0, 7])
    assert set(vars(model)) == set(model.get_params())
    model.partial_fit(X, labels, classes=[False, True])
    model.partial_fit(X, labels, classes=[True, False])
    with pytest.raises(ValueError, match="not those of the first call"):
        model.partial_fit(X, labels, classes=[0, 1, 2])
    assert model.n_samples_seen_ == 2 * M


@pytest.mark.parametrize(
    ("params", "words"),
    [({"threshold": "balanced"}, "out-of-fold"), ({"class_weight": "balanced"}, "pass a dict")],
)
def test_classifier_refuses_what_needs_all_rows(params, words):
    X, y = data()
    with pytest.raises(ValueError, match=words):
        StretchyClassifier(**params).partial_fit(X, y > 5, classes=[False, True])


def test_classifier_goes_on_from_a_fit_with_cut_zero():
    X, y = data()
    labels = y > np.quantile(y, 0.8)
    model = StretchyClassifier(threshold="auto").fit(X[:60], labels[:60])
    model.predict_proba(X)
    model.partial_fit(X[60:], labels[60:])
    expected = StretchyClassifier()
    expected.partial_fit(X, labels, classes=[False, True], moments=moments_of(X[:60]))
    assert_close(model.decision_function(X), expected.decision_function(X))
    assert model.threshold_ == 0.0


def test_a_batch_whose_classes_have_no_weight():
    X, _ = data()
    model = StretchyClassifier(class_weight={0: 0.0})
    with pytest.raises(ValueError, match="weight zero"):
        model.partial_fit(X, np.zeros(M, dtype=int), classes=[0, 1])
