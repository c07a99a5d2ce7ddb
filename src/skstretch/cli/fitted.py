"""Commands of a fitted model: predict, inspect, effects and report, each from its file."""

import csv
import io
from pathlib import Path
from typing import Any

import typer

from skstretch.cli import options
from skstretch.cli.console import (
    Talk,
    columns,
    page,
    print_json,
    printable,
    show,
    stdout,
    write_text,
)
from skstretch.cli.data.files import Form
from skstretch.cli.fit import Rows, model_rows, numerics_words, verdict_rows
from skstretch.exceptions import DataError
from skstretch.style import count, number

PREDICT_EXAMPLES = (
    "skstretch predict diabetes.stretchy new.csv -o predictions.csv",
    "skstretch predict diabetes.stretchy new.csv --interval 0.9 --id patient",
    "skstretch predict wheat.stretchy new.csv --check",
    "cat new.csv | skstretch predict genes.stretchy - --proba > probabilities.csv",
)
MODEL = ".stretchy"
# what spreadsheets take for the start of a formula
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@options.taking(
    output=options.output(
        "Write CSV (TSV if the name ends in .tsv) here instead of to stdout; an older file is "
        "replaced."
    ),
    interval=typer.Option(
        metavar="SHARE",
        help="Add a lower and an upper bound between which this share of new measurements should "
        "fall, say 0.9: by exact jackknife+ if the model was fitted with --intervals, else from "
        "the errors of left-out rows.",
    ),
    adaptive=typer.Option(
        "--adaptive",
        help="With --interval, of a model that was fitted with --intervals: wider where errors of "
        "left-out rows say so.",
    ),
    proba=typer.Option("--proba", help="Add the probability of every class."),
    check=typer.Option(
        "--check",
        help="Say of every row whether it is like the training data: add its leverage, its "
        "distance and p_value, the share of such data that is as unusual.",
    ),
    id=options.column(help="Copy a column of DATA; may be repeated."),
    excel_safe=typer.Option(
        "--excel-safe",
        help="Put ' before text that a spreadsheet would take for a formula: it starts with = + - "
        "or @.",
    ),
)
def predict(
    model: Path,
    data: str,
    form: Form,
    output: Path | None = None,
    interval: float | None = None,
    adaptive: bool = False,
    proba: bool = False,
    check: bool = False,
    id: list[str] | None = None,
    drop: list[str] | None = None,
    excel_safe: bool = False,
    *,
    talk: Talk,
) -> None:
    """Predict the rows of DATA, in their order, with a model that skstretch fit wrote."""
    from skstretch.cli.models import check_asked, predicted, read_for, read_model

    talk.check_output(output, data, model)
    separator = separator_of(output, "predictions")
    if Path(data).suffix == MODEL and model.suffix != MODEL:
        raise DataError(f"the model comes first: skstretch predict {data} {model}")
    if interval is not None and not 0 < interval < 1:
        raise DataError(f"--interval {interval:g} must lie between 0 and 1, say 0.9.")
    found = read_model(model)
    check_asked(found.model, interval, proba, adaptive)
    apart = {
        "ids": dict.fromkeys(id or (), "--id"),
        "drop": tuple(drop or ()),
        "target": found.target,
    }
    table = read_for(found.model, data, form, talk, apart)
    columns = predicted(found.model, table, (interval, proba, check, adaptive), talk)
    if talk.json and output is None:
        print_json(columns)
        return
    text = written(columns, separator, excel_safe)
    if output is None:
        out = stdout()
        text = printable(text, "\n\t") if out.isatty() else text
        out.buffer.write(text.encode("utf-8", "surrogateescape"))
        out.buffer.flush()
        return
    write_text(output, text)
    if talk.json:
        facts = {"rows": table.X.shape[0], "columns": list(columns), "output": str(output)}
        print_json({**facts, "target": found.target})
    talk.done(f"wrote {count(table.X.shape[0], 'prediction')} to {output}")


def separator_of(output: Path | None, what: str) -> str:
    """The mark between fields of a table, by the name of its file."""
    if output is not None and output.suffix not in ("", ".csv", ".tsv", ".txt"):
        raise DataError(f"-o {str(output)!r}: {what} are written as .csv or .tsv.")
    return "\t" if output is not None and output.suffix == ".tsv" else ","


def written(columns: dict[str, Any], separator: str, excel_safe: bool = False) -> str:
    """Columns as CSV; floats in the shortest form that reads back exactly."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    lists = [
        list(values) if isinstance(values, list) else values.tolist() for values in columns.values()
    ]
    if excel_safe:
        lists = [[_safe(value) for value in values] for values in lists]
    writer.writerow([_safe(name) for name in columns] if excel_safe else columns)
    writer.writerows(zip(*lists, strict=True))
    return out.getvalue()


def _safe(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; text that is a number stays one."""
    if not isinstance(value, str) or not value.startswith(FORMULA):
        return value
    from skstretch.cli.data.delimited import number_in

    return value if number_in(value) is not None else f"'{value}"


INSPECT_EXAMPLES = (
    "skstretch inspect diabetes.stretchy",
    "skstretch inspect genes.stretchy --top 50 --json",
)


@options.taking(
    top=typer.Option(min=0, metavar="N", help="How many of the strongest features to list.")
)
def inspect(model: Path, top: int = 10, *, talk: Talk) -> None:
    """Show what is in a model file, and the features with the strongest effect."""
    from skstretch.cli.models import read_model

    found = _facts(read_model(model), model, top)
    if talk.json:
        print_json(found)
        return
    show(page(_rows(found)))
    if found["top"]:
        show(_features(found["top"]))


def _facts(file: Any, path: Path, top: int) -> dict[str, Any]:
    from skstretch.cli.training import facts_of_model, verdict_facts
    from skstretch.estimators.quality import measure_of
    from skstretch.estimators.state import first_step, named_model, steps_in_words
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
        "features": getattr(first_step(file.model), "n_features_in_", header["n_features"]),
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
                *(number(row[figure], 4) for figure in ("effect", "slope")),
            ]
            for row in top
        ),
    )


EFFECTS_EXAMPLES = (
    "skstretch effects diabetes.stretchy diabetes.csv",
    "skstretch effects wheat.stretchy wheat.csv --bands 20 -o effects.csv",
    "skstretch effects genes.stretchy genes.csv --groups patient --top 50",
)


@options.taking(
    output=options.output("Write all effects as CSV here (TSV if the name ends in .tsv)."),
    bands=typer.Option(
        min=1,
        metavar="N",
        help="Sum up neighbouring features of a spectrum, in N bands (of each recipe).",
    ),
    pairs=typer.Option(
        min=2, metavar="N", help="How often the rows are halved, to see how stable each sign is."
    ),
    top=typer.Option(min=0, metavar="N", help="How many of the strongest effects to show."),
)
def effects(
    model: Path,
    data: str,
    form: Form,
    output: Path | None = None,
    target: str | None = None,
    bands: int | None = None,
    pairs: int = 50,
    groups: str | None = None,
    top: int = 20,
    *,
    talk: Talk,
) -> None:
    """Fit the model again without parts of DATA, and tell how sure each effect and its sign are.

    DATA are those that the model was fitted to.
    """
    import numpy as np

    from skstretch.cli.models import read_model, training_data
    from skstretch.estimators.recipes import bands_by_recipe
    from skstretch.estimators.state import named_model, transformed

    talk.check_output(output, data, model)
    separator = separator_of(output, "effects")
    found = read_model(model)
    labels = groups or found.groups
    rows = training_data(found, data, form, talk, target=target, groups=labels)
    own, how = named_model(found.model), {"n_pairs": pairs, "groups": rows.groups}
    with talk.translating():
        how["bands"] = bands_by_recipe(found.model, bands)
        X = transformed(found.model, rows.X)
        told = own.effects(X, rows.y, sample_weight=rows.weights, **how)
    table = {name: np.asarray(told[name]) for name in told}
    if output is not None:
        write_text(output, written(table, separator))
        talk.done(f"wrote {count(len(table['feature']), 'effect')} to {output}")
    if talk.json:
        print_json(table)
    elif output is None:
        show(_shown(table, top))


def _shown(table: dict[str, Any], top: int) -> Any:
    """The strongest effects, for people."""
    import numpy as np

    order = np.argsort(-np.abs(table["effect_per_sd"]), kind="stable")[:top]
    labels = {name: "right" for name in table if name not in ("feature", "target")}
    words = {name: name.replace("_", " ") for name in labels}
    heads = {"feature": "left", **({"target": "left"} if "target" in table else {})}
    return columns(
        heads | {words[name]: side for name, side in labels.items()},
        (
            [*(table[name][i] for name in heads), *(number(table[name][i], 4) for name in labels)]
            for i in order
        ),
    )


REPORT_EXAMPLES = (
    "skstretch report diabetes.stretchy",
    "skstretch report diabetes.stretchy --data diabetes.csv -t target -o diabetes.html",
    "skstretch report s.stretchy --data patients.csv --time months --event died --at 60",
)


# options of a report, and the loss of the models that have them
OF_LOSS = {"time": "cox", "event": "cox", "at": "cox", "exposure": "poisson"}


@options.taking(
    output=options.output("The HTML file to write; by default the name of the model with .html."),
    data=typer.Option(
        metavar="DATA",
        help="The data that the model was fitted to, for the panels that need them.",
    ),
    at=typer.Option(
        metavar="TIME",
        help="Of survival: the time at which predictions are compared with what was seen; by "
        "default the middle one of the events.",
    ),
    id=options.column(help="The column of DATA that names its rows."),
    effects=typer.Option(
        "--effects",
        help="With --data: also tell how sure the effects are. Takes several times the fit.",
    ),
)
def report(
    model: Path,
    form: Form,
    output: Path | None = None,
    data: str | None = None,
    target: str | None = None,
    time: str | None = None,
    event: str | None = None,
    exposure: str | None = None,
    at: float | None = None,
    id: str | None = None,
    effects: bool = False,
    *,
    talk: Talk,
) -> None:
    """Write a report on a model as one HTML page that needs no network."""
    from skstretch.cli.models import OUTCOMES, read_model, restore_folds, training_data
    from skstretch.estimators.state import last_step, transformed
    from skstretch.report import write_report

    path = output or model.with_suffix(".html")
    talk.check_output(path, model, data)
    asked = {"target": target, "time": time, "event": event, "exposure": exposure, "id": id}
    for option, given in {**asked, "effects": effects or None}.items():
        if given is not None and data is None:
            raise DataError(f"--{option} goes with --data, the file that the model was fitted to.")
    found = read_model(model)
    own = last_step(found.model)
    for option, loss in OF_LOSS.items():
        if {**asked, "at": at}[option] is not None and own._state.loss != loss:
            raise DataError(f"--{option} is for models of {OUTCOMES[loss]}, and this is none.")
    target, beside = time or target or found.target, event or exposure or found.beside
    facts: Any = {"source": data or str(model), "seconds": found.seconds, "target": target}
    if data is not None:
        roles = {"target": target, "beside": beside, "id": id}
        labels = found.groups if effects else None
        rows = training_data(found, data, form, talk, groups=labels, **roles)
        restore_folds(found.model, found.cv)
        facts |= {"X": rows.X, "y": rows.y, "sample_weight": rows.weights, "samples": rows.names}
    with talk.translating():
        if effects:
            X, how = transformed(found.model, rows.X), {"groups": rows.groups}
            own.effects(X, rows.y, sample_weight=rows.weights, **how)
        write_report(found.model, path, at=at, **facts)
    if talk.json:
        print_json({"report": str(path), "bytes": path.stat().st_size})
    talk.done(f"wrote {path}")
