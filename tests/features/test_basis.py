"""Gaussian basis functions around samples of the data."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from skstretch import GaussianBasis


def data(M=25, D=3, seed=0):
    return np.random.default_rng(seed).standard_normal((M, D)) + 10.0


def squared_distances(X, centers):
    return ((X[:, None, :] - centers[None]) ** 2).sum(axis=2)


@pytest.mark.parametrize("width", [0.5, 3.0])
def test_formula(width):
    X, T = data(), data(seed=1)
    basis = GaussianBasis(7, width=width, random_state=0).fit(X)
    expected = np.exp(-squared_distances(T, basis.centers_) / (2 * width**2))
    np.testing.assert_allclose(basis.transform(T), expected, rtol=1e-10)
    assert basis.width_ == width


def test_centres_are_different_samples():
    X = data()
    basis = GaussianBasis(10, random_state=0).fit(X)
    rows = [int(np.flatnonzero((centre == X).all(axis=1))[0]) for centre in basis.centers_]
    assert rows == sorted(set(rows))
    assert len(rows) == 10
    values = basis.transform(X)
    assert values.shape == (25, 10)
    np.testing.assert_allclose(values[rows, range(10)], 1.0, rtol=1e-12)


@pytest.mark.parametrize("n_centers", [25, 26, 1000])
def test_at_most_all_samples(n_centers):
    X = data()
    basis = GaussianBasis(n_centers).fit(X)
    np.testing.assert_array_equal(basis.centers_, X)
    assert basis.transform(X).shape == (25, 25)
    assert len(basis.get_feature_names_out()) == 25


def test_seed():
    X = data()
    centers = GaussianBasis(5, random_state=4).fit(X).centers_
    np.testing.assert_array_equal(GaussianBasis(5, random_state=4).fit(X).centers_, centers)
    assert not np.array_equal(GaussianBasis(5, random_state=5).fit(X).centers_, centers)


def test_median_width():
    X = data()
    basis = GaussianBasis(8, random_state=0).fit(X)
    pairs = [
        np.linalg.norm(basis.centers_[i] - basis.centers_[j]) for i in range(8) for j in range(i)
    ]
    assert basis.width_ == pytest.approx(np.median(pairs), rel=1e-7)


def test_equal_centres_do_not_count_for_the_width():
    """Twenty distances of 1, one of 3, twenty of 4, and 190 of zero."""
    X = np.repeat([[0.0], [1.0], [4.0]], [20, 1, 1], axis=0)
    assert GaussianBasis(22).fit(X).width_ == pytest.approx(3.0, rel=1e-12)


def test_far_from_zero():
    """Numbers of 1e6 that differ by 1: a shift by a power of two changes no difference."""
    X = np.round(data() * 2**20) / 2**20
    base = GaussianBasis(6, random_state=0).fit(X)
    moved = GaussianBasis(6, random_state=0).fit(X + 2.0**20)
    assert moved.width_ == pytest.approx(base.width_, rel=1e-9)
    np.testing.assert_allclose(moved.transform(X + 2.0**20), base.transform(X), rtol=1e-8)


@pytest.mark.parametrize("X", [np.ones((5, 2)), np.array([[3.0, 1.0]])])
def test_width_without_distances(X):
    basis = GaussianBasis().fit(X)
    assert basis.width_ == 1.0
    np.testing.assert_allclose(basis.transform(X), 1.0, rtol=1e-12)


def test_values_lie_between_zero_and_one():
    X = data()
    values = GaussianBasis(random_state=0).fit(X).transform(np.vstack([X, 1e8 * X]))
    assert ((values >= 0) & (values <= 1)).all()
    np.testing.assert_array_equal(values[25:], 0.0)


def test_float32_stays_float32():
    X = data().astype(np.float32)
    basis = GaussianBasis(5, random_state=0).fit(X)
    values = basis.transform(X)
    assert values.dtype == basis.centers_.dtype == np.float32
    exact = GaussianBasis(5, random_state=0).fit_transform(X.astype(np.float64))
    np.testing.assert_allclose(values, exact, atol=1e-5)


def test_names():
    basis = GaussianBasis(2, random_state=0).fit(pd.DataFrame(data(), columns=list("abc")))
    assert basis.get_feature_names_out().tolist() == ["gaussianbasis0", "gaussianbasis1"]
    assert basis.feature_names_in_.tolist() == list("abc")


def test_nothing_is_written():
    X = data()
    X.flags.writeable = False
    before = X.copy()
    GaussianBasis(4, random_state=0).fit(X).transform(X)
    np.testing.assert_array_equal(X, before)


def test_centres_do_not_follow_the_callers_array():
    X = data()
    basis = GaussianBasis().fit(X)
    values = basis.transform(data(seed=1))
    X[:] = 0.0
    np.testing.assert_array_equal(basis.transform(data(seed=1)), values)


@pytest.mark.parametrize(
    ("params", "seen", "way_out"),
    [
        ({"n_centers": 0}, "n_centers=0", "at least 1"),
        ({"n_centers": 1.5}, "n_centers=1.5", "an int"),
        ({"width": "mean"}, "width='mean'", '"median"'),
        ({"width": 0.0}, "width=0.0", "positive"),
        ({"width": -2.0}, "width=-2.0", "positive"),
        ({"width": np.nan}, "width=nan", "positive"),
        ({"width": np.inf}, "width=inf", "finite"),
    ],
)
def test_parameters(params, seen, way_out):
    with pytest.raises(ValueError, match=re.escape(seen)) as caught:
        GaussianBasis(**params).fit(data())
    assert way_out in str(caught.value)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        GaussianBasis().transform(data())
