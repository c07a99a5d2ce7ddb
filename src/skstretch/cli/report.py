"""``skstretch report``: a page to look at, from a model file."""

from pathlib import Path
from typing import Annotated

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
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a report on a model as one HTML page that needs no network."""
    from skstretch.cli.models import read_model, restore_folds, training_data
    from skstretch.report import write_report

    talk = Talk(quiet)
    path = output or model.with_suffix(".html")
    check_writable(path, "-o", model, data)
    check_json(json, path)
    if target is not None and data is None:
        raise DataError("--target goes with --data, the file that the model was fitted to.")
    found = read_model(model)
    target = target or found.target
    X = y = None
    if data is not None:
        X, y = training_data(found.model, data, target, form, talk)
        restore_folds(found.model, found.cv)
    source, seconds = data or str(model), found.seconds
    with talk.warnings():
        write_report(found.model, path, X=X, y=y, source=source, seconds=seconds, target=target)
    if json:
        print_json({"report": str(path), "bytes": path.stat().st_size})
    talk.done(f"wrote {path}")
