"""Checked data, ready to be seen through any transform."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skstretch.core.intercept import Intercept
from skstretch.core.quadrant import Moments, Quadrant
from skstretch.core.types import Array, Index
from skstretch.designs import (
    DaskArray,
    Design,
    Ready,
    Wanted,
    as_design,
    dask_survey,
    is_source,
    measure,
    survey,
)
from skstretch.estimators.parameters import (
    active_columns,
    check_range,
    checked_offsets,
    checked_quadrant,
    checked_spec,
)
from skstretch.solve.fit import crossfit_space, is_large

# pairs of an a and the k that will be asked for there
Powers = Sequence[tuple[Any, Sequence[Any]]]


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
    ready: Mapping[Any, Ready] = field(default_factory=dict)

    def at(self, a: Any) -> View:
        """X seen through the transform with this a."""
        quadrant = checked_quadrant(self.quadrant, a, self.b, self.moments)
        check_range(quadrant, self.names)
        columns = active_columns(quadrant, self.intercept)
        ready = self.ready.get(a) if self.ready else None
        design = as_design(self.X, quadrant, rows=self.rows, columns=columns, ready=ready)
        return View(design, quadrant, columns)


def prepare(estimator: Any, X: Any, weights: Array, powers: Powers = ()) -> Prepared:
    """Measure validated X for an estimator with `quadrant`, `b` and `fit_intercept`.

    `powers` tells which k will be asked for at each a: wide data that is read in blocks is then
    measured and multiplied in one walk, unless the fit does without the product.
    """
    rows = np.flatnonzero(weights > 0)
    intercept = Intercept.of(estimator.fit_intercept)
    ready: dict[Any, Ready] = {}
    solver = getattr(estimator, "solver", None)
    matrix_free = solver == "krylov" or (solver == "auto" and is_large(rows.size, X.shape[1]))
    wide = crossfit_space(rows.size, X.shape[1], intercept) == "dual"
    in_blocks = is_source(X)
    if isinstance(X, DaskArray):
        X, in_blocks = replace(X, weights=weights), X.is_wide
    if powers and in_blocks and wide and not matrix_free:
        moments, found = _surveyed(estimator, X, rows, weights[rows], intercept, powers)
        ready = {a: grams for (a, _), grams in zip(powers, found, strict=True)}
    else:
        moments = measure(X, weights)
    names = getattr(estimator, "feature_names_in_", None)
    return Prepared(
        X, rows, weights[rows], moments, estimator.quadrant, estimator.b, intercept, names, ready
    )


def _surveyed(
    estimator: Any,
    X: Any,
    rows: Index,
    weights: Array,
    intercept: Intercept,
    powers: Powers,
) -> tuple[Moments, list[Ready]]:
    """Moments and Gram matrices in one walk."""
    offsets = checked_offsets(estimator.b, X.shape[1])
    names = getattr(estimator, "feature_names_in_", None)
    transforms = []
    for a, ks in powers:
        specs = [checked_spec(k, 1.0, a, estimator.fit_intercept, "auto") for k in ks]
        exponents = sorted({spec.r for spec in specs})
        transforms.append(Transform(estimator.quadrant, a, offsets, intercept, names, exponents))
    borders = intercept is not Intercept.FREE
    if isinstance(X, DaskArray):
        return dask_survey(X, transforms, borders)
    wants = [Wanted(transform.block, transform.exponents) for transform in transforms]
    return survey(X, rows if rows.size < X.shape[0] else None, weights, wants, borders)


@dataclass(frozen=True)
class Transform:
    """The transform at one a, for the moments of any slice of columns; `b` one or one for each."""

    quadrant: Any
    a: Any
    b: Array
    intercept: Intercept
    names: Any
    exponents: Sequence[float]

    def whole(self, moments: Moments, columns: slice) -> tuple[Quadrant, Index]:
        """The transform of these columns, and the places of those that take part."""
        b = self.b if self.b.ndim == 0 else self.b[columns]
        quadrant = checked_quadrant(self.quadrant, self.a, b, moments)
        check_range(quadrant, self.names, columns.start)
        return quadrant, active_columns(quadrant, self.intercept)

    def block(self, moments: Moments, columns: slice) -> tuple[Quadrant, Index]:
        """The transform of those columns that take part, and their places."""
        quadrant, active = self.whole(moments, columns)
        return quadrant.take(active), active
