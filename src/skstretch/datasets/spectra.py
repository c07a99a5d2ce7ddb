"""Generated spectra: light that passes a mixture of two dyes whose bands overlap."""

from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

DESCRIPTION = """\
Generated transmission spectra of two dyes
------------------------------------------
Not measured: made by `skstretch.datasets.make_spectra`, the same for the same random_state.

Each sample holds two dyes in concentrations drawn from [0, 1]. Their absorption bands, at 600 nm
(width 40 nm) and 650 nm (width 50 nm), overlap; a scattering background falls with the square of
the wavelength. The detector sees the share of light that passes, 10 ** -(absorbance), with noise
of standard deviation {noise:g}. So light falls exponentially with the concentration (the law of
Beer and Lambert): a straight line through the intensities cannot follow it.

Samples: {rows}. Features: transmission at {columns} wavelengths from 400 to 900 nm.
Target: the concentration of the first dye.
"""


def make_spectra(
    n_samples: int = 60,
    n_wavelengths: int = 501,
    *,
    noise: float = 1e-3,
    random_state: Any = 0,
    return_X_y: bool = False,
) -> Any:
    """Generate transmission spectra of two dyes with overlapping bands.

    With concentrations ``p_i, q_i`` in [0, 1] and a background ``s_i`` in [0, 0.1], sample i at
    wavelength ``l_j`` has the absorbance ``A_ij = p_i g(l_j; 600, 40) + q_i g(l_j; 650, 50) +
    s_i (700 / l_j)**2``, ``g`` a Gauss curve of height one, and the detector sees
    ``X_ij = 10**(-A_ij)`` plus noise.

    Parameters
    ----------
    n_samples : int, default=60
        Number of spectra.
    n_wavelengths : int, default=501
        Number of features, evenly spaced from 400 to 900 nm.
    noise : float, default=0.001
        Standard deviation of the detector, where all light passes at 1.
    random_state : int, RandomState or None, default=0
        The draw; an int gives the same spectra every time.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a `Bunch`.

    Returns
    -------
    Bunch or tuple
        With ``data`` of shape (n_samples, n_wavelengths), ``target`` (the concentration of the
        first dye), ``feature_names`` (wavelengths in nm) and ``DESCR``.

    See Also
    --------
    fetch_corn : Measured spectra.

    Examples
    --------
    >>> from skstretch.datasets import make_spectra
    >>> spectra = make_spectra()
    >>> spectra.data.shape
    (60, 501)
    >>> spectra.feature_names[0], spectra.feature_names[-1]
    ('400', '900')
    """
    if n_samples < 1 or n_wavelengths < 1 or not noise >= 0.0:
        raise ValueError(
            f"n_samples={n_samples!r}, n_wavelengths={n_wavelengths!r}, noise={noise!r}: the "
            "first two are whole numbers from 1, the noise is not negative."
        )
    rng = check_random_state(random_state)
    wavelength = np.linspace(400.0, 900.0, n_wavelengths)
    first, second = rng.uniform(size=n_samples), rng.uniform(size=n_samples)
    background = 0.1 * rng.uniform(size=n_samples)
    absorbance = (
        np.outer(first, _band(wavelength, 600.0, 40.0))
        + np.outer(second, _band(wavelength, 650.0, 50.0))
        + np.outer(background, (700.0 / wavelength) ** 2)
    )
    X = 10.0**-absorbance + noise * rng.standard_normal(absorbance.shape)
    if return_X_y:
        return X, first
    return Bunch(
        data=X,
        target=first,
        feature_names=[f"{value:g}" for value in wavelength],
        DESCR=DESCRIPTION.format(noise=noise, rows=n_samples, columns=n_wavelengths),
    )


def _band(wavelength: Any, centre: float, width: float) -> Any:
    return np.exp(-0.5 * ((wavelength - centre) / width) ** 2)
