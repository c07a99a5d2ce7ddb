"""The arrays of a file, handed out once each and checked."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skstretch.io.errors import ModelFileError


@dataclass(frozen=True)
class Rule:
    """What an array must be; None leaves it open."""

    shape: tuple[int, ...] | None = None
    kinds: str = "f"
    ndim: int | None = None
    itemsize: int | None = 8  # of numbers; masks have one byte
    finite: bool = False

    def allows_type(self, array: Any) -> bool:
        """Whether type and shape are as they must be."""
        kind, item = array.dtype.kind, array.dtype.itemsize
        sized = len(self.kinds) > 1 or kind == "b" or self.itemsize in (None, item)
        shaped = self.shape in (None, array.shape) and self.ndim in (None, array.ndim)
        return kind in self.kinds and sized and shaped


class Arrays:
    """Arrays by name, each to be taken once."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        self._left = dict(arrays)

    def __contains__(self, name: str) -> bool:
        return name in self._left

    def take(self, name: str, rule: Rule) -> Any:
        """An array that keeps the rule."""
        if name not in self._left:
            raise ModelFileError(f"its array {name[:80]!r} is missing.")
        array = self._left.pop(name)
        if not rule.allows_type(array):
            raise ModelFileError(
                f"its array {name[:80]!r} is {array.dtype} of shape {array.shape}, which does not "
                "fit the others."
            )
        if rule.finite and not np.isfinite(array).all():
            raise ModelFileError(f"its array {name[:80]!r} has entries that are not finite.")
        return array

    def check_all_taken(self) -> None:
        """Refuse arrays that no model has."""
        if self._left:
            raise ModelFileError(f"it has an array {min(self._left)[:80]!r} of no known use.")

    def table(self, columns: list[Any]) -> dict[str, Any]:
        """``cv_results_`` from its named columns."""
        table: dict[str, Any] = {}
        for name, kind in columns:
            if kind == "params":
                table[name] = []
                continue
            values = self.take(f"result_{name}", Rule(kinds="biufU", ndim=1))
            if kind == "mixed":
                whole = self.take(f"result_{name}_whole", Rule(values.shape, kinds="b"))
                pairs = zip(values.tolist(), whole.tolist(), strict=True)
                values = np.array([int(v) if w else v for v, w in pairs], dtype=object)
            table[name] = values
        sizes = {len(values) for values in table.values() if isinstance(values, np.ndarray)}
        if len(sizes) > 1:
            raise ModelFileError("the columns of its search results differ in length.")
        if "params" in table:
            table["params"] = _params(table)
        return table


def _params(table: dict[str, Any]) -> list[dict[str, Any]]:
    names = ("a", "k", "c", "density")
    if any(f"param_{name}" not in table for name in names):
        raise ModelFileError("its search results do not say which cells they are of.")
    columns = [table[f"param_{name}"].tolist() for name in names]
    return [dict(zip(names, cell, strict=True)) for cell in zip(*columns, strict=True)]
