"""Intervals where samples are left out together: whole groups, given folds, folds of the search.

A sample is bounded by models that have seen neither it nor what belongs to it. With whole groups as
the exchangeable units every group has the mass ``1 / (K + 1)``, shared by its samples, and the rest
lies at infinity (hierarchical jackknife+: Lee, Barber and Willett, 2023); groups of one sample each
make jackknife+. Folds of exchangeable samples make CV+ (Barber and others, 2021).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.core.crossfit import Spread, learned_spread, mass_quantile
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array
from skstretch.estimators.base import linear_outputs
from skstretch.estimators.samples import read_columns, training_X, z_scores
from skstretch.estimators.state import State, Units
from skstretch.solve.choose import LEAST_SPREAD, STRENGTHS
from skstretch.solve.model import row_chunks

Terms = list[tuple[Any, Array]]


@dataclass(frozen=True)
class FoldModels:
    """Models without some samples, as transforms with coefficients, and what they leave of these.

    Attributes
    ----------
    models : list of (terms, levels)
        Outputs of all models together are K blocks of t columns.
    units : Units
        The model that has not seen a sample, and the mass of the sample.
    residuals : array of shape (M, t)
        Of every sample, by the model that has not seen it.
    """

    models: Sequence[tuple[Terms, Array]]
    units: Units
    residuals: Array

    def bounds(self, X: Any, coverage: float) -> tuple[Array, Array]:
        """``(lower, upper)`` of shape (N, t) at new rows."""
        outputs = np.hstack([linear_outputs(X, terms, level) for terms, level in self.models])
        t, codes, masses = self.residuals.shape[1], self.units.codes, self.units.masses
        outputs = outputs.reshape(len(outputs), -1, t)
        lower, upper = np.empty((len(outputs), t)), np.empty((len(outputs), t))
        for rows in row_chunks(len(outputs), codes.size):
            for target in range(t):
                predicted = outputs[rows][:, codes, target]
                size = np.abs(self.residuals[:, target])
                upper[rows, target] = mass_quantile(predicted + size, masses, coverage)
                lower[rows, target] = -mass_quantile(size - predicted, masses, coverage)
        return lower, upper


def unit_bounds(model: Any, X: Any, coverage: float, method: str) -> tuple[Array, Array]:
    """``(lower, upper)`` of shape (N, t) of a model whose samples are left out together."""
    state: State = model._state
    units = state.units
    assert units is not None
    if not units.codes.size:
        raise ValueError(
            f"the splits of cv={model.cv!r} do not test every sample once by a model of all "
            "others, as those of an order in time: samples that are not exchangeable have no "
            "intervals here. Fit with groups=... (say, one for each period), or with cv=None or a "
            "number if any order would do."
        )
    if method == "residual":
        centre = linear_outputs(X, model._terms(), state.level)
        sizes = np.abs(state.unit_residuals).T
        width = mass_quantile(sizes, units.masses, coverage)
        return centre - width, centre + width
    coefs, levels = state.unit_fits
    n_outputs = levels.size
    terms = [
        (quadrant, state.spread(coef.reshape(n_outputs, -1)))
        for quadrant, coef in zip(state.quadrants, coefs, strict=True)
    ]
    found = FoldModels([(terms, levels.ravel())], units, state.unit_residuals)
    return found.bounds(X, coverage)


def spreads_of(state: State) -> list[tuple[Spread, Array]] | None:
    """How left-out residuals spread, for each target, with coefficients (1, D) of the z-scores.

    Learned once; None where samples are left out together, or where the training data are gone.
    """
    known = vars(state)
    if "spreads" not in known:
        train, columns = training_X(state), read_columns(state)
        if state.units is not None or train is None:
            return None
        used, ones, known["spreads"] = np.flatnonzero(state.used), np.ones(state.used.sum()), []
        design = z_scores(train, state.quadrant.moments, columns, used)
        (gram,) = design.gram([1.0], ones, None, borders=False)
        for y, own in zip(state.model.Y.T, state.loo_residuals.T, strict=True):
            data = gram.K, y - own, own, state.model.weights
            spread = learned_spread(*data, STRENGTHS[::2], LEAST_SPREAD)
            coef = np.zeros((1, state.n_features))
            coef[:, columns] = design.products(1.0, ones).back(spread.beta[:, None]).T
            known["spreads"].append((spread, coef))
    found: list[tuple[Spread, Array]] = known["spreads"]
    return found


def adaptive_bounds(model: Any, X: Any, coverage: float) -> tuple[Array, Array]:
    """``(lower, upper)`` of shape (N, t): left-out residuals in units of a spread that they teach.

    The spread depends on the z-scores and, as much as on all of these, on the prediction.
    """
    state: State = model._state
    found = spreads_of(state)
    if found is None:
        raise ValueError(
            "adaptive=True learns from samples that were left out one by one, and this model has "
            "groups or splits of its own, or comes from a file that does not hold what it needs: "
            "leave it out, or save with skstretch.save(model, path, intervals=True)."
        )
    linear = Quadrant("linear", state.quadrant.moments, 0.0, np.zeros(state.n_features))
    centre = linear_outputs(X, model._terms(), state.level)
    half = np.empty_like(centre)
    for target, (spread, coef) in enumerate(found):
        products = linear_outputs(X, [(linear, coef)], np.zeros(1))[:, 0]
        width = spread.width(state.loo_residuals[:, target], coverage)
        half[:, target] = spread.at(products, centre[:, target]) * width
    return centre - half, centre + half


def nested_bounds(model: Any, X: Any, coverage: float) -> tuple[Array, Array]:
    """``(lower, upper)`` of shape (N, t): CV+ over the folds of ``nested_cv``."""
    found: FoldModels | None = getattr(model, "_nested", None)
    if found is None:
        raise ValueError(
            'method="nested" needs the models of nested_cv, and this one was fitted without '
            "nested_cv, or comes from a file: fit with nested_cv=10, say."
        )
    return found.bounds(X, coverage)
