"""Images of many vectors at once, and Newton matrices of sparse columns."""

import numpy as np
import pytest
import sklearn
from scipy import sparse

from skstretch.core.bridge_products import DenseProducts, Trial, images, phi, signed_power
from skstretch.core.quadrant import Quadrant
from skstretch.designs import as_design, measure
from tests.designs.test_minimiser_products import SHAPES, WIDE, pair


@pytest.mark.parametrize("n", [1.0, 4 / 3, 1.7, 2.0, 3.0, 4.0, 10.0, 20.0, 50.0])
def test_signed_powers(n):
    x = np.concatenate([np.linspace(-3, 3, 41), [0.0, 1e-8, -1e-30, 1e-160]])
    want = np.sign(x) * np.abs(x) ** n
    np.testing.assert_allclose(signed_power(x, n), want, rtol=1e-13, atol=1e-150)
    assert np.isneginf(signed_power(np.array([-1e200]), n)[0]) == (n >= 1.7)


@pytest.mark.parametrize("storage", WIDE)
@pytest.mark.parametrize("shape", ["wide", "square"])
@pytest.mark.parametrize("k", [1.05, 1.5, 1.75])
def test_images_are_those_of_single_vectors(storage, shape, k, tmp_path):
    design, Z = pair(storage, SHAPES[shape], tmp_path)
    X = np.random.default_rng(0).standard_normal((Z.shape[0], 70))
    lam = np.abs(Z.T @ X).max() / 1.5
    want = Z @ phi(Z.T @ X, k, lam)[0]
    tolerance = 1e-6 if storage == "float32" else 1e-12
    np.testing.assert_allclose(
        images(design.minimiser_products(), k, lam, X),
        want,
        rtol=0,
        atol=tolerance * np.abs(want).max(initial=1),
    )


def rare(weights):
    """A sparse design of many columns with one entry, some with more, and its z-scores."""
    rng = np.random.default_rng(3)
    M, D = weights.size, 400
    X = np.zeros((M, D))
    X[rng.integers(0, M, D), np.arange(D)] = rng.choice([-2.0, 0.5, 1.0, 7.0], D)
    X[:, 300:] += (rng.random((M, 100)) < 0.2) * rng.standard_normal((M, 100))
    X[:, 390:] += (rng.random((M, 10)) < 0.9) * rng.standard_normal((M, 10))
    data = sparse.csc_array(X)
    moments = measure(data, weights)
    design = as_design(data, Quadrant("linear", moments, 0.0, np.zeros(D)))
    return design, (X - moments.mean) / moments.scale


@pytest.mark.parametrize("weights", [np.ones(25), np.arange(1.0, 26.0)], ids=["plain", "weighted"])
@pytest.mark.parametrize("memory", [1024, 0.05])
def test_images_of_sparse_columns(weights, memory):
    design, Z = rare(weights)
    X = np.random.default_rng(0).standard_normal((25, 9))
    with sklearn.config_context(working_memory=memory):
        found = design.minimiser_products().images(1.25, 20.0, X)
    want = Z @ phi(Z.T @ X, 1.25, 20.0)[0]
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-12 * np.abs(want).max())


@pytest.mark.parametrize("k", [1.05, 1.5])
def test_rare_and_frequent_columns_make_one_matrix(k):
    design, Z = rare(np.ones(25))
    x = np.random.default_rng(0).standard_normal(25)
    trial = Trial(k, 15.0, x, gram=True)
    products, want = design.minimiser_products(), DenseProducts(Z).step([trial])[0].gram
    assert min(some.size for some in design.split) >= 5
    found = products.step([trial])[0].gram
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-12 * np.trace(want))
