"""Samples that are copies, stand in an order or lie far off, noticed at the fit; and whether new
samples are like those of the fit.
"""

import numbers
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import LeaveOneOut

from skstretch.core.classes import decided
from skstretch.core.features import Moments
from skstretch.core.quadrant import Quadrant
from skstretch.core.samples import (
    Reference,
    Space,
    alike_order,
    dual_components,
    gross_errors,
    in_blocks,
    is_sorted,
    moments_without,
    neighbours_alike,
    products_of,
    tight_groups,
)
from skstretch.core.types import Array, Index
from skstretch.designs import DaskArray, Design, as_design, rows_in_memory, tidy
from skstretch.estimators.state import State, as_table
from skstretch.exceptions import DependentSamplesWarning, GrossErrorWarning, RowsForgottenError
from skstretch.solve.choose import N_COMPONENTS, N_JACKKNIFE, N_REFERENCE, is_read
from skstretch.style import count

# rows that a sentence names, and columns that are asked whether they are measurements
NAMED, ASKED = 6, 20
# samples, at least and at most, that are looked at for copies, an order and gross errors
FEWEST, MOST = 30, 1_000

# what was noticed, and the rows that show it
Noticed = dict[str, list[int]]


def notice(model: Any, *, grouped: bool) -> None:
    """Look at the samples of a fitted search; warn of what was found, and keep it."""
    model._noticed = noticed_in(model, grouped=grouped)
    for kind, text in sentences(model._noticed):
        warnings.warn(text, KINDS[kind], stacklevel=4)


KINDS = {
    "copies": DependentSamplesWarning,
    "order": DependentSamplesWarning,
    "gross": GrossErrorWarning,
}


def noticed_in(model: Any, *, grouped: bool) -> Noticed:
    """What is odd about the samples; nothing where they are too few or too many to tell.

    Groups, or splits of the user's own that do not shuffle, say that the user knows how samples
    hang together.
    """
    state: State = model._state
    n, X, found = int(state.used.sum()), training_X(state), Noticed()
    read = is_read(model.plan_.storage) and not model.plan_.into_memory
    if not FEWEST <= n <= MOST or X is None or read or isinstance(X, DaskArray):
        return found
    rows, residuals = np.flatnonzero(state.used), _left_out(model, state)
    unaware = isinstance(model.cv, numbers.Integral | LeaveOneOut | None)
    unaware = unaware or getattr(model.cv, "shuffle", False)
    if not grouped and unaware:
        found |= _dependent(state, X, rows, residuals)
    if residuals is not None:
        gross = gross_errors(residuals)
        if gross.size:
            found["gross"] = rows[gross].tolist()
    return found


def _left_out(model: Any, state: State) -> Array | None:
    """Residuals (M, t) of samples that were left out; None where some were not, and of classes,
    whose order would be seen in them."""
    if model._loss != "squared" or hasattr(model, "classes_"):
        return None
    outputs = np.asarray(model.cv_predictions_, dtype=np.float64)
    residuals = state.model.Y - outputs.reshape(len(outputs), -1)[state.used]
    return residuals if np.isfinite(residuals).all() else None


def _dependent(state: State, X: Any, rows: Index, residuals: Array | None) -> Noticed:
    """Copies, and neighbours in the order of the rows that are alike."""
    columns, found = read_columns(state), Noticed()
    design, ones = z_scores(X, state.quadrant.moments, columns, rows), np.ones(rows.size)
    if not columns.size:
        return found
    (gram,) = design.gram([1.0], ones, None, borders=False)
    copies = tight_groups(gram.K) if columns.size > 1 else np.full(rows.size, -1)
    asked = design.take(np.linspace(0, columns.size - 1, min(columns.size, ASKED)).astype(np.intp))
    values = asked.row_features(np.arange(rows.size)).excess(1.0)
    n_distinct = np.count_nonzero(copies < 0) + copies.max() + 1
    # whole numbers and yes or no are alike without being copies
    measured = 2 * np.median([np.unique(column).size for column in values.T]) >= n_distinct
    if copies.max() >= 0 and measured:
        order = np.argsort(np.where(copies < 0, rows.size, copies), kind="stable")
        found["copies"] = rows[order[: np.count_nonzero(copies >= 0)]].tolist()
    Y = state.model.Y
    if is_sorted(Y) or (state.decision is not None and in_blocks(decided(Y))):
        return found  # neighbours are alike since their targets are
    alike = residuals is not None and neighbours_alike(products_of(residuals))
    if alike or neighbours_alike(gram.K):
        found["order"] = []
    return found


def sentences(noticed: Mapping[str, list[int]]) -> Iterator[tuple[str, str]]:
    """What was noticed, in words, with what to do."""
    if "copies" in noticed:
        rows = noticed["copies"]
        yield (
            "copies",
            f"{count(len(rows), 'sample')} lie in tight groups ({_listed(rows)}), as copies of "
            "each other and batches do. These predict each other, so that errors of left-out ones "
            "may be too small: pass groups=..., one for each thing that was measured several "
            "times, or for each batch.",
        )
    if "order" in noticed:
        yield (
            "order",
            "Samples are like those next to them in the order of the rows, as in batches or in "
            "time, so that errors of left-out ones may be too small: pass groups=..., one for each "
            "batch, or cv=TimeSeriesSplit() for an order in time.",
        )
    if "gross" in noticed:
        rows = noticed["gross"]
        yield (
            "gross",
            f"{count(len(rows), 'sample')} {'lies' if len(rows) == 1 else 'lie'} far from what the "
            f"others predict ({_listed(rows)}). Few gross errors can spoil a model: look at these "
            "rows, and leave out what is wrong.",
        )


def _listed(rows: list[int]) -> str:
    named = ", ".join(f"row {row}" for row in rows[:NAMED])
    return named + (" ..." if len(rows) > NAMED else "")


NO_REFERENCE = (
    "novelty compares with the training samples, and this model has none: it was fitted by "
    "partial_fit, or comes from a file that does not hold what is needed. Fit it again to all "
    "samples at once, and save it with this version."
)
# what columns are standardised by
MEASURED = ("mean", "scale")


def novelty_of(state: State, rows: Iterable[Any]) -> Any:
    """The table of `novelty` for validated rows in memory, some at a time."""
    reference = reference_of(state)
    if reference is None:
        raise RowsForgottenError(NO_REFERENCE)
    moments, columns = state.quadrant.moments, read_columns(state)
    blocks = (Z for X in rows for Z in _blocks(z_scores(X, moments, columns)))
    parts = [reference.space.scores(Z, reference.total) for Z in blocks]
    leverage, distance = (np.concatenate(side) for side in zip(*parts, strict=True))
    first, second, either = reference.p_values(leverage, distance)
    return as_table(
        {
            "leverage": leverage,
            "distance": distance,
            "p_leverage": first,
            "p_distance": second,
            "p_value": either,
        }
    )


def read_columns(state: State) -> Index:
    """The columns that predictions read, and that vary."""
    return np.flatnonzero(state.support.any(axis=0) & ~state.quadrant.moments.constant)


def z_scores(X: Any, moments: Moments, columns: Index, rows: Index | None = None) -> Design:
    """The z-scores of some columns and rows of X."""
    linear = Quadrant("linear", moments, 0.0, np.zeros(moments.mean.size))
    return as_design(X, linear, rows=rows, columns=columns)


def _blocks(design: Design) -> Iterator[Array]:
    """Blocks of rows of the z-scores."""
    for rows in design.row_slices():
        yield design.row_features(np.arange(rows.start, rows.stop)).excess(1.0)


def reference_of(state: State, *, passes: bool = True) -> Reference | None:
    """What new samples are compared with, made once; None where the training samples are gone.

    Without `passes` it is not made of data that a cluster would have to read again.
    """
    known = vars(state)
    if "novelty_reference" not in known:
        if not passes and isinstance(training_X(state), DaskArray):
            return None
        known["novelty_reference"] = _made(state)
    found: Reference | None = known["novelty_reference"]
    return found


def training_X(state: State) -> Any:
    """What a model in memory was fitted to; None where it is gone, or a file has its features."""
    design: Any = state.training[0]
    design = getattr(design, "inner", design)
    if getattr(design, "X", None) is None:
        return None
    mean, scale = (getattr(state.quadrant.moments, name)[state.columns] for name in MEASURED)
    own = design.quadrant.moments
    same = np.array_equal(own.mean, mean) and np.array_equal(own.scale, scale)
    return design.X if same else None


def _made(state: State) -> Reference | None:
    """The reference of a model in memory.

    Of many samples some stand for all, evenly spread in the order of their norms. So do the folds
    that are left out: no order of the samples changes either.
    """
    X, used = training_X(state), np.flatnonzero(state.used)
    if X is None or used.size < 3:
        return None
    moments, columns, weights = state.quadrant.moments, read_columns(state), state.model.weights
    units = np.arange(used.size) if state.units is None else state.units.codes
    grouped = state.units is not None and units.size > 0
    units = units if units.size else np.arange(used.size)  # splits in an order have no units
    total, ranks = float(weights.sum()), _ranks(state, X, units)
    places = np.linspace(0, used.size - 1, min(used.size, N_REFERENCE)).round().astype(np.intp)
    some = np.sort(np.argsort(ranks, kind="stable")[places])
    X, weights, units = tidy(rows_in_memory(X, used[some])), weights[some], units[some]
    folds = np.unique(ranks[some], return_inverse=True)[1] % N_JACKKNIFE
    leverage, distance = np.empty(some.size), np.empty(some.size)
    if (folds == 0).all():
        return None
    for number in np.unique(folds):
        held, rest = np.flatnonzero(folds == number), np.flatnonzero(folds != number)
        Z = np.vstack([*_blocks(z_scores(X, moments, columns, held))])
        own, kept = _without(moments, columns, moments_without(Z, weights[held], total))
        space = _space(z_scores(X, own, kept, rest), weights[rest])
        Z = np.vstack([*_blocks(z_scores(X, own, kept, held))])
        leverage[held], distance[held] = space.scores(Z, total)
    space = _space(z_scores(X, moments, columns), weights)
    if grouped:  # every unit counts as much as another
        codes = np.unique(units, return_inverse=True)[1]
        weights = weights / np.bincount(codes, weights=weights)[codes]
    return Reference(space, leverage, distance, weights, total)


def _ranks(state: State, X: Any, units: Index) -> Index:
    """Numbers of the samples in the order of the mean norms of their units."""
    rows, weights = np.flatnonzero(state.used), state.model.weights
    design = z_scores(X, state.quadrant.moments, read_columns(state), rows)
    norms = np.concatenate([np.square(Z).sum(axis=1) for Z in _blocks(design)])
    sums = np.bincount(units, weights=weights * norms) / np.bincount(units, weights=weights)
    return np.asarray(alike_order(sums)[units], dtype=np.intp)


def _without(moments: Moments, columns: Index, left: tuple[Array, Array]) -> tuple[Moments, Index]:
    """Moments, from those `left` of z-scores, and the columns that still vary."""
    shift, spread = left[0], np.sqrt(left[1])
    mean, scale = (moments.mean + moments.rest).copy(), moments.scale.copy()
    mean[columns] += shift * scale[columns]
    scale[columns] *= np.where(spread > 0, spread, 1.0)
    rest = np.zeros_like(mean)
    return replace(moments, mean=mean, scale=scale, rest=rest), columns[spread > 0]


def _space(design: Design, weights: Array) -> Space:
    """The first principal components of the rows of a design."""
    if not design.shape[1]:
        return Space(np.zeros((0, 0), dtype=np.float32), np.zeros(0))
    (gram,) = design.gram([1.0], weights, None, borders=False)
    count = max(1, min(N_COMPONENTS, int(weights.sum() + 1e-6) // 5))
    variances, B = dual_components(gram.K, weights, count)
    basis = design.products(1.0, weights).back(B).T
    return Space(basis.astype(np.float32), variances)
