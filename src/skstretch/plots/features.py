"""Displays of features: effects with errors, paths of coefficients."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstretch import style
from skstretch.estimators.summary import SURE, feature_names
from skstretch.plots.predictions import Display, axes


@dataclass
class EffectsDisplay(Display):
    """The strongest effects of features, with bars of two standard errors.

    With `positions` (wavelengths) all effects are a curve over them, the errors a band around it.

    Parameters
    ----------
    features : ndarray of shape (n,)
        Names of the features or bands, the strongest first.
    effects : ndarray of shape (n,)
        Effects of one standard deviation.
    errors : ndarray of shape (n,)
        Their standard errors.
    stability : ndarray of shape (n,)
        The share of pairs of halves in which both halves have the sign of the model.
    positions : ndarray of shape (n,) or None, default=None
        Places of the features on an axis, such as wavelengths, in rising order.

    See Also
    --------
    skstretch.StretchyRegressorCV.effects : The table of all effects.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skstretch import StretchyRegressor
    >>> from skstretch.plots import EffectsDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = StretchyRegressor().fit(X, y)
    >>> display = EffectsDisplay.from_estimator(model, n_pairs=10, top=3)
    >>> len(display.features)
    3
    """

    features: Any
    effects: Any
    errors: Any
    stability: Any
    positions: Any = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        bands: Any = None,
        positions: Any = None,
        n_pairs: int = 50,
        groups: Any = None,
        random_state: Any = 0,
        target: int = 0,
        top: int = 20,
        ax: Any = None,
    ) -> "EffectsDisplay":
        """Find the effects of a fitted model with their errors, and draw the strongest.

        Parameters
        ----------
        estimator : StretchyRegressor, StretchyClassifier or a search
            Fitted.
        X, y : array-like or None, default=None
            The training data, for a model that does not have them.
        bands : None, int or dict, default=None
            Features to be told together, as in `effects`.
        positions : array-like of shape (n_features,), "names" or None, default=None
            Places of the features on an axis; ``"names"`` where their names are numbers.
        n_pairs : int, default=50
            Pairs of complementary halves.
        groups : array-like of shape (n_samples,) or None, default=None
            Samples of one group stay together.
        random_state : int, RandomState or None, default=0
            What halves and parts are drawn with.
        target : int, default=0
            Which of several targets or classes.
        top : int, default=20
            How many effects are drawn; with `positions` all are.
        ax : matplotlib Axes or None, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        display : EffectsDisplay
            The numbers, with ``ax_`` and ``figure_``.
        """
        check_is_fitted(estimator)
        options: Any = {"bands": bands, "groups": groups, "random_state": random_state}
        table = estimator.effects(X, y, n_pairs=n_pairs, **options)
        names = ("feature", "effect_per_sd", "standard_error", "sign_stability")
        columns = [np.asarray(table[name]) for name in names]
        size = columns[0].size
        if "target" in table:
            size //= np.unique(np.asarray(table["target"]).astype(str)).size
        columns = [column[target * size : (target + 1) * size] for column in columns]
        if positions is None:
            order = np.argsort(-np.abs(columns[1]), kind="stable")[:top]
            return cls(*(column[order] for column in columns)).plot(ax)
        along = columns[0] if isinstance(positions, str) else positions
        places = np.array([float(place) for place in along])
        order = np.argsort(places, kind="stable")
        drawn = *(column[order] for column in columns), places[order]
        return cls(*drawn).plot(ax)

    def _draw(self, ax: Any) -> Any:
        if self.positions is not None:
            return self._draw_curve(axes(ax, (7.0, 3.4)))
        places = np.arange(len(self.features))[::-1]
        ax = axes(ax, (5.4, 1.2 + 0.26 * len(places)))
        stable = self.stability >= SURE
        for mask, color, label in (
            (stable, style.MARK, f"sign the same in {SURE:.0%} of pairs of halves"),
            (~stable, style.RUST, "sign less sure"),
        ):
            if mask.any():
                sides, looks = 2 * self.errors[mask], {"fmt": "o", "color": color, "ms": 4}
                drawn = self.effects[mask], places[mask]
                ax.errorbar(*drawn, xerr=sides, **looks, lw=1.2, label=f"{label}: {mask.sum()}")
        ax.axvline(0.0, color="black", lw=1)
        ax.set_yticks(places, [str(name) for name in self.features])
        ax.set(xlabel="effect of one standard deviation, ± 2 standard errors")
        ax.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.2))
        return ax

    def _draw_curve(self, ax: Any) -> Any:
        """Effects along the positions of the features, and dots where the sign is stable."""
        low, high = (self.effects + side * 2 * self.errors for side in (-1, 1))
        ax.axhline(0.0, color="black", lw=1)
        ax.fill_between(self.positions, low, high, color=style.BLUE, alpha=0.25, lw=0)
        ax.plot(self.positions, self.effects, color=style.BLUE, lw=1.2, label="± 2 standard errors")
        stable = self.stability >= SURE
        label = f"sign the same in {SURE:.0%} of pairs of halves: {stable.sum()}"
        ax.plot(self.positions[stable], self.effects[stable], ".", color=style.MARK, label=label)
        ax.set(xlabel="position of the feature", ylabel="effect of one standard deviation")
        ax.legend(frameon=False, fontsize="small")
        return ax


@dataclass
class CoefficientPathDisplay(Display):
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
        names = feature_names(estimator)
        if isinstance(positions, str):
            positions = np.array([float(name) for name in names])
        return cls(values, effects, names, along, positions, top, _whose(estimator)).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = axes(ax, (7.0, 4.2))
        from matplotlib import colormaps

        ax.axhline(0, color=style.GUIDE, lw=0.8)
        if self.positions is None:
            order = np.argsort(-np.abs(self.effects).max(axis=0))
            # a few hundred grey lines say as much as a hundred thousand
            others = self.effects[:, order[self.top : self.top + 300]]
            ax.plot(self.values, others, color=style.FAINT, lw=0.6, zorder=1)
            x, width, steps, label = self.values, 1.8, self.top, self.along
            curves = [(self.names[j], self.effects[:, j]) for j in order[: self.top]]
            if self.along == "c":
                ax.set_xscale("log")
        else:
            x, width, steps, label = self.positions, 1.3, len(self.values) - 1, "wavelength"
            names = [f"{self.along} = {value:g}" for value in self.values]
            curves = [*zip(names, self.effects, strict=True)]
        for i, (name, effects) in enumerate(curves):
            dash = style.DASHES[i % len(style.DASHES)]
            color = colormaps[style.COLORMAP](0.85 * i / max(1, steps))
            ax.plot(x, effects, dash, color=color, lw=width, label=name)
        ax.set(xlabel=label, ylabel="effect of one standard deviation")
        ax.set_title(self.title, fontsize="medium")
        ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
        return ax


def _whose(estimator: Any) -> str:
    """Of an average, the candidate that is followed: its heaviest."""
    table = getattr(estimator, "weights_", None)
    if table is None or len(table["weight"]) < 2:
        return ""
    a, k, share = (float(np.ravel(np.asarray(table[name]))[0]) for name in ("a", "k", "weight"))
    return f"path of the heaviest model of the average: a = {a:g}, k = {k:g}, weight {share:.0%}"
