"""From a file to a fitted model: every field and array is checked before it is used."""

import inspect
import os
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression

from skstretch.core.moments import Moments
from skstretch.core.penalty_factors import checked_factors
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array
from skstretch.designs import Design
from skstretch.designs.absent import AbsentDesign
from skstretch.estimators.state import Decision, State
from skstretch.exceptions import ModelFileError
from skstretch.io import mixtures
from skstretch.io.archive import Archive, Arrays, Rule, read_array, read_entry, refusing, unsound
from skstretch.io.header import (
    NAME,
    decode,
    field,
    field_list,
    read_header,
    stored_facts,
    text_list,
)
from skstretch.io.mixtures import MixtureParts, read_mixture
from skstretch.io.outcomes import read_kept
from skstretch.io.parts import Parts, put_together
from skstretch.io.pipelines import read_pipeline, split_arrays
from skstretch.io.results import set_search, set_weights
from skstretch.io.training import NOT_STORED, Training, read_training, stored_design
from skstretch.io.write import CLASSES, task_of
from skstretch.solve.spec import SOLVERS

# which samples cuts and probabilities of classes were learned on
HELD_OUT = (None, "leave one out", "folds", "one fold")


def load(path: Any) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or path-like
        A model file.

    Returns
    -------
    model : StretchyRegressor, StretchyClassifier, StretchyRegressorCV, StretchyClassifierCV \
            or sklearn.pipeline.Pipeline
        Fitted; its predictions are bit for bit those of the model that was saved. Parameters that
        could not be stored have their default; ``not_stored_``, a dict that is only there for
        such a model, says how they were written.

    Raises
    ------
    ModelFileError
        For a file that is damaged, hostile, or written by a newer version. Nothing in a file is
        ever executed, and reading takes memory and time in proportion to its size on the disk.

    See Also
    --------
    save : Writes model files, with an example of both.
    skstretch.io.about : Facts that were stored with a model.

    Examples
    --------
    >>> import tempfile
    >>> import skstretch
    >>> model = skstretch.StretchyRegressor().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     skstretch.save(model, f"{folder}/line.stretchy")
    ...     again = skstretch.load(f"{folder}/line.stretchy")
    >>> again
    StretchyRegressor()
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            archive = Archive(file)
            header = read_header(archive)
            arrays = _read_arrays(archive, header)
        with refusing("its parts do not fit together"):
            return rebuilt(header, arrays)
    except ModelFileError as error:
        raise unsound(name, error) from error


def _read_arrays(archive: Archive, header: dict[str, Any]) -> dict[str, Any]:
    listed = field(header, "arrays", dict)
    members = {name.removesuffix(".npy") for name in archive.members if name != NAME}
    if members != set(listed):
        odd = sorted(members ^ set(listed))[0]
        where = "in the file" if odd in members else "in the header"
        raise ModelFileError(f"its array {odd[:80]!r} is only {where}.")
    entries = {name: read_entry(name, fields) for name, fields in listed.items()}
    return {name: read_array(archive, name, entry) for name, entry in entries.items()}


def rebuilt(header: dict[str, Any], raw: dict[str, Any]) -> Any:
    """The estimator, or the pipeline, that a header and its arrays stand for."""
    if "pipeline" not in header:
        return _estimator(header, raw)
    own, others = split_arrays(raw)
    return read_pipeline(field(header, "pipeline", dict), others, _estimator(header, own))


def _estimator(header: dict[str, Any], raw: dict[str, Any]) -> Any:
    name = field(header, "class", str)
    if name not in CLASSES:
        raise ModelFileError(f"its class {name[:80]!r} is none of {', '.join(CLASSES)}.")
    cls, arrays = CLASSES[name], Arrays(raw)
    _check_words(header, name)
    model = cls(**_parameters(cls, header, arrays))
    absent = _not_stored(header)
    if absent:
        model.not_stored_ = absent
    quadrant = _quadrant(header, arrays)
    mixed = "terms" in header
    parts = read_mixture(header, arrays, quadrant) if mixed else _parts(header, arrays, quadrant)
    t, n = parts.level.size, parts.used.size
    single = field(header, "single", bool)
    if single and t != 1:
        raise ModelFileError(f"it has {t} targets and says that there is one.")
    _set_names(model, header, arrays, parts.quadrant.b.size)
    decision = None
    if task_of(name) == "classification":
        model.classes_ = _classes(header, arrays)
        if model.classes_.size != (2 if single else t) or (t > 1) == single:
            raise ModelFileError(f"it has {model.classes_.size} classes and {t} scores.")
        decision = _decision(header, arrays, t)
    if name.endswith("CV"):
        set_search(model, header, arrays, (n,) if single else (n, t))
    elif mixed:
        raise ModelFileError(f"it mixes cells, which a {name} does not.")
    model.n_features_in_ = quadrant.b.size
    model._store(_state(model, header, arrays, parts, decision))
    if "n_samples_seen" in header:
        model.n_samples_seen_ = _rows(header, parts.used)
    if name.endswith("CV"):
        _set_outcomes(model, header, arrays)
    arrays.check_all_taken()
    if name.endswith("CV"):
        members = getattr(model._state, "members", ())
        set_weights(model, {member.row: member.weight for member in members}, t)
    return model


def _set_outcomes(model: Any, header: dict[str, Any], arrays: Arrays) -> None:
    """What the search found out about every cell, where the file has it."""
    table = model.cv_results_
    needed = ("param_a", "param_k", "param_c", "param_s", "param_density")
    n_cells = 0 if any(name not in table for name in needed) else len(table["param_a"])
    kept = read_kept(header, arrays, n_cells, model._state)
    if kept is not None:
        model._kept = kept


def _check_words(header: dict[str, Any], name: str) -> None:
    """Fields that no prediction depends on, and that are shown to people."""
    stored_facts(header)
    field_list(header, "notes", str)
    for package, version in field(header, "versions", dict).items():
        if type(version) is not str:
            raise ModelFileError(f"its header has no sound version of {package[:80]!r}.")
    if header.get("task") != task_of(name):
        raise ModelFileError(f"its task is not that of a {name}.")


def _parameters(cls: Any, header: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    known, values = inspect.signature(cls).parameters, {}
    for name, data in field(header, "parameters", dict).items():
        if name not in known:
            raise ModelFileError(f"its parameter {name[:80]!r} is not one of {cls.__name__}.")
        if isinstance(data, dict) and "$repr" in data:
            continue
        if isinstance(data, dict) and "$member" in data:
            values[name] = arrays.take(f"parameter_{name}", Rule(kinds="biuf"))
        else:
            values[name] = decode(data)
    return values


def _not_stored(header: dict[str, Any]) -> dict[str, str]:
    """Parameters that have their default in a loaded model, with how they were written."""
    fields = field(header, "parameters", dict)
    return {
        name: str(data["$repr"])
        for name, data in fields.items()
        if isinstance(data, dict) and "$repr" in data
    }


def _parts(header: dict[str, Any], arrays: Arrays, quadrant: Quadrant) -> Parts:
    used = arrays.take("used", Rule(kinds="b", ndim=1))
    level = arrays.take("level", Rule(ndim=1, finite=True))
    D, M, t = quadrant.b.size, int(used.sum()), level.size
    spaces, solvers = field_list(header, "spaces", str), field_list(header, "solvers", str)
    has_dual, p = field_list(header, "has_dual", bool), len(spaces)
    rows = _rows(header, used)
    if p not in (1, t) or min(t, D, rows) < 1 or not len(solvers) == len(has_dual) == p:
        raise ModelFileError(f"it has {p} fits of {t} targets on {M} samples of {D} features.")
    coef = arrays.take("coef", Rule((t, D), finite=True))
    if _is_of_old(header, quadrant):
        # (P - 1) coef + level, as it was, is (P - exp(b)) coef + level
        level = level + coef @ np.expm1(quadrant.b)
    beta, log_beta = _dual(arrays, any(has_dual), M, t, p)
    steps = _steps(header, p)
    parts = Parts(
        **_spec(header, {*spaces}, {*solvers}),
        quadrant=quadrant,
        used=used,
        coef=coef,
        support=arrays.take("support", Rule((t, D), kinds="b")),
        level=level,
        intercept=arrays.take("intercept", Rule((t,), known=True)),
        rcond=arrays.take("rcond", Rule((p,))),
        dof=arrays.take("dof", Rule((p,))),
        spaces=spaces,
        solvers=solvers,
        has_dual=has_dual,
        beta=beta,
        log_beta=log_beta,
        iterations=[count for count, _ in steps],
        residuals=[residual for _, residual in steps],
        gaps=_gaps(header, p),
    )
    try:
        parts.spec  # noqa: B018  refuses what no fit has
    except ValueError as error:
        raise ModelFileError(f"its header has a model that no fit gives: {error}") from None
    _check_support(parts)
    return parts


def _spec(header: dict[str, Any], spaces: set[str], solvers: set[str]) -> dict[str, Any]:
    """What was fitted, as `Parts` names it."""
    k, c, intercept, solver = field(header, "spec", list)
    k, c = decode(k), decode(c)
    sound = type(k) is type(c) is float and 1 < k < np.inf and c > 0
    sound &= (
        solver in SOLVERS and not spaces - {"dual", "primal"} and not solvers - {*SOLVERS, "newton"}
    )
    dtype = field(header, "dtype", str)
    if not sound or dtype not in ("float32", "float64"):
        raise ModelFileError("its header has values for k, c, solver or dtype that no model has.")
    return {"k": k, "c": c, "intercept_kind": intercept, "solver": solver, "dtype": dtype}


def _dual(arrays: Arrays, stored: bool, M: int, t: int, p: int) -> tuple[Array, Array]:
    if stored:
        beta = arrays.take("beta", Rule((M, t), known=True))
        return beta, arrays.take("log_beta", Rule((p, M), known=True))
    zero: Any = np.zeros(())
    return np.broadcast_to(zero, (M, t)), np.broadcast_to(zero, (p, M))


def _steps(header: dict[str, Any], p: int) -> list[tuple[int | None, float | None]]:
    """Iterations and residual of every fit; older files and direct fits have none."""
    if "iterations" not in header:
        return [(None, None)] * p
    listed = [
        (pair[0], decode(pair[1])) if isinstance(pair, list) and len(pair) == 2 else (False, None)
        for pair in field(header, "iterations", list)
    ]
    sound = len(listed) == p and all(
        (type(count) is int and count >= 0 and (residual is None or type(residual) is float))
        or (count is None and residual is None)
        for count, residual in listed
    )
    if not sound:
        raise ModelFileError("its header has iterations that no model has.")
    return listed


def _gaps(header: dict[str, Any], p: int) -> list[float | None]:
    """The duality gap of every exact minimiser; closed forms have none."""
    if "gaps" not in header:
        return [None] * p
    gaps = [decode(gap) for gap in field(header, "gaps", list)]
    if len(gaps) != p or not all(gap is None or type(gap) is float for gap in gaps):
        raise ModelFileError("its header has gaps that no model has.")
    return gaps


def _rows(header: dict[str, Any], used: Any) -> int:
    """Samples of positive weight; those of batches are only counted."""
    if "n_samples_seen" not in header:
        return int(used.sum())
    return 0 if used.size else field(header, "n_samples_seen", int)


def _quadrant(header: dict[str, Any], arrays: Arrays) -> Quadrant:
    kind, a = field(header, "quadrant", list)
    if kind not in ("exp", "linear", "identity") or type(a) is not float:
        raise ModelFileError("its transform is not known.")
    b = arrays.take("b", Rule(ndim=1, finite=True))
    floats, mask = Rule(b.shape, finite=True), Rule(b.shape, kinds="b")
    names = [name for name in Moments.__dataclass_fields__ if name != "rest" or "rest" in arrays]
    moments = Moments(*(arrays.take(m, mask if m == "constant" else floats) for m in names))
    if not (moments.scale > 0).all() or (moments.low > moments.high).any():
        raise ModelFileError("its columns have scales that are not positive, or no range.")
    unit = decode(header["unit"]) if "unit" in header else 0.0
    if type(unit) is not float or not np.isfinite(unit) or (unit and kind != "exp"):
        raise ModelFileError("its transform has a unit that no model has.")
    return Quadrant(kind, moments, a, b, unit)


def _is_of_old(header: dict[str, Any], quadrant: Quadrant) -> bool:
    """Whether a file with shifts b is of the time when they were a part of the logs."""
    return quadrant.kind == "exp" and bool(quadrant.b.any()) and "shifted" not in header


def _check_support(parts: Parts) -> None:
    active = np.zeros(parts.coef.shape[1], dtype=bool)
    active[parts.columns] = True
    shared = len(parts.spaces) > 1 or (parts.support == parts.support[0]).all()
    if not shared or parts.support[:, ~active].any() or parts.coef[~parts.support].any():
        raise ModelFileError("its coefficients and its kept features contradict each other.")


def _set_names(model: Any, header: dict[str, Any], arrays: Arrays, D: int) -> None:
    names: list[str] | None
    if "names_ends" in arrays:
        text = arrays.take("names_text", Rule(kinds="u", itemsize=1, ndim=1))
        names = text_list(text, arrays.take("names_ends", Rule((D,), kinds="i")))
    elif header.get("feature_names") is None:
        return
    else:
        names = field_list(header, "feature_names", str)
    if len(names) != D:
        raise ModelFileError(f"it has {len(names)} names for {D} features.")
    model.feature_names_in_ = np.array(names, dtype=object)


def _classes(header: dict[str, Any], arrays: Arrays) -> Any:
    if header.get("classes") is None:
        return arrays.take("classes", Rule(kinds="biufcSUmM", ndim=1))
    kind, values = field(header, "classes", list)
    dtype: Any = object if kind == "O" else np.dtypes.StringDType()
    classes = np.empty(len(values), dtype=dtype)
    classes[:] = decode(values)
    return classes


def _decision(header: dict[str, Any], arrays: Arrays, t: int) -> Decision:
    cuts = arrays.take("cuts", Rule((t,), finite=True))
    factor = header.get("factor")
    if factor is not None and not (type(factor) is float and factor > 0):
        raise ModelFileError("its probabilities have no sound temperature.")
    # files of earlier versions do not tell
    held_out = header.get("held_out")
    if held_out not in HELD_OUT:
        raise ModelFileError("its held-out samples are of no known kind.")
    if not field(header, "isotonic", bool):
        return Decision(cuts, factor, None, held_out)
    x = arrays.take("isotonic_x", Rule(kinds="f", itemsize=None, ndim=1, finite=True))
    y = arrays.take("isotonic_y", Rule(x.shape, itemsize=x.itemsize, finite=True))
    return Decision(cuts, factor, _isotonic(x, y), held_out)


def _isotonic(x: Array, y: Array) -> IsotonicRegression:
    """The curve through its own corners, which a fit leaves as they are."""
    rising = (np.diff(x) > 0).all() and (np.diff(y) >= 0).all()
    if not x.size or not rising or y[0] < 0 or y[-1] > 1:
        raise ModelFileError("its isotonic curve does not rise from 0 to 1.")
    return IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(x, y)


def _state(
    model: Any,
    header: dict[str, Any],
    arrays: Arrays,
    parts: Parts | MixtureParts,
    decision: Decision | None,
) -> State:
    """What was learned, with the training data as far as they are stored."""
    M, t, single = _rows(header, parts.used), parts.level.size, field(header, "single", bool)
    state: State
    factors = checked_factors(model.penalty_factor, parts.quadrant.b.size)
    if isinstance(parts, MixtureParts):
        shape = len(parts.quadrants), M, parts.stored.size
        training = read_training(header, arrays, shape, M, t)
        training = replace(training, factors=factors)
        state = mixtures.put_together(parts, model.cv_results_, training, single, decision)
    else:
        training = read_training(header, arrays, (M, parts.kept.size), M, t)
        training = replace(training, factors=factors)
        whole, kept = _designs(header, parts, training, M)
        state = put_together(parts, whole, kept, training.Y, training.weights, single, decision)
    if "residuals" in arrays:
        # where the cached property would put it
        owner = state if isinstance(parts, MixtureParts) else state.model
        vars(owner)["loo_residuals"] = arrays.take("residuals", Rule((M, t), known=True))
    return state


def _designs(
    header: dict[str, Any], parts: Parts, training: Training, M: int
) -> tuple[Design, Design]:
    """The training features of the columns that take part, and of those that are kept."""
    quadrant, D, U = parts.quadrant, parts.columns.size, parts.kept.size
    features = training.features
    offset = 1.0 if quadrant.kind == "exp" else 0.0
    absent = AbsentDesign((M, D), offset, NOT_STORED)
    if features is None:
        return absent, AbsentDesign((M, U), offset, NOT_STORED)
    own = quadrant.take(parts.kept)
    if _is_of_old(header, quadrant):
        features = features - own.b
    named = {"rows_named": not parts.used.all(), "columns_named": quadrant.b.size > U}
    kept = training.factored(stored_design(features, own, **named), parts.kept)
    return (kept if D == U else absent), kept
