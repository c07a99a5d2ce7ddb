"""Several ways to prepare the same data, each searched, all of them mixed."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from skstretch._version import Versioned
from skstretch.core.types import Array
from skstretch.estimators.regressor_cv import StretchyRegressorCV
from skstretch.features import SpectralFilter
from skstretch.search.mix import regression_weights, residual_moments

RULES = ("mix", "best")


def spectral_recipes(n_features: int) -> dict[str, Any]:
    """What is usually tried on spectra, as far as its windows fit into the columns."""
    first = {"derivative": 1, "window": 11}
    second = {"derivative": 2, "window": 15}
    listed: dict[str, dict[str, Any]] = {
        "as measured": {},
        "snv": {"snv": True},
        "snv, detrended": {"snv": True, "detrend": 2},
        "first derivative": first,
        "second derivative": second,
        "snv, first derivative": {"snv": True, **first},
        "snv, second derivative": {"snv": True, **second},
    }
    return {
        name: SpectralFilter(**parameters)
        for name, parameters in listed.items()
        if parameters.get("window", 3) <= n_features
    }


class RecipeRegressorCV(RegressorMixin, Versioned, BaseEstimator):
    """Prepare spectra in several ways, search each of them, and mix or choose by left-out errors.

    Every recipe is a step before its own search. All searches leave out the same samples, and their
    out-of-fold residuals give the recipes weights as `StretchyRegressorCV` gives them to its
    families: not negative, with sum one, of least squared error plus a pull towards equal weights
    of the recipes that are not plainly worse. The prediction is the weighted mean.

    Parameters
    ----------
    estimator : StretchyRegressorCV or None, default=None
        The search of every recipe; None is ``StretchyRegressorCV(nested=False)``.
    recipes : "spectra" or dict of str to transformer, default="spectra"
        What is tried. ``"spectra"``: as measured, standard normal variate, that and detrending,
        first and second derivatives, and these after the standard normal variate, with
        `SpectralFilter`. A recipe should look at one row at a time, as that does: what a recipe
        learns from the rows, it has learned from the left-out ones too.
    rule : {"mix", "best"}, default="mix"
        Mix the recipes, or take the one of least left-out error.

    Attributes
    ----------
    pipelines_ : dict of str to sklearn.pipeline.Pipeline
        The fitted recipes, each with its search; `save` writes any of them.
    weights_ : dict of str to float or ndarray of shape (n_targets,)
        The weight of every recipe.
    errors_ : dict of str to float
        Mean squared error of the out-of-fold predictions of every recipe.
    best_recipe_ : str
        The one of least error.
    cv_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Out-of-fold predictions of the mixture.
    best_score_ : float
        Minus their mean squared error. The weights have seen every sample: judge the whole with
        folds around it.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, only where X has some.

    See Also
    --------
    SpectralFilter : What the recipes are made of.
    StretchyRegressorCV : The search of one recipe.

    Examples
    --------
    >>> from skstretch import RecipeRegressorCV, SpectralFilter, StretchyRegressorCV
    >>> from skstretch.datasets import make_spectra
    >>> X, y = make_spectra(40, return_X_y=True)
    >>> recipes = {"raw": SpectralFilter(), "slope": SpectralFilter(derivative=1)}
    >>> ridge = StretchyRegressorCV(a_grid=(0,), k_grid=(2,), density_grid=(1.0,), nested=False)
    >>> model = RecipeRegressorCV(ridge, recipes).fit(X, y)
    >>> round(sum(model.weights_.values()), 12)
    1.0
    """

    def __init__(self, estimator: Any = None, recipes: Any = "spectra", *, rule: str = "mix"):
        self.estimator = estimator
        self.recipes = recipes
        self.rule = rule

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> "RecipeRegressorCV":
        """Search every recipe, then weigh them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Spectra, one in a row.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            A weight of w counts as w repetitions of the sample.
        groups : array-like of shape (n_samples,) or None, default=None
            Samples that are left out together.

        Returns
        -------
        self : RecipeRegressorCV
            Fitted.
        """
        if self.rule not in RULES:
            raise ValueError(f"rule={self.rule!r} is not known: use one of {', '.join(RULES)}.")
        validate_data(self, X, skip_check_array=True)
        own = StretchyRegressorCV(nested=False) if self.estimator is None else self.estimator
        given = {"sample_weight": sample_weight, "groups": groups}
        params = {f"model__{name}": v for name, v in given.items() if v is not None}
        self.pipelines_ = {}
        for name, step in self._checked_recipes(X).items():
            made = Pipeline([("recipe", clone(step)), ("model", clone(own))])
            self.pipelines_[name] = made.fit(X, y, **params)
        self._weigh(y, sample_weight)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _checked_recipes(self, X: Any) -> dict[str, Any]:
        if isinstance(self.recipes, str) and self.recipes == "spectra":
            return spectral_recipes(np.shape(X)[1] if np.ndim(X) == 2 else 0)
        if not isinstance(self.recipes, dict) or not self.recipes:
            raise ValueError(
                f'recipes={self.recipes!r:.80} must be "spectra" or a dict of named transformers.'
            )
        return self.recipes

    def _weigh(self, y: Any, sample_weight: Any) -> None:
        """Weights from the out-of-fold residuals, for every target on its own."""
        found = [pipe[-1].cv_predictions_ for pipe in self.pipelines_.values()]
        Y = np.asarray(y, dtype=np.float64).reshape(found[0].shape)
        outputs = np.array(found).reshape(len(found), len(Y), -1)
        residuals = Y.reshape(outputs.shape[1:]) - outputs
        v = np.ones(len(Y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        tested = (v > 0) & np.isfinite(residuals).all(axis=(0, 2))
        residuals, v = residuals[:, tested], v[tested]
        shares = np.array([_shares(residuals[:, :, [j]], v) for j in range(outputs.shape[2])]).T
        losses = np.average(np.square(residuals).mean(axis=2), axis=1, weights=v)
        if self.rule == "best":
            shares = np.zeros_like(shares)
            shares[int(losses.argmin())] = 1.0
        names = [*self.pipelines_]
        self.errors_ = dict(zip(names, losses.tolist(), strict=True))
        self.best_recipe_ = names[int(losses.argmin())]
        single = Y.ndim == 1
        self.weights_ = {
            n: float(s[0]) if single else s for n, s in zip(names, shares, strict=True)
        }
        mixed = (shares[:, None, :] * outputs).sum(axis=0)
        self.cv_predictions_ = mixed.reshape(Y.shape)
        left = np.square(Y.reshape(mixed.shape) - mixed)[tested].mean(axis=1)
        self.best_score_ = -float(np.average(left, weights=v))

    def predict(self, X: Any) -> Array:
        """The weighted mean of the predictions of the recipes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Spectra, one in a row.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions.
        """
        check_is_fitted(self)
        parts = [
            weight * self.pipelines_[name].predict(X)
            for name, weight in self.weights_.items()
            if np.any(weight)
        ]
        return np.asarray(sum(parts[1:], start=parts[0]))


def _shares(residuals: Array, weights: Array) -> Array:
    """Weights of the recipes from residuals (R, n, 1), by the rule that mixes families."""
    flat = np.zeros(len(residuals))
    return regression_weights(residual_moments(residuals, weights, flat), float(weights.sum()))
