"""Spectra as instruments write them: JCAMP-DX, SPC and Bruker OPUS.

Packages of the extra `spectra` read the bytes. Here stands what a model needs beyond: one axis and
one unit for all files, and no file that was read in part.
"""

import contextlib
import io
import os
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

Source: TypeAlias = str | os.PathLike[str]

# Axes that differ by less than this share of their smallest step are one: headers are rounded.
SAME = 1e-3
# What the three formats call the same thing.
UNITS = {
    "1/cm": ("1/CM", "XWAVEN", "WN"),
    "nm": ("NANOMETERS", "XNMETR"),
    "um": ("MICROMETERS", "XUMETR", "MI"),
    "absorbance": ("ABSORBANCE", "YABSRB", "A"),
    "transmittance": ("TRANSMITTANCE", "YTRANS", "T"),
    "reflectance": ("REFLECTANCE", "YREFLEC", "R"),
}
# Blocks of an OPUS file that are results; the rest are single channels, interferograms, phases.
RESULTS = {"a", "t", "r", "km", "ra", "e", "logr", "atr", "pas", "arit", "aria"}
# Headers of JCAMP-DX that must be numbers, and those of them that may not be 0.
FACTORS = {b"XFACTOR", b"YFACTOR"}
NUMBERS = {b"NPOINTS", b"FIRSTX", b"LASTX", *FACTORS}
# A value that is repeated, in the letters of JCAMP-DX, and points for each byte of a sound file.
REPEATED, POINTS = re.compile(rb"([S-Zs])(\d*)"), 64
WAY_OUT = "Save it from the instrument's program as plain JCAMP-DX or as CSV."


class ChoiceError(ValueError):
    """The file is sound, and `block` must say what is wanted of it."""


@dataclass(frozen=True)
class Spectrum:
    """One spectrum, its axis rising.

    Attributes
    ----------
    name : str
        Name of the file; with ``#2`` and so on where a file holds several.
    x, y : ndarray of shape (n_points,)
    units : tuple of str
        Of x and of y.
    """

    name: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    units: tuple[str, str]

    @classmethod
    def of(cls, name: str, x: Any, y: Any, units: tuple[Any, Any]) -> "Spectrum":
        x, y = np.array(x, dtype=np.float64), np.array(y, dtype=np.float64)
        if len(x) != len(y) or len(x) < 2:
            raise ValueError(f"it has {len(y)} values for {len(x)} points of the axis")
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise ValueError("it has values that are not finite numbers")
        if x[-1] < x[0]:
            x, y = x[::-1].copy(), y[::-1].copy()
        if not (np.diff(x) > 0).all():
            raise ValueError(f"its axis, from {x[0]:g} to {x[-1]:g}, does not rise everywhere")
        words = [str(unit).strip() for unit in units]
        return cls(name, x, y, (_unit(words[0]), _unit(words[1])))

    def axis(self) -> str:
        """The axis in words."""
        return f"{len(self.x)} points from {self.x[0]:.10g} to {self.x[-1]:.10g} {self.units[0]}"


def read_spectra(paths: Source | Iterable[Source], *, block: str | None = None) -> Bunch:
    """Read the files of a spectrometer: JCAMP-DX, SPC and Bruker OPUS.

    The form of a file is told by its first bytes, not by its name. Files that hold several spectra
    give several rows. Every axis rises in what is returned, whichever way it was measured. Needs
    the extra `spectra`.

    Parameters
    ----------
    paths : path, or iterable of paths
        One file or many, in the order of the rows.
    block : str or None, default=None
        Which spectrum of an OPUS file, in the words of the package brukeropus: "a" absorbance,
        "t" transmittance, "r" reflectance, "sm" single channel. None takes the only result that
        there is, and refuses a file with several.

    Returns
    -------
    Bunch
        With ``data`` of shape (n_spectra, n_points), ``wavelengths`` of shape (n_points,) (or
        wavenumbers: ``x_units`` says which), ``names`` of the spectra, ``feature_names``, and the
        units ``x_units`` and ``y_units``.

    Raises
    ------
    ValueError
        Where a file is none of the three or is damaged, or where axes or units differ: such
        spectra must be interpolated to one axis first.
    ImportError
        Where a package is missing; the message says how to install it.

    See Also
    --------
    SpectralFilter : What is usually done to spectra before a model.
    make_spectra : Generated spectra.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skstretch.datasets import read_spectra
    >>> text = '''##TITLE=leaf
    ... ##JCAMP-DX=4.24
    ... ##XUNITS=NANOMETERS
    ... ##YUNITS=ABSORBANCE
    ... ##FIRSTX=1100
    ... ##LASTX=1108
    ... ##NPOINTS=5
    ... ##XFACTOR=1
    ... ##YFACTOR=0.01
    ... ##XYDATA=(X++(Y..Y))
    ... 1100 31 32 34
    ... 1106 35 33
    ... ##END=
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "leaf.dx"
    ...     _ = path.write_text(text)
    ...     spectra = read_spectra(path)
    >>> spectra.data
    array([[0.31, 0.32, 0.34, 0.35, 0.33]])
    >>> spectra.wavelengths, spectra.x_units, spectra.names
    (array([1100., 1102., 1104., 1106., 1108.]), 'nm', ['leaf.dx'])
    """
    listed = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    found = [spectrum for path in listed for spectrum in _read(Path(path), block)]
    if not found:
        raise ValueError("paths is empty: name at least one file, or check the pattern of a glob.")
    first = found[0]
    for other in found[1:]:
        _check_same(first, other)
    return Bunch(
        data=np.stack([spectrum.y for spectrum in found]),
        wavelengths=first.x,
        names=[spectrum.name for spectrum in found],
        feature_names=[f"{value:.10g}" for value in first.x],
        x_units=first.units[0],
        y_units=first.units[1],
    )


def _check_same(first: Spectrum, other: Spectrum) -> None:
    if first.units != other.units:
        raise ValueError(
            f"{other.name} is {other.units[1]} over {other.units[0]}, and {first.name} is "
            f"{first.units[1]} over {first.units[0]}: read them apart, convert, then stack."
        )
    alike = len(other.x) == len(first.x)
    if not alike or np.abs(other.x - first.x).max() > SAME * np.diff(first.x).min():
        raise ValueError(
            f"{other.name} has {other.axis()}, and {first.name} has {first.axis()}: a model needs "
            "one axis. Interpolate first: read every file by itself, then "
            "np.interp(axis, spectra.wavelengths, spectra.data[0]) for an axis within all of them."
        )


def _read(path: Path, block: str | None) -> list[Spectrum]:
    """The spectra of one file; what goes wrong in a package is said with the name of the file."""
    kind, read = _reader(path)
    try:
        # what a package prints is no output of the program that reads
        with contextlib.redirect_stdout(io.StringIO()):
            found = list(read(path, block))
        if not found:
            raise ValueError("it holds no spectrum over an axis")
        return found
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{path} is a {kind} file, and reading those needs {error.name}: "
            "pip install 'skstretch[spectra]'."
        ) from error
    except ChoiceError as error:
        raise ValueError(f"{path} {error}") from None
    # the packages raise all kinds of errors on damaged files
    except Exception as error:
        words = str(error).rstrip(".") or type(error).__name__
        raise ValueError(f"{path} cannot be read as a {kind} file: {words}. {WAY_OUT}") from error


Reader: TypeAlias = Callable[[Path, str | None], Iterator[Spectrum]]


def _reader(path: Path) -> tuple[str, Reader]:
    """The form of a file by its first bytes."""
    with path.open("rb") as stream:
        head = stream.read(64)
    if head.startswith(b"\n\n\xfe\xfe"):
        return "Bruker OPUS", _opus
    if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"##", b"$$")):
        return "JCAMP-DX", _jcamp
    if len(head) > 1 and head[1] in (0x4B, 0x4C, 0x4D):
        return "SPC", _spc
    raise ValueError(
        f"{path} starts with {head[:8]!r}: that is neither JCAMP-DX, SPC nor Bruker OPUS. A table "
        "(CSV, Parquet) is read by pandas, and by the command line itself."
    )


def _jcamp(path: Path, block: str | None) -> Iterator[Spectrum]:
    """Blocks of a JCAMP-DX file that are spectra; peak tables are none."""
    import jcamp

    said = io.StringIO()
    lines = path.read_bytes().replace(b"\x1a", b"").splitlines()  # DOS ended its texts with \x1a
    _check_jcamp(lines)
    with contextlib.redirect_stdout(said):  # the package prints what it finds wrong, and goes on
        held = jcamp.read(lines)
    if "Y-Check failed" in said.getvalue():
        raise ValueError("a checked value of the compressed data is wrong")
    parts = [part for part in held.get("children", [held]) if {"xydata", "xypoints"} & part.keys()]
    for name, part in zip(_names(path, len(parts)), parts, strict=True):
        units = part.get("xunits", "no unit"), part.get("yunits", "no unit")
        yield Spectrum.of(name, part["x"], part["y"], units)


def _check_jcamp(lines: list[bytes]) -> None:
    """Refuse a file that is cut short, or claims more points than its bytes can hold."""
    size = sum(map(len, lines))
    opened = closed = repeated = 0
    for line in lines:
        if not line.startswith(b"##"):
            data = line.partition(b"$$")[0]
            for letter, digits in REPEATED.findall(data):
                # what has more digits than any file is past every bound
                repeated += int(b"%d%s" % (b"STUVWXYZs".index(letter) + 1, digits[:18]))
            continue
        label, _, value = line[2:].partition(b"=")
        key, number = label.strip().upper(), value.partition(b"$$")[0].strip()
        opened, closed = opened + (key == b"TITLE"), closed + (key == b"END")
        if key in NUMBERS and not _is_sound(key, number):
            raise ValueError(f"##{key.decode()}={number.decode('latin-1')[:40]} is no such number")
        if key == b"NPOINTS" and not 2 <= float(number) <= POINTS * size:
            raise ValueError(f"it claims {float(number):,.0f} points in {size:,} bytes")
    if repeated > POINTS * size:
        raise ValueError(f"it claims to repeat {repeated:,} values in {size:,} bytes")
    if not closed or closed < opened:
        raise ValueError("##END= is missing: the file is cut short")


def _is_sound(key: bytes, text: bytes) -> bool:
    try:
        value = float(text.replace(b",", b"."))
    except ValueError:
        return False
    return bool(np.isfinite(value)) and (value != 0 or key not in FACTORS)


def _spc(path: Path, block: str | None) -> Iterator[Spectrum]:
    """Subfiles of an SPC file, in the order of the file."""
    from spc_io import SpcRaw

    with path.open("rb") as stream:
        _check_spc(stream.read(8), path.stat().st_size)
        stream.seek(0)
        raw = SpcRaw.from_bytes_io(stream)
    header, axis = raw.main_header, raw.xarray
    if axis is None and not header.ftflgs.TXYXYS:
        axis = np.linspace(header.ffirst, header.flast, header.fnpts)
    units = str(header.fxtype), str(header.fytype)
    for name, part in zip(_names(path, len(raw.subs)), raw.subs, strict=True):
        if not header.ftflgs.TMULTI:
            # of a single spectrum the exponent stands in the main header
            part.header.subexp = header.fexp
        yield Spectrum.of(name, part.xarray if axis is None else axis, part.yarray, units)


def _check_spc(head: bytes, size: int) -> None:
    """Refuse a header that claims more than the file holds: two bytes a point, or a place in it."""
    flags, order = head[0], ">" if head[1] == 0x4C else "<"
    points = struct.unpack(f"{order}I", head[4:8])[0]
    # in files with an axis for each spectrum the number is the place of their directory
    if points * (1 if flags & 0x40 else 2) > size:
        raise ValueError(f"it claims {points:,} points in {size:,} bytes")


def _opus(path: Path, block: str | None) -> Iterator[Spectrum]:
    """One block of an OPUS file, or every row of a block that is a series."""
    from brukeropus import read_opus

    held = read_opus(str(path))
    keys = list(held.all_data_keys)
    chosen = [key for key in keys if key.partition("_")[0] in RESULTS] if block is None else [block]
    if len(chosen) != 1 or chosen[0] not in keys:
        if not keys:
            raise ValueError("it holds no whole block of data")
        found = ", ".join(map(repr, keys))
        raise ChoiceError(f"has the blocks {found}: name one of them, not block={block!r}.")
    data = getattr(held, chosen[0])
    if data.params.dpf != 1:
        raise ValueError(f"its numbers have format {data.params.dpf}, and only 1 (float32) is read")
    rows = np.atleast_2d(data.y)
    for name, y in zip(_names(path, len(rows)), rows, strict=True):
        yield Spectrum.of(name, data.x, y, (data.params.dxu, chosen[0].partition("_")[0]))


def _names(path: Path, count: int) -> list[str]:
    if count == 1:
        return [path.name]
    return [f"{path.name}#{number}" for number in range(1, count + 1)]


def _unit(word: str) -> str:
    return next((unit for unit, known in UNITS.items() if word.upper() in known), word)
