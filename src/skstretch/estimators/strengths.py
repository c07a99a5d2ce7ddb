"""Where the cells of a search stand in a drawing: families side by side, penalties in order."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.core.types import Array, Index


@dataclass(frozen=True)
class Places:
    """Places of cells by the strength of their penalty.

    Attributes
    ----------
    at : array of int
        The place of each cell.
    values : array
        What each place stands for: a strength s or a c, or its number from 1.
    kind : {"shared", "paths", "numbers"}
        Whether all families have these strengths; some stand along paths of their own; or all do,
        so that places are numbers.
    """

    at: Index
    values: Array
    kind: str


def places_of(results: dict[str, Any], rows: Index, lines: Index, name: str) -> Places:
    """Places of some rows of ``cv_results_`` whose families are numbered by `lines`.

    By ``param_s`` or ``param_c``, as `name` says. Exact minimisers have an automatic path of their
    own, whose strengths s no other family has: it is spread evenly, from weak to strong, over the
    places of the others.
    """
    strengths = np.asarray(results[f"param_{name}"])[rows]
    a, k = (np.asarray(results[f"param_{letter}"])[rows] for letter in "ak")
    alone = np.isnan(strengths) | ((name == "s") & (a == 0) & (k < 2))
    known = np.unique(strengths[~alone])
    at = np.searchsorted(known, strengths)
    paths = [np.flatnonzero((lines == line) & alone) for line in np.unique(lines[alone])]
    if not paths:
        return Places(at, known, "shared")
    longest = max(path.size for path in paths)
    numbered = known.size < longest
    width = max(known.size, longest)
    for path in paths:
        weakest_first = path[np.argsort(-results["param_c"][rows][path], kind="stable")]
        at[weakest_first] = np.rint(np.linspace(0, width - 1, path.size)).astype(int)
    if numbered:
        return Places(at, np.arange(1.0, width + 1.0), "numbers")
    return Places(at, known, "paths")
