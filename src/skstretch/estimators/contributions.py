"""Contributions of single features to the predictions of a fitted model."""

from typing import Any

import numpy as np

from skstretch.core.contributions import base_values
from skstretch.core.types import Array
from skstretch.designs import as_design, is_dask, tidy
from skstretch.designs.contributions import Curves, contributions, dense_values, lazy_contributions
from skstretch.exceptions import RowsForgottenError

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


def contributions_of(model: Any, X: Any, curves: list[Curves], check: Any) -> Any:
    """Contributions (n, D) or (n, D, t) of validated X; `check` refuses what is not finite."""
    single = model._state.single
    if is_dask(X):
        return lazy_contributions(X, curves, check, flat=single)
    found = contributions(X, curves)
    check(found.reshape(len(found), -1))
    return found[:, :, 0] if single else found


def explanation_of(model: Any, X: Any, curves: list[Curves], check: Any) -> Any:
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
    values = contributions_of(model, X, curves, check)
    base = np.tile(state.shaped(base), (len(values),) + (1,) * (not state.single))
    names = getattr(model, "feature_names_in_", None)
    names = [f"x{j}" for j in range(values.shape[1])] if names is None else list(names)
    return Explanation(
        values,
        base_values=base,
        data=dense_values(X),
        feature_names=names,
        output_names=None if state.single else _output_names(model),
    )


def _output_names(model: Any) -> list[str]:
    classes = getattr(model, "classes_", None)
    if classes is not None:
        return [str(label) for label in classes]
    return [f"target {j}" for j in range(model._state.n_targets)]
