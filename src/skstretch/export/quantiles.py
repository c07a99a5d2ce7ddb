"""A `QuantileTransformer` as nodes of a graph: a search among the quantiles, then a line."""

from typing import Any

import numpy as np
from sklearn.preprocessing import QuantileTransformer

from skstretch.core.types import Array
from skstretch.export.graph import Graph

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


def add_quantiles(graph: Graph, step: QuantileTransformer, X: str) -> str:
    """The share of every number among the quantiles of its column, or what that is in a normal.

    Between knots ``u_i < x < u_(i+1)`` it is ``r_i + slope_i (x - u_i)``; at a knot the middle of
    the references that share it.
    """
    table = Knots(graph, step)
    i = table.interval(X)
    u, r, slope, middle = (table.at(i, values) for values in table.lines)
    line = graph.add("Add", r, graph.add("Mul", slope, graph.add("Sub", X, u)))
    share = graph.add("Where", graph.add("Equal", X, u), middle, line)
    first = graph.number(table.quantiles[0])
    below = graph.add("Less", X, first)
    share = graph.add("Where", below, graph.number(0.0), share)
    if step.output_distribution == "normal":
        bound, last = graph.number(BOUND), graph.number(table.quantiles[-1])
        high = graph.add("Greater", graph.add("Add", X, bound), last)
        low = graph.add("Less", graph.add("Sub", X, bound), first)
        share = graph.add("Where", high, graph.number(1.0), share)
        share = normal_quantiles(graph, graph.add("Where", low, graph.number(0.0), share))
    return graph.add("Where", graph.add("IsNaN", X), X, share)


class Knots:
    """The distinct quantiles of every column, one column as long as the other: ``2^n - 1``."""

    def __init__(self, graph: Graph, step: QuantileTransformer) -> None:
        self.graph, self.quantiles = graph, step.quantiles_
        self.D = self.quantiles.shape[1]
        parts = [column_lines(column, step.references_) for column in self.quantiles.T]
        self.bits = int(max(len(u) for u, *_ in parts)).bit_length()
        size = 2**self.bits - 1
        # beyond the last knot comes none, and the last line goes on
        padded = [
            np.column_stack([_padded(part[n], size, np.inf if n == 0 else None) for part in parts])
            for n in range(4)
        ]
        self.knots = graph.number(padded[0].ravel())
        finite = np.column_stack([_padded(part[0], size, None) for part in parts])
        self.lines = [graph.number(values.ravel()) for values in (finite, *padded[1:])]
        self.columns = graph.constant(np.arange(self.D, dtype=np.int64)[None])

    def at(self, place: str, values: str) -> str:
        """Values of the knots at places (N, D)."""
        D = self.graph.constant(np.int64(self.D))
        flat = self.graph.add("Add", self.graph.add("Mul", place, D), self.columns)
        return self.graph.add("Gather", values, flat, axis=0)

    def interval(self, X: str) -> str:
        """The last knot that is not above x, the first where there is none, by halving."""
        graph, one = self.graph, self.graph.constant(np.int64(1))
        nothing = graph.add("Sub", X, X)
        # NaN and inf less themselves are no number: any count will do for them
        zero = graph.add("Where", graph.add("IsNaN", nothing), graph.number(0.0), nothing)
        count = graph.cast(zero, np.int64)
        for bit in reversed(range(self.bits)):
            more = graph.add("Add", count, graph.constant(np.int64(2**bit)))
            knot = self.at(graph.add("Sub", more, one), self.knots)
            count = graph.add("Where", graph.add("GreaterOrEqual", X, knot), more, count)
        return graph.add("Max", graph.add("Sub", count, one), graph.constant(np.int64(0)))


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


def _padded(values: Array, size: int, fill: float | None) -> Array:
    rest = np.full(size - values.size, values[-1] if fill is None else fill)
    return np.concatenate([values, rest])


def normal_quantiles(graph: Graph, p: str) -> str:
    """The normal quantile of shares, which end where scikit-learn's do."""
    least = BOUND - np.spacing(1)
    p = graph.add("Max", p, graph.number(least))
    p = graph.add("Min", p, graph.number(1.0 - least))
    q = graph.add("Sub", p, graph.number(0.5))
    square = graph.add("Mul", q, q)
    middle = graph.add("Mul", q, _ratio(graph, MIDDLE, graph.number(0.180625), square))
    other = graph.add("Sub", graph.number(1.0), p)
    far = graph.add("Sqrt", graph.add("Neg", graph.add("Log", graph.add("Min", p, other))))
    tail = _ratio(graph, TAIL, far, graph.number(1.6))
    tail = graph.add("Mul", graph.add("Sign", q), tail)
    near = graph.add("LessOrEqual", graph.add("Abs", q), graph.number(0.425))
    return graph.add("Where", near, middle, tail)


def _ratio(graph: Graph, polynomials: Any, x: str, y: str) -> str:
    """Two polynomials of ``x - y``, divided."""
    t, values = graph.add("Sub", x, y), []
    for coefficients in polynomials:
        value = graph.number(coefficients[0])
        for coefficient in coefficients[1:]:
            value = graph.add("Add", graph.add("Mul", value, t), graph.number(coefficient))
        values.append(value)
    return graph.add("Div", *values)
