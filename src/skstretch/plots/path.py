"""Effects of the features along k or c, or along a wavelength axis."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstretch.plots.canvas import axes

STYLES = ("-", "--", "-.", ":")


@dataclass
class CoefficientPathDisplay:
    """How effects change along k or c.

    With `positions` (wavelengths), every value of k or c is a profile over them; without, the
    features with the largest effects are lines over k or c.

    Parameters
    ----------
    values : array of shape (n_values,)
    effects : array of shape (n_values, n_features)
        Effect of one standard deviation of each feature.
    names : list of str
    along : {"k", "c"}
    positions : array of shape (n_features,) or None
    top : int
        How many features are named.

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
        """From a fitted estimator, on the data that it was fitted on.

        `positions` may be ``"names"`` where the feature names are numbers, such as wavelengths.
        Draws when `ax` is passed; else call `plot`.
        """
        check_is_fitted(estimator)
        values, effects = estimator.effect_path(along=along, values=values)
        if effects.ndim == 3:
            effects = effects[:, target]
        names = getattr(estimator, "feature_names_in_", None)
        names = [f"x{j}" for j in range(effects.shape[1])] if names is None else list(names)
        if isinstance(positions, str):
            positions = np.array([float(name) for name in names])
        display = cls(values, effects, names, along, positions, top)
        return display if ax is None else display.plot(ax)

    def plot(self, ax: Any = None) -> "CoefficientPathDisplay":
        """Draw on `ax`, or on a new figure."""
        ax = axes(ax, (7.0, 4.2))
        ax.axhline(0, color="0.6", lw=0.8)
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
            ax.plot(self.values, self.effects[:, shown], color="0.85", lw=0.6, zorder=1)
        for i, j in enumerate(largest):
            shade = 0.85 * i / max(1, self.top)
            ax.plot(
                self.values,
                self.effects[:, j],
                STYLES[i % len(STYLES)],
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
                STYLES[i % len(STYLES)],
                color=_color(0.85 * i / max(1, len(self.values) - 1)),
                lw=1.3,
                label=f"{self.along} = {value:g}",
            )
        ax.set_xlabel("wavelength")
        ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))


def _color(shade: float) -> Any:
    from matplotlib import colormaps

    return colormaps["viridis"](shade)
