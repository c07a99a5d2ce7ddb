"""Small fitted models of every kind, and files taken apart and put together again."""

import hashlib
import io
import json
import warnings
import zipfile

import numpy as np

import skstretch
from skstretch.exceptions import GridEdgeWarning

RNG = np.random.default_rng(7)
X = RNG.standard_normal((36, 9)) * RNG.uniform(0.5, 20, 9) + RNG.uniform(-30, 30, 9)
X[:, 4] = 2.5  # takes part in nothing
Y = X[:, :2] @ np.array([[1.0, -0.2], [0.1, 0.4]]) + RNG.standard_normal((36, 2))
CODES = (np.abs(X[:, 0]).argsort().argsort() // 12).astype(int)
WIDE = np.hstack([X, RNG.standard_normal((36, 50))])
WEIGHTS = np.where(np.arange(36) % 5 == 0, 0.0, 1.0 + np.arange(36) % 3)
NEW = X * 1.7 - 1.0
WIDE_NEW = WIDE * 1.7 - 1.0

GRID = {"a_grid": (-0.2, 0.0), "k_grid": (1.25, 2.0), "c_grid": (0.1, 10.0)}

# name -> (class, parameters, X, y, weights, new X)
REGRESSORS = {
    "tall": ("StretchyRegressor", {}, X, Y[:, 0], None, NEW),
    "wide": ("StretchyRegressor", {"k": 1.25}, WIDE, Y[:, 0], None, WIDE_NEW),
    "two": ("StretchyRegressor", {}, X, Y, None, NEW),
    "column": ("StretchyRegressor", {}, X, Y[:, :1], None, NEW),
    "dense": ("StretchyRegressor", {"density": 0.4}, X, Y, None, NEW),
    "sparse": ("StretchyRegressor", {"density": 3}, WIDE, Y, WEIGHTS, WIDE_NEW),
    "weights": ("StretchyRegressor", {"b": np.arange(9) / 9}, X, Y, WEIGHTS, NEW),
    "linear": ("StretchyRegressor", {"a": 0.0}, WIDE, Y[:, 0], None, WIDE_NEW),
    "identity": ("StretchyRegressor", {"quadrant": "identity"}, abs(X), Y[:, 0], None, abs(NEW)),
    "powers": ("StretchyRegressor", {"k": 1.05, "a": -1.0}, WIDE, Y[:, 0], None, WIDE_NEW),
    "single": ("StretchyRegressor", {}, X.astype("f4"), Y, None, NEW.astype("f4")),
    "accurate": ("StretchyRegressor", {"solver": "qr", "c": np.inf}, X, Y, None, NEW),
    "no intercept": ("StretchyRegressor", {"fit_intercept": False}, X, Y[:, 0], None, NEW),
    "ones": ("StretchyRegressor", {"fit_intercept": "column"}, WIDE, Y, None, WIDE_NEW),
    "constant": ("StretchyRegressor", {}, np.ones((36, 3)), Y[:, 0], None, np.ones((2, 3))),
    "search": ("StretchyRegressorCV", GRID, X, Y[:, 0], None, NEW),
    "search two": (
        "StretchyRegressorCV",
        {**GRID, "n_features_to_select": [1.0, 3], "cv": 4, "combine": "best"},
        X,
        Y,
        WEIGHTS,
        NEW,
    ),
}
# curves of the first features, beside straight lines: candidates of several a have a share in it
Z = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
BENT = np.exp(-0.5 * Z[:, :2]) + 0.6 * np.exp(0.4 * Z[:, 2:3]) + Z[:, 5:7]
BENT += 0.15 * RNG.standard_normal((36, 2))
CURVES = {**GRID, "a_grid": (-0.5, 0.0, 0.5), "n_features_to_select": 1.0}
MIXTURES = {
    "one": ("StretchyRegressorCV", CURVES, X, BENT[:, 0], None, NEW),
    "two": ("StretchyRegressorCV", CURVES, X, BENT, None, NEW),
    "column": ("StretchyRegressorCV", CURVES, X, BENT[:, :1], None, NEW),
    "weights": ("StretchyRegressorCV", {**CURVES, "b": np.arange(9) / 9}, X, BENT, WEIGHTS, NEW),
    "single": ("StretchyRegressorCV", CURVES, X.astype("f4"), BENT, None, NEW.astype("f4")),
    "linear": ("StretchyRegressorCV", {**CURVES, "a_grid": (0,)}, X, BENT[:, 0], None, NEW),
    "exponential": (
        "StretchyRegressorCV",
        {**GRID, "a_grid": (-0.5,), "b": 0.3},
        X,
        BENT,
        None,
        NEW,
    ),
    "identity": (
        "StretchyRegressorCV",
        {**GRID, "quadrant": "identity", "fit_intercept": False},
        abs(X),
        BENT,
        None,
        abs(NEW),
    ),
    "ones": ("StretchyRegressorCV", {**CURVES, "fit_intercept": "column"}, X, BENT, None, NEW),
    "folds": ("StretchyRegressorCV", {**CURVES, "cv": 4}, X, BENT, None, NEW),
    "wide": (
        "StretchyRegressorCV",
        {**CURVES, "n_features_to_select": 1.0},
        WIDE,
        BENT,
        None,
        WIDE_NEW,
    ),
    "selected": ("StretchyRegressorCV", {**CURVES, "n_features_to_select": 3}, X, BENT, None, NEW),
    "some selected": (
        "StretchyRegressorCV",
        {**GRID, "a_grid": (-0.5, 0.0)},
        WIDE,
        BENT,
        WEIGHTS,
        WIDE_NEW,
    ),
}
WORDS = np.array(["ärger", "bö", "日本"])
CLASSIFIERS = {
    "words": ("StretchyClassifier", {}, X, WORDS[CODES], None, NEW),
    "objects": ("StretchyClassifier", {}, X, WORDS.astype(object)[CODES], None, NEW),
    "uint64": ("StretchyClassifier", {}, X, np.array([1, 2**63], "u8")[CODES % 2], None, NEW),
    "bool": ("StretchyClassifier", {"threshold": "balanced"}, X, CODES > 0, None, NEW),
    "int8": ("StretchyClassifier", {}, WIDE, (CODES - 1).astype("i1"), None, WIDE_NEW),
    "float": ("StretchyClassifier", {"density": 0.5}, X, CODES * 1.0, None, NEW),
    "f4": (
        "StretchyClassifier",
        {"threshold": "balanced"},
        X.astype("f4"),
        CODES > 1,
        None,
        NEW.astype("f4"),
    ),
    "class weight": (
        "StretchyClassifier",
        {"class_weight": {0: 1.0, 1: 2.5, 2: 0.1}},
        X,
        CODES,
        None,
        NEW,
    ),
    "search": ("StretchyClassifierCV", {**GRID, "cv": 4}, X, WORDS[CODES], None, NEW),
    "search two": ("StretchyClassifierCV", GRID, X, CODES > 0, WEIGHTS, NEW),
}


def fitted(case):
    """The model of a case, and data that it has not seen."""
    name, parameters, data, y, weights, new = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        model = getattr(skstretch, name)(**parameters).fit(data, y, sample_weight=weights)
    return model, new


def saved_bytes(model, folder, **options):
    """The file of a model."""
    path = folder / "good.stretchy"
    skstretch.save(model, path, **options)
    return path.read_bytes()


def members(data):
    """The members of a file, by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(parts, compression=zipfile.ZIP_STORED):
    """A file with these members: a dict, or pairs of a name (or ZipInfo) and bytes."""
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", compression) as archive:
        warnings.simplefilter("ignore")  # zipfile mentions names that it writes twice
        for name, content in parts.items() if isinstance(parts, dict) else parts:
            archive.writestr(name, content, compress_type=compression)
    return out.getvalue()


def with_header(data, **changes):
    """The file with some fields of its header changed."""
    parts = members(data)
    header = json.loads(parts["header.json"])
    parts["header.json"] = json.dumps({**header, **changes}).encode()
    return packed(parts)


def npy(array, allow_pickle=False):
    """The bytes of an array as a file."""
    out = io.BytesIO()
    np.save(out, array, allow_pickle=allow_pickle)
    return out.getvalue()


def with_array(data, name, array, raw=None, **entry):
    """The file with one array changed, its entry in the header to match but for `entry`."""
    parts = members(data)
    header = json.loads(parts["header.json"])
    content = npy(array) if raw is None else raw
    header["arrays"][name] = {
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "sha256": hashlib.sha256(content).hexdigest(),
        **entry,
    }
    parts[f"{name}.npy"] = content
    header_bytes = json.dumps(header).encode()
    del parts["header.json"]
    return packed({**parts, "header.json": header_bytes})
