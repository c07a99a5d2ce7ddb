"""Fig. 3: two features before and after the transform."""

import numpy as np
import pytest

from reproduction.curves import feature_curves


def features():
    return np.random.default_rng(0).normal([480.0, 500.0, 0.0], [6.0, 40.0, 1.0], (400, 3))


def test_map_is_that_of_the_training_half():
    X = features()
    curves = feature_curves(X, seed=5)
    half = np.array_split(np.random.default_rng(5).permutation(400), 2)[0]
    line = curves[(curves["panel"] == "feature 2") & (curves["series"] == "map")]
    z = (line["x"] - X[half, 1].mean()) / X[half, 1].std()
    np.testing.assert_allclose(line["y"], np.exp(-0.2 * z), rtol=1e-10)
    assert line["x"].min() == X[:, 1].min()
    assert line["x"].max() == X[:, 1].max()


def test_densities_have_area_one_and_two_features_are_shown():
    curves = feature_curves(features())
    assert set(curves["panel"]) == {"feature 1", "feature 2"}
    for _, part in curves[curves["series"].str.contains(", ")].groupby(["panel", "series"]):
        width = part["x"].diff().mean()
        assert part["y"].sum() * width == pytest.approx(1)
    linearity = curves[curves["series"] == "linearity"]["y"]
    assert ((linearity > 0.95) & (linearity < 1)).all()


def test_too_few_features():
    with pytest.raises(ValueError, match=r"shape \(10, 1\)"):
        feature_curves(np.ones((10, 1)))
