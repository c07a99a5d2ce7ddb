"""The JSON header of a model file: its fields, Python values in it, and facts of the origin.

A `Record` has the fields and the arrays of one thing, and both ways go through it.
"""

import dataclasses
import inspect
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any, NoReturn

import numpy as np

from skstretch._version import __version__
from skstretch.exceptions import ModelFileError
from skstretch.io.archive import Archive, Rule, refusing, unsound

SCHEMA = 8
FORMAT = "stretchy model"
NAME = "header.json"
# parsed JSON takes some twenty times its length at worst
MAX_BYTES = 1 << 20

# how deep values may be nested (recursion stops there), and the types of numpy that they may have
MAX_DEPTH = 6
NUMBERS = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
)  # fmt: skip
TEXT = re.compile(r"(<U|\|S)([1-9]\d{0,5})")

# facts that are kept with a model: notes of a person, not data
MAX_FACTS = 50
LONGEST = 10_000
PLAIN = (str, int, float, bool)


def versions(*packages: str) -> dict[str, str]:
    """Our version and those of installed packages, by default of those that matter to a model."""
    found = {"skstretch": __version__}
    for package in packages or ("numpy", "scikit-learn"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "unknown"
    return found


def header_bytes(header: dict[str, Any]) -> bytes:
    """The header as it is written."""
    data = json.dumps(header, indent=1, allow_nan=False).encode("ascii")
    if len(data) > MAX_BYTES:
        raise ValueError(
            f"the parameters and classes of this model take {len(data)} bytes, more than the "
            f"{MAX_BYTES} that a model file allows for them."
        )
    return data


def read_header(archive: Archive) -> dict[str, Any]:
    """The header, parsed, of a schema that this version knows."""
    if archive.size(NAME) > MAX_BYTES:
        raise ModelFileError(
            f"its header has {archive.size(NAME)} bytes; a model file allows {MAX_BYTES}."
        )
    with archive.open(NAME) as member:
        data = member.read(MAX_BYTES + 1)
    with refusing("its header is not sound JSON"):
        header = json.loads(
            data.decode("utf-8"),
            parse_constant=_no_constant,
            parse_float=_finite,
            object_pairs_hook=_distinct,
        )
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError("its header is not that of a stretchy model.")
    _check_schema(header)
    return header


def _check_schema(header: dict[str, Any]) -> None:
    schema, writers = header.get("schema"), header.get("versions")
    if type(schema) is not int or schema < 1:
        raise ModelFileError(f"its schema version {str(schema)[:40]} is not a positive number.")
    if schema > SCHEMA:
        writer = writers.get("skstretch") if isinstance(writers, dict) else None
        raise ModelFileError(
            f"it has schema version {schema} and was written by skstretch {str(writer)[:40]}; this "
            f"is skstretch {versions()['skstretch']}, which reads up to {SCHEMA}. Upgrade to "
            f"skstretch {str(writer)[:40]} or later."
        )


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    value = float(digits)
    return value if math.isfinite(value) else _no_constant(digits[:40])


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field occurs twice")
    return fields


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
    if isinstance(value, np.generic):
        name = value.dtype.str if value.dtype.kind in "US" else value.dtype.name
        if name in NUMBERS or TEXT.fullmatch(name):
            plain = value.decode("latin-1") if isinstance(value, bytes) else value.item()
            return {"$numpy": [name, encode(plain)]}
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
    [(tag, content)] = data.items()
    if tag == "$int":
        return int(content)
    if tag == "$float":
        return float({"inf": "inf", "-inf": "-inf", "nan": "nan"}[content])
    if tag == "$tuple":
        return tuple(decode(content))
    if tag == "$dict":
        return {key: value for key, value in decode(content)}
    if tag == "$numpy":
        return _scalar(*content)
    if tag == "$array":
        return _vector(*content)
    raise ValueError(f"an unknown kind of value {tag[:40]!r}")


def _vector(name: Any, values: Any) -> Any:
    """An array of numbers, which takes no more than their text does."""
    if name not in NUMBERS or type(values) is not list:
        raise ValueError(f"an array of an unknown type {str(name)[:40]!r}")
    return _as_numbers(name, [decode(value) for value in values])


def _scalar(name: Any, value: Any) -> Any:
    """A number or a text of numpy; a text has the length that the name of its type claims."""
    if name in NUMBERS:
        return _as_numbers(name, [decode(value)])[0]
    found = TEXT.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        raise ValueError(f"an unknown type {str(name)[:40]!r}")
    if type(value) is not str or int(found[2]) != max(1, len(value)):
        raise ValueError(f"a value that is not of the type {name}")
    return np.asarray(value if found[1] == "<U" else value.encode("latin-1")).astype(name)[()]


def _as_numbers(name: str, values: list[Any]) -> Any:
    # before numpy looks at them: of one long text among many short ones it would make a huge array
    if not all(type(value) in (bool, int, float) for value in values):
        raise ValueError(f"values that are not of the type {name}")
    return np.asarray(values).astype(name)


@dataclasses.dataclass
class Record:
    """Fields and arrays by name, of a model or of one step before it.

    A writer fills it. A reader asks for fields of a type, and takes each array once and by a
    `Rule`; `sizes` are those of the axes that rules name. `prefix` begins the names of its arrays
    among those of the file.
    """

    fields: dict[str, Any] = dataclasses.field(default_factory=dict)
    arrays: dict[str, Any] = dataclasses.field(default_factory=dict)
    prefix: str = ""
    sizes: dict[str, int] = dataclasses.field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return self.prefix + name in self.arrays

    def field(self, name: str, *types: type) -> Any:
        """A field of one of these types."""
        value = self.fields.get(name)
        if type(value) not in types:
            raise ModelFileError(f"its header has no sound field {name!r}.")
        return value

    def listed(self, name: str, kind: type) -> list[Any]:
        """A field that is a list of values of one type."""
        values = self.field(name, list)
        if not all(type(value) is kind for value in values):
            raise ModelFileError(f"its header has no sound list {name!r}.")
        return values

    def number(self, name: str, default: float | None = None) -> float:
        """A field that is a float, perhaps infinite or NaN."""
        if default is not None and name not in self.fields:
            return default
        value = decode(self.fields.get(name))
        if type(value) is not float:
            raise ModelFileError(f"its header has no sound field {name!r}.")
        return value

    def put(self, name: str, array: Any) -> None:
        """Keep an array."""
        self.arrays[self.prefix + name] = array

    def put_all(self, rules: Mapping[str, Rule], owner: Any, prefix: str = "") -> None:
        """Keep what `take_all` takes, which is what an object has under the names of the rules."""
        for name in rules:
            self.put(prefix + name.lower(), getattr(owner, name))

    def take(self, name: str, rule: Rule) -> Any:
        """An array that keeps the rule."""
        name = self.prefix + name
        if name not in self.arrays:
            raise ModelFileError(f"its array {name[:80]!r} is missing.")
        array = self.arrays.pop(name)
        if not rule.allows_type(array, self.sizes):
            raise ModelFileError(
                f"its array {name[:80]!r} is {array.dtype} of shape {array.shape}, which does not "
                "fit the others."
            )
        if fault := rule.fault(array):
            raise ModelFileError(f"its array {name[:80]!r} {fault}.")
        return array

    def take_all(self, rules: Mapping[str, Rule], prefix: str = "") -> dict[str, Any]:
        """Arrays by the names of their rules, in lower case after the prefix in the file."""
        return {name: self.take(prefix + name.lower(), rule) for name, rule in rules.items()}

    def put_text(self, name: str, ends: str, strings: Sequence[str]) -> None:
        """Strings as two arrays: all characters in UTF-8, and where each string ends."""
        # lone surrogates are not text, but they do occur in names of columns
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        self.put(name, np.frombuffer(b"".join(encoded), dtype=np.uint8))
        self.put(ends, np.cumsum([len(part) for part in encoded], dtype=np.int64))

    def take_text(self, name: str, ends: str) -> list[str]:
        """The strings again; `ValueError` for arrays that are none."""
        raw = self.take(name, Rule(name, "u", itemsize=1)).tobytes()
        stops = self.take(ends, Rule(ends, "i"))
        starts = np.concatenate([[0], stops[:-1]])
        if stops.size and ((stops < starts).any() or stops[0] < 0 or stops[-1] != len(raw)):
            raise ValueError("strings end where they cannot")
        pairs = zip(starts.tolist(), stops.tolist(), strict=True)
        return [raw[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairs]

    def put_parameter(self, name: str, value: Any) -> Any:
        """A parameter as JSON; arrays of numbers are kept beside it."""
        if isinstance(value, np.ndarray) and value.dtype.name in NUMBERS and value.ndim <= 2:
            self.put(f"parameter_{name}", value)
            return {"$member": f"parameter_{name}"}
        return np.dtype(value).name if name == "dtype" else encode(value)

    def parameters(self, cls: Any) -> dict[str, Any]:
        """The parameters of an object of this class; what could not be stored is left out."""
        known, found = inspect.signature(cls).parameters, {}
        for name, data in self.field("parameters", dict).items():
            if name not in known:
                raise ModelFileError(f"its parameter {name[:80]!r} is not one of {cls.__name__}.")
            if isinstance(data, dict) and "$repr" in data:
                continue
            if isinstance(data, dict) and "$member" in data:
                found[name] = self.take(f"parameter_{name}", Rule(kinds="biuf"))
            elif name == "dtype":
                if data not in NUMBERS:
                    raise ModelFileError(f"its {cls.__name__} has a dtype {str(data)[:40]!r}.")
                found[name] = np.dtype(data).type
            else:
                found[name] = decode(data)
        return found

    def check_all_taken(self) -> None:
        """Refuse arrays that no model has."""
        if self.arrays:
            raise ModelFileError(f"it has an array {min(self.arrays)[:80]!r} of no known use.")


def about(path: Any) -> dict[str, Any]:
    """The facts that `save` was given with a model; none for files without.

    Parameters
    ----------
    path : str or path-like
        A model file.

    Returns
    -------
    facts : dict of str to str, int, float or bool
        `skstretch fit` stores ``target``, ``seconds`` of the fit and ``cv``.

    Raises
    ------
    ModelFileError
        For a file whose header is not sound. `load` says more.

    See Also
    --------
    skstretch.save : Writes them.

    Examples
    --------
    >>> import tempfile
    >>> import skstretch
    >>> from skstretch.io import about
    >>> model = skstretch.StretchyRegressor().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     skstretch.save(model, f"{folder}/yield.stretchy", about={"target": "yield"})
    ...     about(f"{folder}/yield.stretchy")
    {'target': 'yield'}
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            return stored_facts(read_header(Archive(file)))
    except ModelFileError as error:
        raise unsound(name, error) from error


def stored_facts(header: dict[str, Any]) -> dict[str, Any]:
    """The facts in a header; version 1 began without."""
    facts = header.get("about", {})
    trouble = _trouble(facts)
    if trouble:
        raise ModelFileError(f"its header has no sound field 'about': {trouble}.")
    return dict(facts)


def checked_facts(facts: Any) -> dict[str, Any]:
    """Facts that can be stored, or an error that says which cannot."""
    trouble = _trouble(facts)
    if trouble:
        raise ValueError(f"about={facts!r:.80} cannot be stored: {trouble}.")
    return dict(facts)


def _trouble(facts: Any) -> str:
    if type(facts) is not dict or not all(type(name) is str for name in facts):
        return "it must be a dict from names to values"
    if len(facts) > MAX_FACTS:
        return f"it has {len(facts)} entries, and {MAX_FACTS} are allowed"
    for name, value in facts.items():
        if type(value) not in PLAIN or (type(value) is float and not math.isfinite(value)):
            return f"{name[:40]!r} is neither a string nor a finite number"
        if type(value) is str and len(value) > LONGEST:
            return f"{name[:40]!r} has {len(value)} characters, and {LONGEST} are allowed"
        if type(value) is int and abs(value) >= 2**63:
            return f"{name[:40]!r} is too large a number"
    return ""
