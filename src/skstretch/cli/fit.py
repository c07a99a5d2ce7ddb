"""``skstretch fit``: learn from a data file, write a model file."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from skstretch.cli import options
from skstretch.cli.console import (
    Talk,
    check_json,
    check_writable,
    is_stdout,
    print_json,
    show,
)
from skstretch.cli.data.files import Form
from skstretch.cli.options import columns, takes_form
from skstretch.cli.plan import takes_plan
from skstretch.cli.recipe import Recipe, filled_words, takes_recipe
from skstretch.exceptions import DataError

EXAMPLES = (
    "skstretch fit diabetes.csv --target target -o diabetes.stretchy",
    "skstretch fit genes.csv.gz -t outcome --drop sample --keep 50,200 --cv 10 -o genes.stretchy",
    "skstretch fit spectra.parquet -t moisture --rule 1se --report moisture.html -o m.stretchy",
    "skstretch fit nir.csv -t moisture --snv --derivative 1 --window 11 -o nir.stretchy",
    "skstretch fit patients.csv -t outcome --impute median -o patients.stretchy",
    "skstretch fit train.svm -o words.stretchy --json",
)


@takes_recipe
@takes_form
@takes_plan
def fit(
    data: options.Data,
    form: Form,
    recipe: Recipe,
    output: Annotated[
        Path,
        options.output(
            "The model file to write, by convention .stretchy; an older one is replaced."
        ),
    ],
    target: options.Target = None,
    task: options.TaskOption = options.TaskName.AUTO,
    plan: Any = None,
    weights: Annotated[
        str | None,
        typer.Option(metavar="COL", help="A weight for each row.", autocompletion=columns),
    ] = None,
    groups: options.Groups = None,
    drop: options.Drop = None,
    drop_missing: options.DropMissing = False,
    intervals: Annotated[
        bool,
        typer.Option(
            "--intervals",
            help="Store what exact jackknife+ intervals need; the training data can be worked out "
            "from it. Without, predict --interval uses the leave-one-out residuals.",
        ),
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a report as one HTML page.")
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn from DATA, choose or mix a, k, c and density by exact cross-validation, and save it."""
    from skstretch.cli.learning import searched
    from skstretch.cli.problem import Request, read_problem

    talk = Talk(quiet)
    _check_outputs(output, report, json, (data, target))
    left_out = tuple(drop or ())
    request = Request(data, target, task, weights, groups, left_out, drop_missing, form, recipe)
    problem = read_problem(request, talk)
    if recipe.impute is not None and problem.filled:
        talk.note(filled_words(problem.filled, recipe.impute))
    if intervals and problem.classifies:
        raise DataError("--intervals is for regression: classes have probabilities instead.")
    model, seconds = searched(problem, plan, talk)
    _write(model, problem, plan, seconds, Written(data, output, intervals, report), talk)
    found = _found(model, problem, plan, seconds)
    found |= {"model": str(output)} | ({} if report is None else {"report": str(report)})
    if json:
        print_json(found)
    elif not quiet:
        _show(found, output)
    talk.done(f"wrote {output}" + (f" and {report}" if report else ""))


@dataclass(frozen=True)
class Written:
    """What is written of a fit to these data."""

    data: str
    output: Path
    intervals: bool
    report: Path | None


def _check_outputs(output: Path, report: Path | None, json: bool, sources: tuple[Any, ...]) -> None:
    """Refuse files that cannot be written before anything is read."""
    check_writable(output, "-o", *sources)
    check_json(json, output)
    if report is not None:
        check_writable(report, "--report", *sources, output)
        import skstretch.report  # noqa: F401  says at once where its extra is missing


def _found(model: Any, problem: Any, plan: Any, seconds: float) -> dict[str, Any]:
    """What is told of the model."""
    from skstretch.cli import summary
    from skstretch.cli.learning import cross_validated
    from skstretch.estimators.steps import named_model, steps_in_words

    own = named_model(model)
    folds = plan.folds_named(problem, own)
    found = summary.facts(own, problem, cross_validated(own, problem), folds, seconds)
    if steps := steps_in_words(model):
        found |= {"steps": steps, "filled": problem.filled}
    return found


def _write(model: Any, problem: Any, plan: Any, seconds: float, what: Written, talk: Talk) -> None:
    """The model file, and the report where one is wanted."""
    import skstretch

    facts: dict[str, Any] = {"target": problem.target, "seconds": seconds}
    if plan.cv is not None and problem.groups is None:
        facts["cv"] = plan.cv
    with talk.warnings():
        skstretch.save(model, what.output, intervals=what.intervals, about=facts)
        if what.report is None:
            return
        from skstretch.report import write_report

        known = {"seconds": seconds, "target": problem.target, "source": what.data}
        write_report(model, what.report, X=problem.X, y=problem.y, **known)


def _show(found: dict[str, Any], output: Path) -> None:
    from skstretch.cli import summary

    show(summary.page(found), sys.stderr if is_stdout(output) else None)
