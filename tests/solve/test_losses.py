"""Minimisers of other losses on designs: storages, penalty factors, folds."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning

from skstretch.core.features import Moments
from skstretch.core.loss_newton import at_zero, freedom, minimise, settled
from skstretch.core.losses import Logistic, Poisson
from skstretch.core.quadrant import Quadrant
from skstretch.core.stretch import Intercept
from skstretch.designs import as_design
from skstretch.designs.factored import FactoredDesign
from skstretch.solve.losses import elsewhere, read, scores_of, solve_losses, warn_unless_certified
from tests.core.test_losses import loss_of, rows_of, targets

SHAPES = pytest.mark.parametrize("shape", [(30, 60), (60, 8)], ids=["wide", "tall"])
LOSSES = ("logistic", "poisson", "softmax", "efron")


def numbers(M, D):
    X = np.random.default_rng(0).integers(0, 3, (M, D)) * 1.0
    return X / X.std(axis=0)


def design_of(X, D):
    ones, zeros = np.ones(D), np.zeros(D)
    moments = Moments(zeros, ones, zeros, zeros, 9 * ones, zeros > 0)
    return as_design(X, Quadrant("linear", moments, 0.0, zeros))


def intercept_of(kind):
    return Intercept.NONE if kind == "efron" else Intercept.FREE


@SHAPES
@pytest.mark.parametrize("kind", LOSSES)
def test_storages_agree(kind, shape, tmp_path):
    X, y = numbers(*shape), targets(kind, shape[0], np.random.default_rng(1))
    loss, how = loss_of(kind, y, np.ones(len(X))), intercept_of(kind)
    mapped = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=shape)
    mapped[:] = X
    want = solve_losses(design_of(X, shape[1]), [loss], 1.25, 0.3, how)[0]
    assert want.minimum.gap <= 1e-10
    for other in (scipy.sparse.csc_array(X), scipy.sparse.csr_array(X), mapped):
        found = solve_losses(design_of(other, shape[1]), [loss], 1.25, 0.3, how)[0]
        assert found.minimum.gap <= 1e-10
        assert np.abs(found.coef - want.coef).max() <= 1e-8 * np.abs(want.coef).max()
        assert np.abs(found.level - want.level).max() <= 1e-8


@SHAPES
@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("k", [1.05, 2.0])
def test_penalty_factors(kind, shape, k):
    """Factors 0 and others: the definition's conditions hold, Z'g = λkp sgn(α)|α|^(k−1)."""
    M, D = shape
    X, y = numbers(M, D), targets(kind, M, np.random.default_rng(1))
    p = np.where(np.arange(D) < 2, 0.0, 1.0 + np.arange(D) % 3)
    loss, how, c = loss_of(kind, y, np.ones(M)), intercept_of(kind), 0.3
    found = solve_losses(FactoredDesign(design_of(X, D), p), [loss], k, c, how)[0]
    assert found.minimum.gap <= 1e-10
    eta = (X @ found.coef + found.level).T.ravel()
    g = -loss.gradient(eta).reshape(loss.n_scores, -1)
    want = 0.25 / c * k * p[:, None] * np.sign(found.coef) * np.abs(found.coef) ** (k - 1)
    assert np.abs(X.T @ g.T - want).max() <= 1e-6 * np.abs(want).max()
    one = solve_losses(FactoredDesign(design_of(X, D), np.ones(D)), [loss], k, c, how)[0]
    plain = solve_losses(design_of(X, D), [loss], k, c, how)[0]
    assert np.abs(one.coef - plain.coef).max() <= 1e-8 * np.abs(plain.coef).max()


@SHAPES
@pytest.mark.parametrize("kind", LOSSES)
def test_folds_are_literal_refits(kind, shape):
    """A fold is zero weights, started from the fit of all; it equals a fit of the other rows."""
    M, D = shape
    X, y = numbers(M, D), targets(kind, M, np.random.default_rng(1))
    design, how = design_of(X, D), intercept_of(kind)
    scores = scores_of(design, how, 1.25, 3 if kind == "softmax" else 1)
    whole = minimise(scores, [at_zero(scores, loss_of(kind, y, np.ones(M)), 1.25, 0.3)])[0]
    kept = [np.arange(M) % 5 != i for i in range(5)]
    losses = [loss_of(kind, y, one * 1.0) for one in kept]
    starts = [elsewhere(scores, whole, loss, 1.25, 0.3) for loss in losses]
    for one, found in zip(kept, minimise(scores, starts), strict=True):
        rows = np.flatnonzero(one)
        alone = loss_of(kind, rows_of(y, rows), np.ones(rows.size))
        literal = solve_losses(design.take_rows(rows), [alone], 1.25, 0.3, how)[0]
        got = read(design, how, scores, found)
        assert np.abs(got.coef - literal.coef).max() <= 1e-8 * np.abs(literal.coef).max()
        assert np.abs(got.level - literal.level).max() <= 1e-8


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("k", [1.25, 1.5, 2.0])
def test_minima_nearby(kind, k):
    """From the fit of all the way is shorter, and ends in the same place; from afar there is
    none, and no warning either."""
    X, y = numbers(30, 60), targets(kind, 30, np.random.default_rng(1))
    scores = scores_of(design_of(X, 60), intercept_of(kind), k, 3 if kind == "softmax" else 1)
    whole = minimise(scores, [at_zero(scores, loss_of(kind, y, np.ones(30)), k, 0.005)])[0]
    gram = freedom(scores, whole)[1]
    losses = [loss_of(kind, y, (np.arange(30) % 10 != i) * 1.0) for i in range(10)]
    close = settled(scores, whole, gram, [replace(whole, loss=loss) for loss in losses])
    want = minimise(scores, [elsewhere(scores, whole, loss, k, 0.005) for loss in losses])
    assert sum(found is not None for found in close) >= 8
    for found, one in zip(close, want, strict=True):
        if found is not None:
            assert found.gap <= 1e-12
            assert np.abs(found.alpha - one.alpha).max() <= 1e-6 * np.abs(one.alpha).max()
    far = replace(whole, dual=1e3 * whole.dual)
    assert settled(scores, whole, None, [far])[0] is None


def test_no_features_and_intercepts():
    y = np.arange(12.0) % 4
    nothing = solve_losses(design_of(np.empty((12, 0)), 0), [Poisson(y, np.ones(12))], 1.5, 1.0)[0]
    assert nothing.coef.shape == (0, 1)
    assert np.allclose(np.exp(nothing.level), y.mean(), rtol=1e-12)
    with pytest.raises(ValueError, match="penalises the intercept"):
        scores_of(design_of(numbers(12, 3), 3), Intercept.COLUMN, 1.5)


def test_what_is_not_certified_is_told():
    """A never penalised column that separates the classes: the minimum is at infinity."""
    X = numbers(20, 30)
    y = (X[:, 0] > 1.0) * 1.0
    p = np.where(np.arange(30) == 0, 0.0, 1.0)
    design = FactoredDesign(design_of(X, 30), p)
    found = solve_losses(design, [Logistic(y, np.ones(20))], 1.5, 1.0)[0].minimum
    assert np.abs(found.b).max() > 15
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        warn_unless_certified(replace(found, gap=1.0))
    warn_unless_certified(replace(found, gap=0.0))  # a warning would be an error here
