"""The two synthetic examples of the paper.

The first has five points and a 10th-order polynomial (Table 1, Fig. 4). The paper does not name
its noise. It prints the standard deviation of each coefficient over the noisy draws, and that is
enough: the coefficients are linear in the targets, ``alpha = A y``, so noise of deviation sigma on
each target gives coefficient j the deviation ``sigma |A_j|`` with ``A_j`` the j-th row of A.
`implied_noise` solves for sigma.

The second has 20 points in two overlapping classes (Fig. 5, 6). The paper does not print its
points; these are ours. Two normal clouds of ten points overlap along the diagonal of a square, so
that a straight line errs on a few of them. The square is [0.1, 0.9]^2: coordinates below 1 let the
low powers lead, which is where a smooth boundary can come from, and 0.1 is the smallest value
whose 28th power, raised to 1/(k-1) = 10, is still a floating-point number (1e-280). The seed is
the first one, 0; `repeated_counts` tells how other seeds behave.

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
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2, truncnorm

from reproduction.files import join, series
from skstretch import StretchyRegressor
from skstretch.core import solve_qr
from skstretch.exceptions import IllConditionedWarning

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PaperColumn:
    """One column, three decimals: without noise, and mean and deviation over noisy draws."""

    noiseless: tuple[float, ...]
    noisy_mean: tuple[float, ...]
    noisy_std: tuple[float, ...]


# fmt: off
PAPER_TABLE1 = {
    (1.8, 1e4): PaperColumn(
        (1.000, 0.641, -0.402, -0.340, -0.179, -0.083, -0.036, -0.015, -0.007, -0.003, -0.001),
        (1.001, 0.640, -0.373, -0.382, -0.227, -0.114, -0.053, -0.024, -0.011, -0.005, -0.002),
        (0.019, 0.142, 0.380, 0.171, 0.250, 0.174, 0.097, 0.049, 0.023, 0.011, 0.005),
    ),
    (1.2, 1e4): PaperColumn(
        (1.063, 0.234, -0.046, -0.002, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (1.067, 0.226, -0.052, -0.002, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0.014, 0.045, 0.018, 0.001, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    ),
    (1.8, 1e15): PaperColumn(
        (0.999, 0.626, -0.198, -0.826, -0.140, 0.219, 0.244, 0.168, 0.095, 0.049, 0.024),
        (1.006, 0.544, 0.118, -1.134, -0.304, 0.210, 0.283, 0.204, 0.118, 0.061, 0.030),
        (0.186, 3.033, 14.957, 24.053, 1.298, 12.138, 12.018, 8.022, 4.504, 2.297, 1.104),
    ),
    (1.2, 1e15): PaperColumn(
        (1.000, 0.602, -0.014, -1.457, 0.738, 0.033, 0.001, 0.0, 0.0, 0.0, 0.0),
        (1.008, 0.517, 0.331, -1.854, 0.680, 0.031, 0.001, 0.0, 0.0, 0.0, 0.0),
        (0.237, 4.181, 24.060, 55.477, 43.384, 1.944, 0.067, 0.002, 0.0, 0.0, 0.0),
    ),
}
ORDER = 10
N_DRAWS = 10
SHOWN = ((1.2, 1e15), (1.8, 1e4))  # the two panels of Fig. 4


def five_points() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """x = 0.1, ..., 0.5 and ``y = 1 + 0.6 x - 1.5 x^3 + 0.8 x^4``."""
    x = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    return x, 1 + 0.6 * x - 1.5 * x**3 + 0.8 * x**4


def powers(x: ArrayLike) -> NDArray[np.float64]:
    """The powers 0 to 10 of x, one column each."""
    return np.vander(np.asarray(x, dtype=float), ORDER + 1, increasing=True)


def coefficients(targets: ArrayLike, k: float, c: float) -> NDArray[np.float64]:
    """Coefficients of the powers 0 to 10 for targets at the five points.

    By sorted, pivoted QR: the formula by LU keeps no more than three digits at k = 1.2, c = 1e15.

    Parameters
    ----------
    targets : array of shape (5,) or (5, t)
    k, c : float

    Returns
    -------
    array of shape (11,) or (11, t)
    """
    return solve_qr(powers(five_points()[0]), targets, k, c)


def column_name(k: float, c: float) -> str:
    """The panel name of a column of Table 1, such as ``"k=1.2, c=1e15"``."""
    return f"k={k:g}, c=1e{round(np.log10(c))}"


@dataclass(frozen=True)
class NoiseLevel:
    """The noise that the paper's printed deviations imply.

    Attributes
    ----------
    sigma : float
        Geometric mean over the columns of the geometric mean of ``std_j / |A_j|`` in a column.
    by_column : dict of (k, c) to float
        The mean within each column.
    ratios : dict of (k, c) to array
        ``std_j / |A_j|`` of each deviation that was used.
    lowest, highest : float
        Each sigma between them puts every ratio within the central 95 % of the deviations that
        ten draws of that noise show; there is none where lowest exceeds highest.
    """

    sigma: float
    by_column: dict[tuple[float, float], float]
    ratios: dict[tuple[float, float], NDArray[np.float64]]
    lowest: float
    highest: float


def implied_noise(smallest: float = 0.01) -> NoiseLevel:
    """Sigma from the deviations of Table 1 that are printed as `smallest` or more.

    Smaller ones have one digit. Every column has one vote, since the deviations within a column
    follow from the same few combinations of the noise and are far from independent.

    Examples
    --------
    >>> from reproduction.synthetic import implied_noise
    >>> round(implied_noise().sigma, 3)
    0.012
    """
    ratios = {}
    for (k, c), column in PAPER_TABLE1.items():
        printed = np.array(column.noisy_std)
        used = printed >= smallest
        ratios[k, c] = printed[used] / np.linalg.norm(coefficients(np.eye(5), k, c), axis=1)[used]
    by_column = {cell: float(np.exp(np.mean(np.log(r)))) for cell, r in ratios.items()}
    every = np.concatenate(list(ratios.values()))
    low, high = np.sqrt(chi2.ppf([0.025, 0.975], N_DRAWS - 1) / (N_DRAWS - 1))
    sigma = float(np.exp(np.mean(np.log(list(by_column.values())))))
    return NoiseLevel(sigma, by_column, ratios, float(every.max() / high), float(every.min() / low))


def noisy_targets(sigma: float, seed: int = 0) -> NDArray[np.float64]:
    """Ten draws of the targets with normal noise of deviation sigma, of shape (5, 10)."""
    _, y = five_points()
    return y[:, None] + sigma * np.random.default_rng(seed).standard_normal((y.size, N_DRAWS))


def table_curves(seed: int = 0) -> pd.DataFrame:
    """Table 1: x is the coefficient's index, y its value, one panel per column.

    Series ``noiseless``, ``noisy mean``, ``noisy std`` (divisor 9, over the same ten draws in
    every column), ``expected std`` (``sigma |A_j|``) and the paper's own ``paper noiseless``,
    ``paper noisy mean``, ``paper noisy std``. Panel ``noise`` holds ``implied sigma`` with its
    ``lowest`` and ``highest``.
    """
    noise, index = implied_noise(), np.arange(ORDER + 1)
    targets = noisy_targets(noise.sigma, seed)
    bounds = {"implied sigma": noise.sigma, "lowest": noise.lowest, "highest": noise.highest}
    tables = [series("table1", "noise", name, 0.0, value) for name, value in bounds.items()]
    for (k, c), column in PAPER_TABLE1.items():
        noisy = coefficients(targets, k, c)
        norms = np.linalg.norm(coefficients(np.eye(5), k, c), axis=1)
        values = {
            "noiseless": coefficients(five_points()[1], k, c),
            "noisy mean": noisy.mean(axis=1),
            "noisy std": noisy.std(axis=1, ddof=1),
            "expected std": noise.sigma * norms,
            "paper noiseless": column.noiseless,
            "paper noisy mean": column.noisy_mean,
            "paper noisy std": column.noisy_std,
        }
        panel = column_name(k, c)
        tables += [series("table1", panel, name, index, v) for name, v in values.items()]
    return join(tables)


def output_curves(seed: int = 0) -> pd.DataFrame:
    """Fig. 4: what is learned from the five points and from ten noisy draws of them.

    Series ``truth`` (the quartic), ``learned``, ``learned, draw i``, ``points`` and
    ``points, draw i``.
    """
    x, y = five_points()
    grid = np.linspace(0.05, 0.55, 201)
    targets = noisy_targets(implied_noise().sigma, seed)
    tables = []
    for k, c in SHOWN:
        panel = column_name(k, c)
        truth = 1 + 0.6 * grid - 1.5 * grid**3 + 0.8 * grid**4
        learned = powers(grid) @ coefficients(np.column_stack([y, targets]), k, c)
        tables += [
            series("fig4", panel, "truth", grid, truth),
            series("fig4", panel, "learned", grid, learned[:, 0]),
            series("fig4", panel, "points", x, y),
        ]
        for i in range(N_DRAWS):
            tables.append(series("fig4", panel, f"learned, draw {i + 1}", grid, learned[:, i + 1]))
            tables.append(series("fig4", panel, f"points, draw {i + 1}", x, targets[:, i]))
    return join(tables)


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
    coef = np.concatenate([[model.intercept_], model.alpha_])
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
