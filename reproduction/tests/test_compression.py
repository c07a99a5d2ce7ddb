"""Measures of how few coefficients carry a model."""

import numpy as np
import pytest

from reproduction.curves import compression_curves, participation, strong_share
from reproduction.settings import QUICK
from skstretch import StretchyRegressor


def test_measures_do_not_depend_on_scale():
    coef = np.random.default_rng(0).normal(size=50)
    for measure in (participation, strong_share):
        assert measure(1e-300 * coef) == pytest.approx(measure(1e300 * coef))


def test_no_coefficients():
    assert np.isnan(participation(np.zeros(3)))
    assert np.isnan(strong_share(np.zeros(3)))


@pytest.mark.parametrize(("shape", "kind"), [((20, 200), "under"), ((60, 5), "over")])
def test_curves_are_those_of_fits_without_regularisation(shape, kind):
    X = np.random.default_rng(0).normal(size=shape)
    table = compression_curves("arcene", X, X[:, 0], QUICK)
    assert set(table["panel"]) == {f"arcene: {kind}-determined"}
    found = table.pivot(index="x", columns="series", values="y")
    for k in QUICK.powers:
        model = StretchyRegressor(k, 1e100, a=-0.2, fit_intercept="column").fit(X, X[:, 0])
        size = np.sort(np.abs(model.alpha_))
        assert found.loc[k, "strong share"] == np.mean(size >= size[-1] / 10)
        expected = size.sum() ** 2 / (size.size * (size @ size))
        assert found.loc[k, "participation"] == pytest.approx(expected)
