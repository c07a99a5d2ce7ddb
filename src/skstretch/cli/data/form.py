"""The form of a data file: told by its first bytes and its name, or by the user."""

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from skstretch.cli.data.errors import DataError


class Kind(StrEnum):
    """Formats of data files."""

    AUTO = "auto"
    CSV = "csv"
    PARQUET = "parquet"
    FEATHER = "feather"
    NPZ = "npz"
    MTX = "mtx"
    SVMLIGHT = "svmlight"


@dataclass(frozen=True)
class Form:
    """How a file is to be read; what is None is found out."""

    kind: Kind = Kind.AUTO
    separator: str | None = None
    decimal: str = "."
    encoding: str | None = None
    header: bool = True
    zero_based: bool = False

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise DataError(f"--decimal {self.decimal!r} is not known: use . or ,")
        if self.separator is not None and len(self.separator) != 1:
            raise DataError(
                f"--sep {self.separator!r} must be a single character; for a tab write --sep tab."
            )


SUFFIXES = {
    ".csv": Kind.CSV,
    ".tsv": Kind.CSV,
    ".tab": Kind.CSV,
    ".parquet": Kind.PARQUET,
    ".pq": Kind.PARQUET,
    ".feather": Kind.FEATHER,
    ".arrow": Kind.FEATHER,
    ".npz": Kind.NPZ,
    ".mtx": Kind.MTX,
    ".svm": Kind.SVMLIGHT,
    ".libsvm": Kind.SVMLIGHT,
    ".svmlight": Kind.SVMLIGHT,
}
PACKED = (".gz", ".bz2", ".xz", ".zst")
MAGIC = {
    b"PAR1": Kind.PARQUET,
    b"ARROW1": Kind.FEATHER,
    b"FEA1": Kind.FEATHER,
    b"PK\x03\x04": Kind.NPZ,
    b"%%MatrixMarket": Kind.MTX,
}
OTHERS = {
    ".xlsx": "an Excel workbook: save the sheet as CSV first",
    ".xls": "an Excel workbook: save the sheet as CSV first",
    ".ods": "a spreadsheet: save the sheet as CSV first",
    ".zip": "a zip archive: unpack it first (.gz, .bz2, .xz and .zst are read as they are)",
    ".stretchy": "a model file: data are asked for here",
}
SVMLIGHT_LINE = re.compile(rb"[-+0-9.eE]+(\s+qid:\d+)?(\s+\d+:\S+)+\s*(#.*)?$")


def kind_of(name: str, head: bytes) -> Kind:
    """The format of a file from its first bytes, already unpacked, and its name."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    last = suffixes[-1] if suffixes else ""
    if last in OTHERS:
        raise DataError(f"{name!r} is {OTHERS[last]}.")
    for magic, kind in MAGIC.items():
        if head.startswith(magic):
            return kind
    if last in SUFFIXES:
        return SUFFIXES[last]
    lines = [line for line in head.splitlines()[:2] if line.strip() and not line.startswith(b"#")]
    return Kind.SVMLIGHT if lines and SVMLIGHT_LINE.match(lines[0]) else Kind.CSV
