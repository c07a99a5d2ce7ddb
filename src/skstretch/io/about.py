"""What a model file says of its origin: plain words and numbers that no prediction depends on."""

import math
import os
from typing import Any

from skstretch.io.archive import Archive
from skstretch.io.errors import ModelFileError
from skstretch.io.header import read_header

MAX_FACTS = 50
LONGEST = 10_000
PLAIN = (str, int, float, bool)


def about(path: Any) -> dict[str, Any]:
    """The facts that `save` was given with a model; none for files without.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    facts : dict of str to str, int, float or bool
        `skstretch fit` stores ``target``, ``seconds`` of the fit and ``cv``.

    Raises
    ------
    ModelFileError
        For a file whose header is not sound. `load` says more.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            return stored_facts(read_header(Archive(file)))
    except ModelFileError as error:
        raise ModelFileError(f"{name!r} is not a sound model file: {error}") from error


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
