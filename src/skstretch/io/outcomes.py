"""What a search found out about every candidate: in a model file, and with the data of the fit
again.

A file holds numbers alone: out-of-fold outputs and what the coefficients of a candidate are made
of, both about as long as the targets. Features are not among them. Where X and y are passed once
more, and are those of the fit value by value, the model is as it was when it was fitted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from skstretch.core.dual import DualSolution
from skstretch.core.gram import Frame
from skstretch.core.primal import checked_factors
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Index
from skstretch.designs import is_dask, is_source, tidy
from skstretch.designs.as_design import storage_of
from skstretch.estimators.inputs import Prepared
from skstretch.estimators.mixture import Mixture
from skstretch.estimators.state import State, twin
from skstretch.exceptions import ModelFileError
from skstretch.io.archive import Rule, data_digest
from skstretch.io.header import Record
from skstretch.search import Outcomes, View
from skstretch.search.candidates import Candidate, Minimisers, Unknowns
from skstretch.solve.choose import Spec

# what may be stored beside any model; else no more than the model itself, or half of X
FREE_BYTES = 1 << 18
# kinds of unknowns
COEF, DUAL, MINIMISER = range(3)
# one row for each pass of a candidate
FIELDS = ("cell", "kind", "rows", "width", "by_columns", "scaled", "target", "n_columns")
# columns of the search results that make a candidate
CANDIDATE = ("param_a", "param_k", "param_c", "param_s", "param_density")
# arrays of a file, for M samples, t targets and P passes
ARRAYS = {
    "outputs": Rule("candidates M t"),
    "Y": Rule("M t", finite=True),
    "weights": Rule("M", finite=True, positive=True),
    "sample_weights": Rule("M", finite=True, positive=True),
    "parts": Rule("P fields", "i"),
    "values": Rule("values", known=True),
    "columns": Rule("columns", "i"),
}
# without these the features of the fit cannot be made again
SHAPING = {"quadrant", "b", "fit_intercept", "penalty_factor"}


@dataclass(frozen=True)
class Kept:
    """The outcomes of a search in plain arrays, for M samples, t targets and P passes.

    Attributes
    ----------
    digest : str
        SHA-256 of X, as `skstretch.io.archive` makes it.
    grouped : bool
    outputs : array of shape (n_cells, M, t)
    Y, weights, sample_weights : arrays of shape (M, t), (M,) and (M,)
    parts : integers of shape (P, 8)
        By name in FIELDS: the candidate, what was solved for, its shape and its order in memory
        (which products depend on in their last digit), whether rows have scales, the target (-1:
        all), and how many columns are kept (-1: all).
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
    def n_bytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in ARRAYS)


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


def write_outcomes(file: Record, model: Any) -> None:
    """Add what a search found out, where it is not too much."""
    kept = kept_of(model, sum(np.asarray(array).nbytes for array in file.arrays.values()))
    if kept is not None:
        file.fields["outcomes"] = {"data": kept.digest, "grouped": kept.grouped}
        file.put_all(ARRAYS, kept, "outcome_")


def read_outcomes(model: Any, file: Record) -> None:
    """Set the outcomes in a file, checked, where it has them."""
    if "outcomes" not in file.fields:
        return
    if any(name not in model.cv_results_ for name in CANDIDATE):
        raise ModelFileError("its search results do not say which candidates they are of.")
    own = Record(file.field("outcomes", dict))
    digest, grouped = own.field("data", str), own.field("grouped", bool)
    kept = Kept(digest, grouped, **file.take_all(ARRAYS, "outcome_"))
    if np.isinf(kept.outputs).any() or not _fit_together(kept, model._state):
        raise ModelFileError("what it says of the candidates of its search contradicts itself.")
    model._kept = kept


def _fit_together(kept: Kept, state: State) -> bool:
    """Whether passes have shapes that a search gives, and as many numbers as they say."""
    if kept.parts.shape[1] != len(FIELDS):
        return False
    n_candidates, M, t = kept.outputs.shape
    D = state.columns.size
    values, columns, last = 0, 0, 0
    for candidate, kind, rows, width, by_columns, scaled, target, n_columns in kept.parts.tolist():
        size = D if n_columns < 0 else n_columns
        shaped = {COEF: rows == size, DUAL: M <= rows <= M + D, MINIMISER: 1 <= rows <= M}
        alone = width == (t if target < 0 else 1) and (kind == DUAL or not scaled)
        inside = last <= candidate < n_candidates and -1 <= target < t and -1 <= n_columns <= D
        flags = {by_columns, scaled} <= {0, 1}
        if not (inside and alone and flags and shaped.get(kind, False)):
            return False
        last, values = candidate, values + _length(kind, rows, width, scaled, M)
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
    columns = (table[name].tolist() for name in CANDIDATE)
    candidates = [Candidate(*values) for values in zip(*columns, strict=True)]
    for row, target in enumerate(table.get("target", np.zeros(0)).tolist()):
        if target >= 0:
            candidates[row] = replace(candidates[row], target=target)
    intercept = Intercept.of(model.fit_intercept)
    views = _views(
        model, tidy(X), kept.weights, {candidate.a for candidate in candidates}, intercept
    )
    unknowns: list[list[Unknowns]] = [[] for _ in candidates]
    for row, part in _passes(kept, candidates, views, intercept):
        unknowns[row].append(part)
    data = kept.Y, kept.weights, intercept, kept.grouped, kept.sample_weights, X
    again._outcomes = Outcomes(candidates, kept.outputs, [tuple(p) for p in unknowns], views, *data)
    again._state = _with_data(state, views, kept)
    grouped = kept.grouped and state.units is not None
    again._sampling = kept.sample_weights, state.units.codes if grouped else None  # type: ignore[union-attr]
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
    return {a: replace(view, design=view.design.light()) for a, view in views.items()}


def _passes(
    kept: Kept, candidates: list[Candidate], views: dict[float, View], intercept: Intercept
) -> Iterator[tuple[int, Unknowns]]:
    """The passes of all candidates."""
    M, value, column = len(kept.weights), 0, 0
    for row, kind, rows, width, by_columns, scaled, target, n_columns in kept.parts.tolist():
        numbers = kept.values[value : value + _length(kind, rows, width, scaled, M)]
        value += numbers.size
        main, rest = np.split(numbers, [rows * width])
        main = main.reshape(rows, width, order="F" if by_columns else "C")
        columns = None if n_columns < 0 else kept.columns[column : column + n_columns]
        column += max(0, n_columns)
        candidate, frame = candidates[row], None
        solved: Any = main
        if kind == DUAL:
            solved = DualSolution(main, rest[:width], rest[width : 2 * width])
            log_rows = rest[2 * width + 1 :] if scaled else None
            frame = Frame(float(rest[2 * width]), np.zeros(0), log_rows)
        elif kind == MINIMISER:
            unit = views[candidate.a].quadrant.unit
            spec = Spec(float(candidate.k), float(candidate.c), intercept, "auto", unit, True)
            solved = Minimisers(spec, main, kept.Y if target < 0 else kept.Y[:, [target]])
        yield row, Unknowns(solved, frame, columns, None if target < 0 else target)


def _with_data(state: State, views: dict[float, View], kept: Kept) -> State:
    """A state with the features that it was fitted to."""
    design, passes = views[state.model_quadrant.a].design, []
    for p in state.model.passes:
        whole = p.columns.size == design.shape[1]
        passes.append(replace(p, design=design if whole else design.take(p.columns)))
    model = replace(state.model, design=design, Y=kept.Y, weights=kept.weights, passes=passes)
    found: State = replace(state, model=model)
    if isinstance(state, Mixture):
        terms = (replace(term, design=views[term.quadrant.a].design) for term in state.terms)
        found = replace(cast(Mixture, found), terms=tuple(terms))
    for before, after in ((state, found), (state.model, found.model)):
        if "loo_residuals" in vars(before):
            vars(after)["loo_residuals"] = vars(before)["loo_residuals"]
    return found
