"""Samples that are copies, that stand in an order, or that lie far off: noticed at the fit."""

import numbers
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import LeaveOneOut

from skstretch.core.classes import decided
from skstretch.core.dependence import (
    gross_errors,
    in_blocks,
    is_sorted,
    neighbours_alike,
    products_of,
    tight_groups,
)
from skstretch.core.types import Array, Index
from skstretch.designs import DaskArray
from skstretch.estimators.novelty import read_columns, training_X, z_scores
from skstretch.estimators.state import State
from skstretch.exceptions import DependentSamplesWarning, GrossErrorWarning
from skstretch.solve.choose import NOTICED_SAMPLES, is_read
from skstretch.style import count

# rows that a sentence names, and columns that are asked whether they are measurements
NAMED, ASKED = 6, 20

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
    least, most = NOTICED_SAMPLES
    read = is_read(model.plan_.storage) and not model.plan_.into_memory
    if not least <= n <= most or X is None or read or isinstance(X, DaskArray):
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
