"""The search surface: score over k and c, with the chosen cell and the 1-SE region."""

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstretch.plots.canvas import axes


@dataclass
class StretchyGridDisplay:
    """Heat map of a search.

    Columns are the transforms and powers, rows the strengths of the penalty. The chosen cell is
    framed, cells within one paired standard error of the best have a dot, unusable cells are
    hatched.

    Parameters
    ----------
    scores : array of shape (n_strengths, n_columns)
        Greater is better; NaN where unusable.
    columns : list of (a, k)
    strengths : array of shape (n_strengths,)
    strength_name : str
    within : boolean array like `scores`
    chosen : (row, column)
    score_name : str

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skstretch import StretchyRegressorCV
    >>> from skstretch.plots import StretchyGridDisplay
    >>> model = StretchyRegressorCV().fit(*load_diabetes(return_X_y=True))
    >>> display = StretchyGridDisplay.from_estimator(model)
    >>> display.scores.shape
    (25, 6)
    """

    scores: Any
    columns: list[tuple[float, float]]
    strengths: Any
    strength_name: str
    within: Any
    chosen: tuple[int, int]
    score_name: str = "score"
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, density: Any = None, ax: Any = None
    ) -> "StretchyGridDisplay":
        """From a fitted search estimator, at one density (the chosen one by default).

        Draws when `ax` is passed; else call `plot`.
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
        strengths = np.unique(results[f"param_{name}"][rows])
        pairs = list(
            dict.fromkeys(zip(results["param_a"][rows], results["param_k"][rows], strict=True))
        )
        scores = np.full((strengths.size, len(pairs)), np.nan)
        within = np.zeros(scores.shape, dtype=bool)
        chosen = (-1, -1)
        for row in rows:
            pair = results["param_a"][row], results["param_k"][row]
            at = int(np.searchsorted(strengths, results[f"param_{name}"][row])), pairs.index(pair)
            scores[at], within[at] = results["mean_test_score"][row], results["within_1se"][row]
            chosen = at if row == estimator.best_index_ else chosen
        label = "relative strength of the penalty, s" if name == "s" else "c"
        scoring = estimator.scoring if isinstance(estimator.scoring, str) else "score"
        display = cls(scores, pairs, strengths, label, within, chosen, scoring)
        return display if ax is None else display.plot(ax)

    def plot(self, ax: Any = None) -> "StretchyGridDisplay":
        """Draw on `ax`, or on a new figure."""
        width = 1.8 + 0.75 * len(self.columns)
        ax = axes(ax, (max(4.2, width), 1.6 + 0.22 * len(self.strengths)))
        image = ax.pcolormesh(_spread(self.scores), cmap="viridis", edgecolors="none")
        self._mark(ax)
        ax.set_xticks(np.arange(len(self.columns)) + 0.5, [_label(*pair) for pair in self.columns])
        every = max(1, len(self.strengths) // 10)
        ax.set_yticks(
            np.arange(0, len(self.strengths), every) + 0.5,
            [f"{s:.0e}" for s in self.strengths[::every]],
        )
        ax.set(ylabel=self.strength_name, title="framed: chosen, dots: within one standard error")
        ax.title.set_fontsize("medium")
        label = f"{self.score_name}, greater is better (poorest quarter alike)"
        ax.figure.colorbar(image, ax=ax, label=label, extend="min")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _mark(self, ax: Any) -> None:
        from matplotlib.patches import Rectangle

        for row, column in zip(*np.nonzero(self.within), strict=True):
            ax.plot(column + 0.5, row + 0.5, "o", color="white", mec="black", mew=0.6, ms=4)
        for row, column in zip(*np.nonzero(np.isnan(self.scores)), strict=True):
            ax.add_patch(Rectangle((column, row), 1, 1, fill=False, hatch="////", ec="0.6", lw=0))
        if self.chosen[0] >= 0:
            corner = (self.chosen[1], self.chosen[0])
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, ec="black", lw=3.2))
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, ec="white", lw=1.4))


def _spread(scores: Any) -> Any:
    """Scores with the poor quarter shown alike, so that differences among the good are seen."""
    finite = scores[np.isfinite(scores)]
    return np.maximum(scores, np.quantile(finite, 0.25)) if finite.size else scores


def _label(a: float, k: float) -> str:
    return "a = 0\nlinear" if a == 0 else f"a = {a:g}\nk = {k:g}"
