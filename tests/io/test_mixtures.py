"""A loaded mixture is the mixture that was saved, and forged ones are refused."""

import functools
import json
import tracemalloc

import numpy as np
import pytest

import skstretch
from skstretch.estimators.mixture import Mixture
from skstretch.estimators.samples import reference_of
from skstretch.io import ModelFileError
from tests.io.samples import (
    BENT,
    CLASSIFIERS,
    CURVES,
    MIXTURES,
    WIDE,
    X,
    fitted,
    members,
    saved_bytes,
    with_array,
    with_header,
)
from tests.io.test_roundtrip import check_attributes, check_results, reloaded, same

SEARCHES = {"three classes": CLASSIFIERS["search"], "two classes": CLASSIFIERS["search two"]}
# how many values of a have a share, and whether some candidate selects features
TERMS = {
    "one": 2, "two": 2, "column": 2, "weights": 3, "single": 2, "linear": 1, "exponential": 1,
    "identity": 1, "ones": 2, "folds": 2, "wide": 2, "selected": 2, "some selected": 2,
}  # fmt: skip
SELECTING = ("selected", "some selected")


@functools.cache
def mixture(name):
    model, new = fitted(MIXTURES[name])
    assert isinstance(model._state, Mixture)
    return model, new


def check_weights(model, again):
    assert list(again.weights_) == list(model.weights_)
    for name, values in model.weights_.items():
        same(values, again.weights_[name])
    types = [type(value) for value in model.weights_["density"]]
    assert types == [type(value) for value in again.weights_["density"]]


@pytest.mark.parametrize("name", MIXTURES)
def test_samples_are_what_they_are_for(name):
    state = mixture(name)[0]._state
    assert len(state.terms) == TERMS[name]
    whole = state.columns.size
    selects = [any(kept.size < whole for kept in member.kept) for member in state.members]
    assert any(selects) == (name in SELECTING)
    assert all(selects) == (name == "selected")
    assert (state.held_out is None) == (name in ("folds", "selected"))


@pytest.mark.parametrize("name", MIXTURES)
def test_regressor(name, tmp_path):
    model, new = mixture(name)
    again = reloaded(model, tmp_path)
    check_attributes(model, again)
    check_results(model, again)
    check_weights(model, again)
    assert again.solver_ == "average"
    assert again.dual_gap_ == model.dual_gap_
    same(again.predict(new), model.predict(new))
    for coverage in (0.5, 0.95):
        before = model.predict_interval(new, coverage, method="residual")
        after = again.predict_interval(new, coverage, method="residual")
        for one, other in zip(before, after, strict=True):
            same(other, one)
    assert again.summary().choice == model.summary().choice
    assert again.summary().effects == model.summary().effects


@pytest.mark.parametrize("name", MIXTURES)
def test_intervals(name, tmp_path):
    model, new = mixture(name)
    again = reloaded(model, tmp_path, intervals=True)
    same(again.predict(new), model.predict(new))
    before, after = model.predict_interval(new), again.predict_interval(new)
    tolerance = 1e-12 if model.coef_.dtype == np.float64 else 1e-6
    np.testing.assert_allclose(after, before, rtol=tolerance)
    assert np.asarray(after).dtype == model.coef_.dtype
    noise = np.full(np.atleast_2d(model.coef_).shape[0], 0.5)
    np.testing.assert_allclose(again.coef_std(noise), model.coef_std(noise), rtol=1e-9)
    assert str(again.summary()) == str(model.summary())


@pytest.mark.parametrize("name", SEARCHES)
def test_classifier(name, tmp_path):
    model, new = fitted(SEARCHES[name])
    assert isinstance(model._state, Mixture)
    again = reloaded(model, tmp_path)
    check_attributes(model, again)
    check_results(model, again)
    check_weights(model, again)
    same(again.predict(new), model.predict(new))
    same(again.decision_function(new), model.decision_function(new))
    same(again.predict_proba(new), model.predict_proba(new))


@pytest.mark.parametrize("name", ["two", "selected", "identity"])
@pytest.mark.parametrize("method", ["predict_interval", "coef_std", "effect_path"])
def test_without_features_the_error_says_how_to_save(name, method, tmp_path):
    model, new = mixture(name)
    again = reloaded(model, tmp_path)
    with pytest.raises(ValueError, match=r"save\(model, path, intervals=True\)"):
        getattr(again, method)(*([new] if method == "predict_interval" else []))


@pytest.mark.parametrize("intervals", [False, True])
@pytest.mark.parametrize("name", ["two", "weights", "selected", "some selected", "folds"])
def test_saved_twice(name, intervals, tmp_path):
    model, _ = mixture(name)
    first, second = tmp_path / "1.stretchy", tmp_path / "2.stretchy"
    skstretch.save(model, first, intervals=intervals)
    skstretch.save(skstretch.load(first), second, intervals=intervals)
    assert first.read_bytes() == second.read_bytes()


def test_a_search_that_finds_one_candidate_is_no_mixture(tmp_path):
    grid = {"a_grid": (0,), "k_grid": (2,), "c_grid": (1.0,)}
    alone = skstretch.StretchyRegressorCV(1.0, **grid).fit(X, BENT)
    again = reloaded(alone, tmp_path)
    check_weights(alone, again)
    assert again.weights_["weight"].tolist() == [1.0]
    assert not isinstance(again._state, Mixture)


def test_scores_around_the_search_are_kept(tmp_path):
    model, _ = fitted(MIXTURES["one"])
    model.nested_score_, model.nested_score_se_ = -1.5, np.nan
    again = reloaded(model, tmp_path)
    assert again.nested_score_ == -1.5
    assert np.isnan(again.nested_score_se_)
    del model.nested_score_, model.nested_score_se_
    assert not hasattr(reloaded(model, tmp_path), "nested_score_")


@pytest.mark.slow
def test_size_on_the_disk_and_in_memory(tmp_path):
    """Moments are there once, coefficients once for every a, features once for every a."""
    data = np.tile(WIDE, 200)
    model = skstretch.StretchyRegressorCV(**CURVES).fit(data, BENT)
    state, D = model._state, data.shape[1]
    T = len(state.terms)
    assert T > 1
    size = len(saved_bytes(model, tmp_path, outcomes=False))
    moments = 5 * 8 + 1 + 8 * bool(state.quadrant.moments.rest.any())
    components = 4 * reference_of(state).space.variances.size
    arrays = (8 * T * 2 + moments + 8 + components) * D
    # one more array of all features would be beyond the names, sizes and results beside them
    assert 0 < size - arrays < 30_000 < 8 * D
    tracemalloc.start()
    skstretch.load(tmp_path / "good.stretchy")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * size
    more = len(saved_bytes(model, tmp_path, intervals=True, outcomes=False))
    # features, targets and weights; how left-out residuals spread, by five arrays
    training, spreads = 36 * (T * state.columns.size + 3), 2 * D + 2 * 36 + 3 * 2
    assert 0 <= more - size - 8 * (training + spreads) < 8 * 500  # of each array its names and sums


@functools.cache
def header_of(data):
    return json.loads(members(data)["header.json"])


def terms(data):
    return header_of(data)["terms"]


def array_of(data, name):
    """An array of a file, to be changed."""
    raw = members(data)[f"{name}.npy"]
    entry = header_of(data)["arrays"][name]
    n_bytes = int(np.prod(entry["shape"])) * np.dtype(entry["dtype"]).itemsize
    return np.frombuffer(raw[len(raw) - n_bytes :], entry["dtype"]).reshape(entry["shape"]).copy()


def forged_headers():
    yield "class", lambda g: with_header(g, **{"class": "StretchyRegressor", "parameters": {}})
    yield "no terms", lambda g: with_header(g, terms=[])
    yield "fewer terms", lambda g: with_header(g, terms=terms(g)[:1])
    yield "more terms", lambda g: with_header(g, terms=[*terms(g), ["exp", 3.0, 0.0]])
    yield "many terms", lambda g: with_header(g, terms=[["exp", 1.0 + i, 0.0] for i in range(9000)])
    yield "equal terms", lambda g: with_header(g, terms=[terms(g)[0]] * 2)
    yield "other a", lambda g: with_header(g, terms=[["exp", 7.0, 0.0], *terms(g)[1:]])
    yield "text for a", lambda g: with_header(g, terms=[["exp", "7", 0.0], *terms(g)[1:]])
    yield (
        "infinite a",
        lambda g: with_header(g, terms=[["exp", {"$float": "inf"}, 0.0], *terms(g)[1:]]),
    )
    yield "other unit", lambda g: with_header(g, terms=[["exp", -0.5, 1.0], *terms(g)[1:]] * 2)
    yield "kind", lambda g: with_header(g, terms=[["identity", -0.5, 0.0], *terms(g)[1:]])
    yield "linear a", lambda g: with_header(g, terms=[["linear", -0.5, 0.0], *terms(g)[1:]])
    yield "numbers", lambda g: with_header(g, terms=[1, 2])
    yield "transform", lambda g: with_header(g, quadrant=["exp", -0.5])
    yield "intercept", lambda g: with_header(g, intercept="maybe")
    yield "no intercept", lambda g: with_header(g, intercept=None)
    yield "space", lambda g: with_header(g, space="\x1b[2J")
    yield "dtype", lambda g: with_header(g, dtype="float16")
    yield "nested", lambda g: with_header(g, nested_score="1")
    yield "nested error", lambda g: with_header(g, nested_score_se=-1.0)
    chosen = {"best_index_": 99}
    yield "chosen", lambda g: with_header(g, chosen={**header_of(g)["chosen"], **chosen})


def forged_arrays():
    def changed(name, change):
        def forge(data):
            values = array_of(data, name)
            return with_array(data, name, change(values))

        return forge

    def put(index, value):
        def change(values):
            values[index] = value
            return values

        return change

    for name, index, value in [
        ("member_weight", (0, 0), -0.5), ("member_weight", (0, 0), np.nan),
        ("member_weight", (0, 0), 0.9), ("coef", (0, 0, 0), np.inf), ("coef", (0, 0, 4), 1.0),
        ("member_rows", 0, -1), ("member_rows", -1, 10**9), ("member_rows", 0, 10**9),
        ("kept", 0, -1), ("kept", 0, 99), ("kept", 0, 7), ("kept_ends", 0, 0),
        ("kept_ends", 0, 10**12), ("kept_ends", -1, 10**12), ("kept_member", 0, 99),
        ("kept_member", 0, -1), ("kept_member", slice(None), 0), ("level", 0, np.nan),
        ("result_param_k", slice(None), 0.5), ("result_param_c", slice(None), -1.0),
        ("result_param_a", slice(None), 2.0), ("features", (0, 0, 0), np.nan),
    ]:  # fmt: skip
        yield f"{name} {index} {value}", changed(name, put(index, value))
    for name in ("member_weight", "member_dof", "member_rcond", "member_gap", "coef", "features"):
        yield f"shorter {name}", changed(name, lambda values: values[1:])
        yield f"narrow {name}", changed(name, lambda values: values.astype("f4"))
    yield "no rows", changed("member_rows", lambda values: values[:0])
    yield "one row", changed("member_rows", lambda values: values[:1])
    yield "text k", changed("result_param_k", lambda values: values.astype("U9"))
    yield "flat coef", changed("coef", lambda values: values[0])


FORGED = {**dict(forged_headers()), **dict(forged_arrays())}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_refused(forge, tmp_path):
    data = saved_bytes(mixture("some selected")[0], tmp_path, intervals=True)
    path = tmp_path / "forged.stretchy"
    path.write_bytes(with_header(data))
    skstretch.load(path)
    path.write_bytes(forge(data))
    with pytest.raises(ModelFileError) as caught:
        skstretch.load(path)
    assert "its parts do not fit together" not in str(caught.value)
    assert len(str(caught.value)) < 300 + len(str(path))
