"""What the regressor and the classifier share: from checked data to fitted attributes."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from stretchy.core.density import keep_count
from stretchy.core.types import Array
from stretchy.designs import as_design, measure
from stretchy.estimators.parameters import (
    active_columns,
    check_outputs,
    check_range,
    checked_quadrant,
    checked_spec,
)
from stretchy.solve import fit_model


class StretchyModel(BaseEstimator):
    """Base of the estimators with one (a, k, c, density).

    Subclasses say how raw y becomes float targets Y of shape (n, t), and whether one target means
    one-dimensional attributes.
    """

    def _fit_targets(self, X: Any, Y: Array, weights: Array) -> None:
        """Fit validated X to targets Y of shape (n, t)."""
        moments = measure(X, weights)
        quadrant = checked_quadrant(self.quadrant, self.a, self.b, moments)
        spec = checked_spec(self.k, self.c, quadrant.a, self.fit_intercept, self.solver)
        check_range(quadrant, getattr(self, "feature_names_in_", None))
        count = keep_count(self.density, X.shape[1])
        columns = active_columns(quadrant, spec.intercept)
        rows = np.flatnonzero(weights > 0)
        design = as_design(X, quadrant, rows=rows, columns=columns)
        model = fit_model(design, Y[rows], weights[rows], spec, count, n_jobs=self.n_jobs)
        self._model, self._quadrant, self._columns = model, quadrant, columns
        self._rows, self._n_samples = rows, X.shape[0]
        self._store(X, Y.shape[1])

    def _store(self, X: Any, n_targets: int) -> None:
        model, dtype = self._model, np.float32 if X.dtype == np.float32 else np.float64
        coef = np.zeros((n_targets, X.shape[1]), dtype=dtype)
        support = np.zeros(coef.shape, dtype=bool)
        coef[:, self._columns], support[:, self._columns] = model.coef, model.support
        self.coef_, self.support_ = self._shaped(coef), self._shaped(support)
        self.intercept_ = self._shaped(model.intercept.astype(dtype))
        solutions = [p.solution for p in model.passes]
        self.space_ = solutions[0].space
        self.solver_ = _common([s.solver for s in solutions])
        self.rcond_ = _common([s.fit.rcond for s in solutions])
        self.dof_ = _common([s.dof for s in solutions])

    def _shaped(self, values: Any) -> Any:
        """Drop the axis of targets where there is one target and y said so."""
        return values[0] if self._single else values

    def _outputs(self, X: Any) -> Array:
        """Linear outputs of shape (n, t) for new data."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype="numeric")
        coef = np.atleast_2d(self.coef_)
        used = np.flatnonzero(coef.any(axis=0))
        design = as_design(X, self._quadrant, columns=used, bounded=True)
        outputs = design.dot(coef[:, used].T.astype(np.float64)) + self._model.level
        check_outputs(outputs)
        return outputs.astype(self.coef_.dtype, copy=False)

    @property
    def slope_(self) -> Array:
        """Effect of one unit of each raw feature at its mean, in the shape of ``coef_``."""
        check_is_fitted(self)
        return self._quadrant.slope(self.coef_)

    @property
    def dual_coef_(self) -> Array:
        """Dual coefficients beta, ``alpha = Q' beta``: (n_samples,) or (n_targets, n_samples)."""
        check_is_fitted(self)
        dual = np.zeros((self._model.Y.shape[1], self._n_samples))
        dual[:, self._rows] = self._model.dual
        return self._shaped(dual)


def _common(values: list[Any]) -> Any:
    """One value where all passes agree or there is one, else an array with one for each target."""
    return values[0] if len(values) == 1 or len(set(values)) == 1 else np.array(values)
