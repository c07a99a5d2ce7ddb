"""ONNX graphs of fitted models and of the steps before them."""

from skstretch.export.onnx import to_onnx as to_onnx
