"""Stand-ins: shape, sparsity, label, seed, and a difficulty within stated bounds."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import KFold, cross_val_score

from reproduction.standins import (
    TFIDF_DENSITY,
    make_gaze_standin,
    make_gisette_standin,
    make_tfidf_standin,
)


def labelled(bunch):
    return bunch.standin is True and bunch.DESCR.startswith("GENERATED STAND-IN")


def test_tfidf():
    bunch = make_tfidf_standin(n_samples=600, n_features=20_000)
    assert labelled(bunch)
    X = bunch.data
    assert X.format == "csr"
    assert X.shape == (600, 20_000)
    assert X.nnz / 600 == pytest.approx(20_000 * TFIDF_DENSITY, rel=0.03)
    assert np.diff(X.indptr).min() > 0
    np.testing.assert_allclose(np.sqrt(X.power(2).sum(axis=1)), 1)
    # Zipf: one word in a hundred makes a third of the entries, most words are rare
    counts = np.sort(np.bincount(X.indices, minlength=20_000))[::-1]
    assert counts[0] == 600
    assert counts[:200].sum() > 0.3 * X.nnz
    assert np.median(counts) < 5


def test_tfidf_difficulty():
    bunch = make_tfidf_standin(n_samples=600, n_features=20_000)
    score = cross_val_score(Ridge(0.3), bunch.data, bunch.target, cv=2).mean()
    assert 0.15 < score < 0.5  # R²; `explained` is the bound


def test_gisette():
    bunch = make_gisette_standin(n_samples=800, n_features=600)
    assert labelled(bunch)
    X = bunch.data
    assert X.shape == (800, 600)
    assert X.dtype == np.float64
    np.testing.assert_array_equal(X, np.rint(X))
    assert X.min() == 0
    assert X.max() == 999
    assert np.mean(X > 0) == pytest.approx(0.13, abs=0.005)
    assert np.bincount(bunch.target + 1).tolist() == [400, 0, 400]
    assert bunch.probe.sum() == 300


def test_gisette_difficulty():
    bunch = make_gisette_standin(n_samples=1000, n_features=1000)
    model = RidgeClassifier(300.0)
    score = cross_val_score(
        model, bunch.data / 999, bunch.target, cv=2, scoring="balanced_accuracy"
    )
    assert 0.014 < 1 - score.mean() < 0.08  # BER; about 2 % at the full size
    probes = cross_val_score(model, bunch.data[:, bunch.probe], bunch.target, cv=2)
    assert 0.4 < probes.mean() < 0.6


def test_gaze(tmp_path):
    bunch = make_gaze_standin(tmp_path / "gaze.npy", n_samples=140, n_features=3000)
    assert labelled(bunch)
    assert isinstance(bunch.data, np.memmap)
    assert bunch.data.dtype == np.uint8
    assert bunch.data.shape == (140, 3000)
    assert bunch.image_shape == (50, 60)
    assert bunch.scale == 1 / 255
    np.testing.assert_allclose(np.unique(np.degrees(bunch.target)), np.arange(-15, 16, 5))
    images = bunch.data.reshape(140, 50, 60).astype(int)
    # smooth: neighbours differ far less than the whole image does
    assert np.abs(np.diff(images, axis=2)).mean() < 0.1 * np.ptp(images)
    assert [file.name for file in tmp_path.iterdir()] == ["gaze.npy"]


def test_gaze_difficulty(tmp_path):
    bunch = make_gaze_standin(tmp_path / "gaze.npy", n_samples=280, n_features=3000)
    X = bunch.data * bunch.scale
    assert 0 <= X.min() <= X.max() <= 1
    folds = KFold(2, shuffle=True, random_state=0)
    score = cross_val_score(Ridge(0.1), X, bunch.target, cv=folds).mean()
    assert 0.6 < score < 0.999


def test_gaze_in_floats(tmp_path):
    kwargs = {"n_samples": 3, "n_features": 120}
    levels = make_gaze_standin(tmp_path / "levels.npy", **kwargs)
    floats = make_gaze_standin(tmp_path / "floats.npy", **kwargs, dtype=np.float32)
    assert floats.scale == 1.0
    np.testing.assert_allclose(floats.data, levels.data / 255, rtol=1e-6)


def test_seeds(tmp_path):
    def content(make, seed):
        bunch = make(random_state=seed)
        return bunch.data.toarray() if hasattr(bunch.data, "toarray") else np.array(bunch.data)

    for make in (
        lambda **kwargs: make_tfidf_standin(20, 3000, **kwargs),
        lambda **kwargs: make_gisette_standin(20, 30, **kwargs),
        lambda **kwargs: make_gaze_standin(tmp_path / "g.npy", 4, 120, **kwargs),
    ):
        first = content(make, 0)
        np.testing.assert_array_equal(first, content(make, 0))
        assert not np.array_equal(first, content(make, 1))
