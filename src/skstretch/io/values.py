"""Python values as JSON and back: only plain ones, exactly."""

import math
import re
from typing import Any

import numpy as np

MAX_DEPTH = 6
NUMBERS = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
)  # fmt: skip
TEXT = re.compile(r"<U[1-9]\d{0,5}|\|S[1-9]\d{0,5}")


class NotStorableError(TypeError):
    """A value that JSON cannot hold: a callable, a splitter, any other object."""


def encode(value: Any, depth: int = 0) -> Any:
    """A value as JSON. What JSON lacks becomes an object with one key that starts with $."""
    if depth > MAX_DEPTH:
        raise NotStorableError("nested too deep")
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int:
        return value if abs(value) < 2**63 else {"$int": str(value)}
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, np.generic) and _is_known(_type_name(value)):
        return {"$numpy": [_type_name(value), encode(_plain(value))]}
    if type(value) is list:
        return [encode(item, depth + 1) for item in value]
    if type(value) is tuple:
        return {"$tuple": encode(list(value), depth)}
    if type(value) is dict:
        return {"$dict": encode([list(pair) for pair in value.items()], depth)}
    if isinstance(value, np.ndarray) and value.dtype.name in NUMBERS and value.ndim == 1:
        return {"$array": [value.dtype.name, encode(value.tolist(), depth)]}
    raise NotStorableError(f"a {type(value).__name__} cannot be stored")


def decode(data: Any) -> Any:
    """The value that `encode` was given; `ValueError` or `TypeError` for anything else."""
    if isinstance(data, list):
        return [decode(item) for item in data]
    if not isinstance(data, dict):
        return data
    if len(data) != 1:
        raise ValueError("an object that stands for no value")
    [(tag, content)] = data.items()
    if tag == "$int":
        return int(content)
    if tag == "$float":
        return float({"inf": "inf", "-inf": "-inf", "nan": "nan"}[content])
    if tag == "$tuple":
        return tuple(decode(content))
    if tag == "$dict":
        return {key: value for key, value in decode(content)}
    if tag in ("$numpy", "$array"):
        name, inner = content
        if not isinstance(name, str) or not _is_known(name):
            raise ValueError(f"an unknown type {str(name)[:40]!r}")
        return _array(name, decode(inner))[() if tag == "$numpy" else slice(None)]
    raise ValueError(f"an unknown kind of value {tag[:40]!r}")


def _array(name: str, values: Any) -> Any:
    kind = np.dtype(name).kind
    if kind == "S":
        values = values.encode("latin-1")
    array = np.asarray(values)
    if array.size and array.dtype.kind not in ("biuf" if kind in "biuf" else kind):
        raise ValueError(f"values that are not of the type {name}")
    return array.astype(name)


def _is_known(name: str) -> bool:
    return name in NUMBERS or TEXT.fullmatch(name) is not None


def _type_name(value: np.generic) -> str:
    return value.dtype.str if value.dtype.kind in "US" else value.dtype.name


def _plain(value: np.generic) -> Any:
    return value.decode("latin-1") if isinstance(value, bytes) else value.item()
