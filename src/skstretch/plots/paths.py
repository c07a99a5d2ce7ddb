"""Effects along k or c."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstretch import style
from skstretch.style import axes


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
    title : str, default=""
        Of an average, whose path it is.

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
    title: str = ""
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
        return cls(values, effects, names, along, positions, top, _whose(estimator)).plot(ax)

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
        ax.set_title(self.title, fontsize="medium")
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


def _whose(estimator: Any) -> str:
    """Of an average, the candidate that is followed: its heaviest."""
    table = getattr(estimator, "weights_", None)
    if table is None or len(table["weight"]) < 2:
        return ""
    a, k, share = (float(np.ravel(np.asarray(table[name]))[0]) for name in ("a", "k", "weight"))
    return f"path of the heaviest model of the average: a = {a:g}, k = {k:g}, weight {share:.0%}"


def _color(shade: float) -> Any:
    from matplotlib import colormaps

    return colormaps[style.COLORMAP](shade)
