"""Fits that grow batch by batch: rows are summed up and forgotten."""

import warnings
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from skstretch.core.features import Moments, awakened, fixed_moments, widened
from skstretch.core.gram import PrimalTotals
from skstretch.core.quadrant import (
    Quadrant,
    active_columns,
    check_range,
    checked_quadrant,
    common_unit,
)
from skstretch.core.stretch import Intercept, keep_count
from skstretch.core.types import Array, Index
from skstretch.designs import FactoredDesign, as_design, factored, measure
from skstretch.estimators.inputs import Targets, given_factors
from skstretch.estimators.state import Decision, State, forget, learned_dtype
from skstretch.exceptions import IllConditionedWarning
from skstretch.features import FirstQuadrant
from skstretch.solve import FittedModel, Spec, checked_spec
from skstretch.solve.model import forgetful_model, totals_of, with_totals

HINT = (
    "pass a fitted sklearn.preprocessing.StandardScaler, a fitted skstretch.FirstQuadrant, or a "
    "pair (mean, scale) with one number for each feature; a scale of 0 marks a constant column"
)


def given_moments(moments: Any, n_features: int) -> Moments:
    """Means and scales to use for all rows."""
    if isinstance(moments, StandardScaler):
        mean, scale = _of_scaler(moments)
    elif isinstance(moments, FirstQuadrant):
        check_is_fitted(moments)
        known = moments._quadrant.moments
        mean, scale = known.mean, np.where(known.constant, 0.0, known.scale)
    else:
        mean, scale = _of_pair(moments)
    for name, values in (("mean", mean), ("scale", scale)):
        if values.shape != (n_features,):
            raise ValueError(
                f"the {name} in moments has shape {values.shape}, and X has {n_features} "
                f"features: {HINT}."
            )
        if not np.isfinite(values).all():
            raise ValueError(f"the {name} in moments has an entry that is not finite: {HINT}.")
    if (scale < 0).any():
        raise ValueError(f"the scale in moments has a negative entry ({scale.min():g}): {HINT}.")
    return fixed_moments(mean, scale)


def check_same(given: Moments, fixed: Moments) -> None:
    """Moments may be given again, not changed."""
    same = np.array_equal(given.mean, fixed.mean) and np.array_equal(given.scale, fixed.scale)
    if not same or not np.array_equal(given.constant, fixed.constant):
        raise ValueError(
            "moments differ from those that the rows seen so far were standardised by: leave them "
            "out, or begin anew with sklearn.base.clone(model)."
        )


def _of_scaler(scaler: StandardScaler) -> tuple[Array, Array]:
    check_is_fitted(scaler)
    if scaler.mean_ is None or scaler.scale_ is None:
        raise ValueError(
            f"{scaler!r} has learned no mean or no scale: {HINT}. StandardScaler needs "
            "with_std=True, and for sparse X with_mean=False."
        )
    mean, scale = np.asarray(scaler.mean_, float), np.asarray(scaler.scale_, float)
    # constant columns have a scale of 1 in place of their deviation
    constant = (scale == 1.0) & (np.sqrt(scaler.var_) != 1.0)
    return mean, np.where(constant, 0.0, scale)


def _of_pair(moments: Any) -> tuple[Array, Array]:
    try:
        mean, scale = moments
        return np.asarray(mean, dtype=np.float64), np.asarray(scale, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"moments of type {type(moments).__name__} are not known: {HINT}."
        ) from None


# a relative difference of penalty factors that is rounding
SAME = 1e-12

# what stays known of rows that do not determine a model yet
LASTING = ("n_features_in_", "feature_names_in_", "classes_", "n_samples_seen_", "_seen")


@dataclass(frozen=True)
class Seen:
    """The sums of all rows so far, and the transform that they were seen through."""

    quadrant: Quadrant
    columns: Index
    totals: PrimalTotals
    spec: Spec
    n_rows: int
    dtype: Any
    single: bool
    factors: Array | None = None  # of the columns
    told: bool = False  # that columns which count as constant vary

    def state(self, model: FittedModel, decision: Decision | None) -> State:
        """What the rows have taught, of which none is kept."""
        none = np.zeros(0, dtype=bool)
        return State(model, self.quadrant, self.columns, none, self.dtype, self.single, decision)


def has_rows(estimator: Any) -> bool:
    """Whether an earlier `partial_fit` or `fit` has seen rows."""
    return hasattr(estimator, "_seen") or hasattr(estimator, "_state")


def add_rows(
    estimator: Any, X: Any, targets: Targets, moments: Any, decision: Decision | None = None
) -> None:
    """Add checked rows to the sums, and solve; everything is stored at the very end."""
    if estimator._loss != "squared":
        raise ValueError(
            f"partial_fit is for squared error, and not for loss={estimator._loss!r}: use fit."
        )
    spec = _checked_spec(estimator, X.shape[1])
    factors = given_factors(estimator, X.shape[1], spec.intercept)
    weights = targets.weights
    if not weights.any():
        raise ValueError("every sample of this batch has weight zero: there is nothing to add.")
    rows = np.flatnonzero(weights > 0)
    measured = measure(X, weights)
    seen = _earlier(estimator)
    if seen is None:
        fixed = _first_moments(moments, measured, rows.size)
        unit = common_unit(estimator.b, X.shape[1], spec.intercept)
        quadrant = checked_quadrant(estimator.quadrant, estimator.a, estimator.b, fixed, unit)
    else:
        _check_targets(targets, seen)
        quadrant = _unchanged_quadrant(estimator, seen, spec, moments)
        fixed = quadrant.moments
    spec = replace(spec, unit=quadrant.unit)
    columns, own = _in_use(quadrant, spec.intercept, factors, seen)
    told = _tell_awakened(fixed, measured, seen, factors)
    quadrant = replace(quadrant, moments=widened(fixed, measured))
    check_range(quadrant, getattr(estimator, "feature_names_in_", None))
    design = factored(as_design(X, quadrant, rows=rows, columns=columns), own)
    totals, n_rows = totals_of(design, targets.Y[rows], weights[rows], spec.r), rows.size
    dtype = learned_dtype(X)
    if seen is not None:
        totals, n_rows = seen.totals.plus(totals), seen.n_rows + n_rows
        dtype = np.promote_types(dtype, seen.dtype)
    spec = with_totals(totals, spec)
    now = Seen(quadrant, columns, totals, spec, n_rows, dtype, targets.single, own, told)
    model = forgetful_model(totals, spec, n_rows)
    estimator._seen, estimator.n_samples_seen_ = now, n_rows
    if model is None:
        _wait_for_more(estimator, now)
    else:
        estimator._store(now.state(model, decision))


def _in_use(
    quadrant: Quadrant, intercept: Intercept, factors: Array | None, seen: Seen | None
) -> tuple[Index, Array | None]:
    """The columns that take part and their penalty factors, which must be those of earlier rows."""
    columns = active_columns(quadrant, intercept)
    if factors is not None:
        columns = columns[~np.isinf(factors[columns])]
    own = None if factors is None else factors[columns]
    if seen is not None:
        now, then = (np.ones(1) if some is None else some for some in (own, seen.factors))
        same = np.array_equal(columns, seen.columns)
        # a common multiple of all of them leaves rounding
        if not same or not np.isclose(np.broadcast_to(now, columns.size), then, SAME, 0.0).all():
            raise ValueError(
                "penalty_factor differs from that of the rows seen so far: their sums cannot be "
                "changed. Set it back, or begin anew with sklearn.base.clone(model); only c may "
                "change between batches."
            )
        own = seen.factors
    return columns, own


def _check_targets(targets: Targets, seen: Seen) -> None:
    """Refuse targets of another shape than those of the rows so far."""
    count = seen.totals.means.size
    if (targets.single, targets.Y.shape[1]) != (seen.single, count):
        was = "(n_samples,)" if seen.single else f"(n_samples, {count})"
        raise ValueError(
            f"y has shape {targets.y.shape}, and that of the rows so far had {was}: every batch "
            "needs the same targets."
        )


def _checked_spec(estimator: Any, n_features: int) -> Spec:
    """The model, where it is one that sums of rows can give."""
    if keep_count(estimator.density, n_features) < n_features:
        raise ValueError(
            f"density={estimator.density!r} needs a second pass over all rows, and partial_fit "
            "keeps none: use density=1.0, or fit."
        )
    if estimator.solver not in ("auto", "primal"):
        raise ValueError(
            f"solver={estimator.solver!r} needs all rows at once: partial_fit sums up the primal "
            'system; use solver="auto" or "primal", or fit.'
        )
    linear = estimator.a == 0 and estimator.quadrant != "identity"
    spec = checked_spec(estimator.k, estimator.c, linear, estimator.fit_intercept, estimator.solver)
    if spec.exact:
        raise ValueError(
            f"a=0 with k={spec.k:g} < 2 is a sparse model, which no sums over rows determine: "
            "use k=2 or another a, or fit."
        )
    return spec


def _earlier(estimator: Any) -> Seen | None:
    """The sums so far; those of an earlier `fit` come from the rows that it refers to."""
    if hasattr(estimator, "_seen"):
        return cast(Seen, estimator._seen)
    if not hasattr(estimator, "_state"):
        return None
    state: State = estimator._state
    model = state.model
    totals = totals_of(model.design, model.Y, model.weights, model.spec.r)
    n_rows, design = model.weights.size, model.design
    factors = design.factors if isinstance(design, FactoredDesign) else None
    learned = state.dtype, state.single, factors
    return Seen(state.quadrant, state.columns, totals, model.spec, n_rows, *learned)


def _first_moments(moments: Any, measured: Moments, n_rows: int) -> Moments:
    if moments is not None:
        return given_moments(moments, measured.mean.size)
    if n_rows < 2:
        raise ValueError(
            "the first batch has one sample of positive weight, which tells nothing of the scale "
            "of the columns: pass more rows first, or moments=(mean, scale)."
        )
    return measured


def _unchanged_quadrant(estimator: Any, seen: Seen, spec: Spec, moments: Any) -> Quadrant:
    """The transform of the earlier rows, which the new ones must go through too."""
    then = seen.quadrant
    now = checked_quadrant(estimator.quadrant, estimator.a, estimator.b, then.moments, then.unit)
    for name, before, after in (
        ("k", seen.spec.k, spec.k),
        ("fit_intercept", seen.spec.intercept, spec.intercept),
        ("quadrant", seen.quadrant.kind, now.kind),
        ("a", seen.quadrant.a, now.a),
        ("b", (then.b + then.unit).tolist(), (now.b + now.unit).tolist()),
    ):
        if before != after:
            raise ValueError(
                f"{name} was {_word(before)} for the rows seen so far and is {_word(after)} now: "
                "their sums cannot be changed. Set it back, or begin anew with "
                "sklearn.base.clone(model); only c may change between batches."
            )
    if moments is not None:
        check_same(given_moments(moments, now.b.size), seen.quadrant.moments)
    return now


def _word(value: Any) -> str:
    return value.value if isinstance(value, Intercept) else repr(value)[:80]


def _tell_awakened(
    fixed: Moments, measured: Moments, seen: Seen | None, factors: Array | None
) -> bool:
    """Warn once where a column that takes no part starts to vary, unless it was left out."""
    told = seen is not None and seen.told
    asleep = awakened(fixed, measured)
    awake = np.flatnonzero(asleep if factors is None else asleep & ~np.isinf(factors))
    if told or not awake.size:
        return told
    warnings.warn(
        f"{awake.size} columns (the first is column {awake[0]}) were constant when the moments "
        "were fixed and vary now: they take no part in the fit. Begin with more rows, or pass "
        "moments of all rows, for instance moments=StandardScaler().fit(X).",
        UserWarning,
        stacklevel=5,
    )
    return True


def _wait_for_more(estimator: Any, seen: Seen) -> None:
    """Keep the sums and nothing else: there is no model yet."""
    lasting = {name: value for name, value in vars(estimator).items() if name in LASTING}
    forget(estimator)
    vars(estimator).update(lasting)
    warnings.warn(
        f"the {seen.n_rows} rows seen so far do not determine the {seen.columns.size} "
        f"coefficients at c={seen.spec.c:g}: there is no model to predict with yet. Go on "
        "with partial_fit, or set a smaller c.",
        IllConditionedWarning,
        stacklevel=5,
    )
