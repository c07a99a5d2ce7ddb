"""Displays: objects that hold numbers of a fitted estimator and draw them with matplotlib.

As with the displays of scikit-learn, `from_estimator` draws, `plot` draws again on other axes, and
`ax_` and `figure_` hold what was drawn last.
"""

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstretch import style
from skstretch.estimators.choice import parts
from skstretch.estimators.strengths import places_of

# what the strengths of a search are, beside the axis
LABELS = {
    "s": "relative strength of the penalty, s",
    "c": "c",
    "paths": "relative strength of the penalty, s; exact minimisers along their paths",
    "numbers": "place on the path, from weak to strong penalty",
}

__all__ = ["CoefficientPathDisplay", "PredictionIntervalDisplay", "StretchyGridDisplay"]


def axes(ax: Any, figsize: tuple[float, float]) -> Any:
    """The axes that were passed, or new ones; names the extra where matplotlib is missing."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "drawing needs matplotlib: pip install 'skstretch[plot]', or 'pip install matplotlib'."
        ) from error
    _, ax = pyplot.subplots(figsize=figsize, layout="constrained")
    return ax


@dataclass
class StretchyGridDisplay:
    """Heat map of a search.

    Columns are the transforms and powers, rows the strengths of the penalty. The chosen cell, or
    every cell of a mixture, is framed, cells within one paired standard error of the best have a
    dot, unusable cells are hatched. Exact minimisers (a = 0, k < 2) with automatic penalties stand
    along their own path, from weak to strong.

    Parameters
    ----------
    scores : ndarray of shape (n_strengths, n_columns)
        Greater is better; NaN where unusable.
    columns : list of tuple (a, k)
        Transform and power of every column.
    strengths : ndarray of shape (n_strengths,)
        Strength of the penalty of every row.
    strength_name : str
        What the rows are called: s or c.
    within : ndarray of bool, of the shape of `scores`
        Which cells are within one standard error of the best.
    chosen : tuple (row, column)
        The chosen cell, of a mixture the heaviest; (-1, -1) where it is not in the picture.
    score_name : str, default="score"
        What the colours are called.
    mixed : list of tuple (row, column)
        The cells of a mixture at this density.
    unusable : ndarray of bool, of the shape of `scores`, or None, default=None
        Cells without a score; None is wherever there is none.

    See Also
    --------
    skstretch.StretchyRegressorCV : The search that is drawn.
    CoefficientPathDisplay : Effects along k or c.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skstretch import StretchyRegressorCV
    >>> from skstretch.plots import StretchyGridDisplay
    >>> model = StretchyRegressorCV().fit(*load_diabetes(return_X_y=True))
    >>> display = StretchyGridDisplay.from_estimator(model)
    >>> display.scores.shape
    (25, 8)
    """

    scores: Any
    columns: list[tuple[float, float]]
    strengths: Any
    strength_name: str
    within: Any
    chosen: tuple[int, int]
    score_name: str = "score"
    mixed: list[tuple[int, int]] = field(default_factory=list)
    unusable: Any = None
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, density: Any = None, ax: Any = None
    ) -> "StretchyGridDisplay":
        """Draw a fitted search estimator at one density.

        Parameters
        ----------
        estimator : StretchyRegressorCV or StretchyClassifierCV
            Fitted.
        density : float, int or None, default=None
            One of the densities that were searched; None is the chosen one.
        ax : matplotlib Axes or None, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        display : StretchyGridDisplay
            The numbers, with ``ax_`` and ``figure_``.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "cv_results_"):
            name = type(estimator).__name__
            raise TypeError(f"{name} has not searched a grid: pass one of the CV estimators.")
        results = estimator.cv_results_
        density = estimator.density_ if density is None else density
        # 1 is a count and 1.0 a share
        same = [
            value == density and isinstance(value, Integral) == isinstance(density, Integral)
            for value in results["param_density"]
        ]
        rows = np.flatnonzero(same)
        if not rows.size:
            tried = sorted(set(results["param_density"]))
            raise ValueError(f"density={density!r} was not searched; these were: {tried}.")
        name = "s" if isinstance(estimator.c_grid, str) else "c"
        own = list(zip(results["param_a"][rows], results["param_k"][rows], strict=True))
        pairs = list(dict.fromkeys(own))
        lines = np.array([pairs.index(pair) for pair in own])
        places = places_of(results, rows, lines, name)
        scores = np.full((places.values.size, len(pairs)), np.nan)
        within, unusable = (np.zeros(scores.shape, dtype=bool) for _ in range(2))
        at = places.at, lines
        scores[at], within[at] = results["mean_test_score"][rows], results["within_1se"][rows]
        unusable[at] = np.isnan(scores[at])
        where = {row: (int(places.at[i]), int(lines[i])) for i, row in enumerate(rows.tolist())}
        chosen = where.get(int(estimator.best_index_), (-1, -1))
        mixed = [where[part.row] for part in parts(estimator) if part.row in where]
        scoring = estimator.scoring if isinstance(estimator.scoring, str) else "score"
        labels = LABELS.get(places.kind, LABELS[name])
        told = scores, pairs, places.values, labels, within, chosen, scoring, mixed, unusable
        return cls(*told).plot(ax)

    def plot(self, ax: Any = None) -> "StretchyGridDisplay":
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        display : StretchyGridDisplay
            Itself.
        """
        width = 1.8 + 0.75 * len(self.columns)
        ax = axes(ax, (max(4.2, width), 1.6 + 0.22 * len(self.strengths)))
        image = ax.pcolormesh(_spread(self.scores), cmap=style.COLORMAP, edgecolors="none")
        self._mark(ax)
        ax.set_xticks(np.arange(len(self.columns)) + 0.5, [_label(*pair) for pair in self.columns])
        every, counted = max(1, len(self.strengths) // 10), self.strength_name == LABELS["numbers"]
        ax.set_yticks(
            np.arange(0, len(self.strengths), every) + 0.5,
            [f"{s:.0f}" if counted else f"{s:.0e}" for s in self.strengths[::every]],
        )
        framed = "in the mixture" if self.mixed else "chosen"
        title = f"framed: {framed}, dots: within one standard error"
        ax.set(ylabel=self.strength_name, title=title)
        ax.title.set_fontsize("medium")
        label = f"{self.score_name}, greater is better (poorest quarter alike)"
        ax.figure.colorbar(image, ax=ax, label=label, extend="min")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _mark(self, ax: Any) -> None:
        from matplotlib.patches import Rectangle

        for row, column in zip(*np.nonzero(self.within), strict=True):
            ax.plot(column + 0.5, row + 0.5, "o", color="white", mec="black", mew=0.6, ms=4)
        unusable = np.isnan(self.scores) if self.unusable is None else self.unusable
        for row, column in zip(*np.nonzero(unusable), strict=True):
            corner = (column, row)
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, hatch="////", ec=style.GUIDE, lw=0))
        for row, column in self.mixed or [self.chosen]:
            if row < 0:
                continue
            corner = (column, row)
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, ec="black", lw=3.2))
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, ec="white", lw=1.4))


def _spread(scores: Any) -> Any:
    """Scores with the poor quarter shown alike, so that differences among the good are seen."""
    finite = scores[np.isfinite(scores)]
    return np.maximum(scores, np.quantile(finite, 0.25)) if finite.size else scores


def _label(a: float, k: float) -> str:
    return "a = 0\nlinear" if a == 0 and k == 2 else f"a = {a:g}\nk = {k:g}"


@dataclass
class CoefficientPathDisplay:
    """How effects change along k or c.

    With `positions` (wavelengths), every value of k or c is a profile over them; without, the
    features with the largest effects are lines over k or c.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Values of k or c.
    effects : ndarray of shape (n_values, n_features)
        Effect of one standard deviation of each feature.
    names : list of str
        Names of the features.
    along : {"k", "c"}
        What changes.
    positions : ndarray of shape (n_features,) or None, default=None
        Places of the features on an axis, such as wavelengths.
    top : int, default=8
        How many features are named.

    See Also
    --------
    skstretch.StretchyRegressor.effect_path : The numbers alone.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skstretch import StretchyRegressor
    >>> from skstretch.plots import CoefficientPathDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = StretchyRegressor().fit(X, y)
    >>> display = CoefficientPathDisplay.from_estimator(model, along="k", values=[1.2, 1.5, 2])
    >>> display.effects.shape
    (3, 10)
    """

    values: Any
    effects: Any
    names: list[str]
    along: str
    positions: Any = None
    top: int = 8
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        along: str = "c",
        values: Any = None,
        positions: Any = None,
        target: int = 0,
        top: int = 8,
        ax: Any = None,
    ) -> "CoefficientPathDisplay":
        """Draw a fitted estimator, on the data that it was fitted on.

        Parameters
        ----------
        estimator : estimator
            One of the four, fitted in this process.
        along : {"c", "k"}, default="c"
            What changes.
        values : sequence of float or None, default=None
            Values of it; None takes some around the fitted one.
        positions : array-like of shape (n_features,), "names" or None, default=None
            Places of the features on an axis; ``"names"`` where their names are numbers, such as
            wavelengths.
        target : int, default=0
            Which of several targets or classes.
        top : int, default=8
            How many features are named.
        ax : matplotlib Axes or None, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        display : CoefficientPathDisplay
            The numbers, with ``ax_`` and ``figure_``.
        """
        check_is_fitted(estimator)
        values, effects = estimator.effect_path(along=along, values=values)
        if effects.ndim == 3:
            effects = effects[:, target]
        names = getattr(estimator, "feature_names_in_", None)
        names = [f"x{j}" for j in range(effects.shape[1])] if names is None else list(names)
        if isinstance(positions, str):
            positions = np.array([float(name) for name in names])
        return cls(values, effects, names, along, positions, top).plot(ax)

    def plot(self, ax: Any = None) -> "CoefficientPathDisplay":
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        display : CoefficientPathDisplay
            Itself.
        """
        ax = axes(ax, (7.0, 4.2))
        ax.axhline(0, color=style.GUIDE, lw=0.8)
        if self.positions is None:
            self._plot_lines(ax)
        else:
            self._plot_profiles(ax)
        ax.set_ylabel("effect of one standard deviation")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _plot_lines(self, ax: Any) -> None:
        size = np.abs(self.effects).max(axis=0)
        largest = np.argsort(-size)[: self.top]
        others = np.setdiff1d(np.arange(size.size), largest)
        # a few hundred grey lines say as much as a hundred thousand
        shown = others[np.argsort(-size[others])[:300]]
        if shown.size:
            ax.plot(self.values, self.effects[:, shown], color=style.FAINT, lw=0.6, zorder=1)
        for i, j in enumerate(largest):
            shade = 0.85 * i / max(1, self.top)
            ax.plot(
                self.values,
                self.effects[:, j],
                style.DASHES[i % len(style.DASHES)],
                color=_color(shade),
                lw=1.8,
                label=self.names[j],
            )
        if self.along == "c":
            ax.set_xscale("log")
        ax.set_xlabel(self.along)
        ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))

    def _plot_profiles(self, ax: Any) -> None:
        for i, value in enumerate(self.values):
            ax.plot(
                self.positions,
                self.effects[i],
                style.DASHES[i % len(style.DASHES)],
                color=_color(0.85 * i / max(1, len(self.values) - 1)),
                lw=1.3,
                label=f"{self.along} = {value:g}",
            )
        ax.set_xlabel("wavelength")
        ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))


def _color(shade: float) -> Any:
    from matplotlib import colormaps

    return colormaps[style.COLORMAP](shade)


@dataclass
class PredictionIntervalDisplay:
    """Predictions with interval bars against observed values.

    Parameters
    ----------
    observed : ndarray of shape (n_samples,)
        What was measured.
    predicted : ndarray of shape (n_samples,)
        What the model predicts.
    lower : ndarray of shape (n_samples,)
        Lower ends of the intervals.
    upper : ndarray of shape (n_samples,)
        Upper ends of the intervals.
    coverage : float
        The coverage that was asked for.

    See Also
    --------
    skstretch.StretchyRegressor.predict_interval : The bounds alone.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skstretch import StretchyRegressor
    >>> from skstretch.plots import PredictionIntervalDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = StretchyRegressor().fit(X[:300], y[:300])
    >>> display = PredictionIntervalDisplay.from_estimator(model, X[300:], y[300:])
    >>> bool(display.covered > 0.8)
    True
    """

    observed: Any
    predicted: Any
    lower: Any
    upper: Any
    coverage: float
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        coverage: float = 0.9,
        method: str = "plus",
        target: int = 0,
        ax: Any = None,
    ) -> "PredictionIntervalDisplay":
        """Draw a fitted regressor and data that it has not seen.

        Parameters
        ----------
        estimator : StretchyRegressor or StretchyRegressorCV
            Fitted.
        X : array-like of shape (n_samples, n_features)
            New samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            What was measured.
        coverage : float, default=0.9
            How often intervals should hold.
        method : {"plus", "residual"}, default="plus"
            As in `predict_interval`.
        target : int, default=0
            Which of several targets.
        ax : matplotlib Axes or None, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        display : PredictionIntervalDisplay
            The numbers, with ``ax_`` and ``figure_``.
        """
        check_is_fitted(estimator)
        predicted = estimator.predict(X)
        lower, upper = estimator.predict_interval(X, coverage=coverage, method=method)
        y = np.asarray(y)
        if predicted.ndim == 2:
            y, predicted, lower, upper = (v[:, target] for v in (y, predicted, lower, upper))
        return cls(y, predicted, lower, upper, coverage).plot(ax)

    @property
    def covered(self) -> float:
        """The share of observed values within their interval."""
        inside = (self.lower <= self.observed) & (self.observed <= self.upper)
        return float(np.mean(inside))

    def plot(self, ax: Any = None) -> "PredictionIntervalDisplay":
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        display : PredictionIntervalDisplay
            Itself.
        """
        ax = axes(ax, (5.4, 5.0))
        inside = (self.lower <= self.observed) & (self.observed <= self.upper)
        finite = np.isfinite(self.lower) & np.isfinite(self.upper)
        for mask, marker, color, label in (
            (inside, "o", style.MARK, "inside"),
            (~inside, "X", style.RUST, "outside"),
        ):
            bars = mask & finite
            ax.vlines(
                self.observed[bars],
                self.lower[bars],
                self.upper[bars],
                color=color,
                alpha=0.3,
                lw=1,
            )
            ax.plot(
                self.observed[mask],
                self.predicted[mask],
                marker,
                color=color,
                ms=5 if marker == "X" else 3.5,
                mec="white",
                mew=0.4,
                label=f"{label}: {mask.sum()}",
            )
        ends = [np.min(self.observed), np.max(self.observed)]
        ax.plot(ends, ends, color="black", lw=1, ls="--", label="prediction = observation")
        ax.set(
            xlabel="observed",
            ylabel=f"predicted, with {self.coverage:.0%} interval",
            title=f"{self.covered:.1%} of {self.observed.size} observations inside",
        )
        ax.title.set_fontsize("medium")
        # below the axes: bars and points leave no corner free
        ax.legend(
            frameon=False,
            fontsize="small",
            loc="upper center",
            bbox_to_anchor=(0.5, -0.12),
            ncols=3,
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self
