"""What a search found out about every cell: in a model file, and with the data of the fit again.

A file holds numbers alone: out-of-fold outputs and what the coefficients of a cell are made of,
both about as long as the targets. Features are not among them. Where X and y are passed once more,
and are those of the fit value by value, the model is as it was when it was fitted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from skstretch.core.dual import DualSolution
from skstretch.core.dual_gram import Frame
from skstretch.core.penalty_factors import checked_factors
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Index
from skstretch.designs import Design, is_dask, is_source, tidy
from skstretch.designs.as_design import storage_of
from skstretch.estimators.inputs import Prepared, View
from skstretch.estimators.mixture import Mixture
from skstretch.estimators.state import State
from skstretch.estimators.steps import twin
from skstretch.exceptions import ModelFileError
from skstretch.io.archive import Arrays, Rule
from skstretch.io.digest import data_digest
from skstretch.io.header import field
from skstretch.search import Outcomes, light_design
from skstretch.search.cells import Cell, Minimisers, Unknowns
from skstretch.solve.model import FittedModel
from skstretch.solve.spec import Spec

# what may be stored beside any model; else no more than the model itself, or half of X
FREE_BYTES = 1 << 18
# kinds of unknowns
COEF, DUAL, MINIMISER = range(3)
# one row for each pass of a cell
FIELDS = ("cell", "kind", "rows", "width", "by_columns", "scaled", "target", "n_columns")
# without these the features of the fit cannot be made again
SHAPING = {"quadrant", "b", "fit_intercept", "penalty_factor"}


@dataclass(frozen=True)
class Kept:
    """The outcomes of a search in plain arrays, for M samples, t targets and P passes.

    Attributes
    ----------
    digest : str
        SHA-256 of X, as `skstretch.io.digest` makes it.
    grouped : bool
    outputs : array of shape (n_cells, M, t)
    Y, weights, sample_weights : arrays of shape (M, t), (M,) and (M,)
    parts : integers of shape (P, 8)
        By name in FIELDS: the cell, what was solved for, its shape and its order in memory (which
        products depend on in their last digit), whether rows have scales, the target (-1: all),
        and how many columns are kept (-1: all).
    values, columns : arrays
        The numbers of all passes, and the columns that they keep, one after the other.
    """

    digest: str
    grouped: bool
    outputs: Array
    Y: Array
    weights: Array
    sample_weights: Array
    parts: Index
    values: Array
    columns: Index

    @property
    def arrays(self) -> dict[str, Any]:
        """The arrays, by their names in a file."""
        names = [name for name in Kept.__dataclass_fields__ if name not in ("digest", "grouped")]
        return {f"outcome_{name.lower()}": getattr(self, name) for name in names}

    @property
    def n_bytes(self) -> int:
        return sum(values.nbytes for values in self.arrays.values())


def kept_of(model: Any, own_bytes: int) -> Kept | None:
    """What is stored of a search whose model takes so many bytes; None where it is too much.

    None too where there is nothing to store, and for data that are read in blocks, which would
    have to be read once more for their digest.
    """
    if hasattr(model, "_kept"):
        return cast(Kept, model._kept)
    outcomes = getattr(model, "_outcomes", None)
    if outcomes is None or is_source(outcomes.X) or is_dask(outcomes.X):
        return None
    passes = [(row, part) for row, own in enumerate(outcomes.unknowns) for part in own]
    described = [_described(row, part) for row, part in passes]
    columns = [part.columns for _, part in passes if part.columns is not None]
    kept = Kept(
        "",
        outcomes.grouped,
        outcomes.outputs,
        outcomes.Y,
        outcomes.weights,
        outcomes.sample_weights,
        np.array([fields for fields, _ in described], dtype=np.int64).reshape(-1, len(FIELDS)),
        np.concatenate([np.zeros(0), *(values for _, values in described)]),
        np.concatenate([np.zeros(0, dtype=np.int64), *columns]).astype(np.int64),
    )
    if kept.n_bytes > max(FREE_BYTES, own_bytes, storage_of(outcomes.X).nbytes // 2):
        return None
    return replace(kept, digest=data_digest(outcomes.X).hexdigest())


def _described(row: int, part: Unknowns) -> tuple[list[int], Array]:
    """One pass as a row of integers, and its numbers in one array."""
    solved, frame = part.solved, part.frame
    log_rows = None if frame is None else frame.log_rows
    rest: list[Any] = []
    if isinstance(solved, DualSolution):
        assert frame is not None
        kind, main = DUAL, solved.beta
        rest = [solved.total, solved.constant, [frame.r], () if log_rows is None else log_rows]
    elif isinstance(solved, Minimisers):
        kind, main = MINIMISER, solved.e
    else:
        kind, main = COEF, solved
    by_columns = main.strides[0] < main.strides[1]
    target = -1 if part.target is None else part.target
    n_columns = -1 if part.columns is None else part.columns.size
    fields = [row, kind, *main.shape, by_columns, log_rows is not None, target, n_columns]
    fields = [int(number) for number in fields]
    return fields, np.concatenate([main.ravel("F" if by_columns else "C"), *rest])


def kept_fields(kept: Kept) -> tuple[dict[str, Any], dict[str, Any]]:
    """A field of the header, and arrays."""
    return {"outcomes": {"data": kept.digest, "grouped": kept.grouped}}, kept.arrays


def read_kept(header: dict[str, Any], arrays: Arrays, n_cells: int, state: State) -> Kept | None:
    """The outcomes in a file, checked; None where it has none."""
    if "outcomes" not in header:
        return None
    fields = field(header, "outcomes", dict)
    digest, grouped = field(fields, "data", str), field(fields, "grouped", bool)
    M, t = int(state.used.sum()), state.n_targets
    rules = {
        "outputs": Rule((n_cells, M, t)),
        "Y": Rule((M, t), finite=True),
        "weights": Rule((M,), finite=True),
        "sample_weights": Rule((M,), finite=True),
        "parts": Rule(kinds="i", ndim=2),
        "values": Rule(ndim=1, known=True),
        "columns": Rule(kinds="i", ndim=1),
    }
    taken = {name: arrays.take(f"outcome_{name.lower()}", rule) for name, rule in rules.items()}
    kept = Kept(digest, grouped, **taken)
    sound = (kept.weights > 0).all() and (kept.sample_weights > 0).all()
    if not sound or np.isinf(kept.outputs).any() or not _fit_together(kept, n_cells, state):
        raise ModelFileError("what it says of the cells of its search contradicts itself.")
    return kept


def _fit_together(kept: Kept, n_cells: int, state: State) -> bool:
    """Whether passes have shapes that a search gives, and as many numbers as they say."""
    if kept.parts.shape[1] != len(FIELDS):
        return False
    M, t, D = len(kept.weights), state.n_targets, state.columns.size
    values, columns, last = 0, 0, 0
    for cell, kind, rows, width, by_columns, scaled, target, n_columns in kept.parts.tolist():
        size = D if n_columns < 0 else n_columns
        shaped = {COEF: rows == size, DUAL: M <= rows <= M + D, MINIMISER: 1 <= rows <= M}
        alone = width == (t if target < 0 else 1) and (kind == DUAL or not scaled)
        inside = last <= cell < n_cells and -1 <= target < t and -1 <= n_columns <= D
        flags = {by_columns, scaled} <= {0, 1}
        if not (inside and alone and flags and shaped.get(kind, False)):
            return False
        if kind == MINIMISER and (target >= 0 or n_columns >= 0):
            return False
        last, values = cell, values + _length(kind, rows, width, scaled, M)
        if n_columns >= 0:
            own = kept.columns[columns : columns + n_columns]
            columns += n_columns
            rising = own.size == n_columns > 0 and bool((np.diff(own) > 0).all())
            if not rising or own[0] < 0 or own[-1] >= D:
                return False
    return values == kept.values.size and columns == kept.columns.size


def _length(kind: int, rows: int, width: int, scaled: int, M: int) -> int:
    """How many numbers a pass has."""
    return rows * width + (2 * width + 1 + scaled * M if kind == DUAL else 0)


def reunited(model: Any, X: Any, Y: Array, digest: str) -> Any:
    """A copy of a loaded search with its training data and its outcomes, as it was fitted.

    None where these are not in its file, or X (of this digest) and the targets Y (n, t) are not
    those of the fit.
    """
    kept: Kept | None = getattr(model, "_kept", None)
    if kept is None or SHAPING & {*getattr(model, "not_stored_", {})}:
        return None
    state: State = model._state
    if digest != kept.digest or not np.array_equal(Y[state.used], kept.Y):
        return None
    again, table = twin(model), model.cv_results_
    names = ("param_a", "param_k", "param_c", "param_s", "param_density")
    cells = [Cell(*values) for values in zip(*(table[n].tolist() for n in names), strict=True)]
    intercept = Intercept.of(model.fit_intercept)
    views = _views(model, tidy(X), kept.weights, {cell.a for cell in cells}, intercept)
    unknowns: list[list[Unknowns]] = [[] for _ in cells]
    for row, part in _passes(kept, cells, views, intercept):
        unknowns[row].append(part)
    data = kept.Y, kept.weights, intercept, kept.grouped, kept.sample_weights, X
    again._outcomes = Outcomes(cells, kept.outputs, [tuple(p) for p in unknowns], views, *data)
    again._state = _with_data(state, views, kept)
    return again


def _views(
    model: Any, X: Any, weights: Array, at: set[float], intercept: Intercept
) -> dict[float, View]:
    """X seen through every a, with the moments of the fit."""
    state: State = model._state
    prepared = Prepared(
        X,
        np.flatnonzero(state.used),
        weights,
        state.quadrant.moments,
        model.quadrant,
        model.b,
        intercept,
        getattr(model, "feature_names_in_", None),
        factors=checked_factors(model.penalty_factor, X.shape[1]),
    )
    views = {a: prepared.at(a) for a in sorted(at)}
    return {a: replace(view, design=light_design(view.design)) for a, view in views.items()}


def _passes(
    kept: Kept, cells: list[Cell], views: dict[float, View], intercept: Intercept
) -> Iterator[tuple[int, Unknowns]]:
    """The passes of all cells."""
    M, value, column = len(kept.weights), 0, 0
    for row, kind, rows, width, by_columns, scaled, target, n_columns in kept.parts.tolist():
        numbers = kept.values[value : value + _length(kind, rows, width, scaled, M)]
        value += numbers.size
        main, rest = np.split(numbers, [rows * width])
        main = main.reshape(rows, width, order="F" if by_columns else "C")
        columns = None if n_columns < 0 else kept.columns[column : column + n_columns]
        column += max(0, n_columns)
        cell, frame = cells[row], None
        solved: Any = main
        if kind == DUAL:
            solved = DualSolution(main, rest[:width], rest[width : 2 * width])
            log_rows = rest[2 * width + 1 :] if scaled else None
            frame = Frame(float(rest[2 * width]), np.zeros(0), log_rows)
        elif kind == MINIMISER:
            unit = views[cell.a].quadrant.unit
            spec = Spec(float(cell.k), float(cell.c), intercept, "auto", unit, True)
            solved = Minimisers(spec, main, kept.Y)
        yield row, Unknowns(solved, frame, columns, None if target < 0 else target)


def _with_data(state: State, views: dict[float, View], kept: Kept) -> State:
    """A state with the features that it was fitted to."""
    a = state.model_quadrant.a
    found: State = replace(state, model=_model_with_data(state.model, views[a].design, kept))
    if isinstance(state, Mixture):
        terms = (replace(term, design=views[term.quadrant.a].design) for term in state.terms)
        found = replace(cast(Mixture, found), terms=tuple(terms))
    for before, after in ((state, found), (state.model, found.model)):
        if "loo_residuals" in vars(before):
            vars(after)["loo_residuals"] = vars(before)["loo_residuals"]
    return found


def _model_with_data(model: FittedModel, design: Design, kept: Kept) -> FittedModel:
    passes = []
    for p in model.passes:
        whole = p.columns.size == design.shape[1]
        passes.append(replace(p, design=design if whole else design.take(p.columns)))
    return replace(model, design=design, Y=kept.Y, weights=kept.weights, passes=passes)
