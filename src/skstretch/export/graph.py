"""A graph that grows node by node, and the package that it needs."""

from typing import Any

import numpy as np

# supported by every runtime since early 2022
OPSET, IR_VERSION = 17, 8


class Graph:
    """A graph that grows node by node.

    Nodes and constants; `dtype` is the type of the numbers.
    """

    def __init__(self, onnx: Any, dtype: Any) -> None:
        self.onnx, self.dtype = onnx, np.dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any) -> str:
        """The name of a constant with these values as they are."""
        name = f"constant{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.array(values), name))
        return name

    def number(self, values: Any) -> str:
        """The name of a constant in the type of the graph."""
        return self.constant(np.asarray(values, dtype=self.dtype))

    def add(self, operator: str, *inputs: str, output: str | None = None, **options: Any) -> str:
        """Add a node; returns the name of its output."""
        name = output or f"value{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, [*inputs], [name], **options))
        return name

    def cast(self, values: str, dtype: Any) -> str:
        """The values in another type."""
        to = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.add("Cast", values, to=to)

    def columns(self, values: str, numbers: Any) -> str:
        """Some columns of a matrix."""
        return self.add("Gather", values, self.constant(np.asarray(numbers, np.int64)), axis=1)

    def model(self, n_features: int, outputs: list[str], name: str) -> Any:
        """The checked graph, with one input X of shape (N, n_features)."""
        helper = self.onnx.helper
        kind = helper.np_dtype_to_tensor_dtype(self.dtype)
        X = helper.make_tensor_value_info("X", kind, ["N", n_features])
        empty = [helper.make_empty_tensor_value_info(output) for output in outputs]
        graph = helper.make_graph(self.nodes, name, [X], empty, initializer=self.constants)
        opset = [helper.make_opsetid("", OPSET)]
        made = helper.make_model(
            graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="skstretch"
        )
        made = self.onnx.shape_inference.infer_shapes(made, strict_mode=True)
        self.onnx.checker.check_model(made, full_check=True)
        return made


def imported_onnx() -> Any:
    """The package, or an error that says how to get it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "to_onnx needs the package onnx: pip install 'skstretch[onnx]'."
        ) from error
    return onnx
