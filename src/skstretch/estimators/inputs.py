"""X and y as users pass them, checked once and never copied without need; views of X, and folds."""

import numbers
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils import (
    check_array,
    check_consistent_length,
    check_random_state,
    column_or_1d,
)
from sklearn.utils.validation import validate_data

from skstretch.core.features import Moments
from skstretch.core.primal import checked_factors
from skstretch.core.quadrant import (
    Quadrant,
    active_columns,
    check_range,
    checked_offsets,
    checked_quadrant,
    column_name,
    common_unit,
)
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Index
from skstretch.designs import (
    DaskArray,
    Ready,
    as_design,
    check_factored,
    check_known,
    check_unmasked,
    factored,
    is_dask,
    is_source,
    measure,
    moments_and_grams,
    tidy,
    where_not_finite,
)
from skstretch.designs.threads import working_bytes
from skstretch.estimators.state import Decision, State, Units, learned_dtype
from skstretch.exceptions import PoorTargetsWarning
from skstretch.search import Folds, View, folds_from_splits, leave_one_out
from skstretch.solve import FittedModel, checked_spec, light_model, warn_of_cancellation
from skstretch.solve.choose import ENOUGH, N_FOLDS, crossfit_space, may_be_matrix_free

SPARSE_FORMATS = ("csc", "csr")
# pairs of an a and the k that will be asked for there
Powers = Sequence[tuple[Any, Sequence[Any]]]


@dataclass(frozen=True)
class Targets:
    """y of all n samples as a fit and its scores see it.

    Attributes
    ----------
    y : array
        As it was passed, checked.
    Y : array of shape (n, t)
        Numbers to fit; +-1 for classes.
    weights, sample_weights : arrays of shape (n,)
        Those of the fit, classes weighed too, and those of the samples alone.
    single : bool
        Whether outputs have no axis of targets.
    classes, codes : arrays of shape (n_classes,) and (n,), or None
        Of classifiers only.
    """

    y: Any
    Y: Array
    weights: Array
    sample_weights: Array
    single: bool
    classes: Any = None
    codes: Index | None = None

    def at(self, rows: Index) -> "Targets":
        """Those of some samples."""
        codes = None if self.codes is None else self.codes[rows]
        own = {name: getattr(self, name)[rows] for name in ("y", "Y", "weights", "sample_weights")}
        return replace(self, codes=codes, **own)


def checked_X_y(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    multi_output: bool = False,
    y_numeric: bool = False,
    reset: bool = True,
) -> tuple[Any, Any]:
    """Training data: dense, sparse by columns, or read in blocks.

    With ``reset=False`` it must have the columns of earlier data.
    """
    if is_dask(X):
        check_known(X)
    if reset:
        estimator._target_names = names_of_targets(y)
    y = y.compute() if is_dask(y) else y
    _check_parameters(estimator)
    check_unmasked(X)
    check_unmasked(y, "y")
    if fields := getattr(getattr(y, "dtype", None), "names", None):
        raise ValueError(
            f"y is a structured array of {', '.join(fields)}: events with their times are for "
            "StretchySurvivalCV; else pass numbers or classes."
        )
    if hasattr(y, "tocoo"):
        raise TypeError(
            f"y is a sparse {type(y).__name__} of shape {y.shape}, and targets are dense: pass "
            "y.toarray(), of one target y.toarray().ravel()."
        )
    if is_source(X) or is_dask(X):
        return _source(estimator, X, reset=reset), _targets(X, y, multi_output, y_numeric)
    with _naming_columns(X):
        X, y = validate_data(
            estimator,
            X,
            y,
            reset=reset,
            dtype="numeric",
            accept_sparse=SPARSE_FORMATS,
            multi_output=multi_output,
            y_numeric=y_numeric,
        )
        X = _as_numbers(X)
    return tidy(X), y


def names_of_targets(y: Any) -> list[str] | None:
    """The name of a series, or those of a frame's columns; None where some have none."""
    names = [*getattr(y, "columns", [getattr(y, "name", None)])]
    return names if all(isinstance(name, str) and name.strip() for name in names) else None


def _check_parameters(estimator: Any) -> None:
    """Refuse arrays where one value is meant, before they are compared with any."""
    for name in ("a", "quadrant", "fit_intercept", "solver", "combine"):
        value = getattr(estimator, name, "")
        if np.ndim(value):
            raise TypeError(f"{name}={value!r} is an array: pass one value.")


def _as_numbers(X: Any) -> Any:
    """Checked X; scikit-learn lets categories of a frame through as objects, and dates as dates."""
    if X.dtype.kind in "mM":
        raise ValueError(
            f"X has dtype {X.dtype}, and numbers are needed: turn dates into numbers first, for "
            'instance into days by (X - X.min()) / np.timedelta64(1, "D").'
        )
    return X.astype(np.float64) if X.dtype == object else X


def check_among(name: str, value: Any, known: Sequence[str]) -> None:
    """Refuse a word that stands for nothing."""
    if value not in known:
        raise ValueError(f"{name}={value!r} is not known: use one of {', '.join(known)}.")


def check_count(name: str, value: Any, least: int, hint: str) -> None:
    """Refuse what is no whole number from `least` on."""
    if not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name}={value!r} must be a whole number from {least} on, {hint}.")


def check_memory(need: int, what: str, way_out: str) -> None:
    """Refuse an answer of so many bytes that the working memory does not hold."""
    limit = working_bytes()
    if need > limit:
        raise MemoryError(
            f"{what} would take {need / 2**20:,.0f} MiB, and working_memory is "
            f"{limit / 2**20:,.0f} MiB. {way_out}, or use sklearn.set_config(working_memory=...) "
            "if the memory is there."
        )


def check_labels(y: Any) -> None:
    """Refuse samples without a class."""
    labels = np.zeros(0) if y is None or is_dask(y) else np.asarray(y)
    if labels.dtype != object or labels.ndim != 1:
        return
    lost = [i for i, label in enumerate(labels) if label is None or _is_nan(label)]
    if lost:
        raise ValueError(
            f"y has {labels[lost[0]]} for sample {lost[0]} ({len(lost):,} of {labels.size:,}): a "
            "classifier needs the class of every sample. Leave such samples out, or give them a "
            'class of their own, such as "unknown".'
        )


def _is_nan(label: Any) -> bool:
    return isinstance(label, numbers.Real) and bool(np.isnan(float(label)))


def group_codes(labels: Any, n: int, what: str = "groups") -> Index:
    """Numbers (n) of the groups, strata or the like of n samples, in the order of their labels."""
    found = np.asarray(labels)
    if found.shape != (n,):
        raise ValueError(
            f"{what} has the shape {found.shape}, and there are {n} samples: pass one label for "
            "each."
        )
    try:
        if found.dtype.kind == "f" and np.isnan(found).any():
            raise TypeError
        return np.unique(found, return_inverse=True)[1]
    except TypeError:
        raise ValueError(
            f"{what} misses labels, or holds some of several types: pass one label of one type "
            "for every sample."
        ) from None


def warn_of_targets(targets: Targets, stacklevel: int) -> None:
    """Say so where targets do not vary, or a class has one sample."""
    used = targets.weights > 0
    if targets.codes is not None:
        counts = np.bincount(targets.codes[used], minlength=targets.classes.size)
        alone = targets.classes[counts == 1].tolist()
        if not alone:
            return
        said = f"y has one sample of class {', '.join(map(repr, alone[:3]))}"
        said += f" and {len(alone) - 3:,} more classes" * (len(alone) > 3)
        advice = "left out it is predicted by models that know no sample of its class. Add samples,"
        advice += " join classes or leave it out."
    else:
        flat = np.flatnonzero(np.ptp(targets.Y[used], axis=0) == 0.0)
        if not flat.size or used.sum() < 2:
            return
        which = "y" if targets.Y.shape[1] == 1 else f"target {flat[0]} of y"
        said = f"{which} is {targets.Y[used][0, flat[0]] + 0.0:g} for every sample"
        advice = "there is nothing to learn, and that is what is predicted. Check y."
    warnings.warn(f"{said}: {advice}", PoorTargetsWarning, stacklevel=stacklevel)


@contextmanager
def _naming_columns(X: Any) -> Iterator[None]:
    """Say which column is at fault: NaN and infinity of any X, what is no number of frames."""
    try:
        yield
    except (TypeError, ValueError) as error:
        reason = _fault_of_columns(X) if hasattr(X, "columns") else None
        if reason is None and "X contains" in str(error):
            reason = where_not_finite(X, getattr(X, "columns", None))
        if reason is None:
            raise
        raise ValueError(reason) from error


def _fault_of_columns(X: Any) -> str | None:
    for name, times in Counter(X.columns).items():
        if times > 1:
            return f"the name {name!r} occurs {times} times among the columns of X: rename one."
    for name in X.columns:
        column = X[name]
        kind = getattr(column.dtype, "kind", "O")
        if kind in "biuf" or (kind == "O" and _are_numbers(column)):
            continue
        return (
            f"the column {name!r} of X holds no numbers (dtype {column.dtype}): leave it out, or "
            "encode it before, for example by OneHotEncoder in a ColumnTransformer."
        )
    return None


def _are_numbers(column: Any) -> bool:
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


def numeric_targets(y: Any) -> Array:
    """Checked targets as float64 (n, t); text is for classifiers."""
    try:
        return np.asarray(y, dtype=np.float64).reshape(y.shape[0], -1)
    except ValueError as error:
        raise ValueError(
            f"y holds what is no number ({y.ravel()[0].item()!r}), and a regressor needs numbers: "
            "for classes use StretchyClassifier or StretchyClassifierCV."
        ) from error


def checked_X(estimator: Any, X: Any) -> Any:
    """New data with the columns of the training data; a Dask array stays as it is."""
    if is_dask(X):
        check_known(X)
        _check_blocks(estimator, X, reset=False)
        return X
    check_unmasked(X)
    if is_source(X):
        return _source(estimator, X, reset=False)
    with _naming_columns(X):
        X = validate_data(estimator, X, reset=False, dtype="numeric", accept_sparse=SPARSE_FORMATS)
        X = _as_numbers(X)
    return tidy(X)


def _source(estimator: Any, X: Any, reset: bool) -> Any:
    """Data that is read in blocks: shape and dtype are checked now, numbers as they come."""
    _check_blocks(estimator, X, reset)
    return tidy(X, getattr(estimator, "feature_names_in_", None))


def _check_blocks(estimator: Any, X: Any, reset: bool) -> None:
    if len(X.shape) != 2:
        raise ValueError(
            f"Expected 2D array, got one of shape {X.shape}: X needs rows and columns."
        )
    if X.dtype.kind not in "iufb":
        raise ValueError(f"X has dtype {X.dtype}: real numbers are needed; convert it first.")
    if 0 in X.shape:
        raise ValueError(f"X has shape {X.shape}: at least one row and one column are required.")
    validate_data(estimator, X, reset=reset, skip_check_array=True)


def _targets(X: Any, y: Any, multi_output: bool, y_numeric: bool) -> Any:
    """y as scikit-learn checks it beside an X in memory."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if multi_output:
        dtype = "numeric" if y_numeric else None
        y = check_array(y, ensure_2d=False, dtype=dtype, input_name="y")
    else:
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity.")
    check_consistent_length(X, y)
    return y


@dataclass(frozen=True)
class Prepared:
    """X with its moments, and the samples of positive weight."""

    X: Any
    rows: Index
    weights: Array
    moments: Moments
    quadrant: Any
    b: Any
    intercept: Intercept
    names: Any
    ready: Mapping[Any, Ready] = field(default_factory=dict)
    factors: Array | None = None
    squared: bool = True

    def at(self, a: Any) -> View:
        """X seen through the transform with this a."""
        unit = common_unit(self.b, self.X.shape[1], self.intercept)
        quadrant = checked_quadrant(self.quadrant, a, self.b, self.moments, unit)
        check_range(quadrant, self.names)
        columns = active_columns(quadrant, self.intercept)
        if self.factors is not None:
            columns = columns[~np.isinf(self.factors[columns])]
        ready = self.ready.get(a) if self.ready else None
        design = as_design(self.X, quadrant, rows=self.rows, columns=columns, ready=ready)
        if self.factors is not None:
            design = factored(design, self.factors[columns])
            names = [column_name(self.names, column) for column in columns]
            check_factored(design, self.weights, names)
        return View(design, quadrant, columns)

    def state(
        self, view: View, model: FittedModel, single: bool, decision: Decision | None = None
    ) -> State:
        """What a model of this data, fitted to one of its views, has learned."""
        used = np.zeros(self.X.shape[0], dtype=bool)
        used[self.rows] = True
        dtype = learned_dtype(self.X)
        model = light_model(model)
        if self.squared:  # the outputs of other losses are not in the units of y
            warn_of_cancellation(model, view.quadrant.column_peaks()[view.columns])
        return State(model, view.quadrant, view.columns, used, dtype, single, decision)


def prepare(estimator: Any, X: Any, weights: Array, powers: Powers = ()) -> Prepared:
    """Measure validated X for an estimator with `quadrant`, `b` and `fit_intercept`.

    `powers` tells which k will be asked for at each a: wide data that is read in blocks is then
    measured and multiplied in one pass, unless the fit does without the product.
    """
    rows = np.flatnonzero(weights > 0)
    intercept = Intercept.of(estimator.fit_intercept)
    ready: dict[Any, Ready] = {}
    matrix_free = may_be_matrix_free(getattr(estimator, "solver", None), rows.size, X.shape[1])
    factors = given_factors(estimator, X.shape[1], intercept)
    wide = crossfit_space(rows.size, X.shape[1], intercept) == "dual"
    in_blocks = is_source(X)
    if isinstance(X, DaskArray):
        X, in_blocks = replace(X, weights=weights), X.is_wide
    if powers and in_blocks and wide and not matrix_free and factors is None:
        moments, found = _moments_and_grams(estimator, X, weights, intercept, powers)
        ready = {a: grams for (a, _), grams in zip(powers, found, strict=True)}
    else:
        moments = measure(X, weights)
    if factors is not None:
        # what is left out takes no part, as if it did not vary
        moments = replace(moments, constant=moments.constant | np.isinf(factors))
    names, given = getattr(estimator, "feature_names_in_", None), (estimator.quadrant, estimator.b)
    measured = X, rows, weights[rows], moments, *given, intercept, names, ready, factors
    return Prepared(*measured, squared=estimator._loss == "squared")


def given_factors(estimator: Any, n_features: int, intercept: Intercept) -> Array | None:
    """Penalty factors, where the intercept allows them; None where all are alike."""
    given = getattr(estimator, "penalty_factor", None)
    factors = None if given is None else checked_factors(given, n_features)
    if factors is None:
        return None
    free = intercept is Intercept.FREE or estimator._loss != "squared"
    if (factors == 0).any() and not free:
        raise ValueError(
            f"penalty_factor has a 0 and fit_intercept={estimator.fit_intercept!r}: what is never "
            "penalised joins the free intercept. Use fit_intercept=True."
        )
    return factors


def _moments_and_grams(
    estimator: Any, X: Any, weights: Array, intercept: Intercept, powers: Powers
) -> tuple[Moments, list[Ready]]:
    """Moments and Gram matrices in one pass."""
    offsets = checked_offsets(estimator.b, X.shape[1])
    names = getattr(estimator, "feature_names_in_", None)
    transforms = []
    for a, ks in powers:
        linear = a == 0 and estimator.quadrant != "identity"
        specs = [checked_spec(k, 1.0, linear, estimator.fit_intercept, "auto") for k in ks]
        exponents = sorted({spec.r for spec in specs if not spec.exact})
        transforms.append(Transform(estimator.quadrant, a, offsets, intercept, names, exponents))
    return moments_and_grams(X, weights, transforms, borders=intercept is not Intercept.FREE)


@dataclass(frozen=True)
class Transform:
    """The transform at one a, for the moments of any slice of columns; `b` one or one for each."""

    quadrant: Any
    a: Any
    b: Array
    intercept: Intercept
    names: Any
    exponents: Sequence[float]

    def whole(self, moments: Moments, columns: slice) -> tuple[Quadrant, Index]:
        """The transform of these columns, and the places of those that take part."""
        b = self.b if self.b.ndim == 0 else self.b[columns]
        unit = common_unit(self.b, self.b.size, self.intercept)
        quadrant = checked_quadrant(self.quadrant, self.a, b, moments, unit)
        check_range(quadrant, self.names, columns.start)
        return quadrant, active_columns(quadrant, self.intercept)


def declared_splitter(cv: Any) -> Any:
    """The splitter that ``cv`` stands for, as far as the routing of metadata asks.

    None and numbers take groups where there are any. Splits that are listed or generated are
    left alone: looking at a generator would use it up.
    """
    if cv is None:
        return LeaveOneGroupOut()
    if isinstance(cv, numbers.Integral):
        return GroupKFold(max(2, int(cv)))
    return cv if hasattr(cv, "split") else KFold()


def check_number_of_folds(name: str, cv: Any, X: Any, groups: Any) -> None:
    """Refuse a number of folds that the samples, or their groups, do not make."""
    if not isinstance(cv, numbers.Integral):
        return
    n, what = (X.shape[0] if hasattr(X, "shape") else len(X)), "samples"
    if groups is not None:
        n, what = np.unique(groups).size, "groups"
    # an array of unknown size is told so elsewhere
    if int(cv) < 2 or int(cv) > n:
        raise ValueError(
            f"{name}={cv} makes no folds of {n:,} {what}: pass a number from 2 to {n:,}."
        )


def splitter_of(cv: Any, y: Any, groups: Any, *, classifier: bool) -> Any:
    """The splitter that a parameter stands for; where there are groups, a number is of these."""
    if isinstance(cv, numbers.Integral) and groups is not None:
        return GroupKFold(int(cv))
    return check_cv(cv, y, classifier=classifier)


def make_folds(
    cv: Any,
    X: Any,
    y: Any,
    rows: Index,
    *,
    classifier: bool,
    compressed: bool,
    few: bool = False,
    seed: int = 0,
    **groups: Any,
) -> Folds:
    """Folds over the samples of positive weight.

    ``cv=None`` is leave one out, or ten folds where features are selected in every fold, or as
    `few` of them as hold out `ENOUGH` samples. With groups it leaves one group out, or makes ten
    folds of whole groups; so does a number.
    """
    grouped = groups.get("groups") is not None
    if cv is not None:
        check_number_of_folds("cv", cv, X, groups.get("groups"))
        splitter = splitter_of(cv, y, groups.get("groups"), classifier=classifier)
        return folds_from_splits(splitter.split(X, y, **groups), rows, X.shape[0])
    few = few and not grouped
    if not (few or compressed or grouped):
        if rows.size < 2:
            raise ValueError(
                f"n_samples={rows.size} of positive weight: leave one out needs at least two."
            )
        return leave_one_out(rows.size)
    some, known = y[rows], None
    if not grouped:
        splitter = _default(some, classifier, seed)
    else:
        known = np.asarray(groups["groups"])[rows]
        n_folds = min(N_FOLDS, np.unique(known).size)
        splitter = GroupKFold(n_folds) if compressed else LeaveOneGroupOut()
    count = -(-ENOUGH * N_FOLDS // rows.size) if few else None
    parts = islice(splitter.split(some, some, known), count)
    return folds_from_splits([(rows[a], rows[b]) for a, b in parts], rows, X.shape[0])


def held_out_name(cv: Any, folds: Folds) -> str:
    """In words, which samples were predicted by models that had not seen them."""
    if folds.folds is None:
        return "leave one out"
    return "one fold" if cv is None and len(folds.folds) == 1 else "folds"


def masses(weights: Array, groups: Any) -> Array:
    """What every sample counts among the bounds: groups alike, or samples as often as they
    weigh."""
    if groups is None:
        return np.asarray(weights / (weights.sum() + 1.0))
    codes = np.unique(groups, return_inverse=True)[1]
    totals = np.bincount(codes, weights=weights)
    return np.asarray(
        weights / (np.where(totals > 0, totals, 1.0)[codes] * (1.0 + np.sum(totals > 0)))
    )


def units_of(cv: Any, folds: Folds, groups: Any, weights: Array) -> Units | None:
    """What is left out together; None where it is each sample alone.

    `groups` (M,) of the samples; else the folds of a list of splits. Splits that train on fewer
    than all other samples are those of samples in an order, for which nothing is known.
    """
    if groups is not None:
        return Units(np.unique(groups, return_inverse=True)[1], masses(weights, groups))
    if folds.folds is None or isinstance(cv, numbers.Integral | None):
        return None
    whole = all(fold.held.size == fold.tested.size for fold in folds.folds)
    if whole and hasattr(cv, "split") and not isinstance(cv, PredefinedSplit):
        return None
    if not whole or not np.array_equal(np.sort(folds.tested), np.arange(weights.size)):
        return Units(np.zeros(0, dtype=np.intp), np.zeros(0))
    return tested_units([fold.tested for fold in folds.folds], weights, None)


def tested_units(tested: Sequence[Index], weights: Array, groups: Any) -> Units:
    """The fold of every sample, with the mass of exchangeable samples or groups."""
    codes = np.empty(weights.size, dtype=np.intp)
    for number, rows in enumerate(tested):
        codes[rows] = number
    return Units(codes, masses(weights, groups))


def seed_of(random_state: Any) -> int:
    """A number that folds are shuffled with: drawn once a fit, and None is always the same."""
    if random_state is None or isinstance(random_state, numbers.Integral):
        return int(random_state or 0)
    return int(check_random_state(random_state).randint(2**31))


def _default(y: Any, classifier: bool, seed: int) -> Any:
    if y.shape[0] < 2:
        raise ValueError(f"n_samples={y.shape[0]} of positive weight: folds need at least two.")
    if classifier:
        smallest = int(np.unique(y, return_counts=True)[1].min())
        if smallest >= 2:
            return StratifiedKFold(min(N_FOLDS, smallest), shuffle=True, random_state=seed)
    return KFold(min(N_FOLDS, y.shape[0]), shuffle=True, random_state=seed)
