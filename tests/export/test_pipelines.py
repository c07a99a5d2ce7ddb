"""Graphs of pipelines say what the pipelines say."""

import warnings

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

import skstretch
from skstretch import SpectralFilter
from skstretch.export.onnx import NODES
from skstretch.io.steps import JOINING, KINDS
from tests.export.test_onnx import run
from tests.io.test_pipelines import FRAME, GAPS, NEW_GAPS, STEPS, X, Y, pipe

TEXT = ("mixed", "mixed, holes", "selector", "sparse")
TEXTS = ("texts", "counts", "letters", "given words", "texts beside numbers")
NUMBERS = [name for name in STEPS if name not in (*TEXT, *TEXTS)]


@pytest.mark.parametrize("name", NUMBERS)
def test_equal(name):
    model, new = pipe(name)
    expected = model.predict(new)
    got = run(skstretch.to_onnx(model), np.asarray(new, dtype=np.float64))["prediction"]
    # where a model is fitted on float32, `predict` rounds to it
    tolerance = 1e-9 if model[-1].coef_.dtype == np.float64 else 1e-5
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * abs(expected).max())


@pytest.mark.parametrize("name", TEXTS)
def test_what_comes_behind_texts(name):
    """The way out that the refusal names."""
    model, new = pipe(name)
    with pytest.raises(TypeError, match=r"Vectorizer reads texts, .* with to_onnx\(pipeline\[1:\]"):
        skstretch.to_onnx(model)
    table = model[0].transform(new)
    table = table.toarray() if hasattr(table, "toarray") else table
    got = run(skstretch.to_onnx(model[1:]), np.asarray(table, dtype=np.float64))["prediction"]
    expected = model.predict(new)
    tolerance = 1e-9 if model[-1].coef_.dtype == np.float64 else 1e-5
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * abs(expected).max())


@pytest.mark.parametrize(
    "parameters",
    [
        {"detrend": 2},
        {"snv": True, "detrend": 0},
        {"derivative": 0, "window": 1, "polyorder": 0},
        {"derivative": 1, "window": 29, "polyorder": 3},
        {"snv": True, "derivative": 2, "window": 11, "polyorder": 4, "keep": np.arange(30) % 4 > 0},
    ],
    ids=str,
)
def test_spectra(parameters):
    rng = np.random.default_rng(0)
    spectra = rng.standard_normal((40, 30)).cumsum(axis=1) + 5
    new = np.vstack([spectra[::2] * 1.1, np.ones((1, 30))])  # a flat row too
    model = make_pipeline(SpectralFilter(**parameters), skstretch.StretchyRegressor())
    expected = model.fit(spectra, Y).predict(new)
    got = run(skstretch.to_onnx(model), new)["prediction"]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9 * abs(expected).max())


def yeo_johnson(x, lam):
    """The transform where both of its denominators keep their digits."""

    def half(u, lam):
        return np.log1p(u) if lam == 0 else np.expm1(lam * np.log1p(u)) / lam

    return np.where(x >= 0, half(np.maximum(x, 0), lam), -half(np.maximum(-x, 0), 2.0 - lam))


@pytest.mark.parametrize("lam", [0.0, 1e-9, 1.0, 2.0, 2.0 - 1e-9, -0.7])
def test_powers_over_the_whole_range(lam):
    """Beside the formula: scikit-learn 1.7 loses half of the digits next to 2."""
    model, new = pipe("power")
    model[0].lambdas_ = np.full(7, lam)
    scaled = model[0]._scaler.transform(yeo_johnson(new, lam))
    expected = model[-1].predict(scaled)
    got = run(skstretch.to_onnx(model), new)["prediction"]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9 * abs(expected).max())


@pytest.mark.parametrize("n_quantiles", [1, 2, 7, 40, 1000])
@pytest.mark.parametrize("distribution", ["uniform", "normal"])
def test_quantiles_over_the_whole_range(distribution, n_quantiles):
    """Knots, numbers between and beyond them, ties, a constant column, numbers near an end."""
    rng = np.random.default_rng(0)
    old = np.column_stack([X, rng.integers(0, 3, 40), np.round(X[:, 0]), np.full(40, 2.0)])
    step = QuantileTransformer(n_quantiles=n_quantiles, output_distribution=distribution)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # more quantiles than samples
        model = make_pipeline(step, StandardScaler(), skstretch.StretchyRegressor(a=0.0))
        model.fit(old, Y)
    low, high = old.min(axis=0), old.max(axis=0)
    near = [end + shift for end in (low, high) for shift in (-3, -2e-8, -1e-9, 0, 1e-9, 2e-8, 3)]
    new = np.vstack([old, 1.1 * old - 0.2, np.array(near), step.quantiles_[:50]])
    expected = model.predict(new)
    got = run(skstretch.to_onnx(model), new)["prediction"]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9 * abs(expected).max())
    assert n_quantiles == 1 or np.unique(np.round(expected, 6)).size > 10


def test_missing_values_among_quantiles():
    steps = QuantileTransformer(n_quantiles=9), SimpleImputer()
    model = make_pipeline(*steps, skstretch.StretchyRegressor()).fit(GAPS, Y)
    got = run(skstretch.to_onnx(model), NEW_GAPS)["prediction"]
    np.testing.assert_allclose(got, model.predict(NEW_GAPS), rtol=0, atol=1e-9 * abs(Y).max())


def test_classes(tmp_path):
    steps, _, _ = STEPS["several"]
    model = make_pipeline(*steps, skstretch.StretchyClassifier())
    model.fit(GAPS, np.where(Y > 0, "a", "b"))
    skstretch.save(model, tmp_path / "m.stretchy")
    for one in (model, skstretch.load(tmp_path / "m.stretchy")):
        out = run(skstretch.to_onnx(one), NEW_GAPS)
        assert out["label"].tolist() == model.predict(NEW_GAPS).tolist()
        np.testing.assert_allclose(
            out["probabilities"], model.predict_proba(NEW_GAPS), rtol=0, atol=1e-9
        )


def test_float32():
    model, new = pipe("power")
    got = run(skstretch.to_onnx(model, "float32"), new.astype(np.float32))["prediction"]
    expected = model.predict(new)
    np.testing.assert_allclose(got, expected, atol=1e-4 * abs(expected).max())


def test_refused():
    text, _ = pipe("mixed")
    with pytest.raises(TypeError, match=r"of text.* whose input X holds numbers"):
        skstretch.to_onnx(text)
    model = make_pipeline(PowerTransformer(), PCA(2), skstretch.StretchyRegressor()).fit(X, Y)
    with pytest.raises(TypeError, match="a PCA has no counterpart in an ONNX graph"):
        skstretch.to_onnx(model)
    words = make_pipeline(OneHotEncoder(), skstretch.StretchyRegressor()).fit(FRAME[["g"]], Y)
    with pytest.raises(TypeError, match=r"a OneHotEncoder of text \('high'\)"):
        skstretch.to_onnx(words)


def test_graphs_and_files_know_the_same_steps():
    assert {*NODES} == {*KINDS, *JOINING}
