"""Effects of features with their errors and the stability of their signs."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstretch import style
from skstretch.estimators.summary import SURE
from skstretch.style import axes


@dataclass
class EffectsDisplay:
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
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

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

    def plot(self, ax: Any = None) -> "EffectsDisplay":
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        display : EffectsDisplay
            Itself.
        """
        if self.positions is not None:
            return self._plot_curve(axes(ax, (7.0, 3.4)))
        places = np.arange(len(self.features))[::-1]
        ax = axes(ax, (5.4, 1.2 + 0.26 * len(places)))
        stable = self.stability >= SURE
        for mask, color, label in (
            (stable, style.MARK, f"sign the same in {SURE:.0%} of pairs of halves"),
            (~stable, style.RUST, "sign less sure"),
        ):
            if mask.any():
                ax.errorbar(
                    self.effects[mask],
                    places[mask],
                    xerr=2 * self.errors[mask],
                    fmt="o",
                    color=color,
                    ms=4,
                    lw=1.2,
                    label=f"{label}: {mask.sum()}",
                )
        ax.axvline(0.0, color="black", lw=1)
        ax.set_yticks(places, [str(name) for name in self.features])
        ax.set(xlabel="effect of one standard deviation, ± 2 standard errors")
        ax.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.2))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _plot_curve(self, ax: Any) -> "EffectsDisplay":
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
        self.ax_, self.figure_ = ax, ax.figure
        return self
