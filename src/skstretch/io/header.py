"""The JSON header of a model file."""

import json
from importlib import metadata
from typing import Any

from skstretch.io.archive import Archive, refusing
from skstretch.io.errors import ModelFileError

SCHEMA = 1
FORMAT = "stretchy model"
NAME = "header.json"
# parsed JSON takes some twenty times its length at worst
MAX_BYTES = 1 << 20


def versions() -> dict[str, str]:
    """Versions of the packages that matter to a model."""
    found = {}
    for package in ("skstretch", "numpy", "scikit-learn"):
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
            data.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_distinct
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


def field(header: dict[str, Any], name: str, *types: type) -> Any:
    """A field of the header, of one of the given types."""
    value = header.get(name)
    if type(value) not in types:
        raise ModelFileError(f"its header has no sound field {name!r}.")
    return value


def field_list(header: dict[str, Any], name: str, kind: type) -> list[Any]:
    """A field that is a list of values of one type."""
    values = field(header, name, list)
    if not all(type(value) is kind for value in values):
        raise ModelFileError(f"its header has no sound list {name!r}.")
    return values


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field occurs twice")
    return fields
