"""Every field and every array of a model file, forged to claim or hold far more than the file."""

import json

import numpy as np

from tests.io.hostile import HUGE, npy_header
from tests.io.samples import members, packed, with_array, with_header

# texts of which numpy would make a huge array: every item as long as the longest
LONG_AMONG_SHORT = ["x" * 40_000, *[""] * 10_000]
BOMBS = {
    "long type": {"$numpy": ["<U999999", "a"]},
    "many long types": [{"$numpy": ["<U999999", "a"]}] * 500,
    "long bytes": [{"$numpy": ["|S999999", "a"]}] * 2000,
    "array of texts": {"$array": ["<U999999", ["a"] * 5000]},
    "texts for numbers": {"$array": ["float64", LONG_AMONG_SHORT]},
    "texts in a scalar": {"$numpy": ["<U40000", LONG_AMONG_SHORT]},
    "tuple of types": {"$tuple": [{"$numpy": ["<U999999", "a"]}] * 500},
    "dict of types": {"$dict": [[i, {"$numpy": ["<U999999", "a"]}] for i in range(500)]},
    "texts": LONG_AMONG_SHORT,
    "many lists": [[]] * 10_000,
    "huge number": HUGE,
    "huge numbers": [HUGE] * 3,
    "digits": {"$int": "9" * 50_000},
    "deep": json.loads("[" * 500 + "]" * 500),
    "infinite": [1e300] * 9,
}

DTYPES = ("<U999999", "|S999999", "<c16", "|b1", ">f8", "|O")
SHAPES = ([HUGE], [HUGE, HUGE, HUGE], [0, HUGE], [1, 1, 1])


def headers(good):
    """One field after the other is a bomb; so is every parameter."""
    header = json.loads(members(good)["header.json"])
    for name in header:
        for kind, value in BOMBS.items():
            yield f"{name}: {kind}", with_header(good, **{name: value})
    for name in header["parameters"]:
        for kind, value in BOMBS.items():
            changed = {**header["parameters"], name: value}
            yield f"parameter {name}: {kind}", with_header(good, parameters=changed)
    for name in ("classes", "spec", "quadrant", "chosen", "results", "terms"):
        if isinstance(header.get(name), list):
            for kind, value in BOMBS.items():
                first = [value, *header[name][1:]]
                yield f"first of {name}: {kind}", with_header(good, **{name: first})


def arrays(good):
    """One array after the other claims types, shapes and orders in the header and in itself."""
    header = json.loads(members(good)["header.json"])
    for name, entry in header["arrays"].items():
        values = np.zeros(entry["shape"], entry["dtype"])
        for dtype in DTYPES:
            yield f"{name}: header {dtype}", with_array(good, name, values, dtype=dtype)
            raw = npy_header(dtype, repr(tuple(entry["shape"]))) + values.tobytes()
            both = {"dtype": dtype}
            yield f"{name}: npy {dtype}", with_array(good, name, values, raw)
            yield f"{name}: both {dtype}", with_array(good, name, values, raw, **both)
        for shape in SHAPES:
            yield f"{name}: header {shape}", with_array(good, name, values, shape=shape)
            raw = npy_header(entry["dtype"], repr(tuple(shape))) + values.tobytes()
            yield f"{name}: npy {shape}", with_array(good, name, values, raw)
            yield f"{name}: both {shape}", with_array(good, name, values, raw, shape=shape)
        order = npy_header(entry["dtype"], repr(tuple(entry["shape"])), "True") + values.tobytes()
        yield f"{name}: order", with_array(good, name, values, order)
        yield f"{name}: text", with_array(good, name, np.array(["x" * 100_000]))
        yield f"{name}: other name", renamed(good, name, f"{name}_other")
        yield f"{name}: long name", renamed(good, name, "n" * 63)


def renamed(good, name, other):
    """The file with one array under another name."""
    parts = members(good)
    header = json.loads(parts.pop("header.json"))
    header["arrays"][other] = header["arrays"].pop(name)
    parts[f"{other}.npy"] = parts.pop(f"{name}.npy")
    return packed({**parts, "header.json": json.dumps(header).encode()})
