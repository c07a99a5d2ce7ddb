"""``skstretch fit``: learn from a data file, write a model file."""

import sys
from dataclasses import replace
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
    cv: Annotated[
        str | None,
        typer.Option(
            metavar="loo|N",
            help="Leave one out, or N folds. Default: loo, or 10 where features are selected.",
        ),
    ] = None,
    k: Annotated[
        str | None, typer.Option("--k", metavar="LIST", help="Stretching powers to try, say 1.1,2.")
    ] = None,
    c: Annotated[
        str | None,
        typer.Option("--c", metavar="LIST", help="Strengths to try, or auto (default)."),
    ] = None,
    a: Annotated[
        str | None,
        typer.Option("--a", metavar="LIST", help="Transforms exp(a z) to try; 0 is linear."),
    ] = None,
    density: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Shares of features to keep, say 0.1,1. By default all, and a mix also tries 30 "
            "and 100 features.",
        ),
    ] = None,
    keep: Annotated[
        str | None, typer.Option(metavar="N", help="Numbers of features to keep, say 20 or 20,100.")
    ] = None,
    rule: Annotated[
        options.RuleName,
        typer.Option(
            help="mix: a weighted mean of the best cells of all families; guarded: the best linear "
            "cell unless clearly beaten; best: the least error; 1se: the simplest within one "
            "standard error of the best."
        ),
    ] = options.RuleName.MIX,
    weights: Annotated[
        str | None,
        typer.Option(metavar="COL", help="A weight for each row.", autocompletion=columns),
    ] = None,
    groups: options.Groups = None,
    drop: options.Drop = None,
    drop_missing: options.DropMissing = False,
    penalty_factor: options.PenaltyFactor = None,
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
    import skstretch
    from skstretch.cli import summary
    from skstretch.cli.learning import Plan, cross_validated, named_factors, searched
    from skstretch.cli.problem import Request, read_problem
    from skstretch.estimators.steps import named_model, steps_in_words

    talk = Talk(quiet)
    plan = Plan.read(cv, k, c, a, density, keep, rule)
    plan = replace(plan, factors=named_factors(penalty_factor))
    check_writable(output, "-o", data, target)
    check_json(json, output)
    if report is not None:
        check_writable(report, "--report", data, target, output)
        import skstretch.report  # says at once where its extra is missing
    left_out = tuple(drop or ())
    request = Request(data, target, task, weights, groups, left_out, drop_missing, form, recipe)
    problem = read_problem(request, talk)
    if recipe.impute is not None and problem.filled:
        talk.note(filled_words(problem.filled, recipe.impute))
    if intervals and problem.classifies:
        raise DataError("--intervals is for regression: classes have probabilities instead.")
    model, seconds = searched(problem, plan, talk)
    own = named_model(model)
    found = summary.facts(
        own, problem, cross_validated(own, problem), plan.folds_named(problem, own), seconds
    )
    if steps := steps_in_words(model):
        found |= {"steps": steps, "filled": problem.filled}
    facts: dict[str, Any] = {"target": problem.target, "seconds": seconds}
    if cv is not None and problem.groups is None:
        facts["cv"] = cv
    with talk.warnings():
        skstretch.save(model, output, intervals=intervals, about=facts)
        if report is not None:
            _report(model, problem, report, data, facts)
    found |= {"model": str(output)} | ({} if report is None else {"report": str(report)})
    if json:
        print_json(found)
    elif not quiet:
        show(summary.page(found), sys.stderr if is_stdout(output) else None)
    talk.done(f"wrote {output}" + (f" and {report}" if report else ""))


def _report(model: Any, problem: Any, path: Path, data: str, facts: dict[str, Any]) -> None:
    from skstretch.report import write_report

    write_report(
        model,
        path,
        X=problem.X,
        y=problem.y,
        source=data,
        seconds=facts["seconds"],
        target=facts["target"],
    )
