"""``skstretch report``: a page to look at, from a model file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from skstretch.cli import options
from skstretch.cli.console import Talk, check_json, check_writable, print_json
from skstretch.cli.data.files import Form
from skstretch.exceptions import DataError

EXAMPLES = (
    "skstretch report diabetes.stretchy",
    "skstretch report diabetes.stretchy --data diabetes.csv -t target -o diabetes.html",
)


@options.taking(form=options.read_form)
def report(
    model: options.Model,
    form: Form,
    output: Annotated[
        Path | None,
        options.output("The HTML file to write; by default the name of the model with .html."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="DATA",
            help="The data that the model was fitted to, for the panels that need them.",
        ),
    ] = None,
    target: options.Target = None,
    id: Annotated[
        str | None,
        typer.Option("--id", metavar="COL", help="The column of DATA that names its rows."),
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a report on a model as one HTML page that needs no network."""
    from skstretch.cli.models import read_model, restore_folds, training_data
    from skstretch.estimators.state import last_step
    from skstretch.report import write_report

    talk = Talk(quiet)
    path = output or model.with_suffix(".html")
    check_writable(path, "-o", model, data)
    check_json(json, path)
    for option, given in (("--target", target), ("--id", id)):
        if given is not None and data is None:
            raise DataError(f"{option} goes with --data, the file that the model was fitted to.")
    found = read_model(model)
    if (loss := last_step(found.model)._state.loss) != "squared":
        raise DataError(
            f"a report is for squared error, and the loss of this model is {loss!r}: skstretch "
            "inspect shows it."
        )
    target = target or found.target
    X = y = rows = None
    if data is not None:
        X, y, rows = training_data(found.model, data, target, form, talk, id)
        restore_folds(found.model, found.cv)
    facts: Any = {"source": data or str(model), "seconds": found.seconds, "target": target}
    with talk.warnings():
        write_report(found.model, path, X=X, y=y, samples=rows, **facts)
    if json:
        print_json({"report": str(path), "bytes": path.stat().st_size})
    talk.done(f"wrote {path}")
