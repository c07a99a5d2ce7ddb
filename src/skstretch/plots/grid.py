"""The heat map of a search."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstretch import style
from skstretch.estimators.quality import field_edges, grid_positions, same_density
from skstretch.estimators.summary import mixture_members
from skstretch.plots.predictions import Display, axes

# what the strengths of a search are, beside the axis
LABELS = {
    "s": "relative strength of the penalty, s",
    "c": "c",
    "paths": "relative strength of the penalty, s; sparse models in steps of their own",
    "numbers": "steps from weak to strong penalty",
}


@dataclass
class StretchyGridDisplay(Display):
    """Heat map of a search.

    Columns are the transforms and powers, rows the strengths of the penalty. The chosen candidate,
    or every candidate of an average, is framed, candidates within one paired standard error of the
    best have a dot, unusable candidates are hatched. Sparse linear models (a = 0, k < 2) with
    automatic penalties have steps of their own, from weak to strong; a column with fewer steps than
    the others has taller fields.

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
        Which candidates are within one standard error of the best.
    chosen : tuple (row, column)
        The chosen candidate, of an average the heaviest; (-1, -1) where it is not in the picture.
    score_name : str, default="score"
        What the colours are called.
    averaged : list of tuple (row, column)
        The candidates of an average at this density.
    unusable : ndarray of bool, of the shape of `scores`, or None, default=None
        Candidates without a score; None is wherever there is none.

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
    (25, 9)
    """

    scores: Any
    columns: list[tuple[float, float]]
    strengths: Any
    strength_name: str
    within: Any
    chosen: tuple[int, int]
    score_name: str = "score"
    averaged: list[tuple[int, int]] = field(default_factory=list)
    unusable: Any = None

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
        if density is None:
            # a mixture has several: those of all features, where there are any
            several = len(estimator._members["row"]) > 1
            whole = same_density(results["param_density"], 1.0).size > 0
            density = 1.0 if several and whole else estimator._leader["density"]
        rows = same_density(results["param_density"], density)
        if not rows.size:
            tried = sorted(set(results["param_density"]))
            raise ValueError(f"density={density!r} was not searched; these were: {tried}.")
        name = "s" if isinstance(estimator.c_grid, str) else "c"
        own = list(zip(results["param_a"][rows], results["param_k"][rows], strict=True))
        pairs = list(dict.fromkeys(own))
        lines = np.array([pairs.index(pair) for pair in own])
        places = grid_positions(results, rows, lines, name)
        scores = np.full((places.values.size, len(pairs)), np.nan)
        within, unusable = (np.zeros(scores.shape, dtype=bool) for _ in range(2))
        at = places.at, lines
        scores[at], within[at] = results["mean_test_score"][rows], results["within_1se"][rows]
        unusable[at] = np.isnan(scores[at])
        where = {row: (int(places.at[i]), int(lines[i])) for i, row in enumerate(rows.tolist())}
        chosen = where.get(int(estimator.best_index_), (-1, -1))
        averaged = [where[one.row] for one in mixture_members(estimator) if one.row in where]
        scoring = estimator.scoring if isinstance(estimator.scoring, str) else "score"
        labels = LABELS.get(places.kind, LABELS[name])
        drawn = scores, pairs, places.values, labels, within, chosen, scoring, averaged, unusable
        return cls(*drawn).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = axes(ax, (max(4.2, 1.8 + 0.75 * len(self.columns)), 1.6 + 0.22 * len(self.strengths)))
        image = self._fields(ax)
        ax.set_xticks(np.arange(len(self.columns)) + 0.5, [_label(*pair) for pair in self.columns])
        every, counted = max(1, len(self.strengths) // 10), self.strength_name == LABELS["numbers"]
        ax.set_yticks(
            np.arange(0, len(self.strengths), every) + 0.5,
            [f"{s:.0f}" if counted else f"{s:.0e}" for s in self.strengths[::every]],
        )
        framed = "in the average" if self.averaged else "chosen"
        title = f"framed: {framed}, dots: within one standard error"
        ax.set(ylabel=self.strength_name, title=title)
        ax.title.set_fontsize("medium")
        label = f"{self.score_name}, greater is better (poorest quarter alike)"
        ax.figure.colorbar(image, ax=ax, label=label, extend="min")
        return ax

    def _left_out(self) -> Any:
        """Which candidates were tried and have no score."""
        return np.isnan(self.scores) if self.unusable is None else np.asarray(self.unusable)

    def _fields(self, ax: Any) -> Any:
        """The colours of all columns, without gaps in between, and their marks."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        shown, place = _spread(self.scores), {}
        finite = shown[np.isfinite(shown)]
        scale = Normalize(finite.min(), finite.max()) if finite.size else Normalize(0, 1)
        tried = np.isfinite(self.scores) | self._left_out()
        for column in np.flatnonzero(tried.any(axis=0)).tolist():
            rows = np.flatnonzero(tried[:, column])
            edges = field_edges(rows, len(self.strengths))
            values, sides = shown[rows, column][:, None], [column, column + 1]
            ax.pcolormesh(sides, edges, values, cmap=style.COLORMAP, norm=scale)
            for row, low, high in zip(rows.tolist(), edges[:-1], edges[1:], strict=True):
                place[row, column] = low, high
        self._mark(ax, place)
        return ScalarMappable(scale, style.COLORMAP)

    def _mark(self, ax: Any, place: dict[tuple[int, int], tuple[float, float]]) -> None:
        """Dots, frames and hatches; `place` has the edges of every field."""
        from matplotlib.patches import Rectangle

        for row, column in zip(*np.nonzero(self.within), strict=True):
            at = np.mean(place[row, column])
            ax.plot(column + 0.5, at, "o", color="white", mec="black", mew=0.6, ms=4)
        framed: Any = {"ec": "black", "lw": 3.2}, {"ec": "white", "lw": 1.4}
        hatched: Any = ({"hatch": "////", "ec": style.GUIDE, "lw": 0},)
        left_out = list(zip(*np.nonzero(self._left_out()), strict=True))
        for fields, looks in (left_out, hatched), (self.averaged or [self.chosen], framed):
            for row, column in (each for each in fields if each[0] >= 0):
                low, high = place[row, column]
                for look in looks:
                    ax.add_patch(Rectangle((column, low), 1, high - low, fill=False, **look))


def _spread(scores: Any) -> Any:
    """Scores with the poor quarter shown alike, so that differences among the good are seen."""
    finite = scores[np.isfinite(scores)]
    return np.maximum(scores, np.quantile(finite, 0.25)) if finite.size else scores


def _label(a: float, k: float) -> str:
    return "a = 0\nridge" if a == 0 and k == 2 else f"a = {a:g}\nk = {k:g}"
