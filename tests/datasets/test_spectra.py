"""The generated spectra: their recipe, and what there is to be seen in them."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstretch import StretchyRegressorCV
from skstretch.datasets import make_spectra


def test_the_law_of_beer_and_lambert_holds():
    """Without noise the absorbances are a mixture of three known curves."""
    spectra = make_spectra(20, 101, noise=0.0)
    wavelength = np.array([float(name) for name in spectra.feature_names])
    curves = [np.exp(-((wavelength - 600) ** 2) / 3200), np.exp(-((wavelength - 650) ** 2) / 5000)]
    curves.append((700 / wavelength) ** 2)
    found, *_ = np.linalg.lstsq(np.array(curves).T, -np.log10(spectra.data).T, rcond=None)
    np.testing.assert_allclose(found[0], spectra.target, rtol=1e-10)
    assert (found[1] >= 0).all()
    assert (found[1] <= 1).all()
    assert (found[2] >= 0).all()
    assert (found[2] <= 0.1).all()


def test_noise_is_what_was_asked_for():
    clean, noisy = make_spectra(200, 300, noise=0.0).data, make_spectra(200, 300, noise=0.01).data
    assert np.std(noisy - clean) == pytest.approx(0.01, rel=0.02)


def test_the_same_seed_gives_the_same_spectra():
    np.testing.assert_array_equal(make_spectra().data, make_spectra(random_state=0).data)
    assert not np.array_equal(make_spectra().data, make_spectra(random_state=1).data)


def test_there_is_something_to_be_seen():
    """The response bends, so the transform halves the error of ridge on the same wavelengths."""
    X, y = make_spectra(return_X_y=True)
    new, truth = make_spectra(300, random_state=1, return_X_y=True)
    ridge = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-8, 4, 60))).fit(X, y)
    ours = StretchyRegressorCV().fit(X, y)
    errors = [np.mean((model.predict(new) - truth) ** 2) for model in (ours, ridge)]
    assert (ours.weights_["a"] < 0.0).all()
    assert errors[0] < 0.25 * errors[1]


@pytest.mark.parametrize("bad", [{"n_samples": 0}, {"n_wavelengths": 0}, {"noise": -1.0}])
def test_bad_sizes_are_named(bad):
    with pytest.raises(ValueError, match=f"{next(iter(bad))}={next(iter(bad.values()))}"):
        make_spectra(**bad)
