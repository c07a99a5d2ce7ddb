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
    "skstretch report s.stretchy --data patients.csv --time months --event died --at 60",
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
    time: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Of survival, in place of --target: the time."),
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Of survival: 1 where the event was seen, else 0."),
    ] = None,
    exposure: Annotated[
        str | None, typer.Option(metavar="COL", help="Of counts: how long was counted.")
    ] = None,
    at: Annotated[
        float | None,
        typer.Option(
            metavar="TIME",
            help="Of survival: the time at which predictions are compared with what was seen; by "
            "default the middle one of the events.",
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option("--id", metavar="COL", help="The column of DATA that names its rows."),
    ] = None,
    effects: Annotated[
        bool,
        typer.Option(
            "--effects",
            help="With --data: also tell how sure the effects are. Takes several times the fit.",
        ),
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a report on a model as one HTML page that needs no network."""
    from skstretch.cli.models import read_model, restore_folds, training_data
    from skstretch.estimators.state import last_step, transformed
    from skstretch.report import write_report

    talk = Talk(quiet)
    path = output or model.with_suffix(".html")
    check_writable(path, "-o", model, data)
    check_json(json, path)
    columns = {"target": target, "time": time, "event": event, "exposure": exposure, "id": id}
    for option, given in columns.items():
        if given is not None and data is None:
            raise DataError(f"--{option} goes with --data, the file that the model was fitted to.")
    found = read_model(model)
    loss = last_step(found.model)._state.loss
    for option, of in {"time": "cox", "event": "cox", "exposure": "poisson"}.items():
        if columns[option] is not None and loss != of:
            raise DataError(f"--{option} is for {of!r} models, and the loss of this is {loss!r}.")
    target, beside = time or target or found.target, event or exposure or found.beside
    X = y = rows = None
    if data is not None:
        X, y, rows = training_data(found.model, data, target, form, talk, id, beside)
        restore_folds(found.model, found.cv)
    facts: Any = {"source": data or str(model), "seconds": found.seconds, "target": target}
    facts["at"] = at
    if effects and data is None:
        raise DataError("--effects goes with --data, the file that the model was fitted to.")
    with talk.warnings():
        if effects:
            try:
                last_step(found.model).effects(transformed(found.model, X), y)
            except ValueError as error:
                raise DataError(f"--effects: {error}") from error
        write_report(found.model, path, X=X, y=y, samples=rows, **facts)
    if json:
        print_json({"report": str(path), "bytes": path.stat().st_size})
    talk.done(f"wrote {path}")
