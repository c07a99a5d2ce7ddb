"""Model files: an estimator in fields and arrays, and both ways between it and a file.

Every field and array is checked before it is used.
"""

import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import astuple, replace
from functools import partial
from typing import Any, BinaryIO, cast

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from skstretch import estimators
from skstretch.core.losses import rates
from skstretch.core.stretch import checked_number, keep_count
from skstretch.core.survival import Baseline
from skstretch.core.types import Array
from skstretch.estimators.mixture import Mixture
from skstretch.estimators.quality import kind_of
from skstretch.estimators.samples import KINDS
from skstretch.estimators.state import Decision, State, as_model, is_pipeline, last_step
from skstretch.estimators.summary import stored_evidence
from skstretch.exceptions import ModelFileError
from skstretch.io.archive import (
    Archive,
    Rule,
    read_array,
    read_entry,
    refusing,
    replacing,
    unsound,
    write_array,
)
from skstretch.io.header import (
    FORMAT,
    MAX_BYTES,
    NAME,
    SCHEMA,
    NotStorableError,
    Record,
    checked_facts,
    decode,
    encode,
    header_bytes,
    read_header,
    stored_facts,
    versions,
)
from skstretch.io.outcomes import read_outcomes, write_outcomes
from skstretch.io.pipelines import read_pipeline, write_pipeline
from skstretch.io.state import n_rows, read_state, stored_columns, write_state, write_training
from skstretch.solve import checked_spec

# beyond this, names of features are stored as arrays and values of parameters as their repr
MAX_TEXT = MAX_BYTES // 4

# parameters of older files that no estimator has any more
RETIRED = {"nested"}
# values of what was called rule; "guarded" was for z-scores where others are no better
COMBINED = {"mix": "average", "guarded": "1se"}
# which samples cuts and probabilities of classes were learned on
HELD_OUT = (None, "leave one out", "folds", "one fold")

CLASSES: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        estimators.StretchyRegressor,
        estimators.StretchyClassifier,
        estimators.StretchyRegressorCV,
        estimators.StretchyClassifierCV,
        estimators.StretchySurvivalCV,
    )
}


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
    model : StretchyRegressor, StretchyClassifier, StretchyRegressorCV, StretchyClassifierCV, \
            StretchySurvivalCV or sklearn.pipeline.Pipeline
        Fitted. A pipeline ends in one of ours; before it may come SimpleImputer, StandardScaler,
        RobustScaler, PowerTransformer, QuantileTransformer, VarianceThreshold,
        PolynomialFeatures, OneHotEncoder, CountVectorizer, TfidfTransformer, TfidfVectorizer, our
        transformers, and ColumnTransformer and Pipeline of these. Of a RecipeRegressorCV or
        RecipeClassifierCV its ``pipeline_`` is written, and a pipeline comes back.
    path : str or path-like
        By convention with the ending ``.stretchy``. An older file is replaced in one step; a pipe
        or device is written to.
    intervals : bool, default=False
        Also store what jackknife+ and adaptive intervals (``predict_interval(X)``) and `coef_std`
        need: the transformed training features of the kept columns, the targets and the weights,
        ``8 * n_samples * (n_kept + n_targets + 1)`` bytes and a little more; of an average the
        features are stored once for every a. From these the training data can be worked out;
        leave it off where that must stay private.
    about : dict of str to str, int, float or bool, optional
        Facts of the origin to keep with the model, such as the name of the target;
        `skstretch.io.about` reads them back, and reports show ``target`` and ``seconds``.
    outcomes : bool, default=True
        Also store what a search found out about every candidate, so that a report of the loaded
        model with its training data shows them: about ``16 * n_candidates * n_samples *
        n_targets`` bytes, and never more than 256 KiB, or what the model itself takes, or half of
        what X takes, whichever is most.

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
    if intervals:
        own._check_squared("intervals=True", "leave it out")
    facts = checked_facts({} if about is None else about)
    record = Record()
    write_model(record, own, bool(intervals), bool(outcomes))
    if is_pipeline(model):
        record.fields["notes"] += write_pipeline(record, model)
    if facts:
        record.fields["about"] = facts
    with replacing(path) as file:
        _write_file(file, record)


def _write_file(file: BinaryIO, record: Record) -> None:
    """Arrays first, then the header that knows their checksums."""
    fields = record.fields
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        entries = {name: write_array(archive, name, array) for name, array in record.arrays.items()}
        header = {"format": FORMAT, "schema": SCHEMA, "versions": versions()}
        header |= {**fields, "arrays": entries}
        archive.writestr(zipfile.ZipInfo(NAME), header_bytes(header))


def load(path: Any) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or path-like
        A model file.

    Returns
    -------
    model : StretchyRegressor, StretchyClassifier, StretchyRegressorCV, StretchyClassifierCV, \
            StretchySurvivalCV or sklearn.pipeline.Pipeline
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
    return load_with_header(path)[0]


def load_with_header(path: Any) -> tuple[Any, dict[str, Any]]:
    """The model of `load`, and the header of its file, read once."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file, refusing("its parts do not fit together"):
            archive = Archive(file)
            header = read_header(archive)
            record = Record(header, _read_arrays(archive, header))
            model = read_model(record)
            if "pipeline" in header:
                model = read_pipeline(record, model)
            record.check_all_taken()
            return model, header
    except ModelFileError as error:
        raise unsound(name, error) from error


def _read_arrays(archive: Archive, header: dict[str, Any]) -> dict[str, Any]:
    listed = Record(header).field("arrays", dict)
    members = {name.removesuffix(".npy") for name in archive.members if name != NAME}
    if members != set(listed):
        odd = sorted(members ^ set(listed))[0]
        where = "in the file" if odd in members else "in the header"
        raise ModelFileError(f"its array {odd[:80]!r} is only {where}.")
    entries = {name: read_entry(name, fields) for name, fields in listed.items()}
    return {name: read_array(archive, name, entry) for name, entry in entries.items()}


def write_model(file: Record, model: Any, intervals: bool, outcomes: bool) -> None:
    """Add everything that a file holds of a fitted estimator."""
    state: State = model._state
    classifier, searched = is_classifier(model), hasattr(model, "cv_results_")
    file.fields["class"] = type(model).__name__
    file.fields["task"] = task_of(type(model).__name__)
    _write_summary(file, model)
    if hasattr(model, "plan_"):
        file.fields["plan"] = str(model.plan_)
    file.fields["notes"] = []
    _write_parameters(file, model)
    _write_names(file, getattr(model, "feature_names_in_", None))
    targets = getattr(model, "_target_names", None)
    # what is too long for a header is left out
    file.fields["target_names"] = targets if sum(map(len, targets or [])) <= MAX_TEXT else None
    write_state(file, state)
    if classifier:
        _write_classes(file, model.classes_, cast(Decision, state.decision))
    squared = state.loss == "squared"
    if squared and not classifier:
        _write_residuals(file, state)
    if not squared:
        _write_loss(file, state)
    if searched:
        _write_search(file, model)
    # where no column is kept, intervals need no features, and the rest is small
    nothing = squared and not classifier and state.used.size > 0
    nothing = nothing and stored_columns(state).size == 0
    file.fields["intervals"] = intervals or nothing
    if intervals or nothing:
        write_training(file, state)
    if outcomes and searched:
        write_outcomes(file, model)


def read_model(file: Record) -> Any:
    """The estimator that fields and arrays stand for."""
    name = file.field("class", str)
    if name not in CLASSES:
        raise ModelFileError(f"its class {name[:80]!r} is none of {', '.join(CLASSES)}.")
    classifier, searched = task_of(name) == "classification", name.endswith("CV")
    _check_words(file, name)
    if "terms" in file.fields and not searched:
        raise ModelFileError(f"it mixes candidates, which a {name} does not.")
    file.fields["parameters"] = _of_today(file.field("parameters", dict), searched)
    model = CLASSES[name](**file.parameters(CLASSES[name]))
    if not isinstance(model.penalty_factor, (np.ndarray, type(None))):
        raise ModelFileError("its penalty factors are not numbers.")
    if absent := _not_stored(file):
        model.not_stored_ = absent
    if searched:
        _read_search(model, file)
    decision = _read_classes(model, file) if classifier else None
    state = read_state(file, model.penalty_factor, getattr(model, "cv_results_", {}), decision)
    state = _read_loss(file, state, model._loss)
    n_classes, t = model.classes_.size if classifier else 0, state.n_targets
    if classifier and (n_classes != (2 if state.single else t) or (t > 1) == state.single):
        raise ModelFileError(f"it has {n_classes} classes and {t} scores.")
    if decision is not None and np.size(decision.biases) not in (1, n_classes):
        raise ModelFileError("its probabilities have no bias for every class.")
    _read_names(model, file)
    if file.fields.get("target_names") is not None:
        model._target_names = file.listed("target_names", str)
    model.n_features_in_ = state.n_features
    if not searched:
        _check_parameters(model)
    model._store(state)
    if "plan" in file.fields:
        model.plan_ = file.field("plan", str)
    if "n_samples_seen" in file.fields:
        model.n_samples_seen_ = n_rows(file, state.used)
    _check_summary(file, getattr(model, "n_samples_seen_", state.used.size), state)
    if searched:
        read_outcomes(model, file)
        _check_chosen(model, state)
        _read_nested(model, file)
    return model


def task_of(name: str) -> str:
    """What an estimator of this class does, in the word that the header has for it."""
    if "Survival" in name:
        return "survival"
    return "classification" if "Classifier" in name else "regression"


def _write_summary(file: Record, model: Any) -> None:
    """What a person looks for in the header; `load` reads the parameters and arrays instead."""
    state: State = model._state
    used = model._leader if hasattr(model, "cv_results_") else {**model.get_params(), "c": model.c_}
    for name in ("a", "k", "c", "density"):
        file.fields[name] = _encoded_or_repr(used[name], encode)
    file.fields["n_samples"] = state.used.size
    if hasattr(model, "n_samples_seen_"):
        # rows that were summed up batch by batch: there is nothing to store of each
        file.fields["n_samples"] = file.fields["n_samples_seen"] = model.n_samples_seen_
    file.fields["n_features"], file.fields["n_targets"] = state.n_features, state.n_targets


def _check_words(file: Record, name: str) -> None:
    """Fields that no prediction depends on, and that are shown to people."""
    stored_facts(file.fields)
    file.listed("notes", str)
    for package, version in file.field("versions", dict).items():
        if type(version) is not str:
            raise ModelFileError(f"its header has no sound version of {package[:80]!r}.")
    if file.fields.get("task") != task_of(name):
        raise ModelFileError(f"its task is not that of a {name}.")


def _check_parameters(model: Any) -> None:
    """Refuse what no fit takes: `ValueError` or `TypeError`, as a fit would say it."""
    a = checked_number("a", model.a, "")
    checked_spec(model.k, model.c, a == 0, model.fit_intercept, model.solver)
    keep_count(model.density, model.n_features_in_)


def _check_summary(file: Record, n_samples: int, state: State) -> None:
    """Refuse sizes that are not those of the model."""
    found = {"n_samples": n_samples, "n_features": state.n_features, "n_targets": state.n_targets}
    for name, size in found.items():
        if file.field(name, int) != size:
            raise ModelFileError(f"its header says {name}={file.fields[name]}, and it has {size}.")


def _write_parameters(file: Record, model: Any) -> None:
    fields = file.fields["parameters"] = {}
    for name, value in model.get_params(deep=False).items():
        if name == "penalty_factor" and value is not None:
            value = np.asarray(value, dtype=float)  # intervals depend on it, however long it is
        fields[name] = _encoded_or_repr(value, partial(file.put_parameter, name))
    for name in _not_stored(file):
        file.fields["notes"].append(
            f"the parameter {name} could not be stored; a loaded model has its default"
        )


def _encoded_or_repr(value: Any, encoder: Callable[[Any], Any]) -> Any:
    """A value as JSON, or its repr where that cannot be or is too long."""
    try:
        encoded = encoder(value)
        if len(json.dumps(encoded)) <= MAX_TEXT:
            return encoded
    except NotStorableError:
        pass
    return {"$repr": repr(value)[:500]}


def _of_today(parameters: dict[str, Any], searched: bool) -> dict[str, Any]:
    """Parameters of older files by the names and values that estimators have now."""
    retired = RETIRED if searched else RETIRED | {"verbose"}
    found = {name: value for name, value in parameters.items() if name not in retired}
    if found.get("calibration") == "isotonic":  # its curve is kept
        found["calibration"] = "auto"
    if "density_grid" in found:
        densities = found.pop("density_grid")
        found["n_features_to_select"] = None if densities == "auto" else densities
    if "rule" in found:
        rule = found.pop("rule")
        found["combine"] = COMBINED.get(rule, rule)
    return found


def _not_stored(file: Record) -> dict[str, str]:
    """Parameters that have their default in a loaded model, with how they were written."""
    fields = file.field("parameters", dict)
    return {
        name: str(data["$repr"])
        for name, data in fields.items()
        if isinstance(data, dict) and "$repr" in data
    }


def _write_names(file: Record, names: Any) -> None:
    listed = None if names is None else [str(name) for name in names]
    if listed is not None and len(json.dumps(listed)) > MAX_TEXT:
        file.put_text("names_text", "names_ends", listed)
        listed = None
    file.fields["feature_names"] = listed


def _read_names(model: Any, file: Record) -> None:
    if "names_ends" in file:
        names = file.take_text("names_text", "names_ends")
    elif file.fields.get("feature_names") is None:
        return
    else:
        names = file.listed("feature_names", str)
    if len(names) != file.sizes["D"]:
        raise ModelFileError(f"it has {len(names)} names for {file.sizes['D']} features.")
    model.feature_names_in_ = np.array(names, dtype=object)


def _write_classes(file: Record, classes: Any, decision: Decision) -> None:
    if classes.dtype.kind in "OT":
        file.fields["classes"] = [classes.dtype.kind, encode(classes.tolist())]
    else:
        file.fields["classes"] = None
        file.put("classes", classes)
    file.fields["factor"] = encode(None if decision.factor is None else float(decision.factor))
    file.put("cuts", decision.cuts)
    file.fields["held_out"] = decision.held_out
    if np.any(decision.biases):
        file.fields["biases"] = decision.biases.tolist()
    file.fields["isotonic"] = decision.curve is not None
    if decision.curve is not None:
        file.put("isotonic_x", decision.curve[0])
        file.put("isotonic_y", decision.curve[1])


def _read_classes(model: Any, file: Record) -> Decision:
    """Set ``classes_``; how scores are cut, and become probabilities."""
    if file.fields.get("classes") is None:
        model.classes_ = file.take("classes", Rule("classes", "biufcSUmM"))
    else:
        kind, values = file.field("classes", list)
        dtype: Any = object if kind == "O" else np.dtypes.StringDType()
        model.classes_ = np.empty(len(values), dtype=dtype)
        model.classes_[:] = decode(values)
    cuts, factor = file.take("cuts", Rule("t", finite=True)), file.fields.get("factor")
    if factor is not None and not (type(factor) is float and factor > 0):
        raise ModelFileError("its probabilities have no sound temperature.")
    held_out = file.fields.get("held_out")  # files of earlier versions do not tell
    if held_out not in HELD_OUT:
        raise ModelFileError("its held-out samples are of no known kind.")
    biases: Any = 0.0
    if "biases" in file.fields:  # of the probabilities of schema 6
        biases = np.array(file.listed("biases", float))
    curve = _read_curve(file) if file.field("isotonic", bool) else None
    return Decision(cuts, factor, biases, curve, held_out)


def _read_curve(file: Record) -> tuple[Array, Array]:
    """The corners of an isotonic curve, of versions that fitted one."""
    x = file.take("isotonic_x", Rule("corners", itemsize=None, finite=True))
    y = file.take("isotonic_y", Rule("corners", itemsize=x.itemsize, finite=True))
    rising = (np.diff(x) > 0).all() and (np.diff(y) >= 0).all()
    if not x.size or not rising or y[0] < 0 or y[-1] > 1:
        raise ModelFileError("its isotonic curve does not rise from 0 to 1.")
    return x, y


def _write_loss(file: Record, state: State) -> None:
    """Add what other losses than squared error have: their name, and the baseline of survival."""
    file.fields["loss"] = state.loss
    file.fields["strata"] = state.loss == "cox" and state.baseline is None
    if state.baseline is not None:
        file.fields["last_time"] = encode(float(state.baseline.last))
        file.put("baseline_times", state.baseline.times)
        file.put("baseline_hazard", state.baseline.hazard)


def _read_loss(file: Record, state: State, asked: str) -> State:
    """The state with the same; `asked` is the loss that the parameters of the estimator name."""
    loss = file.fields.get("loss", "squared")
    if type(loss) is not str or loss != asked:
        raise ModelFileError(f"its loss {str(loss)[:40]!r} is not that of its parameters.")
    if loss == "squared":
        return state
    if not state.is_linear or (loss != "log" and state.n_targets > 1):
        raise ModelFileError(f"its model is none of the loss {loss!r}.")
    baseline = None
    if loss == "cox" and file.fields.get("strata") is not True:
        times = file.take("baseline_times", Rule("times", finite=True))
        hazard = file.take("baseline_hazard", Rule("times", finite=True))
        last = file.number("last_time", np.nan)
        rising = (np.diff(times) > 0).all() and (np.diff(hazard) >= 0).all()
        sound = times.size > 0 and rising and times[0] >= 0 and hazard[0] >= 0
        if not (sound and np.isfinite(last) and last >= times[-1]):
            raise ModelFileError("its baseline hazard does not rise with time.")
        baseline = Baseline(times, hazard, last)
    found = replace(state, loss=loss, baseline=baseline)
    vars(found)["novelty_reference"] = vars(state)["novelty_reference"]
    return found


def _write_residuals(file: Record, state: State) -> None:
    if state.model.weights.size < 2:
        return
    try:
        residuals = state.held_residuals
        if np.isnan(residuals).any():
            raise ArithmeticError("some of them are 0/0")
        file.put("residuals", residuals)
    except (ArithmeticError, ValueError) as error:  # the model itself is sound
        file.fields["notes"].append(f"there are no leave-one-out residuals: {error}")


def _write_search(file: Record, model: Any) -> None:
    chosen = {f"{name}_": value for name, value in model._leader.items()}
    chosen |= {name: getattr(model, name) for name in ("best_score_", "best_index_")}
    file.fields["chosen"] = {
        name: encode(value.item() if isinstance(value, np.generic) else value)
        for name, value in chosen.items()
    }
    file.fields["best_score_se"] = encode(float(model.best_score_se_))
    for name in ("nested_score", "nested_score_se"):
        if hasattr(model, f"{name}_"):
            file.fields[name] = encode(float(getattr(model, f"{name}_")))
    if hasattr(model, "nested_results_"):
        file.fields["nested_results"] = encode(model.nested_results_)
        nested = np.asarray(model.nested_predictions_)
        if hasattr(model, "classes_"):  # their places among the classes
            place = {label: i for i, label in enumerate(model.classes_.tolist())}
            nested = np.array([place[label] for label in nested.tolist()], dtype=np.int64)
        file.put("nested_predictions", nested)
    if getattr(model, "_noticed", None):
        file.fields["noticed"] = {kind: rows[:99] for kind, rows in model._noticed.items()}
    name = "cv_rates" if kind_of(model) == "counts" else "cv_predictions"
    file.put(name, model.cv_predictions_)
    columns = file.fields["results"] = []
    for name, values in model.cv_results_.items():
        kind = "params" if name == "params" else "array"
        if kind == "array" and values.dtype.kind == "O":  # counts beside shares
            kind, whole = "mixed", [isinstance(value, int) for value in values]
            file.put(f"result_{name}_whole", np.array(whole))
            values = values.astype(float)
        if kind != "params":
            file.put(f"result_{name}", values)
        columns.append([name, kind])


def _read_nested(model: Any, file: Record) -> None:
    """What the search repeated on other samples gave, where it was and the file is young enough."""
    if "nested_results" not in file.fields:
        return
    model.nested_results_ = decode(file.field("nested_results", list))
    found = stored_evidence(model) or []
    numbers = [value for each in found for value in astuple(each)[:-1]]  # the last is the kind
    rivals = [value for each in numbers if isinstance(each, tuple) for value in each]
    sound = all(isinstance(value, float | int | tuple | None) for value in numbers)
    sound = sound and all(isinstance(value, float) for value in rivals)
    kinds = {each.kind or kind_of(model) for each in found}
    n_targets = 1 if hasattr(model, "classes_") else model._state.n_targets
    if not sound or kinds != {kind_of(model)} or len(found) != n_targets:
        raise ModelFileError("its header has no sound field 'nested_results'.")
    shape = "n" if file.field("single", bool) or hasattr(model, "classes_") else "n t"
    if not hasattr(model, "classes_"):
        model.nested_predictions_ = file.take("nested_predictions", Rule(shape, itemsize=None))
        return
    places = file.take("nested_predictions", Rule(shape, "i"))
    if not ((places >= 0) & (places < model.classes_.size)).all():
        raise ModelFileError("its nested predictions are of no known class.")
    model.nested_predictions_ = model.classes_[places]


def _read_search(model: Any, file: Record) -> None:
    # up to schema 6 scores of classes were minus the balanced error rate: they count from 1 now
    own = model.scoring is None and "scoring" not in getattr(model, "not_stored_", {})
    best = float(is_classifier(model) and own and file.field("schema", int) < 7)
    chosen = Record(file.field("chosen", dict))
    model.best_index_ = chosen.field("best_index_", int)
    model.best_score_ = chosen.number("best_score_") + best
    # the first files of this schema have none of these
    model.best_score_se_ = file.number("best_score_se", np.nan)
    for name, more in (("nested_score", best), ("nested_score_se", 0.0)):
        if name in file.fields:
            setattr(model, f"{name}_", file.number(name) + more)
    if model.best_score_se_ < 0 or getattr(model, "nested_score_se_", 0.0) < 0:
        raise ModelFileError("its scores have standard errors that none has.")
    shape = "n" if file.field("single", bool) else "n t"
    logs = f"{file.prefix}cv_rates" not in file.arrays  # as the first files of counts
    name = "cv_predictions" if logs else "cv_rates"
    told = file.take(name, Rule(shape, itemsize=None))
    model.cv_predictions_ = rates(told) if logs and kind_of(model) == "counts" else told
    model._noticed = _read_noticed(file, len(model.cv_predictions_))
    model.cv_results_ = _read_results(file)
    model.cv_results_["mean_test_score"] = model.cv_results_["mean_test_score"] + best


def _read_noticed(file: Record, n: int) -> dict[str, list[int]]:
    """What was odd about the samples at the fit."""
    found = {kind: list(rows) for kind, rows in file.fields.get("noticed", {}).items()}
    inside = all(type(row) is int and 0 <= row < n for rows in found.values() for row in rows)
    if not inside or not {*found} <= {*KINDS}:
        raise ModelFileError("its header has samples of note that no fit has.")
    return found


def _read_results(file: Record) -> dict[str, Any]:
    """``cv_results_`` from its named columns."""
    table: dict[str, Any] = {}
    for name, kind in file.field("results", list):
        if kind == "params":
            table[name] = []
            continue
        values = file.take(f"result_{name}", Rule("candidates", "biufU"))
        if kind == "mixed":
            whole = file.take(f"result_{name}_whole", Rule("candidates", "b"))
            pairs = zip(values.tolist(), whole.tolist(), strict=True)
            values = np.array([int(v) if w else v for v, w in pairs], dtype=object)
        table[name] = values
    names = ("a", "k", "c", "density")
    if any(f"param_{name}" not in table for name in names) or "mean_test_score" not in table:
        raise ModelFileError("its search results do not say which candidates they are of.")
    if "params" in table:
        columns = [table[f"param_{name}"].tolist() for name in names]
        table["params"] = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return table


def _check_chosen(model: Any, state: State) -> None:
    """The chosen row is one of the results; it is the model where candidates are not mixed."""
    if not 0 <= model.best_index_ < len(model.cv_results_["param_a"]):
        raise ModelFileError(
            f"it says that candidate {model.best_index_} was chosen, which it does not have."
        )
    for name, value in model._leader.items():
        if type(value) not in (int, float) or np.isnan(value):
            raise ModelFileError(f"its chosen candidate has no number {name}.")
        if not isinstance(state, Mixture):
            setattr(model, f"{name}_", value)
