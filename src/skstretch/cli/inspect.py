"""``skstretch inspect``: what is in a model file."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from skstretch.cli import options
from skstretch.cli.console import cell, print_json, show

EXAMPLES = (
    "skstretch inspect diabetes.stretchy",
    "skstretch inspect genes.stretchy --top 50 --json",
)


def inspect(
    model: options.Model,
    top: Annotated[
        int, typer.Option(min=0, metavar="N", help="How many of the strongest features to list.")
    ] = 10,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show what is in a model file, and the features with the strongest effect."""
    from skstretch.cli.models import header_of, load_model

    loaded = load_model(model)
    found = _facts(loaded, header_of(model), model, top)
    if json:
        print_json(found)
        return
    show(_page(found))
    if found["top"]:
        show(_features(found))


def _facts(loaded: Any, header: dict[str, Any], path: Path, top: int) -> dict[str, Any]:
    from skstretch.cli.models import origin_of
    from skstretch.cli.summary import chosen, features_used, honest, mixture, numerics
    from skstretch.estimators.steps import named_model, steps_in_words
    from skstretch.estimators.summary import strongest

    steps, loaded = steps_in_words(loaded), named_model(loaded)
    origin = origin_of(path)
    names = getattr(loaded, "feature_names_in_", None)
    # columns of a file without names count from 1
    names = range(1, loaded.n_features_in_ + 1) if names is None else names
    found = {
        "file": str(path),
        "bytes": path.stat().st_size,
        "schema": header["schema"],
        "class": header["class"],
        "task": header["task"],
        "target": origin.target,
        "rows": header["n_samples"],
        "features": header["n_features"],
        "features_used": features_used(loaded),
        **chosen(loaded),
        **mixture(loaded),
        **honest(loaded),
        **numerics(loaded),
        "cv": origin.cv,
        "seconds_fitting": origin.seconds,
        "intervals": _intervals(header),
        "versions": header["versions"],
        "notes": header["notes"],
        "top": strongest(loaded, top, [*map(str, names)]),
    }
    if steps:
        found["steps"] = steps
    if hasattr(loaded, "best_score_"):
        found["score"] = loaded.best_score_
        found["standard_error"] = loaded.best_score_se_
    if hasattr(loaded, "classes_"):
        found["classes"] = loaded.classes_.tolist()
    return found


def _intervals(header: dict[str, Any]) -> str:
    if header["task"] == "classification":
        return "none: probabilities instead"
    if header["intervals"]:
        return "exact jackknife+"
    stored = "residuals" in header["arrays"]
    return "from leave-one-out residuals" if stored else "none"


def _page(found: dict[str, Any]) -> Any:
    from skstretch.cli.learning import BALANCED, SQUARED
    from skstretch.cli.summary import (
        chosen_words,
        classes_words,
        grid,
        mixture_lines,
        nested_words,
        numerics_words,
        size_words,
    )

    table = grid()
    score = ""
    if "score" in found:
        names = {"regression": SQUARED, "classification": BALANCED}
        folds = "" if found["cv"] is None else f" (--cv {found['cv']})"
        score = f"{names[found['task']]} {_score(found)}{folds}"
    rows = {
        "file": f"{found['file']}, {found['bytes']:,} bytes, schema {found['schema']}",
        "model": f"{found['class']} ({found['task']}{_of(found['target'])})",
        "classes": classes_words([str(name) for name in found.get("classes", [])]),
        "data": size_words(found),
        "steps before": found.get("steps", ""),
        "mixed" if "mixture" in found else "chosen": chosen_words(found),
        "cross-validated": score,
        "numerics": numerics_words(found),
        "time": "" if (spent := found["seconds_fitting"]) is None else f"{spent:.2f} s to fit",
        "intervals": found["intervals"],
        "written by": ", ".join(f"{name} {value}" for name, value in found["versions"].items()),
        "notes": "; ".join(_notes(found)),
    }
    below = {
        "mixed": mixture_lines(found),
        "cross-validated": [nested_words(found)] if "nested_error" in found else [],
    }
    for label, text in rows.items():
        if text:
            table.add_row(label, cell(text))
        for line in below.get(label, []):
            table.add_row("", cell(line))
    return table


def _notes(found: dict[str, Any]) -> list[str]:
    """Notes for people: folds that are named need none."""
    named = found["cv"] is not None
    return [note for note in found["notes"] if not (named and "the parameter cv " in note)]


def _of(target: str | None) -> str:
    return "" if target is None else f" of {target!r}"


def _score(found: dict[str, Any]) -> str:
    from skstretch.cli.summary import short, with_error

    error = -found["score"]
    known = math.isfinite(found["standard_error"])
    return with_error(error, found["standard_error"]) if known else short(error)


def _features(found: dict[str, Any]) -> Any:
    from rich import box
    from rich.table import Table

    from skstretch.cli.summary import short

    several = any(row["of"] is not None for row in found["top"])
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("strongest features", overflow="fold")
    if several:
        table.add_column("for", overflow="fold")
    table.add_column("effect of one sd", justify="right")
    table.add_column("of one unit", justify="right")
    for row in found["top"]:
        cells = [cell(row["feature"])]
        cells += [cell(row["of"])] if several else []
        table.add_row(*cells, short(row["effect"]), short(row["slope"]))
    return table
