"""Designs and systems for the tests of the solvers."""

import numpy as np

from skstretch.core.quadrant import Quadrant
from skstretch.core.stretch import Intercept
from skstretch.designs import as_design, measure
from skstretch.solve import Spec, build_system
from tests.references import plain_dual, plain_primal


def raw_design(P):
    """Features as they are."""
    moments = measure(P, np.ones(len(P)))
    return as_design(P, Quadrant("identity", moments, 0.0, np.zeros(P.shape[1])))


def system(P, k, c, intercept, solver="auto", weights=None):
    weights = np.ones(len(P)) if weights is None else weights
    return build_system(raw_design(P), weights, Spec(k, c, Intercept.of(intercept), solver))


def plain(P, Y, k, c, intercept, weights=None):
    """The formula as it stands in a book, in the smaller space."""
    formula = plain_dual if len(P) < P.shape[1] else plain_primal
    return formula(P, Y, k, c, intercept=intercept, weights=weights)
