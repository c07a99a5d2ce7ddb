"""What a fit has learned: one object, stored whole or not at all, and the attributes that show it.

Files, batches, reports and graphs read the same object.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from inspect import signature
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skstretch._version import Versioned
from skstretch.core.crossfit import jackknife_plus, residual_width
from skstretch.core.quadrant import Quadrant
from skstretch.core.survival import Baseline
from skstretch.core.types import Array, Index, Mask
from skstretch.designs.protocol import Design
from skstretch.solve import FittedModel
from skstretch.solve.model import row_chunks

# what a fit stores beside its public attributes: what it has learned, what a search
# found out about other candidates (in memory, or in the file it came from), the sums of batches,
# the models of nested_cv, what was odd about the samples, the names of the targets, and the weights
# and groups of the samples that candidates were compared on
PRIVATE = frozenset(
    ["_state", "_outcomes", "_kept", "_seen", "_nested", "_noticed", "_target_names", "_sampling"]
)


@dataclass(frozen=True)
class Decision:
    """Where the scores of classes are cut, and how they become probabilities.

    Attributes
    ----------
    cuts : array of shape (t,)
    factor : float or None
        What scores are multiplied by before the softmax; None where there are no probabilities.
    biases : array of shape (n_classes,) or float
        What is added then; zero in files of versions that had none.
    curve : pair of arrays or None
        Corners (x, y) of a rising curve, of files of versions that had such; it takes the place of
        the softmax.
    held_out : str or None
        Which samples both were learned on, in words.
    """

    cuts: Array
    factor: float | None = None
    biases: Any = 0.0
    curve: tuple[Array, Array] | None = None
    held_out: str | None = None


@dataclass(frozen=True)
class Units:
    """Samples that are left out together.

    Attributes
    ----------
    codes : array of int of shape (M,)
        The unit of every sample; empty where no order of the samples is as good as another.
    masses : array of shape (M,)
        What every sample counts among the bounds; what lacks of one lies at infinity.
    """

    codes: Index
    masses: Array


@dataclass(frozen=True)
class State:
    """A fitted estimator but for its parameters.

    For t targets, D columns of X and n samples of which M have a positive weight.

    Attributes
    ----------
    model : FittedModel
        The passes of the fit, over the M samples and the columns that take part.
    quadrant : Quadrant
        The transform of all D columns.
    columns : array of int
        The columns that take part.
    used : boolean array of shape (n,)
        The samples of positive weight; empty where rows were summed up and not kept.
    dtype : dtype
        That of the coefficients and predictions.
    single : bool
        Whether the axis of the one target is dropped.
    decision : Decision or None
        Of classifiers only.
    units : Units or None
        Which samples intervals leave out together, where they are not left out one by one.
    loss : {"squared", "poisson", "log", "cox"}
        What was minimised.
    baseline : Baseline or None
        The hazard of a risk score of 0; of survival only.
    survival : structured array of shape (M,) or None
        Event, time and what else y had; of survival only, and not of a loaded model.
    """

    model: FittedModel
    quadrant: Quadrant
    columns: Index
    used: Mask
    dtype: Any
    single: bool
    decision: Decision | None = None
    units: Units | None = None
    loss: str = "squared"
    baseline: Baseline | None = None
    survival: Any = None

    def __getstate__(self) -> dict[str, Any]:
        # what can be made again stays out of pickles
        return {name: v for name, v in self.__dict__.items() if name != "unit_fits"}

    @property
    def n_targets(self) -> int:
        return int(self.model.Y.shape[1])

    @property
    def n_features(self) -> int:
        return int(self.quadrant.b.size)

    @property
    def alpha(self) -> Array:
        """The paper's weights of the features in no unit, in float64: shape (t, D)."""
        return cast(Array, self.spread(self.quadrant.outer(self.model.coef)))

    @property
    def is_linear(self) -> bool:
        """Whether outputs are linear in the raw columns."""
        return all(quadrant.kind != "exp" for quadrant in self.quadrants)

    @property
    def slopes(self) -> Array:
        """Change of the outputs for one unit of every raw column, at the mean: (t, D)."""
        parts = zip(self.quadrants, self.coefs, strict=True)
        return np.asarray(sum(quadrant.slope(coef) for quadrant, coef in parts))

    @property
    def scale(self) -> Array:
        """Standard deviations (D,) of the raw columns."""
        return self.quadrant.moments.scale

    @property
    def constant(self) -> Array:
        """What the columns times their slopes are added to where outputs are linear, (t,); else
        what the features times their weights are added to. Scores of classes are cut."""
        found = self.intercept
        if self.is_linear:
            parts = zip(self.quadrants, self.coefs, strict=True)
            found = self.level + sum(quadrant.at_zero(coef) for quadrant, coef in parts)
        return found if self.decision is None else found - self.decision.cuts

    @property
    def level(self) -> Array:
        """Predictions where the excess of every feature is zero, shape (t,)."""
        return self.model.level

    @property
    def intercept(self) -> Array:
        return self.model.intercept

    @property
    def fitted(self) -> Array:
        """Outputs of the model for the samples of positive weight, shape (M, t)."""
        return self.outputs_at(self.training)

    def outputs_at(self, new: Sequence[Design]) -> Array:
        """Outputs (N, t) at new rows, as every transform sees them."""
        parts = zip(new, self._learned, strict=True)
        return np.asarray(self.level + sum(design.dot(coef.T) for design, (_, coef) in parts))

    @property
    def loo_residuals(self) -> Array:
        """Residuals of every sample by the model fitted without it, shape (M, t)."""
        if self.loss != "squared":
            raise ValueError(f"loss={self.loss!r} has no leave-one-out residuals of its own.")
        return self.model.loo_residuals

    @property
    def quadrants(self) -> list[Quadrant]:
        """The transforms whose features are added up: one, unless candidates of several a are
        mixed."""
        return [self.quadrant]

    @property
    def model_quadrant(self) -> Quadrant:
        """The transform of `model`."""
        return self.quadrant

    @property
    def _learned(self) -> list[tuple[Design, Array]]:
        """For every transform the training data and the coefficients (t, D') found on them."""
        return [(self.model.design, self.model.coef)]

    @cached_property
    def feature_means(self) -> list[Array]:
        """Weighted means (D,) of the training features of every transform, less the offset.

        Zero for columns without coefficients, and for z-scores, whose means are zero. Needs a pass
        over the training data.
        """
        weights, found = self.model.weights / self.model.weights.sum(), []
        for quadrant, (design, coef) in zip(self.quadrants, self._learned, strict=True):
            means, kept = np.zeros(coef.shape[1]), np.flatnonzero(coef.any(axis=0))
            # rows that were not kept may have come after the moments were fixed
            is_centred = quadrant.kind == "linear" and self.used.size > 0
            if kept.size and not is_centred:
                part = design if kept.size == coef.shape[1] else design.take(kept)
                means[kept] = part.weighted_sum(weights)
            found.append(cast(Array, self.spread(means)))
        return found

    @property
    def coefs(self) -> list[Array]:
        """Coefficients (t, D) of the features of every transform, in their unit."""
        return [self.spread(coef) for _, coef in self._learned]

    def bounds(self, new: Sequence[Design], coverage: float, method: str) -> tuple[Array, Array]:
        """``(lower, upper)`` of shape (N, t) at new rows, as every transform sees them.

        The model without a sample is that of its candidates without it, with the weights of all
        samples.
        """
        N, (M, t) = new[0].shape[0], self.model.Y.shape
        if M < 2:
            raise ValueError("intervals need at least two samples of positive weight.")
        if method == "residual":
            centre = self.outputs_at(new)
            width = np.array([residual_width(r, coverage) for r in self.loo_residuals.T])
            return centre - width, centre + width
        lower, upper = np.empty((N, t)), np.empty((N, t))
        for rows in row_chunks(N, M * t):
            predictions = self.without_each([design.take_rows(rows) for design in new])
            for target, predicted in enumerate(predictions):
                found = jackknife_plus(predicted, self.loo_residuals[:, target], coverage)
                lower[rows, target], upper[rows, target] = found
        return lower, upper

    @property
    def training(self) -> list[Design]:
        """The training data as every transform sees them."""
        return [design for design, _ in self._learned]

    def without_each(self, new: Sequence[Design]) -> Array:
        """Outputs at new rows of the model without each sample, (t, N, M), columns as kept."""
        out = np.empty((self.n_targets, new[0].shape[0], self.model.weights.size))
        for p, jackknife in zip(self.model.passes, self.model.jackknives, strict=True):
            part = new[0] if p.columns.size == new[0].shape[1] else new[0].take(p.columns)
            for place, target in enumerate(p.targets):
                out[target] = jackknife.predictions(part, place)
        return out

    def fitted_to(self, rows: Index) -> tuple[list[Array], Array]:
        """Coefficients (t, D') for every transform and levels (t,), fitted to some samples."""
        model = self.model.fitted_to(rows)
        return [model.coef], model.level

    @cached_property
    def unit_fits(self) -> tuple[list[Array], Array]:
        """Coefficients (K, t, D') for every transform and levels (K, t) without each unit."""
        assert self.units is not None
        codes = self.units.codes
        fits = [self.fitted_to(np.flatnonzero(codes != u)) for u in range(codes.max() + 1)]
        coefs = [np.stack(each) for each in zip(*(coefs for coefs, _ in fits), strict=True)]
        return coefs, np.stack([level for _, level in fits])

    @cached_property
    def unit_residuals(self) -> Array:
        """Residuals (M, t) of every sample by the model without its unit."""
        assert self.units is not None
        (coefs, levels), found = self.unit_fits, self.model.Y.copy()
        for u, level in enumerate(levels):
            rows = np.flatnonzero(self.units.codes == u)
            found[rows] -= level
            for design, coef in zip(self.training, coefs, strict=True):
                found[rows] -= design.take_rows(rows).dot(coef[u].T)
        return found

    @property
    def held_residuals(self) -> Array:
        """Residuals (M, t) by models that have seen neither the sample nor what belongs to it."""
        in_units = self.units is not None and self.units.codes.size > 0
        return self.unit_residuals if in_units else self.loo_residuals

    def std(self, noise: Array | None) -> Array:
        """Standard deviations of the slopes, shape (t, D)."""
        return np.abs(self.quadrant.slope(self.spread(np.sqrt(self.model.variance(noise)))))

    def covariance(self, noise: Array | None) -> Array:
        """Covariances of the slopes, shape (t, D, D)."""
        slope = self.quadrant.slope(np.ones(self.n_features))[self.columns]
        found = np.zeros((self.n_targets, self.n_features, self.n_features))
        found[np.ix_(np.arange(self.n_targets), self.columns, self.columns)] = (
            self.model.covariance(noise) * slope * slope[:, None]
        )
        return found

    def facts(self) -> dict[str, Any]:
        """How the model was found: attributes by name."""
        fits = self.model.passes
        return {
            "solver_": _common([s.solver for s in fits]),
            "rcond_": _common([s.rcond for s in fits]),
            "dof_": _common([s.dof for s in fits]),
            "n_iter_": _common([s.n_iter for s in fits]),
            "dual_gap_": _common([s.gap for s in fits]),
        }

    @property
    def space(self) -> str:
        """Whether the system had the size of the samples, "dual", or of the features, "primal"."""
        return self.model.passes[0].space

    @property
    def residual(self) -> float | None:
        """The largest relative residual that Krylov left; None for the direct solvers."""
        found = [p.residual for p in self.model.passes if p.residual is not None]
        return max(found, default=None)

    @property
    def support(self) -> Mask:
        """The columns that each target keeps, shape (t, D)."""
        return cast(Mask, self.spread(self.model.support))

    @property
    def dual(self) -> Array:
        """Dual coefficients, shape (t, n); zero for samples of weight zero."""
        dual = np.zeros((self.n_targets, self.used.size))
        dual[:, self.used] = self.model.dual
        # alpha = Q' beta is divided by exp(unit), and Q multiplied by exp(r unit)
        return self.quadrant.outer(dual, 1.0 + self.model.spec.r)

    def spread(self, values: Any) -> Any:
        """Values (.., D') of the columns that take part, with zeros for the others: (.., D)."""
        out = np.zeros((*values.shape[:-1], self.n_features), dtype=values.dtype)
        out[..., self.columns] = values
        return out

    def shaped(self, values: Any) -> Any:
        """Drop the first axis, that of targets, where there is one target and y said so."""
        return values[0] if self.single else values

    def flat(self, outputs: Any) -> Any:
        """Drop the last axis of outputs (n, t) likewise."""
        return outputs[:, 0] if self.single else outputs


def pandas_for(what: str, numbers: str) -> Any:
    """Pandas, which `what` is made by; without it the `numbers` are at hand."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            f"{what} is a pandas DataFrame, and pandas is not installed: pip install pandas. The "
            f"numbers are {numbers}."
        ) from error
    return pandas


def as_table(columns: dict[str, Any]) -> Any:
    """A pandas DataFrame, or the columns themselves where pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        return columns
    return pd.DataFrame(columns)


def learned_dtype(X: Any) -> Any:
    """The type of what is learned from X: its own where that is float32, else float64."""
    return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)


Method = TypeVar("Method", bound=Callable[..., Any])

# parameters of the past, and what to write in their place
RENAMED = {
    "density_grid": 'n_features_to_select, a number, a share or a list of them (None for "auto")',
    "rule": 'combine, with "average" for "mix"',
    "nested": "nested_cv, a number of folds",
    "verbose": "plan_, which tells after the fit how it was computed",
}

# attributes of the past, or of another kind of model, and what tells the same
GONE = {
    "slope_": "use coef_, which is now what slope_ was; the paper's weights are alpha_",
    "space_": "use plan_.space",
    "residual_": "use plan_.residual",
    "held_out_": "use plan_.held_out",
    "rule_loss_": "scoring says what candidates are compared by",
    "nested_of_": "nested_cv says what is left out",
    **dict.fromkeys(
        ("a_", "k_", "c_", "density_"), "weights_ lists the candidates that the model is made of"
    ),
}


def names_of_today(init: Method) -> Method:
    """Make a constructor refuse a name of the past with the one that took its place."""

    @wraps(init)
    def told(self: Any, *args: Any, **keywords: Any) -> None:
        for name in keywords.keys() - signature(init).parameters.keys():
            if name in RENAMED:
                raise TypeError(
                    f"{type(self).__name__}() has no parameter {name!r} any more: use "
                    f"{RENAMED[name]}."
                )
        init(self, *args, **keywords)

    return cast(Method, told)


def whole_or_nothing(fit: Method) -> Method:
    """Make a fit that fails or is interrupted leave an unfitted estimator, whatever it was."""

    @wraps(fit)
    def guarded(self: Any, *args: Any, **keywords: Any) -> Any:
        forget(self)
        try:
            return fit(self, *args, **keywords)
        except BaseException:
            forget(self)
            raise

    return cast(Method, guarded)


def forget(model: Any) -> None:
    """Forget all that a fit has learned."""
    learned = (n for n in vars(model) if n.endswith("_") and not n.startswith("_"))
    for name in [*learned, *(PRIVATE & vars(model).keys())]:
        delattr(model, name)


def or_as_before(method: Method) -> Method:
    """Make a call that fails or is interrupted leave the estimator as it was before the call."""

    @wraps(method)
    def guarded(self: Any, *args: Any, **keywords: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **keywords)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(Method, guarded)


class Learner(Versioned, BaseEstimator):
    """An estimator that stores a state, shows it as attributes, and forgets it."""

    _state: State
    n_features_in_: int
    plan_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    @property
    def _loss(self) -> str:
        """What a fit minimises."""
        return str(getattr(self, "loss", "squared"))

    def _decide(self, outputs: Array, targets: Any, rows: Index, folds: Any) -> Decision | None:
        """What classes learn from out-of-fold outputs (n_tested, t) beside the model."""
        return None

    def _completed(self, state: State, targets: Any) -> State:
        """The state with all that other losses add."""
        return replace(state, loss=self._loss)

    def _check_squared(self, what: str, way_out: str) -> None:
        """Refuse what only squared error has, of a fitted model."""
        if self._state.loss != "squared":
            own = f"loss={self._state.loss!r}" if hasattr(self, "loss") else type(self).__name__
            raise ValueError(f"{what} is for squared error, and not for {own}: {way_out}.")

    def _store(self, state: State) -> None:
        """Set every fitted attribute, at the very end of a fit."""
        self.coef_ = state.shaped(state.slopes.astype(state.dtype))
        self.support_ = state.shaped(state.support)
        self.intercept_ = state.shaped(state.constant.astype(state.dtype))
        self.is_linear_ = state.is_linear
        if not isinstance(getattr(self, "plan_", ""), str):  # the text of a file stays
            held_out = None if state.decision is None else state.decision.held_out
            self.plan_ = replace(self.plan_, held_out=held_out, residual=state.residual)
        for name, value in state.facts().items():
            setattr(self, name, value)
        self._state = state

    def __getattr__(self, name: str) -> Any:
        own = getattr(type(self), name, None)
        if isinstance(own, property):  # it has refused, and says why again
            return own.__get__(self)
        way_out = f": {GONE[name]}" if name in GONE else ""
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}{way_out}")

    @property
    def effect_(self) -> Array:
        """Change of the prediction, or score, for one standard deviation of each feature."""
        check_is_fitted(self)
        state = self._state
        return cast(Array, state.shaped((state.slopes * state.scale).astype(state.dtype)))

    @property
    def alpha_(self) -> Array:
        """The paper's alpha, weights of the transformed features; not of averages."""
        check_is_fitted(self)
        return cast(Array, self._state.shaped(self._state.alpha.astype(self._state.dtype)))

    @property
    def dual_coef_(self) -> Array:
        """Dual coefficients beta, ``alpha = Q' beta``: (n_samples,) or (n_targets, n_samples).

        Of an exact minimiser (a = 0, k < 2) ``beta = 4c W e / k`` with the residuals e, and
        ``alpha = sgn(omega) |omega|^(1/(k-1))`` for ``omega = Z' beta``; so too at k = 2.
        """
        check_is_fitted(self)
        return self._state.shaped(self._state.dual)


def _common(values: list[Any]) -> Any:
    """One value where all passes agree or there is one, else an array with one for each target."""
    return values[0] if len(values) == 1 or len(set(values)) == 1 else np.array(values)


# A pipeline that ends in one of our estimators, seen as steps and a model

# the words of a step beyond which its parts are named alone
LONGEST = 200


def is_pipeline(model: Any) -> bool:
    """Whether a model is scikit-learn's own Pipeline, and has steps."""
    return type(model) is Pipeline and bool(model.steps)


def as_model(model: Any) -> Any:
    """The pipeline that a model of several recipes is; others as they are."""
    found = getattr(model, "pipeline_", None)
    return found if is_pipeline(found) else model


def last_step(model: Any) -> Any:
    """The model at the end of a pipeline; others as they are."""
    return model.steps[-1][1] if is_pipeline(model) else model


def steps_before(model: Any) -> list[Any]:
    """The steps before the model that do something."""
    steps = model.steps[:-1] if is_pipeline(model) else []
    return [step for _, step in steps if step is not None and not isinstance(step, str)]


def first_step(model: Any) -> Any:
    """The step that the data meet first, which knows their columns."""
    return next(iter(steps_before(model)), last_step(model))


def transformed(model: Any, X: Any) -> Any:
    """X as the last step sees it."""
    if not steps_before(model):
        return X
    with warnings.catch_warnings():
        # arrays have no names; their columns are taken as they come
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return model[:-1].transform(X)


def named_model(model: Any) -> Any:
    """The last step with the names of the columns that it is given, where they are known."""
    own = last_step(model)
    if not steps_before(model) or hasattr(own, "feature_names_in_"):
        return own
    known = ("feature_names_in_", "vocabulary_")  # names of columns, or the words of texts
    if not any(hasattr(first_step(model), name) for name in known):
        return own
    own = twin(own)
    own.feature_names_in_ = model[:-1].get_feature_names_out()
    return own


def twin(model: Any) -> Any:
    """A shallow copy with all that a pickle, and so `copy.copy`, would leave behind."""
    other = object.__new__(type(model))
    vars(other).update(vars(model))
    return other


def steps_in_words(model: Any) -> str:
    """The steps as one line: classes with what differs from their defaults."""
    return ", ".join(_in_words(step) for step in steps_before(model))


def _in_words(step: Any) -> str:
    words = " ".join(repr(step).split())
    if isinstance(step, ColumnTransformer) and len(words) > LONGEST:
        return f"ColumnTransformer ({'; '.join(str(name) for name, *_ in step.transformers)})"
    return words
