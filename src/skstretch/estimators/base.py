"""Contributions of single features to the predictions of a fitted model.

What all estimators share once they are fitted: outputs for new data, and paths of effects.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstretch.core.gram import Frame
from skstretch.core.quadrant import Quadrant, base_values
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array
from skstretch.designs import (
    Design,
    WideDesign,
    as_design,
    computed_rows,
    factored,
    is_dask,
    lazy_outputs,
    tidy,
)
from skstretch.designs.as_design import Curves, contributions, lazy_contributions
from skstretch.designs.dask.run import check_at_hand
from skstretch.designs.source import dense_values
from skstretch.estimators.effects import effects_of
from skstretch.estimators.inputs import Targets, check_among, checked_X, given_factors
from skstretch.estimators.mixture import Mixture
from skstretch.estimators.samples import novelty_of
from skstretch.estimators.state import Learner
from skstretch.estimators.summary import Summary, feature_names
from skstretch.exceptions import RowsForgottenError
from skstretch.solve import FittedModel, coefficient_path

NO_BACKGROUND = (
    "contributions are told from the mean of every transformed feature over the training data, "
    "which this model does not have (it was loaded from a file): pass background=X with the "
    "training data, or any samples that predictions should be compared with."
)


def curves_of(model: Any, background: Any = None) -> list[Curves]:
    """The curves of a fitted model about a background: validated X, or the training data."""
    terms = model._terms()
    if background is None:
        try:
            means = model._state.feature_means
        except RowsForgottenError as error:
            raise RowsForgottenError(NO_BACKGROUND) from error
    else:
        means = [_means(background, quadrant, coef) for quadrant, coef in terms]
    return [Curves(q, mean, coef) for (q, coef), mean in zip(terms, means, strict=True)]


def _means(X: Any, quadrant: Any, coef: Array) -> Array:
    """Means (D,) of the features of new rows, zero where no target has a coefficient."""
    used, out = np.flatnonzero(coef.any(axis=0)), np.zeros(coef.shape[1])
    if used.size:
        design = as_design(tidy(X), quadrant, columns=used, bounded=True)
        out[used] = design.weighted_sum(np.full(X.shape[0], 1.0 / X.shape[0]))
    return out


def base_of(model: Any, curves: list[Curves]) -> Array:
    """What contributions are added to, (t,): the mean output of the background less the cut."""
    state = model._state
    base = base_values(state.level, [(one.means, one.coef) for one in curves])
    return base if state.decision is None else base - state.decision.cuts


def contributions_of(model: Any, X: Any, curves: list[Curves]) -> Any:
    """Contributions (n, D) or (n, D, t) of validated X."""
    single = model._state.single
    if is_dask(X):
        return lazy_contributions(X, curves, check_outputs, flat=single)
    found = contributions(X, curves)
    check_outputs(found.reshape(len(found), -1))
    return found[:, :, 0] if single else found


def explanation_of(model: Any, X: Any, curves: list[Curves]) -> Any:
    """The same as an `Explanation` of shap."""
    try:
        from shap import Explanation
    except ImportError as error:
        raise ImportError(
            "an Explanation needs shap: pip install 'skstretch[shap]', or 'pip install shap'. "
            "contributions(X) gives the same numbers without it."
        ) from error
    if is_dask(X):
        raise TypeError(
            "shap has no lazy explanations: pass X.compute(), or call contributions(X), which is "
            "lazy for a Dask array."
        )
    state, base = model._state, base_of(model, curves)
    values = contributions_of(model, X, curves)
    base = np.tile(state.shaped(base), (len(values),) + (1,) * (not state.single))
    return Explanation(
        values,
        base_values=base,
        data=dense_values(X),
        feature_names=feature_names(model),
        output_names=None if state.single else _output_names(model),
    )


def _output_names(model: Any) -> list[str]:
    classes = getattr(model, "classes_", None)
    if classes is not None:
        return [str(label) for label in classes]
    return [f"target {j}" for j in range(model._state.n_targets)]


def lazy_coefficients(model: FittedModel) -> Any:
    """``alpha = Q' beta`` of all columns as a Dask array (d, t); None where it has no such form."""
    only, spec = model.passes[0], model.spec
    if len(model.passes) > 1 or spec.exact or not isinstance(only.design, WideDesign):
        return None
    if only.beta is None or only.log_beta is None:
        return None
    check_at_hand(only.design.X)
    scaled = bool(only.log_beta.any())
    frame = Frame(spec.r, np.zeros(0), only.log_beta / spec.r if scaled else None)
    free = spec.intercept is Intercept.FREE
    total = np.zeros(only.beta.shape[1]) if free else only.beta.sum(axis=0)
    return only.design.lazy_coefficients(frame, only.beta, total, model.weights)


def checked_noise(noise_variance: Any, n_targets: int) -> Array | None:
    """The variance of the noise of every target, or None to estimate it."""
    if noise_variance is None:
        return None
    noise = np.asarray(noise_variance, dtype=np.float64)
    if noise.shape not in ((), (n_targets,)) or not (noise >= 0).all():
        raise ValueError(
            f"noise_variance={noise_variance!r} must be a non-negative number, or one for each of "
            f"the {n_targets} targets."
        )
    return np.broadcast_to(noise, (n_targets,))


def linear_outputs(X: Any, terms: Sequence[tuple[Quadrant, Array]], level: Array) -> Array:
    """Outputs (n, t) of transforms with coefficients (t, D), for new data in memory."""
    outputs = level
    for quadrant, coef in terms:
        used = np.flatnonzero(coef.any(axis=0))
        design = as_design(X, quadrant, columns=used, bounded=True)
        with np.errstate(over="ignore", invalid="ignore"):  # `check_outputs` has the last word
            outputs = outputs + design.dot(coef[:, used].T)
    return outputs


class StretchyModel(Learner):
    """Base of the estimators: predicts with what was learned."""

    def _read(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True
    ) -> tuple[Any, Targets]:
        """Checked training data, and y as numbers to fit."""
        raise NotImplementedError

    def _outputs(self, X: Any) -> Array:
        """Linear outputs of shape (n, t) for new data."""
        check_is_fitted(self)
        X = checked_X(self, X)
        if is_dask(X):
            return self._lazy_outputs(X)
        outputs = self._linear(X)
        check_outputs(outputs)
        return outputs.astype(self._state.dtype, copy=False)

    def _lazy_outputs(self, X: Any) -> Any:
        """Outputs as a Dask array, in the row chunks of X."""
        level, dtype = self._state.level, self._state.dtype
        (quadrant, coef), *others = self._terms()
        if not others:
            return lazy_outputs(X, quadrant, coef, level, dtype, check_outputs)
        outputs = lazy_outputs(X, quadrant, coef, level, np.float64, check_outputs)
        for quadrant, coef in others:
            zero = np.zeros_like(level)
            outputs = outputs + lazy_outputs(X, quadrant, coef, zero, np.float64, check_outputs)
        return outputs.astype(dtype)

    def _terms(self) -> list[tuple[Quadrant, Array]]:
        """Transforms, and the coefficients (t, D) of their features in their unit, in float64."""
        state = self._state
        return list(zip(state.quadrants, state.coefs, strict=True))

    def _linear(self, X: Any) -> Array:
        return linear_outputs(X, self._terms(), self._state.level)

    def coef_std(self, noise_variance: Any = None) -> Array:
        """Standard deviation of every coefficient, in the shape of ``coef_``.

        Parameters
        ----------
        noise_variance : float, array-like of shape (n_targets,) or None, default=None
            Variance of the noise in y (divided by the weight of each sample). By default it is
            estimated as ``sum e**2 / tr((I-H)'(I-H))``, of a fit that interpolates by the mean
            square of leave-one-out residuals. Of a classifier y is +-1.

        Returns
        -------
        std : ndarray
            Standard deviations.

        Notes
        -----
        ``Cov[coef] = A Sigma A'`` for ``coef = A y``: how much the coefficients of this model would
        vary with the noise. It ignores that they are shrunk, so that an interval of two deviations
        need not hold the true coefficient, and what was chosen with the same y: features,
        candidates and their weights. At ``a = 0`` and ``k < 2`` coefficients are no linear function
        of y: there A is their derivative by y, and the spread is of first order. No matrix of
        n_features squared is formed where there are more features than samples. Of an average it
        is the sum of the deviations of its candidates, times their weights.
        """
        check_is_fitted(self)
        self._check_squared("coef_std", "effects() tells standard errors")
        state = self._state
        return cast(Array, state.shaped(state.std(checked_noise(noise_variance, state.n_targets))))

    def _new_designs(self, X: Any) -> list[Design]:
        """New data seen as the training data was, z-scores bounded, by every transform."""
        state = self._state
        return [as_design(X, q, columns=state.columns, bounded=True) for q in state.quadrants]

    def lazy_coef(self) -> Any:
        """``coef_`` as a Dask array in the column chunks of the data, made when it is computed.

        For models that were fitted in the dual form to a wide Dask array with ``density=1.0``:
        one pass over the blocks makes it, and no worker needs more than its own. Use it to store
        more coefficients than should travel, ``model.lazy_coef().to_zarr(...)``.

        Returns
        -------
        coef : dask.array.Array
            In the shape of ``coef_``.
        """
        check_is_fitted(self)
        mixed = isinstance(self._state, Mixture)
        coef = None if mixed else lazy_coefficients(self._state.model)
        if coef is None:
            raise ValueError(
                "lazy_coef() is for a wide Dask array, the dual form and density=1.0; here "
                "dask.array.from_array(model.coef_) does the same."
            )
        slope = self._state.quadrant.slope(np.ones(self.n_features_in_))
        return self._state.shaped((coef.T * slope).astype(self._state.dtype))

    def contributions(self, X: Any, *, background: Any = None) -> Any:
        """The share of every feature in every prediction: exact, since the model is additive.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples whose predictions are explained: an array, a frame, a sparse matrix, a memory
            map, or a Dask array, which gives a lazy result in its own chunks.
        background : array-like of shape (n_background, n_features) or None, default=None
            Samples that predictions are compared with. None is the training data, each sample with
            the weight that it had in the fit.

        Returns
        -------
        contributions : ndarray of shape (n_samples, n_features) or (n_samples, n_features, t)
            In float64, with a last axis for several targets or classes. Rows add up to
            ``predict(X) - contributions_base_`` of a regressor, and to
            ``decision_function(X) - contributions_base_`` of a classifier.

        See Also
        --------
        explanation : The same for the plots of shap.

        Notes
        -----
        A prediction is a sum of one curve a feature, ``f(x) = level + sum_j f_j(x_j)``, and the
        contribution of feature j is ``f_j(x_j)`` less the mean of ``f_j`` over the background.
        These are the Shapley values of the model for independent features, exactly and for any
        number of features. They say what the model did with the numbers, not what would happen if
        someone changed them: of features that go together the model may use any.

        The result is dense, also for sparse X, where a zero contributes as well. A result beyond
        ``working_memory`` (`sklearn.set_config`) is refused; pass some rows at a time.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from skstretch import StretchyRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = StretchyRegressor().fit(X, y)
        >>> shares = model.contributions(X[:5])
        >>> shares.shape
        (5, 10)
        >>> total = model.contributions_base_ + shares.sum(axis=1)
        >>> bool((abs(total - model.predict(X[:5])) < 1e-10).all())
        True
        """
        X, curves = self._explained(X, background)
        return contributions_of(self, X, curves)

    def explanation(self, X: Any, *, background: Any = None) -> Any:
        """`contributions` as an ``Explanation`` of shap, for its plots; needs the extra ``shap``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples whose predictions are explained; not a Dask array.
        background : array-like of shape (n_background, n_features) or None, default=None
            As in `contributions`.

        Returns
        -------
        explanation : shap.Explanation
            ``values`` are the contributions, ``base_values`` what they are added to, ``data`` the
            samples.

        See Also
        --------
        contributions : The numbers alone.
        """
        X, curves = self._explained(X, background)
        return explanation_of(self, X, curves)

    def _explained(self, X: Any, background: Any) -> tuple[Any, list[Curves]]:
        check_is_fitted(self)
        X = checked_X(self, X)
        return X, curves_of(self, None if background is None else checked_X(self, background))

    @property
    def contributions_base_(self) -> Any:
        """What `contributions` are added to: the mean prediction of the training data.

        Samples have the weights of the fit, those of classes included. Of a classifier it is the
        mean of `decision_function`, the cut subtracted.
        """
        check_is_fitted(self)
        return self._state.shaped(base_of(self, curves_of(self)))

    def effects(
        self,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
        bands: Any = None,
        n_pairs: int = 50,
        groups: Any = None,
        random_state: Any = 0,
    ) -> Any:
        """Tell the effects of all features, how far each could be off, and how sure its sign is.

        The candidates of the model, with their weights, are fitted again without parts of the
        samples; features are selected anew where a candidate selects some. Nothing is searched.

        Parameters
        ----------
        X, y : array-like or None, default=None
            The training data, for a model that does not have them (one that was loaded).
        sample_weight : array-like of shape (n_samples,) or None, default=None
            With X and y: the weights of the fit, for counts their exposure.
        bands : None, int or dict, default=None
            Features to be told together: so many contiguous bands (of a spectrum), or a dict from
            the name of a band to its features, by name or number. The effect of a band is that of
            one standard deviation (or unit) of all its features at once.
        n_pairs : int, default=50
            Pairs of complementary halves, for the stability of signs and of the selection.
        groups : array-like of shape (n_samples,) or None, default=None
            Samples of one group stay together.
        random_state : int, RandomState or None, default=0
            What halves and parts are drawn with.

        Returns
        -------
        effects : pandas.DataFrame or dict
            In the order of the features, kept as ``effects_``: ``feature``, ``target`` (of
            several), ``effect_per_unit``, ``effect_per_sd``, ``standard_error`` (of the effect of
            one sd: a jackknife over 20 parts of the samples, each left out in turn),
            ``sign_stability`` (the share of pairs in which both halves have the sign of the
            model; 0 where the effect is 0) and, where features are selected,
            ``selection_frequency``. A dict of arrays where pandas is not installed.

        See Also
        --------
        StabilitySelector : Features with a bound on the false ones.

        Notes
        -----
        Effects are changes of the prediction, or of the score of a class. With ``loss="log"`` they
        are log-odds, with ``loss="poisson"`` changes of the log rate, of survival changes of the
        log hazard: their exponentials are ratios of odds, rates and hazards.

        Errors are those of the fit, given the candidates: what the search might have chosen
        instead is not in them. Of many features without any effect about one in twenty has a
        stability above 0.95.
        """
        check_is_fitted(self)
        data = None
        if X is not None:
            X, targets = self._read(X, y, sample_weight, reset=False)
            columns, how = self._state.columns, Intercept.of(self.fit_intercept)
            factors = given_factors(self, X.shape[1], how)
            factors = None if factors is None else factors[columns]
            used = targets.weights > 0
            rows = np.flatnonzero(used)

            def design_at(quadrant: Quadrant) -> Design:
                return factored(as_design(X, quadrant, rows=rows, columns=columns), factors)

            data = design_at, targets.at(rows), used
        self.effects_ = effects_of(self, data, bands, n_pairs, groups, random_state)
        return self.effects_

    def novelty(self, X: Any) -> Any:
        """Tell whether new samples are like those that the model was fitted to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples. A Dask array is computed at once, one row chunk at a time.

        Returns
        -------
        novelty : pandas.DataFrame or dict
            One row a sample: ``leverage`` (how far out it lies among the training samples; their
            mean is a few times 1 / n), ``distance`` (how much of it they do not explain, in
            standard deviations of a feature), the share of samples that are as strange by either,
            ``p_leverage`` and ``p_distance``, and by both together, ``p_value``. A dict of arrays
            where pandas is not installed.

        See Also
        --------
        influence : What single training samples do to the model.

        Notes
        -----
        Samples are compared in the z-scores of the columns that the model reads, whatever its
        candidates do with them: by the first principal components of the training samples, ten at
        most, and by what these leave. The p-values are conformal. Their reference are training
        samples that were left out, a twentieth (whole groups, where there are some) at a time,
        with all that was learned from them; 200 stand for more. Of fresh samples of the same kind
        about 5 % have a ``p_value`` of 0.05 or less. The least that can be is one over one more
        than the training samples. Training samples themselves have shaped the components: where
        features are many they all look strange. Classes count as they do in the fit.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from skstretch import StretchyRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = StretchyRegressor().fit(X[:100], y[:100])
        >>> found = model.novelty([X[200], X[200] + 1.0])
        >>> [bool(p < 0.05) for p in found["p_value"]]
        [False, True]
        """
        check_is_fitted(self)
        X = checked_X(self, X)
        return novelty_of(self._state, computed_rows(X) if is_dask(X) else [tidy(X)])

    def summary(self) -> Summary:
        """The model in sentences: what was chosen and why, its error, the strongest features.

        Returns
        -------
        summary : Summary
            ``print`` it; ``summary.frame`` is the table of all effects (needs pandas).
        """
        check_is_fitted(self)
        return Summary(self)

    @property
    def _repr_html_(self) -> Callable[[], str]:
        diagram: Callable[[], str] = super()._repr_html_
        return lambda: diagram() + self._summary_html()

    def _repr_mimebundle_(self, **keywords: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**keywords)
        if "text/html" in bundle:
            bundle["text/html"] += self._summary_html()
        return bundle

    def _summary_html(self) -> str:
        """What a notebook shows below scikit-learn's diagram."""
        return self.summary()._repr_html_() if self.__sklearn_is_fitted__() else ""

    def effect_path(self, *, along: str = "c", values: Any = None) -> tuple[Array, Array]:
        """Effect of one standard deviation of every feature along k or c.

        Of an average the path is that of its heaviest candidate, the first row of ``weights_``.

        Parameters
        ----------
        along : {"c", "k"}, default="c"
            What changes.
        values : sequence of float or None, default=None
            Values to fit at, on the data of this fit; by default nine k in [1.1, 2], or 13 values
            of c around the fitted one.

        Returns
        -------
        values : ndarray of shape (n_values,)
            The values in use.
        effects : ndarray of shape (n_values, n_features) or (n_values, n_targets, n_features)
            Effect of one standard deviation of every feature at each of them.
        """
        check_is_fitted(self)
        self._check_squared("effect_path", "fit at one k and c after the other")
        check_among("along", along, ("k", "c"))
        state = self._state
        if values is None:
            centre = state.model.spec.c if np.isfinite(state.model.spec.c) else 1e4
            values = np.linspace(1.1, 2, 9) if along == "k" else centre * np.logspace(-3, 3, 13)
        count = min(int(np.max(self.support_.sum(axis=-1))), state.columns.size)
        coef = state.spread(coefficient_path(state.model, along, values, count))
        quadrant = state.model_quadrant
        effects = quadrant.slope(coef) * quadrant.moments.scale
        return np.asarray(values, dtype=float), effects[:, 0] if state.single else effects


def check_outputs(outputs: Array, first_row: int = 0) -> None:
    """Refuse to hand out predictions that are not finite; their rows count from `first_row`."""
    finite = np.isfinite(outputs).all(axis=1)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0]) + first_row
        raise ValueError(
            f"the prediction for row {row} is beyond the range of float64: its features lie far "
            "outside the training data. Use a smaller |a|, or look at that row."
        )
