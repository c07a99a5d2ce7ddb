"""What all estimators share once they are fitted: outputs for new data, and paths of effects."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstretch.core.dual_gram import Frame
from skstretch.core.quadrant import Quadrant
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Index
from skstretch.designs import Design, WideDesign, as_design, is_dask, lazy_outputs
from skstretch.designs.dask.run import check_at_hand
from skstretch.estimators.inputs import Targets, checked_X
from skstretch.estimators.mixture import Mixture
from skstretch.estimators.state import Decision, Learner
from skstretch.estimators.summary import Summary
from skstretch.solve import FittedModel, coefficient_path


def lazy_coefficients(model: FittedModel) -> Any:
    """``alpha = Q' beta`` of all columns as a Dask array (d, t); None where it has no such form."""
    only, spec = model.passes[0], model.spec
    fit = only.solution.fit
    if len(model.passes) > 1 or spec.exact or not isinstance(only.design, WideDesign):
        return None
    if fit.beta is None or fit.log_beta is None:
        return None
    check_at_hand(only.design.X)
    scaled = bool(fit.log_beta.any())
    frame = Frame(spec.r, np.zeros(0), fit.log_beta / spec.r if scaled else None)
    free = spec.intercept is Intercept.FREE
    total = np.zeros(fit.beta.shape[1]) if free else fit.beta.sum(axis=0)
    return only.design.lazy_coefficients(frame, fit.beta, total, model.weights)


class StretchyModel(Learner):
    """Base of the estimators: predicts with what was learned."""

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Targets]:
        """Checked training data, and y as numbers to fit."""
        raise NotImplementedError

    def _decide(self, outputs: Array, targets: Targets, tested: Index) -> Decision | None:
        """What is learned from out-of-fold outputs (n_tested, t) beside the model."""
        raise NotImplementedError

    def _outputs(self, X: Any) -> Array:
        """Linear outputs of shape (n, t) for new data."""
        check_is_fitted(self)
        X = checked_X(self, X)
        if is_dask(X):
            return self._lazy_outputs(X)
        outputs = self._linear(X)
        check_outputs(outputs)
        return outputs.astype(self.coef_.dtype, copy=False)

    def _lazy_outputs(self, X: Any) -> Any:
        """Outputs as a Dask array, in the row chunks of X."""
        level, dtype = self._state.level, self.coef_.dtype
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
        return list(zip(state.quadrants, state.coefs(self.coef_), strict=True))

    def _linear(self, X: Any) -> Array:
        outputs = self._state.level
        for quadrant, coef in self._terms():
            used = np.flatnonzero(coef.any(axis=0))
            design = as_design(X, quadrant, columns=used, bounded=True)
            with np.errstate(over="ignore", invalid="ignore"):  # `check_outputs` has the last word
                outputs = outputs + design.dot(coef[:, used].T)
        return outputs

    def _new_designs(self, X: Any) -> list[Design]:
        """New data seen as the training data was, z-scores bounded, by every transform."""
        state = self._state
        return [as_design(X, q, columns=state.columns, bounded=True) for q in state.quadrants]

    def lazy_coef(self) -> Any:
        """``coef_`` as a Dask array in the column chunks of the data, made when it is computed.

        For models that were fitted in the dual form to a wide Dask array with ``density=1.0``:
        ``alpha = Q' beta`` is one walk over the blocks, and no worker needs more than its own. Use
        it to store more coefficients than should travel, ``model.lazy_coef().to_zarr(...)``.

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
        return self._state.shaped(self._state.quadrant.outer(coef).astype(self.coef_.dtype).T)

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
        if along not in ("k", "c"):
            raise ValueError(f'along={along!r} is not known: use "k" or "c".')
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
