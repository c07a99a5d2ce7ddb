"""``skstretch compare``: ours beside the methods that people would use instead."""

from typing import Annotated, Any

import typer

from skstretch.cli import options
from skstretch.cli.console import (
    Talk,
    columns,
    print_json,
    printable,
    show,
    size_words,
    stdout,
    with_error,
)
from skstretch.cli.data.files import Form

EXAMPLES = (
    "skstretch compare diabetes.csv --target target",
    "skstretch compare genes.csv.gz -t outcome --drop sample --folds 10 --json",
)


@options.taking(form=options.read_form)
def compare(
    data: options.Data,
    form: Form,
    target: options.Target = None,
    task: Annotated[
        options.ComparedTask,
        typer.Option(
            help="auto: classification if the target holds text or exactly two different values."
        ),
    ] = options.ComparedTask.AUTO,
    folds: Annotated[
        int, typer.Option(min=2, metavar="N", help="Outer folds: all methods see the same.")
    ] = 5,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Of the shuffle of the rows.")
    ] = 0,
    groups: options.Groups = None,
    drop: options.Drop = None,
    features: options.Features = None,
    keep_index: options.KeepIndex = False,
    drop_missing: options.DropMissing = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare with ridge, partial least squares, support vectors and glmnet by outer folds.

    Every method chooses its settings in the training part alone: no error has seen the choice.
    """
    from skstretch.cli.learning import BALANCED, SQUARED
    from skstretch.cli.methods import compare_methods, outer_folds
    from skstretch.cli.training import Request, read_training

    talk = Talk(quiet)
    left_out, chosen = tuple(drop or ()), tuple(features or ())
    request = Request(
        data,
        target,
        options.TaskName(task),
        None,
        groups,
        left_out,
        drop_missing,
        form,
        chosen,
        keep_index,
    )
    training = read_training(request, talk)
    places = compare_methods(training, outer_folds(training, folds, seed), talk)
    measure = BALANCED if training.classifies else SQUARED
    if not any(place.method.startswith("glmnet") for place in places):
        talk.note("glmnet is not installed: pip install python-glmnet")
    for place in places:
        if place.error is None:
            talk.note(f"{place.method} is left out: {place.trouble}")
    if json:
        print_json(_as_json(training, places, measure, folds, seed))
        return
    print(
        f"{training.task} of {training.target!r} ({printable(training.reason)})\n"
        f"{size_words(*training.X.shape)}, {folds} outer folds",
        file=stdout(),
    )
    show(_table(places, measure))


def _as_json(training: Any, places: Any, measure: str, folds: int, seed: int) -> dict[str, Any]:
    return {
        "task": str(training.task),
        "task_reason": training.reason,
        "rows": training.X.shape[0],
        "features": training.X.shape[1],
        "folds": folds,
        "seed": seed,
        "measure": measure,
        "methods": [
            {
                "method": place.method,
                "error": place.error.mean,
                "standard_error": place.error.error,
                "seconds": place.seconds,
                "features_used": place.features,
            }
            for place in places
            if place.error is not None
        ],
    }


def _table(places: list[Any], measure: str) -> Any:
    sides = {"method": "left", measure: "right", "seconds a fit": "right", "features used": "right"}
    table = columns(sides, ())
    for place in places:
        if place.error is not None:
            table.add_row(
                place.method,
                with_error(place.error.mean, place.error.error),
                f"{place.seconds:.3f}",
                f"{place.features:,.0f}",
                style="bold" if place.method == "skstretch" else None,
            )
    return table
