"""Filters of spectra, against literal fits of every window and every row."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.signal import detrend
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from skstretch import SpectralFilter
from skstretch.features import spectral
from tests.dask_arrays import as_dask

NAMES = [str(1100 + 2 * j) for j in range(40)]


def data(M=12, D=40, seed=0):
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 1, D)
    bands = np.exp(-(((x[:, None] - rng.uniform(0, 1, 5)) / 0.1) ** 2))
    return rng.uniform(0, 1, (M, 5)) @ bands.T + np.outer(rng.normal(size=M), x) + 0.3


def windowed(row, window, polyorder, derivative):
    """A polynomial through every window by least squares; the outermost serve the ends."""
    D, half = row.size, window // 2
    out = np.empty(D)
    for j in range(D):
        middle = min(max(j, half), D - 1 - half)
        at = np.arange(middle - half, middle + half + 1)
        fit = np.polynomial.Polynomial.fit(at - middle, row[at], polyorder)
        out[j] = fit.deriv(derivative)(j - middle) if derivative else fit(j - middle)
    return out


def literal(X, snv=False, degree=None, savgol=None):
    out, places = [], np.arange(X.shape[1])
    for row in X:
        if snv:
            row = (row - row.mean()) / row.std()
        if degree is not None:
            row = row - np.polynomial.Polynomial.fit(places, row, degree)(places)
        out.append(row if savgol is None else windowed(row, *savgol))
    return np.array(out)


CASES = {
    "nothing": ({}, {}),
    "snv": ({"snv": True}, {"snv": True}),
    "mean": ({"detrend": 0}, {"degree": 0}),
    "parabola": ({"detrend": 2}, {"degree": 2}),
    "high degree": ({"detrend": 7}, {"degree": 7}),
    "smooth": ({"derivative": 0}, {"savgol": (11, 2, 0)}),
    "slope": ({"derivative": 1, "window": 7, "polyorder": 1}, {"savgol": (7, 1, 1)}),
    "bend": ({"derivative": 2, "window": 9, "polyorder": 3}, {"savgol": (9, 3, 2)}),
    "whole": ({"derivative": 1, "window": 39, "polyorder": 4}, {"savgol": (39, 4, 1)}),
    "all": (
        {"snv": True, "detrend": 2, "derivative": 1, "window": 5},
        {"snv": True, "degree": 2, "savgol": (5, 2, 1)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_literal(name):
    parameters, reference = CASES[name]
    X = data()
    expected = literal(X, **reference)
    got = SpectralFilter(**parameters).fit(X).transform(X)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12 * max(1, abs(expected).max()))


def test_a_line_is_what_scipy_takes_out():
    X = data()
    got = SpectralFilter(detrend=1).fit_transform(X)
    np.testing.assert_allclose(got, detrend(X, axis=1), atol=1e-13)


@pytest.mark.parametrize("unit", [2.0**-1000, 1e-200, 1e-12, 1e9, 1e200, 2.0**1000])
def test_units_do_not_matter_to_snv(unit):
    X = data()
    expected = SpectralFilter(snv=True).fit_transform(X)
    got = SpectralFilter(snv=True).fit_transform(X * unit)
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_rows_of_equal_numbers_become_zeros():
    X = data()
    X[3], X[5] = 0.1, 0.0
    got = SpectralFilter(snv=True, detrend=2).fit_transform(X)
    assert not got[[3, 5]].any()
    assert np.isfinite(got).all()


def test_rows_are_independent(monkeypatch):
    X = data()
    flt = SpectralFilter(snv=True, detrend=2, derivative=1).fit(X)
    whole = flt.transform(X)
    np.testing.assert_allclose(flt.transform(X[::-1])[::-1], whole, atol=1e-14)
    monkeypatch.setattr(spectral, "BLOCK", 100)  # two rows at a time
    np.testing.assert_allclose(flt.transform(X), whole, atol=1e-14)


def test_selection_comes_last():
    X = data()
    frame = pd.DataFrame(X, columns=NAMES)
    whole = SpectralFilter(snv=True, derivative=1).fit_transform(X)
    inside = np.r_[5:11, 20:40]
    mask = np.isin(np.arange(40), inside)
    for keep in ([(1110, 1120), (1140, 1300)], [(1120, 1110), (1139.5, np.inf)], mask, [*mask]):
        flt = SpectralFilter(snv=True, derivative=1, keep=keep).fit(frame)
        np.testing.assert_array_equal(flt.transform(frame), whole[:, inside])
        np.testing.assert_array_equal(flt.support_, mask)
        assert flt.get_feature_names_out().tolist() == [NAMES[j] for j in inside]
    by_number = SpectralFilter(keep=(3, 7), wavelengths=range(40)).fit(X)
    np.testing.assert_array_equal(by_number.transform(X), X[:, 3:8])
    assert by_number.get_feature_names_out()[0] == "x3"


def test_another_order_is_two_filters():
    X, cut = data(), np.arange(40) < 20
    two = make_pipeline(SpectralFilter(keep=cut), SpectralFilter(snv=True)).fit_transform(X)
    np.testing.assert_allclose(two, literal(X[:, :20], snv=True), atol=1e-13)


def test_float32_stays_float32():
    X = data().astype(np.float32)
    flt = SpectralFilter(snv=True, derivative=1, detrend=1)
    out = flt.fit_transform(X)
    assert out.dtype == np.float32
    exact = flt.fit_transform(X.astype(np.float64))
    np.testing.assert_array_equal(out, exact.astype(np.float32))


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output(container):
    frame = pd.DataFrame(data(), columns=NAMES)
    flt = SpectralFilter(snv=True, keep=(1110, 1120)).set_output(transform=container).fit(frame)
    out = flt.transform(frame)
    assert type(out).__module__.split(".")[0] == container
    assert list(out.columns) == NAMES[5:11]


@pytest.mark.parametrize("chunks", [(5, 40), (5, 7)])
def test_dask_is_lazy(chunks):
    X, flt = data(), SpectralFilter(snv=True, detrend=1, derivative=1, keep=np.arange(40) > 9)
    lazy = clone(flt).fit(as_dask(X, chunks)).transform(as_dask(X, chunks))
    assert type(lazy).__module__.startswith("dask")
    np.testing.assert_allclose(lazy.compute(), flt.fit_transform(X), atol=1e-13)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"snv": True}, {"detrend": 0}, {"derivative": 0, "window": 1, "polyorder": 0}],
    ids=str,
)
def test_scikit_learn_accepts_it(parameters):
    check_estimator(SpectralFilter(**parameters), on_skip=None)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"snv": "yes"}, "snv='yes' must be True or False"),
        ({"detrend": -1}, "detrend=-1 must be a whole number from 0"),
        ({"detrend": 21}, "detrend=21 must be a whole number from 0 to 20"),
        ({"detrend": True}, "detrend=True must be a whole number"),
        ({"derivative": 1, "window": 10}, "window=10 must be odd: 11"),
        (
            {"derivative": 1, "window": 41},
            "window=41 must be a whole number from 1 to n_features=40",
        ),
        (
            {"derivative": 1, "polyorder": 11},
            "polyorder=11 must be a whole number from 0 to window",
        ),
        ({"derivative": 0, "window": 31, "polyorder": 25}, "polyorder=25 must be a whole number"),
        ({"derivative": 3}, "derivative=3 must be a whole number from 0 to polyorder"),
        ({"derivative": 1.0}, "derivative=1.0 must be a whole number"),
        ({"keep": [True, False]}, "keep is a mask of shape (2,), and X has 40 columns"),
        ({"keep": (1, 2)}, "the columns of X have no names: pass wavelengths="),
        ({"keep": "low"}, "keep='low' must be None, a range (low, high)"),
        ({"keep": (1, 2, 3)}, "keep=(1, 2, 3) must be None, a range"),
        ({"keep": (1.0, np.nan)}, "must be None, a range"),
        ({"keep": (50, 60), "wavelengths": range(40)}, "keep=(50, 60) leaves none of 40 columns"),
        ({"keep": (5, 6), "wavelengths": range(9)}, "must be 40 finite numbers"),
        ({"keep": (5, 6), "wavelengths": ["a"] * 40}, "are not all numbers"),
    ],
    ids=str,
)
def test_refused(parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        SpectralFilter(**parameters).fit(data())


def test_refused_names_and_widths():
    frame = pd.DataFrame(data(), columns=NAMES)
    with pytest.raises(NotFittedError):
        SpectralFilter().transform(frame)
    flt = SpectralFilter().fit(frame)
    with pytest.raises(ValueError, match="should have length equal"):
        SpectralFilter().fit(data()).get_feature_names_out(["a"])
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        flt.get_feature_names_out(NAMES[::-1])
    words = frame.rename(columns={"1100": "low"})
    with pytest.raises(ValueError, match="are not all numbers"):
        SpectralFilter(keep=(1100, 1110)).fit(words)
    gap = frame.copy()
    gap.iloc[2, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        flt.transform(gap)


def test_nothing_is_written():
    X = data()
    X.flags.writeable = False
    SpectralFilter(snv=True, detrend=1, derivative=1).fit(X).transform(X)
