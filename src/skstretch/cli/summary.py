"""What a fit has to say: once as facts, shown as a page or as JSON."""

import math
from typing import Any

import numpy as np
from rich.table import Table

from skstretch.cli.console import SHOWN, cell, counted, listed
from skstretch.estimators.choice import chance_in_words, left_out, parts, reason
from skstretch.style import THIN

# cells of a mixture that a page lists
MOST_LINES = 12


def facts(
    model: Any, problem: Any, judged: list[Any], folds: str, seconds: float
) -> dict[str, Any]:
    """Everything that the summary shows."""
    found = {
        "task": str(problem.task),
        "task_reason": problem.reason,
        "target": problem.target,
        "rows": problem.X.shape[0],
        "features": problem.X.shape[1],
        "features_used": features_used(model),
        **chosen(model),
        **mixture(model),
        "why": on_terminal(reason(model)),
        "cells": len(model.cv_results_["usable"]),
        "cells_unusable": int((~model.cv_results_["usable"]).sum()),
        "cv": folds,
        "errors": [
            {
                "measure": one.measure,
                "error": one.model.mean,
                "standard_error": one.model.error,
                "baseline": one.baseline.mean,
                "baseline_standard_error": one.baseline.error,
                "baseline_name": one.baseline_name,
            }
            for one in judged
        ],
        **honest(model),
        **numerics(model),
        "seconds_reading": problem.seconds,
        "seconds_fitting": seconds,
    }
    if problem.classifies:
        found["classes"] = model.classes_.tolist()
        found["class_sizes"] = [int((problem.y == c).sum()) for c in model.classes_]
        found["cut"] = model.threshold_
    else:
        found["r2"] = 1.0 - judged[0].model.mean / judged[0].baseline.mean
    return found


def on_terminal(text: str) -> str:
    """A sentence with the marks of this program: commas between thousands, plain spaces."""
    return text.replace(THIN, ",").replace("\u00a0", " ")


def features_used(model: Any) -> int:
    """How many features have a coefficient that is not zero; pipelines and searches included."""
    model = getattr(model, "best_estimator_", model)
    steps = getattr(model, "steps", None)
    coef = np.atleast_2d((steps[-1][1] if steps else model).coef_)
    return int(np.any(coef, axis=0).sum())


def chosen(model: Any) -> dict[str, Any]:
    """a, k, c and density in use; of a mixture those of the heaviest cell."""
    values = {name: getattr(model, f"{name}_", getattr(model, name, None)) for name in "akc"}
    return {**values, "density": getattr(model, "density_", getattr(model, "density", None))}


def mixture(model: Any) -> dict[str, Any]:
    """The cells of a mixture with their weights, the heaviest first; nothing of a single cell."""
    found = parts(model)
    if not found:
        return {}
    table = model.weights_
    cells = [
        {
            "name": on_terminal(part.name),
            **{name: table[name][i] for name in ("a", "k", "c", "density")},
            "weight": np.asarray(table["weight"][i]).tolist(),
        }
        for i, part in enumerate(found)
    ]
    return {"mixture": cells}


def honest(model: Any) -> dict[str, Any]:
    """The error of a search that never saw the row, and what chance would do, where known."""
    found: dict[str, Any] = {}
    score = float(getattr(model, "nested_score_", np.nan))
    if math.isfinite(score):
        found["nested_error"] = -score
        found["nested_of"] = on_terminal(left_out(model, "row"))
        found["nested_standard_error"] = float(getattr(model, "nested_score_se_", np.nan))
    if chance := on_terminal(chance_in_words(model)):
        found["permutation"] = {"pvalue": float(model.permutation_.pvalue), "text": chance}
    return found


def numerics(model: Any) -> dict[str, Any]:
    """How the system was solved."""
    return {
        "solver": str(np.ravel(model.solver_)[0]),
        "space": str(model.space_),
        "rcond": float(np.min(model.rcond_)),
        "dof": float(np.mean(model.dof_)),
    }


def short(value: Any, digits: int = 4) -> str:
    """A number in a few digits, whole thousands with commas."""
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    if 1000 <= size < 1e7:
        return f"{value:,.0f}" if size >= 10 ** (digits - 1) else f"{value:,.1f}"
    return f"{value:.{digits}g}"


def with_error(mean: float, error: float) -> str:
    """``mean ± error`` with two digits of the error."""
    if not (math.isfinite(mean) and math.isfinite(error) and error > 0):
        return f"{short(mean)} ± {short(error)}"
    places = max(0, 1 - math.floor(math.log10(error)))
    if places > 6:
        return f"{mean:.4g} ± {error:.2g}"
    return f"{mean:,.{places}f} ± {error:,.{places}f}"


def grid() -> Table:
    """A borderless table of two columns."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def page(found: dict[str, Any]) -> Table:
    """The facts for people."""
    table = grid()

    def row(label: str, text: str) -> None:
        table.add_row(label, cell(text))

    row("task", f"{found['task']} of {found['target']!r} ({found['task_reason']})")
    if "classes" in found:
        sizes = zip(found["classes"], found["class_sizes"], strict=True)
        row("classes", classes_words([f"{name} ({size:,})" for name, size in sizes]))
    row("data", size_words(found))
    if "steps" in found:
        row("steps before", found["steps"])
    row("mixed" if "mixture" in found else "chosen", chosen_words(found))
    for line in [*mixture_lines(found), found["why"]]:
        row("", line)
    row("", f"from {_cells(found)}, {found['cv']} cross-validation")
    for place, one in enumerate(found["errors"]):
        row(one["measure"], with_error(one["error"], one["standard_error"]))
        if place == 0 and "nested_error" in found:
            row("", nested_words(found))
        row(
            "",
            f"{one['baseline_name']}: "
            f"{with_error(one['baseline'], one['baseline_standard_error'])}",
        )
    if "permutation" in found:
        row("chance", found["permutation"]["text"])
    if "r2" in found:
        row("R²", f"{found['r2']:.3f} out of fold")
    row("numerics", numerics_words(found))
    row(
        "time", f"{found['seconds_fitting']:.2f} s to fit, {found['seconds_reading']:.2f} s to read"
    )
    return table


def classes_words(names: list[str]) -> str:
    """The first few of many classes."""
    return listed(names[:SHOWN], len(names))


def _cells(found: dict[str, Any]) -> str:
    unusable = found["cells_unusable"]
    ill = f" ({unusable:,} too ill-conditioned)" if unusable else ""
    return counted(found["cells"], "cell") + ill


def size_words(found: dict[str, Any]) -> str:
    """Rows and features in one line."""
    return f"{counted(found['rows'], 'row')}, {counted(found['features'], 'feature')}"


def chosen_words(found: dict[str, Any]) -> str:
    """a, k, c and density in one line, or how many cells are mixed."""
    if "mixture" in found:
        used = counted(found["features_used"], "feature")
        return f"{counted(len(found['mixture']), 'cell')} on {used}"
    ridge = found["a"] == 0 and found["solver"] != "newton"
    k = "" if ridge else f", k = {found['k']:g}"
    limit = " (the linear limit: ridge)" if ridge else ""
    if found["a"] == 0 and not ridge:
        limit = " (the exact minimiser on z-scores)"
    used = found["features_used"]
    kept = counted(used, "feature") if used < found["features"] else "all features"
    return f"a = {found['a']:g}{limit}{k}, c = {found['c']:.3g}, {kept}"


def mixture_lines(found: dict[str, Any]) -> list[str]:
    """A line for each of the heaviest cells of a mixture."""
    cells = found.get("mixture", [])
    lines = [
        f"{_percent(np.mean(one['weight']))} {one['name']}, c = {one['c']:.3g}"
        for one in cells[:MOST_LINES]
    ]
    others = float(sum(np.mean(one["weight"]) for one in cells[MOST_LINES:]))
    rest = counted(len(cells) - MOST_LINES, "other")
    return lines + ([f"{_percent(others)} in {rest}"] if others else [])


def _percent(part: Any) -> str:
    return f"{100 * float(part):4.1f} %"


def nested_words(found: dict[str, Any]) -> str:
    """The error of a search that never saw the row."""
    text = with_error(found["nested_error"], found["nested_standard_error"])
    return f"searched again without {found['nested_of']}: {text}"


def numerics_words(found: dict[str, Any]) -> str:
    """Solver, space, condition and degrees of freedom in one line."""
    return (
        f"{found['solver']} solver in the {found['space']} space, rcond {found['rcond']:.1e}, "
        f"{found['dof']:.1f} degrees of freedom"
    )
