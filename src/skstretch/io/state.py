"""A fitted state in fields and arrays: written from one, and made of them again.

Training features are there on request; else only their size is known. The k, c and density of the
members of a mixture are those of their rows in ``cv_results_``, which every file of a search has.
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from skstretch.core.crossfit import Spread
from skstretch.core.features import ExpFeatures, Features, Moments, PlainFeatures
from skstretch.core.primal import checked_factors
from skstretch.core.quadrant import Quadrant, active_columns
from skstretch.core.samples import Reference, Space
from skstretch.core.stretch import Intercept
from skstretch.core.types import Array, Fit, Index, Mask
from skstretch.designs import Design, as_design, factored
from skstretch.designs.protocol import AbsentDesign
from skstretch.estimators.intervals import spreads_of
from skstretch.estimators.mixture import Member, Mixture, Term
from skstretch.estimators.samples import read_columns, reference_of
from skstretch.estimators.state import Decision, State, Units
from skstretch.exceptions import ModelFileError
from skstretch.io.archive import Rule
from skstretch.io.header import Record, decode, encode
from skstretch.solve import FittedModel, Spec
from skstretch.solve.choose import SOLVERS

Fields = dict[str, Any]

# how far the weights of a target may be from adding up to one
ROUNDING = 1e-9

NOT_STORED = (
    "this needs the training features, and the model was loaded from a file that does not hold all "
    "of them. Save it with skstretch.save(model, path, intervals=True), which stores those of the "
    'kept columns; predict_interval(X, method="residual") works without; anything else needs a new '
    "fit."
)

# Axes of arrays: n samples, M of them of positive weight, D columns of X, t targets, p passes (one,
# or one for each target), T transforms, F members of a mixture, U columns whose features are
# stored.
MOMENTS = {
    name: Rule("D", "b") if name == "constant" else Rule("D", finite=True, positive=name == "scale")
    for name in Moments.__dataclass_fields__
}
# coefficients of features in their unit, and what each target keeps
SINGLE = {"coef": Rule("t D", finite=True), "support": Rule("t D", "b")}
PASSES = {"rcond": Rule("p"), "dof": Rule("p")}
DUAL = {"beta": Rule("M t", known=True), "log_beta": Rule("p M", known=True)}
# rows of the search results and shares of members; the gap of a closed form is NaN
MEMBERS = {
    "rows": Rule("F", "i"),
    "weight": Rule("F t", finite=True),
    "dof": Rule("F"),
    "rcond": Rule("F"),
    "gap": Rule("F"),
}
# columns of the fit that members keep, where the lists end, and whose they are
KEPT = {
    "kept": Rule("kept", "i"),
    "kept_ends": Rule("lists", "i"),
    "kept_member": Rule("lists", "i"),
}
# what new samples are compared with: E columns, A components, R samples
SPACE = {
    "basis": Rule("A E", itemsize=4, finite=True),
    "variances": Rule("A", finite=True, positive=True),
}
REFERENCE = {
    "leverage": Rule("R", finite=True, positive=True),
    "distance": Rule("R", finite=True),
    "masses": Rule("R", finite=True, positive=True),
}
# how left-out residuals spread
SPREADS = {
    "coef": Rule("t D", finite=True),
    "level": Rule("t", finite=True),
    "about": Rule("t", finite=True),
    "slope": Rule("t", finite=True),
    "left_out": Rule("t M", finite=True),
}
TRAINING = {
    "targets": Rule("M t", finite=True),
    "weights": Rule("M", finite=True, positive=True),
}


def write_state(file: Record, state: State) -> None:
    """Add all of a state but its decision and its training data."""
    write_quadrant(file, state.quadrant)
    file.fields |= {"dtype": state.dtype.name, "single": state.single}
    for name in ("used", "level", "intercept"):
        file.put(name, getattr(state, name))
    if state.units is not None:
        file.put("units", state.units.codes)
        file.put("masses", state.units.masses)
    if isinstance(state, Mixture):
        _write_mixture(file, state)
    else:
        _write_passes(file, state)
    if (found := reference_of(state, passes=False)) is not None:
        file.fields["novelty_total"] = encode(found.total)
        file.put_all(SPACE, found.space, "novelty_")
        file.put_all(REFERENCE, found, "novelty_")


def read_state(
    file: Record, factors: Any, results: dict[str, Any], decision: Decision | None
) -> State:
    """The state of a file, with the training data as far as they are stored.

    `factors` are the penalty factors of the estimator, `results` the ``cv_results_`` that members
    of a mixture are rows of.
    """
    quadrant = read_quadrant(file)
    used = file.take("used", Rule("n", "b"))
    level = file.take("level", Rule("t", finite=True))
    intercept = file.take("intercept", Rule("t", known=True))
    M = file.sizes["M"] = n_rows(file, used)
    t, dtype, single = level.size, file.field("dtype", str), file.field("single", bool)
    if min(t, quadrant.b.size, M) < 1 or dtype not in ("float32", "float64"):
        raise ModelFileError(
            f"it has {t} targets on {M} samples of {quadrant.b.size} features in {dtype[:40]!r}."
        )
    if single and t > 1:
        raise ModelFileError(f"it has {t} targets and says that there is one.")
    common: Fields = {"quadrant": quadrant, "used": used, "dtype": np.dtype(dtype)}
    common |= {"single": single, "decision": decision, "units": _read_units(file)}
    penalties = checked_factors(factors, quadrant.b.size)
    if "terms" in file.fields:
        state: State = _read_mixture(file, common, level, intercept, penalties, results)
    else:
        state = _read_passes(file, common, level, intercept, penalties)
    if "residuals" in file:  # where the cached properties would put them
        owner = state if isinstance(state, Mixture) else state.model
        in_units = state.units is not None and state.units.codes.size
        place, name = (state, "unit_residuals") if in_units else (owner, "loo_residuals")
        vars(place)[name] = file.take("residuals", Rule("M t", known=True))
    vars(state)["novelty_reference"] = _read_reference(file, state)
    if "spread_coef" in file:
        vars(state)["spreads"] = _read_spreads(file)
    return state


def _read_reference(file: Record, state: State) -> Reference | None:
    """What new samples are compared with; files of earlier versions have nothing."""
    if "novelty_total" not in file.fields:
        return None
    space = Space(**file.take_all(SPACE, "novelty_"))
    total = file.number("novelty_total", 0.0)
    found = Reference(space, **file.take_all(REFERENCE, "novelty_"), total=total)
    sound = space.basis.shape[1] == read_columns(state).size and 0 < total < np.inf
    if not sound or (found.distance < 0).any():
        raise ModelFileError("its training samples cannot be compared with others.")
    return found


def _read_units(file: Record) -> Units | None:
    """The samples that are left out together, if any are."""
    if "units" not in file:
        return None
    codes = file.take("units", Rule("units", "i")).astype(np.intp)
    shares = file.take("masses", Rule("units", finite=True))
    sound = codes.size in (0, file.sizes["M"]) and (shares >= 0).all() and shares.sum() <= 1.0
    if not sound or not np.array_equal(np.unique(codes), np.arange(codes.max(initial=-1) + 1)):
        raise ModelFileError("its samples are not left out in sound units.")
    return Units(codes, shares)


def n_rows(file: Record, used: Mask) -> int:
    """Samples of positive weight; those of batches are only counted."""
    if "n_samples_seen" not in file.fields:
        return int(used.sum())
    return 0 if used.size else cast(int, file.field("n_samples_seen", int))


# The transform of the columns.


def write_quadrant(file: Record, quadrant: Quadrant) -> None:
    file.fields["quadrant"] = [quadrant.kind, encode(float(quadrant.a))]
    file.put("b", quadrant.b)
    if quadrant.unit:  # the first schema has none
        file.fields["unit"] = encode(float(quadrant.unit))
    if quadrant.kind == "exp" and quadrant.b.any():
        # level and stored features are those without b; in the first schema they had it
        file.fields["shifted"] = True
    write_moments(file, quadrant.moments)


def read_quadrant(file: Record) -> Quadrant:
    kind, a = file.field("quadrant", list)
    if kind not in ("exp", "linear", "identity") or type(a) is not float:
        raise ModelFileError("its transform is not known.")
    b, unit = file.take("b", Rule("D", finite=True)), file.number("unit", 0.0)
    if not np.isfinite(unit) or (unit and kind != "exp"):
        raise ModelFileError("its transform has a unit that no model has.")
    return Quadrant(kind, read_moments(file), a, b, unit)


def write_moments(file: Record, moments: Moments) -> None:
    for name in MOMENTS:
        values = getattr(moments, name)
        if name != "rest" or values.any():  # the first schema has no rest of the means
            file.put(name, values)


def read_moments(file: Record) -> Moments:
    found = {name: rule for name, rule in MOMENTS.items() if name != "rest" or "rest" in file}
    moments = Moments(**file.take_all(found))
    if (moments.low > moments.high).any():
        raise ModelFileError("its columns have no range.")
    return moments


def _has_shifts_in_logs(file: Record, quadrant: Quadrant) -> bool:
    """Whether a file with shifts b is of the time when they were a part of the logs."""
    return quadrant.kind == "exp" and bool(quadrant.b.any()) and "shifted" not in file.fields


# A model of one candidate: its passes.


def _write_passes(file: Record, state: State) -> None:
    model = state.model
    fits = model.passes
    has_dual = [fit.beta is not None and fit.log_beta is not None for fit in fits]
    spec = model.spec
    file.fields |= {
        "spec": [encode(float(spec.k)), encode(float(spec.c)), spec.intercept.value, spec.solver],
        "spaces": [fit.space for fit in fits],
        "solvers": [fit.solver for fit in fits],
        "has_dual": has_dual,
    }
    if any(fit.n_iter is not None for fit in fits):
        file.fields["iterations"] = [[fit.n_iter, encode(fit.residual)] for fit in fits]
    if any(fit.gap is not None for fit in fits):
        file.fields["gaps"] = [encode(fit.gap) for fit in fits]
    file.put("coef", state.spread(model.coef))
    file.put("support", state.support)
    file.put("rcond", np.array([fit.rcond for fit in fits], dtype=float))
    file.put("dof", np.array([fit.dof for fit in fits], dtype=float))
    if any(has_dual):
        M = model.weights.size
        beta, log_beta = np.zeros((M, state.n_targets)), np.zeros((len(fits), M))
        for i in np.flatnonzero(has_dual):
            beta[:, model.passes[i].targets], log_beta[i] = fits[i].beta, fits[i].log_beta
        file.put("beta", beta)
        file.put("log_beta", log_beta)


def _read_passes(
    file: Record, common: Fields, level: Array, intercept: Array, factors: Any
) -> State:
    quadrant = common["quadrant"]
    spec = _read_spec(file, quadrant)
    columns = active_columns(quadrant, spec.intercept)
    coef, support = file.take_all(SINGLE).values()
    facts = _read_facts(file, level.size)
    idle = np.ones(quadrant.b.size, dtype=bool)
    idle[columns] = False
    shared = len(facts) > 1 or (support == support[0]).all()
    if not shared or support[:, idle].any() or coef[~support].any():
        raise ModelFileError("its coefficients and its kept features contradict each other.")
    if _has_shifts_in_logs(file, quadrant):
        # (P - 1) coef + level, as it was, is (P - exp(b)) coef + level
        level = level + coef @ np.expm1(quadrant.b)
    kept = [np.flatnonzero(own[columns]) for own in support[: len(facts)]]
    stored = _union(kept, columns.size)
    (design,), Y, weights = _read_training(file, [quadrant], columns, stored, factors)
    passes = [
        Fit(
            coef[np.ix_(own["targets"], columns[places])].T,
            level[own["targets"]],
            intercept[own["targets"]],
            columns=places,
            design=design if places.size == columns.size else design.take(places),
            **own,
        )
        for own, places in zip(facts, kept, strict=True)
    ]
    return State(FittedModel(design, Y, weights, spec, passes), columns=columns, **common)


def _read_facts(file: Record, t: int) -> list[dict[str, Any]]:
    """Of every pass what is neither its coefficients nor its features, as `Fit` names it."""
    spaces, solvers = file.listed("spaces", str), file.listed("solvers", str)
    has_dual, p = file.listed("has_dual", bool), len(spaces)
    # older files and closed forms have none of these
    steps = decode(file.fields.get("iterations", [[None, None]] * p))
    gaps = decode(file.fields.get("gaps", [None] * p))
    known = not {*spaces} - {"dual", "primal"} and not {*solvers} - {*SOLVERS, "newton"}
    if not known or p not in (1, t) or {*map(len, (solvers, has_dual, steps, gaps))} != {p}:
        raise ModelFileError(f"it has {p} fits of {t} targets that no model has.")
    file.sizes["p"] = p
    taken = file.take_all({**PASSES, **DUAL} if any(has_dual) else PASSES)
    facts = []
    for i, (n_iter, residual) in enumerate(steps):
        counted = n_iter is None or (type(n_iter) is int and n_iter >= 0)
        if not counted or {type(residual), type(gaps[i])} - {float, type(None)}:
            raise ModelFileError("its header has iterations or gaps that no model has.")
        targets = np.arange(t) if p == 1 else np.array([i])
        fact = {"targets": targets, "space": spaces[i], "solver": solvers[i]}
        fact |= {"n_iter": n_iter, "residual": residual, "gap": gaps[i]}
        fact |= {name: float(taken[name][i]) for name in PASSES}
        beta = (taken["beta"][:, targets], taken["log_beta"][i]) if has_dual[i] else (None, None)
        facts.append(fact | dict(zip(DUAL, beta, strict=True)))
    return facts


def _read_spec(file: Record, quadrant: Quadrant) -> Spec:
    k, c, intercept, solver = file.field("spec", list)
    k, c = decode(k), decode(c)
    if not (type(k) is type(c) is float and 1 < k < np.inf and c > 0 and solver in SOLVERS):
        raise ModelFileError("its header has values for k, c or solver that no model has.")
    return Spec(k, c, Intercept(intercept), solver, quadrant.unit, quadrant.kind == "linear")


# A mixture: its transforms and its members.


def _write_mixture(file: Record, state: Mixture) -> None:
    members, terms = state.members, state.quadrants
    file.fields |= {
        "intercept": state.model.spec.intercept.value,
        "space": state.model.passes[0].space,  # of the heaviest member
        "terms": [[q.kind, encode(float(q.a)), encode(float(q.unit))] for q in terms],
    }
    file.put("coef", np.stack([state.spread(term.coef) for term in state.terms]))
    file.put("member_rows", np.array([m.row for m in members], dtype=np.int64))
    file.put("member_gap", np.array([m.gap for m in members], dtype=float))  # NaN for None
    for name in ("weight", "dof", "rcond"):
        file.put(f"member_{name}", np.array([getattr(m, name) for m in members]))
    lists = [
        (number, own)
        for number, member in enumerate(members)
        for own in member.kept
        if own.size < state.columns.size
    ]
    if lists:  # members without a list keep all columns
        file.put("kept", np.concatenate([own for _, own in lists]).astype(np.int64))
        file.put("kept_ends", np.cumsum([own.size for _, own in lists], dtype=np.int64))
        file.put("kept_member", np.array([number for number, _ in lists], dtype=np.int64))


def _read_mixture(
    file: Record, common: Fields, level: Array, intercept: Array, factors: Any, results: Fields
) -> Mixture:
    quadrant, form = common["quadrant"], file.field("intercept", str)
    space = file.field("space", str)
    if space not in ("dual", "primal") or form not in {kind.value for kind in Intercept}:
        raise ModelFileError("its header has an intercept or space that no model has.")
    quadrants = _read_terms(file, quadrant)
    file.sizes["T"] = len(quadrants)
    columns = active_columns(quadrant, Intercept(form))
    coef, taken = file.take("coef", Rule("T t D", finite=True)), file.take_all(MEMBERS, "member_")
    rows, weight = taken["rows"], taken["weight"]
    if columns.size < 1 or rows.size < 2 or rows[0] < 0 or (np.diff(rows) <= 0).any():
        raise ModelFileError(f"it mixes {rows.size} candidates of {columns.size} features.")
    if (weight < 0).any() or (np.abs(weight.sum(axis=0) - 1) > ROUNDING).any():
        raise ModelFileError("the weights of its candidates are no shares that add up to one.")
    kept = _read_kept(file, rows.size, level.size, columns.size)
    support = np.zeros(coef.shape[1:], dtype=bool)
    support[:, columns] = _support(kept, weight, columns.size)
    if any(own[~support].any() for own in coef):
        raise ModelFileError("its coefficients and its kept features contradict each other.")
    members = tuple(_read_members(taken, kept, quadrants, Intercept(form), results))
    stored = _union([own for lists in kept for own in lists], columns.size)
    designs, Y, weights = _read_training(file, quadrants, columns, stored, factors)
    terms = tuple(
        Term(q, design, own[:, columns])
        for q, design, own in zip(quadrants, designs, coef, strict=True)
    )
    return Mixture(
        _heaviest(members, terms, space, Y, weights),
        columns=columns,
        **common,
        terms=terms,
        members=members,
        mixed_level=level,
        mixed_intercept=intercept,
        mixed_support=support,
    )


def _read_terms(file: Record, quadrant: Quadrant) -> list[Quadrant]:
    """The transforms whose features are added up: the one shown, or several beside z-scores."""
    found = [_term(term) for term in file.field("terms", list)]
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


def _term(term: Any) -> tuple[Any, float, float]:
    """Kind, a and unit of one transform."""
    kind, a, unit = term if isinstance(term, list) and len(term) == 3 else ("", None, None)
    known = kind in ("exp", "linear", "identity") and (kind == "linear") == (a == 0)
    if known and isinstance(a, float) and isinstance(unit, float) and (kind == "exp" or not unit):
        return kind, a, unit
    raise ModelFileError("its header has terms that no model has.")


def _read_kept(file: Record, F: int, t: int, n_columns: int) -> list[tuple[Index, ...]]:
    """The columns that each member keeps: all where it has no list of its own."""
    every = np.arange(n_columns)
    kept: list[tuple[Index, ...]] = [(every,)] * F
    if "kept" not in file:
        return kept
    columns, ends, member = file.take_all(KEPT).values()
    starts = np.concatenate([[0], ends[:-1]])
    sizes, members = ends - starts, (member >= 0) & (member < F)
    sound = ends.size > 0 and (sizes > 0).all() and (sizes < n_columns).all() and members.all()
    sound = sound and ends[-1] == columns.size and columns.min() >= 0 and columns.max() < n_columns
    if sound:
        rising = np.diff(columns) > 0
        rising[ends[:-1] - 1] = True  # where one list ends and the next begins
        sound = bool(rising.all())
    if not sound:
        raise ModelFileError("its candidates keep features that no model has.")
    lists: dict[int, list[Index]] = {}
    for number, start, end in zip(member.tolist(), starts.tolist(), ends.tolist(), strict=True):
        lists.setdefault(number, []).append(columns[start:end])
    for number, own in lists.items():
        if len(own) not in (1, t):
            raise ModelFileError(f"one of its candidates has {len(own)} lists of kept features.")
        kept[number] = tuple(own)
    return kept


def _support(kept: list[tuple[Index, ...]], weight: Array, n_columns: int) -> Mask:
    """The columns of the fit that some member of the target keeps, (t, D')."""
    support = np.zeros((weight.shape[1], n_columns), dtype=bool)
    whole = [lists[0].size == n_columns for lists in kept]
    support[(weight[whole] > 0).any(axis=0)] = True
    for number in np.flatnonzero(~np.array(whole)):
        lists = kept[number]
        for target in np.flatnonzero(weight[number] > 0):
            support[target, lists[target if len(lists) > 1 else 0]] = True
    return support


def _read_members(
    taken: dict[str, Any],
    kept: list[tuple[Index, ...]],
    quadrants: list[Quadrant],
    intercept: Intercept,
    results: dict[str, Any],
) -> list[Member]:
    """The members, with k, c and density of their rows."""
    table = {name: _column(results, name, taken["rows"]) for name in ("a", "k", "c", "density")}
    place = {quadrant.a: number for number, quadrant in enumerate(quadrants)}
    if {*place} != {*table["a"]}:
        raise ModelFileError("its terms are not those of its candidates.")
    members = []
    for number, row in enumerate(taken["rows"].tolist()):
        k, c, density = (table[name][number] for name in ("k", "c", "density"))
        if not (1 < k < np.inf and c > 0 and type(density) in (int, float)):
            raise ModelFileError("it mixes candidates that no search has.")
        term, gap = place[table["a"][number]], float(taken["gap"][number])
        unit, linear = quadrants[term].unit, quadrants[term].kind == "linear"
        members.append(
            Member(
                term,
                Spec(float(k), float(c), intercept, "auto", unit, linear),
                taken["weight"][number],
                kept[number],
                row,
                density,
                float(taken["dof"][number]),
                float(taken["rcond"][number]),
                None if np.isnan(gap) else gap,
            )
        )
    return members


def _column(results: dict[str, Any], name: str, rows: Index) -> list[Any]:
    """Numbers of some rows of the search results."""
    values = results.get(f"param_{name}")
    kinds = "iufO" if name == "density" else "iuf"
    if values is None or values.dtype.kind not in kinds or rows[-1] >= values.size:
        raise ModelFileError("it mixes candidates that its search results do not have.")
    return cast(list[Any], values[rows].tolist())


def _heaviest(
    members: tuple[Member, ...], terms: tuple[Term, ...], space: Any, Y: Array, weights: Array
) -> FittedModel:
    """The model of the heaviest member; its own coefficients went into those of its term."""
    member = max(members, key=lambda member: float(member.weight.sum()))
    design, t = terms[member.term].design, Y.shape[1]
    D, unknown = design.shape[1], np.broadcast_to(np.nan, (t,))
    solver = "newton" if member.spec.exact else space
    fit = Fit(
        *(np.broadcast_to(np.nan, (D, t)), unknown, unknown, None, None, member.rcond),
        dof=member.dof,
        space=space,
        solver=solver,
        targets=np.arange(t),
        columns=np.arange(D),
        design=design,
    )
    return FittedModel(design, Y, weights, member.spec, [fit])


# Training data.


def stored_columns(state: State) -> Index:
    """Those columns of the fit that some target keeps: what leaving samples out needs."""
    if isinstance(state, Mixture):
        kept = [own for member in state.members for own in member.kept]
    else:
        kept = [p.columns for p in state.model.passes]
    return _union(kept, state.columns.size)


def _union(lists: list[Index], n_columns: int) -> Index:
    found = np.zeros(n_columns, dtype=bool)
    for own in {id(own): own for own in lists}.values():
        found[own] = True
    return np.flatnonzero(found)


def write_training(file: Record, state: State) -> None:
    """Add targets, weights, and ``a z`` (or z, or x) of the stored columns by every transform."""
    stored, M = stored_columns(state), state.model.weights.size
    mixed = isinstance(state, Mixture)
    designs = [part.design for part in (cast(Mixture, state).terms if mixed else [state.model])]
    features = np.empty((len(designs), M, stored.size))
    for design, own in zip(designs, features, strict=True):
        part = design if stored.size == design.shape[1] else design.take(stored)
        for rows in part.row_slices():
            own[rows] = _values(part.row_features(np.arange(rows.start, rows.stop)))
    file.put("features", features if mixed else features[0])
    file.put("targets", state.model.Y)
    file.put("weights", state.model.weights)
    if found := spreads_of(state) if read_columns(state).size else None:
        file.put("spread_coef", np.vstack([coef for _, coef in found]))
        for name in ("level", "about", "slope", "left_out"):
            file.put(f"spread_{name}", np.array([getattr(spread, name) for spread, _ in found]))


def _read_spreads(file: Record) -> list[tuple[Spread, Array]]:
    """How left-out residuals spread, for each target."""
    taken = file.take_all(SPREADS, "spread_")
    coefs = taken.pop("coef")
    return [
        (Spread(np.zeros(0), **{name: values[j] for name, values in taken.items()}), coef[None])
        for j, coef in enumerate(coefs)
    ]


def _values(features: Features) -> Array:
    if isinstance(features, ExpFeatures):
        return features.L
    if isinstance(features, PlainFeatures):
        return features.P
    excess = features.excess(1.0)
    return np.log1p(excess / features.offset) if np.any(features.offset) else excess


def _read_training(
    file: Record, quadrants: list[Quadrant], columns: Index, stored: Index, factors: Array | None
) -> tuple[list[Design], Array, Array]:
    """A design for every transform, targets (M, t) and weights (M,); NaN where none are stored.

    Of the `columns` that take part in the fit, features are there for those numbered `stored`.
    """
    shape = M, _ = file.sizes["M"], columns.size
    offsets = [1.0 if quadrant.kind == "exp" else 0.0 for quadrant in quadrants]
    if not file.field("intervals", bool):
        absent: list[Any] = [AbsentDesign(shape, offset, NOT_STORED) for offset in offsets]
        nothing: Any = np.nan
        Y = np.broadcast_to(nothing, (M, file.sizes["t"]))
        return absent, Y, np.broadcast_to(nothing, (M,))
    file.sizes["U"] = stored.size
    mixed = "terms" in file.fields
    features = file.take("features", Rule("T M U" if mixed else "M U", finite=True))
    features = features if mixed else features[None]
    if len(quadrants) == 1 and _has_shifts_in_logs(file, quadrants[0]):
        features = features - quadrants[0].b[columns[stored]]
    Y, weights = file.take_all(TRAINING).values()
    designs = []
    for own, quadrant, offset in zip(features, quadrants, offsets, strict=True):
        design: Any = _stored_design(own, quadrant.take(columns[stored]), file.sizes)
        if stored.size < columns.size:
            design = PartialDesign(shape, offset, NOT_STORED, known=design, columns=stored)
        designs.append(factored(design, None if factors is None else factors[columns]))
    return designs, Y, weights


def _stored_design(features: Array, quadrant: Quadrant, sizes: dict[str, int]) -> Design:
    """A design whose features are exactly those that were stored; `quadrant` is that of them.

    It names its columns and rows where the design of the fit did: the memory layout then is the
    same, and with it the rounding of every product.
    """
    M, U = features.shape
    low, high = features.min(axis=0, initial=np.inf), features.max(axis=0, initial=-np.inf)
    moments = Moments(np.zeros(U), np.ones(U), low, low, high, low == high)
    design = as_design(features, Quadrant(quadrant.kind, moments, 1.0, quadrant.b))
    if sizes["n"] > M:
        design = design.take_rows(np.arange(M))
    if sizes["D"] > U:
        design = design.take(np.arange(U))
    return design


@dataclass(frozen=True, kw_only=True)
class PartialDesign(AbsentDesign):
    """Features of which some columns are there: `known` has those of the numbers `columns`."""

    known: Design
    columns: Index

    def take(self, columns: Index) -> Any:
        if np.array_equal(columns, self.columns):
            return self.known
        if not np.isin(columns, self.columns).all():
            return AbsentDesign((self.shape[0], columns.size), self.offset, self.reason)
        return self.known.take(np.searchsorted(self.columns, columns))
