"""Observed values against predictions with their intervals."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstretch.plots.canvas import axes


@dataclass
class PredictionIntervalDisplay:
    """Predictions with interval bars against observed values.

    Parameters
    ----------
    observed, predicted, lower, upper : arrays of shape (n_samples,)
    coverage : float
        The coverage that was asked for.

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
        """From a fitted regressor and data that it has not seen.

        Draws when `ax` is passed; else call `plot`.
        """
        check_is_fitted(estimator)
        predicted = estimator.predict(X)
        lower, upper = estimator.predict_interval(X, coverage=coverage, method=method)
        y = np.asarray(y)
        if predicted.ndim == 2:
            y, predicted, lower, upper = (v[:, target] for v in (y, predicted, lower, upper))
        display = cls(y, predicted, lower, upper, coverage)
        return display if ax is None else display.plot(ax)

    @property
    def covered(self) -> float:
        """The share of observed values within their interval."""
        inside = (self.lower <= self.observed) & (self.observed <= self.upper)
        return float(np.mean(inside))

    def plot(self, ax: Any = None) -> "PredictionIntervalDisplay":
        """Draw on `ax`, or on a new figure."""
        ax = axes(ax, (5.4, 5.0))
        inside = (self.lower <= self.observed) & (self.observed <= self.upper)
        finite = np.isfinite(self.lower) & np.isfinite(self.upper)
        for mask, marker, color, label in (
            (inside, "o", "0.35", "inside"),
            (~inside, "X", "#c1440e", "outside"),
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
        ax.legend(frameon=False, loc="upper left")
        self.ax_, self.figure_ = ax, ax.figure
        return self
