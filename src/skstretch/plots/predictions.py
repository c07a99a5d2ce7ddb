"""Displays of predictions: with their intervals, and as sums of what features contribute."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstretch import style
from skstretch.estimators.summary import feature_names


class Display:
    """What holds numbers and draws them; ``ax_`` and ``figure_`` are what was drawn on last."""

    ax_: Any = None
    figure_: Any = None

    def _draw(self, ax: Any) -> Any:
        """Draw, and say on which axes: None asks for new ones."""
        raise NotImplementedError

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        display : Display
            Itself.
        """
        self.ax_ = self._draw(ax)
        self.figure_ = self.ax_.figure
        return self


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
class PredictionIntervalDisplay(Display):
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
    def _inside(self) -> Any:
        """Which observed values are within their interval."""
        return (self.lower <= self.observed) & (self.observed <= self.upper)

    @property
    def covered(self) -> float:
        """The share of observed values within their interval."""
        return float(np.mean(self._inside))

    def _draw(self, ax: Any) -> Any:
        ax = axes(ax, (5.4, 5.0))
        inside, finite = self._inside, np.isfinite(self.lower) & np.isfinite(self.upper)
        for mask, marker, size, color, label in (
            (inside, "o", 3.5, style.MARK, "inside"),
            (~inside, "X", 5, style.RUST, "outside"),
        ):
            bars = mask & finite
            at, low, high = (ends[bars] for ends in (self.observed, self.lower, self.upper))
            ax.vlines(at, low, high, color=color, alpha=0.3, lw=1)
            looks = {"color": color, "ms": size, "mec": "white", "mew": 0.4}
            points = self.observed[mask], self.predicted[mask]
            ax.plot(*points, marker, **looks, label=f"{label}: {mask.sum()}")
        ends = [np.min(self.observed), np.max(self.observed)]
        ax.plot(ends, ends, color="black", lw=1, ls="--", label="prediction = observation")
        ax.set(
            xlabel="observed",
            ylabel=f"predicted, with {self.coverage:.0%} interval",
            title=f"{self.covered:.1%} of {self.observed.size} observations inside",
        )
        ax.title.set_fontsize("medium")
        # below the axes: bars and points leave no corner free
        below: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.12), "ncols": 3}
        ax.legend(frameon=False, fontsize="small", **below)
        return ax


@dataclass
class ContributionsDisplay(Display):
    """The strongest contributions to one prediction, as horizontal bars.

    From the mean prediction of the training data the bars lead to the prediction of the sample: to
    the right they raise it, to the left they lower it. What is not drawn is added up in the last
    bar.

    Parameters
    ----------
    contributions : ndarray of shape (n_features,)
        The share of every feature in the prediction.
    base : float
        What contributions are added to: the mean prediction.
    names : list of str
        Names of the features.
    values : ndarray of shape (n_features,) or None, default=None
        What was measured of the sample; written beside the names.
    output : str, default="prediction"
        What is explained.
    top : int, default=10
        How many features have a bar of their own.

    See Also
    --------
    skstretch.StretchyRegressorCV.contributions : The numbers alone, of many samples.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skstretch import StretchyRegressor
    >>> from skstretch.plots import ContributionsDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = StretchyRegressor().fit(X, y)
    >>> display = ContributionsDisplay.from_estimator(model, X[:1])
    >>> bool(abs(display.prediction - model.predict(X[:1])[0]) < 1e-9)
    True
    """

    contributions: Any
    base: float
    names: list[str]
    values: Any = None
    output: str = "prediction"
    top: int = 10

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        sample: int = 0,
        target: int = 0,
        top: int = 10,
        ax: Any = None,
    ) -> "ContributionsDisplay":
        """Explain the prediction of a fitted estimator for one sample.

        Parameters
        ----------
        estimator : estimator
            One of the four, fitted.
        X : array-like of shape (n_samples, n_features)
            Samples, in any container that `predict` takes.
        sample : int, default=0
            Which row of X.
        target : int, default=0
            Which of several targets or classes.
        top : int, default=10
            How many features have a bar of their own.
        ax : matplotlib Axes or None, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        display : ContributionsDisplay
            The numbers, with ``ax_`` and ``figure_``.
        """
        check_is_fitted(estimator)
        row = _one_row(X, sample)
        shares = np.asarray(estimator.contributions(row))[0]
        base, output = estimator.contributions_base_, "prediction"
        classes = getattr(estimator, "classes_", None)
        if classes is not None:
            output = f"score of {classes[target if shares.ndim == 2 else 1]}"
        if shares.ndim == 2:
            shares, base = shares[:, target], base[target]
            output = f"target {target}" if classes is None else output
        values = np.ravel(row.toarray() if hasattr(row, "toarray") else row).astype(float)
        names = feature_names(estimator)
        return cls(shares, float(base), names, values, output, top).plot(ax)

    @property
    def prediction(self) -> float:
        """The prediction of the sample: base plus all contributions."""
        return float(self.base + np.sum(self.contributions))

    @property
    def strongest(self) -> Any:
        """Places of the features with a bar of their own, the strongest first."""
        order = np.argsort(-np.abs(self.contributions), kind="stable")[: self.top]
        return order[self.contributions[order] != 0.0]

    def _draw(self, ax: Any) -> Any:
        own = self.strongest
        sizes, labels = [float(self.contributions[j]) for j in own], [self._label(j) for j in own]
        others = np.count_nonzero(self.contributions) - own.size
        if others:
            sizes.append(float(np.sum(self.contributions) - np.sum(sizes)))
            labels.append(f"{others:,} other{'s' if others > 1 else ''}")
        ax = axes(ax, (6.4, 1.5 + 0.3 * max(1, len(sizes))))
        places = np.arange(len(sizes))
        colors = [style.BLUE if size > 0 else style.RUST for size in sizes]
        if others:
            colors[-1] = style.GREY
        bars = ax.barh(places, sizes, color=colors, height=0.66)
        written = [f"{'+' if size >= 0 else ''}{style.number(size)}" for size in sizes]
        ax.bar_label(bars, written, padding=4, fontsize="small", color=style.MARK)
        ax.axvline(0, color=style.GUIDE, lw=0.8)
        ax.set_yticks(places, labels)
        ax.invert_yaxis()
        title = f"{self.output}: {style.number(self.prediction)}, mean {style.number(self.base)}"
        ax.set(xlabel=f"contribution to the {self.output.partition(' ')[0]}", title=title)
        ax.title.set_fontsize("medium")
        ax.margins(x=0.22)  # for the numbers beside the bars
        ax.locator_params(axis="x", nbins=5)  # long ones, as of -0.0075, do not touch
        return ax

    def _label(self, j: int) -> str:
        if self.values is None:
            return str(self.names[j])
        return f"{self.names[j]} = {style.number(self.values[j])}"


def _one_row(X: Any, sample: Any) -> Any:
    """One row of samples in any container, still with two axes."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if not isinstance(sample, Integral) or not -n <= int(sample) < n:
        raise ValueError(f"sample={sample!r} is not a row of X, which has rows 0 to {n - 1}.")
    at = int(sample) % n
    if hasattr(X, "iloc"):
        return X.iloc[at : at + 1]
    row = X[at : at + 1]
    return row.compute() if hasattr(row, "compute") else row
