"""What a search has found out, read from a file."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from skstretch.core.types import Array
from skstretch.estimators.mixture import weights_table
from skstretch.exceptions import ModelFileError
from skstretch.io.archive import Arrays, Rule
from skstretch.io.header import decode, field
from skstretch.io.write import CHOSEN, NESTED


def set_search(model: Any, header: dict[str, Any], arrays: Arrays, shape: tuple[int, ...]) -> None:
    chosen = field(header, "chosen", dict)
    if set(chosen) != set(CHOSEN):
        raise ModelFileError("its header does not say which cell was chosen.")
    for name in CHOSEN:
        value = decode(chosen[name])
        if type(value) not in (int, float) or (np.isnan(value) and name != "best_score_"):
            raise ModelFileError(f"its header has no number {name}.")
        setattr(model, name, value)
    _set_later_fields(model, header)
    model.cv_predictions_ = arrays.take("cv_predictions", Rule(shape, itemsize=None))
    model.cv_results_ = _table(field(header, "results", list), arrays)


def _set_later_fields(model: Any, header: dict[str, Any]) -> None:
    """What the first files of this schema do not have."""
    error = decode(header.get("best_score_se", {"$float": "nan"}))
    if type(error) is not float or error < 0:
        raise ModelFileError("its header has no sound field 'best_score_se'.")
    model.best_score_se_ = error
    if header.get("rule_loss") is not None:
        model.rule_loss_ = field(header, "rule_loss", str)
    if header.get("nested_of") is not None:
        model.nested_of_ = field(header, "nested_of", str)
    for name in NESTED:
        if name in header:
            value = decode(header[name])
            if type(value) is not float or (name.endswith("_se") and value < 0):
                raise ModelFileError(f"its header has no sound field {name!r}.")
            setattr(model, f"{name}_", value)


def _table(columns: list[Any], arrays: Arrays) -> dict[str, Any]:
    """``cv_results_`` from its named columns."""
    table: dict[str, Any] = {}
    for name, kind in columns:
        if kind == "params":
            table[name] = []
            continue
        values = arrays.take(f"result_{name}", Rule(kinds="biufU", ndim=1))
        if kind == "mixed":
            whole = arrays.take(f"result_{name}_whole", Rule(values.shape, kinds="b"))
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


def set_weights(model: Any, mix: Mapping[int, Array], t: int) -> None:
    """``weights_`` from rows of the results and their weights; without any the chosen cell's."""
    row, results = model.best_index_, model.cv_results_
    needed = [f"param_{name}" for name in ("a", "k", "c", "density")] + ["mean_test_score"]
    if any(name not in results for name in needed):
        raise ModelFileError("its search results do not say which cells they are of.")
    if type(row) is not int or not 0 <= row < len(results["param_a"]):
        raise ModelFileError(
            f"it says that cell {str(row)[:40]} was chosen, which it does not have."
        )
    model.weights_ = weights_table(results, mix or {row: np.ones(t)})
