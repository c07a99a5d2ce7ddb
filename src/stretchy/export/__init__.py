"""Fitted models in formats of other programs."""

from stretchy.export.onnx import to_onnx as to_onnx
