"""From a fitted model to a file: fields of a header, and arrays."""

import json
import zipfile
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from skstretch import estimators
from skstretch.core.moments import Moments
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array
from skstretch.estimators.mixture import Mixture
from skstretch.estimators.state import Decision, State
from skstretch.estimators.steps import as_model, is_pipeline, last_step
from skstretch.io import mixtures
from skstretch.io.archive import write_array
from skstretch.io.files import replacing
from skstretch.io.header import (
    FORMAT,
    NAME,
    NUMBERS,
    NotStorableError,
    checked_facts,
    encode,
    header_bytes,
    text_arrays,
    versions,
)
from skstretch.io.mixtures import MixtureParts
from skstretch.io.outcomes import kept_fields, kept_of
from skstretch.io.parts import Parts, take_apart
from skstretch.io.pipelines import pipeline_fields
from skstretch.io.training import write_features

# beyond this, names of features are stored as arrays and values of parameters as their repr
MAX_TEXT = 1 << 18

# what a search says of the cell that it chose
CHOSEN = ("a_", "k_", "c_", "density_", "best_score_", "best_index_")
# what folds around the whole search say of it, where they were run
NESTED = ("nested_score", "nested_score_se")

CLASSES = {
    cls.__name__: cls
    for cls in (
        estimators.StretchyRegressor,
        estimators.StretchyClassifier,
        estimators.StretchyRegressorCV,
        estimators.StretchyClassifierCV,
    )
}


@dataclass
class Contents:
    """Fields of the header and arrays, both by name."""

    header: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)


def save(
    model: Any,
    path: Any,
    intervals: bool = False,
    *,
    about: dict[str, Any] | None = None,
    outcomes: bool = True,
) -> None:
    """Write a fitted model to a file that `load` reads.

    Parameters
    ----------
    model : StretchyRegressor, StretchyClassifier, StretchyRegressorCV, StretchyClassifierCV \
            or sklearn.pipeline.Pipeline
        Fitted. A pipeline ends in one of ours; before it may come SimpleImputer, StandardScaler,
        RobustScaler, PowerTransformer, QuantileTransformer, VarianceThreshold,
        PolynomialFeatures, OneHotEncoder, our transformers, and ColumnTransformer and Pipeline of
        these. Of a RecipeRegressorCV or RecipeClassifierCV its ``pipeline_`` is written, and a
        pipeline comes back.
    path : str or path-like
        By convention with the ending ``.stretchy``. An older file is replaced in one step; a pipe
        or device is written to.
    intervals : bool, default=False
        Also store what jackknife+ intervals (``predict_interval(X, method="plus")``) and
        `coef_std` need: the transformed training features of the kept columns, the targets and
        the weights, ``8 * n_samples * (n_kept + n_targets + 1)`` bytes; of a mixture the
        features are stored once for every a. From these the training data can be worked out;
        leave it off where that must stay private.
    about : dict of str to str, int, float or bool, optional
        Facts of the origin to keep with the model, such as the name of the target;
        `skstretch.io.about` reads them back, and reports show ``target`` and ``seconds``.
    outcomes : bool, default=True
        Also store what a search found out about every cell, so that a report of the loaded model
        with its training data need not search again: about ``16 * n_cells * n_samples *
        n_targets`` bytes, and never more than 256 KiB, or what the model itself takes, or half of
        what X takes, whichever is most. Versions
        that know schema 4 alone read a search only without it.

    See Also
    --------
    load : Reads the file.
    to_onnx : A graph for other programs.

    Notes
    -----
    Callables and splitters among the parameters are stored as their repr; the loaded model has
    the default in their place. For a regressor the leave-one-out residuals are worked out (about
    the cost of one more fit) and stored, so that intervals with ``method="residual"`` need no
    training data.

    Examples
    --------
    >>> import tempfile
    >>> import skstretch
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = skstretch.StretchyRegressor().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     skstretch.save(model, f"{folder}/diabetes.stretchy")
    ...     again = skstretch.load(f"{folder}/diabetes.stretchy")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    model = as_model(model)
    own = last_step(model)
    if type(own) not in CLASSES.values():
        raise TypeError(
            f"a {type(own).__name__} cannot be saved: pass a fitted {', '.join(CLASSES)}, or a "
            "scikit-learn Pipeline that ends in one."
        )
    check_is_fitted(own)
    if intervals and is_classifier(own):
        raise ValueError("intervals=True is for regressors: a classifier has no intervals.")
    facts = checked_facts({} if about is None else about)
    contents = contents_of(own, bool(intervals), bool(outcomes))
    if is_pipeline(model):
        contents.header["pipeline"], arrays, notes = pipeline_fields(model)
        contents.header["notes"] += notes
        contents.arrays |= arrays
    if facts:
        contents.header["about"] = facts
    with replacing(path) as file:
        write_contents(file, contents)


def write_contents(file: BinaryIO, contents: Contents) -> None:
    """Arrays first, then the header that knows their checksums."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        entries = {
            name: write_array(archive, name, array) for name, array in contents.arrays.items()
        }
        # other models can be read by those who know the first schema alone
        newer = bool(contents.header.keys() & {"unit", "shifted"}) or "rest" in contents.arrays
        schema = 3 if "terms" in contents.header else 2 if newer else 1
        schema = 4 if "pipeline" in contents.header else schema
        schema = 5 if "outcomes" in contents.header else schema
        header = {"format": FORMAT, "schema": schema, "versions": versions()}
        header |= {**contents.header, "arrays": entries}
        archive.writestr(zipfile.ZipInfo(NAME), header_bytes(header))


def contents_of(model: Any, intervals: bool, outcomes: bool) -> Contents:
    """Everything that a file holds of a fitted estimator."""
    state: State = model._state
    parts, out = parts_of(state), Contents()
    classifier = is_classifier(model)
    out.header["class"] = type(model).__name__
    out.header["task"] = task_of(type(model).__name__)
    _add_summary(out, model, parts)
    out.header["notes"] = []
    _add_parameters(out, model)
    _add_names(out, getattr(model, "feature_names_in_", None))
    _add_quadrant(out, parts.quadrant)
    if isinstance(parts, Parts):
        _add_parts(out, parts)
    else:
        header, arrays = mixtures.mixture_fields(parts)
        out.header |= header
        out.arrays |= arrays
    out.header["single"] = state.single
    if classifier:
        _add_classes(out, model.classes_, cast(Decision, state.decision))
    if hasattr(model, "cv_results_"):
        _add_search(out, model)
    if not classifier:
        _add_residuals(out, state)
    # where no column is kept, intervals need no features, and the rest is small
    nothing = isinstance(parts, Parts) and parts.kept.size == 0 and parts.used.size > 0
    out.header["intervals"] = intervals or (not classifier and nothing)
    if out.header["intervals"]:
        out.arrays["features"] = training_features(state, parts)
        out.arrays["targets"], out.arrays["weights"] = state.model.Y, state.model.weights
    if outcomes and hasattr(model, "cv_results_"):
        _add_outcomes(out, model)
    return out


def _add_outcomes(out: Contents, model: Any) -> None:
    kept = kept_of(model, sum(np.asarray(array).nbytes for array in out.arrays.values()))
    if kept is not None:
        header, arrays = kept_fields(kept)
        out.header |= header
        out.arrays |= arrays


def parts_of(state: State) -> Parts | MixtureParts:
    """A state in plain arrays."""
    return mixtures.take_apart(state) if isinstance(state, Mixture) else take_apart(state)


def task_of(name: str) -> str:
    """What an estimator of this class does, in the word that the header has for it."""
    return "classification" if "Classifier" in name else "regression"


def _add_summary(out: Contents, model: Any, parts: Parts | MixtureParts) -> None:
    """What a person looks for in the header; `load` reads the parameters and parts instead."""
    for name in ("a", "k", "c", "density"):
        value = getattr(model, f"{name}_", getattr(model, name, None))
        out.header[name] = encode_or_repr(value)[0]
    out.header["n_samples"] = parts.used.size
    if hasattr(model, "n_samples_seen_"):
        # rows that were summed up batch by batch: there is nothing to store of each
        out.header["n_samples"] = out.header["n_samples_seen"] = model.n_samples_seen_
    out.header["n_features"] = parts.quadrant.b.size
    out.header["n_targets"] = parts.level.size


def _add_parameters(out: Contents, model: Any) -> None:
    fields: dict[str, Any] = {}
    for name, value in model.get_params(deep=False).items():
        if name == "penalty_factor" and value is not None:
            value = np.asarray(value, dtype=float)  # intervals depend on it, however long it is
        if isinstance(value, np.ndarray) and value.dtype.name in NUMBERS and value.ndim <= 2:
            out.arrays[f"parameter_{name}"] = value
            fields[name] = {"$member": f"parameter_{name}"}
            continue
        fields[name], stored = encode_or_repr(value)
        if not stored:
            out.header["notes"].append(
                f"the parameter {name} could not be stored; a loaded model has its default"
            )
    out.header["parameters"] = fields


def encode_or_repr(value: Any) -> tuple[Any, bool]:
    """A value as JSON, or where that cannot be its repr; and which of the two."""
    try:
        encoded = encode(value)
        if len(json.dumps(encoded)) <= MAX_TEXT:
            return encoded, True
    except NotStorableError:
        pass
    return {"$repr": repr(value)[:500]}, False


def _add_names(out: Contents, names: Any) -> None:
    listed = None if names is None else [str(name) for name in names]
    if listed is not None and len(json.dumps(listed)) > MAX_TEXT:
        out.arrays["names_text"], out.arrays["names_ends"] = text_arrays(listed)
        listed = None
    out.header["feature_names"] = listed


def _add_quadrant(out: Contents, quadrant: Quadrant) -> None:
    out.header["quadrant"] = [quadrant.kind, encode(float(quadrant.a))]
    out.arrays["b"] = quadrant.b
    if quadrant.unit:  # the first schema has none
        out.header["unit"] = encode(float(quadrant.unit))
    if quadrant.kind == "exp" and quadrant.b.any():
        # level and stored features are those without b; in the first schema they had it
        out.header["shifted"] = True
    for name in Moments.__dataclass_fields__:
        values = getattr(quadrant.moments, name)
        if name != "rest" or values.any():  # the first schema has no rest of the means
            out.arrays[name] = values


def _add_parts(out: Contents, parts: Parts) -> None:
    out.header |= {
        "dtype": parts.dtype,
        "spec": [encode(parts.k), encode(parts.c), parts.intercept_kind, parts.solver],
        "spaces": parts.spaces,
        "solvers": parts.solvers,
        "has_dual": parts.has_dual,
    }
    if any(count is not None for count in parts.iterations):
        out.header["iterations"] = [
            [count, encode(residual)]
            for count, residual in zip(parts.iterations, parts.residuals, strict=True)
        ]
    if any(gap is not None for gap in parts.gaps):
        out.header["gaps"] = [encode(gap) for gap in parts.gaps]
    for name in ("used", "coef", "support", "level", "intercept", "rcond", "dof"):
        out.arrays[name] = getattr(parts, name)
    if any(parts.has_dual):
        out.arrays["beta"], out.arrays["log_beta"] = parts.beta, parts.log_beta


def _add_classes(out: Contents, classes: Any, decision: Decision) -> None:
    if classes.dtype.kind in "OT":
        out.header["classes"] = [classes.dtype.kind, encode(classes.tolist())]
    else:
        out.header["classes"] = None
        out.arrays["classes"] = classes
    out.header["factor"] = encode(None if decision.factor is None else float(decision.factor))
    out.arrays["cuts"] = decision.cuts
    out.header["held_out"] = decision.held_out
    out.header["isotonic"] = decision.isotonic is not None
    if decision.isotonic is not None:
        out.arrays["isotonic_x"] = decision.isotonic.X_thresholds_
        out.arrays["isotonic_y"] = decision.isotonic.y_thresholds_


def _add_search(out: Contents, model: Any) -> None:
    out.header["chosen"] = {
        name: encode(_plain(getattr(model, name))) for name in CHOSEN if hasattr(model, name)
    }
    # beside `chosen`, whose fields the first readers of this schema count
    out.header["best_score_se"] = encode(float(model.best_score_se_))
    out.header["rule_loss"] = getattr(model, "rule_loss_", None)
    out.header |= {
        name: encode(float(getattr(model, f"{name}_")))
        for name in NESTED
        if hasattr(model, f"{name}_")
    }
    out.header["nested_of"] = getattr(model, "nested_of_", None)
    out.arrays["cv_predictions"] = model.cv_predictions_
    columns = []
    for name, values in model.cv_results_.items():
        kind = "params" if name == "params" else "array"
        if kind == "array" and values.dtype.kind == "O":  # counts beside shares
            kind, whole = "mixed", [isinstance(value, int) for value in values]
            out.arrays[f"result_{name}_whole"] = np.array(whole)
            values = values.astype(float)
        if kind != "params":
            out.arrays[f"result_{name}"] = values
        columns.append([name, kind])
    out.header["results"] = columns


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _add_residuals(out: Contents, state: State) -> None:
    if state.model.weights.size < 2:
        return
    try:
        residuals = state.loo_residuals
        if np.isnan(residuals).any():
            raise ArithmeticError("some of them are 0/0")
        out.arrays["residuals"] = residuals
    except (ArithmeticError, ValueError) as error:  # the model itself is sound
        out.header["notes"].append(f"there are no leave-one-out residuals: {error}")


def training_features(state: State, parts: Parts | MixtureParts) -> Array:
    """``a z`` (or z, or x) of every sample in the kept columns, shape (M, U).

    Of a mixture those of every a, (T, M, U).
    """
    if isinstance(state, Mixture):
        return mixtures.mixture_features(state, cast(MixtureParts, parts))
    parts = cast(Parts, parts)
    out = np.empty((state.model.weights.size, parts.kept.size))
    for number, p in enumerate(state.model.passes):
        write_features(p.design, out, np.searchsorted(parts.kept, parts.own(number)))
    return out
