"""Commands that learn from a data file: fit, and compare with other methods."""

import sys
from collections.abc import Iterator
from math import isnan
from pathlib import Path
from typing import Any

import typer

from skstretch.cli import options
from skstretch.cli.console import (
    SHOWN,
    Talk,
    close_stdout,
    columns,
    is_stdout,
    listed,
    on_terminal,
    page,
    print_json,
    printable,
    show,
    size_words,
    stdout,
)
from skstretch.cli.data.files import Form
from skstretch.exceptions import DataError
from skstretch.style import count, number, share

EXAMPLES = (
    "skstretch fit diabetes.csv --target target -o diabetes.stretchy",
    "skstretch fit genes.csv.gz -t outcome --drop sample --select 50,200 --cv 10 -o genes.stretchy",
    "skstretch fit spectra.parquet -t moisture --combine 1se --report moisture.html -o m.stretchy",
    "skstretch fit nir.csv -t moisture --snv --derivative 1 --window 11 -o nir.stretchy",
    "skstretch fit patients.csv -t outcome --impute median -o patients.stretchy",
    "skstretch fit train.svm -o words.stretchy --json",
    "skstretch fit patients.csv --time months --event died --penalty-factor age=0 -o s.stretchy",
    "skstretch fit claims.csv -t claims --loss poisson --exposure years -o claims.stretchy",
)
# averaged models that a page lists
MEMBERS = 12


@options.taking(
    output=options.output(
        "The model file to write, by convention .stretchy; an older one is replaced."
    ),
    intervals=typer.Option(
        "--intervals",
        help="Store what exact intervals (jackknife+) need; the training data can be worked out "
        "from it. Without, predict --interval uses the errors of left-out rows.",
    ),
    report=typer.Option(metavar="FILE", help="Also write a report as one HTML page."),
)
def fit(
    *,
    data: str,
    form: Form,
    recipe: options.Recipe,
    output: Path,
    target: str | None = None,
    task: options.TaskName = options.TaskName.AUTO,
    aim: options.Aim,
    plan: options.Plan,
    weights: str | None = None,
    chosen: options.Chosen,
    intervals: bool = False,
    report: Path | None = None,
    talk: Talk,
) -> None:
    """Learn from DATA by cross-validation of many models, say how well it does, and save it."""
    from skstretch.cli.columns import filled_words
    from skstretch.cli.training import Request, facts, read_training, searched
    from skstretch.io.model import save

    talk.check_output(output, data, target)
    if report is not None:
        talk.check_output(report, data, target, output, option="--report")
        import skstretch.report  # noqa: F401  says at once where its extra is missing
    aim.check(target, task, intervals)
    request = Request(data, form, chosen, target, task, weights, recipe, aim)
    training = read_training(request, talk)
    if recipe.impute is not None and training.filled:
        talk.note(filled_words(training.filled, recipe.impute))
    if intervals and training.classifies:
        raise DataError("--intervals is for regression: classes have probabilities instead.")
    model, seconds = searched(training, plan, talk)
    about: dict[str, Any] = {"target": training.target, "seconds": seconds}
    with talk.translating():
        save(model, output, intervals=intervals, about=about | _asked(request, plan))
        if report is not None:
            from skstretch.report import write_report

            write_report(model, report, X=training.X, y=training.y, source=data, **about)
    found = facts(model, training, seconds)
    found |= {"model": str(output)} | ({} if report is None else {"report": str(report)})
    try:
        if talk.json:
            print_json(found)
        elif not talk.quiet:
            show(page(fit_rows(found)), sys.stderr if is_stdout(output) else None)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        close_stdout()  # the reader has had enough, and the model is written
    talk.done(f"wrote {output}" + (f" and {report}" if report else ""))


def _asked(request: Any, plan: options.Plan) -> dict[str, str]:
    """Columns and folds that a model file names, so that later commands need not be told."""
    groups = request.chosen.groups
    named = {"beside": request.aim.beside, "weights": request.weights, "groups": groups}
    named["cv"] = plan.cv if groups is None else None
    return {name: word for name, word in named.items() if word is not None}


# What was found, for people.

Rows = Iterator[tuple[str, str]]


def fit_rows(found: dict[str, Any]) -> Rows:
    """The facts for people, line by line, what to trust first."""
    yield from verdict_rows(found)
    yield "task", f"{found['task']} of {found['target']!r} ({found['task_reason']})"
    yield from model_rows(found)
    unusable = found["candidates_unusable"]
    ill = f" ({unusable:,} too ill-conditioned)" if unusable else ""
    yield "tried", f"{count(found['candidates'], 'model')}{ill}, {found['cv']}"
    yield "chance", found.get("permutation", {}).get("text", "")
    yield "numerics", numerics_words(found)
    seconds = found["seconds_fitting"], found["seconds_reading"]
    yield "time", "{:.2f} s to fit, {:.2f} s to read".format(*seconds)


def verdict_rows(found: dict[str, Any]) -> Rows:
    """What was found, and how far to trust it."""
    yield "found", found["verdict"]
    yield "" if found["verdict"] else "error", found["trust"]


def model_rows(found: dict[str, Any]) -> Rows:
    """Classes, size of the data, steps before the model, and what it is."""
    names = [str(name) for name in found.get("classes", [])]
    if "class_sizes" in found:
        sizes = zip(names, found["class_sizes"], strict=True)
        names = [f"{name} ({size:,})" for name, size in sizes]
    yield "classes", listed(names[:SHOWN], len(names))
    yield "data", size_words(found["rows"], found["features"])
    yield "steps before", found.get("steps", "")
    yield "model", found["choice"]
    averaged = found.get("mixture", [])
    lines = [(one["share"], f"{one['name']}, c = {one['c']:.3g}") for one in averaged[:MEMBERS]]
    if others := averaged[MEMBERS:]:
        rest = sum(one["share"] for one in others)
        lines.append((rest, f"in {count(len(others), 'other')}"))
    for part, words in lines:
        yield "", f"{on_terminal(share(part)):>6} {words}"
    used, seen = (found[f"features_{name}"] for name in ("used", "seen"))
    made = f"{used:,} of the {seen:,} features that the steps before make"
    yield "", f"uses {count(used, 'feature') if seen == found['features'] else made}"


def numerics_words(found: dict[str, Any]) -> str:
    """Solver, space, condition and degrees of freedom in one line."""
    rcond = "" if isnan(found["rcond"]) else f"rcond {found['rcond']:.1e}, "
    by = "" if found["solver"] == "average" else f" by {found['solver']}"
    where = f"solved{by} in the {found['space']} space"
    return f"{where}, {rcond}{found['dof']:.1f} degrees of freedom"


# Ours beside the methods that people would use instead.

COMPARE_EXAMPLES = (
    "skstretch compare diabetes.csv --target target",
    "skstretch compare genes.csv.gz -t outcome --drop sample --folds 10 --json",
)


@options.taking(
    task=typer.Option(
        help="auto: classification if the target holds text or exactly two different values."
    ),
    folds=typer.Option(
        min=2, metavar="N", help="Parts of the rows, left out in turn; the same for all methods."
    ),
    seed=typer.Option(min=0, max=2**32 - 1, metavar="N", help="Of the shuffle of the rows."),
)
def compare(
    *,
    data: str,
    form: Form,
    target: str | None = None,
    task: options.ComparedTask = options.ComparedTask.AUTO,
    folds: int = 5,
    seed: int = 0,
    chosen: options.Chosen,
    talk: Talk,
) -> None:
    """Compare with ridge, partial least squares, support vectors and glmnet on rows left out.

    Every method chooses its settings without these rows: no error has seen the choice.
    """
    from skstretch.cli.methods import compare_methods
    from skstretch.cli.training import BALANCED, SQUARED, Request, read_training
    from skstretch.estimators.quality import Measure

    request = Request(data, form, chosen, target, options.TaskName(task))
    training = read_training(request, talk)
    found = compare_methods(training, folds, seed, talk)
    measure = BALANCED if training.classifies else SQUARED
    rows, features = training.X.shape
    if talk.json:
        about = {"task": str(training.task), "task_reason": training.reason}
        sizes = {"rows": rows, "features": features, "folds": folds, "seed": seed}
        print_json({**about, **sizes, "measure": measure, "methods": found})
        return
    print(
        f"{training.task} of {training.target!r} ({printable(training.reason)})\n"
        f"{size_words(rows, features)}, {folds} outer folds",
        file=stdout(),
    )
    # as a fit tells them: shares of classes, and of numbers the root
    typical = Measure("typical error", True, number, root=True)
    show(_compared(found, Measure(measure, True, share) if training.classifies else typical))


def _compared(found: list[dict[str, Any]], errors: Any) -> Any:
    sides = {"method": "left", errors.name: "right", "seconds a fit": "right"}
    table = columns(sides | {"features used": "right"}, ())
    for row in found:
        own = -row["error"], row["standard_error"]
        spread = errors.write_error(*own)
        table.add_row(
            row["method"],
            errors.write_score(own[0]) + (f" ± {spread}" if spread else ""),
            f"{row['seconds']:.3f}",
            f"{row['features_used']:,.0f}",
            style="bold" if row["method"] == "skstretch" else None,
        )
    return table
