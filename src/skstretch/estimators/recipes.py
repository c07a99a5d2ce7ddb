"""Several ways to prepare the same data, each searched, all of them mixed into one model."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from skstretch._version import Versioned
from skstretch.core.types import Array
from skstretch.estimators.classifier import StretchyClassifierCV
from skstretch.estimators.inputs import check_among
from skstretch.estimators.nested import nested_score
from skstretch.estimators.regressor import StretchyRegressorCV
from skstretch.estimators.samples import notice
from skstretch.estimators.search import SearchResult, joined
from skstretch.estimators.state import (
    named_model,
    names_of_today,
    steps_before,
    transformed,
    whole_or_nothing,
)
from skstretch.estimators.summary import feature_names
from skstretch.features import SpectralFilter
from skstretch.search import Mix
from skstretch.search.choice import class_weights, regression_weights, squared_errors

RULES = ("average", "best")


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
        if parameters.get("window", 3 if parameters else 1) <= n_features
    }


def bands_by_recipe(model: Any, asked: Any) -> Any:
    """A number of bands as the features of each: so many in every recipe, and none across two."""
    last = steps_before(model)[-1:]
    places = getattr(last[0], "output_indices_", {}) if last else {}
    recipes = [np.arange(own.start, own.stop) for own in places.values() if own.stop > own.start]
    whole = not isinstance(asked, bool) and isinstance(asked, Integral)
    if not whole or len(recipes) < 2:
        return asked
    least, names = min(each.size for each in recipes), feature_names(named_model(model))
    if not 1 <= int(asked) <= least:
        raise ValueError(f"bands={asked} must lie between 1 and the {least} features of a recipe.")
    pieces = [piece for each in recipes for piece in np.array_split(each, int(asked))]
    return {f"{names[piece[0]]} .. {names[piece[-1]]}": piece.tolist() for piece in pieces}


class Recipes(Versioned, BaseEstimator):
    """What recipes for numbers and for classes share."""

    own: Any  # the class of the searches

    @names_of_today
    def __init__(
        self, estimator: Any = None, recipes: Any = "spectra", *, combine: str = "average"
    ):
        self.estimator = estimator
        self.recipes = recipes
        self.combine = combine

    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
        """Search every recipe, then weigh them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Spectra, one in a row.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets, or classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            A weight of w counts as w repetitions of the sample.
        groups : array-like of shape (n_samples,) or None, default=None
            Samples that are left out together.

        Returns
        -------
        self : RecipeRegressorCV or RecipeClassifierCV
            Fitted.
        """
        check_among("combine", self.combine, RULES)
        X = self._checked(X, reset=True)
        steps = self._checked_recipes()
        every = slice(0, self.n_features_in_)
        bank = ColumnTransformer([(name, clone(step), every) for name, step in steps.items()])
        Z = np.asarray(bank.fit_transform(X))
        own = self._search_of_one()
        given = {} if groups is None else {"groups": groups}
        models, parts, mixes = [], [], []
        for name in steps:
            model = clone(own)
            block = Z[:, bank.output_indices_[name]]
            with model._searching(block, y, sample_weight, given) as found:
                mixes.append(model._conclude(found))
            models.append(model)
            parts.append(found)
        self._join(own, bank, Z, models, parts, mixes)
        notice(self.pipeline_[-1], grouped=groups is not None)
        if own.nested_cv is not None:  # of the whole, recipes and their weights included
            found = nested_score(self, X, y, own.nested_cv, sample_weight, groups)
            for model in (self, self.pipeline_[-1]):
                found.store(model)
        return self

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """X with the columns that are expected; a frame stays one, for recipes that know names."""
        if hasattr(X, "columns"):
            validate_data(self, X, skip_check_array=True, reset=reset)
            return X
        dtypes = (np.float64, np.float32)
        return validate_data(self, X, reset=reset, dtype=dtypes, ensure_all_finite="allow-nan")

    def _search_of_one(self) -> Any:
        own = self.own() if self.estimator is None else clone(self.estimator)
        if not isinstance(own, self.own):
            raise TypeError(
                f"estimator={self.estimator!r:.80} is no {self.own.__name__}, which every recipe "
                "needs for its search."
            )
        if hasattr(own.cv, "__next__"):  # splits that can be had once
            own.set_params(cv=list(own.cv))
        return own

    def _join(
        self,
        own: Any,
        bank: Any,
        Z: Array,
        models: Sequence[Any],
        parts: Sequence[SearchResult],
        mixes: Sequence[Mix],
    ) -> None:
        """One model of all recipes, whose features stand side by side; stored at the very end."""
        names = [name for name, *_ in bank.transformers]
        per_feature = {
            name: np.tile(getattr(own, name), len(names))
            for name in ("b", "penalty_factor")
            if getattr(own, name) is not None and np.ndim(getattr(own, name))
        }
        model = clone(own).set_params(nested_cv=None, verbose=0, **per_feature)
        model._read(Z, parts[0].targets.y, None)
        model.plan_ = models[0].plan_  # that of every recipe
        together = joined(parts, names, Z, model.b)
        outputs = [one.table.outputs(mix) for one, mix in zip(parts, mixes, strict=True)]
        losses = np.array([-parts[0].table.loss(each).score for each in outputs])
        shares = self._shares(parts[0], np.array(outputs), losses)
        whole: Mix = {}
        for number, mix in enumerate(mixes):
            start = together.first_row(number)
            whole |= {
                start + row: shares[number] * weight
                for row, weight in mix.items()
                if (shares[number] * weight).any()
            }
        model._conclude(together, whole)
        steps = bank.named_transformers_
        self.pipelines_ = {
            name: Pipeline([("recipe", steps[name]), ("model", each)])
            for name, each in zip(names, models, strict=True)
        }
        self.pipeline_ = Pipeline([("recipes", bank), ("model", model)])
        self.errors_ = dict(zip(names, losses.tolist(), strict=True))
        self.best_recipe_ = names[int(losses.argmin())]
        alike = (shares == shares[:, :1]).all() and parts[0].targets.single
        self.weights_ = {
            name: float(share[0]) if alike else share
            for name, share in zip(names, shares, strict=True)
        }
        self.cv_predictions_, self.best_score_ = model.cv_predictions_, model.best_score_

    def _shares(self, part: SearchResult, outputs: Array, losses: Array) -> Array:
        """Weights (R, t) of the recipes from their out-of-fold outputs (R, n, t) and losses (R)."""
        table, t = part.table, outputs.shape[2]
        if self.combine == "best":
            return np.outer(np.arange(losses.size) == losses.argmin(), np.ones(t)).astype(float)
        n = float(table.weights[table.seen].sum())
        if table.problem.classes:
            return np.outer(class_weights(losses, n), np.ones(t))
        tested, flat = table.weights[table.problem.folds.tested], np.zeros(len(outputs))
        residuals = table.true - outputs
        errors = [squared_errors(residuals[:, :, [j]], tested, flat, n) for j in range(t)]
        return np.array([regression_weights(each, n) for each in errors]).T

    def _checked_recipes(self) -> dict[str, Any]:
        if isinstance(self.recipes, str) and self.recipes == "spectra":
            return spectral_recipes(self.n_features_in_)
        if not isinstance(self.recipes, dict) or not self.recipes:
            raise ValueError(
                f'recipes={self.recipes!r:.80} must be "spectra" or a dict of named transformers.'
            )
        return self.recipes

    def effects(self, **options: Any) -> Any:
        """Tell the effects of the transformed features of all recipes, with errors and stability.

        Parameters
        ----------
        **options
            As in `StretchyRegressorCV.effects`; bands name transformed features, and a number of
            them is that of each recipe.

        Returns
        -------
        effects : pandas.DataFrame or dict
            The table.
        """
        check_is_fitted(self)
        bands = bands_by_recipe(self.pipeline_, options.get("bands"))
        return self.pipeline_[-1].effects(**options | {"bands": bands})

    def novelty(self, X: Any) -> Any:
        """Tell whether new samples are like those that the model was fitted to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Spectra, one in a row.

        Returns
        -------
        novelty : pandas.DataFrame or dict
            As `StretchyRegressorCV.novelty` of the transformed features of all recipes.
        """
        return self._told("novelty", X)

    def predict(self, X: Any) -> Any:
        """Predict by the average of all recipes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Spectra, one in a row.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions.
        """
        return self._told("predict", X)

    def _told(self, what: str, X: Any, /, *given: Any, **options: Any) -> Any:
        """What the model of all recipes says of their features."""
        check_is_fitted(self)
        seen = transformed(self.pipeline_, self._checked(X, reset=False))
        return getattr(self.pipeline_[-1], what)(seen, *given, **options)


class RecipeRegressorCV(RegressorMixin, Recipes):
    """Prepare spectra in several ways, search each of them, and average or choose.

    Every recipe is a step before its own search. All searches leave out the same samples, and their
    out-of-fold residuals give the recipes weights as `StretchyRegressorCV` gives them to its
    candidates: nearly equal ones, but for recipes that are plainly worse. The prediction is the
    weighted mean.

    Parameters
    ----------
    estimator : StretchyRegressorCV or None, default=None
        The search of every recipe; None is ``StretchyRegressorCV()``.
    recipes : "spectra" or dict of str to transformer, default="spectra"
        What is tried. ``"spectra"``: as measured, standard normal variate, that and detrending,
        first and second derivatives, and these after the standard normal variate, with
        `SpectralFilter`. A recipe should look at one row at a time, as that does: what a recipe
        learns from the rows, it has learned from the left-out ones too.
    combine : {"average", "best"}, default="average"
        Average the recipes, or take the one of least left-out error.

    Attributes
    ----------
    pipeline_ : sklearn.pipeline.Pipeline
        The whole as one model: the features of all recipes side by side, and a
        `StretchyRegressorCV` that averages candidates of all of them. `save` and `to_onnx` write
        it, reports show it.
    pipelines_ : dict of str to sklearn.pipeline.Pipeline
        The fitted recipes, each with its own search.
    weights_ : dict of str to float or ndarray of shape (n_targets,)
        The weight of every recipe.
    errors_ : dict of str to float
        Mean squared error of the out-of-fold predictions of every recipe, or what `scoring` of
        the estimator loses.
    best_recipe_ : str
        The one of least error.
    cv_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Out-of-fold predictions of the average, of counts rates.
    best_score_ : float
        Minus their mean squared error. The weights have seen every sample.
    nested_score_, nested_score_se_, nested_predictions_ : float, float, ndarray
        Where the estimator has a `nested_cv`: all recipes searched and weighed again without each
        fold, which the result then predicts.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, only where X has some.

    See Also
    --------
    RecipeClassifierCV : The same for classes.
    SpectralFilter : What the recipes are made of.
    StretchyRegressorCV : The search of one recipe.

    Examples
    --------
    >>> from skstretch import RecipeRegressorCV, SpectralFilter, StretchyRegressorCV
    >>> from skstretch.datasets import make_spectra
    >>> X, y = make_spectra(40, return_X_y=True)
    >>> recipes = {"raw": SpectralFilter(), "slope": SpectralFilter(derivative=1)}
    >>> ridge = StretchyRegressorCV(a_grid=(0,), k_grid=(2,), n_features_to_select=1.0)
    >>> model = RecipeRegressorCV(ridge, recipes).fit(X, y)
    >>> round(sum(model.weights_.values()), 12)
    1.0
    """

    own = StretchyRegressorCV

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict_interval(
        self, X: Any, coverage: Any = 0.9, method: str = "plus", *, adaptive: bool = False
    ) -> tuple[Array, Array]:
        """Find bounds between which a new observation falls with the given probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Spectra, one in a row.
        coverage : float, default=0.9
            How often a new observation should lie between the bounds.
        method : {"plus", "residual"}, default="plus"
            As in `StretchyRegressorCV`: leaving a sample out leaves it out of every recipe.
        adaptive : bool, default=False
            Let the width follow the sample, as in `StretchyRegressorCV`.

        Returns
        -------
        lower, upper : ndarray
            Bounds in the shape of ``predict(X)``.
        """
        own = {"method": method, "adaptive": adaptive}
        lower, upper = self._told("predict_interval", X, coverage, **own)
        return lower, upper


class RecipeClassifierCV(ClassifierMixin, Recipes):
    """Prepare spectra in several ways, search each of them, and average or choose.

    As `RecipeRegressorCV`, for classes: recipes are weighed by the log losses of their out-of-fold
    scores, as `StretchyClassifierCV` weighs its candidates.

    Parameters
    ----------
    estimator : StretchyClassifierCV or None, default=None
        The search of every recipe; None is ``StretchyClassifierCV()``.
    recipes : "spectra" or dict of str to transformer, default="spectra"
        What is tried, as in `RecipeRegressorCV`.
    combine : {"average", "best"}, default="average"
        Average the recipes, or take the one of least left-out loss.

    Attributes
    ----------
    pipeline_ : sklearn.pipeline.Pipeline
        The whole as one model, which `save` and `to_onnx` write.
    pipelines_ : dict of str to sklearn.pipeline.Pipeline
        The fitted recipes, each with its own search.
    weights_ : dict of str to float or ndarray
        The weight of every recipe.
    errors_ : dict of str to float
        Log loss of the out-of-fold scores of every recipe, or what `scoring` loses.
    best_recipe_ : str
        The one of least error.
    cv_predictions_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Out-of-fold scores of the average.
    best_score_ : float
        Their score, the balanced accuracy by default.
    nested_score_, nested_score_se_, nested_predictions_ : float, float, ndarray
        As in `RecipeRegressorCV`.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, only where X has some.

    See Also
    --------
    RecipeRegressorCV : The same for numbers.

    Examples
    --------
    >>> from skstretch import RecipeClassifierCV, SpectralFilter, StretchyClassifierCV
    >>> from skstretch.datasets import make_spectra
    >>> X, y = make_spectra(40, return_X_y=True)
    >>> recipes = {"raw": SpectralFilter(), "slope": SpectralFilter(derivative=1)}
    >>> ridge = StretchyClassifierCV(a_grid=(0,), k_grid=(2,), n_features_to_select=1.0)
    >>> model = RecipeClassifierCV(ridge, recipes).fit(X, y > y.mean())
    >>> model.predict_proba(X).shape
    (40, 2)
    """

    own = StretchyClassifierCV

    @property
    def classes_(self) -> Any:
        """The classes."""
        return self.pipeline_[-1].classes_

    def predict_proba(self, X: Any) -> Array:
        """Predict probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Spectra, one in a row.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return np.asarray(self._told("predict_proba", X))

    def decision_function(self, X: Any) -> Array:
        """Score new samples, the cut already subtracted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Spectra, one in a row.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As those of `StretchyClassifierCV`.
        """
        return np.asarray(self._told("decision_function", X))
