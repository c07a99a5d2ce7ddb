"""The features that make one prediction what it is."""

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstretch import style
from skstretch.style import axes


@dataclass
class ContributionsDisplay:
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
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

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
        names = getattr(estimator, "feature_names_in_", None)
        names = [f"x{j}" for j in range(shares.size)] if names is None else list(names)
        return cls(shares, float(base), names, _checked_numbers(row), output, top).plot(ax)

    @property
    def prediction(self) -> float:
        """The prediction of the sample: base plus all contributions."""
        return float(self.base + np.sum(self.contributions))

    @property
    def strongest(self) -> Any:
        """Places of the features with a bar of their own, the strongest first."""
        order = np.argsort(-np.abs(self.contributions), kind="stable")[: self.top]
        return order[self.contributions[order] != 0.0]

    def plot(self, ax: Any = None) -> "ContributionsDisplay":
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        display : ContributionsDisplay
            Itself.
        """
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
        ax.barh(places, sizes, color=colors, height=0.66)
        ax.axvline(0, color=style.GUIDE, lw=0.8)
        ax.set_yticks(places, labels)
        ax.invert_yaxis()
        title = f"{self.output}: {style.number(self.prediction)}, mean {style.number(self.base)}"
        ax.set(xlabel=f"contribution to the {self.output.partition(' ')[0]}", title=title)
        ax.title.set_fontsize("medium")
        for place, size in enumerate(sizes):
            self._write(ax, place, size)
        ax.margins(x=0.22)  # for the numbers beside the bars
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _label(self, j: int) -> str:
        if self.values is None:
            return str(self.names[j])
        return f"{self.names[j]} = {style.number(self.values[j])}"

    def _write(self, ax: Any, place: int, size: float) -> None:
        """The number at the end of a bar."""
        right = size >= 0
        text = f"+{style.number(size)}" if right else style.number(size)
        side = "left" if right else "right"
        shift = (4 if right else -4, 0)
        ax.annotate(
            text,
            (size, place),
            shift,
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize="small",
            color=style.MARK,
        )


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


def _checked_numbers(row: Any) -> Any:
    """The numbers of one row, (n_features,)."""
    dense = row.toarray() if hasattr(row, "toarray") else row
    return np.asarray(dense, dtype=float).reshape(-1)
