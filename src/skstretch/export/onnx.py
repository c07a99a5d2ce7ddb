"""Fitted models, and pipelines that end in one, as ONNX graphs.

`Graph` grows node by node; arithmetic with a `Value` of it adds nodes. The steps before a model are
those that model files know (`skstretch.io.steps`), each as its class computes it.
"""

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from scipy.signal import savgol_coeffs
from sklearn.base import is_classifier
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer
from sklearn.utils.validation import check_is_fitted

from skstretch.core.features import Moments
from skstretch.core.quadrant import Quadrant
from skstretch.core.types import Array
from skstretch.estimators.base import StretchyModel
from skstretch.estimators.state import as_model, first_step, last_step, steps_before
from skstretch.features.spectral import trend_basis
from skstretch.io.steps import step_name

# supported by every runtime since early 2022
OPSET, IR_VERSION = 17, 8


class Value:
    """A tensor in a graph. Other operands are values, or numbers and arrays."""

    __array_ufunc__ = None  # an array on the left leaves the operation to this class

    def __init__(self, graph: "Graph", name: str) -> None:
        self.graph, self.name = graph, name

    def __add__(self, other: Any) -> "Value":
        return self.graph.add("Add", self, other)

    def __sub__(self, other: Any) -> "Value":
        return self.graph.add("Sub", self, other)

    def __rsub__(self, other: Any) -> "Value":
        return self.graph.add("Sub", other, self)

    def __mul__(self, other: Any) -> "Value":
        return self.graph.add("Mul", self, other)

    def __truediv__(self, other: Any) -> "Value":
        return self.graph.add("Div", self, other)

    def __matmul__(self, other: Any) -> "Value":
        return self.graph.add("MatMul", self, other)

    def __neg__(self) -> "Value":
        return self.graph.add("Neg", self)

    def cast(self, dtype: Any) -> "Value":
        """The values in another type."""
        to = self.graph.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.graph.add("Cast", self, to=to)

    def columns(self, numbers: Any) -> "Value":
        """Some columns of a matrix."""
        return self.graph.add("Gather", self, np.asarray(numbers, np.int64), axis=1)


class Graph:
    """Nodes and constants; `dtype` is the type of the numbers."""

    def __init__(self, dtype: Any) -> None:
        try:
            import onnx
        except ImportError as error:
            raise ImportError(
                "to_onnx needs the package onnx: pip install 'skstretch[onnx]'."
            ) from error
        self.onnx: Any = onnx
        self.dtype = np.dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: Any, output: str | None = None, **options: Any) -> Value:
        """Add a node; inputs that are no values of the graph become constants."""
        names = [x.name if isinstance(x, Value) else self._constant(np.asarray(x)) for x in inputs]
        name = output or f"value{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [name], **options))
        return Value(self, name)

    def _constant(self, values: Any) -> str:
        """The name of a constant: real numbers in the type of the graph, others as they are."""
        name = f"constant{len(self.constants)}"
        values = values.astype(self.dtype) if values.dtype.kind == "f" else values
        self.constants.append(self.onnx.numpy_helper.from_array(values, name))
        return name

    def where(self, condition: Any, yes: Any, no: Any) -> Value:
        """One value or the other."""
        return self.add("Where", condition, yes, no)

    def model(self, n_features: int, outputs: list[Value], name: str) -> Any:
        """The checked graph, with one input X of shape (N, n_features)."""
        helper = self.onnx.helper
        kind = helper.np_dtype_to_tensor_dtype(self.dtype)
        X = helper.make_tensor_value_info("X", kind, ["N", n_features])
        empty = [helper.make_empty_tensor_value_info(output.name) for output in outputs]
        graph = helper.make_graph(self.nodes, name, [X], empty, initializer=self.constants)
        opset = [helper.make_opsetid("", OPSET)]
        made = helper.make_model(
            graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="skstretch"
        )
        made = self.onnx.shape_inference.infer_shapes(made, strict_mode=True)
        self.onnx.checker.check_model(made, full_check=True)
        return made


def add_step(graph: Graph, step: Any, X: Value) -> Value:
    """What a fitted step makes of a matrix X."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return X
    name = step_name(step)
    if name is None:
        raise TypeError(
            f"a {type(step).__name__} has no counterpart in an ONNX graph: steps can be "
            f"{', '.join(NODES)}. Apply it to the data before the graph."
        )
    return NODES[name](graph, step, X)


def _pipeline(graph: Graph, step: Any, X: Value) -> Value:
    for _, inner in step.steps:
        X = add_step(graph, inner, X)
    return X


def _column_parts(graph: Graph, step: Any, X: Value) -> Value:
    parts, weights = [], step.transformer_weights or {}
    for name, inner, _ in step.transformers_:
        places = step._transformer_to_input_indices[name]
        if not len(places) or (isinstance(inner, str) and inner == "drop"):
            continue
        part = X.columns(places)
        # what scikit-learn makes of the word passthrough
        if not (type(inner) is FunctionTransformer and inner.func is None):
            part = add_step(graph, inner, part)
        parts.append(part * float(weights[name]) if name in weights else part)
    return graph.add("Concat", *parts, axis=1)


def _imputer(graph: Graph, step: Any, X: Value) -> Value:
    try:
        fill = np.array(step.statistics_, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(
            "a SimpleImputer of text has no place in an ONNX graph, whose input X holds numbers."
        ) from None
    gap = np.asarray(step.missing_values, dtype=float)
    missing = graph.add("IsNaN", X) if np.isnan(gap) else graph.add("Equal", X, gap)
    marked = [] if step.indicator_ is None else step.indicator_.features_
    marks = missing.columns(marked).cast(graph.dtype) if len(marked) else None
    if not step.keep_empty_features and np.isnan(fill).any():
        kept = np.flatnonzero(~np.isnan(fill))
        X, missing, fill = X.columns(kept), missing.columns(kept), fill[kept]
    out = graph.where(missing, fill, X)
    return out if marks is None else graph.add("Concat", out, marks, axis=1)


def _scaled(graph: Graph, step: Any, X: Value) -> Value:
    """A `StandardScaler` or `RobustScaler`; the former keeps the mean that it does not subtract."""
    centre = step.mean_ if getattr(step, "with_mean", False) else getattr(step, "center_", None)
    X = X if centre is None else X - centre
    return X if step.scale_ is None else X / step.scale_


def _power(graph: Graph, step: Any, X: Value) -> Value:
    """Yeo and Johnson's is ``f(x, λ)`` above zero and ``-f(-x, 2 - λ)`` below."""
    if step.method == "box-cox":
        out = _powers(graph, graph.add("Log", X), step.lambdas_)
    else:
        above, below = (
            _powers(graph, graph.add("Log", graph.add("Max", x, 0.0) + 1.0), lam)
            for x, lam in ((X, step.lambdas_), (-X, 2.0 - step.lambdas_))
        )
        out = above - below
    return _scaled(graph, step._scaler, out) if step.standardize else out


def _powers(graph: Graph, logs: Value, lam: Array) -> Value:
    """``(exp(λ l) - 1) / λ``, and l where λ is zero."""
    flat = np.abs(lam) < np.finfo(float).eps
    lam = np.where(flat, 1.0, lam)
    curved = excess(graph, logs * lam) / lam
    return graph.where(flat, logs, curved) if flat.any() else curved


def excess(graph: Graph, L: Value) -> Value:
    """``exp(L) - 1`` as ``tanh(L/2) (exp(L) + 1)``, which keeps its digits where L is small."""
    return graph.add("Tanh", L * 0.5) * (graph.add("Exp", L) + 1.0)


def _kept(graph: Graph, step: Any, X: Value) -> Value:
    return X.columns(np.flatnonzero(step.get_support()))


def _polynomial(graph: Graph, step: Any, X: Value) -> Value:
    """Every term is a product of as many columns as its degree, ones among them."""
    powers = step.powers_
    factors = np.zeros((max(1, powers.sum(axis=1).max()), len(powers)), dtype=np.int64)
    for term, row in enumerate(powers):
        numbers = 1 + np.repeat(np.arange(row.size), row)
        factors[: numbers.size, term] = numbers
    first = X.columns([0])
    padded = graph.add("Concat", first - first + 1.0, X, axis=1)
    out = padded.columns(factors[0])
    for numbers in factors[1:]:
        out = out * padded.columns(numbers)
    return out


def _one_hot(graph: Graph, step: Any, X: Value) -> Value:
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
    found, known = X.columns(columns), np.array(values, dtype=float)
    equal = graph.add("Equal", found, known)
    if (gaps := np.isnan(known)).any():
        equal = graph.add("Or", equal, graph.add("And", graph.add("IsNaN", found), gaps))
    return equal.cast(graph.dtype)


# what scikit-learn takes for the end of a distribution
BOUND = 1e-7

# Wichura, Algorithm AS 241, Applied Statistics 37 (1988): quantiles of the normal distribution to
# 1e-16, within 0.425 of one half, and beyond it as far as exp(-25); highest powers first
MIDDLE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
     5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
)  # fmt: skip
TAIL = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177,
     1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055,
     4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966,
     0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494,
     2.05319162663775882187, 1.0),
)  # fmt: skip


def _quantiles(graph: Graph, step: QuantileTransformer, X: Value) -> Value:
    """The share of every number among the quantiles of its column, or what that is in a normal.

    Between knots ``u_i < x < u_(i+1)`` it is ``r_i + slope_i (x - u_i)``; at a knot the middle of
    the references that share it.
    """
    table = Knots(graph, step)
    i = table.interval(X)
    u, r, slope, middle = (table.at(i, values) for values in table.lines)
    share = graph.where(graph.add("Equal", X, u), middle, r + slope * (X - u))
    first, last = step.quantiles_[0], step.quantiles_[-1]
    share = graph.where(graph.add("Less", X, first), 0.0, share)
    if step.output_distribution == "normal":
        share = graph.where(graph.add("Greater", X + BOUND, last), 1.0, share)
        share = graph.where(graph.add("Less", X - BOUND, first), 0.0, share)
        share = normal_quantiles(graph, share)
    return graph.where(graph.add("IsNaN", X), X, share)


class Knots:
    """The distinct quantiles of every column, one column as long as the other: ``2^n - 1``."""

    def __init__(self, graph: Graph, step: QuantileTransformer) -> None:
        self.graph, self.D = graph, step.quantiles_.shape[1]
        parts = [column_lines(column, step.references_) for column in step.quantiles_.T]
        self.bits = int(max(len(u) for u, *_ in parts)).bit_length()
        size = 2**self.bits - 1
        # the last line goes on
        self.lines = [
            np.column_stack([np.pad(v, (0, size - v.size), "edge") for v in lines]).ravel()
            for lines in zip(*parts, strict=True)
        ]

    def at(self, place: Value, values: Array) -> Value:
        """Values of the knots at places (N, D)."""
        flat = place * np.int64(self.D) + np.arange(self.D, dtype=np.int64)[None]
        return self.graph.add("Gather", values, flat, axis=0)

    def interval(self, X: Value) -> Value:
        """The last knot that is not above x, the first where there is none, by halving."""
        graph, one, nothing = self.graph, np.int64(1), X - X
        # NaN and inf less themselves are no number: any count will do for them
        count = graph.where(graph.add("IsNaN", nothing), 0.0, nothing).cast(np.int64)
        for bit in reversed(range(self.bits)):
            more = count + np.int64(2**bit)
            reached = graph.add("GreaterOrEqual", X, self.at(more - one, self.lines[0]))
            count = graph.where(reached, more, count)
        return graph.add("Max", count - one, np.int64(0))


def column_lines(quantiles: Array, references: Array) -> tuple[Array, Array, Array, Array]:
    """Distinct knots u, and for each the line to its right (r, slope) and its own middle."""
    u, first = np.unique(quantiles, return_index=True)
    last = np.append(first[1:], quantiles.size) - 1
    left, r = references[first], references[last]
    slope = np.zeros_like(u)
    slope[:-1] = (left[1:] - r[:-1]) / np.diff(u)
    middle = (left + r) / 2
    # the ends of the training data are the ends of the scale; a constant is its beginning
    middle[-1], middle[0] = 1.0, 0.0
    return u, r, slope, middle


def normal_quantiles(graph: Graph, p: Value) -> Value:
    """The normal quantile of shares, which end where scikit-learn's do."""
    least = BOUND - np.spacing(1)
    p = graph.add("Min", graph.add("Max", p, least), 1.0 - least)
    q = p - 0.5
    middle = q * _ratio(MIDDLE, 0.180625 - q * q)
    far = graph.add("Sqrt", -graph.add("Log", graph.add("Min", p, 1.0 - p)))
    tail = graph.add("Sign", q) * _ratio(TAIL, far - 1.6)
    return graph.where(graph.add("LessOrEqual", graph.add("Abs", q), 0.425), middle, tail)


def _ratio(polynomials: Any, t: Value) -> Value:
    """Two polynomials of t, divided, by Horner's rule."""
    above, below = (reduce(lambda value, c: t * value + c, row) for row in polynomials)
    return above / below


def _spectral(graph: Graph, step: Any, X: Value) -> Value:
    D = step.n_features_in_
    if step.snv:
        X = _normal_variate(graph, X)
    if step.detrend is not None:
        basis = trend_basis(D, step.detrend)
        X = X - X @ basis @ basis.T
    if step.derivative is not None:
        X = _windows(graph, step, X, D)
    return X if step.support_.all() else X.columns(np.flatnonzero(step.support_))


def _normal_variate(graph: Graph, X: Value) -> Value:
    rows: Any = {"axes": [1], "keepdims": 1}
    centred = X - graph.add("ReduceMean", X, **rows)
    variance = graph.add("ReduceMean", centred * centred, **rows)
    ends = (graph.add(name, X, **rows) for name in ("ReduceMax", "ReduceMin"))
    return graph.where(graph.add("Equal", *ends), 0.0, centred / graph.add("Sqrt", variance))


def _windows(graph: Graph, step: Any, X: Value, D: int) -> Value:
    """Savitzky–Golay: a sum of shifted columns inside, products with the outermost windows."""
    window, half = step.window, step.window // 2

    def weights(place: int) -> Any:
        options = {"deriv": step.derivative, "pos": place, "use": "dot"}
        return savgol_coeffs(window, step.polyorder, **options)

    shifted = [X.columns(np.arange(shift, shift + D - window + 1)) for shift in range(window)]
    parts = [part * weight for part, weight in zip(shifted, weights(half), strict=True)]
    inside = sum(parts[1:], parts[0])
    if not half:
        return inside
    left = np.column_stack([weights(place) for place in range(half)])
    right = np.column_stack([weights(place) for place in range(window - half, window)])
    first, last = X.columns(np.arange(window)), X.columns(np.arange(D - window, D))
    return graph.add("Concat", first @ left, inside, last @ right, axis=1)


def standardised(graph: Graph, moments: Moments, X: Value, bound: bool = True) -> Value:
    """z-scores, bounded to the training range widened by its width on either side."""
    z = X - moments.mean
    if moments.rest.any():
        z = z - moments.rest
    z = z / moments.scale
    if not bound:
        return z
    width = moments.high - moments.low
    return graph.add("Min", graph.add("Max", z, moments.low - width), moments.high + width)


def _first_quadrant(graph: Graph, step: Any, X: Value) -> Value:
    quadrant = step._quadrant
    z = standardised(graph, quadrant.moments, X, step.bound)
    return graph.add("Exp", z * quadrant.a + quadrant.b)


def _network(graph: Graph, step: Any, X: Value) -> Value:
    activity = (X - step.mean_) / step.scale_ @ step.weights_ + step.biases_
    return graph.add("Sigmoid", activity * float(step.scale))


def _basis(graph: Graph, step: Any, X: Value) -> Value:
    """``|x - c|**2`` as ``|x|**2 - 2 x'c + |c|**2``, around the mean of the centres."""
    middle = step.centers_.mean(axis=0)
    centres, x = step.centers_ - middle, X - middle
    squares = graph.add("ReduceSumSquare", x, axes=[1], keepdims=1)
    distances = squares + x @ (-2.0 * centres.T) + (centres**2).sum(1)
    return graph.add("Exp", graph.add("Max", distances, 0.0) * (-0.5 / step.width_**2))


def _texts(graph: Graph, step: Any, X: Value) -> Value:
    name = type(step).__name__
    raise TypeError(
        f"a {name} reads texts, and a graph of ONNX cannot cut them into words as it does: export "
        "what comes behind it with to_onnx(pipeline[1:]), and give the graph what "
        "pipeline[0].transform makes of them, as a dense array."
    )


def _tfidf(graph: Graph, step: Any, X: Value) -> Value:
    """Weighted counts, each row divided by its length; a row of zeros stays one."""
    if step.sublinear_tf:
        found = graph.add("Greater", X, 0.0)
        X = graph.where(found, graph.add("Log", graph.where(found, X, 1.0)) + 1.0, 0.0)
    if step.use_idf:
        X = X * step.idf_
    if step.norm is None:
        return X
    # old runtimes have no ReduceL1 and ReduceL2 of float64
    squares = X if step.norm == "l2" else graph.add("Sqrt", graph.add("Abs", X))
    length = graph.add("ReduceSumSquare", squares, axes=[1], keepdims=1)
    length = graph.add("Sqrt", length) if step.norm == "l2" else length
    return X / graph.where(graph.add("Equal", length, 0.0), 1.0, length)


NODES: dict[str, Callable[[Graph, Any, Value], Value]] = {
    "SimpleImputer": _imputer,
    "StandardScaler": _scaled,
    "RobustScaler": _scaled,
    "PowerTransformer": _power,
    "QuantileTransformer": _quantiles,
    "VarianceThreshold": _kept,
    "StabilitySelector": _kept,
    "PolynomialFeatures": _polynomial,
    "OneHotEncoder": _one_hot,
    "SpectralFilter": _spectral,
    "FirstQuadrant": _first_quadrant,
    "RandomNetwork": _network,
    "GaussianBasis": _basis,
    "CountVectorizer": _texts,
    "TfidfVectorizer": _texts,
    "TfidfTransformer": _tfidf,
    "ColumnTransformer": _column_parts,
    "Pipeline": _pipeline,
}


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
    graph = Graph(dtype)
    X = Value(graph, "X")
    for step in steps_before(model):
        X = add_step(graph, step, X)
    outputs = _linear(graph, own, X)
    if own._state.loss == "poisson":
        outputs = graph.add("Exp", outputs)
    if is_classifier(own):
        made = _decisions(graph, own, outputs)
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
