"""Checked data, ready to be seen through any transform."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stretchy.core.intercept import Intercept
from stretchy.core.quadrant import Moments, Quadrant
from stretchy.core.types import Array, Index
from stretchy.designs import Design, as_design, measure
from stretchy.estimators.parameters import active_columns, check_range, checked_quadrant


@dataclass(frozen=True)
class View:
    """The design at one a, and the columns of X that it uses."""

    design: Design
    quadrant: Quadrant
    columns: Index


@dataclass(frozen=True)
class Prepared:
    """X with its moments, and the samples of positive weight."""

    X: Any
    rows: Index
    weights: Array
    moments: Moments
    quadrant: Any
    b: Any
    intercept: Intercept
    names: Any

    def at(self, a: Any) -> View:
        """X seen through the transform with this a."""
        quadrant = checked_quadrant(self.quadrant, a, self.b, self.moments)
        check_range(quadrant, self.names)
        columns = active_columns(quadrant, self.intercept)
        design = as_design(self.X, quadrant, rows=self.rows, columns=columns)
        return View(design, quadrant, columns)


def prepare(estimator: Any, X: Any, weights: Array) -> Prepared:
    """Measure validated X for an estimator with `quadrant`, `b` and `fit_intercept`."""
    rows = np.flatnonzero(weights > 0)
    return Prepared(
        X,
        rows,
        weights[rows],
        measure(X, weights),
        estimator.quadrant,
        estimator.b,
        Intercept.of(estimator.fit_intercept),
        getattr(estimator, "feature_names_in_", None),
    )
