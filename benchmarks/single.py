"""What float32 costs: data in float32 with products in float64, and with products in float32."""

from dataclasses import replace

import numpy as np

from skstretch.core.dual import dual_system
from skstretch.core.features import column_moments
from skstretch.core.gram import DualGram, dual_grams
from skstretch.core.quadrant import Quadrant
from skstretch.core.stretch import Intercept

STRENGTHS = (1e-8, 1e-6, 1e-4, 1e-2)
POWERS = (1.1, 1.25, 1.5, 2.0)
SHAPE = (150, 2_000)
# of a good spectrometer, relative to the signal
NOISE = 1e-3
TRAINED, TESTED = np.arange(100), np.arange(100, 150)


def gram_of(X, k, product=np.float64):
    """K of one k, its products in the given precision and its sums in float64."""
    r, weights = 1.0 / (k - 1.0), np.ones(len(X))
    moments = column_moments(X.astype(np.float64), weights)
    quadrant = Quadrant("exp", moments, -0.2, np.zeros(X.shape[1]))
    features = quadrant.features(X, slice(None), bounded=False)
    gram: DualGram = dual_grams([features], [r], weights, None, False)[0]
    if product is np.float64:
        return gram
    P, Q = (features.excess(power).astype(product) for power in (1.0, r))
    K = (P - P.mean(axis=0)) @ (Q - Q.mean(axis=0)).T
    return replace(gram, K=K.astype(np.float64))


def predictions(gram, y, strength):
    """Outputs of the last rows by a model of the first ones, at a relative strength."""
    lam = strength * abs(np.trace(gram.K)) / len(y)
    system = dual_system(gram.rows(TRAINED), np.full(TRAINED.size, lam), Intercept.FREE)
    solution = system.solve(y[TRAINED, None])
    return gram.K[np.ix_(TESTED, TRAINED)] @ solution.beta[:, 0] + solution.constant


def errors(seed=0):
    """Relative errors of predictions by (k, strength): float32 data, then float32 products."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((SHAPE[0], 5)) @ rng.standard_normal((5, SHAPE[1]))
    X += NOISE * rng.standard_normal(SHAPE)
    y = X[:, 0] + 0.1 * rng.standard_normal(SHAPE[0])
    found = {}
    for k in POWERS:
        exact, data = gram_of(X, k), gram_of(X.astype(np.float32), k)
        products = gram_of(X.astype(np.float32), k, np.float32)
        for s in STRENGTHS:
            right = predictions(exact, y, s)
            found[k, s] = [
                float(np.abs(predictions(gram, y, s) - right).max() / np.abs(right).max())
                for gram in (data, products)
            ]
    return found


def rows():
    """Rows of the table, one for each k."""
    found = errors()
    return [
        [f"k = {k:g}", *("{:.0e} ({:.0e})".format(*found[k, s]) for s in STRENGTHS)] for k in POWERS
    ]
