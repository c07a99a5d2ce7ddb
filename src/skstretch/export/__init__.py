"""Fitted models in formats of other programs."""

from skstretch.export.onnx import to_onnx as to_onnx
