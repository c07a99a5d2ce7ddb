"""Curves of Fig. 1 to 3, 7 and 8, and measures of compression.

Coefficients (Fig. 7, 8) are learned from one random half of the rows, as in a fold of the study.
SR has the paper's settings: a = -0.2, a column of ones, no regularisation (c = 1e100). The paper
does not say at which penalty it drew LASSO; here it is the one of NumLambda = 100 with the lowest
squared error on the other half, which is how the paper chooses among penalties elsewhere.

Two measures tell how few coefficients carry a vector α of length D. The strong share, which is
what the eye sees in the sorted coefficients of Fig. 7 and 8 ::

    # {j : |α_j| ≥ max_i |α_i| / 10} / D

and the participation, 1 where all are equally large and 1/D where one stands alone ::

    ‖α‖₁² / (D ‖α‖₂²)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from sklearn.preprocessing import StandardScaler

from reproduction.files import join, series
from reproduction.lasso import fit_lasso
from reproduction.sets import SETS, take_rows
from reproduction.settings import KS, MIXINGS, Settings
from reproduction.study import fit_stretchy
from skstretch import FirstQuadrant, StretchyRegressor
from skstretch.core import k_measure, k_measure_power, smooth_abs
from skstretch.exceptions import IllConditionedWarning

if TYPE_CHECKING:
    import pandas as pd

# The settings of the caption of Fig. 2.
LEVELS = (0.1, 0.4, 0.7, 1.0)
POWERS = (1.8, 1.5, 1.1)
EPSILON = 1e-4
Measure = Callable[[NDArray[np.float64], float], float]
MEASURES: dict[str, Measure] = {
    "p-norm": partial(k_measure, eps=0.0),
    "k-measure": partial(k_measure, eps=EPSILON),
    "k-measure to the k": partial(k_measure_power, eps=EPSILON),
}


def absolute_curves(epsilons: tuple[float, ...] = (1.0, 0.1, 0.01, 1e-4, 0.0)) -> pd.DataFrame:
    """``f(alpha) = sqrt(alpha**2 + eps)`` on [-1, 1] at several eps; 0 is ``|alpha|`` itself.

    The paper says "several" values without naming them; these are ours.
    """
    alpha = np.linspace(-1, 1, 401)
    return join(
        [series("fig1", "", f"eps={eps:g}", alpha, smooth_abs(alpha, eps)) for eps in epsilons]
    )


def contour_curves(n_angles: int = 16) -> pd.DataFrame:
    """Contours of the three measures of two coefficients, as closed lines.

    Panel ``"<measure>, <k>"``, series ``"level <value>"``; x and y are the two coefficients.

    Parameters
    ----------
    n_angles : int
        Rays in the eighth of the circle from which symmetry gives the rest.
    """
    tables = []
    for name, measure in MEASURES.items():
        for k in POWERS:
            for level in LEVELS:
                x, y = _contour(measure, k, level, n_angles)
                tables.append(series("fig2", f"{name}, {k:g}", f"level {level:g}", x, y))
    return join(tables)


def _contour(measure: Measure, k: float, level: float, n_angles: int) -> NDArray[np.float64]:
    """The closed line ``measure(alpha, k) = level``, of shape (2, n).

    A measure of absolute values grows along every ray from the origin, so that each ray meets
    the line once. Both coefficients count alike: the first eighth of the circle has it all.
    """
    # Rays crowd at the axis, where the line bends most as k falls to 1.
    angles = np.pi / 4 * np.linspace(0, 1, n_angles) ** 2
    rays = np.array([np.cos(angles), np.sin(angles)])
    radii = [brentq(lambda r, ray=ray: measure(r * ray, k) - level, 0, 2) for ray in rays.T]
    eighth = rays * radii
    quarter = np.hstack([eighth, eighth[::-1, -2::-1]])
    upper = np.hstack([quarter, quarter[:, -2::-1] * [[-1], [1]]])
    return np.hstack([upper, upper[:, -2::-1] * [[1], [-1]]])


def feature_curves(X: Any, *, a: float = -0.2, seed: int = 0, n_bins: int = 40) -> pd.DataFrame:
    """The map ``exp(a (x - mean) / scale)`` of the first two features, with distributions.

    Mean and scale come from one random half of the rows; the other half is unseen, as in the
    paper's two folds. Panel ``"feature 1"`` and ``"feature 2"``; series ``"map"`` (over the range
    of both halves), ``"before, training"``, ``"before, unseen"``, ``"after, training"``,
    ``"after, unseen"`` (densities: x is a bin's middle) and ``"linearity"``, whose single y is
    the squared correlation of the training values before and after.

    Parameters
    ----------
    X : array of shape (n_samples, at least 2)
        Raw features.
    a : float
        The paper's -0.2.
    seed : int
        Of the split into halves.
    n_bins : int
        Bins of each distribution.
    """
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[0] < 4 or X.shape[1] < 2:
        raise ValueError(f"X has shape {X.shape}; at least four rows and two features are needed.")
    order = np.random.default_rng(seed).permutation(X.shape[0])
    seen, unseen = np.array_split(order, 2)
    return join([_feature(X[seen, j], X[unseen, j], j, a, n_bins) for j in range(2)])


def _feature(
    training: NDArray[np.float64], unseen: NDArray[np.float64], j: int, a: float, n_bins: int
) -> pd.DataFrame:
    panel = f"feature {j + 1}"
    quadrant = FirstQuadrant(a=a).fit(training[:, None])

    def after(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return quadrant.transform(x[:, None]).ravel()

    both = np.concatenate([training, unseen])
    x = np.linspace(both.min(), both.max(), 200)
    tables = [series("fig3", panel, "map", x, after(x))]
    for name, values in {"training": training, "unseen": unseen}.items():
        before, mapped = (
            _density(values, both, n_bins),
            _density(after(values), after(both), n_bins),
        )
        tables.append(series("fig3", panel, f"before, {name}", *before))
        tables.append(series("fig3", panel, f"after, {name}", *mapped))
    linearity = np.corrcoef(training, after(training))[0, 1] ** 2
    tables.append(series("fig3", panel, "linearity", 0.0, linearity))
    return join(tables)


def _density(
    values: NDArray[np.float64], both: NDArray[np.float64], n_bins: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Middle and density of equal bins over the range of `both`."""
    density, edges = np.histogram(values, n_bins, (both.min(), both.max()), density=True)
    return (edges[:-1] + edges[1:]) / 2, density


@dataclass(frozen=True)
class Shown:
    """What the paper shows of a data set: the figure, the k of SR, the mixing values of LASSO."""

    figure: str
    ks: tuple[float, ...]
    mixings: tuple[float, ...] = (1.0,)
    quadrant: str = "exp"


SHOWN = {
    "prostate": Shown("fig7", KS, MIXINGS),
    "diabetes": Shown("fig7", KS, MIXINGS),
    "corn": Shown("fig7", (1.1,)),
    "tfidf": Shown("fig7", (1.25,)),
    "gaze": Shown("fig7", (1.25,), quadrant="identity"),
    **{
        name: Shown("fig8", (1.1,))
        for name in ("arcene", "dexter", "dorothea", "gisette", "madelon")
    },
}


def coefficient_curves(
    dataset: str,
    X: Any,
    y: Any,
    *,
    seed: int = 0,
    methods: tuple[str, ...] = ("SR", "LASSO"),
) -> pd.DataFrame:
    """The curves of one data set, coefficients in ascending order, the constant not among them.

    Panels ``"<dataset>: SR"`` with series ``k=...`` and ``"<dataset>: LASSO"`` with series
    ``mixing=...``; x counts from 1.

    Parameters
    ----------
    dataset : str
        A key of `SHOWN`.
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        -1 and +1 for classes.
    seed : int
        Of the split into halves.
    methods : tuple of {"SR", "LASSO"}
        LASSO needs python-glmnet.
    """
    if dataset not in SHOWN:
        raise ValueError(f"dataset={dataset!r} is unknown; choose from {sorted(SHOWN)}.")
    shown, y = SHOWN[dataset], np.asarray(y, dtype=float)
    first, second = np.array_split(np.random.default_rng(seed).permutation(len(y)), 2)
    train, other = (take_rows(X, first), y[first]), (take_rows(X, second), y[second])
    found: dict[str, dict[str, NDArray[np.float64]]] = {}
    if "SR" in methods:
        found["SR"] = {
            f"k={k:g}": stretchy_coefficients(*train, k, shown.quadrant) for k in shown.ks
        }
    if "LASSO" in methods:
        found["LASSO"] = {
            f"mixing={mixing:g}": lasso_coefficients(train, other, mixing)
            for mixing in shown.mixings
        }
    return join(
        [
            _sorted(shown.figure, f"{dataset}: {method}", label, coef)
            for method, lines in found.items()
            for label, coef in lines.items()
        ]
    )


def stretchy_coefficients(
    X: Any, y: NDArray[np.float64], k: float, quadrant: str = "exp"
) -> NDArray[np.float64]:
    """Weights of the transformed features without regularisation.

    Over-determined sets and k near 1 leave few digits here, as the paper's own runs had; the
    library's warning of that is expected and not shown.
    """
    model = StretchyRegressor(k, 1e100, a=-0.2, quadrant=quadrant, fit_intercept="column")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IllConditionedWarning)
        return np.asarray(model.fit(X, y).alpha_)


def lasso_coefficients(
    train: tuple[Any, NDArray[np.float64]],
    other: tuple[Any, NDArray[np.float64]],
    mixing: float,
    count: int = 100,
) -> NDArray[np.float64]:
    """Weights per standard deviation at the penalty with the lowest squared error on `other`."""
    path = fit_lasso(*train, mixing, count)
    best = int(np.argmin(path.errors(*other)))
    deviation = np.sqrt(StandardScaler(with_mean=False).fit(train[0]).var_)
    return np.asarray(path.coef[:, best] * deviation)


def _sorted(figure: str, panel: str, name: str, coef: NDArray[np.float64]) -> pd.DataFrame:
    return series(figure, panel, name, np.arange(1, coef.size + 1), np.sort(coef))


FIGURE = "compression"
STRONG = 0.1


def strong_share(coef: ArrayLike) -> float:
    """Share of the coefficients that reach a tenth of the largest.

    Examples
    --------
    >>> from reproduction.curves import strong_share
    >>> strong_share([1.0, -2.0, 0.1, 0.0])
    0.5
    """
    size = np.abs(np.asarray(coef, dtype=float))
    return float(np.mean(size >= STRONG * size.max())) if size.any() else float("nan")


def participation(coef: ArrayLike) -> float:
    """‖α‖₁² / (D ‖α‖₂²).

    Examples
    --------
    >>> from reproduction.curves import participation
    >>> participation([1.0, -1.0, 1.0, 1.0]), participation([0.0, 0.0, 3.0, 0.0])
    (1.0, 0.25)
    """
    size = np.abs(np.asarray(coef, dtype=float))
    if not size.any():
        return float("nan")
    size = size / size.max()
    return float(size.sum() ** 2 / (size.size * np.sum(size**2)))


def compression_curves(dataset: str, X: Any, y: Any, settings: Settings) -> pd.DataFrame:
    """Both measures of SR without regularisation against k, learned from X and y.

    Figure ``compression``, panel ``<dataset>: under-determined`` or ``over-determined``, series
    ``strong share`` and ``participation``.
    """
    coefs = [
        fit_stretchy(
            X, y, k, settings.free_strength, 1.0, a=settings.a, quadrant=SETS[dataset].quadrant
        ).alpha_
        for k in settings.powers
    ]
    kind = "under-determined" if X.shape[1] > X.shape[0] else "over-determined"
    measures = {"strong share": strong_share, "participation": participation}
    return join(
        [
            series(FIGURE, f"{dataset}: {kind}", name, settings.powers, [*map(measure, coefs)])
            for name, measure in measures.items()
        ]
    )
