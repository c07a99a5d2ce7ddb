"""A random projection network: fixed random weights, sigmoid units."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skstretch import RandomNetwork


def data(M=40, D=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((M, D)) * rng.uniform(0.1, 9, D) + rng.uniform(-5, 5, D)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_formula(scale):
    X, T = data(), data(seed=1)
    network = RandomNetwork(9, scale=scale, random_state=3).fit(X)
    Z = (T - X.mean(axis=0)) / X.std(axis=0)
    activity = scale * (Z @ network.weights_ + network.biases_)
    np.testing.assert_allclose(network.transform(T), 1 / (1 + np.exp(-activity)), rtol=1e-12)
    assert network.weights_.shape == (6, 9)
    assert network.biases_.shape == (9,)


def test_weights_are_normal_with_variance_one_over_the_features():
    network = RandomNetwork(20_000, random_state=0).fit(data())
    assert network.weights_.mean() == pytest.approx(0.0, abs=0.005)
    assert network.weights_.var() == pytest.approx(1 / 6, rel=0.02)
    assert network.biases_.mean() == pytest.approx(0.0, abs=0.03)
    assert network.biases_.var() == pytest.approx(1.0, rel=0.05)
    # so that the input of a unit varies as much as its bias, whatever the number of features
    Z = (data() - data().mean(axis=0)) / data().std(axis=0)
    assert np.var(Z @ network.weights_) == pytest.approx(1.0, rel=0.05)


def test_seed():
    X = data()
    one = RandomNetwork(5, random_state=7).fit_transform(X)
    np.testing.assert_array_equal(RandomNetwork(5, random_state=7).fit_transform(X), one)
    generator = np.random.RandomState(7)
    np.testing.assert_array_equal(RandomNetwork(5, random_state=generator).fit_transform(X), one)
    assert np.abs(RandomNetwork(5, random_state=8).fit_transform(X) - one).max() > 0.1


def test_a_fitted_network_stays_as_it_is():
    X = data()
    network = RandomNetwork(5, random_state=0).fit(X)
    np.testing.assert_array_equal(network.transform(X), network.transform(X))
    np.testing.assert_allclose(network.transform(X[3:4]), network.transform(X)[3:4], rtol=1e-14)


def test_outputs_are_positive():
    X = data()
    H = RandomNetwork(50, random_state=0).fit(X).transform(X)
    assert ((H > 0) & (H < 1)).all()
    steep = RandomNetwork(50, scale=1e4, random_state=0).fit(X).transform(1e6 * X)
    assert ((steep >= 0) & (steep <= 1)).all()


def test_units_of_the_features_do_not_matter():
    X = data()
    base = RandomNetwork(5, random_state=0).fit_transform(X)
    moved = RandomNetwork(5, random_state=0).fit_transform(X * 2.0**30 + 8.0)
    np.testing.assert_allclose(moved, base, rtol=1e-10)


def test_constant_columns_add_nothing():
    X = data()
    X[:, 2] = 4.0
    network = RandomNetwork(5, random_state=0).fit(X)
    assert network.scale_[2] == 1.0
    network.weights_[2] = 1e9
    assert np.ptp(network.transform(X), axis=0).min() > 0.01


def test_float32_stays_float32():
    X = data().astype(np.float32)
    network = RandomNetwork(5, random_state=0).fit(X)
    H = network.transform(X)
    assert H.dtype == network.weights_.dtype == np.float32
    exact = RandomNetwork(5, random_state=0).fit_transform(X.astype(np.float64))
    np.testing.assert_allclose(H, exact, atol=1e-5)


def test_names():
    network = RandomNetwork(3).fit(pd.DataFrame(data(), columns=list("abcdef")))
    assert network.get_feature_names_out().tolist() == [f"randomnetwork{j}" for j in range(3)]
    assert network.feature_names_in_.tolist() == list("abcdef")


def test_nothing_is_written():
    X = data()
    X.flags.writeable = False
    RandomNetwork(4, random_state=0).fit(X).transform(X)


@pytest.mark.parametrize(
    ("params", "seen", "way_out"),
    [
        ({"n_units": 0}, "n_units=0", "at least 1"),
        ({"n_units": 2.5}, "n_units=2.5", "an int"),
        ({"n_units": "many"}, "n_units='many'", "an int"),
        ({"scale": 0.0}, "scale=0.0", "positive"),
        ({"scale": -1.0}, "scale=-1.0", "positive"),
        ({"scale": np.inf}, "scale=inf", "finite"),
        ({"scale": np.nan}, "scale=nan", "positive"),
    ],
)
def test_parameters(params, seen, way_out):
    with pytest.raises(ValueError, match=re.escape(seen)) as caught:
        RandomNetwork(**params).fit(data())
    assert way_out in str(caught.value)


def test_numpy_integers_are_integers():
    assert RandomNetwork(np.int32(4)).fit_transform(data()).shape == (40, 4)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        clone(RandomNetwork()).transform(data())
