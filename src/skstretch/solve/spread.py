"""Analysis of variance of a fitted model: noise, and the spread of the coefficients."""

import numpy as np

from skstretch.core.fit import Fit
from skstretch.core.types import Array
from skstretch.designs.protocol import Design
from skstretch.solve.fit import build_system, check_invertible
from skstretch.solve.spec import Spec, System


def noise_variance(design: Design, fit: Fit, system: System, Y: Array, weights: Array) -> Array:
    """``sum w e**2 / tr((I - H)'(I - H))`` of every target, shape (t,).

    Weights count as repetitions, in the residuals and in the trace.
    """
    norm = system.residual_norm()
    if norm <= 1e-9 * weights.sum():
        raise ValueError(
            "the fit interpolates the data, so the noise cannot be estimated from its residuals "
            "(0/0): pass noise_variance=..."
        )
    residuals = Y - design.dot(fit.coef) - fit.level
    return np.asarray(weights @ np.square(residuals) / norm)


def coefficient_variance(
    design: Design, Y: Array, weights: Array, spec: Spec, noise: Array | None
) -> Array:
    """The variance of every coefficient, shape (t, D), for noise of variance ``noise / w``."""
    if design.shape[1] == 0:
        return np.zeros((Y.shape[1], 0))
    check_invertible(design, spec, "the spread of the coefficients")
    system = build_system(design, weights, spec)
    if noise is None:
        noise = noise_variance(design, system.fit(Y), system, Y, weights)
    return np.multiply.outer(noise, system.variance())


def coefficient_covariance(
    design: Design, Y: Array, weights: Array, spec: Spec, noise: Array | None
) -> Array:
    """The covariance of the coefficients of every target, shape (t, D, D)."""
    if design.shape[1] == 0:
        return np.zeros((Y.shape[1], 0, 0))
    check_invertible(design, spec, "the spread of the coefficients")
    system = build_system(design, weights, spec)
    if noise is None:
        noise = noise_variance(design, system.fit(Y), system, Y, weights)
    return np.multiply.outer(noise, system.covariance())


def dual_of_primal(design: Design, fit: Fit, Y: Array, weights: Array, lam: float) -> Array:
    """``beta = W (y - P alpha - m) / lam``, shape (M, t): the dual coefficients of a primal fit."""
    return np.asarray(weights[:, None] * (Y - design.dot(fit.coef) - fit.level) / lam)
