"""The paper's second synthetic example: 20 points in two overlapping classes (Fig. 5, 6).

The paper does not print its points; these are ours. Two normal clouds of ten points overlap along
the diagonal of a square, so that a straight line errs on a few of them. The square is
[0.1, 0.9]^2: coordinates below 1 let the low powers lead, which is where a smooth boundary can
come from, and 0.1 is the smallest value whose 28th power, raised to 1/(k-1) = 10, is still a
floating-point number (1e-280). The seed is the first one, 0; `repeated_counts` tells how other
seeds behave.

With 435 parameters and ``c = 1e100`` the closed form passes through all 20 points whatever k is:
``P alpha = P Q'(P Q')^-1 y = y``. Training errors at k = 1.1 are therefore rounding errors of the
system that is solved. Each k is fitted twice to show it: by the accurate solver of the library
(``"qr"``), and by LU of ``P Q'`` (``"dual"``), the formula as printed.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import truncnorm

from skstretch import StretchyRegressor
from skstretch.exceptions import IllConditionedWarning
from skstretch.experiments.series import join, series

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ORDERS",
    "PolynomialFit",
    "boundary_curves",
    "errors_of",
    "fit_linear",
    "fit_polynomial",
    "monomials",
    "repeated_counts",
    "twenty_points",
]

ORDERS = {"fig5": 3, "fig6": 28}
C = 1e100
LOW, HIGH = 0.1, 0.9
CENTRES, SPREAD = (0.4, 0.6), 0.14
STRONG = 0.01  # a coefficient counts as strong from this share of the largest on


def twenty_points(seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ten points of each class, in [0.1, 0.9]^2, and their classes -1 and +1."""
    rng = np.random.default_rng(seed)
    clouds = [
        truncnorm.rvs(
            (LOW - centre) / SPREAD,
            (HIGH - centre) / SPREAD,
            loc=centre,
            scale=SPREAD,
            size=(10, 2),
            random_state=rng,
        )
        for centre in CENTRES
    ]
    return np.vstack(clouds), np.repeat([-1.0, 1.0], 10)


def monomials(points: NDArray[np.float64], order: int) -> NDArray[np.float64]:
    """``x1^(d-j) x2^j`` for d = 0, ..., order and j = 0, ..., d: one column each.

    (order + 1)(order + 2) / 2 of them: 10 at order 3, 435 at order 28.
    """
    x1, x2 = points.T
    return np.column_stack([x1 ** (d - j) * x2**j for d in range(order + 1) for j in range(d + 1)])


@dataclass(frozen=True)
class PolynomialFit:
    """A fitted bivariate polynomial.

    Attributes
    ----------
    order : int
    coef : array
        One per column of `monomials`, the constant first.
    rcond : float
        Reciprocal condition number of the system that was solved.
    warned : bool
        Whether the library warned that few digits are left.
    """

    order: int
    coef: NDArray[np.float64]
    rcond: float
    warned: bool

    def score(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """The polynomial at `points`; its sign is the class."""
        return monomials(points, self.order) @ self.coef

    @property
    def n_strong(self) -> int:
        """Coefficients of at least 1 % of the largest one's size."""
        sizes = np.abs(self.coef)
        return int(np.count_nonzero(sizes >= STRONG * sizes.max()))


def fit_polynomial(
    points: NDArray[np.float64],
    classes: NDArray[np.float64],
    order: int,
    k: float,
    solver: str = "qr",
) -> PolynomialFit:
    """Fit a polynomial without regularisation (c = 1e100), the constant as the paper's column.

    The library's warning about few digits is expected here, and recorded rather than shown.
    """
    model = StretchyRegressor(k, C, quadrant="identity", fit_intercept="column", solver=solver)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", IllConditionedWarning)
        model.fit(monomials(points, order)[:, 1:], classes)
    coef = np.concatenate([[model.intercept_], model.coef_])
    return PolynomialFit(order, coef, float(model.rcond_), bool(caught))


def fit_linear(points: NDArray[np.float64], classes: NDArray[np.float64]) -> PolynomialFit:
    """The linear model: least squares, that is order 1 at k = 2."""
    return fit_polynomial(points, classes, 1, 2.0)


def errors_of(fit: PolynomialFit, points: NDArray[np.float64], classes: NDArray[np.float64]) -> int:
    """How many points lie on the wrong side of zero."""
    return int(np.count_nonzero(np.sign(fit.score(points)) != classes))


def all_fits(
    points: NDArray[np.float64], classes: NDArray[np.float64], order: int
) -> dict[str, PolynomialFit]:
    """The fits of one figure by name; LU only where the system is under-determined."""
    fits = {"linear": fit_linear(points, classes)}
    for k in (1.1, 2.0):
        fits[f"k={k:g}"] = fit_polynomial(points, classes, order, k)
    if monomials(points[:1], order).shape[1] > classes.size:
        fits["k=1.1, LU"] = fit_polynomial(points, classes, order, 1.1, "dual")
    return fits


def boundary_curves(figure: str, seed: int = 0, n_grid: int = 301) -> pd.DataFrame:
    """Fig. 5 (order 3) or Fig. 6 (order 28).

    Panel ``boundaries``: series ``class -1``, ``class +1`` (the points) and ``boundary <fit>``
    (lines; an empty row ends a piece). Panel ``coefficients``: series ``<fit>``, sorted, x from 1.
    Panel ``counts``, each one row with x = the number of parameters: ``errors <fit>``,
    ``strong <fit>`` (see `PolynomialFit.n_strong`), ``rcond <fit>`` and ``warned <fit>``.

    Parameters
    ----------
    figure : {"fig5", "fig6"}
    seed : int
        Of the points.
    n_grid : int
        Points of the grid on either axis through which boundaries are traced.
    """
    if figure not in ORDERS:
        raise ValueError(f"figure={figure!r} is unknown; choose from {sorted(ORDERS)}.")
    points, classes = twenty_points(seed)
    tables = [
        series(figure, "boundaries", f"class {sign:+.0f}", *points[classes == sign].T)
        for sign in (-1, 1)
    ]
    for name, fit in all_fits(points, classes, ORDERS[figure]).items():
        line = _zero_lines(fit, n_grid)
        tables.append(series(figure, "boundaries", f"boundary {name}", *line))
        size = fit.coef.size
        values = np.sort(fit.coef)
        tables.append(series(figure, "coefficients", name, np.arange(1, size + 1), values))
        counts = {
            "errors": errors_of(fit, points, classes),
            "strong": fit.n_strong,
            "rcond": fit.rcond,
            "warned": float(fit.warned),
        }
        tables += [series(figure, "counts", f"{w} {name}", size, v) for w, v in counts.items()]
    return join(tables)


def repeated_counts(n_sets: int = 100) -> pd.DataFrame:
    """Errors and strong coefficients over other draws of the points: x is the seed, 1, 2, ...

    Figures ``fig5`` and ``fig6``, panel ``other sets``, series ``errors <fit>`` and
    ``strong <fit>``.
    """
    tables = []
    for seed in range(1, n_sets + 1):
        points, classes = twenty_points(seed)
        for figure, order in ORDERS.items():
            for name, fit in all_fits(points, classes, order).items():
                errors = errors_of(fit, points, classes)
                tables.append(series(figure, "other sets", f"errors {name}", seed, errors))
                tables.append(series(figure, "other sets", f"strong {name}", seed, fit.n_strong))
    return join(tables)


def _zero_lines(fit: PolynomialFit, n_grid: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where the polynomial changes sign in the unit square, pieces parted by an empty point."""
    from contourpy import contour_generator

    axis = np.linspace(0.0, 1.0, n_grid)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    scores = fit.score(grid.reshape(-1, 2)).reshape(n_grid, n_grid)
    # Only the sign matters; a compressed scale keeps the tracing inside each grid cell exact
    # enough where the polynomial spans many orders of magnitude.
    pieces = contour_generator(axis, axis, np.arcsinh(scores)).lines(0.0)
    gap = np.full((1, 2), np.nan)
    joined = np.vstack([gap, *(np.vstack([np.asarray(piece), gap]) for piece in pieces)])
    return joined[:, 0], joined[:, 1]
