"""`SpectralFilter` beside chemotools, on real spectra."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from skstretch import SpectralFilter, StretchyRegressor

pytest.importorskip("chemotools", reason="needs chemotools: make test-clients installs it")

from chemotools.baseline import PolynomialCorrection
from chemotools.derivative import SavitzkyGolay
from chemotools.feature_selection import RangeCut
from chemotools.scatter import StandardNormalVariate
from chemotools.smooth import SavitzkyGolayFilter

FOLDER = Path(os.environ.get("SKSTRETCH_DATA", "no folder"))
SETS = ("corn_m5", "corn_mp5", "cookie", "nirsoil", "more/beer_extract")

RECIPES = {
    "snv": ({"snv": True}, [StandardNormalVariate()]),
    "line": ({"detrend": 1}, [PolynomialCorrection(order=1)]),
    "snv and parabola": (
        {"snv": True, "detrend": 2},
        [StandardNormalVariate(), PolynomialCorrection(order=2)],
    ),
    "smooth": (
        {"derivative": 0},
        [SavitzkyGolayFilter(window_length=11, polyorder=2, mode="interp")],
    ),
    "first derivative": (
        {"derivative": 1},
        [SavitzkyGolay(window_length=11, polyorder=2, deriv=1, mode="interp")],
    ),
    "snv and second derivative": (
        {"snv": True, "derivative": 2, "window": 15, "polyorder": 3},
        [
            StandardNormalVariate(),
            SavitzkyGolay(window_length=15, polyorder=3, deriv=2, mode="interp"),
        ],
    ),
}


def spectra(name):
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"needs {name}.npz in the folder that SKSTRETCH_DATA names")
    with np.load(path) as file:
        return file["X"].astype(np.float64), file["y"]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_equal(name, recipe):
    X, _ = spectra(name)
    parameters, steps = RECIPES[recipe]
    theirs = make_pipeline(*steps).fit_transform(X)
    ours = SpectralFilter(**parameters).fit_transform(X)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11 * np.abs(theirs).max())


def test_ranges():
    X, _ = spectra("corn_m5")
    axis = np.linspace(1100, 2498, 700)
    theirs = RangeCut(start=1200, end=1400, x_axis=axis).fit_transform(X)
    ours = SpectralFilter(keep=(1200, 1398), wavelengths=axis).fit_transform(X)
    # chemotools leaves out the last column of a range
    np.testing.assert_array_equal(ours, theirs)


def test_models_are_the_same():
    X, y = spectra("corn_m5")
    theirs = make_pipeline(*RECIPES["first derivative"][1], StretchyRegressor())
    ours = make_pipeline(SpectralFilter(derivative=1), StretchyRegressor())
    expected = theirs.fit(X[::2], y[::2, 0]).predict(X)
    np.testing.assert_allclose(ours.fit(X[::2], y[::2, 0]).predict(X), expected, rtol=1e-9)
