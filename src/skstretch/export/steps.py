"""Steps before a model as nodes of a graph, each as its class computes it."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.signal import savgol_coeffs
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from skstretch.core.moments import Moments
from skstretch.export.graph import Graph
from skstretch.export.quantiles import add_quantiles
from skstretch.features import FirstQuadrant, GaussianBasis, RandomNetwork, SpectralFilter
from skstretch.features.spectral import trend_basis


def add_step(graph: Graph, step: Any, X: str) -> str:
    """What a fitted step makes of a matrix X."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return X
    if type(step) not in NODES:
        raise TypeError(
            f"a {type(step).__name__} has no counterpart in an ONNX graph: steps can be "
            f"{', '.join(kind.__name__ for kind in NODES)}. Apply it to the data before the graph."
        )
    return NODES[type(step)](graph, step, X)


def _pipeline(graph: Graph, step: Any, X: str) -> str:
    for _, inner in step.steps:
        X = add_step(graph, inner, X)
    return X


def _column_parts(graph: Graph, step: Any, X: str) -> str:
    parts, weights = [], step.transformer_weights or {}
    for name, inner, _ in step.transformers_:
        places = step._transformer_to_input_indices[name]
        if not len(places) or (isinstance(inner, str) and inner == "drop"):
            continue
        columns = graph.columns(X, places)
        # what scikit-learn makes of the word passthrough
        same = type(inner) is FunctionTransformer and inner.func is None
        part = columns if same else add_step(graph, inner, columns)
        if name in weights:
            part = graph.add("Mul", part, graph.number(weights[name]))
        parts.append(part)
    return graph.add("Concat", *parts, axis=1)


def _imputer(graph: Graph, step: Any, X: str) -> str:
    try:
        fill = np.array(step.statistics_, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(
            "a SimpleImputer of text has no place in an ONNX graph, whose input X holds numbers."
        ) from None
    kept = np.arange(fill.size) if step.keep_empty_features else np.flatnonzero(~np.isnan(fill))
    missing = _equal(graph, X, step.missing_values)
    if kept.size == fill.size:
        out = graph.add("Where", missing, graph.number(fill), X)
    else:
        gaps, columns = graph.columns(missing, kept), graph.columns(X, kept)
        out = graph.add("Where", gaps, graph.number(fill[kept]), columns)
    if step.indicator_ is None or not len(step.indicator_.features_):
        return out
    marks = graph.cast(graph.columns(missing, step.indicator_.features_), graph.dtype)
    return graph.add("Concat", out, marks, axis=1)


def _equal(graph: Graph, X: str, value: Any) -> str:
    if isinstance(value, float) and np.isnan(value):
        return graph.add("IsNaN", X)
    return graph.add("Equal", X, graph.number(value))


def _scaled(graph: Graph, X: str, centre: Any, scale: Any) -> str:
    if centre is not None:
        X = graph.add("Sub", X, graph.number(centre))
    return X if scale is None else graph.add("Div", X, graph.number(scale))


def _standard(graph: Graph, step: Any, X: str) -> str:
    return _scaled(graph, X, step.mean_ if step.with_mean else None, step.scale_)


def _robust(graph: Graph, step: Any, X: str) -> str:
    return _scaled(graph, X, step.center_, step.scale_)


def _power(graph: Graph, step: Any, X: str) -> str:
    """Yeo and Johnson's is ``f(x, λ)`` above zero and ``-f(-x, 2 - λ)`` below."""
    one, zero = graph.number(1.0), graph.number(0.0)
    if step.method == "box-cox":
        out = _powers(graph, graph.add("Log", X), step.lambdas_)
    else:
        sides = (X, step.lambdas_), (graph.add("Neg", X), 2.0 - step.lambdas_)
        halves = [
            _powers(graph, graph.add("Log", graph.add("Add", graph.add("Max", x, zero), one)), lam)
            for x, lam in sides
        ]
        out = graph.add("Sub", *halves)
    return _standard(graph, step._scaler, out) if step.standardize else out


def _powers(graph: Graph, logs: str, lam: Any) -> str:
    """``(exp(λ l) - 1) / λ``, and l where λ is zero."""
    flat = np.abs(lam) < np.finfo(float).eps
    scaled = excess(graph, graph.add("Mul", logs, graph.number(np.where(flat, 1.0, lam))))
    curved = graph.add("Div", scaled, graph.number(np.where(flat, 1.0, lam)))
    return graph.add("Where", graph.constant(flat), logs, curved) if flat.any() else curved


def excess(graph: Graph, L: str) -> str:
    """``exp(L) - 1`` as ``tanh(L/2) (exp(L) + 1)``, which keeps its digits where L is small."""
    half = graph.add("Tanh", graph.add("Mul", L, graph.number(0.5)))
    return graph.add("Mul", half, graph.add("Add", graph.add("Exp", L), graph.number(1.0)))


def _threshold(graph: Graph, step: Any, X: str) -> str:
    return graph.columns(X, np.flatnonzero(step.get_support()))


def _polynomial(graph: Graph, step: Any, X: str) -> str:
    """Every term is a product of as many columns as its degree, ones among them."""
    powers = step.powers_
    factors = np.zeros((max(1, powers.sum(axis=1).max()), len(powers)), dtype=np.int64)
    for term, row in enumerate(powers):
        numbers = 1 + np.repeat(np.arange(row.size), row)
        factors[: numbers.size, term] = numbers
    first = graph.columns(X, [0])
    zeros = graph.add("Sub", first, first)
    padded = graph.add("Concat", graph.add("Add", zeros, graph.number(1.0)), X, axis=1)
    out = graph.columns(padded, factors[0])
    for numbers in factors[1:]:
        out = graph.add("Mul", out, graph.columns(padded, numbers))
    return out


def _one_hot(graph: Graph, step: Any, X: str) -> str:
    if getattr(step, "_infrequent_enabled", False):
        raise TypeError("a OneHotEncoder with min_frequency or max_categories is not exported.")
    columns, values = [], []
    for j, categories in enumerate(step.categories_):
        dropped = None if step.drop_idx_ is None else step.drop_idx_[j]
        kept = [c for i, c in enumerate(categories.tolist()) if i != dropped]
        if any(isinstance(value, (str, bytes)) or value is None for value in kept):
            raise TypeError(
                f"a OneHotEncoder of text ({kept[0]!r}) has no place in an ONNX graph, whose input "
                "X holds numbers: encode these columns before it."
            )
        columns += [j] * len(kept)
        values += kept
    found, known = graph.columns(X, columns), np.array(values, dtype=float)
    equal = graph.add("Equal", found, graph.number(known))
    if (gaps := np.isnan(known)).any():
        both = graph.add("And", graph.add("IsNaN", found), graph.constant(gaps))
        equal = graph.add("Or", equal, both)
    return graph.cast(equal, graph.dtype)


def _spectral(graph: Graph, step: Any, X: str) -> str:
    D = step.n_features_in_
    if step.snv:
        X = _normal_variate(graph, X)
    if step.detrend is not None:
        basis = trend_basis(D, step.detrend)
        trend = graph.add("MatMul", X, graph.number(basis))
        X = graph.add("Sub", X, graph.add("MatMul", trend, graph.number(basis.T)))
    if step.derivative is not None:
        X = _windows(graph, step, X, D)
    return X if step.support_.all() else graph.columns(X, np.flatnonzero(step.support_))


def _normal_variate(graph: Graph, X: str) -> str:
    rows: Any = {"axes": [1], "keepdims": 1}
    centred = graph.add("Sub", X, graph.add("ReduceMean", X, **rows))
    squares = graph.add("ReduceMean", graph.add("Mul", centred, centred), **rows)
    ends = (graph.add(name, X, **rows) for name in ("ReduceMax", "ReduceMin"))
    scaled = graph.add("Div", centred, graph.add("Sqrt", squares))
    return graph.add("Where", graph.add("Equal", *ends), graph.number(0.0), scaled)


def _windows(graph: Graph, step: Any, X: str, D: int) -> str:
    """Savitzky–Golay: a sum of shifted columns inside, products with the outermost windows."""
    window, half = step.window, step.window // 2

    def weights(place: int) -> Any:
        options = {"deriv": step.derivative, "pos": place, "use": "dot"}
        return savgol_coeffs(window, step.polyorder, **options)

    inside = ""
    for shift, weight in enumerate(weights(half)):
        part = graph.columns(X, np.arange(shift, shift + D - window + 1))
        part = graph.add("Mul", part, graph.number(weight))
        inside = graph.add("Add", inside, part) if inside else part
    if not half:
        return inside
    left = np.column_stack([weights(place) for place in range(half)])
    right = np.column_stack([weights(place) for place in range(window - half, window)])
    ends = [
        graph.add("MatMul", graph.columns(X, np.arange(start, start + window)), graph.number(E))
        for start, E in ((0, left), (D - window, right))
    ]
    return graph.add("Concat", ends[0], inside, ends[1], axis=1)


def standardised(graph: Graph, moments: Moments, columns: str, bound: bool = True) -> str:
    """z-scores, bounded to the training range widened by its width on either side."""
    z = graph.add("Sub", columns, graph.number(moments.mean))
    if moments.rest.any():
        z = graph.add("Sub", z, graph.number(moments.rest))
    z = graph.add("Div", z, graph.number(moments.scale))
    if not bound:
        return z
    width = moments.high - moments.low
    z = graph.add("Max", z, graph.number(moments.low - width))
    return graph.add("Min", z, graph.number(moments.high + width))


def _quadrant(graph: Graph, step: Any, X: str) -> str:
    quadrant = step._quadrant
    z = standardised(graph, quadrant.moments, X, step.bound)
    L = graph.add("Mul", z, graph.number(quadrant.a))
    return graph.add("Exp", graph.add("Add", L, graph.number(quadrant.b)))


def _network(graph: Graph, step: Any, X: str) -> str:
    activity = graph.add(
        "MatMul", _scaled(graph, X, step.mean_, step.scale_), graph.number(step.weights_)
    )
    activity = graph.add("Add", activity, graph.number(step.biases_))
    return graph.add("Sigmoid", graph.add("Mul", activity, graph.number(step.scale)))


def _basis(graph: Graph, step: Any, X: str) -> str:
    """``|x - c|**2`` as ``|x|**2 - 2 x'c + |c|**2``, around the mean of the centres."""
    middle = step.centers_.mean(axis=0)
    centres = step.centers_ - middle
    x = graph.add("Sub", X, graph.number(middle))
    squares = graph.add("ReduceSumSquare", x, axes=[1], keepdims=1)
    products = graph.add("MatMul", x, graph.number(-2.0 * centres.T))
    distances = graph.add(
        "Add", graph.add("Add", squares, products), graph.number((centres**2).sum(1))
    )
    bounded = graph.add("Max", distances, graph.number(0.0))
    return graph.add("Exp", graph.add("Mul", bounded, graph.number(-0.5 / step.width_**2)))


NODES: dict[Any, Callable[[Graph, Any, str], str]] = {
    SimpleImputer: _imputer,
    StandardScaler: _standard,
    RobustScaler: _robust,
    PowerTransformer: _power,
    QuantileTransformer: add_quantiles,
    VarianceThreshold: _threshold,
    PolynomialFeatures: _polynomial,
    OneHotEncoder: _one_hot,
    ColumnTransformer: _column_parts,
    Pipeline: _pipeline,
    SpectralFilter: _spectral,
    FirstQuadrant: _quadrant,
    RandomNetwork: _network,
    GaussianBasis: _basis,
}
