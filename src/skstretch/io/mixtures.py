"""A mixture in plain arrays: taken apart for a file, and put together from one.

The k, c and density of its cells are those of their rows in ``cv_results_``, which every file of a
search has; nothing is stored twice.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from skstretch.core.quadrant import Quadrant, active_columns
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Fit, Index, Mask
from skstretch.designs import Design
from skstretch.designs.absent import AbsentDesign
from skstretch.estimators.mixture import Member, Mixture, Term
from skstretch.estimators.state import Decision
from skstretch.exceptions import ModelFileError
from skstretch.io.archive import Arrays, Rule
from skstretch.io.header import encode, field
from skstretch.io.training import (
    NOT_STORED,
    PartialDesign,
    Training,
    stored_design,
    write_features,
)
from skstretch.solve import FittedModel, Solution, Spec
from skstretch.solve.model import Pass

# how far the weights of a target may be from adding up to one
ROUNDING = 1e-9


@dataclass(frozen=True)
class MixtureParts:
    """A mixture in plain arrays and without its training data.

    For T transforms, F members, t targets and D columns of X, of which D' take part.
    """

    quadrant: Quadrant  # what coefficients are shown in
    quadrants: list[Quadrant]  # T
    intercept_kind: str
    space: str  # of the heaviest member
    dtype: str  # of the coefficients
    used: Mask  # (n,), samples of positive weight
    coef: Array  # (T, t, D), of the features in their unit
    level: Array  # (t,)
    intercept: Array  # (t,)
    rows: Index  # (F,), of the search results
    weight: Array  # (F, t)
    dof: Array  # (F,)
    rcond: Array  # (F,)
    gap: Array  # (F,), NaN for a closed form
    kept: list[tuple[Index, ...]]  # F: columns of the D', once or for each target

    @property
    def columns(self) -> Index:
        """The columns of X that take part."""
        return active_columns(self.quadrant, Intercept(self.intercept_kind))

    @cached_property
    def support(self) -> Mask:
        """The columns of X that some member of the target keeps, (t, D)."""
        t, columns = self.level.size, self.columns
        support = np.zeros((t, self.quadrant.b.size), dtype=bool)
        whole = [kept[0].size == columns.size for kept in self.kept]
        support[np.ix_((self.weight[whole] > 0).any(axis=0), columns)] = True
        for number in np.flatnonzero(~np.array(whole)):
            targets, lists = np.flatnonzero(self.weight[number] > 0), self.kept[number]
            for target in targets:
                support[target, columns[lists[target if len(lists) > 1 else 0]]] = True
        return support

    @cached_property
    def stored(self) -> Index:
        """Those of the D' columns that some member keeps: what leaving samples out needs."""
        kept = np.zeros(self.columns.size, dtype=bool)
        for own in {id(own): own for lists in self.kept for own in lists}.values():
            kept[own] = True
        return np.flatnonzero(kept)


def take_apart(state: Mixture) -> MixtureParts:
    """The parts of a mixture."""
    members = state.members
    gaps = [np.nan if m.gap is None else m.gap for m in members]
    return MixtureParts(
        quadrant=state.quadrant,
        quadrants=state.quadrants,
        intercept_kind=state.model.spec.intercept.value,
        space=state.model.passes[0].solution.space,
        dtype=state.dtype.name,
        used=state.used,
        coef=np.stack([state.spread(term.coef) for term in state.terms]),
        level=state.level,
        intercept=state.intercept,
        rows=np.array([m.row for m in members], dtype=np.int64),
        weight=np.array([m.weight for m in members]),
        dof=np.array([m.dof for m in members]),
        rcond=np.array([m.rcond for m in members]),
        gap=np.array(gaps, dtype=float),
        kept=[m.kept for m in members],
    )


def mixture_fields(parts: MixtureParts) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fields of the header and arrays, but for the transform that coefficients are shown in."""
    header = {
        "dtype": parts.dtype,
        "intercept": parts.intercept_kind,
        "space": parts.space,
        "terms": [[q.kind, encode(float(q.a)), encode(float(q.unit))] for q in parts.quadrants],
    }
    arrays = {name: getattr(parts, name) for name in ("used", "coef", "level", "intercept")}
    for name in ("rows", "weight", "dof", "rcond", "gap"):
        arrays[f"member_{name}"] = getattr(parts, name)
    lists = [
        (number, own)
        for number, kept in enumerate(parts.kept)
        for own in kept
        if own.size < parts.columns.size
    ]
    if lists:  # members without a list keep all columns
        arrays["kept"] = np.concatenate([own for _, own in lists]).astype(np.int64)
        arrays["kept_ends"] = np.cumsum([own.size for _, own in lists], dtype=np.int64)
        arrays["kept_member"] = np.array([number for number, _ in lists], dtype=np.int64)
    return header, arrays


def mixture_features(state: Mixture, parts: MixtureParts) -> Array:
    """``a z`` (or z, or x) of every sample in the stored columns by every term, (T, M, U)."""
    stored = parts.stored
    out = np.empty((len(state.terms), state.model.weights.size, stored.size))
    for term, own in zip(state.terms, out, strict=True):
        whole = stored.size == term.design.shape[1]
        design = term.design if whole else term.design.take(stored)
        write_features(design, own, np.arange(stored.size))
    return out


def read_mixture(header: dict[str, Any], arrays: Arrays, quadrant: Quadrant) -> MixtureParts:
    """The parts of a mixture from a file, each of them checked."""
    used = arrays.take("used", Rule(kinds="b", ndim=1))
    level = arrays.take("level", Rule(ndim=1, finite=True))
    rows = arrays.take("member_rows", Rule(kinds="i", ndim=1))
    t, D, F, M = level.size, quadrant.b.size, rows.size, int(used.sum())
    quadrants, words = _transforms(header, quadrant), _words(header)
    n_columns = active_columns(quadrant, Intercept(words["intercept_kind"])).size
    if min(t, n_columns, M) < 1 or F < 2 or rows[0] < 0 or (np.diff(rows) <= 0).any():
        raise ModelFileError(f"it mixes {F} cells of {t} targets on {M} samples of {D} features.")
    parts = MixtureParts(
        **words,
        quadrant=quadrant,
        quadrants=quadrants,
        used=used,
        coef=arrays.take("coef", Rule((len(quadrants), t, D), finite=True)),
        level=level,
        intercept=arrays.take("intercept", Rule((t,), known=True)),
        rows=rows,
        weight=arrays.take("member_weight", Rule((F, t), finite=True)),
        dof=arrays.take("member_dof", Rule((F,))),
        rcond=arrays.take("member_rcond", Rule((F,))),
        gap=arrays.take("member_gap", Rule((F,))),
        kept=_kept(arrays, F, t, n_columns),
    )
    if (parts.weight < 0).any() or (np.abs(parts.weight.sum(axis=0) - 1) > ROUNDING).any():
        raise ModelFileError("the weights of its cells are no shares that add up to one.")
    if any(coef[~parts.support].any() for coef in parts.coef):
        raise ModelFileError("its coefficients and its kept features contradict each other.")
    return parts


def _words(header: dict[str, Any]) -> dict[str, str]:
    """Fields of the header that are one word, as `MixtureParts` names them."""
    found = {name: field(header, name, str) for name in ("intercept", "space", "dtype")}
    known = found["space"] in ("dual", "primal") and found["dtype"] in ("float32", "float64")
    if not known or found["intercept"] not in {kind.value for kind in Intercept}:
        raise ModelFileError("its header has an intercept, space or dtype that no model has.")
    return {"intercept_kind": found.pop("intercept"), **found}


def _transforms(header: dict[str, Any], quadrant: Quadrant) -> list[Quadrant]:
    """The transforms whose features are added up: the one shown, or several beside z-scores."""
    found = [_transform(term) for term in field(header, "terms", list)]
    if len(found) == 1:
        if found[0] != (quadrant.kind, quadrant.a, quadrant.unit):
            raise ModelFileError("its one term and its transform contradict each other.")
        return [quadrant]
    exponential = [(kind, a, unit) for kind, a, unit in found if kind == "exp"]
    kinds, units = {kind for kind, _, _ in found}, {unit for _, _, unit in exponential}
    distinct = len({a for _, a, _ in found}) == len(found)
    if not distinct or len(units) != 1 or kinds - {"exp", "linear"} or quadrant.kind != "linear":
        raise ModelFileError("its terms are not of one family of transforms.")
    # one array for all of them: there may be many, and their number costs a file next to nothing
    b = quadrant.b - units.pop()
    if not np.isfinite(b).all():
        raise ModelFileError("its terms have a unit that no model has.")
    linear = quadrant
    return [
        linear if kind == "linear" else Quadrant(kind, linear.moments, a, b, unit)
        for kind, a, unit in found
    ]


def _transform(term: Any) -> tuple[Any, float, float]:
    """Kind, a and unit of one term."""
    kind, a, unit = term if isinstance(term, list) and len(term) == 3 else ("", None, None)
    known = kind in ("exp", "linear", "identity") and (kind == "linear") == (a == 0)
    if known and isinstance(a, float) and isinstance(unit, float) and (kind == "exp" or not unit):
        return kind, a, unit
    raise ModelFileError("its header has terms that no model has.")


def _kept(arrays: Arrays, F: int, t: int, n_columns: int) -> list[tuple[Index, ...]]:
    """The columns that each member keeps: all where it has no list of its own."""
    every = np.arange(n_columns)
    kept: list[tuple[Index, ...]] = [(every,)] * F
    if "kept" not in arrays:
        return kept
    columns = arrays.take("kept", Rule(kinds="i", ndim=1))
    ends = arrays.take("kept_ends", Rule(kinds="i", ndim=1))
    member = arrays.take("kept_member", Rule(ends.shape, kinds="i"))
    starts = np.concatenate([[0], ends[:-1]])
    sizes, members = ends - starts, (member >= 0) & (member < F)
    sound = ends.size > 0 and (sizes > 0).all() and (sizes < n_columns).all() and members.all()
    sound = sound and ends[-1] == columns.size and columns.min() >= 0 and columns.max() < n_columns
    if sound:
        rising = np.diff(columns) > 0
        rising[ends[:-1] - 1] = True  # where one list ends and the next begins
        sound = bool(rising.all())
    if not sound:
        raise ModelFileError("its cells keep features that no model has.")
    lists: dict[int, list[Index]] = {}
    for number, start, end in zip(member.tolist(), starts.tolist(), ends.tolist(), strict=True):
        lists.setdefault(number, []).append(columns[start:end])
    for number, own in lists.items():
        if len(own) not in (1, t):
            raise ModelFileError(f"one of its cells has {len(own)} lists of kept features.")
        kept[number] = tuple(own)
    return kept


def put_together(
    parts: MixtureParts,
    results: dict[str, Any],
    training: Training,
    single: bool,
    decision: Decision | None,
) -> Mixture:
    """The mixture of parts, of the search results that its cells are rows of, and training data."""
    columns = parts.columns
    terms = tuple(
        Term(quadrant, _design(parts, number, training), parts.coef[number][:, columns])
        for number, quadrant in enumerate(parts.quadrants)
    )
    members = tuple(_members(parts, results))
    return Mixture(
        _heaviest(parts, members, terms, training),
        parts.quadrant,
        columns,
        parts.used,
        np.dtype(parts.dtype),
        single,
        decision,
        terms=terms,
        members=members,
        mixed_level=parts.level,
        mixed_intercept=parts.intercept,
        mixed_support=parts.support,
    )


def _design(parts: MixtureParts, number: int, training: Training) -> Design:
    """The training features as one term has them, as far as they are stored."""
    quadrant, columns, stored = parts.quadrants[number], parts.columns, parts.stored
    offset = 1.0 if quadrant.kind == "exp" else 0.0
    shape = int(parts.used.sum()), columns.size
    if training.features is None:
        return AbsentDesign(shape, offset, NOT_STORED)
    known = stored_design(
        training.features[number],
        quadrant.take(columns[stored]),
        rows_named=not parts.used.all(),
        columns_named=stored.size < quadrant.b.size,
    )
    if stored.size == columns.size:
        return training.factored(known, columns)
    partial = PartialDesign(shape, offset, NOT_STORED, known=known, columns=stored)
    return training.factored(cast(Any, partial), columns)


def _members(parts: MixtureParts, results: dict[str, Any]) -> list[Member]:
    """The members, with k, c and density of their rows."""
    table = {name: _column(results, name, parts.rows) for name in ("a", "k", "c", "density")}
    place = {quadrant.a: number for number, quadrant in enumerate(parts.quadrants)}
    if {*place} != {*table["a"]}:
        raise ModelFileError("its terms are not those of its cells.")
    intercept, members = Intercept(parts.intercept_kind), []
    for number, row in enumerate(parts.rows.tolist()):
        k, c, density = (table[name][number] for name in ("k", "c", "density"))
        if not (1 < k < np.inf and c > 0 and type(density) in (int, float)):
            raise ModelFileError("it mixes cells that no search has.")
        term, gap = place[table["a"][number]], float(parts.gap[number])
        quadrant = parts.quadrants[term]
        spec = Spec(float(k), float(c), intercept, "auto", quadrant.unit, quadrant.kind == "linear")
        members.append(
            Member(
                term,
                spec,
                parts.weight[number],
                parts.kept[number],
                row,
                density,
                float(parts.dof[number]),
                float(parts.rcond[number]),
                None if np.isnan(gap) else gap,
            )
        )
    return members


def _column(results: dict[str, Any], name: str, rows: Index) -> list[Any]:
    """Numbers of some rows of the search results."""
    values = results.get(f"param_{name}")
    kinds = "iufO" if name == "density" else "iuf"
    if values is None or values.dtype.kind not in kinds or rows[-1] >= values.size:
        raise ModelFileError("it mixes cells that its search results do not have.")
    return cast(list[Any], values[rows].tolist())


def _heaviest(
    parts: MixtureParts, members: tuple[Member, ...], terms: tuple[Term, ...], training: Training
) -> FittedModel:
    """The model of the heaviest member; its own coefficients went into those of its term."""
    member = max(members, key=lambda member: float(member.weight.sum()))
    design, t = terms[member.term].design, parts.level.size
    D, unknown = design.shape[1], np.broadcast_to(np.nan, (t,))
    fit = Fit(np.broadcast_to(np.nan, (D, t)), unknown, unknown, None, None, member.rcond)
    space = cast(Any, parts.space)
    solution = Solution(fit, member.dof, space, "newton" if member.spec.exact else space)
    passes = [Pass(np.arange(t), np.arange(D), design, solution)]
    return FittedModel(design, training.Y, training.weights, member.spec, passes)
