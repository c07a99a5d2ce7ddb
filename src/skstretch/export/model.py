"""Fitted models, and pipelines that end in one, as ONNX graphs."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from skstretch.core.quadrant import Quadrant
from skstretch.estimators.base import StretchyModel
from skstretch.estimators.state import as_model, first_step, last_step, steps_before
from skstretch.export.steps import Graph, Value, add_step, excess, imported_onnx, standardised

DTYPES = ("float64", "float32")


def to_onnx(model: Any, dtype: str = "float64") -> Any:
    """A fitted model as an ONNX graph.

    Parameters
    ----------
    model : StretchyRegressor, StretchyClassifier, StretchyRegressorCV, StretchyClassifierCV, \
            StretchySurvivalCV or sklearn.pipeline.Pipeline
        Fitted. Steps of a pipeline can be those that `save` takes; its columns must be numbers,
        as the graph has one input. Of a RecipeRegressorCV or RecipeClassifierCV its
        ``pipeline_`` is written.
    dtype : {"float64", "float32"}, default="float64"
        The type of the input ``X`` of shape (N, n_features), of the numbers in the graph and of
        its outputs. A model that was fitted on float32 rounds its outputs to it in either graph,
        as `predict` does.

    Returns
    -------
    graph : onnx.ModelProto
        Outputs of a regressor: ``prediction``, in the shape of ``predict(X)``; so too the risks of
        `StretchySurvivalCV`. Of a classifier:
        ``label``, ``scores`` as in `decision_function` and, unless it was not calibrated (or is
        from an older file with an isotonic curve), ``probabilities`` as in `predict_proba`.

    See Also
    --------
    save : A file from which the whole model comes back.

    Notes
    -----
    Standardise, bound, ``exp(a z + b)``, one product. The excess ``exp(L) - 1`` is formed as
    ``tanh(L/2) (exp(L) + 1)``, which keeps its digits where L is small, so that the float64 graph
    agrees with `predict` to about 1e-14 relative to the largest term. Only the features whose
    coefficients are not zero are read. Unlike `predict`, a graph does not refuse NaN, and
    categories that an encoder does not know become zeros.

    Examples
    --------
    >>> import skstretch
    >>> model = skstretch.StretchyRegressor().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0])
    >>> graph = skstretch.to_onnx(model)
    >>> [output.name for output in graph.graph.output]
    ['prediction']
    """
    model = as_model(model)
    own = last_step(model)
    _check(own, dtype)
    graph = Graph(imported_onnx(), dtype)
    X = Value(graph, "X")
    for step in steps_before(model):
        X = add_step(graph, step, X)
    outputs = _linear(graph, own, X)
    if is_classifier(own):
        made = _decisions(graph, own, outputs)
    elif own._state.loss == "poisson":
        made = [_shaped(graph, own, graph.add("Exp", outputs), "prediction")]
    else:
        made = [_shaped(graph, own, outputs, "prediction")]
    return graph.model(first_step(model).n_features_in_, made, type(own).__name__)


def _check(model: Any, dtype: str) -> None:
    if not isinstance(model, StretchyModel):
        raise TypeError(
            f"a {type(model).__name__} cannot be exported: pass a fitted skstretch regressor or "
            "classifier, or a scikit-learn Pipeline that ends in one."
        )
    check_is_fitted(model)
    if dtype not in DTYPES:
        raise ValueError(f"dtype={dtype!r} is not known: use one of {', '.join(DTYPES)}.")


def _linear(graph: Graph, model: Any, X: Value) -> Value:
    """Outputs (N, t), in the type that `predict` gives them: one product for every transform."""
    outputs: Any = model._state.level
    for quadrant, coef in model._terms():
        used = np.flatnonzero(coef.any(axis=0))
        used = used if used.size else np.array([0])
        features = _model_features(graph, quadrant.take(used), X.columns(used))
        outputs = features @ coef[:, used].T + outputs
    return _rounded_as_predicted(graph, model, outputs)


def _rounded_as_predicted(graph: Graph, model: Any, values: Value) -> Value:
    """Values as a model that was fitted on float32 rounds them."""
    if model._state.dtype == np.float32 and graph.dtype == np.float64:
        return values.cast(np.float32).cast(np.float64)
    return values


def _model_features(graph: Graph, quadrant: Quadrant, columns: Value) -> Value:
    """The features less their offset, as in `skstretch.core.features`."""
    if quadrant.kind == "identity":
        return columns
    z = standardised(graph, quadrant.moments, columns)
    if quadrant.kind == "linear":
        return z
    values = excess(graph, z * quadrant.a)
    return values * np.exp(quadrant.b) if quadrant.b.any() else values


def _shaped(graph: Graph, model: Any, values: Value, name: str) -> Value:
    """Drop the axis of targets where there is one target, under the name of an output."""
    if model._state.single:
        return graph.add("Squeeze", values, np.array([1]), output=name)
    return graph.add("Identity", values, output=name)


def _decisions(graph: Graph, model: Any, outputs: Value) -> list[Value]:
    decision = model._state.decision
    cuts = decision.cuts.astype(model._state.dtype)
    scores = _rounded_as_predicted(graph, model, outputs - cuts)
    named = _shaped(graph, model, scores, "scores")
    if model._state.single:
        codes = graph.add("Greater", named, 0.0).cast(np.int64)
    else:
        codes = graph.add("ArgMax", scores, axis=1, keepdims=0)
    made = [graph.add("Gather", labels_of(model), codes, axis=0, output="label"), named]
    if decision.factor is not None and decision.curve is None:
        margins = scores * decision.factor
        if model._state.single:
            margins = graph.add("Concat", margins * 0.0, margins, axis=1)
        if np.any(decision.biases):
            margins = margins + decision.biases
        made.append(graph.add("Softmax", margins, axis=1, output="probabilities"))
    return made


def labels_of(model: Any) -> Any:
    """The classes in a type that ONNX has."""
    classes = model.classes_
    types = {"b": np.bool_, "i": np.int64, "f": np.float64}
    if classes.dtype.kind in types:
        return classes.astype(types[classes.dtype.kind])
    if classes.dtype.kind == "u" and classes.max() <= np.iinfo(np.int64).max:
        return classes.astype(np.int64)
    if all(isinstance(label, str) for label in classes.tolist()):
        return classes.astype(object)
    raise TypeError(
        f"classes of dtype {classes.dtype} have no counterpart in ONNX: fit on numbers or strings."
    )
