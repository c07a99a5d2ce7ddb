"""Every product that the solvers ask of a design, by name, so that two designs can be compared."""

import numpy as np

from skstretch.core.gram import Frame
from skstretch.core.quadrant import Quadrant
from skstretch.designs import as_design, measure

A = -0.6
EXPONENTS = {"exp": [1.0, 2.5, 10.0], "identity": [1.0, 2.5, 10.0], "linear": [1.0]}
KINDS = tuple(EXPONENTS)


def quadrant_of(X, kind, a=A):
    b = np.linspace(-0.2, 0.3, X.shape[1])
    return Quadrant(kind, measure(X, np.ones(X.shape[0])), a, b)


def design_of(X, kind, rows=None, columns=None, a=A, bounded=False, quadrant=None):
    quadrant = quadrant_of(X, kind, a) if quadrant is None else quadrant
    return as_design(X, quadrant, rows=rows, columns=columns, bounded=bounded)


def inputs(shape):
    """Weights (M,), dual coefficients (M, 3) and coefficients (D, 2)."""
    M, D = shape
    rng = np.random.default_rng(1)
    return rng.uniform(0.2, 3.0, M), rng.standard_normal((M, 3)), rng.standard_normal((D, 2))


def plain_products(design, kind, new):
    """Everything that needs no scaled rows."""
    weights, V, coef = inputs(design.shape)
    found = {"dot": design.dot(coef), "new dot": new.dot(coef)}
    grams = design.gram(EXPONENTS[kind], weights, None)
    for r, gram in zip(EXPONENTS[kind], grams, strict=True):
        found |= {f"{r} {f}": getattr(gram, f) for f in ("K", "Pq", "Qp", "pq", "centre")}
        alpha = [part for _, part in design.coefficients(gram.frame, V, V.sum(axis=0), weights)]
        found[f"{r} alpha"] = np.vstack(alpha)
        K, Pq = design.cross(gram.frame, weights, new)
        found |= {f"{r} cross": K, f"{r} cross means": Pq}
        many = design.products(r, weights)
        found |= {f"{r} forward": many.forward(coef), f"{r} back": many.back(V)}
    for r, gram in zip(EXPONENTS[kind], design.column_grams(EXPONENTS[kind], weights), strict=True):
        found |= {f"{r} {f}": getattr(gram, f) for f in ("C", "q_centre", "total_weight")}
        found[f"{r} project"] = design.project(gram, V)
        found[f"{r} stretched"] = design.stretched_gram(gram, weights)
    rows = np.arange(design.shape[0])[::3]
    found["rows"] = design.row_features(rows).excess(1.0)
    found["taken"] = design.take_rows(rows).dot(coef)
    found["weighted sum"] = design.weighted_sum(weights)
    return found


def scaled_products(design, kind, new):
    """The products of features that have to be scaled before they are raised to a power."""
    weights, V, _ = inputs(design.shape)
    found = {}
    largest = float(design.quadrant.column_peaks().max())
    for r in EXPONENTS[kind]:
        # rows are scaled by at least what is in them
        log_rows = largest + np.linspace(0.0, 1.5, design.shape[0])
        found[f"{r} K"] = design.gram([r], weights, log_rows)[0].K
        frame = Frame(r, np.zeros(design.shape[1]), log_rows)
        alpha = [part for _, part in design.coefficients(frame, V, V.sum(axis=0), weights)]
        found[f"{r} alpha"] = np.vstack(alpha)
        found[f"{r} cross"] = design.cross(frame, weights, new)[0]
    return found


def assert_alike(found, true, tolerance=1e-12):
    """Equal to a share of the largest number of each product."""
    assert set(found) == set(true)
    for name in true:
        size = np.max(np.abs(true[name]), initial=0.0)
        np.testing.assert_allclose(
            found[name], true[name], rtol=0, atol=tolerance * size, err_msg=name
        )
