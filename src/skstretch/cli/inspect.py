"""``skstretch inspect``: what is in a model file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from skstretch.cli import options
from skstretch.cli.console import columns, page, print_json, short, show
from skstretch.cli.fit import Rows, model_rows, numerics_words, verdict_rows

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
    from skstretch.cli.models import read_model

    found = _facts(read_model(model), model, top)
    if json:
        print_json(found)
        return
    show(page(_rows(found)))
    if found["top"]:
        show(_features(found["top"]))


def _facts(file: Any, path: Path, top: int) -> dict[str, Any]:
    from skstretch.cli.learning import facts_of_model, verdict_facts
    from skstretch.estimators.quality import measure_of
    from skstretch.estimators.state import named_model, steps_in_words
    from skstretch.estimators.summary import stored_evidence, strongest

    steps, header, model = steps_in_words(file.model), file.header, named_model(file.model)
    names = getattr(model, "feature_names_in_", None)
    # columns of a file without names count from 1
    names = range(1, model.n_features_in_ + 1) if names is None else names
    found = {
        **verdict_facts(model, stored_evidence(model)),
        "file": str(path),
        "bytes": path.stat().st_size,
        "schema": header["schema"],
        "class": header["class"],
        "task": header["task"],
        "target": file.target,
        "rows": header["n_samples"],
        "features": header["n_features"],
        **facts_of_model(model),
        "cv": file.cv,
        "seconds_fitting": file.seconds,
        "plan": header.get("plan"),
        "intervals": _intervals(header),
        "versions": header["versions"],
        "notes": header["notes"],
        "top": strongest(model, top, [*map(str, names)]),
    }
    if steps:
        found["steps"] = steps
    if hasattr(model, "best_score_"):
        measure = measure_of(model)
        found["measure"], found["error"] = measure.name, float(measure.of_scores(model.best_score_))
        found["score"], found["standard_error"] = model.best_score_, model.best_score_se_
    if hasattr(model, "classes_"):
        found["classes"] = model.classes_.tolist()
    return found


def _intervals(header: dict[str, Any]) -> str:
    if header["task"] == "classification":
        return "none: probabilities instead"
    if header["intervals"]:
        return "exact jackknife+"
    stored = "residuals" in header["arrays"]
    return "from leave-one-out residuals" if stored else "none"


def _rows(found: dict[str, Any]) -> Rows:
    """The facts for people, line by line."""
    target, cv, spent = found["target"], found["cv"], found["seconds_fitting"]
    of = "" if target is None else f" of {target!r}"
    yield from verdict_rows(found)
    yield "file", f"{found['file']}, {found['bytes']:,} bytes, schema {found['schema']}"
    yield "class", f"{found['class']} ({found['task']}{of})"
    yield from model_rows(found)
    yield "folds", "" if cv is None else f"--cv {cv}"
    yield "numerics", numerics_words(found)
    yield "computed", found["plan"] or ""
    yield "time", "" if spent is None else f"{spent:.2f} s to fit"
    yield "intervals", found["intervals"]
    yield "written by", ", ".join(f"{name} {value}" for name, value in found["versions"].items())
    # folds that are named need no note
    notes = [note for note in found["notes"] if cv is None or "the parameter cv " not in note]
    yield "notes", "; ".join(notes)


def _features(top: list[dict[str, Any]]) -> Any:
    several = any(row["of"] is not None for row in top)
    labels = {"strongest features": "left", **({"for": "left"} if several else {})}
    labels |= {"effect of one sd": "right", "of one unit": "right"}
    return columns(
        labels,
        (
            [
                row["feature"],
                *([row["of"]] if several else []),
                *map(short, (row["effect"], row["slope"])),
            ]
            for row in top
        ),
    )
