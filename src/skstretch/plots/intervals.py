"""Predictions with their intervals against observed values."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstretch import style
from skstretch.style import axes


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
